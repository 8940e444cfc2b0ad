"""STATE: extraction, injection, and hiding it while a reply streams."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.history.state import (
    HEADING,
    StreamFilter,
    anchor,
    closes,
    extract,
    fields,
    guidelines,
    rebuild_request,
)

BLOCK = """### STATE
Goal: port the parser
Context: src/parser.py
Resolved: lexer
Technical Anchors: port 8080"""
INNER = BLOCK.partition("\n")[2]


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


@pytest.mark.parametrize("state", [True, False])
@pytest.mark.parametrize("retrieval", [True, False])
def test_guidelines_are_those_that_hold(state: bool, retrieval: bool) -> None:
    tools = ["query_db", "save_memo", "manage_scratchpad"] if retrieval else []
    text = guidelines(state=state, tools=tools)
    assert (HEADING in text, *(tool in text for tool in tools)) == (state, *[True] * len(tools))
    assert guidelines(state=state, tools=["read_file"]) == guidelines(state=state)
    assert text.count("\n\n") == 0 and text == text.strip()


def test_the_window_stands_between_two_lines_that_are_alike() -> None:
    lines = rebuild_request("USER: port it\nnow").splitlines()
    marks = [n for n, line in enumerate(lines) if set(line) == {"="}]
    assert lines[marks[0]] == lines[marks[1]] and len(marks) == 2
    assert lines[marks[0] + 1 : marks[1]] == ["USER: port it", "now"] and marks[1] == len(lines) - 1


@given(st.lists(st.integers(0, 200), max_size=30))
def test_a_reply_that_is_nothing_but_the_block_shows_nothing(cuts: list[int]) -> None:
    assert streamed(BLOCK, cuts) == ""
    assert extract(BLOCK).text == ""


@pytest.mark.parametrize(
    ("reply", "text", "state"),
    [
        # a fence of the other kind, or a shorter one, does not end it
        (f"~~~\n```\n{BLOCK}\n~~~\nok", f"~~~\n```\n{BLOCK}\n~~~\nok", None),
        # a fence that was closed before the block is no fence around it
        (f"```\ncode\n```\n{BLOCK}", "```\ncode\n```", INNER),
        # a comment in code is no heading, so the block does not end there
        ("a\n### STATE\nGoal: x\n```\n# x\n```\n# b", "a\n\n# b", "Goal: x\n# x"),
        # the fence around it ends with it; what stands behind is shown
        (f"a\n```\n{BLOCK}\n```\nb", "a\n\nb", INNER),
        # blank lines between the fence and the block
        (f"a\n```\n\n{BLOCK}\n```", "a", INNER),
        # never closed
        (f"a\n```\n{BLOCK}", "a", INNER),
        # two blocks: the last counts, and the first stays
        ("### STATE\nGoal: a\n\n### STATE\nGoal: b", "### STATE\nGoal: a", "Goal: b"),
        ("a\r\n### STATE\r\nGoal: x\r\n", "a", "Goal: x"),
    ],
)
def test_fences_and_the_block(reply: str, text: str, state: str | None) -> None:
    found = extract(reply)
    assert (found.text, found.state) == (text, state)
    if "\r" not in reply and reply.count("STATE") == 1:
        assert streamed(reply, []).split() == text.split(), "and so it was shown"


def test_a_stream_shows_what_stands_behind_the_block_and_behind_its_fence() -> None:
    cuts = list(range(300))
    for reply, shown in (
        (f"a\n{BLOCK}\n\n## Next\n- one\n", "a\n## Next\n- one\n"),
        (f"a\n```\n{BLOCK}\n```\nb\n", "a\nb\n"),
        (f"a\n```\n\n{BLOCK}\n```\nb\n", "a\nb\n"),
        ("a\n```py\n# STATE\nx\n```\nb\n", "a\nb\n"),
        ("```\n\nx\n```\n", "```\n\nx\n```\n"),
        ("```", "```"), ("```\n", "```\n"), ("###", "###"), ("a\n#", "a\n#"),
        ("````\n```\n# x\n```\n````\nok", "````\n```\n# x\n```\n````\nok"),
    ):  # fmt: skip
        assert streamed(reply, cuts) == streamed(reply, []) == shown, reply


def test_only_what_may_become_the_heading_is_held_back() -> None:
    screen = StreamFilter()
    assert screen.feed("## ") == "" and screen.feed("Plan\n") == "## Plan\n"
    assert screen.feed("  ") == "" and screen.feed("x") == "  x"
    assert screen.feed("\n`") == "\n" and screen.feed("code` and more") == ""
    assert screen.feed(" " + "x" * 60) == "`code` and more " + "x" * 60, "a long line is none"
    assert screen.feed("\n") == "\n"


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
