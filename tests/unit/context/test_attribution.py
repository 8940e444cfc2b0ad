"""Attribution as a pure function: every reason, from shapes and figures alone."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from tierline.context.blocks import Reasoning, Text
from tierline.context.models import ModelFacts, Prices
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.context.tiers.attribution import Cause, ReportedTokens, attribute, duration, title
from tierline.context.tiers.base import Pricing
from tierline.context.tiers.outcome import Outcome
from tierline.context.tiers.request_cost import bill
from tierline.context.tiers.shape import SentBlock, Shape, first_break, overlap, shape

EXPLICIT = ModelFacts(
    "m", "anthropic", caching="explicit", min_cacheable_tokens=100, max_marks=4,
    lookback_blocks=20, ttls=("5m", "1h"), prices=Prices(3, 15, 3.75, 6, 0.3),
)  # fmt: skip
AUTOMATIC = ModelFacts("m", "openai", caching="automatic", min_cacheable_tokens=1024)
LOCAL = ModelFacts("m", "local", caching="automatic", min_cacheable_tokens=0)
NOTHING = ModelFacts("m", caching="none")


def sent(*rows: str, at: float = 1000.0, **facts: Any) -> Shape:
    """Parts of 500 tokens: ``key=content``, with ``*`` at the end for a breakpoint."""
    parts = []
    for row in rows:
        mark = "5m" if row.endswith("*") else ""
        key, _, content = row.rstrip("*").partition("=")
        parts.append(SentBlock(key, f"{key} {content}", 500, mark))
    kept = {"provider": "anthropic", "model": "m", "policy": "fixed", **facts}
    return Shape(at=at, parts=tuple(parts), stable=len(parts), **kept)


BEFORE = sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*")
CASES: dict[str, tuple[Shape, int, Outcome, Cause, str]] = {
    "hit": (
        sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*", "history:2*", at=1010),
        2000, Outcome.HIT, Cause.NONE, "",
    ),
    "edited": (
        sent("system:head", "file:a.py=2", "file:b.py=1*", "history:1*", at=1010),
        0, Outcome.MISS, Cause.EDITED, "file:a.py",
    ),
    "edited behind a breakpoint": (
        sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1=2*", at=1010),
        1500, Outcome.PARTIAL, Cause.EDITED, "history:1",
    ),
    "reordered": (
        sent("system:head", "file:b.py=1", "file:a.py=1*", "history:1*", at=1010),
        0, Outcome.MISS, Cause.REORDERED, "file:b.py",
    ),
    "removed": (
        sent("system:head", "file:b.py=1*", "history:1*", at=1010),
        0, Outcome.MISS, Cause.REMOVED, "file:a.py",
    ),
    "added": (
        sent("system:head", "file:0.py", "file:a.py=1", "file:b.py=1*", "history:1*", at=1010),
        0, Outcome.MISS, Cause.ADDED, "file:0.py",
    ),
    "summarised": (
        sent("system:head", "file:a.py=1", "file:b.py=1*", "summary:1*", "history:1", at=1010),
        1500, Outcome.PARTIAL, Cause.COMPACTED, "summary:1",
    ),
    "instructions": (
        sent("system:head=2", "file:a.py=1", "file:b.py=1*", "history:1*", at=1010),
        0, Outcome.MISS, Cause.SYSTEM, "system:head",
    ),
    "a tool": (
        sent("tool:x", "system:head", "file:a.py=1", "file:b.py=1*", "history:1*", at=1010),
        0, Outcome.MISS, Cause.TOOLS, "tool:x",
    ),
    "expired": (
        sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*", at=1301),
        0, Outcome.MISS, Cause.EXPIRED, "",
    ),
    "not expired after all": (
        sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*", at=1301),
        2000, Outcome.HIT, Cause.NONE, "",
    ),
    "another model": (
        evolve(BEFORE, model="n", at=1010), 0, Outcome.MISS, Cause.MODEL, "",
    ),
    "another provider": (
        evolve(BEFORE, provider="openai", at=1010), 0, Outcome.MISS, Cause.PROVIDER, "",
    ),
    "another process": (
        evolve(BEFORE, instance="2", at=1010), 0, Outcome.MISS, Cause.RESTARTED, "",
    ),
    "another policy": (
        sent("system:head", "file:b.py=1*", "file:a.py=1*", at=1010, policy="counter"),
        0, Outcome.MISS, Cause.POLICY, "file:b.py",
    ),
    "dropped by the provider": (
        sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*", at=1010),
        0, Outcome.MISS, Cause.EVICTED, "",
    ),
    "too far for the look-back": (
        sent(
            "system:head", "file:a.py=1", "file:b.py=1", "history:1",
            *(f"history:{n}" for n in range(2, 30)), "history:31*", at=1010,
        ),
        0, Outcome.MISS, Cause.LOOKBACK, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_reason(case: str) -> None:
    now, read, outcome, cause, item = CASES[case]
    figures = ReportedTokens(now.tokens, 5, read, 0)
    found = attribute(BEFORE, now, figures, EXPLICIT)
    assert (found.outcome, found.cause, found.item) == (outcome, cause, item), found.sentence
    assert found.sentence.endswith(".")
    assert found.input == now.tokens
    assert found.uncached == now.tokens - read
    assert found.offered == 2000
    assert found.idle == now.at - BEFORE.at


def test_the_first_request_and_one_that_another_session_warmed() -> None:
    assert (
        attribute(None, BEFORE, ReportedTokens(2000, 5, 0, 2000), EXPLICIT).cause
        is Cause.NEW_SESSION
    )
    warmed = attribute(None, BEFORE, ReportedTokens(2000, 5, 1500, 500), EXPLICIT)
    assert (warmed.outcome, warmed.cause) == (Outcome.HIT, Cause.NONE)


def test_missing_figures_are_said_to_be_missing() -> None:
    now = evolve(BEFORE, at=1010)
    silent = attribute(BEFORE, now, ReportedTokens(), EXPLICIT)
    assert (silent.outcome, silent.cause) == (Outcome.UNKNOWN, Cause.UNREPORTED)
    assert (silent.read, silent.written, silent.uncached) == (None, None, None)
    assert silent.input == now.tokens
    changed = sent("system:head", "file:a.py=2", "file:b.py=1*", "history:1*", at=1010)
    silent = attribute(BEFORE, changed, ReportedTokens(2000, 5), EXPLICIT)
    assert (silent.outcome, silent.cause, silent.item) == (
        Outcome.UNKNOWN, Cause.EDITED, "file:a.py",
    )  # fmt: skip


def test_no_cache_and_too_little_for_one() -> None:
    now = evolve(BEFORE, at=1010)
    assert attribute(BEFORE, now, ReportedTokens(2000, 5), NOTHING).cause is Cause.NO_CACHE
    small = evolve(BEFORE, parts=(SentBlock("system:head", "1", 50, "5m"),), stable=1)
    found = attribute(small, evolve(small, at=1010), ReportedTokens(50, 5, 0, 0), EXPLICIT)
    assert (found.outcome, found.cause) == (Outcome.UNCACHED, Cause.SMALL)
    found = attribute(small, evolve(small, at=1010), ReportedTokens(50, 5, 0), AUTOMATIC)
    assert (found.outcome, found.cause) == (Outcome.UNCACHED, Cause.SMALL)


def test_what_held_for_one_request_only_is_no_miss() -> None:
    """The selection goes last and differs each time: automatic caches lose nothing by it."""
    before = evolve(sent("system:head", "file:a.py", "history:1", "prompt:selection=x"), stable=3)
    now = evolve(sent("system:head", "file:a.py", "history:1", "history:2", at=1010), stable=4)
    found = attribute(before, now, ReportedTokens(2000, 5, 1490), LOCAL)
    assert (found.outcome, found.offered, found.readable) == (Outcome.HIT, 1500, 1500)


def test_the_prefix_of_automatic_caches_reaches_to_the_first_difference() -> None:
    before = sent("system:head", "file:a.py=1", "file:b.py=1", "history:1")
    now = sent("system:head", "file:a.py=1", "file:b.py=2", "history:1", at=1010)
    found = attribute(before, now, ReportedTokens(2000, 5, 1000), LOCAL)
    assert (found.outcome, found.cause, found.item) == (
        Outcome.PARTIAL, Cause.EDITED, "file:b.py",
    )  # fmt: skip
    assert (found.offered, found.readable) == (2000, 1000)


def test_our_counts_are_brought_to_the_providers() -> None:
    """The same bytes, counted 40 % too high: a full read is a hit all the same."""
    now = sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*", "history:2*", at=1010)
    found = attribute(BEFORE, now, ReportedTokens(1786, 5, 1429, 300), EXPLICIT)
    assert found.outcome is Outcome.HIT
    assert found.offered == pytest.approx(1429, abs=1)
    dear = evolve(BEFORE, parts=tuple(evolve(p, tokens=900) for p in BEFORE.parts))
    assert overlap(dear, now, Pricing.of(EXPLICIT)).readable == 2000


def test_a_shape_has_hashes_marks_and_no_text() -> None:
    prompt = Prompt(
        "m",
        system=(PromptBlock(Text("Be brief."), "system:head", "1h"),),
        messages=(
            PromptMessage("user", (
                PromptBlock(Text("# Files"), "heading:L1:Files"),
                PromptBlock(Text("secret words"), "file:a.py", "1h"),
            )),
            PromptMessage("assistant", (
                PromptBlock(Reasoning("anthropic", {"x": 1}), "history:1"),
                PromptBlock(Text("   "), "history:1"),
                PromptBlock(Text("selected"), "prompt:selection"),
            )),
        ),
        tools=(ToolSpec("b", "B"), ToolSpec("a", "A"), ToolSpec("c", "C", builtin=False)),
        tools_mark="1h",
    )  # fmt: skip
    found = shape(prompt, lambda _value: 7, volatile={"prompt:selection"}, provider="p", ttl="1h")
    assert [part.key for part in found.parts] == [
        "tool:a", "tool:b", "tool:c", "system:head", "heading:L1:Files", "file:a.py", "history:1",
        "prompt:selection",
    ]  # fmt: skip
    assert [part.mark for part in found.parts] == ["", "1h", "", "1h", "", "1h", "", ""]
    assert found.stable == 7
    assert Shape.from_json(found.to_json()) == found
    assert "secret" not in str(found.to_json())
    assert Shape.from_json("nonsense") is None
    assert Shape.from_json([1, 2]) is None
    same_words = evolve(prompt, messages=prompt.messages[:1])
    other_role = evolve(prompt, messages=(evolve(prompt.messages[0], role="assistant"),))
    a, b = (shape(p, lambda _value: 7).parts[5].sha for p in (same_words, other_role))
    assert a != b, "the role is part of the bytes"


def test_the_bill() -> None:
    """Dollars per million tokens: 3 in, 15 out, 3.75 or 6 for a write, 0.3 for a read."""
    found = attribute(None, BEFORE, ReportedTokens(1_000_000, 100_000, 600_000, 300_000), EXPLICIT)
    paid = bill(found, EXPLICIT, "5m")
    assert paid.cost == pytest.approx(0.1 * 3 + 0.6 * 0.3 + 0.3 * 3.75 + 0.1 * 15)
    assert paid.uncached == pytest.approx(3 + 1.5)
    assert paid.saved == pytest.approx(paid.uncached - paid.cost)
    assert bill(found, EXPLICIT, "1h").cost > paid.cost
    assert not bill(found, LOCAL, "5m").priced
    silent = attribute(None, BEFORE, ReportedTokens(1_000_000, 100_000), EXPLICIT)
    assert bill(silent, EXPLICIT, "5m").saved == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (1, "1 second"), (60, "1 minute"), (420, "7 minutes"), (7200, "2 hours"),
     (90_000, "1 day")],
)  # fmt: skip
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_what_is_neither_read_nor_written_is_left_over() -> None:
    now = sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*", at=1010)
    found = attribute(BEFORE, now, ReportedTokens(2100, 5, 2000, 60), EXPLICIT)
    assert (found.input, found.uncached) == (2100, 40)
    alone = attribute(BEFORE, now, ReportedTokens(2100, 5, 2000), EXPLICIT)
    assert alone.uncached == 100, "nothing was said to be written"


def test_headings_come_and_go_without_being_a_cause() -> None:
    """They change with what they stand by, which is what the user should read of."""
    before = sent("system:head", "heading:files=1", "file:a.py=1*")
    now = sent("system:head", "heading:files=2", "file:a.py=2*", at=1010)
    found = attribute(before, now, ReportedTokens(1500, 5, 0, 0), EXPLICIT)
    assert (found.cause, found.item) == (Cause.EDITED, "file:a.py")


def test_items_have_names_for_people() -> None:
    assert title("symbols:./") == "Module map of the top folder"
    assert title("symbols:src/") == "Module map of src/"
    assert title("file:a.py") == "a.py"


def test_a_request_that_begins_with_all_of_the_one_before_breaks_nowhere() -> None:
    more = sent("system:head", "file:a.py=1", "file:b.py=1*", "history:1*", "history:2*")
    assert first_break(BEFORE, more, len(BEFORE.parts)) is None
    found = first_break(BEFORE, more, 3)
    assert found is not None and found.how == "reordered"
