"""A repository that wants to run code as soon as it is opened. Threat model: docs/security.md.

The editors start the server in the project's folder (all but VS Code), and Python would look there
for modules first.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lsp.conftest import environment
from lsp.long_session import use
from lsp.pipe import Pipe, children
from lsp.project import make_project
from tierline.embeddings.embedder import find_model
from wire.scripts import o_reply
from wire.servers import wire_server

NAMES = (
    "json.py", "base64.py", "socket.py", "asyncio.py", "sqlite3.py", "attrs.py", "numpy.py",
    "tierline.py", "tiktoken.py", "tree_sitter.py", "openai.py", "sitecustomize.py",
    "usercustomize.py", "xllamacpp.py", "regex.py",
)  # fmt: skip


def plant(workspace: Path, marker: Path) -> None:
    """Modules that shadow all that our processes import, and git's own ways to run things."""
    for name in NAMES:
        (workspace / name).write_text(f"open({str(marker)!r}, 'a').write(__name__ + '\\n')\n")
    bait = workspace / "bait.sh"
    bait.write_text(f"#!/bin/sh\necho git >> '{marker}'\n")
    bait.chmod(0o755)
    (workspace / ".git" / "config").write_text(
        f"[core]\n\tfsmonitor = {bait}\n\tpager = {bait}\n\thooksPath = {workspace}\n"
        f"\tsshCommand = {bait}\n[alias]\n\tconfig = !{bait}\n\tcheck-ignore = !{bait}\n"
        f'[filter "x"]\n\tclean = {bait}\n\tsmudge = {bait}\n'
    )
    (workspace / ".gitattributes").write_text("* filter=x\n")
    for folder in ("objects", "refs"):
        (workspace / ".git" / folder).mkdir(exist_ok=True)


@pytest.mark.skipif(sys.platform != "linux", reason="uses env -C")
def test_no_module_of_the_repository_is_imported_and_no_hook_of_it_is_run(
    workspace: Path, tmp_path: Path
) -> None:
    make_project(workspace)
    marker = tmp_path / "marker"
    plant(workspace, marker)
    # What would happen without care: the bait works.
    subprocess.run([sys.executable, "-m", "json"], cwd=workspace, check=False, capture_output=True)
    assert "__main__" in marker.read_text()
    marker.unlink()
    started: list[str] = []
    serve = ("env", "-C", str(workspace), sys.executable, "-P", "-m", "tierline", "serve")
    with wire_server("openai", [o_reply("Yes.")]) as model:
        env = environment(model) | {"TIERLINE_SYMBOLS_ENABLED": "true"}
        with Pipe(workspace, env=env, command=serve) as pipe:

            def look() -> None:
                for pid in children(pipe.process.pid):
                    path = Path(f"/proc/{pid}/cmdline")
                    started.append(path.read_bytes().replace(b"\0", b" ").decode())
                    assert Path(f"/proc/{pid}/cwd").readlink() == workspace, "the bait is in reach"

            use(pipe, before_the_end=look)
    assert any("symbols.worker" in said for said in started)
    if find_model() is not None:
        assert any("embeddings.worker" in said for said in started)
    assert not marker.exists(), marker.read_text()
