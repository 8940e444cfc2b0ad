"""Running an editor with a script, away from this machine's configuration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import workbench
from lsp.conftest import environment
from wire.servers import WireServer


def program(variable: str, name: str, needed: Any) -> str:
    """An editor of this machine, installed if need be; ``variable`` may name another one."""
    if named := os.environ.get(variable):
        return named
    workbench.need(needed)
    found = shutil.which(name)
    assert found is not None
    return found


def watch(command: Sequence[str], folder: Path, model: WireServer, **more: str) -> tuple[Any, str]:
    """Run an editor in ``folder``. Returns what its script saw, and its standard error."""
    env = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(folder),
        **more,
        **environment(model),
    }
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "seen.json").read_text(encoding="utf-8")), done.stderr
