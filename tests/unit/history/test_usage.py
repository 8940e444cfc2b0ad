"""What a turn took, read from the log: at which message it stands, and what records may say."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from support.histories import event, msg, tool_turn, turn
from tierline.history.codec import decode, encode
from tierline.history.events import LogEvent
from tierline.history.messages import Message, Status
from tierline.history.session_entries import SessionEntries
from tierline.history.timeline import timeline
from tierline.history.usage import TurnUsage, UsageFigures, of_messages, turn_usage, with_events


def request(number: int, **more: Any) -> dict[str, Any]:
    """A request's record, with figures that are told apart."""
    return {
        "input": 100 * number,
        "output": number,
        "read": 10 * number,
        "written": 20 * number,
        "reported": True,
        "cost": 0.5 * number,
        "saved": 0.25 * number,
        "cache": "hit",
        **more,
    }


def reflection(number: int, *requests: Any, **data: Any) -> LogEvent:
    return event(number, "reflection", requests=list(requests), **data)


def shown(*entries: Message | LogEvent) -> dict[str, TurnUsage]:
    """What clients are shown, by message, after a restart."""
    kept = SessionEntries()
    for entry in entries:
        again = decode(encode(entry))
        assert again is not None
        kept.add(again)
    now = timeline(kept.entries)
    assert now.usages == timeline(entries).usages, "the same from memory as from the log"
    return of_messages(now.groups(), now.usages)


def test_a_turn_of_several_requests_has_their_sum_at_its_last_reply() -> None:
    found = shown(
        *tool_turn(1, ["a", "b"]), reflection(1, request(1), request(2), request(3), group="g1")
    )
    (identifier,) = found
    assert identifier == tool_turn(1, ["a", "b"])[-1].id
    assert found[identifier].total == UsageFigures(600, 6, 60, 120, False, 3.0, 1.5, 3)
    assert found[identifier].last == UsageFigures(300, 3, 30, 60, False, 1.5, 0.75, 1)
    assert found[identifier].outcome == "hit"


def test_one_estimate_makes_the_sum_an_estimate() -> None:
    (found,) = shown(
        *turn(1), reflection(1, request(1, reported=False), request(2), group="g1")
    ).values()
    assert (found.total.estimated, found.last.estimated) == (True, False)


def test_a_record_that_names_its_message_is_believed() -> None:
    """A prompt that was queued meanwhile, or a note, may be newer than the reply."""
    late = msg(19, "assistant", "more", group="g1")
    found = shown(*turn(1), late, reflection(1, request(1), group="g1", message="m11"))
    assert list(found) == ["m11"]


def test_the_turns_of_others_lie_between() -> None:
    """The next prompt is in the log before the reply is."""
    prompt, reply = turn(1)
    found = shown(prompt, *turn(2), reply, reflection(1, request(1), group="g1"))
    assert list(found) == [reply.id]


def test_attempts_without_a_reply_add_up_at_the_prompt() -> None:
    prompt, reply = turn(1)
    tries = [reflection(n, request(n), group="g1", message=prompt.id) for n in (1, 2)]
    found = shown(prompt, *tries)
    assert found[prompt.id].total.input == 300
    assert found[prompt.id].last.input == 200
    found = shown(prompt, *tries, reply, reflection(3, request(4), group="g1", message=reply.id))
    assert (found[prompt.id].total.input, found[reply.id].total.input) == (300, 400)


def test_a_branch_inherits_the_figures_of_whole_turns_only() -> None:
    one = tool_turn(1, ["a"])
    log: tuple[Message | LogEvent, ...] = (
        *one,
        reflection(1, request(1), request(2), group="g1"),
        *turn(2),
    )
    whole = event(5, "fork", branch="b", at=one[-1].id)
    cut = event(6, "fork", branch="c", at=one[1].id)
    kept = timeline((*log, whole, cut), branch="b")
    assert list(of_messages(kept.groups(), kept.usages)) == [one[-1].id]
    kept = timeline((*log, whole, cut), branch="c")
    assert kept.groups(), "the first call is there"
    assert of_messages(kept.groups(), kept.usages) == {}


def test_older_replies_have_what_their_own_records_say() -> None:
    figures = {"input_tokens": 40, "output_tokens": 2, "cache_read_tokens": 30}
    prompt, call, result, reply = tool_turn(1, ["a"])
    call, reply = (attrs.evolve(m, usage=figures) for m in (call, reply))
    (found,) = shown(prompt, call, result, reply).items()
    assert found[0] == reply.id
    assert found[1].total == UsageFigures(80, 4, 60, 0, False, 0.0, 0.0, 2)
    half = attrs.evolve(reply, usage={})
    assert shown(prompt, call, result, half) == {}, "not the half of it"
    running = (prompt, attrs.evolve(call, status=Status.TOOL_CALL), result)
    assert shown(*running) == {}, "nothing while the turn runs"
    assert shown(*turn(2)) == {}, "nothing is known"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"requests": 3},
        {"requests": []},
        {"requests": ["a", None]},
        {"requests": None, "message": 4},
    ],
)
def test_records_without_figures_have_none(data: dict[str, Any]) -> None:
    assert turn_usage(data) is None
    assert shown(*turn(1), event(1, "reflection", group="g1", **data)) == {}


@pytest.mark.parametrize("odd", [None, "12", True, [], float("inf"), float("nan"), 10**400, -5])
def test_figures_that_are_none_count_as_nothing(odd: Any) -> None:
    found = turn_usage({"requests": [request(1, input=odd, read=odd, cache=odd), request(2)]})
    assert found is not None
    assert (found.total.input, found.total.read, found.total.output) == (200, 20, 3)
    found = turn_usage({"requests": [request(1, cost=odd)], "message": odd})
    assert found is not None
    assert found.total.cost == (-5 if odd == -5 else 0)


def test_what_is_not_written_yet_is_added() -> None:
    known = timeline([*turn(1), reflection(1, request(1), group="g1", message="m11")]).usages
    assert with_events(known, ()) is known
    more = with_events(
        known,
        [
            msg(20, "user", "next", group="g2"),
            reflection(2, request(2), group="g2", message="m20"),
            reflection(3, request(3), group="g2", message="m20"),
            event(4, "rename", title="x"),
        ],
    )
    assert {m: u.total.input for m, u in more.items()} == {"m11": 100, "m20": 500}
    assert list(known) == ["m11"]


def test_turns_behind_one_that_shows_nothing_are_read_all_the_same() -> None:
    asked = msg(10, "user", "never answered", group="g1")
    first, told = turn(2)
    known = attrs.evolve(told, usage={"input_tokens": 5, "output_tokens": 1})
    later = tuple(
        attrs.evolve(m, usage={"input_tokens": 7, "output_tokens": 2} if "1" in m.id[-1] else {})
        for m in turn(3)
    )
    found = shown(asked, first, known, *later)
    assert set(found) == {known.id, later[1].id}
