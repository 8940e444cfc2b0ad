"""Errors of the store: a stable code, what happened, what to do."""

from __future__ import annotations

from tierline.errors import TierlineError


class StorageError(TierlineError):
    """The conversation could not be written or read (code ``storage``).

    Nothing that was written before is changed or lost by the failure.
    """

    def __init__(self, message: str, advice: str) -> None:
        super().__init__("storage", message, advice)
