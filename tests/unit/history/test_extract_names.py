"""Files, names and earlier summaries in an extract."""

from __future__ import annotations

import pytest

from support.histories import msg, talk
from tierline.context.blocks import ToolUse
from tierline.history.extract import LineKind, digest, extractive_summary, render, standing_rules
from tierline.history.names import file_names, identifiers

# --- files and names -----------------------------------------------------------------------------


def test_files_that_were_changed_matter_more_than_those_that_were_named() -> None:
    named = msg(1, "user", "See a.py and a.py and b.py.")
    changed = msg(2, "assistant", "ok", files_modified=("c.py",))
    assert digest([named, changed]).files == ("c.py", "a.py", "b.py")


def test_of_files_named_as_often_the_later_ones_come_first() -> None:
    early = digest(talk("See a.py and b.py.", "ok", "See c.py."))
    assert early.files == ("c.py", "a.py", "b.py")
    often = digest(talk("a.py a.py a.py a.py a.py", "ok", "See c.py."))
    assert often.files == ("a.py", "c.py"), "unless another one was named much more often"


def test_files_in_the_arguments_of_calls_count() -> None:
    arguments = {"path": "src/a.py", "n": 3, "text": "z.py " * 70, "list": ["y.py"]}
    call = msg(1, "assistant", (ToolUse("c", "edit", arguments),))
    assert digest([call]).files == ("src/a.py",), "but not what is written into them"
    before = msg(0, "user", "See b.py.")
    assert digest([before, call]).files == ("src/a.py", "b.py"), "as a mention does"


def test_in_a_long_talk_a_name_that_came_once_is_left_out() -> None:
    once = ["see once_only and many_times", "ok", "and many_times"]
    assert digest(talk(*once)).names == ("many_times", "once_only")
    longer = [*once, *["go on"] * 17]
    assert digest(talk(*longer)).names == ("many_times",)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("./src/a.py, ../b.py and ../../lib/c.toml.", ["src/a.py", "b.py", "lib/c.toml"]),
        ("src\\web\\a.ts", ["src/web/a.ts"]),
        ("https://example.org/a.html and http://localhost:80/b.html", []),
        ("v1.2 3.4 e.g. i.e. etc.", []),
        ("Dockerfile, .env and Cargo.lock", ["Dockerfile", ".env", "Cargo.lock"]),
        ("./.eslintrc.json in .gitignore", [".eslintrc.json", ".gitignore"]),
        ("and so on ...a.py", ["a.py"]),
        ("self.value os.path call.me()", []),
        ("a.py a.py", ["a.py", "a.py"]),
    ],
)
def test_file_names(text: str, files: list[str]) -> None:
    assert file_names(text) == files


def test_identifiers_are_not_parts_of_paths() -> None:
    assert identifiers("src/my_module/load_user.py calls run_all()") == ["run_all"]
    assert identifiers("obj.method() and _private, CamelCase, snake_case2") == [
        "obj.method", "_private", "CamelCase", "snake_case2"
    ]  # fmt: skip


# --- an earlier summary --------------------------------------------------------------------------


def test_an_earlier_summary_keeps_its_headings() -> None:
    first = digest(talk("Always use tabs. We decided on Redis. See a.py and load_user.", "ok"))
    text = render(first, budget_tokens=10_000, count=len)
    card = msg(1, "user", f"[History Summary]\n{text}", meta={"summary": True})
    again = digest([card])
    for kind in LineKind:
        assert set(again.of(kind)) == set(first.of(kind)), kind
    loose = msg(
        1,
        "user",
        "[History Summary]\nIt was warm.\n\nDecisions:\n- Use tabs.\nOpen.",
        meta={"summary": True},
    )
    carried = digest([loose])
    assert carried.of(LineKind.FACT) == ("It was warm.",)
    assert carried.of(LineKind.DECISION) == ("Use tabs.", "Open.")
    assert standing_rules(card) == (), "it quotes rules, it makes none"


def test_a_digest_of_nothing_is_empty() -> None:
    empty = digest([])
    assert (empty.lines, empty.files, empty.names) == ((), (), ())
    assert render(empty, budget_tokens=100, count=len) == ""
    assert extractive_summary(talk("Hi"), budget_tokens=0, count=len) == ""


def test_every_line_knows_its_place() -> None:
    said = digest(talk("Always use tabs.", "I decided on Redis.", "It fails with KeyError."))
    assert [(line.kind, line.place) for line in said.lines[:3]] == [
        (LineKind.RULE, 0), (LineKind.DECISION, 1), (LineKind.ERROR, 2)
    ]  # fmt: skip
