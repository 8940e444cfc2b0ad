"""Replies of any provider, however split, cut or damaged: nothing raises, no text is invented.

Issue 10, item 3, for streams and for the edit blocks that a reply may hold.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.strategies import json_values, odd_text
from tierline.context.edits.blocks import Proposal, SearchReplaceBlock, apply, propose
from tierline.providers.base import ProviderError, Stop, StreamEvent, TextChunk, ToolCall
from tierline.providers.completion import CompletionReader
from tierline.providers.messages import MessageReader
from tierline.providers.sse import DONE, DamagedEvent, events
from wire.agents import Use, calls
from wire.servers import Kind

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))
KINDS: list[Kind] = ["anthropic", "openai"]
both = pytest.mark.parametrize("kind", KINDS)
TEXT = "Grüße, 世界 🙂: done."


def whole(kind: Kind) -> bytes:
    """A reply of text and a call, as it comes over the wire."""
    made = calls(kind, Use("read_file", {"path": "src/ä.py"}, "c1"), text=TEXT)
    return b"".join(part for part in made.body if isinstance(part, bytes))


def read(kind: Kind, pieces: list[bytes]) -> list[StreamEvent]:
    """What the adapter's reader makes of chunks, up to an error that it reports as one."""

    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def run() -> list[StreamEvent]:
        reader = MessageReader() if kind == "anthropic" else CompletionReader("Test")
        heard: list[StreamEvent] = []
        try:
            async for parsed in events(chunks()):
                if isinstance(parsed, DamagedEvent) or parsed[0] == DONE:
                    continue
                heard += reader.read(parsed[1])
            heard += reader.end()
        except ProviderError as error:
            assert error.message  # an error event: a sentence for the user
        return heard

    return asyncio.run(run())


def text_of(heard: list[StreamEvent]) -> str:
    return "".join(event.text for event in heard if isinstance(event, TextChunk))


@both
@settings(max_examples=EXAMPLES, deadline=None)
@given(cuts=st.lists(st.integers(0, 4000), max_size=12))
def test_any_split_gives_the_same_events(kind: Kind, cuts: list[int]) -> None:
    data = whole(kind)
    places = [0, *sorted(c for c in cuts if c < len(data)), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    assert read(kind, pieces) == read(kind, [data])
    assert text_of(read(kind, pieces)) == TEXT


@both
@settings(max_examples=EXAMPLES, deadline=None)
@given(end=st.integers(0, 4000))
def test_any_truncation_keeps_a_prefix_and_makes_no_call_of_half_a_one(
    kind: Kind, end: int
) -> None:
    data = whole(kind)
    heard = read(kind, [data[:end]])
    assert TEXT.startswith(text_of(heard))
    made = [event for event in heard if isinstance(event, ToolCall)]
    complete = [e for e in heard if isinstance(e, Stop) and e.reason != "incomplete"]
    if complete:
        assert [call.input for call in made] == [{"path": "src/ä.py"}]


def spoilt(dice: Any, value: Any, other: Any) -> Any:
    """The value with parts replaced by ``other``."""
    if dice.random() < 0.12:
        return other
    if isinstance(value, dict):
        return {k: spoilt(dice, v, other) for k, v in value.items() if dice.random() > 0.05}
    if isinstance(value, list):
        return [spoilt(dice, v, other) for v in value]
    return value


@both
@settings(max_examples=EXAMPLES, deadline=None)
@given(dice=st.randoms(use_true_random=False), other=json_values)
def test_wrong_types_anywhere_raise_nothing(kind: Kind, dice: Any, other: Any) -> None:
    lines = []
    for line in whole(kind).split(b"\n"):
        if line.startswith(b"data: {"):
            changed = spoilt(dice, json.loads(line[6:]), other)
            lines.append(b"data: " + json.dumps(changed).encode())
        else:
            lines.append(line)
    read(kind, [b"\n".join(lines)])


TOLD = {"choices", "delta", "content", "type", "text", "content_block"}
"""What a text stands in; every other field may be anything."""


def disturbed(dice: Any, value: Any, other: Any) -> Any:
    """The value with fields that hold no text left out or replaced."""
    if isinstance(value, list):
        return [disturbed(dice, item, other) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, item in value.items():
        if name in TOLD or dice.random() > 0.3:
            found[name] = disturbed(dice, item, other)
        elif dice.random() > 0.5:
            found[name] = other
    return found


@both
@settings(max_examples=EXAMPLES, deadline=None)
@given(dice=st.randoms(use_true_random=False), other=json_values, parts=st.booleans())
def test_whatever_else_a_stream_says_its_text_is_not_lost(
    kind: Kind, dice: Any, other: Any, parts: bool
) -> None:
    lines = []
    for line in whole(kind).split(b"\n"):
        if line.startswith(b"data: {"):
            changed = disturbed(dice, json.loads(line[6:]), other)
            for choice in changed.get("choices", ()):
                delta = choice["delta"]
                if parts and delta.get("content"):
                    delta["content"] = [{"type": "text", "text": delta["content"]}]
            lines.append(b"data: " + json.dumps(changed).encode())
        else:
            lines.append(line)
    assert text_of(read(kind, [b"\n".join(lines)])) == TEXT


@both
@settings(max_examples=EXAMPLES, deadline=None)
@given(noise=st.binary(max_size=60), place=st.integers(0, 4000), gone=st.integers(0, 80))
def test_any_bytes_anywhere_raise_nothing(kind: Kind, noise: bytes, place: int, gone: int) -> None:
    data = whole(kind)
    read(kind, [data[:place] + noise + data[place + gone :]])


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    text=odd_text,
    pairs=st.lists(st.tuples(odd_text, odd_text), max_size=4),
    parts=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30), odd_text), max_size=4),
)
def test_any_edit_block_applies_or_says_why(
    text: str, pairs: list[tuple[str, str]], parts: list[tuple[int, int, str]]
) -> None:
    """Blocks of any text, also such as occur in the file: all of them or none, never half."""
    from_file = [(text[at : at + size], new) for at, size, new in parts]
    found = propose(text, [SearchReplaceBlock(old, new) for old, new in (*pairs, *from_file)])
    if isinstance(found, Proposal):
        assert found.before == text and apply(text, found.hunks) == found.after
        assert apply(text, ()) == text
    else:
        assert found.reason
