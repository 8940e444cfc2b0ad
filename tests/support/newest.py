"""What a request is about, for models of tests that answer by it."""

from __future__ import annotations

from typing import Any


def newest_text(body: Any) -> str:
    """The text of a request's last message, up to what memory recalls, which quotes old prompts."""
    content = body["messages"][-1].get("content")
    if not isinstance(content, str):
        content = " ".join(str(part.get("text", "")) for part in content or ())
    return content.partition("\n\nRecalled from this conversation")[0]
