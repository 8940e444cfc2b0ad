"""A file's current content: from the editor if it has unsaved changes there, else from the disk."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from tierline import disk
from tierline.context.filetext import FileText, file_text
from tierline.context.refusals import Reason, Refusal
from tierline.store.snapshots import MAX_CONTENT
from tierline.workspace.buffers import Buffer
from tierline.workspace.decoding import decode, encode_back
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath
from tierline.workspace.reading import Signature, read_file, signature


@frozen
class FileContent:
    """The bytes of a file, or why they are not kept."""

    data: bytes | None = None
    """None for a file that is not there."""
    mode: int = 0o644
    """Its permission bits."""
    why: str = ""
    """Why it is not kept (binary, too large, unreadable); empty if it is."""
    unsaved: bool = False
    """The editor has unsaved changes."""

    @property
    def sha(self) -> str:
        """Hash of the bytes; empty for a missing file."""
        return "" if self.data is None else hashlib.sha256(self.data).hexdigest()

    @property
    def text(self) -> FileText | None:
        """The bytes as text; None if there are none, or they are not text."""
        found = decode(self.data) if self.data is not None else None
        return found if isinstance(found, FileText) else None

    def same(self, other: FileContent) -> bool:
        """True if both have the same bytes."""
        if self.why or other.why:
            return False
        return self.data == other.data and (self.data is None or self.mode == other.mode)

    def record(self) -> dict[str, Any]:
        """The content's record in the journal."""
        if self.why:
            return {"why": self.why}
        return {"sha": self.sha, **({"mode": self.mode} if self.data is not None else {})}


def recorded(record: Any, contents: Mapping[str, bytes | None]) -> FileContent:
    """A content that the journal names, with its bytes by hash."""
    if not isinstance(record, Mapping) or "sha" not in record:
        why = record.get("why") if isinstance(record, Mapping) else ""
        return FileContent(why=str(why or "its content was not kept"))
    sha, mode = record["sha"], record.get("mode")
    if not sha:
        return FileContent()
    data = contents.get(sha)
    if data is None:
        return FileContent(why="its content is no longer kept")
    return FileContent(data, mode if isinstance(mode, int) else 0o644)


def encoded(of: FileText, text: str) -> bytes:
    """A text as bytes in a file's own form; as UTF-8 if its charset lacks a character."""
    try:
        return encode_back(of, text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def raw(loader: Loader, place: ResolvedPath) -> tuple[FileContent, Signature | None]:
    """A file's content on disk, text or not, and its signature; None for a missing
    file. Blocking.
    """
    read = read_file(
        place.key, place.path, MAX_CONTENT, lambda real: loader.roots.inside(real) is not None
    )
    if isinstance(read, Refusal):
        if read.reason is Reason.NOT_FOUND:
            return FileContent(), None
        return FileContent(why=read.message), signature(place.path)
    found = disk.regular(place.path)
    mode = stat.S_IMODE(found.st_mode) if found is not None else 0o644
    return FileContent(read.data, mode), read.signature


def text_only(content: FileContent) -> FileContent:
    """The content, or one that is left out because it is not text."""
    if content.data is not None and isinstance(decode(content.data), Reason):
        return FileContent(why="it is no text")
    return content


def on_disk(loader: Loader, place: ResolvedPath) -> FileContent:
    """A file's content on disk. Blocking."""
    return text_only(raw(loader, place)[0])


def present(loader: Loader, key: str) -> FileContent:
    """A file's current content. Blocking."""
    place = loader.roots.resolve(key)
    if isinstance(place, Refusal) or place.key != key:
        return FileContent(why="another file has its place")
    saved = on_disk(loader, place)
    buffer = loader.buffers.get(key, loader.roots)
    if buffer is None or saved.why:
        return saved
    if not isinstance(buffer, Buffer):
        return evolve(saved, why="it is open as a notebook")
    shown = file_text(buffer.text)
    stored = saved.text
    if stored is not None and stored.sha256 == shown.sha256:
        return saved
    if stored is not None:
        facts = evolve(stored.facts, line_end=shown.facts.line_end, line_ends=shown.facts.line_ends)
        shown = evolve(shown, facts=facts)
    return FileContent(encoded(shown, shown.text), saved.mode, unsaved=True)
