"""Edits whose result says all: no update repeats that they were applied."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from support.bodyreader import read
from support.tierworld import POLICIES, World
from tierline.context.tiers.base import Arrangement, Kind, Pricing
from tierline.context.tiers.own import told

BIG = "".join(f"value_{i} = compute({i})\n" for i in range(400))
OTHER = "".join(f"other_{i} = {i}\n" for i in range(400))


def begun() -> World:
    """A world with two files that have been sent."""
    made = World(POLICIES["log_structured"](), files={"a.py": BIG, "b.py": OTHER})
    made.ask("Begin.")
    made.request()
    return made


def sent(made: World) -> list[tuple[str, Kind]]:
    """Send what is there. Returns the updates, and checks that the body says what all files say."""
    made.now += 20
    arranged: Arrangement = made.arrange()
    body = made.body(arranged)
    assert read(body).files == made.files
    made.sent = arranged.next
    return [(p.key, p.kind) for p in arranged.pieces if p.kind is not Kind.ITEM]


def edit(made: World, number: int, path: str = "a.py", new: str = "done") -> None:
    old = f"compute({number})\n" if path == "a.py" else f"other_{number} = {number}\n"
    made.model_edit(path, old, f"{new}({number})\n", named=True)


def test_edits_that_their_results_tell_of_need_no_update() -> None:
    made = begun()
    edit(made, 7)
    assert sent(made) == []
    edit(made, 8)
    edit(made, 9)
    edit(made, 5, "b.py")
    assert sent(made) == [], "several edits of a file before one request, too"
    made.ask("And now?")
    assert sent(made) == []


def test_what_others_change_later_is_said_from_there_on() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.files["a.py"] += "more = 1\n"
    made.ask("And now?")
    assert sent(made) == [("file:a.py", Kind.DELTA)]
    edit(made, 8)
    assert sent(made) == [("file:a.py", Kind.DELTA)], "the one that stands there already"


def test_an_edit_that_was_undone_is_said() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.files["a.py"] = BIG
    made.ask("And now?")
    assert sent(made) == [("file:a.py", Kind.DELTA)]


def test_an_edit_that_was_undone_before_a_long_pause_is_said() -> None:
    """The base has the text before it again, and the results stand behind the base."""
    made = begun()
    edit(made, 7)
    sent(made)
    edit(made, 8)
    sent(made)
    made.files["a.py"] = BIG
    made.edits.clear()
    made.now += 4000
    made.ask("After a long pause?")
    assert sent(made) == [("file:a.py", Kind.DELTA)]


def test_an_edit_that_others_changed_before_it_was_sent_is_said() -> None:
    made = begun()
    edit(made, 7)
    made.files["a.py"] = made.files["a.py"].replace("done(7)", "nearly(7)")
    assert sent(made) == [("file:a.py", Kind.DELTA)], "against what was sent last"
    edit(made, 8)
    made.files["a.py"] = made.files["a.py"].replace("done(8)", "compute(8)")
    made.now += 20
    arranged = made.arrange()
    assert read(made.body(arranged)).files == made.files
    (*_, said) = [p.text for p in arranged.pieces if p.kind is not Kind.ITEM]
    assert re.fullmatch(r"Update: a\.py is \w{8} again\.\n", said)


def test_a_branch_without_the_edit_is_told_of_the_file() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.turns[-1].atoms.clear()
    made.turns[-1].names.clear()
    made.ask("Another way?")
    assert sent(made) == [("file:a.py", Kind.DELTA)]


@pytest.mark.parametrize("restart", [True, False])
def test_a_rewrite_puts_the_edit_into_the_file(restart: bool) -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    if restart:
        made.restart()
    made.now += 4000
    made.ask("After a long pause?")
    assert sent(made) == [], "the file stands with it, and the result is not applied twice"
    edit(made, 8)
    assert sent(made) == []


def test_a_file_that_comes_later_comes_as_it_is() -> None:
    made = begun()
    text = made.files.pop("b.py")
    sent(made)
    made.files["b.py"] = text
    edit(made, 5, "b.py")
    assert sent(made)[-1] == ("file:b.py", Kind.FULL)


def test_an_edit_back_to_what_the_base_has_is_followed_both_ways() -> None:
    made = begun()
    made.model_edit("a.py", "compute(7)", "done(7)", named=True)
    sent(made)
    made.model_edit("a.py", "done(7)", "compute(7)", named=True)
    assert sent(made) == []
    made.now += 4000
    made.ask("After a long pause?")
    assert sent(made) == []


def test_a_rewrite_within_the_turn_that_the_window_forces_says_what_was_undone() -> None:
    made = begun()
    edit(made, 7)
    sent(made)
    made.files["a.py"] = BIG
    forced = evolve(made.moment(), forced=True)
    arranged = made.policy.arrange(made.items(), made.sent, forced, Pricing.of(made.facts))
    assert read(made.body(arranged)).files == made.files


def test_such_words_in_a_file_that_was_read_are_no_result() -> None:
    """What a file says cannot change what the model is held to know."""
    made = begun()
    made.look(told("a.py", ("00000000", "11111111")))
    made.files["a.py"] += "more = 1\n"
    assert sent(made) == [("file:a.py", Kind.DELTA)]
