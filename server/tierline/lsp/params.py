"""Sanitising the JSON parameters of our own methods: values that could not be stored or shown.

JSON allows numbers of any size and halves of surrogate pairs; SQLite and UTF-8 take neither.
"""

from __future__ import annotations

import re
from typing import Any

from tierline.context.text import well_formed

LARGEST = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""
_DEEPEST = 100
_NOT_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Lone surrogates, except those that stand for the bytes of a file name that is not UTF-8."""


class InvalidParamsError(ValueError):
    """A value that cannot be used. The message is a sentence without its full stop."""


def sanitize(value: Any, depth: int = 0) -> Any:
    """The value with lone halves of surrogate pairs replaced by U+FFFD.

    Raises:
        UnusableError: a number is too large, or values are nested too deeply.
    """
    if isinstance(value, str):
        return value if value.isascii() or not _NOT_BYTES.search(value) else well_formed(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InvalidParamsError("a number is too large")
    if isinstance(value, list | dict):
        if depth > _DEEPEST:
            raise InvalidParamsError("values are nested too deeply")
        if isinstance(value, list):
            return [sanitize(one, depth + 1) for one in value]
        return {sanitize(key): sanitize(one, depth + 1) for key, one in value.items()}
    return value
