"""The boundary detectors: signs, the local one, and the measures that it is judged by."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.segment_metrics import f1, pk, text_tiling, window_diff
from support.histories import msg, turn
from tierline.context.blocks import Image, Text, ToolResult, ToolUse
from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary, unsure
from tierline.history.boundaries.local import FEATURES, WEIGHTS, detect, gaps
from tierline.history.boundaries.model import MAX_MESSAGES, format_messages, newest, parse
from tierline.history.boundaries.signs import WorkKind, stems, turns, work_of
from tierline.history.messages import Message

LOGIN = (
    ("The login page throws KeyError in src/auth/session.py", "Use session.get in load_user."),
    ("now it redirects in a loop", "Exempt /login in require_session in src/auth/session.py."),
    ("should the session cookie be deleted too?", "Yes, call delete_cookie in load_user."),
)
EXPORT = (
    (
        "Now let's add an export of invoices as CSV to billing/export.py",
        "Added export_csv to billing/export.py, rows are streamed with csv.writer.",
    ),
    ("format the amounts of the CSV with two decimals", "export_csv formats each amount now."),
)


def talk(*parts: tuple[tuple[str, str], ...]) -> list[Message]:
    pairs = [pair for part in parts for pair in part]
    return [m for i, (prompt, reply) in enumerate(pairs) for m in turn(i, prompt, reply)]


def test_a_switch_of_files_words_and_work_is_found() -> None:
    found = detect(talk(LOGIN, EXPORT))
    assert found.boundary_index == 6
    assert found.sure
    assert "a switch is announced" in found.boundary_reason


def test_one_topic_has_no_boundary_that_counts() -> None:
    assert not detect(talk(LOGIN)).sure


def test_an_unannounced_switch_is_found_too() -> None:
    quiet = (("an export of invoices as CSV in billing/export.py", EXPORT[0][1]), EXPORT[1])
    assert detect(talk(LOGIN, quiet)).boundary_index == 6


@pytest.mark.parametrize("messages", [[], talk(LOGIN[:1]), [msg(1, "assistant", "hello")]])
def test_nothing_to_compare_is_the_safe_boundary(messages: list[Message]) -> None:
    assert detect(messages) == SAFE_BOUNDARY


def test_a_summary_is_no_turn() -> None:
    summary = msg(999, "user", "[History Summary]\nOther things", meta={"summary": True})
    assert detect([summary, *talk(LOGIN, EXPORT)]).boundary_index == 7


def test_auto_asks_when_it_is_unsure() -> None:
    assert [unsure(TopicBoundary(1, "", c)) for c in (0.0, 0.24, 0.25, 0.6, 0.75, 1.0)] == [
        False, False, True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("Why is there a TypeError?", WorkKind.DEBUG),
        ("Write unit tests for it", WorkKind.BUILD),
        ("unit tests for the parser", WorkKind.TEST),
        ("README: add a section", WorkKind.DOCS),
        ("rename foo to bar", WorkKind.REFACTOR),
        ("explain the parser", WorkKind.EXPLAIN),
        ("docker image please", WorkKind.CONFIG),
        ("hello", None),
    ],
)
def test_kind_of_work(text: str, work: WorkKind | None) -> None:
    assert work_of(text) is work


def test_stems_join_forms_and_leave_function_words_out() -> None:
    assert stems("caching cached caches the and") == {"cach": 3}
    assert set(stems("缓存失效")) == {"缓存", "存失", "失效"}


def test_cues() -> None:
    first, second, third = turns(
        talk((("hi", "a"), ("forget that, other plan", "b"), ("and it too", "c")))
    )
    assert (first.switches, second.switches, third.switches) == (False, True, False)
    assert third.follows and third.points_back == 1


def test_every_feature_has_a_weight() -> None:
    assert len(FEATURES) == len(WEIGHTS)


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=12))
def test_any_talk_gives_probabilities(pairs: list[tuple[str, str]]) -> None:
    messages = talk(tuple(pairs))
    found = detect(messages)
    assert 0.0 <= found.confidence <= 1.0
    assert found.boundary_index is None or 0 < found.boundary_index < len(messages)
    assert all(0.0 <= gap.probability <= 1.0 for gap in gaps(messages))


def test_five_milliseconds_a_message_are_enough_for_long_ones() -> None:
    text = "The parser in src/parser.py reads tokens. " * 400
    messages = talk(tuple((f"{i} {text}", text) for i in range(25)))
    begun = time.process_time()
    detect(messages)
    assert (time.process_time() - begun) / len(messages) < 0.05  # ten times, for slow machines


def test_the_model_sees_the_newest_fifty() -> None:
    messages = [msg(i, "user", f"n{i}") for i in range(60)]
    shown, first = newest(messages)
    assert (len(shown), first) == (MAX_MESSAGES, 10)
    assert format_messages(shown, first=first).startswith("[10] USER: n10\n\n[11]")
    assert parse('{"boundary_index": 9, "confidence": 1}', 50, first=10) == SAFE_BOUNDARY
    assert parse('{"boundary_index": 10, "confidence": 1}', 50, first=10).sure


@given(st.text(max_size=400))
def test_no_answer_raises(answer: str) -> None:
    found = parse(answer, 10)
    assert found.boundary_index is None or 0 <= found.boundary_index < 10


def test_measures() -> None:
    """Hand-computed: ten units, true boundary at 5, k = 2 (half of 10/2, rounded)."""
    assert pk({5}, {5}, 10) == 0
    assert pk({5}, set(), 10) == pytest.approx(2 / 8)
    assert pk({5}, {6}, 10) == pytest.approx(2 / 8)
    assert window_diff({5}, set(), 10) == pytest.approx(2 / 8)
    assert window_diff({5}, {5, 6}, 10) == pytest.approx(2 / 8)
    assert pk({5}, {5, 6}, 10) == pytest.approx(1 / 8)
    assert f1([({5}, {5, 7}), ({3}, set())]) == (0.5, 0.5, 0.5)


def test_text_tiling_finds_an_obvious_valley() -> None:
    texts = [
        stems(t)
        for t in ("cat milk", "cat milk fur", "cat fur", "car wheel", "car wheel road", "car road")
    ]
    assert text_tiling(texts, block=2) == [3]


def test_the_model_sees_what_was_called_and_what_came_of_it() -> None:
    call = ToolUse("c", "read_file", {"path": "a.py"})
    result = ToolResult("c", (Text("x = 1"), Image("image/png", "aGk=")))
    shown = format_messages([msg(0, "assistant", (Text("See: "), call)), msg(1, "user", (result,))])
    assert shown == "[0] ASSISTANT: See: \n(calls read_file)\n\n[1] USER: (result) x = 1"
    exact = format_messages([msg(0, "user", "x" * 10)], max_chars=10)
    assert exact == "[0] USER: " + "x" * 10, "nothing is cut, so nothing says so"


@pytest.mark.parametrize(
    ("answer", "index", "confidence"),
    [
        ('{"boundary_index": "3", "confidence": "0.9"}', 3, 0.9),
        ('{"boundary_index": 3.0, "confidence": 1}', 3, 1.0),
        ('{"boundary_index": 3.5, "confidence": 1}', None, 0.0),
        ('{"boundary_index": true, "confidence": 1}', None, 0.0),
        ('{"boundary_index": "three", "confidence": 1}', None, 0.0),
        ('{"boundary_index": 3, "confidence": true}', None, 0.0),
        ('{"boundary_index": 3, "confidence": "high"}', None, 0.0),
        ('{"boundary_index": 3, "confidence": NaN}', None, 0.0),
        ('{"boundary_index": 3, "confidence": 7}', 3, 1.0),
        ('{"boundary_index": 3, "confidence": -1}', 3, 0.0),
        ('{"boundary_index": 3}', 3, 0.0),
        ('{"boundary_index": 0, "confidence": 1}', 0, 1.0),
        ('{"boundary_index": 9, "confidence": 1}', 9, 1.0),
        ('{"boundary_index": 10, "confidence": 1}', None, 0.0),
        ('{"boundary_index": -1, "confidence": 1}', None, 0.0),
        ('Here you are: {"boundary_index": 3, "confidence": 0.9,} as asked.', 3, 0.9),
        ('Like {"this": 1}', None, 0.0),
        ("[3, 0.9]", None, 0.0),
        ("boundary_index: 4, confidence: 0.5", 4, 0.5),
        ("{'boundary_index': none, 'confidence': 0.5", None, 0.0),
        ("boundary_index = 4", 4, 0.0),
    ],
)
def test_answers_are_read_leniently_and_never_guessed(
    answer: str, index: int | None, confidence: float
) -> None:
    found = parse(answer, 10)
    assert (found.boundary_index, found.confidence) == (index, confidence)


def test_reason_and_summary_come_along_cut_to_a_bound() -> None:
    said = {"boundary_index": 3, "confidence": 1, "boundary_reason": "r" * 400}
    whole = parse(json.dumps({**said, "summary": "s" * 3_000}), 10)
    assert (whole.boundary_reason, whole.summary) == ("r" * 300, "s" * 2_000)
    torn = parse('{"boundary_index": 3, "boundary_reason": "other \\"files\\"", "conf', 10)
    assert torn.boundary_reason == 'other \\"files\\"'
    odd = parse('{"boundary_index": 3, "boundary_reason": 7, "summary": null}', 10)
    assert (odd.boundary_reason, odd.summary) == ("", "")


def test_arguments_of_a_call_may_be_of_any_kind() -> None:
    call = ToolUse("c", "edit", {"line": 3, "on": True, "paths": ["a.py"], "text": "x" * 400})
    messages = [m for n in range(1, 5) for m in turn(n)]
    messages.insert(3, msg(99, "assistant", (call,), group="g2"))
    assert 0 <= detect(messages).confidence <= 1, "and long ones are no words of the turn"


@pytest.mark.parametrize(
    "answer",
    [
        '{"boundary_index": 3, "confidence": 0.9, "summary": "before"}',
        'Sure: {"boundary_index": 3, "confidence": 0.9, "summary": "before"} as asked.',
        'Sure: {"boundary_index": 3, "confidence": 0.9, "summary": "before",} as asked.',
        '```json\n{"boundary_index": 3, "confidence": 0.9, "summary": "before"}\n```',
    ],
)
def test_an_object_between_words_is_read_whole(answer: str) -> None:
    assert parse(answer, 10) == TopicBoundary(3, "", 0.9, "before")


def test_an_object_about_something_else_does_not_hide_the_answer() -> None:
    assert parse('Like {"this": 1}: boundary_index: 4, confidence: 0.9', 10).boundary_index == 4
    assert parse("[3]", 10) == parse("3", 10) == parse("null", 10) == SAFE_BOUNDARY
    assert parse("[" * 100_000, 10) == SAFE_BOUNDARY


def test_a_boundary_counts_from_half_on_and_needs_a_place() -> None:
    assert TopicBoundary(0, "", 0.5).sure and not TopicBoundary(0, "", 0.49).sure
    assert not TopicBoundary(None, "", 1.0).sure
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="confidence"):
            TopicBoundary(0, "", wrong)
    assert TopicBoundary(0, "", 0.0).confidence == 0 and TopicBoundary(0, "", 1.0).sure


def test_all_of_a_short_talk_is_shown() -> None:
    messages = [msg(i, "user", f"n{i}") for i in range(MAX_MESSAGES)]
    for count in (0, 1, MAX_MESSAGES):
        assert newest(messages[:count]) == (messages[:count], 0)
    assert format_messages(messages[:1]) == "[0] USER: n0", "numbers are indices"
