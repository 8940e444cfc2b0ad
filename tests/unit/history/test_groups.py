"""Groups and atoms."""

from __future__ import annotations

import attrs

from support.atoms import atoms
from support.histories import four_characters, msg, tool_turn, turn
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.items import Section
from tierline.history.groups import (
    AtomCache,
    atomic,
    content_hash,
    groups,
    link_results,
    snapshot_tokens,
    to_prompt,
    with_groups,
)


def test_turn_with_calls_is_one_group_and_each_call_with_its_result_one_atom() -> None:
    history = (*turn(1), *tool_turn(2, ["a", "b"]))
    assert [g.id for g in groups(history)] == ["g1", "g2"]
    assert [len(a) for a in atomic(history)] == [1, 1, 1, 2, 2, 1]


def test_parallel_calls_with_results_in_several_messages_are_one_atom() -> None:
    """As OpenAI-compatible services write them: one message per result."""
    calls = (ToolUse("a", "f"), ToolUse("b", "f"))
    history = (
        msg(1, "user", "go", group="g"),
        msg(2, "assistant", calls, group="g"),
        msg(3, "tool", (ToolResult("a", (Text("1"),)),), group="g"),
        msg(4, "tool", (ToolResult("b", (Text("2"),)),), group="g"),
        msg(5, "assistant", "done", group="g"),
    )
    assert [[m.id for m in a] for a in atomic(history)] == [["m1"], ["m2", "m3", "m4"], ["m5"]]


def test_atom_never_reaches_into_the_next_group() -> None:
    history = (
        msg(1, "assistant", (ToolUse("a", "f"),), group="g1"),
        msg(2, "user", (ToolResult("a", ()),), group="g2"),
    )
    assert len(atomic(history)) == 2


def test_items_carry_key_hash_tokens_group_and_messages() -> None:
    history = (*tool_turn(1, ["out"]), *turn(2))
    items = atoms(history, count=four_characters, group_id="g2")
    assert [i.key for i in items] == [
        "history:m100",
        "history:m101",
        "history:m199",
        "history:m20",
        "history:m21",
    ]
    assert {i.section for i in items} == {Section.HISTORY}
    assert [i.group for i in items] == ["g1", "g1", "g1", "g2", "g2"]
    assert [i.required for i in items] == [False, False, False, True, False]
    assert all(i.tokens > 0 and len(i.sha256) == 64 for i in items)
    call = items[1]
    assert [m.role for m in call.messages] == ["assistant", "user"]
    assert {b.key for m in call.messages for b in m.blocks} == {"history:m101"}


def test_hash_depends_on_what_is_sent_and_on_nothing_else() -> None:
    one = atoms([msg(1, "user", "x")], count=four_characters)[0]
    same = atoms([msg(1, "user", "x", timestamp="later")], count=four_characters)[0]
    other = atoms([msg(1, "user", "y")], count=four_characters)[0]
    assert one.sha256 == same.sha256 != other.sha256


def test_records_without_groups_are_grouped_by_prompt() -> None:
    """Seed 004's schema has no group_id."""
    history = (
        msg(1, "user", "a"),
        msg(2, "assistant", (ToolUse("x", "f"),)),
        msg(3, "user", (ToolResult("x", ()),)),
        msg(4, "assistant", "b"),
        msg(5, "user", "c"),
    )
    assert [m.group_id for m in with_groups(history)] == ["m1"] * 4 + ["m5"]


def test_reply_that_comes_after_a_queued_prompt_stands_by_its_own_prompt() -> None:
    (p1, r1), (p2, r2) = turn(1), turn(2)
    order = [m.id for g in groups((p1, p2, r1, r2)) for m in g.messages]
    assert order == [p1.id, r1.id, p2.id, r2.id]


def test_answers_without_ids_go_to_their_calls_in_order() -> None:
    history = (
        msg(1, "assistant", (ToolUse("a", "f"), ToolUse("b", "g"), ToolUse("c", "f"))),
        msg(2, "tool", (ToolResult("unnamed:g", ()), ToolResult("unnamed:f", ()))),
        msg(3, "tool", (ToolResult("unnamed:f", ()), ToolResult("unnamed:h", ()))),
    )
    linked = [b.tool_use_id for m in link_results(history)[1:] for b in m.content]  # type: ignore[union-attr]
    assert linked == ["b", "a", "c", "unnamed:h"]


