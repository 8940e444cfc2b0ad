"""What a scripted server holds prompts to: its format's rules, and what its own replies ask for.

Signatures of a script are no service's own, so nothing can be read from them. But thinking that is
bound must stand behind a request that was made, and what came with a call must come back with it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from wire.rules import Refused
from wire.rules_anthropic import Messages
from wire.rules_completions import Completions
from wire.servers import Kind, Reply, Request


@define
class Scripted:
    """One server's rules. ``refused`` has every refusal; the script is answered all the same."""

    kind: Kind
    refused: list[Exception] = field(factory=list)
    _messages: Messages = field(factory=lambda: Messages(scripted=True))
    _completions: Completions = field(factory=lambda: Completions("scripted"))
    _lock: Any = field(factory=threading.Lock)

    def check(self, request: Request) -> None:
        """Take down what the rules refuse."""
        rules = self._messages if self.kind == "anthropic" else self._completions
        with self._lock:
            try:
                rules.check(request.body, request.headers)
            except (Refused, AttributeError, KeyError, TypeError) as refused:
                self.refused.append(refused)

    def count(self, request: Request) -> None:
        """The same for a request that only counts."""
        with self._lock:
            try:
                self._messages.count(request.body, request.headers)
            except (Refused, AttributeError, KeyError, TypeError) as refused:
                self.refused.append(refused)

    def answered(self, request: Request, reply: Reply) -> None:
        """Remember what came with the calls of a reply."""
        if self.kind == "openai" and reply.status == 200:
            with self._lock:
                self._completions.remember(str(request.body.get("model")), *_said(reply))


def _said(reply: Reply) -> tuple[str, list[dict[str, Any]]]:
    """Reasoning and calls of a reply, as far as it can be read."""
    reasoning, calls = "", []
    for delta in _deltas(reply):
        reasoning += _text(delta.get("reasoning_content"))
        found = delta.get("tool_calls")
        calls += [call for call in found if isinstance(call, dict)] if found else []
    return reasoning, calls


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    data = b"".join(part for part in reply.body if isinstance(part, bytes))
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            chunk = json.loads(line.removeprefix("data:"))
            choice = chunk["choices"][0]
            delta = choice.get("delta") or choice.get("message")
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            continue
        if isinstance(delta, dict):
            yield delta


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
