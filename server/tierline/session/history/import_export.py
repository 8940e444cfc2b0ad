"""Exchanging conversations: exports for people and programs, imports of other tools' formats."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TypeAlias

import attrs

from tierline import protocol as p
from tierline.errors import TierlineError
from tierline.history import actions, foreign
from tierline.history.messages import Message
from tierline.session.conversation import Conversation
from tierline.session.history.service import HistoryService
from tierline.session.requests.plans import PlanService

MAX_BYTES = 50_000_000
"""Bytes; a larger file is not read."""

_STYLE = """
body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.55 system-ui,sans-serif;
color:#1f2328;background:#fff}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}}
article{margin:1.2rem 0;padding:.8rem 1rem;border:1px solid #8884;border-radius:8px}
article.user{background:#8881}h2{font-size:1rem;margin:0 0 .4rem}
pre{overflow:auto;padding:.6rem;background:#8882;border-radius:6px}
.facts{margin:.6rem 0 0;font-size:.85rem;opacity:.8}table{border-collapse:collapse}
td,th{border:1px solid #8885;padding:.2rem .5rem}
"""


class ImportExport:
    """``tierline/history/export`` and ``tierline/history/import``."""

    def __init__(
        self, history: HistoryService, conversation: Conversation, plans: PlanService
    ) -> None:
        self._history = history
        self._plans = plans
        self._store = conversation.store

    async def export(self, params: p.ExportParams) -> p.ExportResult:
        """A session as a text, with each prompt's context and each reply's usage."""
        read = await self._history.read(p.SessionParams(params.session_id))
        title = await asyncio.to_thread(self._title, read.session_id) or "Conversation"
        kind = params.format
        writer = {"json": _json, "html": _html, "markdown": _markdown}[kind]
        prompts = [m.group_id for m in read.messages if m.role == "user"]

        def write() -> str:
            return writer(
                title, read.messages, {g: self._plans.context_of_turn(g)[1] for g in prompts}
            )

        text = await asyncio.to_thread(write)
        name = re.sub(r"[^\w-]+", "-", title)[:60].strip("-") or "conversation"
        ending = {"json": "json", "html": "html", "markdown": "md"}[kind]
        return p.ExportResult(f"{name}.{ending}", text)

    def _title(self, session_id: str) -> str:
        found = self._store.session(session_id)
        return found.title if found is not None else ""

    async def take(self, params: p.ImportParams) -> p.ImportResult:
        """Conversations of another tool, each into a new session; the last one is opened.

        Raises:
            TierlineError: ``invalid_params``: the text is too large, or nothing in it can be read.
        """
        if len(params.text) > MAX_BYTES:
            raise TierlineError(
                "invalid_params",
                f"{params.name} is larger than {MAX_BYTES // 1_000_000} MB.",
                "Import a part of it.",
            )
        found = await asyncio.to_thread(foreign.read, params.text)
        if not found:
            raise TierlineError(
                "invalid_params",
                f"No conversation was found in {params.name or 'the text'}.",
                "Formats that are read: aider's chat history, Claude Code's session files, Copilot "
                "Chat's export, ChatGPT's conversations.json, and Tierline's own export as JSON.",
            )
        taken, rest = found[: foreign.MAX_CONVERSATIONS], found[foreign.MAX_CONVERSATIONS :]
        for one in taken:
            await self._history.new(p.NewSessionParams("keep"))
            await asyncio.to_thread(self._write, one)
        await self._history.load(p.SessionParams(self._store.session_id))
        left: dict[str, int] = {"conversations": len(rest)} if rest else {}
        for one in taken:
            for what, count in one.left_out.items():
                left[what] = left.get(what, 0) + count
        return p.ImportResult(
            source=taken[0].source,
            sessions=len(taken),
            messages=sum(len(one.said) for one in taken),
            left_out=[f"{count:,} {what}" for what, count in left.items()],
        )

    def _write(self, one: foreign.ForeignConversation) -> None:
        messages: list[Message] = []
        group = ""
        for said in one.said:
            group = "" if said.role == "user" else group
            message = self._store.make(
                said.role, said.text, group_id=group, meta={"imported": one.source}
            )
            group = message.group_id
            messages.append(message)
        self._store.append_all(messages, durable=True)
        title = one.title or f"{one.source}: {one.said[0].text[:40]}"
        self._store.record(actions.rename(" ".join(title.split())[:100]))


SentByTurn: TypeAlias = Mapping[str, Sequence[p.SentEntry]]
"""Context that went with the prompts, by turn."""


def _json(title: str, messages: Sequence[p.ChatMessage], went: SentByTurn) -> str:
    value = {
        "format": "tierline-conversation",
        "version": 1,
        "title": title,
        "exported": datetime.now(UTC).isoformat(timespec="seconds"),
        "messages": [
            attrs.asdict(message) | {"sent": [attrs.asdict(one) for one in _went(message, went)]}
            for message in messages
        ],
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _markdown(title: str, messages: Sequence[p.ChatMessage], went: SentByTurn) -> str:
    parts = [f"# {title}"]
    for message in messages:
        if message.role == "tool":
            continue
        parts.append(f"## {_who(message)}")
        if message.text:
            parts.append(message.text)
        parts += [f"> {line}" for line in _facts(message, _went(message, went))]
    return "\n\n".join(parts) + "\n"


def _html(title: str, messages: Sequence[p.ChatMessage], went: SentByTurn) -> str:
    """One file without scripts; nothing in it is loaded from anywhere."""
    from markdown_it import MarkdownIt

    # Raw HTML is shown as text, and so are pictures, which would be fetched.
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    body = []
    for message in messages:
        if message.role == "tool":
            continue
        facts = "<br>".join(escape(line) for line in _facts(message, _went(message, went)))
        body.append(
            f'<article class="{message.role}"><h2>{escape(_who(message))}</h2>'
            f'<div dir="auto">{made.render(message.text)}</div>'
            + (f'<p class="facts">{facts}</p>' if facts else "")
            + "</article>"
        )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _who(message: p.ChatMessage) -> str:
    who = {"user": "You", "assistant": "Tierline", "system": "Note"}[message.role]
    return f"{who}, {message.timestamp[:16].replace('T', ' ')}" if message.timestamp else who


def _went(message: p.ChatMessage, went: SentByTurn) -> Sequence[p.SentEntry]:
    return went.get(message.group_id, ()) if message.role == "user" else ()


def _facts(message: p.ChatMessage, sent: Sequence[p.SentEntry]) -> list[str]:
    """A message's context, calls and cost."""
    lines = []
    if message.context_line:
        lines.append(f"Sent: {message.context_line}")
    labels = [*message.files, *(one.label for one in message.attached)]
    labels += [one.label if one.kind == "file" else f"{one.kind} {one.label}" for one in sent]
    if labels:
        lines.append(f"Sent with it: {', '.join(dict.fromkeys(labels))}")
    lines += [f"Called {call.name}: {call.title} ({call.status})" for call in message.calls]
    if (usage := message.usage) is not None:
        cached = f", {usage.cache_read_tokens:,} of them cached" if usage.cache_read_tokens else ""
        cost = f", ${usage.cost:.4f}" if usage.cost else ""
        tokens = f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"
        lines.append(f"Took: {tokens}{cost}")
    if message.status != "ok":
        lines.append(f"State: {message.status}")
    return lines
