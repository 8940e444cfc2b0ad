"""Conversations as other tools write them, read as data: who said what, in order.

Formats: aider's ``.aider.chat.history.md``; Claude Code's session files (JSON lines); Copilot
Chat's *Export Chat* (JSON); ChatGPT's ``conversations.json``; our own export. Only messages are
taken. What cannot be read is left out and counted; nothing here runs, opens or fetches anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from attrs import Factory, define, frozen

MAX_MESSAGES = 2_000
"""Messages of one conversation; older ones are left out."""
MAX_CHARACTERS = 200_000
"""Characters of one message; the rest is left out."""
MAX_CONVERSATIONS = 20
"""Conversations of one file; the first ones are taken."""

ForeignRole = Literal["user", "assistant"]


@frozen
class ForeignMessage:
    """One message. ``timestamp`` is ISO 8601 or empty."""

    role: ForeignRole
    text: str
    timestamp: str = ""


@define
class ForeignConversation:
    """A conversation of another tool, and the number of parts that were left out."""

    source: str
    title: str = ""
    said: list[ForeignMessage] = Factory(list)
    left_out: dict[str, int] = Factory(dict)
    """Kind of part, and how many of it."""

    def add(self, role: object, text: object, timestamp: object = "") -> None:
        """Add a message; one without text or without a known role is skipped."""
        if role not in ("user", "assistant"):
            self.skip("messages that neither you nor the model wrote")
        elif not isinstance(text, str) or not text.strip():
            self.skip("messages without text")
        else:
            if len(text) > MAX_CHARACTERS:
                self.skip("ends of very long messages")
            when = timestamp if isinstance(timestamp, str) else ""
            self.said.append(ForeignMessage(role, text[:MAX_CHARACTERS].strip(), when))

    def skip(self, what: str) -> None:
        """Count a part of this kind as left out."""
        self.left_out[what] = self.left_out.get(what, 0) + 1


def read(text: str) -> list[ForeignConversation]:
    """The conversations in a file's text; empty if its format is unknown."""
    found: list[ForeignConversation] = []
    if "# aider chat started at" in text:
        found = list(_aider(text))
    else:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            found = _lines(text)
        else:
            found = _json(value)
    return [_bounded(one) for one in found if one.said]


def _bounded(one: ForeignConversation) -> ForeignConversation:
    if len(one.said) > MAX_MESSAGES:
        one.left_out["older messages"] = len(one.said) - MAX_MESSAGES
        one.said = one.said[-MAX_MESSAGES:]
    return one


def _json(value: object) -> list[ForeignConversation]:
    if isinstance(value, dict):
        if value.get("format") == "tierline-conversation":
            return [_ours(value)]
        if isinstance(value.get("requests"), list):
            return [_copilot(value)]
        if isinstance(value.get("mapping"), dict):
            return [_chatgpt(value)]
        return _lines(json.dumps(value))  # a session file of one line
    if isinstance(value, list):
        return [
            _chatgpt(one)
            for one in value
            if isinstance(one, dict) and isinstance(one.get("mapping"), dict)
        ]
    return []


def _ours(value: Mapping[str, Any]) -> ForeignConversation:
    found = ForeignConversation("Tierline", _text(value.get("title")))
    for one in _dicts(value.get("messages")):
        found.add(one.get("role"), one.get("text"), one.get("timestamp"))
    return found


_STARTED = re.compile(r"^# aider chat started at (.*)$", re.MULTILINE)


def _aider(text: str) -> Iterator[ForeignConversation]:
    """``#### `` begins a line of a prompt, ``> `` one of aider itself; the rest is the reply."""
    pieces = _STARTED.split(text)
    for when, body in zip(pieces[1::2], pieces[2::2], strict=True):
        found = ForeignConversation("aider", f"aider, {when.strip()}")
        role: ForeignRole = "assistant"
        lines: list[str] = []

        def close(role: ForeignRole, lines: list[str], found: ForeignConversation = found) -> None:
            if "".join(lines).strip():
                found.add(role, "\n".join(lines))

        for line in body.splitlines():
            if line.startswith("> "):
                found.skip("lines of aider itself")
                continue
            now: ForeignRole = "user" if line.startswith("####") else "assistant"
            if now != role:
                close(role, lines)
                role, lines = now, []
            lines.append(line.removeprefix("####").removeprefix(" ") if now == "user" else line)
        close(role, lines)
        yield found


