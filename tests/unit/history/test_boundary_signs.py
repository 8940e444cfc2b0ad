"""The signs by which a change of topic is judged: each is a share, and says what its name says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.histories import msg, turn
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.history.boundaries.local import FEATURES, PRIOR, detect, features, gaps
from tierline.history.boundaries.signs import WorkKind, stems, turns, work_of
from tierline.history.messages import Message


def talk(*pairs: tuple[str, str] | str) -> list[Message]:
    """A turn for each; a prompt alone gets a reply without words."""
    both = [(pair, "-") if isinstance(pair, str) else pair for pair in pairs]
    return [m for n, (prompt, reply) in enumerate(both) for m in turn(n, prompt, reply)]


def signs(*pairs: tuple[str, str] | str) -> dict[str, float]:
    """The features of the last turn by name."""
    return dict(zip(FEATURES, features(turns(talk(*pairs)))[-1], strict=True))


SOME = ("parse tokens", "parse tokens", "parse tokens")


def test_words_count_as_unseen_by_their_rarity() -> None:
    assert signs(*SOME, "parse tokens")["unseen_words"] == 0
    assert signs(*SOME, "invoice totals")["unseen_words"] == 1
    half = signs(*SOME, "parse invoice")["unseen_words"]
    assert 0.5 < half < 1, "a word that comes once says more than one that is everywhere"
    assert signs(*SOME, "?")["unseen_words"] == 0.5, "no words say neither"


@pytest.mark.parametrize(
    ("prompt", "new", "old"),
    [
        ("see src/a.py", 0, 1),
        ("see lib/a.py", 0, 1),  # the name counts, not the folder
        ("see c.py", 1, 0),
        ("see src/a.py and c.py", 0.5, 0.5),
        ("see a.py, b.py, c.py and d.py", 0.5, 0.5),
        ("see nothing", 0, 0),
    ],
)
def test_files_are_new_or_old_by_share(prompt: str, new: float, old: float) -> None:
    found = signs("see src/a.py", ("go on", "changed b.py"), prompt)
    assert (found["new_files"], found["old_files"]) == (new, old)


def test_files_of_the_reply_count_where_the_prompt_names_none() -> None:
    assert signs("see a.py", ("go on", "changed c.py"))["new_files"] == 1
    assert signs("see a.py", ("see a.py", "changed c.py"))["new_files"] == 0


def test_names_of_code_are_those_of_the_prompt() -> None:
    found = signs(("start", "load_user fails"), "load_user and runServer")
    assert (found["new_names"], found["old_names"]) == (0.5, 0.5)
    assert signs(("start", "load_user"), ("go on", "runServer"))["new_names"] == 0


@pytest.mark.parametrize(
    ("before", "prompt", "shift"),
    [
        (("fix it", "fix it"), "explain it", 1),
        (("fix it", "explain it"), "explain it", 0),
        (("explain it", "fix it"), "explain it", 0),  # as in one of the last two
        (("explain it", "fix it", "fix it"), "explain it", 1),  # longer ago does not count
        (("hello", "hello"), "explain it", 0),  # from nothing in particular
        (("fix it", "fix it"), "hello", 0),
    ],
)
def test_the_kind_of_work_shifts(before: tuple[str, ...], prompt: str, shift: float) -> None:
    assert signs(*before, prompt)["work_shift"] == shift


def test_what_announces_a_switch_is_no_follow_up() -> None:
    for prompt, switch, follow in (
        ("by the way, invoices", 1, 0),
        ("thanks, moving on to invoices", 1, 0),
        ("thanks for the invoices", 0, 1),
        ("invoices", 0, 0),
    ):
        found = signs(*SOME, prompt)
        assert (found["switch_cue"], found["follow_cue"]) == (switch, follow), prompt


def test_words_that_point_back_and_length_are_shares_with_an_end() -> None:
    back = [signs("a", " ".join(["it"] * n))["points_back"] for n in range(6)]
    assert back == pytest.approx([0, 1 / 3, 2 / 3, 1, 1, 1])
    late = "one two three four five six seven eight nine ten eleven twelve it"
    assert signs("a", late)["points_back"] == 0, "only how a prompt begins"
    length = [signs("a", "? " + "parse " * n)["length"] for n in (0, 1, 9, 70, 200)]
    assert length[0] == 0 < length[1] < length[2] < 1 == length[3] == length[4]


TWO_TOPICS = (*["parse tokens quickly"] * 3, *["invoice totals monthly"] * 3)


def test_cohesion_dips_where_words_change() -> None:
    rows = features(turns(talk(*TWO_TOPICS)))
    at = 2  # the place before the fourth turn
    for name in FEATURES:
        column = [row[FEATURES.index(name)] for row in rows]
        if name.endswith("_dip"):
            assert column.index(max(column)) == at and column[at] > 0.3, name
            assert column[0] < 0 and column[-1] < 0, f"{name}: elsewhere it is less than the mean"
        elif name.endswith("_low"):
            assert column[at] == 1 and column[at - 1] == column[at + 1] == 0, name
        elif name.endswith("_apart"):
            assert column[at] == 1, f"{name}: nothing in common"
            assert column[0] == pytest.approx(0) or not name.endswith("1_apart")


def test_blocks_look_as_far_as_their_size() -> None:
    """Two turns on either side see through one that says nothing of the topic; one does not."""
    found = dict(zip(FEATURES, features(turns(talk(
        "parse tokens", "parse tokens", "invoice totals", "parse tokens", "parse tokens"
    )))[2], strict=True))  # fmt: skip
    assert found["words_1_apart"] == 1
    assert 0 < found["words_2_apart"] < 1


def test_cohesion_is_the_cosine_of_counts_and_rare_words_weigh_more() -> None:
    """By hand: a prompt counts twice, so (4, 2) · (2, 0) = 8 over √20 · 2."""
    assert signs("parse parse tokens", "parse")["words_1_apart"] == pytest.approx(
        1 - 8 / (math.sqrt(20) * 2)
    )
    common = [f"module number{n} word{n}" for n in range(6)]
    found = signs(*common, "module other thing")
    assert found["rare_words_1_apart"] > found["words_1_apart"], "what all share says little"
    rare = signs(*["module"] * 6, "module lexer", "module lexer")
    assert rare["rare_words_1_apart"] == pytest.approx(0)
    shared = signs(*["module parser"] * 6, "module lexer zebra", "module lexer zeal")
    assert shared["rare_words_1_apart"] > 0


def test_a_valley_is_the_lowest_of_its_neighbours_and_of_no_others() -> None:
    talks = ["parse tokens", "parse tokens", "parse grammar", "parse grammar"]
    talks += ["invoice totals", "invoice totals"]
    for prompts, lows in ((talks, [0, 1, 0, 1, 0]), (talks[::-1], [0, 1, 0, 1, 0])):
        rows = features(turns(talk(*prompts)))
        assert [row[FEATURES.index("words_1_low")] for row in rows] == lows


def test_in_a_talk_without_any_change_no_place_stands_out() -> None:
    """Chance has dips too; they are no more than that."""
    rows = features(turns(talk(*["parse tokens quickly"] * 6)))
    for name in FEATURES:
        column = [row[FEATURES.index(name)] for row in rows]
        if name.endswith(("_dip", "_apart")):
            assert column == pytest.approx([0] * 5), name
        elif name.endswith("_low"):
            assert set(column) <= {0.0, 1.0}, name


def test_the_replies_count_where_prompts_are_not_meant() -> None:
    apart = signs(("go on", "parse tokens"), ("look here", "parse tokens"))
    assert apart["words_1_apart"] < 1 == apart["prompts_1_apart"]


def test_a_prompt_weighs_more_than_its_reply() -> None:
    (only,) = turns(talk(("parse", "parse invoice")))
    assert only.words == {"parse": 3, "invoice": 1}
    assert only.prompt == {"parse": 1} and only.length == 1


# --- from signs to a boundary --------------------------------------------------------------------


def test_confidence_knows_how_seldom_a_session_changes_its_topic() -> None:
    """Every fourth prompt began a topic in what the weights were fitted on, every tenth does."""
    from tierline.history.boundaries.local import FITTED_PRIOR, _corrected

    assert _corrected(FITTED_PRIOR) == pytest.approx(PRIOR)
    assert _corrected(0.0) == 0.0
    values = [_corrected(n / 20) for n in range(20)]
    assert values == sorted(set(values)) and all(a < n / 20 for n, a in enumerate(values) if n)
    assert _corrected(1 - 1e-13) == pytest.approx(1, abs=1e-9)
    odds = [_corrected(p) / (1 - _corrected(p)) / (p / (1 - p)) for p in (0.1, 0.5, 0.9)]
    assert odds == pytest.approx([1 / 3] * 3)


def test_of_equally_probable_places_the_latest_counts() -> None:
    """What is dropped before it is more, and all of it is as old."""
    again = talk(*["parse tokens quickly"] * 5)
    found = gaps(again)
    likeliest = [g.place for g in found if math.isclose(g.probability, found[0].probability)]
    assert len(likeliest) > 1
    most = max(round(g.probability, 3) for g in found)
    latest = max(g.place for g in found if round(g.probability, 3) == most)
    assert detect(again).boundary_index == latest


@given(st.lists(st.sampled_from(["parse it", "fix a.py", "by the way", "?", "run_all", "日本語"]),
                min_size=2, max_size=9))  # fmt: skip
def test_features_are_shares_and_dips(prompts: list[str]) -> None:
    rows = features(turns(talk(*prompts)))
    assert len(rows) == len(prompts) - 1 == len(gaps(talk(*prompts)))
    for row in rows:
        for name, value in zip(FEATURES, row, strict=True):
            if not name.endswith("_dip"):
                assert -1e-9 <= value <= 1 + 1e-9, name


# --- turns ---------------------------------------------------------------------------------------


def test_a_turn_is_a_prompt_with_all_that_follows() -> None:
    call = ToolUse(
        "c", "read", {"path": "lib/b.py", "note": "x" * 300, "more": "y_z" * 100, "n": 3}
    )
    result = ToolResult("c", (Text("open_file " + "z " * 200 + " late_name"),))
    messages = [
        msg(0, "assistant", "hello early_name"),
        msg(1, "user", "look at src/a.py with load_user"),
        msg(2, "assistant", (Text("reading"), call)),
        msg(3, "user", (result,)),
        msg(4, "assistant", "done in run_all", files_modified=("src/c.py",)),
        msg(5, "user", "next one"),
    ]
    first, second = turns(messages)
    assert (first.place, second.place) == (1, 5)
    assert first.prompt_files == {"a.py"} and first.files == {"a.py", "b.py", "c.py"}
    assert first.prompt_names == {"load_user"}
    assert first.names == {"load_user", "open_file", "run_all"}, "not what lies deep in a result"
    assert not any(len(word) > 200 for word in first.words), "long arguments are no words"
    assert turns([messages[0]]) == [] == turns([])


def test_of_long_texts_both_ends_are_looked_at() -> None:
    middle = "filler " * 2_000
    (only,) = turns(talk((f"begin_here {middle} end_here", f"start_there {middle} stop_there")))
    assert only.names == {"begin_here", "end_here", "start_there", "stop_there"}
    assert only.length < 1_000
    data = "x" * 250
    (clean,) = turns(talk(f"look {data} there"))
    assert not any("xxx" in word for word in clean.prompt), "data is no word"


def test_the_first_cue_names_the_work() -> None:
    assert work_of("explain why it crashes, then fix it") is WorkKind.EXPLAIN
    assert work_of("fix it, then explain it") is WorkKind.DEBUG
    assert work_of("error in unit tests") is WorkKind.DEBUG
    (late,) = turns(talk("x" * 10 + " y" * 250 + " explain it"))
    assert late.work is None, "a cue deep in a long prompt is about something else"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("parsing parses parsed parse", {"pars": 3, "parse": 1}),
        ("user’s user's user don't", {"user": 3}),
        ("ab abc", {"abc": 1}),
        ("keys bees", {"keys": 1, "bees": 1}),  # too short to be cut
        ("caches", {"cach": 1}),
        ("字", {"字": 1}),
        ("데이터", {"데이": 1, "이터": 1}),
        ("größe größe", {"größe": 2}),
        ("字 parser", {"字": 1, "pars": 1}),
    ],
)
def test_stems(text: str, found: dict[str, int]) -> None:
    assert stems(text) == found
