"""What the summariser is shown of a conversation, and what of its answer may stand for it."""

from __future__ import annotations

import pytest

from histories import msg, turn
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.history.summarise import (
    MAX_PIECES,
    Piece,
    SummaryProblem,
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
    assert request_text(Piece("x", 1, 1), "") == "<conversation>\nx\n</conversation>"
    second = request_text(Piece("x", 2, 3), "so far")
    assert request_text(Piece("x", 1, 2), "").startswith("Part 1 of 2.\n\n<conversation>")
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
    assert problem.value.message.endswith(".")


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