def _lines(text: str) -> list[ForeignConversation]:
    """Claude Code: a record a line. Its sub-agents' talk and its own notes are left out."""
    found = ForeignConversation("Claude Code")
    known = False
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            found.skip("damaged lines")
            continue
        if not isinstance(record, dict):
            found.skip("damaged lines")
            continue
        kind = record.get("type")
        known = known or "sessionId" in record or kind == "summary"
        if kind == "summary":
            found.title = found.title or _text(record.get("summary"))
        elif kind not in ("user", "assistant") or not isinstance(record.get("message"), dict):
            found.skip("records that are no messages")
        elif record.get("isSidechain") or record.get("isMeta"):
            found.skip("messages of sub-agents and notes")
        else:
            message = record["message"]
            _blocks(found, kind, message.get("content"), record.get("timestamp"))
    return [found] if known else []


def _blocks(found: ForeignConversation, role: object, content: object, when: object) -> None:
    if isinstance(content, str):
        found.add(role, content, when)
        return
    texts = []
    for block in _dicts(content):
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        else:
            found.skip(_KINDS.get(_text(block.get("type")), "blocks of another kind"))
    if texts:
        # A reply that comes in several records is one reply.
        found.add(role, "\n\n".join(texts), when)


_KINDS = {
    "tool_use": "calls of tools",
    "tool_result": "results of tools",
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "image": "pictures",
}


def _copilot(value: Mapping[str, Any]) -> ForeignConversation:
    found = ForeignConversation("Copilot Chat")
    for request in _dicts(value.get("requests")):
        message = request.get("message")
        asked = message.get("text") if isinstance(message, dict) else message
        found.add("user", asked)
        texts = []
        for part in _dicts(request.get("response")):
            inner = part.get("value")
            content = inner.get("value") if isinstance(inner, dict) else inner
            if part.get("kind") in (None, "markdownContent") and isinstance(content, str):
                texts.append(content)
            elif part.get("kind") == "markdownContent" and isinstance(part.get("content"), dict):
                texts.append(_text(part["content"].get("value")))
            else:
                found.skip("parts that are no text")
        if texts:
            found.add("assistant", "".join(texts))
        else:
            found.skip("prompts without a reply")
    return found


def _chatgpt(value: Mapping[str, Any]) -> ForeignConversation:
    """A tree of messages; the branch that ends at ``current_node`` is what was shown last."""
    found = ForeignConversation("ChatGPT", _text(value.get("title")))
    nodes = value["mapping"]
    path: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    at = value.get("current_node")
    while isinstance(at, str) and at in nodes and at not in seen and isinstance(nodes[at], dict):
        seen.add(at)
        path.append(nodes[at])
        at = nodes[at].get("parent")
    for node in reversed(path):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author = message.get("author")
        role = author.get("role") if isinstance(author, dict) else ""
        content = message.get("content")
        if role in ("system", "tool") or not isinstance(content, dict):
            found.skip("messages that neither you nor the model wrote")
        elif content.get("content_type") not in ("text", "multimodal_text"):
            found.skip("parts that are no text")
        else:
            parts = content.get("parts")
            texts = [part for part in parts if isinstance(part, str)] if parts else []
            for _ in range(len(parts or ()) - len(texts)):
                found.skip("pictures")
            found.add(role, "\n\n".join(texts))
    for _ in range(len(nodes) - len(seen)):
        found.skip("messages of other branches")
    return found


def _dicts(value: object) -> Sequence[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
