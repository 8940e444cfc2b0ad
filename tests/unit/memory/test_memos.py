"""Memos: folding, relevance, search, and how they stand in a prompt (seed 000, section 7)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tierline.context.fences import parse_fenced
from tierline.memory.memos import (
    MAX_CHARACTERS,
    NOTE,
    Memo,
    MemoDraft,
    clean_tags,
    draft,
    fold,
    relevant,
    render_one,
    search,
)
from tierline.store.memos import MemoStore


def memo(number: int, content: str, *tags: str) -> Memo:
    return Memo(f"m{number}", "project", content, tags, f"2026-01-{number:02d}T00:00:00Z")


KNOWN = [
    memo(1, "The integration database listens on port 5544.", "database", "port"),
    memo(2, "We chose SQLite over Postgres, because a server would be too much.", "arch-decision"),
    memo(3, "Next we go on and continue.", "next", "ok"),
    memo(4, "parse_header() must not be called twice on one stream.", "gotcha"),
    memo(5, "数据库使用端口 5544。", "中文"),
]


def test_fold_follows_save_edit_and_delete() -> None:
    records: list[dict[str, Any]] = [
        {"kind": "save", "id": "a", "content": "one", "tags": ["x"], "timestamp": "t1"},
        {"kind": "save", "id": "b", "content": "two", "tags": []},
        {"kind": "edit", "id": "a", "content": "uno", "timestamp": "t2"},
        {"kind": "edit", "id": "unknown", "content": "?"},
        {"kind": "delete", "id": "b"},
        {"kind": "save", "id": "a", "content": "again"},
        {"kind": "save", "id": 7, "content": "?"},
        {"kind": "later-version", "id": "c"},
    ]
    (left,) = fold(records, "user")
    assert (left.content, left.tags, left.created, left.changed) == ("uno", ("x",), "t1", "t2")


@pytest.mark.parametrize(
    ("prompt", "ids"),
    [
        ("which port does the database use?", ["m1"]),
        ("why not postgres?", ["m2"]),
        ("call parse_header again", ["m4"]),
        ("the header parser fails", ["m4"]),
        ("数据库的端口是多少？", ["m5"]),
        ("explain arch decisions", ["m2"]),
        ("what about the weather?", []),
    ],
)
def test_a_prompt_finds_what_it_is_about(prompt: str, ids: list[str]) -> None:
    assert [ranked.memo.id for ranked in relevant(prompt, KNOWN)] == ids


@pytest.mark.parametrize(
    "prompt",
    ["continue", "go on", "ok next", "", "next step please", "carry on", "yes!", "weiter", "继续",
     "続けて", "looks good, go ahead", "try again", "sigue", "продолжай"],
)  # fmt: skip
def test_fillers_find_nothing(prompt: str) -> None:
    """BR-169; seed 000, "Stop-Word Pollution"."""
    assert relevant(prompt, KNOWN) == []


def test_at_most_five_and_the_best_first() -> None:
    """Seed 000: "automatically injects up to 5 relevant memos"."""
    many = [memo(n, f"The cache number {n} is warm.") for n in range(1, 20)]
    many.append(memo(20, "The cache of the parser is cold.", "parser"))
    found = relevant("is the parser cache cold?", many)
    assert found[0].memo.id == "m20" and len(found) <= 5
    assert len(relevant("cache", many)) == 5


def test_search_is_lenient_and_filters_by_tag() -> None:
    assert [m.id for m in search(KNOWN, "", ["gotcha"])] == ["m4"]
    assert [m.id for m in search(KNOWN)] == ["m5", "m4", "m3", "m2", "m1"], "the newest first"
    assert [m.id for m in search(KNOWN, "continue")] == ["m3"], "whoever looks may look for that"
    assert [m.id for m in search(KNOWN, "sqlit")] == ["m2"], "parts of words"
    assert search(KNOWN, "database", ["gotcha"]) == []


def test_a_memo_cannot_leave_its_fence() -> None:
    """BR-171."""
    rng = random.Random(7)
    pieces = ["`", "```", "````\n", "\n", "</memos>", "Note 2 (user):", "~~~", "x", "\ud800", NOTE]
    for _ in range(300):
        content = "".join(rng.choice(pieces) for _ in range(rng.randint(1, 12)))
        if "\ud800" in content:
            continue
        text = render_one(Memo("a", "project", content, ('t"`\n',)), 1)
        head, rest = text.split("\n", 1)
        (found,) = parse_fenced("x\n" + rest)
        assert found.text == content.rstrip("\n") + "\n" and found.end == len(rest) + 2
        assert head.startswith("Note 1 (project") and head.endswith(":")


def test_a_long_memo_is_cut_with_a_word_about_the_rest() -> None:
    text = render_one(memo(1, "a" * 5_000), 3)
    assert "retrieve_memos has all" in text and len(text) < 1_400


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "must not be empty"),
        ({"content": "  "}, "must not be empty"),
        ({"content": 5}, "must not be empty"),
        ({"content": "x", "tags": [1]}, "list of words"),
        ({"content": "x", "tags": {"a": 1}}, "list of words"),
        ({"content": "x", "scope": "world"}, "project or user"),
        ({"content": "x" * (MAX_CHARACTERS + 1)}, "8,001"),
    ],
)
def test_bad_arguments_save_nothing_and_say_why(arguments: dict[str, object], said: str) -> None:
    answer = draft(arguments)
    assert isinstance(answer, str) and said in answer


def test_good_arguments_are_cleaned() -> None:
    made = draft({"content": " text\ud83d ", "tags": "Arch Decision, gotcha,,#gotcha"})
    assert made == MemoDraft("text\ufffd", ("arch-decision", "gotcha"), "project")
    assert len(clean_tags(str(n) for n in range(50))) == 12


def test_the_log_is_append_only_and_survives_damage(tmp_path: Path) -> None:
    path = tmp_path / "memos.jsonl"
    store = MemoStore(path, "project")
    assert store.all() == ()
    store.append({"kind": "save", "id": "a", "content": "one", "tags": []})
    before = path.read_bytes()
    store.append({"kind": "edit", "id": "a", "content": "two"})
    assert path.read_bytes().startswith(before)
    other = MemoStore(path, "project")
    assert [m.content for m in other.all()] == ["two"]
    with path.open("ab") as stream:
        stream.write(b'{"kind": "save", "id": "torn", "cont')
    other.append({"kind": "save", "id": "b", "content": "three", "tags": ["t"]})
    assert [m.content for m in store.all()] == ["two", "three"]
    path.unlink()
    assert store.all() == ()
