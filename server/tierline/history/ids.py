"""Identifiers of messages and sessions.

The package reads no clock and draws no random numbers: both are passed in.
"""

from __future__ import annotations

import hashlib


def message_id(epoch_ms: int, randomness: bytes) -> str:
    """``{epoch_ms}-{uuid8}``: eight hexadecimal digits from at least four random bytes."""
    return f"{epoch_ms}-{_hex(randomness, 8)}"


def session_id(epoch_ms: int, randomness: bytes) -> str:
    """``sess_{epoch_ms}_{uuid6}``: six hexadecimal digits from at least three random bytes."""
    return f"sess_{epoch_ms}_{_hex(randomness, 6)}"


def epoch_ms(identifier: str) -> int | None:
    """The time inside a message or session id, in milliseconds since 1970; None if it has none."""
    for part in identifier.replace("_", "-").split("-"):
        if part.isascii() and part.isdigit() and len(part) >= 10:
            return int(part)
    return None


def derived_id(*parts: str, length: int = 12) -> str:
    """A stable hexadecimal id made from other ids; the same parts always give the same id."""
    text = "\0".join(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def _hex(randomness: bytes, digits: int) -> str:
    if len(randomness) * 2 < digits:
        raise ValueError(f"{digits} hexadecimal digits need {(digits + 1) // 2} random bytes")
    return randomness.hex()[:digits]
