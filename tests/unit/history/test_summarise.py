"""What the summariser is shown of a conversation, and what of its answer may stand for it."""

from __future__ import annotations

import pytest

from support.histories import msg, turn
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.history.summarise import (
    MAX_PIECES,
    SummaryProblem,
    TranscriptPiece,
    _fit,
    _pack,
    accept,
    instructions,
    pieces,
    request_text,
    transcript,
)

SOURCE = "USER: Please rename the parser module.\n\nASSISTANT: The parser module is renamed now."


def words(text: str) -> int:
    return len(text.split())


def taken(answer: object, budget: int = 50, replaced: int = 1_000) -> str:
    return accept(answer, SOURCE, budget_tokens=budget, replaced_tokens=replaced, count=words)


def test_a_message_is_shown_with_its_calls_and_results() -> None:
    call = ToolUse("c", "read_file", {"path": "é.py"})
    asked = msg(1, "assistant", (Text("Let me see.\n\n\nNow."), call))
    assert transcript(asked, 999) == (
        'ASSISTANT: Let me see.\nNow.\n(calls read_file {"path": "é.py"})'
    )
    good, bad = ToolResult("c", (Text("x = 1"),)), ToolResult("d", (Text("no such"),), True)
    assert transcript(msg(2, "user", (good, bad)), 999) == (
        "USER: (result: x = 1)\n(failed: no such)"
    )
    notes = msg(3, "user", "what was", meta={"summary": True})
    assert transcript(notes, 999) == "EARLIER NOTES: what was"


def test_a_long_message_is_shown_by_its_beginning_and_its_end() -> None:
    text = "begin " + "middle " * 100 + "end"
    shown = transcript(msg(1, "user", text), 90)
    assert shown.startswith("USER: begin middle") and shown.endswith("end")
    assert "\n[…]\n" in shown and 80 < len(shown) < 110
    assert transcript(msg(1, "user", text), len(text)) == f"USER: {text}", "exactly so long"


def test_a_conversation_goes_in_as_few_pieces_as_fit() -> None:
    talk = [m for n in range(1, 9) for m in turn(n)]
    (all_of_it,) = pieces(talk, 10_000, words)
    assert (all_of_it.number, all_of_it.of) == (1, 1)
    assert all_of_it.text.split("\n\n") == [transcript(m, 999) for m in talk]
    parts = pieces(talk, 25, words)
    assert [p.number for p in parts] == list(range(1, len(parts) + 1))
    assert {p.of for p in parts} == {len(parts)} and 2 <= len(parts) <= MAX_PIECES
    assert all(words(p.text) <= 25 for p in parts)
    assert "\n\n".join(p.text for p in parts) == all_of_it.text, "nothing is left out, or twice"
    assert pieces([], 100, words) == []


def test_of_a_conversation_that_is_too_long_the_oldest_part_is_an_extract() -> None:
    first = msg(1, "user", "Decided: never touch legacy.py in this project.")
    talk = [first, *(m for n in range(1, 80) for m in turn(n, reply=f"answer{n} " * 30))]
    parts = pieces(talk, 60, words)
    assert len(parts) <= MAX_PIECES and all(words(p.text) <= 60 for p in parts)
    assert [p.number for p in parts] == list(range(1, len(parts) + 1))
    assert "legacy.py" in parts[0].text, "what matters of the oldest is kept"
    assert "answer79" in parts[-1].text, "the newest is there as it is"


def test_the_request_says_which_part_it_is_and_what_came_before() -> None:
    assert request_text(TranscriptPiece("x", 1, 1), "") == "<conversation>\nx\n</conversation>"
    second = request_text(TranscriptPiece("x", 2, 3), "so far")
    assert request_text(TranscriptPiece("x", 1, 2), "").startswith("Part 1 of 2.\n\n<conversation>")
    assert second.startswith("Part 2 of 3.\n\n") and "<notes>\nso far\n</notes>" in second
    assert "At most 60 words" in instructions(100) and "At most 20 words" in instructions(1)


