"""The benchmark's own parts: the lower bound and the cache simulator (docs/tiers.md)."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import cache_cost
from benchmarks.cache_bound import Bound, cheapest
from benchmarks.cache_sessions import KINDS, generated
from benchmarks.cache_simulator import READ, SECONDS, WRITE, CacheSimulator, Lifetimes

BOTH: Lifetimes = ("5m", "1h")


def every_way(gaps: tuple[float, ...], lifetimes: Lifetimes) -> float:
    """The least by trying everything: at each request send plain, write, or read if it is alive."""
    best = float("inf")
    for plan in itertools.product(("plain", "read", *lifetimes), repeat=len(gaps) + 1):
        cost, alive = 0.0, ""
        for gap, step in zip((0.0, *gaps), plan, strict=True):
            if alive and gap > SECONDS[alive]:
                alive = ""
            if step == "read":
                if not alive:
                    cost = float("inf")
                cost += READ
            elif step == "plain":
                cost, alive = cost + 1.0, ""
            else:
                cost, alive = cost + WRITE[step], step
        best = min(best, cost)
    return best


@given(st.lists(st.sampled_from([10.0, 250.0, 301.0, 900.0, 3601.0]), max_size=5).map(tuple))
@settings(max_examples=60, deadline=None)
def test_a_unit_is_sent_as_cheaply_as_can_be(gaps: tuple[float, ...]) -> None:
    for lifetimes in (("5m",), BOTH):
        assert cheapest(gaps, lifetimes) == pytest.approx(every_way(gaps, lifetimes))


def bound(*requests: dict[str, Any], gap: float = 10.0) -> float:
    made = Bound()
    for place, request in enumerate(requests):
        made.request(
            place * gap,
            request.get("talk", {}),
            request.get("files", {}),
            request.get("own", {}),
            request.get("held"),
        )
    return made.cost(("5m",))


LINE = "x" * 39 + "\n"  # ten tokens


def test_what_stays_is_written_once_and_read_after_that() -> None:
    assert bound({"talk": {"a": 100}}) == 100, "for one request plain is cheapest"
    assert bound({"talk": {"a": 100}}, {"talk": {"a": 100}}) == pytest.approx(125 + 10)
    late = bound({"talk": {"a": 100}}, {"talk": {"a": 100}}, gap=400)
    assert late == 200, "the pause was too long"


def test_an_edit_by_others_costs_its_new_lines_and_saying_so() -> None:
    files = {"abcd": LINE * 10}
    stays = bound({"files": files}, {"files": files})
    changed = bound({"files": files}, {"files": {"abcd": LINE * 5 + "y" * 39 + "\n" + LINE * 5}})
    assert changed == pytest.approx(stays + 10 + 1 + 1), "ten tokens, the name, one place"


def test_what_is_cut_of_a_result_is_sent_no_more() -> None:
    cut = bound(*({"talk": {"a": n}} for n in (100, 40, 40)))
    assert cut == pytest.approx(60 + 40 * (1.25 + 0.2)), "60 tokens once, the rest three times"


def test_a_file_that_a_message_holds_costs_its_name_until_the_message_is_cut() -> None:
    held = {"abcd": {"a": {LINE.strip()}}}
    shown = {"talk": {"a": 10}, "files": {"abcd": LINE}, "held": held}
    without = bound(*[{"talk": {"a": 10}, "files": {"abcd": ""}}] * 2)
    assert bound(shown, shown) == pytest.approx(without)
    assert bound(shown, {**shown, "held": {}}) == pytest.approx(without + 10), "a line again"


def test_saying_so_is_never_dearer_than_the_file_itself() -> None:
    name = "n" * 4000
    files = {name: LINE}
    same = bound({"files": files}, {"files": files})
    assert bound({"files": files}, {"files": {name: LINE + LINE}}) <= same + 10 + 9


def test_after_a_pause_there_is_nothing_to_say() -> None:
    assert bound({"files": {"abcd": LINE}}, {"files": {"abcd": LINE * 2}}, gap=400) == 11 + 21


def test_lines_of_the_model_are_free_while_its_message_is_sent() -> None:
    before, after = {"abcd": LINE}, {"abcd": LINE + "z" * 39 + "\n"}
    edit = {"talk": {"m": 30}, "files": after, "own": {"abcd": "m"}}
    assert bound({"files": before}, edit) == pytest.approx(11 * 1.35 + 30)
    compacted = {"talk": {}, "files": after, "own": {"abcd": "m"}}
    assert bound({"files": before}, edit, compacted) == pytest.approx(11 * 1.45 + 30 + 10)


@pytest.mark.parametrize("kind", ["edit-heavy", "often cold"])
def test_no_policy_beats_it(kind: str) -> None:
    """Nor does any lifetime."""
    session = generated(kind, 99)
    session.steps = session.steps[:14]
    for policies, lifetimes in (
        (cache_cost.POLICIES, ("5m",)), (cache_cost.LIFETIMES, BOTH),
    ):  # fmt: skip
        found = cache_cost.costs(session, policies, lifetimes)
        for name in policies:
            assert found[name] >= found[f"{name}, bound"]


def test_a_small_run_of_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    """One session of each kind, with the targets that such a run can show."""
    ours, counter = {}, {}
    policies = {n: cache_cost.POLICIES[n] for n in ("log-structured", "counter")}
    for kind in ("typical", "edit-heavy", "read-mostly"):
        found = cache_cost.costs(generated(kind, 0), policies)
        ours[kind] = found["log-structured"] / found["log-structured, bound"]
        counter[kind] = found["counter"] / found["log-structured"]
    assert statistics.median(ours.values()) <= cache_cost.TARGET_MEDIAN
    assert max(ours.values()) <= cache_cost.TARGET_WORST
    assert counter["edit-heavy"] >= cache_cost.TARGET_COUNTER


def test_sessions_are_the_same_every_time() -> None:
    for kind in KINDS:
        assert generated(kind, 3) == generated(kind, 3)


# --- the simulator -------------------------------------------------------------------------------


def body(*texts: str, marks: tuple[int, ...] = (), ttl: str = "") -> dict[str, Any]:
    """A body of text blocks of 1000 tokens each."""
    content: list[dict[str, Any]] = [{"type": "text", "text": (t * 4000)[:4000]} for t in texts]
    for place in marks:
        content[place]["cache_control"] = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
    return {"model": "m", "messages": [{"role": "user", "content": content}]}


def test_a_marked_prefix_is_written_and_then_read() -> None:
    cache = CacheSimulator()
    first = cache.send(body("a", "b", "c", marks=(1,)), 0)
    assert (first.read, first.written, first.plain) == (0, 2000, 1000)
    assert first.cost == 2000 * 1.25 + 1000
    second = cache.send(body("a", "b", "d", marks=(1,)), 299)
    assert (second.read, second.written, second.plain) == (2000, 0, 1000)
    assert cache.send(body("a", "b", "d", marks=(1,)), 598).read == 2000, "a use renews it"
    assert cache.send(body("a", "b", "d", marks=(1,)), 900).read == 0, "expired"


def test_a_changed_byte_takes_what_follows_with_it() -> None:
    cache = CacheSimulator()
    cache.send(body("a", "b", "c", marks=(0, 2)), 0)
    assert cache.send(body("a", "b", "c", marks=(0, 2)), 1).read == 3000
    assert cache.send(body("a", "x", "c", marks=(0, 2)), 2).read == 0, "1000 tokens are too few"
    assert cache.send(body("a", "b", "x", marks=(1,)), 3).read == 0, "no entry ended there"


def test_a_marker_looks_back_twenty_blocks() -> None:
    texts = [chr(97 + i) for i in range(26)]
    for behind, found in ((19, True), (21, False)):
        cache = CacheSimulator()
        cache.send(body(*texts[:3], marks=(2,)), 0)
        more = texts[: 3 + behind]
        outcome = cache.send(body(*more, marks=(len(more) - 1,)), 1)
        assert (outcome.read > 0) is found


def test_an_hour_costs_more_and_lasts_longer() -> None:
    cache = CacheSimulator()
    assert cache.send(body("a", "b", marks=(1,), ttl="1h"), 0).cost == 4000
    assert cache.send(body("a", "b", marks=(1,), ttl="1h"), 3600).read == 2000


def test_what_the_service_would_refuse() -> None:
    with pytest.raises(ValueError, match="too many"):
        CacheSimulator().send(body(*"abcde", marks=(0, 1, 2, 3, 4)), 0)
    empty = {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]}]}  # fmt: skip
    with pytest.raises(ValueError, match="empty"):
        CacheSimulator().send(empty, 0)
