"""Folding messages and events into the present state of a session."""

from __future__ import annotations

import attrs

from support.histories import SESSION, decoded, event, msg, texts, tool_turn, turn
from tierline.history.branches import compare, fork_name
from tierline.history.codec import encode
from tierline.history.events import LogEvent
from tierline.history.messages import Message, Status
from tierline.history.timeline import Timeline, timeline

Entry = Message | LogEvent
THREE: tuple[Entry, ...] = (*turn(1), *turn(2), *turn(3))


def shown(now: Timeline) -> list[str]:
    return [g.id for g in now.groups()]


def test_without_events_everything_is_visible_and_sent() -> None:
    now = timeline(THREE)
    assert shown(now) == ["g1", "g2", "g3"]
    assert now.context() == now.visible() == now.messages
    assert (now.session_id, now.branch, now.duplicates) == (SESSION, "main", 0)


def test_records_of_other_sessions_are_passed_over() -> None:
    other = msg(99, "user", "elsewhere", group="gx", session_id="sess_1_other")
    assert shown(timeline((*THREE, other), session_id=SESSION)) == ["g1", "g2", "g3"]


def test_undo_hides_groups_and_restore_brings_them_back() -> None:
    entries = (*THREE, event(1, "undo", groups=["g3"]))
    assert shown(timeline(entries)) == ["g1", "g2"]
    assert {m.status for m in timeline(entries).messages if m.group_id == "g3"} == {Status.DROPPED}
    assert shown(timeline((*entries, event(2, "restore", groups=["g3"])))) == ["g1", "g2", "g3"]


def test_undo_to_a_group_hides_all_after_it_as_they_were_then() -> None:
    entries = (*THREE, event(1, "undo", to="g1"), *turn(4))
    assert shown(timeline(entries)) == ["g1", "g4"]


def test_drop_takes_a_group_out_of_the_middle() -> None:
    """Seed 000, "The /context drop <GID> Command"."""
    assert shown(timeline((*THREE, event(1, "drop", groups=["g2"])))) == ["g1", "g3"]


def test_removed_group_stays_removed() -> None:
    entries = (*THREE, event(1, "remove", groups=["g2"]), event(2, "restore", groups=["g2"]))
    assert shown(timeline(entries)) == ["g1", "g3"]


def test_summary_stands_in_the_place_of_what_it_covers() -> None:
    """Seed 004: "summary text produces History Summary message"."""
    now = timeline((*THREE, event(1, "summary", text="SUM", covers=["g1", "g2"])))
    assert shown(now) == ["g1", "g2", "g3"], "the user still sees everything"
    assert texts(now.context()) == ["[History Summary]\nSUM", "question 3", "answer 3"]


def test_what_a_summary_keeps_stays_behind_it_word_for_word() -> None:
    kept = event(1, "summary", text="SUM", covers=["g1", "g2"], keeps=["m10", "m21"])
    assert texts(timeline((*THREE, kept)).context()) == [
        "[History Summary]\nSUM", "question 1", "answer 2", "question 3", "answer 3",
    ]  # fmt: skip


def test_truncation_is_a_summary_without_text() -> None:
    now = timeline((*THREE, event(1, "summary", text="", covers=["g1", "g2"], case="truncate")))
    assert texts(now.context()) == ["question 3", "answer 3"]


def test_newer_summary_replaces_the_one_that_it_contains() -> None:
    first = event(1, "summary", text="OLD", covers=["g1"])
    second = event(2, "summary", text="NEW", covers=["g1", "g2"])
    assert texts(timeline((*THREE, first, second)).context())[0].endswith("NEW")
    without = timeline((*THREE, first, second, event(3, "undo", groups=["g3", "g2"])))
    assert texts(without.context()) == ["[History Summary]\nOLD"]


def test_summary_of_a_dropped_group_gives_way_to_the_originals() -> None:
    entries = (*THREE, event(1, "summary", text="SUM", covers=["g1", "g2"]))
    now = timeline((*entries, event(2, "drop", groups=["g1"])))
    assert texts(now.context()) == ["question 2", "answer 2", "question 3", "answer 3"]


