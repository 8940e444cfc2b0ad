"""What Anthropic's API itself says of its cache: why it missed, and how long writes are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import evolve

from tierline.context.blocks import Text
from tierline.context.prompt import Prompt, PromptBlock
from tierline.context.prompt_json import block_from_json, block_to_json, put_together, take_apart
from tierline.context.tiers.attribution import Attribution, Cause, ReportedTokens, _provider_says
from tierline.context.tiers.outcome import Outcome
from tierline.context.tiers.request_cost import bill
from tierline.providers import render_anthropic
from tierline.providers.base import Usage
from tierline.providers.messages import MessageReader
from tierline.session.counting import make_counters

START = {
    "type": "message_start",
    "message": {
        "id": "msg_7",
        "content": [],
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 900,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_1h_input_tokens": 600, "ephemeral_5m_input_tokens": 300},
        },
        "diagnostics": {
            "cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 850}
        },
    },
}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}


def usage(*events: Any) -> Usage:
    reader = MessageReader()
    found = [e for data in events for e in reader.read(data) if isinstance(e, Usage)]
    return found[-1]


def test_reason_split_and_id_come_with_the_figures() -> None:
    found = usage(START, END)
    assert (found.reply_id, found.missed, found.missed_tokens) == ("msg_7", "tools_changed", 850)
    assert (found.cache_write_tokens, found.written_1h) == (900, 600)
    assert found.output_tokens == 3


def test_a_diagnosis_that_is_pending_or_odd_says_nothing() -> None:
    for odd in (None, {}, {"cache_miss_reason": None}, {"cache_miss_reason": 7}, 3, "x"):
        message = {**START["message"], "diagnostics": odd}  # type: ignore[dict-item]
        assert usage({**START, "message": message}, END).missed == ""


def test_the_request_names_the_reply_before_only_where_it_is_to() -> None:
    prompt = Prompt("claude-sonnet-5-5", (PromptBlock(Text("Be brief."), "system:head"),), ())
    for previous, wanted in (
        (None, None),
        ("", {"previous_message_id": None}),
        ("msg_7", {"previous_message_id": "msg_7"}),
    ):
        asked = evolve(prompt, previous_reply=previous)
        body = render_anthropic.body(asked)
        assert body.get("diagnostics") == wanted
        stored = json.loads(json.dumps(take_apart(asked, block_to_json)))
        again = put_together(stored, block_from_json)
        assert again.previous_reply == previous, "a replay sends the same bytes"


def test_the_providers_reason_stands_beside_ours_and_a_difference_is_said() -> None:
    said = ReportedTokens(missed="tools_changed", missed_tokens=850)
    assert _provider_says(said, Cause.TOOLS) == (
        "The provider says that the tools changed, which cost 850 tokens."
    )
    assert _provider_says(said, Cause.EXPIRED).endswith("Tierline does not see that.")
    assert _provider_says(ReportedTokens(missed="unavailable"), Cause.TOOLS) == ""


def test_writes_are_paid_for_by_how_long_they_are_kept() -> None:
    facts = make_counters(Path()).table.facts("claude-sonnet-4-5", provider="anthropic")
    found = Attribution(Outcome.MISS, Cause.TOOLS, "", input=1_000_000, written=1_000_000)
    short = bill(found, facts, "5m").cost
    long = bill(found, facts, "1h").cost
    half = bill(evolve(found, written_1h=500_000), facts, "5m").cost
    assert short < half < long
    assert abs(half - (short + long) / 2) < 1e-9
