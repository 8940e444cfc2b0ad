"""Finds code of the server that nothing in the product uses: what only tests call counts as unused.

Vulture reads the names; this says what is called from outside. Whatever is listed here is called by
a library, by name: no other reason counts.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "server" / "tierline"

DECORATED = ["@app.*", "@*_app.*", "@server.*", "@*.command*", "@*.callback*", "@*.feature*"]
"""Registered where they stand: commands of the terminal, features of the language server."""

CALLED = {
    "acp/agent.py": "*",  # the Agent Client Protocol's methods, called by its library
    "workspace/symbols/worker.py": "do_*",  # requests of the index's process, looked up by name
    "lsp/wire.py": "structure_message",  # pygls's own, overridden
    "acp/serving.py": "receive",  # a stream of the protocol's library
    "cli/common.py": "[or][en]*",  # rich's: render_str, on_broken_pipe
    "cli/main.py": "stdio",  # an option that says the default
    "context/retrieval/rank.py": "matched",  # read from JSON, in another process
    "memory/situations.py": "situation",  # the table's first column, for its readers
    "cli/completion.py": "*",  # shells, members that are read by value
    "workspace/urls/fetch.py": "*",  # parameters of httpcore2's interface
    "providers/*.py": "count_tokens",  # of the port Provider
}
"""File, as a pattern, and the names in it that a library or another process calls."""

SET = [
    "levelname",
    "levelno",
    "epilog",
    "metavar",
    "context_class",
    "__repr__",
    "_resolved_forward_references",
]
"""Attributes that are set for a library: logging, click, attrs, cattrs."""

FIELDS = ["protocol/*.py"]
"""Fields here are read by clients."""


def expected(path: str, name: str, kind: str) -> bool:
    if kind == "attribute":
        return name in SET or path == "providers/local_server.py"  # options of llama.cpp
    if kind == "variable" and any(fnmatch(path, pattern) for pattern in FIELDS):
        return True
    return any(fnmatch(path, file) and fnmatch(name, names) for file, names in CALLED.items())


def main() -> int:
    finder = Vulture(ignore_decorators=DECORATED)
    finder.scavenge([str(SERVER)])
    fields = {
        name
        for file in (SERVER / "protocol").glob("*.py")
        for name in re.findall(r"^    (\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    found = 0
    for item in finder.get_unused_code(min_confidence=60):
        path = item.filename.resolve().relative_to(SERVER).as_posix()
        if item.typ == "attribute" and item.name in fields:
            continue
        if not expected(path, str(item.name), item.typ):
            found += 1
            print(f"server/tierline/{path}:{item.first_lineno}: unused {item.typ} {item.name}")
    if found:
        print("Nothing in the product uses these: use them or take them out, with their tests.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
