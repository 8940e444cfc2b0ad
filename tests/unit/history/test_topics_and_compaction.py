"""Seed 004, "Testing": Topic Detector, History Compactor, Context Manager Integration.

Each test cites the line of the seed that it holds. The detector's and the summariser's model is
asked over a real wire format in ``tests/lsp/test_compaction.py``; here the parts are held alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from support.atoms import atoms
from support.histories import compacted, event, four_characters, msg, tool_turn, turn
from tierline.context.tiers.base import CacheState, Pricing, RequestContext
from tierline.context.tiers.counter import CounterPolicy
from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary
from tierline.history.boundaries.local import detect
from tierline.history.boundaries.model import format_messages, parse
from tierline.history.compaction import (
    NOTHING,
    CompactionKind,
    CompactionPlan,
    CompactionSettings,
    outline,
    should_compact,
    verbatim_start,
)
from tierline.history.groups import groups, to_prompt
from tierline.history.messages import Message
from tierline.history.timeline import Summary, summary_message, timeline
from wire.choosing import ChoosingServer
from wire.scripts import o_error

pytestmark = pytest.mark.requirement("004:358-374")

SETTINGS = CompactionSettings(
    compaction_trigger_tokens=400,
    verbatim_window_tokens=120,
    summary_budget_tokens=50,
    min_verbatim_exchanges=2,
)


def size(messages: Sequence[Message]) -> int:
    return four_characters([to_prompt(m) for m in messages])


def history(turns: int) -> list[Message]:
    """Turns of about 60 tokens."""
    return [
        m
        for n in range(turns)
        for m in turn(n, f"question {n} " + "about parsing " * 8, f"answer {n} " + "tokens " * 14)
    ]


def summary(text: str, covers: Sequence[str]) -> Message:
    return summary_message("s", Summary("sum1", "", text, frozenset(covers)))


def compact(messages: Sequence[Message], settings: CompactionSettings = SETTINGS) -> CompactionPlan:
    """Asked as the session asks: first whether, then what."""
    return outline(messages, settings, size) if due(messages, settings) else NOTHING


def due(messages: Sequence[Message], settings: CompactionSettings = SETTINGS) -> bool:
    return should_compact(size(messages), settings)


def start_of(messages: Sequence[Message]) -> int:
    """Index of the first message that stays word for word."""
    turns = groups(messages)
    return sum(len(t.messages) for t in turns[: verbatim_start(turns, SETTINGS, size)])


# --- Topic Detector (004:358) ---------------------------------------------------------------------


def test_empty_messages_and_no_model_return_safe_boundary() -> None:
    """Seed 004:359. Without a model there is the local detector; its default is the same."""
    assert detect([]) == SAFE_BOUNDARY
    assert parse(None, 0) == SAFE_BOUNDARY
    assert TopicBoundary(None, "", 0.0, "") == SAFE_BOUNDARY


def asked(folder: Path, answer: Any, monkeypatch: pytest.MonkeyPatch) -> TopicBoundary:
    """What the model detector makes of a provider's answer, through the real session."""
    from tierline.session.compaction.summariser import Summariser
    from tierline.session.session import Session

    async def run() -> TopicBoundary:
        session = Session([("w", folder.as_uri())], editor_settings={}, publish=lambda _event: None)
        await session.start()
        try:
            return await Summariser(
                session.settings.compaction, session.models, session.asker, len
            ).boundary(history(4))
        finally:
            await session.close()

    with ChoosingServer("openai", lambda *_: answer) as server:
        monkeypatch.setenv("TIERLINE_PROVIDER_NAME", "openai")
        monkeypatch.setenv("TIERLINE_PROVIDER_BASE_URL", server.url)
        monkeypatch.setenv("TIERLINE_PROVIDER_MODEL", "gpt-5")
        monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
        found = asyncio.run(run())
        assert len(server.of("boundary")) == 1
        return found


def test_successful_detection_returns_index_and_confidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 004:360."""
    answer = json.dumps({"boundary_index": 4, "confidence": 0.8, "boundary_reason": "new task"})
    found = asked(tmp_path, answer, monkeypatch)
    assert (found.boundary_index, found.confidence) == (4, 0.8)


def test_failure_of_the_model_returns_safe_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 004:361."""
    assert asked(tmp_path, o_error("no such model", 400), monkeypatch) == SAFE_BOUNDARY


