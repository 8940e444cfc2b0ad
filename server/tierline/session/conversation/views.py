"""How clients see the conversation: calls, compactions, usage of turns, what went with a prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from tierline import protocol as p
from tierline.context.blocks import Image, Text, ToolResult
from tierline.context.plan import ContextPlan, PlanEntry
from tierline.context.text import clip, well_formed
from tierline.history.groups import calls, results
from tierline.history.messages import Message
from tierline.history.timeline import Summary
from tierline.history.usage import TurnUsage, UsageFigures, turn_usage

SHOWN = 4_000
"""Characters of a result and of arguments that clients get; the history has all."""

Title: TypeAlias = Callable[[str, Mapping[str, Any]], str]
"""Words for a call's row, from the tool's name and the arguments."""
Answers: TypeAlias = Mapping[tuple[str, str], tuple[Message, ToolResult]]
"""Results by turn and call id."""


def results_of(messages: Sequence[Message]) -> Answers:
    """All results in some messages."""
    return {(m.group_id, r.tool_use_id): (m, r) for m in messages for r in results(m)}


def call_rows(message: Message, answers: Answers, title: Title) -> list[p.ToolCallInfo]:
    """The rows of a message's calls. A call without a result is waiting for one."""
    rows = []
    for call in calls(message):
        row = p.ToolCallInfo(
            id=call.id,
            message_id=message.id,
            name=call.name,
            title=title(call.name, call.input),
            arguments=shown_arguments(call.input),
        )
        if (found := answers.get((message.group_id, call.id))) is not None:
            holder, result = found
            facts = holder.meta
            row.status = "error" if result.is_error else "ok"
            row.status = "interrupted" if facts.get("interrupted") else row.status
            row.note = str(facts.get("note", ""))
            row.result = shown_result(result)
            spent = facts.get("milliseconds")
            row.milliseconds = spent if isinstance(spent, int) else 0
        rows.append(row)
    return rows


def shown_arguments(arguments: Mapping[str, Any]) -> str:
    """Arguments as text for the user."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=1, default=str)
    return clip(well_formed(text), SHOWN)


def shown_result(result: ToolResult) -> str:
    """The beginning of a result."""
    parts = ("[picture]" if isinstance(b, Image) else b.text for b in result.content)
    return clip(well_formed("\n".join(parts)), SHOWN)


def shown_text(text: str) -> str:
    """The beginning of a text."""
    return shown_result(ToolResult("", (Text(text),)))


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


def finished_event(
    turn_id: str,
    outcome: p.TurnOutcome,
    message: p.ChatMessage | None,
    requests: list[dict[str, Any]],
    cache: p.CacheReport | None,
) -> p.TurnFinished:
    """The event that ends a turn, with the same figures as its reflection."""
    found = turn_usage({"requests": requests})
    if message is not None:
        show_usage(message, found)
    return p.TurnFinished(
        turn_id,
        outcome,
        message=message,
        usage=total_usage(found),
        last=last_usage(found),
        cache=cache,
    )


def show_usage(message: p.ChatMessage, found: TurnUsage | None) -> None:
    """The event that shows the turn's figures with this message; None if there are none."""
    message.usage, message.last = total_usage(found), last_usage(found)
    outcome = "" if found is None else found.outcome
    message.cache_outcome = p.known(p.CacheOutcome, outcome, None)


def total_usage(found: TurnUsage | None) -> p.UsageInfo | None:
    """The sum over the turn's requests; None if none was answered."""
    return None if found is None else _info(found.total)


def last_usage(found: TurnUsage | None) -> p.UsageInfo | None:
    """The last of several requests; None if there is only one, which is the sum already."""
    return None if found is None or found.total.requests == 1 else _info(found.last)


def cut_off_usage(found: p.CacheReport, *, reported: bool) -> p.UsageInfo:
    """Figures of a request whose reply was cut off: it is paid for all the same."""
    return p.UsageInfo(
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cache_read_tokens=found.read_tokens if found.read_tokens >= 0 else None,
        cache_write_tokens=found.written_tokens if found.written_tokens >= 0 else None,
        estimated=not reported,
        cost=found.cost,
        saved=found.saved,
    )


def _info(figures: UsageFigures) -> p.UsageInfo:
    return p.UsageInfo(
        input_tokens=figures.input,
        output_tokens=figures.output,
        cache_read_tokens=figures.read,
        cache_write_tokens=figures.written,
        estimated=figures.estimated,
        cost=figures.cost,
        saved=figures.saved,
        requests=figures.requests,
    )


_KINDS: dict[str, p.SentKind] = {
    "instructions": "instructions",
    "memo": "memo",
    "file": "file",
    "url": "page",
    "card": "card",
    "recall": "recalled",
}
"""Kinds by key prefix, in the order in which clients show them."""
_MAX_LABEL_LENGTH = 200


def sent_entries(plan: ContextPlan) -> list[p.SentEntry]:
    """The plan's entries beside the conversation, in order."""
    found = (_entry(entry) for entry in plan.included)
    return [one for one in found if one is not None]


def sent_groups(plan: ContextPlan, attached: Iterable[p.Attachment]) -> list[p.SentGroup]:
    """Those entries by kind, without the user's attachments, which are shown at the
    prompt anyway.
    """
    shown = {name for one in attached if not one.text for name in (one.path, one.uri)}
    kinds: dict[p.SentKind, list[str]] = {kind: [] for kind in _KINDS.values()}
    for one in sent_entries(plan):
        if one.label not in shown:
            kinds[one.kind].append(one.label)
    return [
        p.SentGroup(
            kind, len(labels), labels[0][-_MAX_LABEL_LENGTH:] if _alone(kind, labels) else ""
        )
        for kind, labels in kinds.items()
        if labels
    ]


def groups_of(recorded: Sequence[tuple[str, int, str]]) -> list[p.SentGroup]:
    """Groups as the log keeps them; kinds that this version does not know are left out."""
    known = {str(kind): kind for kind in _KINDS.values()}
    return [p.SentGroup(known[kind], n, label) for kind, n, label in recorded if kind in known]


def _alone(kind: p.SentKind, labels: Sequence[str]) -> bool:
    """The name of a single item; empty for memos and earlier turns, which only have ids."""
    return len(labels) == 1 and kind not in ("memo", "recalled")


def _entry(entry: PlanEntry) -> p.SentEntry | None:
    kind, _, name = entry.key.partition(":")
    if kind not in _KINDS:
        return None
    return p.SentEntry(entry.key, _KINDS[kind], entry.path or name, entry.tokens)