def test_system_notes_and_results_go_on_the_users_side() -> None:
    assert to_prompt(msg(1, "system", "note")).role == "user"
    assert to_prompt(msg(1, "tool", (ToolResult("a", ()),))).role == "user"
    shown = to_prompt(msg(1, "system", "note")).blocks[0].block
    assert isinstance(shown, Text) and "note" in shown.text and shown.text != "note"


def test_all_parts_of_one_request_show_the_same_weight() -> None:
    """Seed 000, "Token Accounting": snapshot, "Intra-Turn Consistency"."""
    weight = snapshot_tokens({"input_tokens": 1800, "output_tokens": 150})
    weighed = [attrs.evolve(m, tokens=weight) for m in tool_turn(1, ["a", "b"])[1:]]
    assert groups(weighed)[0].tokens == 1950, "not once for each part"


def test_a_hash_of_contents_takes_any_text() -> None:
    plain, accent, half = (content_hash([msg(1, "user", text)]) for text in ("e", "é", "\ud83d"))
    assert len({plain, accent, half}) == 3
    assert content_hash([msg(2, "user", "é")]) == accent, "the id does not count"
    assert content_hash([msg(1, "assistant", "é")]) != accent, "the role does"


def test_a_turn_weighs_what_its_newest_weighed_message_does() -> None:
    asked, reply = turn(1)
    assert groups([asked, reply])[0].tokens == 0
    weighed = attrs.evolve(reply, tokens=70)
    assert (
        groups([attrs.evolve(asked, tokens=50), weighed, msg(3, "user", "", group="g1")])[0].tokens
        == 70
    )
    assert snapshot_tokens({}) == 0
    assert snapshot_tokens({"input_tokens": 5}) == 5 == snapshot_tokens({"output_tokens": 5})
    assert snapshot_tokens({"input_tokens": -3, "output_tokens": 5}) == 5


def test_what_answers_no_call_is_an_atom_of_its_own() -> None:
    history = (
        msg(1, "assistant", (ToolUse("a", "f"),), group="g"),
        msg(2, "assistant", "meanwhile", group="g"),
        msg(3, "user", (ToolResult("b", ()),), group="g"),
    )
    assert [len(a) for a in atomic(history)] == [1, 1, 1]


def test_results_may_bring_further_calls_into_their_atom() -> None:
    """As some services write them: a result and the next call in one message."""
    history = (
        msg(1, "assistant", (ToolUse("a", "f"),), group="g"),
        msg(2, "assistant", (ToolResult("a", ()), ToolUse("b", "f")), group="g"),
        msg(3, "user", (ToolResult("b", ()),), group="g"),
    )
    assert [len(a) for a in atomic(history)] == [3]


def test_an_atom_that_has_not_changed_stays_the_same_item() -> None:
    history = (*turn(1), *tool_turn(2, ["out"]))
    known: AtomCache = {}
    first = atoms(history, count=four_characters, known=known)
    assert list(known) == [item.key.removeprefix("history:") for item in first]
    edited = (history[0], attrs.evolve(history[1], content=(Text("other"),)), *history[2:])
    again = atoms(edited, count=four_characters, group_id="g2", known=known)
    same = [a is b for a, b in zip(first, again, strict=True)]
    assert same == [True, False, False, True, True], "one is new, one is required now"
    assert again[1].sha256 != first[1].sha256 and again[2].required
    atoms(history[:1], count=four_characters, known=known)
    assert list(known) == ["m10"], "what has left is forgotten"


def test_a_result_keeps_the_call_that_it_names() -> None:
    history = (
        msg(1, "assistant", (ToolUse("a", "f"), ToolUse("b", "f"), ToolUse("c", "f"))),
        msg(
            2,
            "tool",
            (ToolResult("b", ()), ToolResult("unnamed:f", ()), ToolResult("unnamed:", ())),
        ),
        msg(3, "tool", (ToolResult("unnamed:f", ()),), session_id="another"),
    )
    linked = [b.tool_use_id for m in link_results(history)[1:] for b in m.content]  # type: ignore[union-attr]
    assert linked == ["b", "a", "c", "unnamed:f"], "never one of another session"


def test_sessions_that_are_mixed_have_their_own_turns() -> None:
    history = (
        msg(1, "user", "a"), msg(2, "user", "b", session_id="other"),
        msg(3, "assistant", "a"), msg(4, "assistant", "b", session_id="other"),
        msg(5, "assistant", "first of all", session_id="third"),
        msg(6, "assistant", "named", group="g"), msg(7, "assistant", "then"),
    )  # fmt: skip
    assert [m.group_id for m in with_groups(history)] == ["m1", "m2", "m1", "m2", "m5", "g", "g"]
