"""Where a piece of code from a reply belongs in a file: definitions of the same name are replaced.

A reply often shows one function of a file, whole. What is replaced is found by the names that the
code defines, so a changed signature still finds its place; a definition without a counterpart goes
after one that has one. The user sees the result as an edit and decides.
"""

from __future__ import annotations

import re
from itertools import pairwise

from attrs import frozen

from tierline.context.edits.blocks import SearchReplaceBlock

_DEFINES = re.compile(
    r"^(?P<indent>[ \t]*)(?:[\w@()<>,.\[\]]+[ \t]+)*?"
    r"(?P<kind>def|class|function\*?|func|fn|interface|struct|enum|trait|type|const|let|var|module)"
    r"[ \t]+(?:\([^)]*\)[ \t]*)?(?P<name>[\w$]+)"
)
_LEADING = re.compile(r"^[ \t]*(?:@|#(?!include)|//|/\*|\*)")
_CLOSING = re.compile(r"^[ \t]*[})\]]")

NOWHERE = (
    "nothing in the file is called as in this code, so where it goes cannot be told. Insert it at "
    "the cursor, or make it a new file."
)


@frozen
class _Part:
    """A definition with the decorators and comments before it. Lines from 0, ``end`` excluded."""

    key: str
    start: int
    end: int


def fit(text: str, code: str) -> tuple[SearchReplaceBlock, ...] | str:
    """The replacements that bring ``code`` into ``text``, or why its place cannot be found."""
    lines, new = text.splitlines(keepends=True), code.splitlines(keepends=True)
    if new and not new[-1].endswith("\n"):
        new[-1] += "\n"
    here = _parts(lines)
    by_key: dict[str, list[_Part]] = {}
    for part in here:
        by_key.setdefault(part.key, []).append(part)
    found: list[tuple[_Part, list[str]]] = []
    loose: list[str] = []
    outer = _outermost(_parts(new))
    for part in outer:
        body = new[part.start : part.end]
        match = by_key.get(part.key, [])
        if len(match) == 1:
            place = match[0]
            if not _LEADING.match(body[0]):  # keep the file's decorators and comments
                place = _Part(place.key, _first(lines, place), place.end)
            found.append((place, _indented(body, lines[_first(lines, match[0])])))
        elif match:
            return f"several things are called {part.key.split()[-1]} in the file."
        else:
            loose += ["\n", *body]
    if not found:
        return NOWHERE
    blocks = []
    last = max(place.end for place, _ in found)
    for place, body in found:
        tail = loose if place.end == last else []
        old = "".join(lines[place.start : place.end])
        whole = "".join([*body, *tail])
        if not old.endswith("\n"):
            whole = whole.removesuffix("\n")
        if old != whole:
            blocks.append(SearchReplaceBlock(old, whole))
    return tuple(blocks) or "the file says the same already."


def _parts(lines: list[str]) -> list[_Part]:
    found = []
    for at, line in enumerate(lines):
        match = _DEFINES.match(line)
        if match is None:
            continue
        indent = len(match["indent"].expandtabs(4))
        end = at + 1
        while end < len(lines) and _inside(lines[end], indent):
            end += 1
        if end < len(lines) and _CLOSING.match(lines[end]) and _indent(lines[end]) == indent:
            end += 1
        while end > at + 1 and not lines[end - 1].strip():
            end -= 1
        start = at
        while (
            start > 0 and _LEADING.match(lines[start - 1]) and _indent(lines[start - 1]) == indent
        ):
            start -= 1
        found.append(_Part(f"{match['kind']} {match['name']}", start, end))
    return found


def _outermost(parts: list[_Part]) -> list[_Part]:
    kept: list[_Part] = []
    for part in parts:
        if not kept or part.start >= kept[-1].end:
            kept.append(part)
    assert all(a.end <= b.start for a, b in pairwise(kept))
    return kept


def _inside(line: str, indent: int) -> bool:
    return not line.strip() or _indent(line) > indent


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _first(lines: list[str], part: _Part) -> int:
    """The line of the definition itself, after its decorators and comments."""
    at = part.start
    while at < part.end - 1 and not _DEFINES.match(lines[at]):
        at += 1
    return at


def _indented(body: list[str], like: str) -> list[str]:
    """The code indented like what it replaces: a method is often shown without its class."""
    first = next((line for line in body if line.strip()), "")
    have, want = first[: len(first) - len(first.lstrip())], like[: len(like) - len(like.lstrip())]
    if have == want or have:
        return body
    return [want + line if line.strip() else line for line in body]
