"""Services of every family as a conversation meets them: what renders a prompt for one, the rules
that it is held to, and the blocks that its reply leaves in the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from attrs import define, evolve

from support.tierworld import FACTS, plain_blocks
from tierline.context.blocks import Block, Maker, Text, ToolUse
from tierline.context.models import ModelFacts
from tierline.context.prompt import Prompt
from tierline.context.strict import strict
from tierline.context.thinking import Binding, keep_valid
from tierline.providers import render_anthropic, render_openai, render_responses
from tierline.providers.canonical import dumps
from wire.enforcing import MODELS, Family
from wire.rules import Answer, Rules
from wire.rules_anthropic import Messages
from wire.rules_completions import Completions
from wire.rules_responses import Responses


@define
class Service:
    """One service with one model. ``rules`` may be shared by the models of a service."""

    family: Family
    maker: Maker
    facts: ModelFacts
    rules: Rules
    write: Callable[[Prompt], dict[str, Any]]
    strategy: str = "openai"
    demands: bool = True
    """It refuses calls without the thinking that led to them."""

    def body(self, prompt: Prompt) -> tuple[Prompt, dict[str, Any]]:
        """The prompt as it is sent to this service, and its body."""
        sent, _lost = keep_valid(strict(prompt, strategy=self.strategy), self.maker)
        return sent, json.loads(dumps(self.write(sent)))

    def answer(
        self, body: dict[str, Any], sent: Prompt, answer: Answer, number: int
    ) -> list[Block]:
        """What the reply to a body that the rules took leaves in the conversation."""
        data = b"".join(p for p in self.rules.reply(body, answer, number, 0.0).body
                        if isinstance(p, bytes))  # fmt: skip
        events = [
            json.loads(line[6:])
            for line in data.decode().splitlines()
            if line.startswith("data: {")
        ]
        binding, said = Binding(sent, self.maker), list[Block]()
        for shape in _SHAPES.get(self.family, _completion)(events):
            match shape:
                case str():
                    said.append(Text(shape))
                case ToolUse():
                    said.append(shape)
                case _:
                    said.append(binding.bind(self.strategy, shape, said))
        return said


MARKS = ("cache_control", "prompt_cache_breakpoint")
"""Fields that mark a place for the cache."""
_Shape = str | ToolUse | Mapping[str, Any]
"""A text, a call, or a piece of thinking."""


def _messages(events: list[dict[str, Any]]) -> Iterator[_Shape]:
    """Messages: a block is what it began with and what was added to it."""
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event["type"] == "content_block_delta":
            block = blocks[event["index"]]
            for name, piece in event["delta"].items():
                if name == "partial_json":
                    block["json"] = block.get("json", "") + piece
                elif name != "type":
                    block[name] = block.get(name, "") + piece
    for block in blocks.values():
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_use":
            yield ToolUse(block["id"], block["name"], json.loads(block.get("json", "{}")))
        else:
            yield block


def _completion(events: list[dict[str, Any]]) -> Iterator[_Shape]:
    """Chat Completions: thinking, text, then calls, each behind its own signature."""
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    if thought := "".join(delta.get("reasoning_content") or "" for delta in deltas):
        yield {"reasoning_content": thought}
    if text := "".join(delta.get("content") or "" for delta in deltas):
        yield text
    for delta in deltas:
        for call in delta.get("tool_calls") or ():
            if "extra_content" in call:
                yield {"extra_content": call["extra_content"]}
            function = call["function"]
            yield ToolUse(call["id"], function["name"], json.loads(function["arguments"]))


def _response(events: list[dict[str, Any]]) -> Iterator[_Shape]:
    """Responses: the items of the last event."""
    for item in events[-1]["response"]["output"]:
        if item["type"] == "message":
            yield item["content"][0]["text"]
        elif item["type"] == "function_call":
            yield ToolUse(item["call_id"], item["name"], json.loads(item["arguments"]))
        else:
            yield item


_SHAPES = {"anthropic": _messages, "responses": _response}


def parts(body: dict[str, Any]) -> list[str]:
    """A body's parts in the order of their bytes: what the next one must begin with."""
    if "input" in body:
        return _flat(body, body["input"])
    bound = any(isinstance(message["content"], list) and message["role"] == "assistant"
                for message in body["messages"])  # fmt: skip
    return plain_blocks(body) if bound or "system" in body else _flat(body, body["messages"])


def goes_on(earlier: list[str], now: list[str]) -> bool:
    """Whether a body's parts begin with all of an earlier one's: a prompt that is one string may
    have become longer.
    """
    if not earlier or now[: len(earlier)] == earlier:
        return True
    same, last = now[: len(earlier) - 1] == earlier[:-1], earlier[-1].removesuffix('"}]')
    return same and len(now) >= len(earlier) and now[len(earlier) - 1].startswith(last)


def _flat(body: dict[str, Any], said: list[dict[str, Any]]) -> list[str]:
    found = [json.dumps(tool) for tool in body.get("tools", ())]
    for message in said:
        content = message.get("content")
        if message.get("role") == "user" and content:
            texts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            found += [_written(["user", text]) for text in texts]
        else:
            found.append(_written(message))
    return found


def _written(value: Any) -> str:
    """JSON without breakpoints, which are no part of what the model reads."""
    return json.dumps(_bare(value))


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if k not in MARKS}
    return value


def services() -> list[Service]:
    """Two models of Anthropic's, and one of every other family."""
    messages = Messages()
    found = [
        Service("anthropic", Maker("anthropic", model), evolve(FACTS, name=model), messages,
                render_anthropic.body, "anthropic", demands=False)
        for model in ("claude-sonnet-5-5", "claude-opus-5-5")
    ]  # fmt: skip
    automatic = evolve(FACTS, family="openai", caching="automatic", ttls=())
    families: tuple[Family, ...] = ("openai", "deepseek", "kimi", "glm", "gemini")
    for family in families:
        facts = evolve(automatic, name=MODELS[family])
        write = partial(render_openai.body, official=family == "openai")
        found.append(Service(family, Maker(family, facts.name), facts, Completions(family), write,
                             demands=family != "openai"))  # fmt: skip
    facts = evolve(FACTS, family="openai", ttls=("30m", "12h"), name=MODELS["responses"])
    write = partial(render_responses.body, listed=True)
    found.append(Service("responses", Maker("openai", facts.name), facts, Responses(), write,
                         demands=False))  # fmt: skip
    # Claude behind a gateway that speaks Chat Completions and hands marks on.
    facts = evolve(FACTS, name="anthropic/claude-x")
    found.append(Service("gateway", Maker("gateway", facts.name), facts, Completions("gateway"),
                         _through_gateway, demands=False))  # fmt: skip
    return found


def _through_gateway(prompt: Prompt) -> dict[str, Any]:
    return render_openai.body(evolve(prompt, form={"marks": True}), official=False)
