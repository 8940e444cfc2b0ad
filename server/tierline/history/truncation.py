"""Truncating tool results: long while they are needed, short afterwards, whole in the log.

A result's limit depends on its age: in the active group the newest five results keep 5000
characters (more for tools that answer in pages) and older ones 1000; in finished groups all keep
300. A result that was sent stays in the form in which it was sent until bytes are rewritten anyway
(``context/tiers/rewrites.py``). One ``query_db`` call returns the whole; the text after the cut
says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs
from attrs import field, frozen, validators

from tierline.context.blocks import Block, Image, Text, ToolResult
from tierline.context.text import clip
from tierline.history.groups import calls, results
from tierline.history.messages import Message


@frozen
class TruncationSettings:
    """Limits in characters (Unicode code points), hint not included."""

    full: int = field(default=5000, validator=validators.ge(0))
    """Newest results of the active group."""
    degraded: int = field(default=1000, validator=validators.ge(0))
    """Older results of the active group."""
    inactive: int = field(default=300, validator=validators.ge(0))
    """Results of all other groups."""
    recent: int = field(default=5, validator=validators.ge(0))
    """How many results of the active group count as newest."""
    retrieved: int = field(default=20_000, validator=validators.ge(0))
    """Newest results of ``query_db``, which were asked for because something had been cut; cutting
    them as well would send the model round in circles.
    """

    page: int = field(default=26_000, validator=validators.ge(0))
    """Newest results of ``read_file``, which bounds itself to a page; 500 lines are one."""


DEFAULTS = TruncationSettings()
RETRIEVAL_TOOL = "query_db"
PAGING_TOOL = "read_file"


def hint(message_id: str) -> str:
    """The end of a cut result: the call that returns the whole of it."""
    quoted = message_id.replace("'", "''")
    sql = f"SELECT content FROM messages WHERE id='{quoted}'"  # noqa: S608 - shown, not run
    return f'... [TRUNCATED. Use query_db(sql="{sql}") to see full output]'


TruncationLimits = Mapping[str, tuple[int, ...]]
"""Message id to the characters that each of its results may keep."""


def limits(
    messages: Sequence[Message], *, group_id: str, settings: TruncationSettings = DEFAULTS
) -> dict[str, tuple[int, ...]]:
    """What the results of each message may keep if they are written now."""
    active = [
        (m.id, place)
        for m in messages
        if m.group_id == group_id and not m.plain
        for place, _ in enumerate(results(m))
    ]
    newest = set(active[-settings.recent :]) if settings.recent else set()
    by_tool = {RETRIEVAL_TOOL: settings.retrieved, PAGING_TOOL: settings.page}
    larger = {
        c.id: by_tool[c.name]
        for m in messages
        if not m.plain
        for c in calls(m)
        if c.name in by_tool
    }
    found: dict[str, tuple[int, ...]] = {}
    for message in messages:
        if message.plain:
            continue
        allowed: list[int] = []
        for place, result in enumerate(results(message)):
            if message.group_id != group_id:
                allowed.append(settings.inactive)
            elif (message.id, place) not in newest:
                allowed.append(settings.degraded)
            else:
                more = 0 if result.is_error else larger.get(result.tool_use_id, 0)
                allowed.append(max(settings.full, more))
        if allowed:
            found[message.id] = tuple(allowed)
    return found


def truncate(
    messages: Sequence[Message],
    *,
    group_id: str,
    sent: TruncationLimits | None = None,
    settings: TruncationSettings = DEFAULTS,
) -> tuple[Message, ...]:
    """Shorten tool results. Everything else is left alone; the log keeps every byte.

    A message that ``sent`` names keeps the form in which it was sent, whatever its age. The others
    get the form that is due now.
    """
    allowed = {**limits(messages, group_id=group_id, settings=settings), **(sent or {})}
    return tuple(shorten(m, allowed[m.id]) if m.id in allowed else m for m in messages)


def truncate_result(result: ToolResult, limit: int, message_id: str) -> ToolResult:
    """One result with at most ``limit`` characters of text plus the hint; pictures stay.

    Cuts never fall inside a character: not in a surrogate pair, nor between an emoji or a letter
    and what modifies it.
    """
    total = sum(len(b.text) for b in result.content if isinstance(b, Text))
    if total <= limit:
        return result
    room = limit
    kept: list[Text | Image] = []
    for block in result.content:
        if isinstance(block, Image):
            kept.append(block)
            continue
        piece = clip(block.text, room)
        room = 0 if len(piece) < len(block.text) else room - len(piece)
        if piece:
            kept.append(Text(piece))
    note = hint(message_id)
    last = next((i for i in range(len(kept) - 1, -1, -1) if isinstance(kept[i], Text)), None)
    if last is None:
        kept.append(Text(note))
    else:
        end = kept[last]
        kept[last] = Text((end.text if isinstance(end, Text) else "") + note)
    return attrs.evolve(result, content=tuple(kept))


def shorten(message: Message, allowed: Iterable[int]) -> Message:
    """A message with so many characters of each of its results."""
    rest = iter(allowed)
    content: tuple[Block, ...] = tuple(
        truncate_result(b, next(rest, DEFAULTS.inactive), message.id)
        if isinstance(b, ToolResult)
        else b
        for b in message.content
    )
    return message if content == message.content else attrs.evolve(message, content=content)