def test_system_messages_are_never_covered() -> None:
    note = msg(5, "system", "rules", group="g1")
    now = timeline((note, *THREE, event(1, "summary", text="SUM", covers=["g1"])))
    assert "rules" in texts(now.context())


def test_state_is_that_of_the_newest_turn_that_is_still_there() -> None:
    entries = (
        *turn(1),
        event(1, "state", text="Goal: one", group="g1"),
        *turn(2),
        event(2, "state", text="Goal: two", group="g2"),
    )
    assert timeline(entries).state == "Goal: two"
    assert timeline((*entries, event(3, "undo", groups=["g2"]))).state == "Goal: one"


def test_settings_are_the_last_ones_recorded() -> None:
    now = timeline(
        (
            event(1, "rename", title="A"),
            event(2, "window", size=5),
            event(3, "strategy", name="ranked"),
            event(4, "scratchpad", text="- plan"),
            event(5, "files", files=[{"path": "a.py", "pin": "sticky"}]),
            event(6, "rename", title="B"),
            event(7, "window", size="many"),
        )
    )
    assert (now.title, now.window, now.strategy, now.scratchpad) == ("B", 5, "ranked", "- plan")
    assert now.files == ({"path": "a.py", "pin": "sticky"},)


def test_status_event_marks_a_message() -> None:
    now = timeline((*THREE, event(1, "status", id="m11", status="interrupted")))
    assert now.message("m11").status is Status.INTERRUPTED  # type: ignore[union-attr]
    assert shown(now) == ["g1", "g2", "g3"]


def test_deleted_session_says_so_until_it_is_used_again() -> None:
    gone = (*THREE, event(1, "delete"))
    assert timeline(gone).deleted
    assert not timeline((*gone, *turn(4))).deleted


def test_repeated_records_count_once() -> None:
    now = timeline((*THREE, *THREE))
    assert now.duplicates == 6 and len(now.messages) == 6


def test_branch_inherits_up_to_its_fork_and_goes_its_own_way() -> None:
    """Seed 003, "Branch": parent pointer, fork point, own head."""
    entries: tuple[Entry, ...] = (
        *THREE,
        event(1, "fork", branch="b", parent="main", at="m21"),
        event(2, "switch", branch="b"),
        msg(40, "user", "other way", group="g4", branch_id="b"),
    )
    now = timeline(entries)
    assert (now.branch, shown(now)) == ("b", ["g1", "g2", "g4"])
    assert shown(timeline(entries, branch="main")) == ["g1", "g2", "g3"]
    heads = {b.id: (b.parent, b.at, b.head) for b in now.branches}
    assert heads == {"main": ("", "", "m31"), "b": ("main", "m21", "m40")}


def test_what_is_hidden_on_one_branch_stays_on_the_other() -> None:
    entries = (
        *THREE,
        event(1, "fork", branch="b", at="m31"),
        event(2, "drop", on="b", groups=["g1"]),
    )
    assert shown(timeline(entries, branch="b")) == ["g2", "g3"]
    assert shown(timeline(entries, branch="main")) == ["g1", "g2", "g3"]


def test_drops_and_summaries_are_inherited_by_copy() -> None:
    entries: tuple[Entry, ...] = (
        *THREE,
        event(1, "drop", groups=["g1"]),
        event(2, "summary", text="S", covers=["g2"]),
        event(3, "fork", branch="b", at="m31"),
        event(4, "restore", groups=["g1"]),
    )
    assert shown(timeline(entries, branch="b")) == ["g2", "g3"]
    assert "[History Summary]\nS" in texts(timeline(entries, branch="b").context())
    assert shown(timeline(entries)) == ["g1", "g2", "g3"]


