"""What a large workspace's index keeps on the disk, against the same in memory."""

from __future__ import annotations

import os
import sqlite3
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.context.retrieval.corpus import Corpus, document
from tierline.context.retrieval.graph import run_to_end
from tierline.context.retrieval.symbol import SourceFile, Symbol
from tierline.workspace.symbols import index as symbol_index
from tierline.workspace.symbols.index import BEYOND, SymbolIndex
from tierline.workspace.symbols.places import Folder
from tierline.workspace.symbols.postings import DiskPostings

NAMES = ("parse", "Parser", "parse_all", "unparse", "ß", "half\udc80", "walk")
sources = st.builds(
    lambda number, names, uses: SourceFile(
        f"src/mod{number}.py",
        "python",
        3,
        tuple(Symbol(name, "function", 1, 2) for name in names),
        dict.fromkeys(uses, 2),
        ("import mod1",),
    ),
    st.integers(0, 30),
    st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
    st.lists(st.sampled_from(NAMES), max_size=4, unique=True),
)


def paths(corpus: Corpus, numbers: Any) -> list[str]:
    return sorted(corpus.entries[n].path for n in numbers)


@given(st.lists(st.one_of(sources, st.integers(0, 30)), max_size=120), st.integers(0, 12))
def test_what_is_on_the_disk_answers_as_what_is_in_memory(
    steps: list[SourceFile | int], fresh: int
) -> None:
    postings = DiskPostings(fresh)
    disk, memory = Corpus(postings, patient=True), Corpus()
    for at, step in enumerate(steps):
        for corpus in (disk, memory):
            if isinstance(step, int):
                corpus.remove(f"src/mod{step}.py")
            else:
                corpus.put(step, document(step))
        if at % 17 == 16:
            run_to_end(disk.sweeping())
            run_to_end(disk.connecting())
    assert disk.by_path.keys() == memory.by_path.keys()
    assert +disk.languages == +memory.languages and disk.symbols == memory.symbols
    for name in NAMES:
        word = name.casefold()
        assert paths(disk, disk.definers(name)) == paths(memory, memory.definers(name))
        assert disk.rarity(word) == memory.rarity(word)
        ours, theirs = run_to_end(disk.search({word: 1.0})), run_to_end(memory.search({word: 1.0}))
        assert {disk.entries[n].path: s for n, s in ours.items()} == pytest.approx(
            {memory.entries[n].path: s for n, s in theirs.items()}
        )
    for letters in ("", "parse", "ars", "x"):
        assert [n for n, _ in disk.names_like(letters, 9)] == [
            n for n, _ in memory.names_like(letters, 9)
        ]
    run_to_end(disk.connecting())
    for path, number in disk.by_path.items():
        other = memory.edges()[memory.by_path[path]]
        assert {disk.entries[n].path: w for n, w in disk.near(number).items()} == pytest.approx(
            {memory.entries[n].path: w for n, w in other.items()}
        )
    postings.close()


def test_edges_serve_while_they_are_computed_anew_and_those_that_led_forward_make_room() -> None:
    def source(number: int) -> SourceFile:
        define = (Symbol(f"name{number}", "function", 1, 2),)
        return SourceFile(f"src/mod{number}.py", "python", 2, define, {f"name{number // 2}": 2})

    postings = DiskPostings()
    corpus, other = Corpus(postings, patient=True), Corpus()
    for number in range(60):
        corpus.put(source(number), document(source(number)))
    run_to_end(corpus.connecting())
    old = weakref.ref(corpus.edges(fresh=False).forward)
    kept = []
    for count, _ in enumerate(corpus.connecting()):
        number = 60 + count
        corpus.put(source(number), document(source(number)))
        assert paths(corpus, corpus.near(corpus.by_path["src/mod4.py"])) == [
            "src/mod2.py", "src/mod8.py", "src/mod9.py"
        ]  # fmt: skip
        assert not list(corpus.near(corpus.by_path[f"src/mod{number}.py"]))
        kept.append(old() is not None)
    assert kept[0] and old() is None
    run_to_end(corpus.connecting())
    for made in range(number + 1):
        other.put(source(made), document(source(made)))
    for path, number in corpus.by_path.items():
        assert paths(corpus, corpus.near(number)) == sorted(
            other.entries[n].path for n in other.near(other.by_path[path])
        )
    postings.close()


def test_numbers_of_files_that_are_gone_are_used_again() -> None:
    corpus = Corpus(DiskPostings(4), patient=True)
    file = SourceFile("a.py", "python", 1, (Symbol("run", "function", 1, 2),))
    for _ in range(100):
        corpus.put(file, document(file))
    assert corpus.crowded and len(corpus.entries) == 100
    run_to_end(corpus.sweeping())
    run_to_end(corpus.connecting())
    for _ in range(90):
        corpus.put(file, document(file))
    assert len(corpus.entries) == 100 and len(corpus.definers("run")) == 1


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index looks at its process, which is the whole test run here."""
    monkeypatch.setattr(symbol_index, "resident", lambda: 2)


def built(root: Path, **options: Any) -> SymbolIndex:
    index = SymbolIndex([Folder("", str(root))], None, **options)
    for _ in index.scan():
        pass
    return index


def write(root: Path, name: str, at: int) -> None:
    path = root / name
    path.write_text(f"def {path.stem}(): ...\n", encoding="utf-8")
    os.utime(path, (at, at))


def test_beyond_the_bound_what_was_changed_last_takes_the_place_of_what_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path.resolve()
    for number in range(20):
        write(root, f"old{number}.py", 1_000 + number)
    index = built(root)
    monkeypatch.setattr(symbol_index, "MAX_MEMORY", 1)
    write(root, "older.py", 10)
    write(root, "fresh.py", 5_000)
    write(root, "old7.py", 5_000)
    for _ in index.scan():
        pass
    assert index.corpus.definers("fresh") and index.corpus.definers("old7")
    assert not index.corpus.definers("older") and not index.corpus.definers("old0")
    assert index.status.files == 20 and index.status.skipped[BEYOND] == 2


def test_a_file_that_comes_while_the_folders_are_walked_stays(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "b").mkdir()
    write(root / "b", "one.py", 10)
    index = built(root)
    steps = index.scan()
    next(steps)
    write(root / "b", "two.py", 20)
    run_to_end(index.changed([str(root / "b" / "two.py")]))
    for _ in steps:
        pass
    assert index.corpus.definers("one") and index.corpus.definers("two")


def test_without_room_on_the_disk_the_index_goes_on_with_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path.resolve()
    write(root, "one.py", 10)
    index = built(root)
    write(root, "two.py", 20)

    def full(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(DiskPostings, "add", full)
    for _ in index.scan():
        pass
    assert index.corpus.definers("one") and not index.corpus.definers("two")
    assert index.central() and index.status.files == 1
