"""Tool-result truncation (seed 000, "Dynamic Tool Truncation"; bug case BR-190)."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bugcases.fixtures import build, expect
from support.histories import msg, tool_turn, turn
from tierline.context.blocks import Image, Text, ToolResult, ToolUse
from tierline.context.text import well_formed
from tierline.history.groups import results
from tierline.history.messages import Message
from tierline.history.truncation import TruncationSettings, hint, truncate, truncate_result
from tierline.store.query_db import query_db
from tierline.store.sessions import HistoryStore


def lengths(messages: tuple[Message, ...]) -> list[int]:
    """Characters kept of each result, hint not counted."""
    found = []
    for message in messages:
        for result in results(message):
            text = "".join(b.text for b in result.content if isinstance(b, Text))
            found.append(len(text.removesuffix(hint(message.id))))
    return found


def test_three_tiers_of_limits() -> None:
    """Seed 000: 5 most recent 5000, beyond 1000, inactive groups 300."""
    history = (*tool_turn(1, ["x" * 9000]), *tool_turn(2, ["y" * 9000] * 7))
    assert lengths(truncate(history, group_id="g2")) == [300, 1000, 1000, *[5000] * 5]


def test_short_results_and_other_messages_are_left_alone() -> None:
    history = (*tool_turn(1, ["x" * 300]), *turn(2, prompt="p" * 9000))
    assert truncate(history, group_id="g2") == history


def test_limits_are_settings() -> None:
    """Seed 000: "configurable via the TruncationSettings struct"."""
    history = (*tool_turn(1, ["x" * 99]), *tool_turn(2, ["y" * 99] * 2))
    settings = TruncationSettings(full=50, degraded=20, inactive=10, recent=1)
    assert lengths(truncate(history, group_id="g2", settings=settings)) == [10, 20, 50]


@pytest.mark.parametrize("name", ["full", "degraded", "inactive", "recent", "retrieved"])
def test_a_limit_may_be_zero_and_not_below(name: str) -> None:
    none = TruncationSettings(**{name: 0})
    history = (*tool_turn(1, ["x" * 99]), *tool_turn(2, ["y" * 99] * 7))
    cut = lengths(truncate(history, group_id="g2", settings=none))
    zero = {"full": cut[3:], "degraded": cut[1:3], "inactive": cut[:1]}.get(name, [])
    assert set(zero) <= {0} and (set(cut) <= {99} or zero), "nothing of it but the hint"
    with pytest.raises(ValueError, match=name):
        TruncationSettings(**{name: -1})


def test_hint_names_the_query_that_returns_the_whole() -> None:
    assert "SELECT content FROM messages WHERE id='m1'" in hint("m1")
    assert "id='it''s'" in hint("it's")


def test_pictures_in_a_result_stay() -> None:
    picture = Image("image/png", "aGk=")
    call = msg(1, "assistant", (ToolUse("a", "shot"),), group="g1")
    shot = ToolResult("a", (Text("x" * 9000), picture, Text("tail")))
    answer = msg(2, "user", (shot,), group="g1")
    _, cut = truncate((call, answer), group_id="g2")
    content = results(cut)[0].content
    assert picture in content and Text("tail") not in content
    assert sum(len(b.text) for b in content if isinstance(b, Text)) == 300 + len(hint("m2"))


def test_results_of_query_db_are_not_cut_to_the_size_that_they_were_asked_for() -> None:
    call = msg(1, "assistant", (ToolUse("q", "query_db"),), group="g1")
    answer = msg(2, "user", (ToolResult("q", (Text("x" * 15_000),)),), group="g1")
    assert lengths(truncate((call, answer), group_id="g1")) == [15_000]
    assert lengths(truncate((call, answer), group_id="g2")) == [300]


@given(
    st.text(st.sampled_from("ab\u0301👩‍👧🏳️\u200d\U0001f3fd\ud83d\ude0b"), max_size=40),
    st.integers(0, 45),
)
def test_no_cut_falls_inside_a_character(text: str, limit: int) -> None:
    history = tool_turn(1, [text])
    settings = TruncationSettings(inactive=limit)
    for message in truncate(history, group_id="g2", settings=settings):
        for result in results(message):
            kept = "".join(b.text for b in result.content if isinstance(b, Text))
            body = kept.removesuffix(hint(message.id))
            if body != kept and body:
                body.encode("utf-8")
                assert len(body) <= limit
                rest = well_formed(text)[len(body) :]
                assert not body.endswith("\u200d") and not rest.startswith(("\u200d", "\u0301"))


@pytest.mark.parametrize(("place", "cap"), [(0, "active_recent"), (1, "active_older")])
def test_br190_huge_result_is_capped_stored_once_and_retrievable(
    tmp_path: Path, place: int, cap: str
) -> None:
    """BR-190: one tool result exceeds the window; some tool routes skip truncation."""
    wanted = expect("BR-190")
    output = (build("BR-190", tmp_path) / "tool_output.txt").read_text()
    assert len(output) > 1_900_000
    store = HistoryStore(tmp_path)
    asked = store.append(store.make("user", "go"))
    kept: Message | None = None
    for step in range(1 + 5 * place):
        call = ToolUse(f"c{step}", "run")
        store.append(store.make("assistant", (call,), group_id=asked.group_id))
        text = output if step == 0 else "short"
        result = store.make("user", (ToolResult(call.id, (Text(text),)),), group_id=asked.group_id)
        stored = store.append(result)
        kept = kept or stored
    assert kept is not None
    history = store.timeline().context()
    assert lengths(truncate(history, group_id=asked.group_id))[0] == wanted["caps"][cap]
    inactive = truncate(history, group_id="another")
    assert lengths(inactive)[0] == wanted["caps"]["inactive"]
    shown = next(r for m in inactive for r in results(m))
    text = "".join(b.text for b in shown.content if isinstance(b, Text))
    assert wanted["hint_has_id"] and kept.id in text
    sql = text.partition('query_db(sql="')[2].partition('")')[0]
    answer = query_db(store.index, sql).text()
    assert answer.startswith(output[:19_000])
    later = sql.replace("content", "substr(content, 20001, 15000)", 1)
    assert query_db(store.index, later).text() == output[20_000:35_000]
    assert store.log.path.read_bytes().count(b"row 0051999") == 1


def test_truncation_never_touches_the_originals() -> None:
    history = tool_turn(1, ["x" * 9000])
    before = [attrs.asdict(m) for m in history]
    truncate(history, group_id="")
    assert [attrs.asdict(m) for m in history] == before


def test_the_note_stands_at_the_end_of_the_last_text_that_is_left() -> None:
    shot = Image("image/png", "aGk=")
    result = ToolResult("c", (Text("one two "), Text("three "), Text("four"), shot))
    cut = truncate_result(result, 10, "m1")
    assert cut.content == (Text("one two "), Text("th" + hint("m1")), shot)
    led = truncate_result(ToolResult("c", (shot, Text("one two"))), 3, "m1")
    assert led.content == (shot, Text("one" + hint("m1")))
    alone = truncate_result(ToolResult("c", (Text("one two"),)), 3, "m1")
    assert alone.content == (Text("one" + hint("m1")),)
    assert truncate_result(ToolResult("c", (shot, Text("x"))), 0, "m1").content == (
        shot,
        Text(hint("m1")),
    )


def test_of_one_message_with_several_results_each_is_judged() -> None:
    """The newest results count, not the newest messages."""
    calls = msg(1, "assistant", tuple(ToolUse(f"c{n}", "read") for n in range(4)), group="g1")
    answers = msg(2, "user", (
        *(ToolResult(f"c{n}", (Text("x" * 99),)) for n in range(4)), Text("and now?"),
    ), group="g1")  # fmt: skip
    settings = TruncationSettings(full=50, degraded=20, inactive=10, recent=2)
    _, cut = truncate((calls, answers), group_id="g1", settings=settings)
    sizes = [len(r.content[0].text) - len(hint("m2")) for r in results(cut)]  # type: ignore[union-attr]
    assert sizes == [20, 20, 50, 50] and cut.content[-1] == Text("and now?")
    none = attrs.evolve(settings, recent=0)
    _, old = truncate((calls, answers), group_id="g1", settings=none)
    assert {len(r.content[0].text) - len(hint("m2")) for r in results(old)} == {20}  # type: ignore[union-attr]


def test_what_was_asked_for_again_is_not_cut_shorter_than_anything_new() -> None:
    call = msg(1, "assistant", (ToolUse("q", "query_db"),), group="g1")
    answer = msg(2, "user", (ToolResult("q", (Text("x" * 99),)),), group="g1")
    for full, retrieved, kept in ((50, 70, 70), (70, 50, 70), (50, 200, 99)):
        settings = TruncationSettings(full=full, retrieved=retrieved)
        assert lengths(truncate((call, answer), group_id="g1", settings=settings)) == [kept]


def test_a_result_of_exactly_the_limit_is_whole_and_texts_share_the_room() -> None:
    two = ToolResult("c", (Text("x" * 6), Text("y" * 4)), is_error=True)
    assert truncate_result(two, 10, "m1") is two
    cut = truncate_result(two, 9, "m1")
    assert cut.content == (Text("x" * 6), Text("yyy" + hint("m1")))
    assert cut.is_error and cut.tool_use_id == "c"
    assert truncate_result(two, 6, "m1").content == (Text("x" * 6 + hint("m1")),)
    assert truncate_result(ToolResult("c", ()), 0, "m1").content == ()


def test_a_text_that_was_cut_is_the_last_one() -> None:
    """What stands behind a gap would look as if it followed."""
    result = ToolResult("c", (Text("👩‍👧 abc"), Text("z")))
    (only,) = truncate_result(result, 2, "m1").content
    assert only == Text(hint("m1")), "the family does not fit, and z does not step in"