def test_summary_that_covers_more_than_was_inherited_is_not_taken_along() -> None:
    entries = (
        *THREE,
        event(1, "summary", text="S", covers=["g1", "g2"]),
        event(2, "fork", branch="b", at="m11"),
    )
    assert texts(timeline(entries, branch="b").context()) == ["question 1", "answer 1"]
    whole = (
        *THREE,
        event(1, "summary", text="S", covers=["g1"]),
        event(2, "fork", branch="b", at="m11"),
    )
    assert texts(timeline(whole, branch="b").context()) == ["[History Summary]\nS"]


def test_branches_are_compared() -> None:
    entries: tuple[Entry, ...] = (
        *THREE,
        event(1, "fork", branch="b", at="m21"),
        msg(40, "user", "other way", group="g4", branch_id="b"),
    )
    found = compare(entries, "main", "b", session_id=SESSION)
    assert (found.common, found.a, found.b) == ("m21", "main", "b")
    apart = compare((*entries, event(2, "remove", groups=["g1", "g2"])), "main", "b",
                    session_id=SESSION)  # fmt: skip
    assert apart.common == "" and texts(apart.only_b) == ["other way"]
    assert texts(found.only_a) == ["question 3", "answer 3"]
    assert texts(found.only_b) == ["other way"]


def test_a_fork_begins_at_its_parent_or_else_where_it_was_made() -> None:
    on_b = [attrs.evolve(m, branch_id="b") for m in turn(4)]
    entries: tuple[Message | LogEvent, ...] = (
        *turn(1),
        *turn(2),
        event(1, "fork", branch="b", at="m11"),
        *on_b,
    )
    of_b = timeline((*entries, event(2, "fork", on="b", branch="c")), branch="c")
    assert shown(of_b) == ["g1", "g4"], "with nothing said, all of the branch that it was made on"
    of_main = timeline((*entries, event(2, "fork", on="b", branch="c", parent="main")), branch="c")
    assert shown(of_main) == ["g1", "g2"]
    assert {b.id: b.parent for b in of_b.branches}["c"] == "b"
    again = timeline((*entries, event(2, "fork", branch="b", at="m21")), branch="b")
    assert shown(again) == ["g1", "g4"], "a name is given once"


def test_fork_names_are_free() -> None:
    assert fork_name([]) == "branch-2"
    assert fork_name(["main", "branch-2"]) == "branch-3"
    assert fork_name(["try"], "try") == "try-2"
    assert fork_name([], "try") == "try"


def test_tool_turns_keep_their_order() -> None:
    history = tool_turn(1, ["a", "b"])
    assert timeline(history).context() == history


def test_a_fresh_session_is_neither_deleted_nor_doubled() -> None:
    now = timeline(())
    assert (now.deleted, now.duplicates, now.window, now.session_id) == (False, 0, None, "")
    assert now.branch == "main" and [b.id for b in now.branches] == ["main"]
    assert timeline((), session_id="s").session_id == "s"
    bare = Timeline("s", "main", (), ())
    assert not bare.deleted and bare.duplicates == 0 and bare.context() == ()


def test_summaries_stand_each_in_its_own_place() -> None:
    one = event(1, "summary", text="ONE", covers=["g1"])
    three = event(2, "summary", text="THREE", covers=["g3"])
    for entries in ((one, three), (three, one)):
        now = timeline((*THREE, *entries))
        assert [s.text for s in now.summaries] == [str(e.data["text"]) for e in entries]
        assert texts(now.context()) == [
            "[History Summary]\nONE", "question 2", "answer 2", "[History Summary]\nTHREE"
        ]  # fmt: skip


def test_the_card_says_what_it_covers() -> None:
    """A later compaction must cover it again, or the originals would come back."""
    now = timeline((*THREE, event(1, "summary", text="SUM", covers=["g2", "g1"])))
    card = now.context()[0]
    assert card.meta == {"summary": True, "covers": ["g1", "g2"]}
    assert (card.id, card.role, card.session_id) == ("e1", "user", SESSION)
    assert card.group_id not in {m.group_id for m in THREE if isinstance(m, Message)}
    assert card.timestamp == event(1, "summary").timestamp


