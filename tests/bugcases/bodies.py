"""From a fixture's history to a request body, the way the product does it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bugcases.fixtures import oracle
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.history.groups import to_prompt
from tierline.history.messages import Message
from tierline.history.timeline import Timeline, fold_records, timeline
from tierline.store.log import HistoryLog


def load(path: Path) -> tuple[Message, ...]:
    """The messages that a fixture's log leaves in context."""
    return fold(path).context()


def fold(path: Path) -> Timeline:
    """The state that a fixture's log stands for."""
    return timeline(fold_records(line.record for line in HistoryLog(path).read() if line.record))


def prompt_of(messages: Iterable[Message], prompt: str = "", system: str = "You help.") -> Prompt:
    turns = [to_prompt(m) for m in messages]
    if prompt:
        turns.append(PromptMessage("user", (PromptBlock(Text(prompt), "prompt"),)))
    return Prompt("test-model", (PromptBlock(Text(system), "system:head"),), tuple(turns))


def body(prompt: Prompt, provider: str) -> dict[str, Any]:
    """Strict form, then the adapter's shape (a plain rendering of the neutral blocks)."""
    repaired = strict(prompt, strategy=provider)
    value = _anthropic(repaired) if provider == "anthropic" else _openai(repaired)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def violations(body: dict[str, Any], provider: str) -> list[str]:
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


def _marked(shape: dict[str, Any], block: PromptBlock) -> dict[str, Any]:
    return {**shape, "cache_control": {"type": "ephemeral"}} if block.mark else shape


def _part(block: object) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image():
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return {"type": "image", "source": source}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
        case ToolResult():
            content = [_part(c) for c in block.content]
            return {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": content}
        case Reasoning():
            return dict(block.data)
    raise TypeError(block)


def _parts(blocks: Sequence[PromptBlock]) -> list[dict[str, Any]]:
    return [_marked(_part(b.block), b) for b in blocks]


def _anthropic(prompt: Prompt) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "model": prompt.model,
        "messages": [{"role": m.role, "content": _parts(m.blocks)} for m in prompt.messages],
    }
    if prompt.system:
        shape["system"] = _parts(prompt.system)
    return shape


def _openai(prompt: Prompt) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if prompt.system:
        head = [b.block.text for b in prompt.system if isinstance(b.block, Text)]
        messages.append({"role": "system", "content": "\n".join(head)})
    for message in prompt.messages:
        texts = [_part(b.block) for b in message.blocks if isinstance(b.block, Text | Image)]
        if message.role == "assistant":
            calls = [_call(b.block) for b in message.blocks if isinstance(b.block, ToolUse)]
            content = "\n".join(t["text"] for t in texts) or None
            shape: dict[str, Any] = {"role": "assistant", "content": content}
            messages.append(shape | ({"tool_calls": calls} if calls else {}))
            continue
        messages += [_tool(b.block) for b in message.blocks if isinstance(b.block, ToolResult)]
        if texts:
            messages.append({"role": "user", "content": texts})
    return {"model": prompt.model, "messages": messages}


def _call(use: ToolUse) -> dict[str, Any]:
    function = {"name": use.name, "arguments": json.dumps(dict(use.input))}
    return {"id": use.id, "type": "function", "function": function}


def _tool(result: ToolResult) -> dict[str, Any]:
    content = "\n".join(c.text for c in result.content if isinstance(c, Text))
    return {"role": "tool", "tool_call_id": result.tool_use_id, "content": content}
