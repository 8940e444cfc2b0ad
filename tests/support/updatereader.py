"""Reads the updates of a log back, and applies the differences in them: what a model does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from attrs import define, field, frozen

from tierline.context.fences import parse_fenced
from tierline.context.tiers.base import PieceKind
from tierline.context.tiers.delta import NO_NEWLINE, split_lines
from tierline.context.tiers.updates import version

_VERSION = r"[0-9a-f]{8}"
_LINE = re.compile(
    r'Update: (?P<name>"(?:[^"\\]|\\.)*"|[^\s"]+)'
    rf"(?: \((?P<in_full>{_VERSION}), in full\):"
    rf"| changed from (?P<from>{_VERSION}) to (?P<to>{_VERSION}):"
    rf"| is (?P<again>{_VERSION}) again(?:, as it was first shown)?\."
    r"| (?P<gone>is no longer part of the context)\."
    rf"| is (?P<made>{_VERSION}) as you made it\."
    rf"| was (?P<old>{_VERSION}) and is (?P<new>{_VERSION}) since your edit (?P<edit>\S+) was"
    r" applied as proposed\.)\n?"
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@frozen
class Update:
    """One update as read back. ``text`` is the new text (``FULL``) or the diff (``DELTA``)."""

    name: str
    kind: PieceKind
    before: str = ""
    after: str = ""
    text: str = ""
    edit: str = ""


class DeltaError(ValueError):
    """A diff does not fit the text that it is applied to, or is invalid."""


def read_update(block: str) -> Update | None:
    """The update in a block; None if it has none, or other text besides."""
    line = _LINE.match(block)
    if line is None:
        return None
    name, rest = _name(line["name"]), block[line.end() :]
    update: Update | None = None
    if line["gone"] and not rest:
        update = Update(name, PieceKind.GONE)
    elif line["edit"] and not rest:
        update = Update(name, PieceKind.CONFIRMED, line["old"], line["new"], edit=line["edit"])
    elif line["made"] and not rest:
        update = Update(name, PieceKind.CONFIRMED, after=line["made"])
    elif line["again"] and not rest:
        update = Update(name, PieceKind.DELTA, line["again"], line["again"])
    elif line["in_full"] and (text := _only_fence(rest)) is not None:
        update = Update(name, PieceKind.FULL, after=line["in_full"], text=text)
    elif line["from"] and (text := _only_fence(rest)) is not None:
        update = Update(name, PieceKind.DELTA, line["from"], line["to"], text)
    return update


def _only_fence(text: str) -> str | None:
    """The content of a fence, if the text is nothing but the fence."""
    found = parse_fenced("x\n" + text)
    whole = len(found) == 1 and found[0].start == 0 and found[0].end == len(text) + 2
    return found[0].text if whole else None


def _name(written: str) -> str:
    return str(json.loads(written)) if written.startswith('"') else written


def replay(
    texts: dict[str, str], updates: Sequence[Update], edit: Callable[[str, str], str]
) -> dict[str, str]:
    """All texts after the updates. ``edit(reference, text)`` applies a proposed edit.

    Raises:
        ValueError: an update does not fit the version that it names.
    """
    now = dict(texts)
    for update in updates:
        old = now.get(update.name)
        if update.before and (old is None or version(old) != update.before):
            raise ValueError(f"{update.name}: the update is for {update.before}")
        if update.kind is PieceKind.GONE:
            if old is None:
                raise ValueError(f"{update.name}: it was not there")
            del now[update.name]
            continue
        if update.kind is PieceKind.FULL:
            new = update.text
        elif update.kind is PieceKind.DELTA:
            new = apply(old or "", update.text)
        else:
            new = edit(update.edit, old or "")
        if version(new) != update.after:
            raise ValueError(f"{update.name}: the result is not {update.after}")
        now[update.name] = new
    return now


def apply(before: str, diff: str) -> str:
    """The text after the change.

    Raises:
        DeltaError: a line that the diff expects is missing, or the diff is invalid.
    """
    old = split_lines(before)
    new: list[str] = []
    place = 0
    for hunk in _parse(diff):
        start = hunk.start - 1 if hunk.length else hunk.start
        if start < place or start > len(old):
            raise DeltaError("a hunk lies outside the text")
        new += old[place:start]
        place = start
        for mark, line in hunk.lines:
            if mark != "+":
                if place >= len(old) or old[place] != line:
                    raise DeltaError("a line differs from what the diff expects")
                place += 1
            if mark != "-":
                new.append(line)
    new += old[place:]
    if any(not line.endswith("\n") for line in new[:-1]):
        raise DeltaError("a line without an end stands in the middle")
    return "".join(new)


@define
class _Hunk:
    start: int
    length: int
    added: int
    lines: list[tuple[str, str]] = field(factory=list)


def _parse(diff: str) -> Iterator[_Hunk]:
    """Hunks of a diff. The lengths in their headers say where they end, so that no line is taken
    for a header.
    """
    lines = split_lines(diff)
    place = 0
    while place < len(lines):
        head = _HUNK.match(lines[place])
        if head is None:
            raise DeltaError("this is not a hunk of a unified diff")
        hunk = _Hunk(int(head[1]), int(head[2] or 1), int(head[4] or 1))
        place += 1
        old_left, new_left = hunk.length, hunk.added
        while old_left > 0 or new_left > 0:
            line = lines[place] if place < len(lines) else ""
            mark, text = line[:1], line[1:]
            if mark not in ("+", "-", " ") or not text.endswith("\n"):
                raise DeltaError("a hunk ends early")
            old_left -= mark != "+"
            new_left -= mark != "-"
            place += 1
            if place < len(lines) and lines[place].rstrip("\n") == NO_NEWLINE:
                text = text[:-1]
                place += 1
            hunk.lines.append((mark, text))
        yield hunk