def test_format_is_indexed_blocks_cut_at_max_chars() -> None:
    """Seed 004:362: "messages formatted as `[N] ROLE: content`, truncated at max_chars"."""
    text = format_messages([msg(0, "user", "hello"), msg(1, "assistant", "x" * 50)], max_chars=10)
    assert text == "[0] USER: hello\n\n[1] ASSISTANT: " + "x" * 10 + "…"


@pytest.mark.parametrize(
    ("answer", "index", "confidence"),
    [
        pytest.param('{"boundary_index": 3, "confidence": 0.9}', 3, 0.9, id="004:363 clean JSON"),
        pytest.param('{"boundary_index": null, "confidence": 0.9}', None, 0, id="004:363 null"),
        pytest.param(
            '```json\n{"boundary_index": 3, "confidence": 0.9}\n```', 3, 0.9, id="004:363 fenced"
        ),
        pytest.param(
            '{"boundary_index": 3, "confidence": 0.9, "boundary_reason": "cut o',
            3,
            0.9,
            id="004:363 partial regex fallback",
        ),
        pytest.param("I think it is message three.", None, 0, id="004:363 invalid"),
    ],
)
def test_parse(answer: str, index: int | None, confidence: float) -> None:
    """Seed 004:363."""
    found = parse(answer, 10)
    assert (found.boundary_index, found.confidence) == (index, confidence)


# --- History Compactor (004:365) ------------------------------------------------------------------


def test_below_trigger_should_not_compact() -> None:
    """Seed 004:366."""
    assert not due(history(3))
    assert not should_compact(400, SETTINGS)  # the trigger must be exceeded


def test_above_trigger_compacts() -> None:
    """Seed 004:367: "compact returns truncate or summarize"."""
    assert due(history(10))
    assert compact(history(10)).case in (CompactionKind.TRUNCATE, CompactionKind.SUMMARIZE)


def test_empty_messages_are_case_none() -> None:
    """Seed 004:368."""
    assert compact([]).case is CompactionKind.NONE


def test_apply_compaction_reduces_message_count() -> None:
    """Seed 004:369."""
    messages = history(10)
    done = compact(messages)
    after = compacted(messages, done, "short")
    assert len(after) < len(messages)
    assert size(after) < size(messages)


def test_apply_compaction_with_case_none_returns_messages_unchanged() -> None:
    """Seed 004:370."""
    messages = history(2)
    done = compact(messages)
    assert done.case is CompactionKind.NONE
    assert compacted(messages, done) == tuple(messages)


@pytest.mark.parametrize("exchanges", [0, 1, 2, 5])
@pytest.mark.parametrize("boundary", [SAFE_BOUNDARY, TopicBoundary(18, "new", 0.9)])
def test_min_verbatim_exchanges_are_preserved(exchanges: int, boundary: TopicBoundary) -> None:
    """Seed 004:371, and 004:280: "earlier messages are prepended"."""
    settings = attrs.evolve(SETTINGS, min_verbatim_exchanges=exchanges)
    messages = history(10)
    done = outline(messages, settings, size, boundary)
    after = compacted(messages, done)
    assert sum(m.role == "user" for m in after) >= max(exchanges, 1)
    assert after == tuple(messages[-len(after) :])


def test_disabled_compactor_never_triggers() -> None:
    """Seed 004:372."""
    off = attrs.evolve(SETTINGS, enabled=False)
    assert not due(history(500), off)
    assert compact(history(500), off).case is CompactionKind.NONE


def test_truncate_and_summarize_apply_and_the_summary_is_a_history_summary_message() -> None:
    """Seed 004:373."""
    messages = history(10)
    cut = outline(messages, SETTINGS, size, TopicBoundary(16, "new task", 0.9))
    assert compacted(messages, cut) == tuple(messages[16:])
    done = outline(messages, SETTINGS, size)
    said = timeline(
        [*messages, event(1, "summary", text="Notes", covers=list(done.covers), case=done.case)]
    ).context()
    assert said[0].content[0] == summary("Notes", []).content[0]
    assert "[History Summary]" in said[0].content[0].text  # type: ignore[union-attr]
    assert said[1:] == tuple(m for m in messages if m not in done.zone)


def test_high_confidence_boundary_near_the_verbatim_window_truncates() -> None:
    """Seed 004:374 and 004:276: "Boundary in/after verbatim window, confidence ≥ 0.5"."""
    messages = history(10)
    start = start_of(messages)
    assert (
        outline(messages, SETTINGS, size, TopicBoundary(start, "", 0.5)).case
        is CompactionKind.TRUNCATE
    )
    short = [*turn(1, "one " * 200, "ok"), *turn(2), *turn(3)]
    (second,) = (place for place, message in enumerate(short) if message.group_id == "g2"
                 and message.role == "user")  # fmt: skip
    early = outline(short, SETTINGS, size, TopicBoundary(second, "new", 0.9))
    assert (early.case, early.reason) == (CompactionKind.TRUNCATE, "new"), (
        "as early as the second turn"
    )
    before = TopicBoundary(start - 1, "", 1.0)
    assert outline(messages, SETTINGS, size, before).case is CompactionKind.SUMMARIZE  # 004:277


