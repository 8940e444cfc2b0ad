"""Changes requests to what a server accepts: the one place where a profile is applied.

Changes of the conversation are made in the neutral prompt (``adapt_prompt``), changes of single
fields in the body (``adapt_body``). Both are pure, so a stored prompt renders to the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from tierline.context.blocks import Reasoning, Text, ToolResult, ToolUse, with_pictures
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.context.text import sha256
from tierline.providers.canonical import sort_tools
from tierline.providers.profile import OTHERS, Profile

PICTURE_LEFT_OUT = "[a picture was here; this model takes none]"


def adapt_prompt(prompt: Prompt, profile: Profile) -> Prompt:
    """The prompt without anything that the server does not accept."""
    messages: Sequence[PromptMessage] = prompt.messages
    if not profile.pictures:
        messages = [_each(message, _without_pictures) for message in messages]
    if profile.call_ids:
        messages = [_each(message, lambda i: _with_id(i, profile.call_ids)) for message in messages]
    if not profile.tools:
        names: dict[str, str] = {}
        messages = [_each(message, lambda item: _told(item, names)) for message in messages]
    system = prompt.system
    if profile.system == "user" and system:
        messages, system = _before(system, messages), ()
    if profile.alternate:
        messages = _joined(messages)
    most = prompt.max_output_tokens
    if profile.max_output_tokens:
        most = min(most, profile.max_output_tokens)
    return evolve(
        prompt,
        system=system,
        messages=tuple(messages),
        tools=_offered(prompt.tools, profile),
        max_output_tokens=most,
    )


def _offered(tools: tuple[ToolSpec, ...], profile: Profile) -> tuple[ToolSpec, ...]:
    """The tools that the server takes; Tierline's own go first."""
    if not profile.tools:
        return ()
    if refused := profile.without_tools:
        own = OTHERS in refused
        tools = tuple(t for t in tools if t.name not in refused and (t.builtin or not own))
    return tuple(sort_tools(tools)[: profile.most_tools]) if profile.most_tools else tools


def adapt_body(body: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """The body without the fields that the server refuses."""
    top = {name for name in profile.without if "/" not in name}
    found = {name: value for name, value in body.items() if name not in top}
    for name in profile.without:
        place, _, inner = name.partition("/")
        for at in (place, "system") if place == "messages" else (place,):
            if inner and at in found:
                found[at] = _stripped(found[at], inner)
    return found


def _stripped(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_stripped(one, name) for one in value]
    if not isinstance(value, Mapping):
        return value
    found = {}
    for key, inner in value.items():
        if key == "properties" and isinstance(inner, Mapping):
            found[key] = {k: _stripped(v, name) for k, v in inner.items()}
        elif key != name:
            found[key] = _stripped(inner, name)
    return found


def _each(
    message: PromptMessage, change: Callable[[PromptBlock], PromptBlock | None]
) -> PromptMessage:
    if message.plain:
        return message
    blocks = tuple(b for block in message.blocks if (b := change(block)) is not None)
    return evolve(message, blocks=blocks)


def _without_pictures(item: PromptBlock) -> PromptBlock:
    block = with_pictures(item.block, lambda _: Text(PICTURE_LEFT_OUT))
    return item if block is item.block else evolve(item, block=block)


def _with_id(item: PromptBlock, length: int) -> PromptBlock:
    """Calls and results with ids of this length, always the same for the same id."""
    block = item.block
    if isinstance(block, ToolUse):
        return evolve(item, block=evolve(block, id=_id(block.id, length)))
    if isinstance(block, ToolResult):
        return evolve(item, block=evolve(block, tool_use_id=_id(block.tool_use_id, length)))
    return item


def _id(name: str, length: int) -> str:
    if len(name) == length and name.isascii() and name.isalnum():
        return name
    return sha256(name)[:length]


def _told(item: PromptBlock, names: dict[str, str]) -> PromptBlock | None:
    """Calls and results of earlier turns as text, for a model without tools."""
    block = item.block
    if isinstance(block, Reasoning):
        return None
    if isinstance(block, ToolUse):
        names[block.id] = block.name
        arguments = json.dumps(dict(block.input), ensure_ascii=False)
        return evolve(item, block=Text(f"[called {block.name} with {arguments}]"))
    if isinstance(block, ToolResult):
        text = "\n".join(part.text for part in block.content if isinstance(part, Text))
        name = names.get(block.tool_use_id, "the call")
        return evolve(item, block=Text(f"[result of {name}]\n{text or '(no output)'}"))
    return item


def _before(
    system: Sequence[PromptBlock], messages: Sequence[PromptMessage]
) -> list[PromptMessage]:
    """The conversation with the instructions at the beginning of the user's first message."""
    found = list(messages)
    at = next((n for n, message in enumerate(found) if message.role == "user"), None)
    if at is None or any(isinstance(b.block, ToolResult) for b in found[at].blocks):
        return [PromptMessage("user", tuple(system)), *found]
    found[at] = PromptMessage("user", (*system, *found[at].blocks))
    return found


def _joined(messages: Iterable[PromptMessage]) -> list[PromptMessage]:
    """The conversation with consecutive messages of one role joined."""
    found: list[PromptMessage] = []
    for message in messages:
        if found and found[-1].role == message.role:
            found[-1] = PromptMessage(message.role, (*found[-1].blocks, *message.blocks))
        else:
            found.append(message)
    return found
