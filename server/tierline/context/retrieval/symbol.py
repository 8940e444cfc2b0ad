"""A source file's definitions, the names that it uses, and its imports."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

MAX_SIGNATURE = 240
"""Characters of a signature; longer ones are cut, with a visible mark."""
MAX_DOC = 400
"""Characters of a doc comment."""


@frozen
class Symbol:
    """A definition."""

    name: str
    kind: str
    """``function``, ``method``, ``class``, ``interface``, ``enum``, ``type``, ``constant``,
    ``module``, ``macro``, ``heading``, …"""
    line: int
    """First line, from 1."""
    end: int
    """Last line."""
    parent: str = ""
    """Names of the enclosing definitions, joined with dots; empty at the top."""
    signature: str = ""
    """One line, blanks folded."""
    doc: str = ""
    """Doc comment without its comment marks; empty if there is none."""
    attributes: tuple[str, ...] = ()
    """Decorators, annotations, ``cfg`` attributes, as written."""

    @property
    def qualified(self) -> str:
        """The name within its file."""
        return f"{self.parent}.{self.name}" if self.parent else self.name

    def row(self) -> list[Any]:
        """JSON values."""
        return [
            self.name, self.kind, self.line, self.end, self.parent, self.signature, self.doc,
            list(self.attributes),
        ]  # fmt: skip

    @classmethod
    def of(cls, row: Any) -> Symbol:
        """A symbol from its JSON values."""
        name, kind, line, end, parent, signature, doc, attributes = row
        return cls(name, kind, line, end, parent, signature, doc, tuple(attributes))


@frozen
class SourceFile:
    """One indexed file."""

    path: str
    """Workspace-relative POSIX path, root-qualified in multi-root workspaces."""
    language: str
    lines: int
    symbols: tuple[Symbol, ...] = ()
    uses: dict[str, int] = field(factory=dict)
    """Identifiers outside comments and strings, with how often they occur."""
    imports: tuple[str, ...] = ()
    """Imported modules, as written."""
    words: str = ""
    """Words of comments and strings, for search."""

    def find(self, name: str) -> Symbol | None:
        """A symbol by its qualified name, else by its bare name; the first of several."""
        for symbol in self.symbols:
            if symbol.qualified == name:
                return symbol
        last = name.replace("::", ".").rpartition(".")[2]
        return next((s for s in self.symbols if s.name == last), None)


def folder_of(path: str) -> str:
    """The folder of a path, with a slash at its end; empty for the top."""
    head, slash, _ = path.rpartition("/")
    return head + slash


def module_of(path: str) -> str:
    """The module path of a file: folders and stem, joined with dots.

    ``src/pkg/__init__.py`` is ``src.pkg``; ``index.ts`` and ``mod.rs`` likewise name their folder.
    """
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0] or name
    parts = [part for part in folder.split("/") if part]
    if stem not in ("__init__", "index", "mod") or not parts:
        parts.append(stem)
    return ".".join(parts)
