"""Compactions for clients: a card after the messages that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tierline import protocol as p
from tierline.history.timeline import Summary


def with_compactions(
    messages: Sequence[p.ChatMessage], summaries: Sequence[Summary]
) -> list[p.ChatMessage]:
    """Mark messages that are no longer sent, and put each compaction's card after them."""
    shown: list[p.ChatMessage] = []
    last: dict[str, int] = {}
    for message in messages:
        for summary in summaries:
            if message.group_id in summary.covers and message.role != "system":
                last[summary.id] = len(shown)
                if message.id not in summary.keeps:
                    message.covered = summary.id
        shown.append(message)
    for summary in sorted(summaries, key=lambda s: -last.get(s.id, -1)):
        if summary.id not in last:
            continue
        count = sum(message.covered == summary.id for message in shown)
        shown.insert(last[summary.id] + 1, _card(summary, count))
    return shown


def _card(summary: Summary, count: int) -> p.ChatMessage:
    case: Literal["truncate", "summarize"] = (
        "truncate" if summary.case == "truncate" else "summarize"
    )
    what = "1 earlier message is" if count == 1 else f"{count} earlier messages are"
    note = (
        f"A new topic began: {what} no longer sent."
        if case == "truncate"
        else f"{what} sent as this summary."
    )
    return p.ChatMessage(
        id=summary.id,
        group_id=f"summary:{summary.id}",
        role="system",
        text=summary.text,
        status=p.MessageStatus.OK,
        timestamp=summary.timestamp,
        note=note,
        compaction=case,
    )