def test_a_summary_comes_bare_in_a_fence_or_in_json() -> None:
    notes = "Finished: the parser module is renamed"
    for answer in (notes, f"```text\n{notes}\n```", f'{{"summary": "{notes}"}}'):
        assert taken(answer) == notes
    assert taken(f"[x] {notes}") == f"[x] {notes}", "no JSON, whatever it begins with"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (None, "empty"), ("  \n", "empty"),
        ("## Finished\n- none\n", "skeleton"), ("Decisions:\n\nErrors:\nn/a", "skeleton"),
        ("I'm sorry, I cannot summarise the parser module.", "refused"),
        ("The weather in Lisbon was pleasant throughout September.", "unrelated"),
        ('{"summary": "the parser', "malformed"), ('{"text": "the parser"}', "malformed"),
        ('["the parser module"]', "malformed"),
        ("the parser module " * 400, "longer"),
    ],
)  # fmt: skip
def test_what_may_not_stand_for_the_conversation(answer: object, code: str) -> None:
    with pytest.raises(SummaryProblem) as problem:
        taken(answer)
    assert problem.value.code == code
    assert problem.value.message.endswith(".") and str(problem.value) == problem.value.message


def test_a_summary_as_long_as_what_it_replaces_is_no_gain() -> None:
    notes = "The parser module is renamed"
    assert taken(notes, replaced=words(notes) + 1) == notes
    with pytest.raises(SummaryProblem, match="no shorter"):
        taken(notes, replaced=words(notes))


def test_a_summary_is_cut_at_a_line_and_leaves_no_heading_behind() -> None:
    notes = "## Finished\nThe parser module is renamed.\n## Open\nThe tests of the parser module."
    assert taken(notes, budget=words(notes)) == notes
    assert taken(notes, budget=words(notes) - 1) == "## Finished\nThe parser module is renamed."
    two = "## Finished\nThe parser module is renamed."
    assert taken(notes, budget=words(two)) == two, "what fits exactly stays"
    one_line = "The parser module is renamed, " + "and so are others " * 20
    cut = taken(one_line, budget=10)
    assert one_line.startswith(cut) and words(cut) <= 10 and len(cut) > 5
    with pytest.raises(SummaryProblem, match="budget"):
        taken("parser-module-is-renamed-now please", budget=0)


def test_all_of_it_is_shown_at_less_length_before_anything_is_left_out() -> None:
    talk = [m for n in range(1, 9) for m in turn(n, reply=f"answer{n} " + "word " * 700)]
    parts = pieces(talk, 700, words)
    assert len(parts) <= MAX_PIECES
    shown = "\n\n".join(p.text for p in parts)
    assert all(f"answer{n} " in shown and f"question {n}" in shown for n in range(1, 9))
    assert "[…]" in shown and words(shown) > 700, "and no shorter than it must be"


def test_exactly_as_many_pieces_as_may_be_are_not_cut_down() -> None:
    talk = [msg(n, "user", f"n{n} " + "w " * 17) for n in range(MAX_PIECES)]
    parts = pieces(talk, 21, words)
    assert len(parts) == MAX_PIECES and all("[…]" not in p.text for p in parts)
    assert [p.text.split()[1] for p in parts] == [f"n{n}" for n in range(MAX_PIECES)]


def test_no_message_is_both_in_the_extract_and_in_a_piece() -> None:
    rules = [f"Never touch file number {n}." for n in range(60)]
    talk = [msg(n, "user", f"{rule} " + "word " * 60) for n, rule in enumerate(rules)]
    parts = pieces(talk, 120, words)
    assert len(parts) == MAX_PIECES
    newest = "\n".join(p.text for p in parts[1:])
    assert "Standing rules:" in parts[0].text and words(parts[0].text) <= 60
    assert not [rule for rule in rules if rule in parts[0].text and rule in newest]
    oldest = next(n for n, rule in enumerate(rules) if rule in newest)
    assert all(rule in newest for rule in rules[oldest:]), "the newest are all there"
    assert rules[oldest - 1] in parts[0].text, "and the extract reaches up to them"


