"""Server-sent events from bytes."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.providers import sse


async def parse(chunks: Iterable[bytes]) -> list[sse.ParsedEvent]:
    async def feed() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [event async for event in sse.events(feed())]


STREAM = (
    'event: a\r\ndata: {"t": "Grüße 世界 😀"}\r\n\r\n: comment\n\n'
    'data: {"n":\ndata: 1}\n\ndata:{"x": 2}\n\nid: 3\nretry: 5\n\ndata: [DONE]\n\n'
).encode()
WANT: list[sse.ParsedEvent] = [
    ("a", {"t": "Grüße 世界 😀"}),
    ("", {"n": 1}),
    ("", {"x": 2}),
    (sse.DONE, {}),
]


async def test_names_comments_line_ends_and_several_data_lines() -> None:
    assert await parse([STREAM]) == WANT


async def test_cut_at_every_byte() -> None:
    assert await parse(STREAM[i : i + 1] for i in range(len(STREAM))) == WANT


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
async def test_cut_anywhere(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    assert await parse(STREAM[a:b] for a, b in pairwise(edges)) == WANT


async def test_a_damaged_event_costs_itself_only() -> None:
    events = await parse([b'data: {"a": 1}\n\ndata: {"b\n\ndata: [1]\n\ndata: {"c": 3}\n\n'])
    assert [isinstance(event, sse.DamagedEvent) for event in events] == [False, True, True, False]


async def test_a_cut_line_that_runs_into_the_next_event_costs_itself_only() -> None:
    events = await parse([b'data: {"a": \ndata: {"b": 2}\n\n'])
    assert isinstance(events[0], sse.DamagedEvent)
    assert events[1:] == [("", {"b": 2})]


async def test_a_last_event_without_its_blank_line_counts_if_it_is_whole() -> None:
    assert await parse([b'data: {"a": 1}\n']) == [("", {"a": 1})]
    assert await parse([b'data: {"a": 1}']) == [("", {"a": 1})]
    assert await parse([b'data: {"a": ']) == []


async def test_what_never_ends_is_dropped_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line without its end, and an event of lines without its blank one."""
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 10_000)
    good = b'\n\ndata: {"a": 1}\n\n'
    for piece in (b"x" * 900, b"data: 1\n" * 100):
        found = await parse([*([piece] * 100), good])
        assert len([e for e in found if isinstance(e, sse.DamagedEvent)]) >= 6
        assert found[-1] == ("", {"a": 1})


async def test_a_long_line_in_small_pieces_is_joined_once() -> None:
    line = b'data: {"a": "' + b"x" * 4_000_000 + b'"}\n\n'
    began = time.process_time()
    found = await parse(line[i : i + 1000] for i in range(0, len(line), 1000))
    assert [type(event) for event in found] == [tuple]
    assert time.process_time() - began < 1, "joined anew at each piece this takes 8 GB of copies"


async def test_an_event_nested_too_deeply_costs_itself_only() -> None:
    found = await parse([b"data: " + b"[" * 200_000 + b'\n\ndata: {"a": 1}\n\n'])
    assert [isinstance(event, sse.DamagedEvent) for event in found] == [True, False]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (b'[{"a": 1},\n{"b": 2}]', [("", {"a": 1}), ("", {"b": 2})]),
        (b'[\n  {"a": 1}\n,\n{"b": [2]}\n]\n', [("", {"a": 1}), ("", {"b": [2]})]),
        (b'[{"a": 1},\n{"b": ', [("", {"a": 1})]),
        (b'data: [{"a": 1}, {"b": 2}]\n\n', [("", {"a": 1}), ("", {"b": 2})]),
        (b"[1, 2]", []),
    ],
)
async def test_the_chunks_of_an_array_are_read_one_by_one(
    body: bytes, want: list[sse.ParsedEvent]
) -> None:
    assert await parse([body]) == want
    assert await parse([body[n : n + 1] for n in range(len(body))]) == want
