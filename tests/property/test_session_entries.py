"""What is left out of memory changes nothing in a conversation, and does not grow with use."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from support.histories import event, msg
from tierline.history.codec import encode
from tierline.history.events import EventKind, LogEvent
from tierline.history.messages import Message
from tierline.history.session_entries import SessionEntries
from tierline.history.timeline import timeline
from tierline.history.usage import PackedReflection

BRANCHES = st.sampled_from(["main", "b", "c"])
DATA: dict[str, Any] = {
    EventKind.FILES: st.lists(st.sampled_from(["a.py", "b.py"]), max_size=2).map(
        lambda files: {"files": files}
    ),
    EventKind.URLS: st.just({"urls": ["https://example.org/"]}) | st.just({}),
    EventKind.SCRATCHPAD: st.text("xy", max_size=3).map(lambda text: {"text": text}),
    EventKind.REFLECTION: st.fixed_dictionaries(
        {
            "group": st.sampled_from(["g1", "g2"]),
            "calls": st.lists(st.text(max_size=3), max_size=1),
            "requests": st.lists(
                st.fixed_dictionaries({"input": st.integers(0, 9)}) | st.none(), max_size=2
            ),
        },
        optional={"message": st.sampled_from(["n1", "n2", ""])},
    ),
    EventKind.FORK: BRANCHES.map(lambda name: {"branch": name, "at": "m1"}) | st.just({}),
    EventKind.SWITCH: BRANCHES.map(lambda name: {"branch": name}),
    EventKind.DROP: st.just({"groups": ["g1"]}),
    EventKind.RESTORE: st.just({"groups": ["g1"]}),
    EventKind.DELETE: st.just({}),
}


@st.composite
def entries(draw: st.DrawFn) -> Message | LogEvent:
    """Ids repeat, also between messages and events; so do branches that nobody made."""
    number = draw(st.integers(0, 25))
    if draw(st.integers(0, 3)) == 0:
        made: Message | LogEvent = msg(number, "user", "text", group=f"g{number % 3}")
    else:
        kind = draw(st.sampled_from(sorted(DATA)))
        made = event(number, kind, **draw(DATA[kind]))
    return attrs.evolve(made, id=f"n{number}", branch_id=draw(BRANCHES))


@settings(max_examples=400)
@given(st.lists(entries(), max_size=40))
def test_the_timeline_is_that_of_the_whole_log(log: list[Message | LogEvent]) -> None:
    kept = SessionEntries()
    for entry in log:
        kept.add(entry)
    now, whole = timeline(kept.entries), timeline(log)
    assert attrs.evolve(now, duplicates=0) == attrs.evolve(whole, duplicates=0)
    for branch in ("b", "c"):
        seen, all_of_it = (timeline(e, branch=branch) for e in (kept.entries, log))
        assert seen.messages == all_of_it.messages
    known = {entry.id: encode(entry) for entry in reversed(log)}
    assert all(encode(entry) == known[entry.id] for entry in kept.entries), "as it was written"


def test_ten_thousand_toggles_of_a_pin_are_one_entry() -> None:
    kept = SessionEntries()
    kept.add(msg(1, "user", "text"))
    for number in range(10_000):
        kept.add(event(number, EventKind.FILES, files=[{"path": "a.py", "pin": number % 2}]))
        kept.add(event(number - 1, EventKind.FILES, files=[]))  # the one before, once more
    assert [entry.id for entry in kept.entries] == ["m1", "e9999"]
    assert timeline(kept.entries).files == ({"path": "a.py", "pin": 1},)
    assert len(kept._ids) == 2, "of what is gone, only so many ids are remembered"


def test_a_setting_is_overtaken_unless_its_branch_is_there_because_of_it() -> None:
    def left(*log: Message | LogEvent) -> list[str]:
        kept = SessionEntries()
        for entry in log:
            kept.add(entry)
        return [entry.id for entry in kept.entries]

    def files(number: int, branch: str) -> LogEvent:
        return event(number, EventKind.FILES, on=branch, files=[number])

    assert left(files(1, "main"), files(2, "main")) == ["e2"]
    assert left(files(1, "b"), files(2, "b"), files(3, "b")) == ["e1", "e3"]
    said = attrs.evolve(msg(1, "user", "text"), branch_id="b")
    assert left(said, files(1, "b"), files(2, "main")) == ["m1", "e2"]
    forked = event(9, EventKind.FORK, branch="b")
    assert left(forked, files(1, "b"), files(2, "main")) == ["e9", "e2"]
    switched = event(9, EventKind.SWITCH, branch="b")
    assert left(switched, files(1, "b"), files(2, "main")) == ["e9", "e1", "e2"]
    pad = event(5, EventKind.SCRATCHPAD, text="x")
    assert left(pad, files(1, "main"), said, files(2, "main")) == ["e5", "m1", "e2"]


def test_packed_data_reads_like_what_it_was_made_of() -> None:
    data: dict[str, Any] = {"group": "g1", "calls": ["é"], "n": {"deep": None}}
    packed = PackedReflection(data)
    assert packed == data and len(packed) == 3 and list(packed) == list(data)
    assert packed.get("none", 7) == 7 and dict(packed) == data
    kept = SessionEntries()
    kept.add(event(1, EventKind.REFLECTION, **data))
    (only,) = kept.entries
    assert (
        isinstance(only, LogEvent) and isinstance(only.data, PackedReflection) and only.data == data
    )
