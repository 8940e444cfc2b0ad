"""STATE: extraction, injection, and hiding it while a reply streams."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.history.state import HEADING, StreamFilter, anchor, extract, fields, rebuild_request

BLOCK = """### STATE
Goal: port the parser
Context: src/parser.py
Resolved: lexer
Technical Anchors: port 8080"""


def test_block_at_the_end_is_taken_out_and_kept() -> None:
    """Seed 000, "State Persistence and Extraction"."""
    found = extract(f"Done.\n\n{BLOCK}\n")
    assert found.text == "Done."
    assert found.state == BLOCK.partition("\n")[2]
    assert anchor(found.state or "") == BLOCK


def test_reply_without_a_block_is_left_alone() -> None:
    for reply in ("Done.", "", "about ### STATE in a line", "### STATEMENT\nx"):
        assert extract(reply) == type(extract(reply))(reply, None)


def test_last_block_counts() -> None:
    found = extract(f"{BLOCK}\n\n### More\ntext\n\n### STATE\nGoal: two")
    assert found.state == "Goal: two" and "### More" in found.text


def test_text_behind_the_block_is_kept() -> None:
    found = extract(f"before\n{BLOCK}\n\n## Next steps\n- one")
    assert found.text == "before\n\n## Next steps\n- one"
    assert found.state is not None and "Next steps" not in found.state


def test_block_quoted_in_a_fence_is_text_unless_it_is_the_fence() -> None:
    quoted = f"Write it like this:\n```\nexample\n{BLOCK}\n```\nok"
    assert extract(quoted).state is None
    wrapped = f"Done.\n```markdown\n{BLOCK}\n```"
    assert extract(wrapped) == extract(f"Done.\n{BLOCK}")


@pytest.mark.parametrize("heading", ["## STATE", "### STATE:", "###   STATE  ", "### STATE ###"])
def test_small_variations_of_the_heading_are_understood(heading: str) -> None:
    assert extract(f"x\n\n{heading}\nGoal: y").state == "Goal: y"


def test_fields() -> None:
    assert fields(BLOCK.partition("\n")[2]) == {
        "Goal": "port the parser",
        "Context": "src/parser.py",
        "Resolved": "lexer",
        "Technical Anchors": "port 8080",
    }
    assert fields("- **Goal**: a\n  - b\n- **Context:** c") == {"Goal": "a\n  - b", "Context": "c"}
    assert fields("nothing") == {}


def test_anchor_of_nothing_is_nothing() -> None:
    assert anchor("") == anchor(" \n") == ""


def test_rebuild_request_holds_the_window_and_the_form() -> None:
    """Seed 000, "The /context rebuild Command"."""
    request = rebuild_request("USER: port it")
    assert "USER: port it" in request and HEADING in request and "Technical Anchors" in request


def streamed(reply: str, cuts: list[int]) -> str:
    places = sorted({min(c, len(reply)) for c in cuts} | {0, len(reply)})
    screen = StreamFilter()
    pieces = [reply[a:b] for a, b in itertools.pairwise(places)]
    return "".join([screen.feed(p) for p in pieces]) + screen.close()


@given(st.lists(st.integers(0, 200), max_size=30))
def test_block_never_shows_however_the_stream_is_cut(cuts: list[int]) -> None:
    assert streamed(f"Done: `a`.\n\n# Title\n{BLOCK}\n", cuts) == "Done: `a`.\n\n# Title\n"


@given(st.lists(st.integers(0, 200), max_size=30))
def test_fenced_block_never_shows_either(cuts: list[int]) -> None:
    assert streamed(f"Done.\n```markdown\n{BLOCK}\n```", cuts) == "Done.\n"


replies = st.lists(
    st.sampled_from(["a", "\n", "#", "### ", "```\n", "text\n", "~~~\n", " ", "`x`", "ST"]),
    max_size=25,
).map("".join)


@given(replies, st.lists(st.integers(0, 60), max_size=20))
def test_replies_without_a_block_pass_unchanged(reply: str, cuts: list[int]) -> None:
    assert streamed(reply, cuts) == reply


def test_a_heading_within_a_line_is_text_wherever_the_stream_is_cut() -> None:
    pieces = ["It stands under ", "### STATE\n", "as usual.\n"]
    whole = StreamFilter()
    assert [whole.feed(piece) for piece in pieces] == pieces and whole.close() == ""


def test_ordinary_text_is_not_held_back() -> None:
    screen = StreamFilter()
    assert screen.feed("Hel") == "Hel"
    assert screen.feed("lo # world") == "lo # world"
    assert screen.feed("\n### Oth") == "\n"
    assert screen.feed("er and a long heading that is longer than sixty characters in all") != ""


@given(replies)
def test_what_streamed_and_what_is_stored_agree(reply: str) -> None:
    whole = f"{reply}\n\n{BLOCK}"
    found = extract(whole)
    if found.state is not None:
        assert streamed(whole, []).split() == found.text.split()
