"""Errors that reach the user: a stable code, what happened, what to do."""

from __future__ import annotations

ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What ends a process or a generator. Code that catches every other ``BaseException``, such as a
panic in native code, lets these pass.
"""


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
