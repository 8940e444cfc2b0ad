"""A tool result that the model already has is not sent again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierline.context.blocks import Text
from tierline.context.text import clip
from tierline.history.groups import results
from tierline.history.messages import Message
from tierline.history.parser import text_of
from tierline.history.truncation import DEFAULTS
from tierline.tools.registry import ToolOutput

READS = frozenset({"read_file", "list_files", "search_code", "request_code_context"})
"""Tools that only read: an equal result means that nothing has changed."""
_SHOWN = 60


def unchanged(
    tool: str,
    output: ToolOutput,
    messages: Sequence[Message],
    standing: Mapping[str, tuple[int, ...]],
    group_id: str,
) -> ToolOutput | None:
    """The answer instead of an equal result; None if the result must be sent.

    ``standing``: characters of each result that the last request had, by message. Only a result
    that is in it whole counts.
    """
    if tool not in READS or output.error or output.images or len(output.text) <= DEFAULTS.inactive:
        return None
    for message in reversed(messages):
        for place, result in enumerate(results(message)):
            held = standing.get(message.id, ())
            if place >= len(held) or held[place] < len(output.text):
                continue
            if "".join(b.text for b in result.content if isinstance(b, Text)) == output.text:
                where = _where(message, messages, group_id)
                said = f"Unchanged since {where}: the result of {tool} that stands there holds."
                return ToolOutput(said, note="unchanged")
    return None


def _where(message: Message, messages: Sequence[Message], group_id: str) -> str:
    if message.group_id == group_id:
        return "your earlier call in this turn"
    order = list(dict.fromkeys(one.group_id for one in messages))
    prompts = (m for m in messages if m.group_id == message.group_id and m.role == "user")
    asked = " ".join(text_of(next(prompts, message).content).split())
    return f"turn {order.index(message.group_id) + 1} (“{clip(asked, _SHOWN)}”)"
