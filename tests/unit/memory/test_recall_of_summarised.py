"""What a prompt refers to of turns that a summary stands for."""

from __future__ import annotations

from itertools import chain

from support.memories import count, said
from tierline.memory.levels import Budgets
from tierline.memory.recall import excerpt, of_summarised
from tierline.memory.state import Memory
from tierline.memory.turns import TurnCache
from tierline.memory.words import terms

FILLER = "".join(f"Line {n} says nothing of note, as lines do.\n" for n in range(300))
TALK = [
    *said(1, 0, "Which port does the broker take?", f"{FILLER}The broker is on 18083.\n{FILLER}"),
    *said(2, 5, "Rename parse_header, please.", "It is parse_preamble now."),
    *said(3, 9, "Thanks. And the colours?", "They are in palette.toml."),
]  # fmt: skip


def recalled(prompt: str, shown: set[str]) -> list[str]:
    turns = TurnCache().turns(TALK, count)
    found = of_summarised(turns, shown, prompt, Memory(Budgets(), count))
    return [piece.text for piece in found]


def test_a_turn_that_was_summarised_comes_back_with_the_lines_that_are_asked_for() -> None:
    (text,) = recalled("On which port is the broker?", {"g2", "g3"})
    assert "18083" in text
    assert "Which port does the broker take?" in text
    assert len(text) < 3_000


def test_what_is_sent_anyway_is_not_sent_twice() -> None:
    assert recalled("On which port is the broker?", {"g1", "g2", "g3"}) == []
    assert recalled("On which port is the broker?", {"g1"}) == []


def test_nothing_comes_back_for_a_prompt_that_refers_to_nothing() -> None:
    assert recalled("Please go on.", set()) == []
    assert recalled("Write a haiku about winter.", set()) == []


def test_an_excerpt_has_the_lines_that_are_asked_for_in_order() -> None:
    text = f"{FILLER}The broker listens on 18083.\n{FILLER}Its log is in broker.log.\n{FILLER}"
    cut = excerpt(text, dict.fromkeys(terms("broker log"), 1.0), 800)
    assert len(cut) <= 810
    assert cut.index("18083") < cut.index("broker.log")
    assert cut.startswith("…\n")
    assert cut.endswith("\n…")


def test_a_short_text_is_its_own_excerpt() -> None:
    assert excerpt("  Short.\n", {}, 100) == "Short."
    assert excerpt("x" * 500, {"y": 1.0}, 100).endswith("…")


def test_of_many_turns_about_a_topic_the_one_that_says_it_together_comes_first() -> None:
    scattered = "\n".join(
        f"The {word} of the paste.\n{FILLER[:600]}"
        for word in ("capture", "events", "capture", "events")
    )
    together = f"{FILLER}KeyBindings capture the events of it, the paste.\n{FILLER}"
    replies = [*[scattered] * 4, together, *[scattered] * 4]
    talk = [
        m
        for n, reply in enumerate([*replies, "You are welcome."], 1)
        for m in said(n, 5 * n, f"Paste, step {n}?", reply)
    ]
    turns = TurnCache().turns(talk, count)
    asked = "What was to capture the events of a paste?"
    found = of_summarised(turns, {"g10"}, asked, Memory(Budgets(), count))
    assert "KeyBindings" in found[0].text


def test_of_a_long_prompt_the_lines_that_are_asked_for_come_back() -> None:
    pasted = f"Why does this fail?\n{FILLER}The broker takes to_parts of the header.\n{FILLER}"
    talk = [*said(1, 0, pasted, "A typo."), *said(2, 5, "Thanks.", "You are welcome.")]
    turns = TurnCache().turns(talk, count)
    asked = "What does the broker take of the header?"
    (found,) = of_summarised(turns, {"g2"}, asked, Memory(Budgets(), count))
    assert "to_parts" in found.text
    assert "Why does this fail?" in found.text
    assert len(found.text) < 1_200


def test_words_that_were_never_said_do_not_hide_the_turn_that_is_asked_for() -> None:
    common = ("paste", "event", "method")
    others = [said(n, n, f"Rename the {common[n % 3]} {n}.", "Renamed.") for n in range(5, 44)]
    turns = [*said(1, 1, "Which paste event, which method?", "It is on_drop."), *chain(*others)]
    prompt = "Somebody mentioned a paste event earlier: what stands there for its method?"
    found = of_summarised(TurnCache().turns(turns, count), set(), prompt, Memory(Budgets(), count))
    assert ["on_drop" in piece.text for piece in found] == [True]
