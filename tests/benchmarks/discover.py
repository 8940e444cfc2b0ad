"""Finds the benchmarks in this folder and runs one of them."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def found() -> dict[str, str]:
    """Names of the benchmarks with the first sentence of their descriptions, without importing."""
    benchmarks = {}
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "main" in functions and path.stem != "__main__":
            benchmarks[path.stem] = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    return benchmarks


def run(name: str, arguments: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """Run one here and now. Returns its figures and its own table, if it makes one.

    ``arguments`` are for the benchmark; one that takes none does not see them.
    """
    sys.argv = [name]
    module = importlib.import_module(f"benchmarks.{name}")
    takes = inspect.signature(module.main).parameters
    figures = module.main(arguments) if "arguments" in takes else module.main()
    own = getattr(module, "table", None)
    return figures, own(figures) if own else ""
