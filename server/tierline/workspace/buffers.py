"""The editor's open documents, by key: what the user sees goes before what is on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import frozen

from tierline.workspace.paths import Resolved, Roots


class DocumentLike(Protocol):
    """What is read of a pygls ``TextDocument``."""

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
    outputs: tuple[str, ...] = ()


@frozen
class NotebookBuffer:
    """An open notebook document with the current texts of its cells."""

    uri: str
    cells: tuple[NotebookCell, ...]
    version: int = 0


class Buffers:
    """A view over the mappings that a pygls workspace keeps; nothing is copied.

    ``documents`` and ``notebooks`` are read anew at each call, so they may be live mappings or
    functions that return them. Their keys are ignored (pygls unquotes them); ``uri`` counts.
    """

    def __init__(
        self,
        roots: Roots,
        documents: Mapping[str, DocumentLike] | None = None,
        notebooks: Mapping[str, Any] | None = None,
    ) -> None:
        self._roots = roots
        self._documents = documents if documents is not None else {}
        self._notebooks = notebooks if notebooks is not None else {}
        self._keys: dict[str, tuple[int, Resolved | None]] = {}

    def get(self, key: str) -> Buffer | NotebookBuffer | None:
        """The open document of a key; None if it is not open or its text cannot be had."""
        for notebook in list(self._notebooks.values()):
            if self._key(notebook.uri) == key:
                return self._notebook(notebook)
        for document in list(self._documents.values()):
            if self._key(document.uri) == key:
                try:
                    text = document.source
                except (OSError, UnicodeDecodeError):
                    return None
                return Buffer(document.uri, text, document.version or 0)
        return None

    def open_keys(self) -> dict[str, str]:
        """Keys of all open documents within the workspace, with the editor's own URIs."""
        found: dict[str, str] = {}
        for held in (*self._notebooks.values(), *self._documents.values()):
            if not held.uri.startswith("vscode-notebook-cell:"):
                key = self._key(held.uri)
                if key:
                    found.setdefault(key, held.uri)
        return found

    def forget(self) -> None:
        """Look links up again, after files were renamed or links may have changed."""
        self._keys.clear()

    def _key(self, uri: str) -> str:
        if uri.startswith("vscode-notebook-cell:"):
            return ""
        known = self._keys.get(uri)
        if known is None or known[0] != self._roots.version:
            place = self._roots.resolve(uri)
            known = (self._roots.version, place if isinstance(place, Resolved) else None)
            self._keys[uri] = known
        return known[1].key if known[1] else ""

    def _notebook(self, notebook: Any) -> NotebookBuffer:
        texts: dict[str, Callable[[], str]] = {
            document.uri: (lambda d=document: d.source)  # type: ignore[misc]
            for document in list(self._documents.values())
        }
        cells: Sequence[Any] = notebook.cells or ()
        return NotebookBuffer(
            notebook.uri,
            tuple(
                NotebookCell(
                    "markdown" if int(getattr(cell.kind, "value", cell.kind)) == 1 else "code",
                    texts[cell.document]() if cell.document in texts else "",
                )
                for cell in cells
            ),
            getattr(notebook, "version", 0) or 0,
        )
