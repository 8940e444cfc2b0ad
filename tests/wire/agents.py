"""Scripted agents: replies that call tools, in both wire formats, and what they were told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import field, frozen

from wire.scripts import (
    a_end,
    a_reply,
    a_start,
    a_texts,
    a_tool,
    o_call,
    o_end,
    o_reply,
    o_texts,
)
from wire.servers import Kind, Reply


@frozen
class Use:
    """One call of a scripted reply."""

    name: str
    arguments: Any = field(factory=dict)
    id: str = ""
    raw: str | None = None
    """The text of the arguments, if it is not to be the JSON of ``arguments``."""

    @property
    def text(self) -> str:
        return self.raw if self.raw is not None else json.dumps(self.arguments)


def calls(kind: Kind, *uses: Use, text: str = "", stop: str = "") -> Reply:
    """A reply that calls tools; arguments come in pieces of seven characters, or in 200 pieces."""
    named = [(use.id or f"call_{use.name}_{i}", use) for i, use in enumerate(uses)]
    if kind == "anthropic":
        body = [a_start(), *(a_texts(0, text) if text else [])]
        for index, (identifier, use) in enumerate(named, 1 if text else 0):
            body += a_tool(index, identifier, use.name, *_pieces(use.text))
        return Reply([*body, *a_end(stop or "tool_use")])
    parts = o_texts(text) if text else []
    for index, (identifier, use) in enumerate(named):
        parts += o_call(index, identifier, use.name, *_pieces(use.text))
    return Reply([*parts, *o_end(stop or "tool_calls")])


def says(kind: Kind, text: str) -> Reply:
    """A reply of text alone."""
    return a_reply(text) if kind == "anthropic" else o_reply(text)


def results(body: Any, kind: Kind) -> dict[str, str]:
    """Results in a request body by call id; errors begin with ``Error: ``, as in OpenAI's form."""
    found: dict[str, str] = {}
    for message in body["messages"]:
        if kind == "openai":
            if message["role"] == "tool":
                found[message["tool_call_id"]] = message["content"]
            continue
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                text = "".join(part.get("text", "") for part in block.get("content", ()))
                found[block["tool_use_id"]] = ("Error: " if block.get("is_error") else "") + text
    return found


def tool_names(body: Any, kind: Kind) -> list[str]:
    """The tools that a request offers, in order."""
    tools: Iterable[Any] = body.get("tools", ())
    return [tool["name"] if kind == "anthropic" else tool["function"]["name"] for tool in tools]


def _pieces(text: str) -> Sequence[str]:
    size = max(7, len(text) // 200)
    return [text[i : i + size] for i in range(0, len(text), size)]