def test_an_extract_of_nothing_is_no_piece() -> None:
    talk = [msg(n, "user", "ok " * 100) for n in range(40)]
    parts = pieces(talk, 60, words)
    assert all(p.text.strip() for p in parts)
    assert [p.of for p in parts] == [len(parts)] * len(parts)


def test_arguments_and_results_are_shown_by_their_beginning() -> None:
    call = ToolUse("c", "write", {"path": "a.py", "text": "x" * 900})
    (shown,) = [transcript(msg(1, "assistant", (call,)), 9_999)]
    assert shown.startswith('ASSISTANT: (calls write {"path": "a.py"') and len(shown) < 240
    answer = ToolResult("c", (Text("r" * 900), Text("second")))
    shown = transcript(msg(2, "user", (answer,)), 9_999)
    assert shown.startswith("USER: (result: rrr") and len(shown) < 340
    assert transcript(msg(3, "user", (Text("  "), Text("a"))), 99) == "USER: a"
    assert transcript(msg(3, "user", "half \ud83d"), 99) == "USER: half \ufffd"


def test_a_summary_must_share_words_with_what_it_replaces() -> None:
    """A quarter of its own up to three; a refusal that quotes much of the talk is none."""
    assert taken("Parser renamed") == "Parser renamed"
    one_of_four = "parser alpha beta gamma"
    assert taken(one_of_four) == one_of_four
    for foreign in ("alpha", "parser alpha beta gamma delta epsilon zeta theta"):
        with pytest.raises(SummaryProblem) as problem:
            taken(foreign)
        assert problem.value.code == "unrelated"
    source = "USER: rename parser module lexer tokens grammar syntax tree"
    quoted = "Unfortunately the parser, lexer, tokens, grammar, syntax and module tree still fail."
    found = accept(quoted, source, budget_tokens=50, replaced_tokens=1_000, count=words)
    assert found == quoted, "it begins like a refusal and tells what was said"


def test_headings_alone_or_with_nothing_below_say_nothing() -> None:
    for hollow in ("Decisions:", "**Open**", "# A\n---\n…", "- none\n- N/A", "No open tasks."):
        with pytest.raises(SummaryProblem) as problem:
            taken(hollow)
        assert problem.value.code == "skeleton", hollow
    assert taken("Decisions: none\nThe parser module is renamed.")


def test_a_summary_without_any_line_that_fits_is_cut_at_a_word() -> None:
    line = " ".join(f"parser{n}" for n in range(200)) + " module"

    def letters(text: str) -> int:
        return (len(text) + 3) // 4

    cut = accept(line + " parser renamed", SOURCE, budget_tokens=40, replaced_tokens=9_999,
                 count=letters)  # fmt: skip
    assert line.startswith(cut + " ") and 36 < letters(cut) <= 40, "as much as fits"
    chinese = "解析模块已经重新命名" * 30
    cut = accept(chinese, chinese, budget_tokens=40, replaced_tokens=9_999, count=letters)
    assert chinese.startswith(cut) and 36 < letters(cut) <= 40, "without any blank"


def test_texts_for_the_summariser_are_cut_from_the_middle_until_they_fit() -> None:
    text = "begin " + "middle " * 400 + "end"
    for room in (60, 200, 1000):
        fitted = _fit(text, room, len)
        assert 0 < len(fitted) <= room
        assert fitted.startswith("begin") and fitted.endswith("end") and " […] " in fitted
        assert len(fitted) > room // 3, "not more is cut than must be"
    assert _fit(text, 3, len) == "", "what cannot say anything is left out"
    assert _fit("short", 60, len) == _fit("short", 5, len) == "short"
    packed = _pack(["a" * 40, "b" * 40, "c" * 40], 90, len)
    assert packed == ["a" * 40 + "\n\n" + "b" * 40, "c" * 40]
    assert _pack(["a" * 40] * 4, 84, len) == ["a" * 40 + "\n\n" + "a" * 40] * 2, "exactly"
