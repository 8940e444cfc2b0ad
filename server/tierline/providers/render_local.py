"""Request bodies for the embedded model: OpenAI's shape with llama.cpp's sampling fields."""

from __future__ import annotations

from typing import Any

from tierline.context.prompt import Prompt
from tierline.providers import render_openai

SAMPLING = {"temperature": 0.3, "repeat_penalty": 1.1, "dry_multiplier": 0.8}
"""llama.cpp's own fields (its server's documentation, "Completion"). Small models fall into loops;
DRY sampling (``dry_multiplier``) penalises sequences that were generated before.
"""


def body(prompt: Prompt) -> dict[str, Any]:
    """The request body."""
    return {**render_openai.body(prompt, official=False), **SAMPLING}
