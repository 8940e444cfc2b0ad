"""From a fixture's history to a request body, the way the product does it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bugcases.fixtures import CASES, oracle
from support import wellformed
from support.histories import decoded
from tierline.context.blocks import Text
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.history.groups import to_prompt
from tierline.history.messages import Message
from tierline.history.timeline import Timeline, timeline
from tierline.providers import render_anthropic, render_openai
from tierline.providers.canonical import dumps
from tierline.store.log import HistoryLog


def load(path: Path) -> tuple[Message, ...]:
    """The messages that a fixture's log leaves in context."""
    return fold(path).context()


def fold(path: Path) -> Timeline:
    """The state that a fixture's log stands for."""
    return timeline(decoded(line.record for line in HistoryLog(path).read() if line.record))


def prompt_of(messages: Iterable[Message], prompt: str = "", system: str = "You help.") -> Prompt:
    turns = [to_prompt(m) for m in messages]
    if prompt:
        turns.append(PromptMessage("user", (PromptBlock(Text(prompt), "prompt"),)))
    return Prompt("test-model", (PromptBlock(Text(system), "system:head"),), tuple(turns))


def body(prompt: Prompt, provider: str) -> dict[str, Any]:
    """Strict form, then the adapter's own rendering."""
    repaired = strict(prompt, strategy=provider)
    value = (
        render_anthropic.body(repaired)
        if provider == "anthropic"
        else render_openai.body(repaired, official=True)
    )
    decoded: dict[str, Any] = json.loads(dumps(value))
    return decoded


def violations(body: dict[str, Any], provider: str) -> list[str]:
    """What our own checker objects to, and the oracle of the bug cases where it is there."""
    found = wellformed.violations(body, provider)
    return found + (oracle_violations(body, provider) if CASES.is_dir() else [])


def oracle_violations(body: dict[str, Any], provider: str) -> list[str]:
    """What the oracle objects to.

    For OpenAI bodies the oracle's strict mode also flags an assistant message that follows tool
    messages, since it passes over these when it compares roles; that order is the only one the API
    has for a reply after a call, so those findings are taken out.
    """
    check = oracle()
    if provider == "anthropic":
        return list(check.check_anthropic(body))
    messages = body["messages"]
    after_tools = {
        f"messages[{i}]: same role twice (assistant)"
        for i, m in enumerate(messages)
        if m["role"] == "assistant" and i and messages[i - 1]["role"] == "tool"
    }
    return [v for v in check.check_openai(body) if v not in after_tools]


def text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)
