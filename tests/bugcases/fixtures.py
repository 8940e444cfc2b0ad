"""Where the bug cases lie, and the oracle for outgoing bodies. Tests skip if the folder is absent.

The cases are not part of this repository: they lie beside the clone, in ``../shared/bugcases``, or
where the environment variable ``TIERLINE_BUGCASES`` says.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_CASES = os.environ.get("TIERLINE_BUGCASES") or ROOT.parent / "shared" / "bugcases"
CASES = Path(_CASES).resolve()


def case(name: str) -> Path:
    """The folder of a case, by its full name (``BR-138-torn-tail``) or number (``BR-138``)."""
    if not CASES.is_dir():
        pytest.skip(f"the bug cases are not at {CASES} (set TIERLINE_BUGCASES)")
    found = [
        p
        for p in sorted((CASES / "dev").iterdir())
        if p.name == name or p.name.startswith(name + "-")
    ]
    if not found:
        pytest.skip(f"there is no bug case {name} in {CASES}")
    return found[0]


def expect(name: str) -> dict[str, Any]:
    """``expect.json`` of a case."""
    value: dict[str, Any] = json.loads((case(name) / "expect.json").read_text(encoding="utf-8"))
    return value


def build(name: str, folder: Path) -> Path:
    """Run a case's ``make.py`` into ``folder`` and return it."""
    subprocess.run(
        [sys.executable, str(case(name) / "make.py"), str(folder)], check=True, capture_output=True
    )
    return folder


@functools.cache
def oracle() -> ModuleType:
    """``tools/check_request.py``: ``check_anthropic``, ``check_openai``, ``cached_prefix``."""
    path = CASES / "tools" / "check_request.py"
    if not path.is_file():
        pytest.skip(f"the oracle is not at {path} (set TIERLINE_BUGCASES)")
    spec = importlib.util.spec_from_file_location("check_request", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
