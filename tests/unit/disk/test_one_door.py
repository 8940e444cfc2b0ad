"""Nothing in the server opens a file but through ``tierline.disk``; what else may is named here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tierline

ROOT = Path(tierline.__file__).parent
METHODS = frozenset(
    {"read_text", "read_bytes", "write_text", "write_bytes", "touch", "unlink", "symlink_to",
     "hardlink_to", "open"}
)  # fmt: skip
"""Of a path, or of anything: who means something else is listed below."""
FUNCTIONS = {
    "os": {"open", "unlink", "remove", "rename", "replace", "link", "symlink", "truncate"},
    "io": {"open", "open_code", "FileIO"},
    "sqlite3": {"connect"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "copymode", "copystat", "move", "rmtree"},
    "tempfile": {"mkstemp", "NamedTemporaryFile", "TemporaryFile", "mktemp"},
    "filelock": {"FileLock", "SoftFileLock", "UnixFileLock", "WindowsFileLock"},
}  # fmt: skip
ALLOWED = {
    # The package's own data.
    "session/counting.py": {"read_text", "read_bytes"},
    "tokenizers/__init__.py": {"open"},
    "providers/profile.py": {"read_text"},
    "prompts/__init__.py": {"read_text"},
    "workspace/symbols/languages.py": {"read_text"},
    # Models that the user chose in his own settings, never a workspace's.
    "providers/gguf.py": {"open"},
    "embeddings/bert.py": {"read_text"},
    # The system's own: who our parent is; a stream that leads nowhere.
    "lsp/parent.py": {"open"},
    "cli/common.py": {"os.open"},
}
NO_FILES = {
    "acp/agent.py": {"open"},  # a chat
    "session/session.py": {"open"},  # consents
    "session/tools/servers.py": {"open"},  # a connection
    "mcpservers/connection.py": {"open"},
    "session/history/service.py": {"open"},  # a conversation
    "session/retrieval/symbols.py": {"open"},  # the index's process
}
"""Methods of ours that have such a name and open no file."""


def calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Calls that open, write or remove a file, with their lines."""
    modules = {"os", "io", "sqlite3", "shutil", "tempfile", "filelock"}
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.asname or a.name: a.name for a in node.names if a.name in modules}
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            full = names.get(node.id, node.id)
            module, _, name = full.partition(".")
            if full == "open" or name in FUNCTIONS.get(module, ()):
                yield node.lineno, full
        elif isinstance(node, ast.Attribute):
            owner = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if owner is not None and owner in FUNCTIONS:
                if node.attr in FUNCTIONS[owner]:
                    yield node.lineno, f"{owner}.{node.attr}"
            elif (
                node.attr in METHODS and not _ours(node) and (node.attr != "open" or node in called)
            ):
                yield node.lineno, node.attr


def _ours(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("disk", "files", "where", "aside")


def test_every_file_is_opened_through_the_door() -> None:
    found: list[str] = []
    unused = {(file, name) for file, names in (ALLOWED | NO_FILES).items() for name in names}
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if file.startswith("disk/"):
            continue
        allowed = ALLOWED.get(file, set()) | NO_FILES.get(file, set())
        for line, name in calls(ast.parse(path.read_text(encoding="utf-8"))):
            unused.discard((file, name))
            if name not in allowed:
                found.append(f"{file}:{line}: {name}")
    assert not found, "\n".join(["use tierline.disk here:", *found])
    assert not unused, "no longer needed"


@pytest.mark.parametrize(
    "line",
    [
        "open('x')", "import os\nos.open('x', 0)", "import os as o\no.open('x', 0)",
        "from os import open as f\nf('x', 0)", "p.open()", "p.read_text()", "p.write_bytes(b'')",
        "import sqlite3\nsqlite3.connect(':memory:')", "from sqlite3 import connect\nconnect('')",
        "import shutil\nshutil.copyfile(a, b)", "import tempfile\ntempfile.mkstemp()",
        "import os\nf = os.replace", "from filelock import FileLock\nFileLock('x')",
    ],
)  # fmt: skip
def test_the_check_would_notice(line: str) -> None:
    assert list(calls(ast.parse(line)))
