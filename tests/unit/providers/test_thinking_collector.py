"""Thinking of Chat Completions is put together from its pieces, as it is to go back."""

from __future__ import annotations

from typing import Any

from tierline.providers.thinking_collector import ThinkingCollector


def gathered(*pieces: dict[str, Any]) -> list[Any]:
    thoughts = ThinkingCollector()
    for piece in pieces:
        thoughts.add(piece)
    found = [done.data for done in thoughts.done()]
    assert list(thoughts.done()) == []
    return found


def test_plain_thinking_goes_back_under_its_own_name() -> None:
    assert gathered({"reasoning_content": "a"}, {"reasoning_content": "b"}) == [
        {"reasoning_content": "ab"}
    ]
    assert gathered({"reasoning": "a"}) == [{"reasoning": "a"}]


def test_nothing_comes_of_nothing() -> None:
    assert gathered({}, {"reasoning_content": None}, {"reasoning_content": ""}) == []


def test_detailed_thinking_keeps_its_entries_and_its_seal() -> None:
    text = {"type": "reasoning.text", "index": 0}
    found = gathered(
        {"reasoning": "hm", "reasoning_details": [{**text, "text": "h", "signature": None}]},
        {"reasoning_details": [{**text, "text": "m"}]},
        {"reasoning_details": [{**text, "signature": "c2ln"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]},
    )
    assert found == [
        {
            "reasoning_details": [
                {**text, "text": "hm", "signature": "c2ln"},
                {"type": "reasoning.encrypted", "index": 1, "data": "x"},
            ]
        }
    ]
