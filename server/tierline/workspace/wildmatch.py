"""Git's wildcard patterns as regular expressions that match in linear time.

A pattern comes from a repository, so it may be written to be slow. A star is matched as the
two-pointer algorithm does it: each fixed piece is matched at its first place, without backtracking
(an atomic group). That is exact, because the pieces between stars have a fixed length, and ``**``
stands between whole path segments. The meaning is that of git's ``wildmatch.c``; texts hold one
character per byte.
"""

from __future__ import annotations

import re
import string
from typing import Final

from attrs import frozen

MAX_MATCH_LENGTH = 4096
"""If a pattern needs more characters than this to match, no path is long enough."""
_ANY: Final = "[^/]"
_STAR, _FOLDERS, _REST = "*", "**/", "**"
_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\r\f\v",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


@frozen
class _Token:
    """A star of one of three kinds, or a regular expression for one character."""

    kind: str
    one: str = ""


def compile_pattern(pattern: str, *, paths: bool, any_case: bool = False) -> re.Pattern[str] | None:
    """The pattern for ``fullmatch``; None if it can match nothing.

    ``paths``: ``*`` stops at a slash and ``**`` is special (git's WM_PATHNAME).
    """
    tokens = _tokens(pattern, paths)
    if tokens is None or sum(token.kind == "" for token in tokens) > MAX_MATCH_LENGTH:
        return None
    flags = re.DOTALL | re.ASCII | (re.IGNORECASE if any_case else 0)
    return re.compile(_expression(tokens), flags)


def _tokens(pattern: str, paths: bool) -> list[_Token] | None:
    tokens: list[_Token] = []
    place, end = 0, len(pattern)
    while place < end:
        sign = pattern[place]
        if sign == "*":
            place = _stars(pattern, place, paths, tokens)
        elif sign == "[":
            found = _class(pattern, place)
            if found is None:
                return None
            one, place = found
            tokens.append(_Token("", one))
        elif sign == "?":
            tokens.append(_Token("", _ANY))
            place += 1
        else:
            if sign == "\\":
                place += 1
                if place == end:
                    return None
                sign = pattern[place]
            tokens.append(_Token("", re.escape(sign)))
            place += 1
    return tokens


def _stars(pattern: str, place: int, paths: bool, tokens: list[_Token]) -> int:
    """Add the token for a run of stars. Returns the place after it."""
    start = place
    while pattern[place : place + 1] == "*":
        place += 1
    begins = start == 0 or pattern[start - 1] == "/"
    if not (paths and place - start > 1 and begins):
        tokens.append(_Token(_STAR))
    elif place == len(pattern):
        tokens.append(_Token(_REST))
    elif pattern[place] == "/":
        if not (tokens and tokens[-1].kind == _FOLDERS):
            tokens.append(_Token(_FOLDERS))
        place += 1
    elif pattern[place : place + 2] == "\\/":  # at least one folder
        tokens += (_Token(_STAR), _Token("", "/"), _Token(_FOLDERS))
        place += 2
    else:
        tokens.append(_Token(_STAR))
    return place


def _class(pattern: str, place: int) -> tuple[str, int] | None:
    """A bracket expression and the place after it; None if it is malformed."""
    place += 1
    negated = pattern.startswith(("!", "^"), place)
    place += negated
    members: set[str] = set()
    previous = ""
    while True:
        found = _member(pattern, place, previous)
        if found is None:
            return None
        more, previous, place = found
        members |= more
        if pattern.startswith("]", place):
            break
    if negated:
        members = set(map(chr, range(256))) - members
    members.discard("/")
    listed = "".join(map(re.escape, sorted(members)))
    return (f"[{listed}]" if listed else "(?!)[^/]"), place + 1


def _member(pattern: str, place: int, previous: str) -> tuple[set[str], str, int] | None:
    """The regular expression for the next part of a bracket expression, the character that a range
    may begin with, and the place after the part.
    """
    if pattern.startswith("[:", place) and (close := pattern.find("]", place + 2)) != place + 2:
        if close < 0:
            return None
        if pattern[close - 1] == ":":
            named = _CLASSES.get(pattern[place + 2 : close - 1])
            return None if named is None else (set(named), "", close + 1)
    if (
        pattern.startswith("-", place)
        and previous
        and not pattern.startswith("]", place + 1)
        and place + 1 < len(pattern)
    ):
        last, behind = _escaped(pattern, place + 1)
        return (set(map(chr, range(ord(previous), ord(last) + 1))), "", behind) if last else None
    sign, behind = _escaped(pattern, place)
    return ({sign}, sign, behind) if sign else None


def _escaped(pattern: str, place: int) -> tuple[str, int]:
    """The character at a place, after a backslash if there is one, and the next place; "" at the
    end.
    """
    place += pattern.startswith("\\", place)
    return pattern[place : place + 1], place + 1


def _expression(tokens: list[_Token]) -> str:
    """Groups of segments between ``**``; each but the last is taken at its first place."""
    groups: list[list[_Token]] = [[]]
    for token in tokens:
        if token.kind == _FOLDERS:
            groups.append([])
        else:
            groups[-1].append(token)
    first, *others = map(_segments, groups)
    if not others:
        return first
    middle = "".join(f"(?>(?:[^/]*+/)*?{group})" for group in others[:-1])
    return f"{first}{middle}(?:[^/]*+/)*?{others[-1]}"


def _segments(tokens: list[_Token]) -> str:
    parts: list[str] = []
    segment: list[_Token] = []
    for token in tokens:
        if token.one == "/" or token.kind == _REST:
            parts += (_segment(segment), "/" if token.one else ".*+")
            segment = []
        else:
            segment.append(token)
    return "".join((*parts, _segment(segment)))


def _segment(tokens: list[_Token]) -> str:
    pieces: list[list[str]] = [[]]
    for token in tokens:
        if token.kind:
            pieces.append([])
        else:
            pieces[-1].append(token.one)
    first, *others = pieces
    text = "".join(first)
    if not others:
        return text
    text += "".join(f"(?>[^/]*?{''.join(piece)})" for piece in others[:-1] if piece)
    last = others[-1]
    if not last:
        return text + "[^/]*+"
    return f"{text}(?=[^/]{{{len(last)}}})[^/]*+(?<={''.join(last)})"
