"""One listed file of the file context."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import evolve, field, frozen

from tierline.context.filetext import FileFacts, FileText, file_text
from tierline.context.items import Pin

STRENGTH = {Pin.NONE: 0, Pin.EPHEMERAL: 1, Pin.LEASED: 2, Pin.STICKY: 3}
"""Order of pins from weak to strong."""


class FileState(StrEnum):
    """The state of a listed file."""

    OK = "ok"
    MISSING = "missing"
    REFUSED = "refused"
    SHED = "shed"


@frozen
class FileEntry:
    """One listed file. Only an entry in state ``ok`` is sent; any other has a reason."""

    key: str
    content: FileText = field(factory=lambda: file_text(""))
    pin: Pin = Pin.NONE
    lease: str = ""
    """Scope of a lease: ``turn:<id>`` or ``task:<id>``."""
    state: FileState = FileState.OK
    reason: str = ""
    """Stable code (``refusals.Reason``); empty when all is well."""
    sentence: str = ""
    """What happened and what to do; empty when all is well."""
    aliases: tuple[str, ...] = ()
    origin: str = ""
    folder: str = ""
    """Key, with a slash at its end, of the folder that it was added with; else empty."""
    automatic: bool = False
    """True if nobody added it by name: it leaves with its lease."""
    confirmed: bool = False
    """The user saw the warning and wants it (ignored or secret files)."""
    once: bool = False
    """The confirmation ends with the session: a file of secrets is never restored unasked."""
    dirty: bool = False
    """The text comes from an editor buffer that differs from the disk."""

    @property
    def readable(self) -> bool:
        """Its text is known: each plan decides anew whether it is sent."""
        return self.state in (FileState.OK, FileState.SHED)

    @property
    def text(self) -> str:
        """The normalised text; empty unless the state is ``ok`` or ``shed``."""
        return self.content.text

    @property
    def sha256(self) -> str:
        """SHA-256 of the normalised text."""
        return self.content.sha256

    @property
    def facts(self) -> FileFacts:
        """How the text is stored."""
        return self.content.facts


def normalized_key(path: str) -> str | None:
    """A key from a loosely written relative path; None if it leads out of the workspace or is
    empty.

    Backslashes become slashes, outer slashes and ``.`` go, ``a/../b`` becomes ``b``. Only a whole
    component ``..`` climbs: ``v1..v2.diff`` is a name.
    """
    parts: list[str] = []
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def merge(entry: FileEntry, other: FileEntry) -> FileEntry:
    """The first entry with the stronger pin, confirmation and origin of the two."""
    stronger = max((entry, other), key=lambda e: STRENGTH[e.pin])
    return evolve(
        entry,
        pin=stronger.pin,
        lease=stronger.lease,
        aliases=tuple(dict.fromkeys((*other.aliases, *entry.aliases))),
        automatic=entry.automatic and other.automatic,
        confirmed=entry.confirmed or other.confirmed,
        once=entry.once or other.once,
    )


def to_record(entry: FileEntry) -> dict[str, Any]:
    """Selection, pin, lease and confirmation as JSON values. The text is left out."""
    return {
        "key": entry.key,
        "sha256": "" if entry.state is FileState.MISSING else entry.sha256,
        "pin": str(entry.pin),
        "lease": entry.lease,
        "aliases": list(entry.aliases),
        "origin": entry.origin,
        "automatic": entry.automatic,
        "confirmed": entry.confirmed and not entry.once,
        **({"folder": entry.folder} if entry.folder else {}),
    }


def from_record(record: Any) -> FileEntry | None:
    """The entry of a record, still without text; None if the record is invalid."""
    if not isinstance(record, Mapping) or not isinstance(record.get("key"), str):
        return None
    key = normalized_key(record["key"])
    if key is None:
        return None
    try:
        pin = Pin(record.get("pin", "none"))
    except ValueError:
        pin = Pin.NONE
    aliases = record.get("aliases", ())
    return FileEntry(
        key=record["key"],
        pin=pin,
        lease=str(record.get("lease", "")),
        aliases=tuple(map(str, aliases)) if isinstance(aliases, list | tuple) else (),
        origin=str(record.get("origin", "")),
        folder=str(record.get("folder", "")),
        automatic=bool(record.get("automatic", False)),
        confirmed=bool(record.get("confirmed", False)),
    )
