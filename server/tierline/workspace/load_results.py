"""Results of loading: a file's text, a folder's files, changes since the last reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import field, frozen

from tierline.context.display import shown_name
from tierline.context.filetext import FileText
from tierline.context.refusals import Reason, Refusal


@frozen
class LoadedFile:
    """A file's text, ready for ``FileContext.put(key, content, **loaded.listing)``."""

    key: str
    content: FileText
    alias: str = ""
    confirmed: bool = False
    once: bool = False
    dirty: bool = False
    warnings: tuple[str, ...] = ()
    """Sentences for the user: what was redacted, guessed or confirmed."""

    @property
    def listing(self) -> dict[str, Any]:
        """Keyword arguments for ``FileContext.put``."""
        return {
            "alias": self.alias,
            "confirmed": self.confirmed,
            "once": self.once,
            "dirty": self.dirty,
        }


@frozen
class FolderLoad:
    """The result of loading a folder: texts, and what was skipped and why."""

    files: tuple[LoadedFile, ...]
    skipped: tuple[Refusal, ...] = ()
    notices: tuple[str, ...] = ()


@frozen
class FileChanges:
    """Changes of listed files since they were last read."""

    changed: dict[str, LoadedFile] = field(factory=dict)
    failed: dict[str, Refusal] = field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self.changed or self.failed)


_SKIPPED = {
    Reason.SECRET: "files of secrets",
    Reason.IGNORED: "ignored files",
    Reason.BINARY: "files that are not text",
    Reason.TOO_LARGE: "files that are too large",
    Reason.IS_IMAGE: "pictures",
}
_UNREADABLE = "files that cannot be read"


def skip_notices(skipped: Sequence[Refusal], over: int, added: int) -> tuple[str, ...]:
    """Sentences that say which files of a folder were skipped, and why."""
    notices = []
    for what in (*_SKIPPED.values(), _UNREADABLE):
        names = [shown_name(r.name) for r in skipped if _SKIPPED.get(r.reason, _UNREADABLE) == what]
        if names:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            notices.append(f"Skipped {what}: {shown}.")
    if over:
        notices.append(f"Only the first {added} files were added; {over} more were left out.")
    return tuple(notices)
