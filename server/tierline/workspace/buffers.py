"""The editor's open documents, by key: their text takes precedence over the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from attrs import frozen

from tierline.workspace.paths import ResolvedPath, Roots

_CELL = "vscode-notebook-cell:"
_MARKUP = 1
"""``NotebookCellKind.Markup`` of the protocol."""
_MAX_KEYS = 4096


class DocumentLike(Protocol):
    """The attributes that are read of a pygls ``TextDocument``."""

    uri: str
    version: int | None

    @property
    def source(self) -> str:
        """The text; pygls reads the disk, and may raise, if it holds none."""


@frozen
class Buffer:
    """An open text document as the editor holds it (line ends are the editor's)."""

    uri: str
    text: str
    version: int = 0


@frozen
class NotebookCell:
    """One cell of an open notebook, in order. ``kind`` is ``markdown`` or ``code``."""

    kind: str
    text: str


@frozen
class NotebookBuffer:
    """An open notebook document with the current texts of its cells."""

    uri: str
    cells: tuple[NotebookCell, ...]
    version: int = 0


OpenDocuments: TypeAlias = Mapping[str, Any] | Callable[[], Mapping[str, Any]]


class Buffers:
    """A view over the mappings that a pygls workspace keeps; nothing is copied.

    ``documents`` and ``notebooks`` are live mappings, or functions that return them. Their keys are
    ignored, as pygls unquotes them: ``a%25b`` and ``a%b`` would be one. The document's ``uri`` is
    used instead.
    """

    def __init__(self, documents: OpenDocuments = dict, notebooks: OpenDocuments = dict) -> None:
        self._documents = documents
        self._notebooks = notebooks
        self._keys: dict[str, tuple[int, str]] = {}

    def get(self, key: str, roots: Roots) -> Buffer | NotebookBuffer | None:
        """The open document of a key; None if it is not open or its text cannot be read."""
        for notebook in _values(self._notebooks):
            if self._key(notebook.uri, roots) == key:
                return self._notebook(notebook)
        for document in _values(self._documents):
            if self._key(document.uri, roots) == key:
                text = _source(document)
                version = document.version or 0
                return None if text is None else Buffer(document.uri, text, version)
        return None

    def open_keys(self, roots: Roots) -> dict[str, str]:
        """Keys of all open documents within the workspace, with the editor's own URIs."""
        found: dict[str, str] = {}
        for held in (*_values(self._notebooks), *_values(self._documents)):
            if key := self._key(held.uri, roots):
                found.setdefault(key, held.uri)
        return found

    def forget(self) -> None:
        """Look links up again, after files were renamed or links may have changed."""
        self._keys.clear()

    def _key(self, uri: str, roots: Roots) -> str:
        if uri.startswith(_CELL):
            return ""
        known = self._keys.get(uri)
        if known is None or known[0] != roots.version:
            place = roots.resolve(uri)
            known = (roots.version, place.key if isinstance(place, ResolvedPath) else "")
            if len(self._keys) > _MAX_KEYS:
                self._keys.clear()
            self._keys[uri] = known
        return known[1]

    def _notebook(self, notebook: Any) -> NotebookBuffer:
        texts = {document.uri: document for document in _values(self._documents)}
        cells = []
        for cell in notebook.cells or ():
            document = texts.get(cell.document)
            markdown = int(getattr(cell.kind, "value", cell.kind)) == _MARKUP
            text = (_source(document) or "") if document is not None else ""
            cells.append(NotebookCell("markdown" if markdown else "code", text))
        return NotebookBuffer(notebook.uri, tuple(cells), notebook.version or 0)


def _values(held: OpenDocuments) -> list[Any]:
    return list((held() if callable(held) else held).values())


def _source(document: DocumentLike) -> str | None:
    """The text; pygls reads the disk for a document without one, which may fail."""
    try:
        return document.source
    except (OSError, UnicodeDecodeError):
        return None
