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
        path = _named(rest, whole) or path
        if path:
            edits.append(Edit(path, search, replace))
            _untitled(rest, path)
            if place < len(lines) and _CLOSE.match(lines[place]):
                place += 1
    said, blocks = "\n".join(rest), any(map(_SEARCH.match, lines))
    for sign in ("above", "said", "only"):
        left = [name for name in whole if all(edit.path != name for edit in edits)]
        if left and (sign != "only" or (len(whole) == 1 and not blocks)):
            said, more = _whole(said, left, sign)
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


def _named(above: Sequence[str], known: Sequence[str] = ()) -> str:
    """The file that the lines above a block name."""
    for line in reversed(above[-_ABOVE:]):
        if _FENCE.match(line) or not line.strip():
            continue
        name = line.strip().strip("*`#: ").removeprefix("File: ").strip("`").replace("\\", "/")
        if name in known or (name and " " not in name and re.search(r"[./]|^\w+$", name)):
            return name
        return ""
    return ""


def _untitled(rest: list[str], path: str) -> None:
    """Take the name and the opening fence of a block away."""
    for _ in range(_ABOVE):
        line = rest[-1].replace("\\", "/") if rest else ""
        if rest and (_FENCE.match(line) or not line.strip() or path in line):
            named = path in line
            rest.pop()
            if named:
                return
        else:
            return


def _whole(text: str, names: Sequence[str], sign: str) -> tuple[str, list[Edit]]:
    """Listings of whole files, as aider reads them: what names the file is the line above the fence
    (``above``), what was said before (``said``), or that it is the ``only`` one. The next fence of
    any kind ends it, so that a text with fences of its own was cut there.
    """
    rest: list[str] = []
    edits: dict[str, Edit] = {}
    said = name = ""
    listing: list[str] | None = None
    for line in text.split("\n"):
        if listing is None and _FENCE.match(line):
            above = _title(rest[-1] if rest else "", names)
            name = {"above": above, "said": said, "only": names[0]}[sign]
            if above and name:
                rest.pop()
            said, listing = "", [line]
        elif listing is not None and line.startswith(("```", "</source>")):
            if name and name not in edits:
                edits[name] = Edit(name, None, "".join(f"{row}\n" for row in listing[1:]))
            else:
                rest += [*listing, line]
            listing = None
        elif listing is not None:
            listing.append(line)
        else:
            words = [word.rstrip(".:,;!").strip("`") for word in line.split() if "`" in word]
            said = next((word for word in words if word in names), said)
            rest.append(line)
    if listing and name and name not in edits and sign == "above":  # cut off, and written so
        edits[name] = Edit(name, None, "".join(f"{row}\n" for row in listing[1:]))
        listing = None
    return "\n".join([*rest, *(listing or ())]), list(edits.values())


def _title(line: str, names: Sequence[str]) -> str:
    """Which of the files a line above a fence names; a made-up folder before it does not count."""
    bare = line.strip("*:`# \t").replace("\\", "/")
    if bare in names:
        return bare
    alike = [name for name in names if name.rpartition("/")[2] == bare.rpartition("/")[2]]
    return alike[0] if bare and len(alike) == 1 else ""
