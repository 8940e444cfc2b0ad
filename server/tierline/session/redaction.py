"""Replacing credential shapes in everything that is sent or stored."""

from __future__ import annotations

from tierline.session.longtext import in_thread_when_long
from tierline.workspace import secrets


def redact(text: str) -> tuple[str, list[str]]:
    """The text with credential shapes replaced, and a sentence if there were any."""
    clean, findings = secrets.redact(text)
    if not findings:
        return clean, []
    kinds = ", ".join(sorted({str(finding.kind) for finding in findings}))
    return clean, [f"Replaced before sending, because it looks secret: {kinds}."]


async def redacted(text: str) -> tuple[str, list[str]]:
    """Like ``redact``, in a thread for a long text."""
    return await in_thread_when_long(text, redact, text)
