"""What a provider's cache depends on: the same bytes for the same tools, in whatever order and form
they were registered, in every dialect.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from tierline.context.blocks import Text
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.providers import local, render_anthropic, render_openai
from tierline.providers.canonical import dumps

DIALECTS: dict[str, Any] = {
    "anthropic": render_anthropic.body,
    "openai": lambda prompt: render_openai.body(prompt, official=True),
    "compatible": lambda prompt: render_openai.body(prompt, official=False),
    "local": local.body,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A file."},
        "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    },
    "required": ["path", "lines"],
}
TOOLS = (
    ToolSpec("read", "Reads.", SCHEMA),
    ToolSpec("edit", "Edits.", {"type": "object", "properties": {}}),
    ToolSpec("search", "Searches."),
    ToolSpec("zz_server_tool", "From elsewhere.", SCHEMA, builtin=False),
    ToolSpec("a_server_tool", "From elsewhere.", SCHEMA, builtin=False),
)
PROMPT = Prompt(
    "m",
    system=(PromptBlock(Text("Be brief."), "system:head", "5m"),),
    messages=(PromptMessage("user", (PromptBlock(Text("Hi."), "history:1", "5m"),)),),
    tools=TOOLS,
    tools_mark="5m",
    cache_key="sess_1",
)


def shuffled(value: Any, order: Any) -> Any:
    """The same JSON, its objects' keys in another order."""
    if isinstance(value, dict):
        keys = order(sorted(value))
        return {key: shuffled(value[key], order) for key in keys}
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    return value


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_tools_render_to_the_same_bytes_in_any_order(dialect: str, data: st.DataObject) -> None:
    render = DIALECTS[dialect]
    expected = dumps(render(PROMPT))
    tools = data.draw(st.permutations(TOOLS))
    tools = [
        evolve(t, input_schema=shuffled(t.input_schema, lambda k: data.draw(st.permutations(k))))
        for t in tools
    ]
    assert dumps(render(evolve(PROMPT, tools=tuple(tools)))) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dynamic_tool_leaves_the_built_in_ones_where_they_are(dialect: str) -> None:
    render = DIALECTS[dialect]
    built_in = tuple(tool for tool in TOOLS if tool.builtin)
    few = render(evolve(PROMPT, tools=built_in))["tools"]
    more = render(PROMPT)["tools"]
    assert more[: len(few)] == few
    names = [tool.get("name") or tool["function"]["name"] for tool in more]
    assert names == ["edit", "read", "search", "a_server_tool", "zz_server_tool"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_may_vary_stands_behind_the_prefix(dialect: str) -> None:
    """Another output limit or another routing key changes no byte before the messages' end."""
    render = DIALECTS[dialect]
    one = dumps(render(PROMPT)).decode()
    two = dumps(render(evolve(PROMPT, max_output_tokens=7, cache_key="sess_2"))).decode()
    common = next(n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    assert json.dumps("Hi.")[1:-1] in one[:common]


def test_openai_gets_the_sessions_key_and_others_none() -> None:
    assert DIALECTS["openai"](PROMPT)["prompt_cache_key"] == "sess_1"
    for other in ("compatible", "local", "anthropic"):
        assert "prompt_cache_key" not in DIALECTS[other](PROMPT)
