"""Errors of the store: a stable code, what happened, what to do."""

from __future__ import annotations

from pathlib import Path

from tierline.disk.folder import lost_workspace
from tierline.errors import TierlineError


class StorageError(TierlineError):
    """The conversation could not be written or read (code ``storage``).

    Nothing that was written before is changed or lost by the failure.
    """

    def __init__(self, message: str, advice: str) -> None:
        super().__init__("storage", message, advice)


def workspace_gone(path: Path) -> StorageError | None:
    """The error for a message that could not be written because the workspace was deleted or moved;
    None if the workspace is there.
    """
    lost = lost_workspace(path)
    if lost is None:
        return None
    return StorageError(
        f"The folder {lost.name} is gone: the message was not written. It is not made again.",
        "Put it back, then send again: the chat lives in memory only until then.",
    )