def test_low_confidence_boundary_summarizes() -> None:
    """Seed 004:375."""
    messages = history(10)
    low = TopicBoundary(18, "", 0.49)
    assert outline(messages, SETTINGS, size, low).case is CompactionKind.SUMMARIZE


def test_two_thresholds() -> None:
    """Seed 004:240: recent turns of the verbatim window's size stay as they are."""
    messages = history(10)
    start = start_of(messages)
    assert size(messages[start:]) <= SETTINGS.verbatim_window_tokens
    assert size(messages[start - 2 :]) > SETTINGS.verbatim_window_tokens


# --- Context Manager Integration (004:377) --------------------------------------------------------


def test_compaction_has_the_default_settings() -> None:
    """Seed 004:378; the defaults are those of 004:232."""
    assert CompactionSettings() == CompactionSettings(True, 24_000, 4_000, 500, 2)


def test_nothing_is_done_below_the_trigger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 004:379: "compact_history_if_needed returns None below trigger": nothing happens."""
    from tierline import protocol as p
    from tierline.session.session import Session

    events: list[p.Event] = []

    async def run() -> None:
        session = Session([("w", tmp_path.as_uri())], editor_settings={}, publish=events.append)
        await session.start()
        session.compaction.times.pause = 0.01
        session.compaction.soon()
        await asyncio.sleep(0.3)
        assert not session.compaction.running and session.compaction.note == ""
        await session.close()

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    asyncio.run(run())
    assert not [e for e in events if e.body.kind.startswith("compaction")]


def test_compaction_purges_stability_history_items() -> None:
    """Seed 004:380 and 004:284: "all `history:*` entries are purged"."""
    policy = CounterPolicy()
    items = atoms(history(3), count=four_characters)
    sent = policy.arrange(items, CacheState(), RequestContext(now=1.0), Pricing()).next
    assert "history:" in json.dumps(sent.to_json())
    assert "history:" not in json.dumps(policy.purge(sent, "history:").state)


def test_should_compact_with_and_without_a_compactor() -> None:
    """Seed 004:381."""
    messages = history(10)
    assert should_compact(size(messages), SETTINGS) is True


# --- the design's "Never" (section 8) -------------------------------------------------------------


def test_calls_stay_with_their_results() -> None:
    messages = [m for n in range(6) for m in tool_turn(n, ["out " * 40] * 3)]
    done = outline(messages, SETTINGS, size)
    kept = compacted(messages, done)
    groups = {m.group_id for m in kept}
    assert kept == tuple(m for m in messages if m.group_id in groups)


def test_standing_rules_and_pinned_messages_stay_and_long_ones_are_quoted() -> None:
    rule = "From now on always answer in French."
    long_rule = "Never touch generated files. " + "padding " * 300
    messages = [
        *turn(100, rule, "Oui."),
        *turn(101, long_rule, "ok"),
        msg(7, "user", "remember me", group="g7", meta={"pinned": True}),
        *history(10),
    ]
    done = outline(messages, SETTINGS, size, TopicBoundary(22, "", 0.9))
    assert done.case is CompactionKind.TRUNCATE
    kept = compacted(messages, done)
    assert [m.content[0].text for m in kept[:2]] == [rule, "remember me"]  # type: ignore[union-attr]
    assert done.text("") == "Standing rules:\n- Never touch generated files."


def test_hysteresis() -> None:
    """Not again until history has grown by a tenth of the trigger."""
    assert should_compact(450, SETTINGS)
    assert not should_compact(450, SETTINGS, after=430)
    assert should_compact(470, SETTINGS, after=430)


def test_a_second_compaction_covers_what_the_first_one_did() -> None:
    messages = history(10)
    first = outline(messages, SETTINGS, size)
    again = [summary("Notes", first.covers), *(m for m in messages if m not in first.zone)]
    again += [m for n in range(20, 30) for m in turn(n, "more " * 40, "said " * 40)]
    second = outline(again, SETTINGS, size)
    assert set(first.covers) < set(second.covers)
    assert second.zone[0].meta["summary"]
