"""Edits in the text of replies: search and replace blocks, and whole files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.recorded.recording import Edit

_SEARCH = re.compile(r"^(<{5,9} ?(SEARCH|ORIGINAL)>?|-{5,9} SEARCH)\s*$")
_DIVIDER = re.compile(r"^={5,9}\s*$")
_REPLACE = re.compile(r"^(>{5,9} ?(REPLACE|UPDATED)|\+{5,9} REPLACE)\s*$")
_FENCE = re.compile(r"^(`{3,}|<source>)")
_CLOSE = re.compile(r"^(`{3,}|</source>)\s*$")
_BLOCK = re.compile(r"^(`{3,}[^\n`]*|</?source>\w*)\s*$")
_ABOVE = 3
"""Lines above a block in which its file may be named."""


def edits_in(text: str, whole: Sequence[str] = ()) -> tuple[str, tuple[Edit, ...]]:
    """The edits of a reply, in order, and its text without them.

    ``whole``: files of which a fenced listing below their name is the new text, if no block changes
    them.
    """
    lines = text.split("\n")
    rest: list[str] = []
    edits: list[Edit] = []
    path, place = "", 0
    while place < len(lines):
        if not _SEARCH.match(lines[place]):
            rest.append(lines[place])
            place += 1
            continue
        found = _block(lines, place)
        if found is None:
            rest.append(lines[place])
            place += 1
            continue
        search, replace, place = found
        path = _named(rest) or path
        if path:
            edits.append(Edit(path, search, replace))
            _untitled(rest, path)
            if place < len(lines) and _CLOSE.match(lines[place]):
                place += 1
    said = "\n".join(rest)
    for name in whole:
        if all(edit.path != name for edit in edits):
            said, more = _whole(said, name)
            edits += more
    return re.sub(r"\n{3,}", "\n\n", said).strip("\n"), tuple(edits)


def _block(lines: Sequence[str], place: int) -> tuple[str, str, int] | None:
    """What a block looks for and puts there, and where it ends."""
    divider = end = 0
    for at in range(place + 1, len(lines)):
        if not divider and _DIVIDER.match(lines[at]):
            divider = at
        elif divider and _REPLACE.match(lines[at]):
            end = at
            break
        elif _SEARCH.match(lines[at]):
            return None
    if not end:
        return None

    def text(of: Sequence[str]) -> str:
        return "".join(f"{line}\n" for line in of)

    return text(lines[place + 1 : divider]), text(lines[divider + 1 : end]), end + 1


def _named(above: Sequence[str]) -> str:
    """The file that the lines above a block name."""
    for line in reversed(above[-_ABOVE:]):
        if _FENCE.match(line) or not line.strip():
            continue
        name = line.strip().strip("*`#: ").removeprefix("File: ").strip("`")
        if name and " " not in name and re.search(r"[./]|^\w+$", name):
            return name
        return ""
    return ""


def _untitled(rest: list[str], path: str) -> None:
    """Take the name and the opening fence of a block away."""
    for _ in range(_ABOVE):
        if rest and (_FENCE.match(rest[-1]) or not rest[-1].strip() or path in rest[-1]):
            named = path in rest[-1]
            rest.pop()
            if named:
                return
        else:
            return


def _whole(text: str, name: str) -> tuple[str, list[Edit]]:
    """The listing of a whole file below its name."""
    start = re.search(rf"(?m)^[*`#: ]*{re.escape(name)}[*`: ]*\n+(`{{3,}})[^\n]*\n", text)
    if start is None:
        return text, []
    end = re.compile(rf"(?m)^{start[1]}[ \t]*$").search(text, start.end())
    if end is None:
        return text, []
    said = text[: start.start()] + text[end.end() :]
    return said, [Edit(name, None, text[start.end() : end.start()])]
