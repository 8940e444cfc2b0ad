"""What the letters behind an @ can become, among many paths."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tierline.session.mentions import paths as module
from tierline.session.mentions.paths import PathIndex, PathList
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots

SOME = (
    "src/deep/parser.py",
    "parser.py",
    "src/parse/",
    "docs/the_parser.md",
    "src/pa/rse.c",
    "é/Ä.py",
)


def test_names_that_begin_with_the_letters_come_first_then_the_shallow_and_short() -> None:
    assert PathList(SOME).best("pars", 9) == [
        "parser.py", "src/parse/", "src/deep/parser.py", "docs/the_parser.md", "src/pa/rse.c"
    ]  # fmt: skip
    assert PathList(SOME).best("SRC/PA", 9) == ["src/parse/", "src/pa/rse.c", "src/deep/parser.py"]
    assert PathList(SOME).best("ä", 9) == ["é/Ä.py"]
    assert PathList(SOME).best("zz", 9) == [] == PathList(()).best("a", 9)
    assert PathList(SOME).best("", 2, frozenset({"docs/the_parser.md"})) == [
        "docs/the_parser.md", "parser.py"
    ]  # fmt: skip


def test_every_path_of_100_000_can_be_found() -> None:
    many = PathList(f"part{n % 40}/unit{n % 400}/mod{n}.py" for n in range(100_000))
    assert many.best("mod99999", 5) == ["part39/unit399/mod99999.py"]
    assert many.best("part7/unit7/mod7", 1) == ["part7/unit7/mod7.py"]
    began = time.process_time()
    assert len(many.best("p", 50)) == 50
    assert time.process_time() - began < 1


def test_a_list_without_letters_looks_at_as_many_paths_as_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = PathList(f"part{n % 40}/unit{n % 400}/mod{n}.py" for n in range(20_000))
    looked: list[int] = []
    ordered = module._order
    get = module._Lines.__getitem__

    def order(path: str) -> tuple[int, int, str]:
        looked.append(1)
        return ordered(path)

    def line(lines: module._Lines, number: int) -> str:
        looked.append(1)
        return get(lines, number)

    monkeypatch.setattr(module, "_order", order)
    monkeypatch.setattr(module._Lines, "__getitem__", line)
    listed = frozenset({"part7/unit7/mod7.py", "part39/unit399/mod19999.py", "gone.py"})
    found = many.best("", 30, listed)
    assert found[:2] == ["part7/unit7/mod7.py", "part39/unit399/mod19999.py"]
    assert len(set(found)) == 30 and "gone.py" not in found
    assert len(looked) < 200


async def test_a_slow_listing_answers_with_what_it_has_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        (tmp_path / f"f{number:02}.py").write_text("x")
    monkeypatch.setattr(module, "_FIRST_SECONDS", 0.05)
    monkeypatch.setattr(module, "_REST_AFTER", 10)
    monkeypatch.setattr(module, "_REST_SECONDS", 0.2)
    listing = PathIndex(Loader(Roots([str(tmp_path)]), Buffers(dict, dict)))
    assert len(await listing.best("f", 99, frozenset())) < 40
    for _ in range(2_000):
        if listing.complete:
            break
        await asyncio.sleep(0.01)
    assert len(await listing.best("f", 99, frozenset())) == 40


async def test_while_a_listing_grows_it_is_sorted_a_few_times_and_not_with_each_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sorted_: list[int] = []

    def counted(paths: Iterable[str]) -> PathList:
        made = PathList(paths)
        sorted_.append(len(made))
        return made

    monkeypatch.setattr(module, "PathList", counted)
    listing = PathIndex(Loader(Roots([str(tmp_path)]), Buffers(dict, dict)))
    monkeypatch.setattr(listing, "_fresh", lambda: asyncio.sleep(0))
    for number in range(1000):
        listing._found.append(f"f{number:04}.py")
        await listing.best("f", 9, frozenset())
    assert 5 < len(sorted_) < 20 and sum(sorted_[1:]) < 3000


async def test_letters_of_no_path_make_a_slow_listing_anew_after_some_of_its_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "parser.py").write_text("x")
    listing = PathIndex(Loader(Roots([str(tmp_path)]), Buffers(dict, dict)))
    assert await listing.best("pars", 9, frozenset()) == ["parser.py"]
    begun: list[int] = []
    monkeypatch.setattr(listing, "_begin", lambda: begun.append(1))
    for took, age, anew in ((10.0, 6.0, 0), (10.0, 35.0, 0), (10.0, 55.0, 1), (0.1, 0.0, 1)):
        listing._took, listing._at = took, time.monotonic() - age
        assert await listing.best("stream_tok", 9, frozenset()) == []
        assert await listing.best("pars", 9, frozenset()) == ["parser.py"]
        assert len(begun) == anew
