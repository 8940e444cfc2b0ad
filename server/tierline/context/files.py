"""The file context: which files the conversation includes, and why one is not in the prompt.

Pure: text arrives from the workspace layer through ``put``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import evolve

from tierline.context.fileentry import (
    STRENGTH,
    FileEntry,
    FileState,
    from_record,
    merge,
    normalized_key,
    to_record,
)
from tierline.context.filerender import Counts, RenderCache, RenderedFile
from tierline.context.filetext import FileText, file_text
from tierline.context.items import Item, Pin, Section
from tierline.context.refusals import Reason, Refusal, refuse

__all__ = ["KEY_PREFIX", "Counts", "FileContext", "FileEntry", "FileState", "normalized_key"]

KEY_PREFIX = "file:"
"""Item keys of files: ``file:`` and the path."""


_PRIORITY = {Pin.NONE: 50, Pin.EPHEMERAL: 45, Pin.LEASED: 60, Pin.STICKY: 90}


class FileContext:
    """The listed files by key, sorted when read.

    A key is a workspace-relative POSIX path, root-qualified in multi-root workspaces. Methods that
    take a ``path`` accept a key, an alias, or a loosely written form of either.
    """

    def __init__(self) -> None:
        self._entries: dict[str, FileEntry] = {}
        self._renderings = RenderCache()

    def remove_file(self, path: str) -> bool:
        """Remove a file from the list. False if it was not listed."""
        entry = self.get(path)
        if entry is None:
            return False
        del self._entries[entry.key]
        return True

    def has_file(self, path: str) -> bool:
        """True if the file is listed, in whatever state."""
        return self.get(path) is not None

    def get_files(self) -> list[str]:
        """The keys, sorted."""
        return sorted(self._entries)

    def clear(self) -> None:
        """Empty the list."""
        self._entries.clear()

    # --- entries ---------------------------------------------------------------------------------

    def get(self, path: str) -> FileEntry | None:
        """The entry of a key, an alias, or a loosely written form of either."""
        for name in dict.fromkeys((path, normalized_key(path) or path)):
            if name in self._entries:
                return self._entries[name]
            for entry in self._entries.values():
                if name in entry.aliases:
                    return entry
        return None

    def entries(self) -> list[FileEntry]:
        """All entries, sorted by key."""
        return [self._entries[key] for key in self.get_files()]

    def put(
        self,
        key: str,
        content: FileText,
        *,
        alias: str = "",
        origin: str = "",
        folder: str = "",
        automatic: bool = False,
        confirmed: bool = False,
        once: bool = False,
        dirty: bool = False,
    ) -> FileEntry:
        """List a file with its current text, or update the text of a listed one.

        Pins, leases, aliases and confirmation of a listed file stay. A file that was listed
        automatically and is now added by name counts as added by the user.
        """
        old = self._entries.get(key)
        if old is None:
            old = FileEntry(key, origin=origin, folder=folder, automatic=automatic)
        elif old.automatic and not automatic:
            old = evolve(old, automatic=False, origin=origin or old.origin)
        aliases = old.aliases
        if alias and alias != key and alias not in aliases:
            aliases = (*aliases, alias)
        entry = evolve(
            old,
            content=content,
            state=FileState.OK,
            reason="",
            sentence="",
            aliases=aliases,
            confirmed=confirmed or old.confirmed,
            once=once or old.once,
            dirty=dirty,
        )
        self._entries[key] = entry
        return entry

    def update(self, key: str, content: FileText, *, dirty: bool = False) -> FileEntry:
        """New text for a listed file, whoever listed it. Raises KeyError for an unknown key."""
        old = self._entries[key]
        return self.put(key, content, automatic=old.automatic, dirty=dirty)

    def fail(self, key: str, refusal: Refusal) -> FileEntry:
        """Mark a listed file as one that cannot be sent now. Raises KeyError for an unknown key.

        Its text is dropped; pin and lease stay for when it can be read again.
        """
        state = FileState.MISSING if refusal.reason is Reason.NOT_FOUND else FileState.REFUSED
        self._entries[key] = entry = evolve(
            self._entries[key],
            content=file_text(""),
            state=state,
            reason=str(refusal.reason),
            sentence=refusal.sentence,
            dirty=False,
        )
        return entry

    def shed(self, keys: Iterable[str], detail: str = "", sentence: str = "") -> list[FileEntry]:
        """Mark files that the budget left out of the next request; unknown keys are skipped.
        ``sentence`` replaces the usual one.
        """
        marked = []
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None and entry.state is FileState.OK:
                why = refuse(key, Reason.SHED, detail)
                self._entries[key] = evolve(
                    entry,
                    state=FileState.SHED,
                    reason=str(why.reason),
                    sentence=sentence or why.sentence,
                )
                marked.append(self._entries[key])
        return marked

    def unshed(self) -> None:
        """Take every mark of a shed file off, before those of a new plan."""
        for key, entry in self._entries.items():
            if entry.state is FileState.SHED:
                self._entries[key] = evolve(entry, state=FileState.OK, reason="", sentence="")

    # --- pins and leases -------------------------------------------------------------------------

    def set_pin(self, path: str, pin: Pin, lease: str = "") -> FileEntry | None:
        """Set the pin that the user chose, stronger or weaker. None if the file is not listed.

        ``lease`` names the scope of a leased pin (``turn:<id>`` or ``task:<id>``).

        Raises:
            ValueError: a leased pin without a ``lease``.
        """
        entry = self.get(path)
        if entry is None:
            return None
        if pin is Pin.LEASED and not lease.startswith(("turn:", "task:")):
            raise ValueError("a lease needs a scope: turn:<id> or task:<id>")
        entry = evolve(
            entry,
            pin=pin,
            lease=lease if pin is Pin.LEASED else "",
            automatic=entry.automatic and pin is not Pin.STICKY,
        )
        self._entries[entry.key] = entry
        return entry

    def hold(self, path: str, pin: Pin, lease: str = "") -> FileEntry | None:
        """Strengthen the pin automatically: never weakens one and never makes one sticky."""
        entry = self.get(path)
        if entry is None or pin is Pin.STICKY or STRENGTH[pin] < STRENGTH[entry.pin]:
            return entry
        return self.set_pin(entry.key, pin, lease)

    def end_scope(self, scope: str) -> list[str]:
        """End the leases of one scope. Returns the keys that left the list with their lease."""
        gone = []
        for key, entry in list(self._entries.items()):
            if entry.pin is Pin.LEASED and entry.lease == scope:
                if entry.automatic:
                    del self._entries[key]
                    gone.append(key)
                else:
                    self._entries[key] = evolve(entry, pin=Pin.NONE, lease="")
        return sorted(gone)

    # --- renames and deletes ---------------------------------------------------------------------

    def rename(self, old: str, new: str) -> dict[str, str]:
        """Rename a file, or a folder with its listed files. Returns old key: new key.

        Pins and leases follow. Two entries that get the same key are merged, with the stronger pin.
        """
        moved: dict[str, str] = {}
        for key in self.get_files():
            if key == old:
                moved[key] = new
            elif key.startswith(old + "/"):
                moved[key] = new + key[len(old) :]
        self.rekey(moved)
        return moved

    def rekey(self, keys: Mapping[str, str]) -> None:
        """Give entries new keys (old: new) at once; two keys may be swapped."""
        taken = {old: self._entries.pop(old) for old in keys if old in self._entries}
        for old, entry in taken.items():
            new = keys[old]
            other = self._entries.get(new)
            aliases = tuple(name for name in entry.aliases if name not in (old, new))
            moved = evolve(entry, aliases=aliases)
            self._entries[new] = evolve(merge(moved, other) if other else moved, key=new)

    def delete(self, old: str) -> list[str]:
        """Mark the entries of a deleted file or folder as missing. Returns their keys."""
        gone = [key for key in self.get_files() if key == old or key.startswith(old + "/")]
        for key in gone:
            self.fail(key, refuse(key, Reason.NOT_FOUND, "deleted"))
        return gone

    # --- for the plan ----------------------------------------------------------------------------

    def to_items(self, counter: Counts, max_tokens: int = 0) -> list[Item]:
        """Items of all files that may be sent, by key; also of those that the last plan left out.
        Same content, same bytes.

        A file of more than ``max_tokens`` tokens (0: no limit) is cut, with a visible mark.
        """
        items = []
        self._renderings.keep_only(frozenset(self._entries))
        for entry in self.entries():
            if not entry.readable:
                continue
            rendered, tokens, whole = self.rendered(entry, counter, max_tokens)
            items.append(
                Item(
                    key=KEY_PREFIX + entry.key,
                    section=Section.FILES,
                    sha256=rendered.sha256,
                    tokens=tokens,
                    text=rendered.text,
                    priority=_PRIORITY[entry.pin],
                    pin=entry.pin,
                    origin=entry.origin,
                    path=entry.key,
                    whole_tokens=whole if rendered.cut else 0,
                )
            )
        return items

    def rendered(
        self, entry: FileEntry, counter: Counts, max_tokens: int
    ) -> tuple[RenderedFile, int, int]:
        """A file as it is sent, its tokens, and those of the whole file."""
        return self._renderings.get(entry, counter, max_tokens)

    def cut_tokens(self, entry: FileEntry, counter: Counts, max_tokens: int) -> int:
        """Tokens that are sent of a file which has more than ``max_tokens``."""
        return self._renderings.cut_tokens(entry, counter, max_tokens)

    # --- persistence -----------------------------------------------------------------------------

    def snapshot(self) -> list[dict[str, Any]]:
        """Selection, pins, leases and confirmations as JSON values. Text is never part of it."""
        return [to_record(entry) for entry in self.entries()]

    def restore(
        self, snapshot: Iterable[Any], read: Callable[[str, bool], FileText | Refusal]
    ) -> None:
        """Restore a snapshot; ``read(key, confirmed)`` returns the current texts.

        A file that cannot be read stays listed with its reason. Invalid records are skipped.
        """
        for record in snapshot:
            entry = from_record(record)
            if entry is None:
                continue
            self._entries[entry.key] = entry
            text = read(entry.key, entry.confirmed)
            if isinstance(text, Refusal):
                self.fail(entry.key, text)
            else:
                self.update(entry.key, text)