def test_a_summary_of_nothing_is_none_and_one_that_is_contained_gives_way() -> None:
    empty = event(1, "summary", text="EMPTY", covers=[])
    assert timeline((*THREE, empty)).summaries == ()
    wide = event(2, "summary", text="WIDE", covers=["g1", "g2"])
    narrow = event(3, "summary", text="NARROW", covers=["g2"])
    assert [s.text for s in timeline((*THREE, narrow, wide)).summaries] == ["WIDE"]
    assert [s.text for s in timeline((*THREE, wide, narrow)).summaries] == ["WIDE", "NARROW"]
    anew = event(6, "summary", text="ANEW", covers=["g1", "g2"])
    assert [s.text for s in timeline((*THREE, wide, anew)).summaries] == ["ANEW"]
    undone = (*THREE, wide, event(4, "unsummarise", summaries=["e2"]))
    assert timeline(undone).context() == timeline(THREE).context()
    other = (*THREE, wide, event(4, "unsummarise", summaries=["e9"]))
    assert [s.text for s in timeline(other).summaries] == ["WIDE"]
    cut = event(5, "summary", text="", covers=["g3"], case="truncate")
    assert [s.case for s in timeline((*THREE, cut, wide)).summaries] == ["truncate", "summarize"]


def test_what_an_undo_would_take() -> None:
    now = timeline((*THREE, event(1, "drop", groups=["g2"])))
    assert now.undo_groups() == ("g3",) and now.undo_groups(count=5) == ("g1", "g3")
    assert now.undo_groups(count=0) == now.undo_groups(count=-1) == ()
    assert now.undo_groups(to="g1") == ("g3",)
    assert now.undo_groups(to="g3") == now.undo_groups(to="g2") == now.undo_groups(to="g9") == ()


def test_undo_to_a_group_counts_what_was_there_then() -> None:
    hidden = (event(1, "drop", groups=["g3"]), event(2, "remove", groups=["g2"]))
    entries = (*THREE, *turn(4), *hidden)
    now = timeline((*entries, event(3, "undo", to="g1")))
    assert shown(now) == ["g1"] and now.hidden == {"g3": "drop", "g2": "remove", "g4": "undo"}
    assert shown(timeline((*entries, event(3, "undo", to="g3")))) == ["g1", "g4"], "it is hidden"
    assert shown(timeline((*THREE, event(3, "undo", to="g9")))) == ["g1", "g2", "g3"]
    assert shown(timeline((*THREE, event(3, "undo", to="g3")))) == ["g1", "g2", "g3"]


def test_any_message_can_be_found_hidden_or_not() -> None:
    now = timeline((*THREE, event(1, "drop", groups=["g2"])))
    hidden = now.message("m20")
    assert hidden is not None and hidden.status is Status.DROPPED
    assert now.message("m30") == THREE[4] and now.message("m99") is None


def test_events_that_make_no_sense_change_nothing() -> None:
    odd = (
        event(1, "status", id="m11", status="telepathic"),
        event(2, "switch", branch="nowhere"),
        event(3, "restore", groups=["g9", 7]),
        event(4, "fork"),
        event(5, "fork", branch="main"),
        event(6, "drop", groups="g1"),
        event(7, "telepathy", groups=["g1"]),
        event(8, "undo"),
        event(9, "remove", groups=None),
    )
    assert attrs.evolve(timeline((*THREE, *odd))) == timeline(THREE)


def test_settings_of_odd_types_are_empty() -> None:
    now = timeline((
        event(1, "files", files=["a.py"]), event(2, "urls", urls=["https://example.org/", 7]),
        event(3, "scratchpad", text="x"), event(4, "session", title="T"),
    ))  # fmt: skip
    assert (now.files, now.urls, now.title) == (("a.py",), ("https://example.org/",), "T")
    cleared = timeline((
        event(1, "files", files=["a.py"]), event(2, "files", files="a.py"),
        event(3, "urls", urls=["u"]), event(4, "urls"), event(5, "scratchpad", text="x"),
        event(6, "scratchpad", text=None), event(7, "rename", title="T"), event(8, "rename"),
    ))  # fmt: skip
    assert (cleared.files, cleared.urls, cleared.scratchpad, cleared.title) == ((), (), "", "")


