"""Errors that reach the user: a stable code, what happened, what to do."""

from __future__ import annotations


class CodedError(Exception):
    """``code`` is stable, ``message`` says what happened in one sentence, ``advice`` what to do."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice


class TierlineError(CodedError):
    """Something that the user asked for could not be done. ``code`` is one of those in
    ``protocol/``.
    """
