"""Hypothesis strategies: conversations as messy as logs can be."""

from __future__ import annotations

from hypothesis import strategies as st

from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec

surrogates = st.integers(0xD800, 0xDFFF).map(chr)
odd_text = st.one_of(
    st.sampled_from(
        ["", " ", "\n\t", "\u200b\ufeff", "\u00a0", "\x1e", "ok", "\ud83d", "\ude0b", "\0"]
    ),
    st.text(max_size=12),
    st.text(st.one_of(st.characters(), surrogates), max_size=6),
)
identifiers = st.one_of(
    st.sampled_from(["a", "b", "call_1", "toolu_1", "a:b", "call_9|fc_7", "", "x" * 80, "\ud83d"]),
    st.text(st.one_of(st.characters(), surrogates), max_size=8),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | odd_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text, inner, max_size=3),
    max_leaves=6,
)
texts = st.builds(Text, odd_text)
images = st.builds(
    Image,
    st.sampled_from(["image/png", "image/jpeg", "image/tiff", "", "text/plain"]),
    st.sampled_from(["", "aGk=", "not base64!", "aGk=\n"]),
    ref=odd_text,
)
uses = st.builds(ToolUse, identifiers, odd_text, st.dictionaries(odd_text, json_values, max_size=3))
results = st.builds(
    ToolResult, identifiers, st.lists(texts | images, max_size=3).map(tuple), st.booleans()
)
reasonings = st.builds(
    Reasoning,
    st.sampled_from(["anthropic", "openai", "gemini"]),
    st.one_of(
        st.just({"type": "thinking", "thinking": "hm", "signature": "s"}),
        st.just({"type": "redacted_thinking", "data": "x"}),
        st.dictionaries(odd_text, json_values, max_size=2),
    ),
)
blocks = st.one_of(texts, texts, uses, uses, results, results, images, reasonings)
prompt_blocks = st.builds(
    PromptBlock,
    blocks,
    st.sampled_from(["history:1", "history:2", "prompt"]),
    st.sampled_from([None, None, None, "5m", "1h"]),
)
messages = st.builds(
    PromptMessage,
    st.sampled_from(["user", "assistant"]),
    st.lists(prompt_blocks, max_size=4).map(tuple),
)
tools = st.builds(
    ToolSpec, st.just("read_file"), odd_text, st.dictionaries(odd_text, json_values, max_size=2)
)
prompts = st.builds(
    Prompt,
    odd_text,
    st.lists(prompt_blocks, max_size=3).map(tuple),
    st.lists(messages, max_size=8).map(tuple),
    st.lists(tools, max_size=2).map(tuple),
    st.sampled_from([None, "5m"]),
)
