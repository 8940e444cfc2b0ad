"""Lets a module be imported with a fault, in this process or in those that it starts.

Only the code in memory is changed, never a file.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "server" / "tierline"
VARIABLE = "TIERLINE_MUTANT"
"""Names the fault for processes that a test starts, such as a server: ``store/log.py:17``."""


class Loader(importlib.machinery.SourceFileLoader):
    """Gives one module with a fault."""

    def __init__(self, name: str, path: str, index: int) -> None:
        super().__init__(name, path)
        self.index = index

    def get_code(self, fullname: str) -> CodeType:
        from mutation.mutants import mutate

        source = Path(self.path).read_text(encoding="utf-8")
        return compile(mutate(source, self.index), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds that module before anything else does."""

    def __init__(self, path: str, index: int) -> None:
        self.file = str(PACKAGE / path)
        self.index = index
        self.name = module(path)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        loader = Loader(fullname, self.file, self.index)
        return importlib.util.spec_from_file_location(fullname, self.file, loader=loader)


def module(path: str) -> str:
    """The name of the module in a file of the package."""
    return "tierline." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def install(path: str, index: int) -> None:
    """Put the fault in: here, and in every Python process started from now on."""
    sys.meta_path.insert(0, Finder(path, index))
    os.environ[VARIABLE] = f"{path}:{index}"
    reach_children()


def reach_children() -> None:
    """Have every Python process started from now on read ``site/sitecustomize.py``."""
    here = [str(Path(__file__).parent / "site"), str(Path(__file__).parents[1])]
    old = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*here, *old]))
