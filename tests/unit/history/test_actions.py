"""Commands on a conversation: one event each, or a sentence that says why not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.histories import event, turn
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.actions import Action, window
from tierline.history.timeline import timeline

NOW = timeline((*turn(1), *turn(2), *turn(3), event(1, "drop", groups=["g2"])))
EMPTY = timeline(())


def test_undo_takes_the_newest_group() -> None:
    """Seed 000, "The /undo Command"."""
    assert actions.undo(NOW).data == {"groups": ["g3"]}
    assert actions.undo(NOW, count=2).data == {"groups": ["g1", "g3"]}
    assert actions.undo(NOW, to="g1").data == {"groups": ["g3"]}


def test_remove_takes_hidden_groups_too_and_drop_does_not() -> None:
    assert actions.remove(NOW, "g2").data == {"groups": ["g2"]}
    assert actions.drop(NOW, "g1").data == {"groups": ["g1"]}


def test_restore_defaults_to_what_was_hidden_last() -> None:
    assert actions.restore(NOW).data == actions.restore(NOW, "g2").data == {"groups": ["g2"]}


def test_fork_and_switch() -> None:
    made = actions.fork(NOW)
    assert made.data == {"branch": "branch-2", "parent": "main", "at": "m31"}
    assert actions.fork(NOW, "m11", "try").data["at"] == "m11"
    assert actions.switch(NOW, "main").data == {"branch": "main"}


@pytest.mark.parametrize(
    "command",
    [
        lambda: actions.undo(EMPTY),
        lambda: actions.undo(NOW, to="g9"),
        lambda: actions.undo(NOW, to="g3"),
        lambda: actions.remove(NOW, "g9"),
        lambda: actions.drop(NOW, "g2"),
        lambda: actions.restore(NOW, "g1"),
        lambda: actions.restore(EMPTY),
        lambda: actions.fork(EMPTY),
        lambda: actions.fork(NOW, "m20"),
        lambda: actions.switch(NOW, "nowhere"),
        lambda: actions.window(-1),
        lambda: actions.strategy("best"),
    ],
)
def test_what_cannot_be_done_is_said_with_advice(command: Callable[[], Action]) -> None:
    with pytest.raises(TierlineError) as caught:
        command()
    assert caught.value.code in ("not_found", "invalid_params")
    assert caught.value.message and caught.value.advice


def test_title_is_one_line() -> None:
    assert actions.rename("a\n b  c").data == {"title": "a b c"}


def test_a_state_knows_its_group_and_the_message_that_it_ended_if_there_is_one() -> None:
    assert actions.state("Goal: x", "g1", "m1").data == {
        "text": "Goal: x", "group": "g1", "message": "m1"
    }  # fmt: skip
    assert actions.state("Goal: x").data == {"text": "Goal: x", "group": ""}


def test_compaction_and_compression_name_what_is_there() -> None:
    assert actions.compress(NOW).data == {"after": "g3"}
    with pytest.raises(TierlineError, match="no turn"):
        actions.compress(timeline([]))
    covers = [event(90, "summary", covers=["g1"], text="one"),
              event(91, "summary", covers=["g3"], text="two")]  # fmt: skip
    made = actions.summarise("SUM", ["g1"], keeps=["m10"])
    assert made.data == {"text": "SUM", "covers": ["g1"], "case": "summarize", "keeps": ["m10"]}
    now = timeline([*turn(1), *turn(3), *covers])
    assert actions.unsummarise(now).data == {"summaries": ["e91"]}, "the newest by default"
    assert actions.unsummarise(now, "e90").data == {"summaries": ["e90"]}
    with pytest.raises(TierlineError, match="no compaction e1"):
        actions.unsummarise(now, "e1")
    with pytest.raises(TierlineError, match="no compaction to undo"):
        actions.unsummarise(NOW)
    with pytest.raises(TierlineError, match="no strategy best"):
        actions.strategy("best")
    assert actions.strategy("ranked").data == {"name": "ranked"}


def test_what_is_stored_is_what_was_given() -> None:
    for action, kind, data in (
        (actions.reflection({"group": "g1"}), "reflection", {"group": "g1"}),
        (actions.edit("x", {"state": "applied"}), "edit", {"edit": "x", "state": "applied"}),
        (actions.urls(iter(["https://example.org/"])), "urls", {"urls": ["https://example.org/"]}),
        (actions.files(iter([{"path": "a"}])), "files", {"files": [{"path": "a"}]}),
        (actions.scratchpad("- plan"), "scratchpad", {"text": "- plan"}),
        (actions.window(3), "window", {"size": 3}),
    ):
        assert (str(action.kind), action.data) == (kind, data)
    assert len(str(actions.rename("word " * 500).data["title"])) <= 200, "a title is no text"


def test_what_was_removed_for_good_is_not_restored() -> None:
    gone = (event(1, "remove", groups=["g1"]), event(2, "drop", groups=["g2"]))
    removed = timeline((*turn(1), *turn(2), *turn(3), *gone, event(3, "undo", groups=["g3"])))
    assert actions.restore(removed).data == {"groups": ["g3"]}, "what was hidden last"
    assert actions.restore(removed, "g2").data == {"groups": ["g2"]}
    with pytest.raises(TierlineError, match="g1"):
        actions.restore(removed, "g1")


def test_a_window_of_nothing_is_everything_and_a_negative_one_is_refused() -> None:
    assert window(0).data == {"size": 0}
    events = [event(1, "window", size=3), event(2, "window", size=0), event(3, "window", size=-1)]
    assert [timeline(events[:n]).window for n in range(4)] == [None, 3, 0, 0]
    with pytest.raises(Exception, match="negative"):
        window(-1)
