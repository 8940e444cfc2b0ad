"""From the journal and the current files to the files' contents at an earlier moment.

Our changes since that moment are undone one by one, the newest first. If the file still has the
text that we left, that is exact. If the user has changed it in between, three texts (after our
change, current, before our change) are merged; where that fails, the user decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import define, frozen

from tierline.context.edits.merge import merge
from tierline.session.snapshots.content import FileContent, encoded

JournalRecord = Mapping[str, Any]


@define
class JournalStep:
    """One of our changes, from the journal: contents by hash."""

    before: JournalRecord
    after: JournalRecord

    @property
    def needs(self) -> tuple[str, ...]:
        """Hashes of the contents that are needed to undo it."""
        return tuple(str(side.get("sha") or "") for side in (self.before, self.after))


@frozen
class FileRestoration:
    """How a file can be brought back."""

    path: str
    now: FileContent
    then: FileContent
    """Its content at the moment; ``why`` is set if it cannot be brought back."""
    merged: FileContent | None
    """That content merged with the user's changes since; None if they cannot be merged."""
    yours: bool
    """The user has changed it since."""


def since(records: Sequence[JournalRecord], start: int) -> dict[str, list[JournalStep]]:
    """Our changes from a record on, by file, oldest first. Consecutive changes are joined, and
    those without an effect dropped.
    """
    found: dict[str, list[JournalStep]] = {}
    for path, step in _steps(records, start):
        steps = found.setdefault(path, [])
        if steps and steps[-1].after == step.before and "sha" in step.before:
            steps[-1] = JournalStep(steps[-1].before, step.after)
        else:
            steps.append(step)
    return {
        path: kept
        for path, steps in found.items()
        if (kept := [s for s in steps if s.before != s.after or "sha" not in s.before])
    }


def back(
    path: str, now: FileContent, steps: Sequence[tuple[FileContent, FileContent]]
) -> FileRestoration | None:
    """The way back of one file over our changes (before, after), oldest first. None if nothing
    needs to be done.
    """
    then = steps[0][0]
    merged: FileContent | None = now
    yours = not now.same(steps[-1][1]) or any(
        not one[1].same(other[0]) for one, other in pairwise(steps)
    )
    for before, after in reversed(steps):
        merged = _undone(merged, before, after) if merged is not None else None
    if now.same(then) or (merged is not None and now.same(merged)):
        return None
    return FileRestoration(path, now, then, merged, yours)


def _undone(now: FileContent, before: FileContent, after: FileContent) -> FileContent | None:
    """A content without one of our changes."""
    if now.same(after) or now.same(before):
        return before
    texts = (after.text, now.text, before.text)
    base, ours, theirs = texts
    if base is None or ours is None or theirs is None:
        return None
    text = merge(base.text, ours.text, theirs.text)
    if text is None:
        return None
    mode = before.mode if now.mode == after.mode else now.mode
    return FileContent(encoded(ours, text), mode)


def position(records: Sequence[JournalRecord], groups: Sequence[str], timestamp: str) -> int:
    """Index in the journal at which a turn began. ``groups``: it and the later turns of the
    conversation; ``timestamp``: of its prompt.
    """
    for number, record in enumerate(records):
        if record["kind"] == "prompt" and record.get("group") == groups[0]:
            return number
    later = set(groups)
    for number, record in enumerate(records):
        if record.get("group") in later or str(record.get("at", "")) > timestamp:
            return number
    return len(records)


def cut_off(records: Sequence[JournalRecord], start: int) -> list[str]:
    """Commands since a record that have no end in the journal, so that their changes
    are unknown.
    """
    ended = {record.get("id") for record in records if record["kind"] == "ended"}
    return [
        str(record.get("what", ""))
        for record in records[start:]
        if record["kind"] == "command" and record.get("id") not in ended
    ]


def moves(records: Sequence[JournalRecord]) -> list[JournalRecord]:
    """Every move that was completed, oldest first."""
    done = {r.get("id") for r in records if r["kind"] == "moved" and r.get("done") is True}
    return [r for r in records if r["kind"] == "move" and r.get("id") in done]


def unfinished(records: Sequence[JournalRecord]) -> list[JournalRecord]:
    """Moves that were begun and neither completed nor undone."""
    ended = {r.get("id") for r in records if r["kind"] == "moved"}
    return [r for r in records if r["kind"] == "move" and r.get("id") not in ended]


def _steps(records: Sequence[JournalRecord], start: int) -> Iterator[tuple[str, JournalStep]]:
    corrected = {r.get("id"): r.get("after") for r in records if r["kind"] == "after"}
    begun = {r.get("id"): n for n, r in enumerate(records) if r["kind"] == "move"}
    for number, record in enumerate(records):
        if record["kind"] == "change" and number >= start:
            after = corrected.get(record.get("id")) or record.get("after")
            yield from _step(record.get("path"), record.get("before"), after)
        elif record["kind"] == "moved" and begun.get(record.get("id"), -1) >= start:
            files = record.get("files")
            for one in files if isinstance(files, list) else ():
                if isinstance(one, Mapping):
                    yield from _step(one.get("path"), one.get("before"), one.get("after"))


def _step(path: Any, before: Any, after: Any) -> Iterator[tuple[str, JournalStep]]:
    if isinstance(path, str) and isinstance(before, Mapping) and isinstance(after, Mapping):
        yield path, JournalStep(before, after)


Load = Callable[[str], bytes | None]


def contents(steps: Sequence[JournalStep], load: Load) -> dict[str, bytes | None]:
    """The bytes that the steps need, by hash."""
    return {sha: load(sha) for step in steps for sha in step.needs if sha}
