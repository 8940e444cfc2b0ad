"""Finds recorded sessions in a folder: one sub-folder a person, as ``recorded/README.md`` says."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from benchmarks.recorded import aider, claude_code, cline
from benchmarks.recorded.recording import Contents, Recording, unknown
from benchmarks.recorded.sources import dated, git
from benchmarks.results import NothingToMeasure

T = TypeVar("T")
PARALLEL = 2
DEFAULT = Path("~/.cache/tierline-real-sessions/sessions")
LEAST_TURNS = 3
MAX_CHARACTERS = 400_000
"""Of a session's files together: what would fit into a chat."""
AIDER = ".aider.chat.history.md"
CLINE = "api_conversation_history.json"


def needed(
    sessions: Path, read: Callable[[Path, int], list[Recording]], most: int
) -> list[Recording]:
    """At most ``most`` sessions of a folder, as ``read`` finds them.

    Raises:
        NothingToMeasure: there are none.
    """
    folder = sessions.expanduser()
    if folder.is_dir() and (found := read(folder, most)):
        return found
    raise NothingToMeasure(
        f"No recorded sessions in {sessions}: tests/benchmarks/recorded/README.md says how to "
        "fetch some."
    )


def chosen(program: str, most: int, arguments: Sequence[str]) -> list[Recording]:
    """The sessions that a benchmark's arguments name, at most ``most`` if they name no number.

    Raises:
        NothingToMeasure: there are none.
    """
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--sessions", type=Path, default=DEFAULT)
    parser.add_argument("--most", type=int, default=most)
    parser.add_argument("--full", action="store_true", help="all sessions of the folder")
    told = parser.parse_args([*arguments])
    return needed(told.sessions, recordings, 10_000 if told.full else told.most)


async def side_by_side(
    found: Iterable[Recording], one: Callable[[Recording], Awaitable[T]]
) -> list[T]:
    """What ``one`` gives for each session, two at a time."""
    room = asyncio.Semaphore(PARALLEL)

    async def in_turn(recording: Recording) -> T:
        async with room:
            return await one(recording)

    return list(await asyncio.gather(*map(in_turn, found)))


def recordings(folder: Path, most: int) -> list[Recording]:
    """At most ``most`` sessions of at least three turns in which something was edited, taken in
    turns from each person's, those with the most turns first.
    """
    people = [list(_best(person)) for person in sorted(p for p in folder.iterdir() if p.is_dir())]
    rows = (one for row in zip_longest(*people) for one in row if one is not None)
    return [one for _, one in zip(range(most), rows, strict=False)]


def _best(person: Path) -> Iterator[Recording]:
    found = [one for one in everything(person) if _worth(one)]
    yield from sorted(found, key=lambda one: (-len(one.turns), one.name))


def _worth(one: Recording) -> bool:
    edits = sum(len(done.edits) for turn in one.turns for done in turn.rounds)
    size = sum(map(len, one.files.values()))
    typed = sum(not turn.at_once for turn in one.turns)
    return typed >= LEAST_TURNS and edits > 0 and size <= MAX_CHARACTERS


def everything(person: Path) -> Iterator[Recording]:
    """All sessions of a person's folder."""
    contents = _contents(person)
    for file in sorted(person.rglob("*")):
        relative = file.relative_to(person)
        if not file.is_file() or relative.parts[0] in ("dated", ".git", "node_modules"):
            continue
        name = f"{person.name}/{relative.as_posix()}"
        if file.name.endswith(AIDER):
            beside = file.with_name(file.name.replace("chat.history.md", "input.history"))
            typed = _text(beside) if beside.is_file() else ""
            yield from aider.read(_text(file), person.name, contents, name, typed)
        elif file.name.endswith(CLINE):
            yield from cline.read(_text(file), person.name, contents, name)
        elif file.suffix == ".jsonl":
            lines = _text(file).splitlines()
            yield from claude_code.read(lines, person.name, contents, name)


def _contents(person: Path) -> Contents:
    if (person / ".git").exists():
        return git(person)
    return dated(person / "dated") if (person / "dated").is_dir() else unknown


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