def test_what_is_known_of_an_edit_adds_up() -> None:
    now = timeline((
        event(1, "edit", edit="x", state="proposed", path="a.py"),
        event(2, "edit", edit="y", state="proposed"), event(3, "edit", edit="x", state="applied"),
    ))  # fmt: skip
    assert list(now.edits) == ["x", "y"]
    assert now.edits["x"] == {"edit": "x", "state": "applied", "path": "a.py"}


def test_compressions_by_hand_go_with_their_group() -> None:
    entries = (*THREE, event(1, "compress", after="g1"), event(2, "compress", after="g3"))
    assert timeline(entries).compressed == ("g1", "g3")
    assert timeline((*entries, event(3, "undo", groups=["g3"]))).compressed == ("g1",)
    forked = (*entries, event(3, "fork", branch="b", at="m21"))
    assert timeline(forked, branch="b").compressed == ("g1",)


def test_each_message_knows_the_state_that_it_ended_with() -> None:
    entries = (
        *THREE,
        event(1, "state", text="Goal: one", group="g1", message="m11"),
        event(2, "state", text="Goal: two", group="g2", message="m21"),
        event(3, "state", text="Goal: rebuilt"),
    )
    now = timeline(entries)
    assert now.states == {"m11": "Goal: one", "m21": "Goal: two"}
    assert now.state == "Goal: rebuilt", "it belongs to no group, so it holds whatever is undone"
    fork = event(4, "fork", branch="b", at="m11")
    assert timeline((*entries[:-1], fork), branch="b").state == "Goal: one"
    assert timeline((*entries, fork), branch="b").state == "Goal: rebuilt"


def test_a_fork_whose_message_is_not_there_inherits_all() -> None:
    entries = (*THREE, event(1, "fork", branch="b", at="m99", parent="nowhere"))
    now = timeline(entries, branch="b")
    assert shown(now) == ["g1", "g2", "g3"]
    assert {b.id: b.parent for b in now.branches}["b"] == "main"


def test_a_branch_has_the_head_that_is_shown() -> None:
    entries = (*THREE, event(1, "fork", branch="b", at="m31"))
    hide = (event(2, "drop", groups=["g3"]), event(3, "remove", on="b", groups=["g2"]))
    heads = {b.id: b.head for b in timeline((*entries, *hide)).branches}
    assert heads == {"main": "m11", "b": "m31"}, "what is removed is removed from every branch"
    assert timeline(()).branches[0].head == ""


def test_entries_of_an_unknown_branch_make_it() -> None:
    """A damaged log may have lost the fork; what was said there is not lost with it."""
    stray = [attrs.evolve(m, branch_id="b") for m in turn(4)]
    now = timeline((*THREE, *stray), branch="b")
    assert (now.branch, shown(now)) == ("b", ["g4"])
    assert timeline((*THREE, *stray), branch="nowhere").branch == "main"


def test_a_status_is_changed_by_its_event_and_hidden_by_its_group() -> None:
    interrupted = event(1, "status", id="m11", status="interrupted")
    now = timeline((*THREE, interrupted, event(2, "drop", groups=["g1"])))
    assert [m.status for m in now.messages[:2]] == [Status.DROPPED] * 2
    back = timeline((*THREE, interrupted, event(2, "drop", groups=["g1"]),
                     event(3, "restore", groups=["g1"])))  # fmt: skip
    assert [m.status for m in back.messages[:3]] == [Status.OK, Status.INTERRUPTED, Status.OK]


def test_foreign_records_are_left_out() -> None:
    record = encode(THREE[0])
    assert decoded([record, {"type": "other"}, {}, record]) == (THREE[0], THREE[0])
