"""What mutation testing found untested in context/, history/ and store/ (docs/reliability.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import turn
from tierline.context.blocks import Text
from tierline.context.retrieval.holdings import Holdings
from tierline.history.actions import window
from tierline.history.selection import group_count
from tierline.history.state import closes, extract
from tierline.history.summarise import _fit, _pack
from tierline.history.truncation import TruncationSettings
from tierline.store.records import newest_session
from tierline.store.sessions import HistoryStore


@pytest.mark.parametrize(
    ("mark", "opened", "ends"),
    [("```", "```", True), ("````", "```", True), ("```", "````", False), ("~~~", "```", False)],
)
def test_a_fence_is_closed_by_one_of_its_kind_that_is_long_enough(
    mark: str, opened: str, ends: bool
) -> None:
    assert closes(mark, opened) is ends


def test_a_state_block_behind_a_shorter_fence_within_a_longer_one_is_text() -> None:
    assert extract("````\n```\n### STATE\nGoal: x\n```\n````\nok").state is None


def test_texts_for_the_summariser_are_cut_from_the_middle_until_they_fit() -> None:
    text = "begin " + "middle " * 400 + "end"
    for room in (60, 200, 1000):
        fitted = _fit(text, room, len)
        assert 0 < len(fitted) <= room
        assert fitted.startswith("begin") and fitted.endswith("end") and " […] " in fitted
        assert len(fitted) > room // 3, "not more is cut than must be"
    assert _fit(text, 3, len) == "", "what cannot say anything is left out"
    assert _fit("short", 60, len) == "short"
    packed = _pack(["a" * 40, "b" * 40, "c" * 40], 90, len)
    assert packed == ["a" * 40 + "\n\n" + "b" * 40, "c" * 40]


def test_uses_of_a_card_add_up() -> None:
    holdings = Holdings()
    for _ in range(2):
        holdings.observe(quoted=["k"])
    assert holdings.items["k"].uses == 2
    holdings.observe(planned=["k"])
    assert holdings.items["k"].uses == 2, "to be planned is not to be used"


def test_a_window_of_nothing_is_everything_and_a_negative_one_is_refused() -> None:
    assert window(0).data == {"size": 0}
    with pytest.raises(Exception, match="negative"):
        window(-1)


def test_limits_of_tool_results_may_be_zero_and_not_below() -> None:
    for name in ("full", "degraded", "inactive", "recent", "retrieved"):
        TruncationSettings(**{name: 0})
        with pytest.raises(ValueError, match=">= 0"):
            TruncationSettings(**{name: -1})


def test_turns_are_counted() -> None:
    assert group_count([*turn(1), *turn(2)]) == 2
    assert group_count([]) == 0


def test_removing_by_the_store_tells_what_went(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    first = store.append(store.make("user", (Text("one"),)))
    store.append(store.make("user", (Text("two"),)))
    assert store.remove(first.group_id) == (first.group_id,)
    sent = store.get_session_messages_for_context(store.session_id)
    assert [m["content"] for m in sent] == ["two"]


def test_a_deleted_session_is_not_the_newest_and_another_event_changes_nothing(
    tmp_path: Path,
) -> None:
    store = HistoryStore(tmp_path)
    first = store.append(store.make("user", (Text("one"),)))
    store.record(window(3))
    assert newest_session(store.log) == first.session_id
    store.delete_session(first.session_id)
    assert newest_session(store.log) == ""
