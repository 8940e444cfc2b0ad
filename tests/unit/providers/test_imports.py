"""Issue 2, Must show 5: anthropic, openai and the llama runtime load on first use only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import tierline.providers

HEAVY = ("anthropic", "openai", "xllamacpp", "httpx2", "pydantic")
FILES = sorted(Path(tierline.providers.__file__).parent.glob("*.py"))


def test_importing_every_module_loads_nothing_heavy() -> None:
    names = [f"tierline.providers.{file.stem}" for file in FILES if file.stem != "__init__"]
    code = (
        f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
        "from tierline.providers.choose import ProviderSettings, choose, make\n"
        "make(choose(ProviderSettings('openai'), {'OPENAI_API_KEY': 'x'}, {}, ()))\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_module_imports_them_at_its_top() -> None:
    for file in FILES:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not [n for n in names if n.split(".")[0] in HEAVY], file
