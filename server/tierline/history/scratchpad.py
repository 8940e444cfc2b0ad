"""The scratchpad: free markdown per session that the model keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from tierline.context.prompt import ToolSpec
from tierline.context.text import well_formed

MAX_CHARACTERS = 20_000
"""Longer scratchpads are refused: they would crowd out the conversation."""

TOOL = ToolSpec(
    name="manage_scratchpad",
    description=(
        "Your own notes for this session: plans, checklists, open questions. They are shown to you "
        "in every request and survive restarts and changes of model. `read` returns them, `update` "
        "replaces them, `append` adds at the end."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["read", "update", "append"]},
            "content": {"type": "string", "description": "Markdown; not for `read`."},
        },
        "required": ["action"],
    },
)


@frozen
class ScratchpadOutcome:
    """The scratchpad after a call, what the model is told, and whether the call failed."""

    text: str
    answer: str
    changed: bool = False
    error: bool = False


def manage(current: str, arguments: Mapping[str, Any]) -> ScratchpadOutcome:
    """Carry out one ``manage_scratchpad`` call. Bad arguments change nothing and say why."""
    action = arguments.get("action")
    content = arguments.get("content")
    if action == "read":
        return ScratchpadOutcome(current, current or "(The scratchpad is empty.)")
    if action not in ("update", "append") or not isinstance(content, str):
        others = [f"`{name}`" for name in arguments if name not in ("action", "content")]
        instead = f", not in {' or '.join(others)[:100]}" if others else ""
        return ScratchpadOutcome(
            current,
            "Nothing done: `action` is read, update or append, and the text of update and append"
            f" stands in `content`{instead}.",
            error=True,
        )
    if action == "append" and not content.strip():
        return ScratchpadOutcome(current, "Nothing done: `content` is empty.", error=True)
    text = well_formed(content)
    if action == "append" and current:
        text = f"{current.rstrip()}\n{text}"
    if len(text) > MAX_CHARACTERS:
        return ScratchpadOutcome(
            current,
            f"Nothing done: the scratchpad holds {MAX_CHARACTERS} characters, this would make "
            f"{len(text)}. Update it with a shorter version.",
            error=True,
        )
    if text == current:
        return ScratchpadOutcome(current, "Nothing to save: the scratchpad says this already.")
    return ScratchpadOutcome(text, "Saved.", changed=True)


def section(text: str) -> str:
    """The scratchpad as it is put into the context; empty if there is nothing in it."""
    return f"### SCRATCHPAD\n{text.strip()}" if text.strip() else ""
