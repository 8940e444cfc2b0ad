"""Short ways to write conversations in tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tierline.context.blocks import Block, Text, ToolResult, ToolUse
from tierline.context.prompt import PromptMessage
from tierline.history.actions import summarise
from tierline.history.codec import decode
from tierline.history.compaction import CompactionPlan
from tierline.history.events import LogEvent
from tierline.history.messages import HistoryRole, Message, Status
from tierline.history.timeline import timeline
from tierline.store.sessions import HistoryStore

SESSION = "sess_1700000000000_abc123"


def msg(
    number: int,
    role: HistoryRole,
    content: str | tuple[Block, ...],
    *,
    group: str = "",
    **more: Any,
) -> Message:
    """A message with the id ``m<number>``."""
    blocks = (Text(content),) if isinstance(content, str) else content
    fields: dict[str, Any] = {
        "session_id": SESSION,
        "timestamp": f"2024-01-01T00:00:{number % 60:02d}Z",
        **more,
    }
    return Message(id=f"m{number}", group_id=group, role=role, content=blocks, **fields)


def event(number: int, kind: str, *, on: str = "main", **data: Any) -> LogEvent:
    """An event with the id ``e<number>`` on the branch ``on``."""
    return LogEvent(f"e{number}", SESSION, f"2024-01-01T01:00:{number:02d}Z", kind, on, data)


def turn(number: int, prompt: str = "", reply: str = "") -> tuple[Message, Message]:
    """A whole turn: the group ``g<number>`` with a prompt and a reply."""
    group = f"g{number}"
    return (
        msg(number * 10, "user", prompt or f"question {number}", group=group),
        msg(number * 10 + 1, "assistant", reply or f"answer {number}", group=group),
    )


def decoded(records: Iterable[Mapping[str, Any]]) -> tuple[Message | LogEvent, ...]:
    """The messages and events among a log's records."""
    return tuple(entry for record in records if (entry := decode(record)) is not None)


def compacted(
    messages: Sequence[Message], done: CompactionPlan, text: str = ""
) -> tuple[Message, ...]:
    """What may be sent of a conversation after this compaction; empty text for a truncation."""
    action = summarise(text, done.covers, done.case, done.keeps)
    made = LogEvent("compaction", SESSION, "2024-01-02T00:00:00Z", action.kind, "main", action.data)
    return timeline([*messages, made]).context()


def talk(*parts: str | tuple[HistoryRole, str]) -> list[Message]:
    """Prompts and replies by turns, the user's first, unless a role is said."""
    roles: tuple[HistoryRole, HistoryRole] = ("user", "assistant")
    pairs = [
        (roles[n % 2], part) if isinstance(part, str) else part for n, part in enumerate(parts)
    ]
    return [msg(n, role, text) for n, (role, text) in enumerate(pairs)]


def tool_turn(
    number: int, outputs: Sequence[str], strategy: str = "anthropic"
) -> tuple[Message, ...]:
    """A turn with one call and result per output, then a closing reply."""
    group, base = f"g{number}", number * 100
    made = [msg(base, "user", f"do {number}", group=group, parsing_strategy=strategy)]
    for step, output in enumerate(outputs):
        call = f"toolu_{number}_{step}"
        made.append(
            msg(
                base + 2 * step + 1,
                "assistant",
                (ToolUse(call, "search_code", {"query": "a"}),),
                group=group,
                status=Status.TOOL_CALL,
                parsing_strategy=strategy,
            )
        )
        made.append(
            msg(
                base + 2 * step + 2,
                "user",
                (ToolResult(call, (Text(output),)),),
                group=group,
                parsing_strategy=strategy,
            )
        )
    made.append(msg(base + 99, "assistant", f"did {number}", group=group))
    return tuple(made)


def four_characters(messages: Sequence[PromptMessage]) -> int:
    """The stub counter of the bug cases: one token per four characters."""
    total = 0
    for message in messages:
        for entry in message.blocks:
            total += len(str(getattr(entry.block, "text", entry.block)))
    return -(-total // 4)


def texts(messages: Sequence[Message]) -> list[str]:
    """The plain texts of messages, in order."""
    return [b.text for m in messages for b in m.content if isinstance(b, Text)]


def seen(store: HistoryStore, session: str = "") -> list[str]:
    """The texts that a store shows of a session."""
    return [
        b.text for m in store.timeline(session).visible() for b in m.content if isinstance(b, Text)
    ]


def exchange(store: HistoryStore, prompt: str, reply: str = "ok") -> Message:
    """Keep a prompt and its reply. Returns the prompt as it was kept."""
    asked = store.append(store.make("user", prompt), durable=True)
    store.append(store.make("assistant", reply, group_id=asked.group_id), durable=True)
    return asked
