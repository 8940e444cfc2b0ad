"""Tool isolation: which parts of the history another strategy may be sent.

Text always may; calls, results and reasoning go only to the strategy that made them, and a call and
its results leave together. The output of a call that was added from outside (``tierline add tool``)
is sent as text where the call may not be. Only the outgoing copy changes, the log never does.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from tierline.context.blocks import Block, Image, Maker, Reasoning, Text, ToolResult, ToolUse
from tierline.context.fences import fence
from tierline.history.messages import Message, Status
from tierline.history.parser import GEMINI

EXTERNAL = "external"
"""The name of a call that no model made: it carries output that was added from outside."""


def compatible(made_by: str, active: str) -> bool:
    """True if ``active`` understands calls that ``made_by`` wrote."""
    return made_by == active or (made_by in GEMINI and active in GEMINI)


def isolate(
    messages: Iterable[Message], active: str, maker: Maker | None = None, *, reasoned: bool = False
) -> tuple[Message, ...]:
    """The history as the active strategy may see it; of thinking only what ``maker`` made, if one
    is named. ``reasoned``: calls that its own thinking did not lead to are foreign as well.

    Of a foreign message its plain text stays (in a ``tool`` message there is none); a message of
    which nothing stays is left out. A result of our own whose call was foreign goes with the call.
    """
    foreign_calls: dict[str, set[str]] = {}
    external: set[str] = set()
    kept: list[Message] = []
    for message in messages:
        if message.plain:
            kept.append(message)
            continue
        ours = compatible(message.parsing_strategy, active)
        if reasoned and message.role == "assistant":
            ours = ours and any(
                isinstance(b, Reasoning) and b.maker == maker for b in message.content
            )
        gone = foreign_calls.setdefault(message.session_id, set())
        for block in message.content:
            if isinstance(block, ToolUse):
                (gone.discard if ours else gone.add)(block.id)
                if block.name == EXTERNAL:
                    external.add(block.id)
        crossed: list[Block] = []
        for block in message.content:
            if _may_cross(block, ours, gone, active, maker):
                crossed.append(block)
            elif isinstance(block, ToolResult) and block.tool_use_id in external:
                crossed.append(_told(block))
        content = tuple(crossed)
        if content == message.content:
            kept.append(message)
        elif content:
            status = Status.OK if message.status is Status.TOOL_CALL else message.status
            kept.append(attrs.evolve(message, content=content, status=status))
    return tuple(m for m in kept if m.role != "tool" or any(_is_output(b) for b in m.content))


def _may_cross(block: Block, ours: bool, gone: set[str], active: str, maker: Maker | None) -> bool:
    match block:
        case Text() | Image():
            return True
        case ToolUse():
            return ours
        case ToolResult():
            return ours and block.tool_use_id not in gone
        case Reasoning():
            return compatible(block.strategy, active) and maker in (None, block.maker)


def _told(result: ToolResult) -> Text:
    said = "\n".join(block.text for block in result.content if isinstance(block, Text))
    return Text(f"{_TOLD}\n{fence(said.rstrip() + chr(10))}")


def _is_output(block: Block) -> bool:
    if isinstance(block, Text):
        return block.text.startswith(_TOLD)
    return isinstance(block, ToolResult)


_TOLD = "Output of a tool, added by the user:"
