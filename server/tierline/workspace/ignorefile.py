"""One ignore file: its lines as rules, and the rule that decides about a path.

Lines without wildcards and lines such as ``*.pyc``, which are nearly all of them, are found by a
look-up, however many there are. The others are tried one by one, so their number is limited.
"""

from __future__ import annotations

import os
import re
import sys

from attrs import define, field, frozen

from tierline.workspace.wildmatch import compile_pattern

MAX_BYTES = 1_000_000
MAX_LINES = 50_000
MAX_PATTERNS = 2_000
MAX_PATTERN_CHARACTERS = 100_000
"""Limits of one file: size, lines, and number and text of the patterns to be matched."""
_MARK = "\xef\xbb\xbf"
_SPECIAL = re.compile(r"[*?\[\\]")
_ANY_CASE = sys.platform in ("win32", "darwin")


@frozen
class Rule:
    """One line of an ignore file."""

    line: str
    source: str
    excludes: bool = True
    """False for ``!…``."""

    @property
    def shown(self) -> str:
        """The line as text."""
        return as_name(self.line)


@define
class _Last:
    """The last line with a certain name: of all lines, and of those not for folders only."""

    all: int = -1
    plain: int = -1

    def add(self, index: int, folders: bool) -> None:
        self.all = index
        if not folders:
            self.plain = index

    def index(self, folder: bool) -> int:
        return self.all if folder else self.plain


@define
class _Pattern:
    """A line that must be matched as a pattern; compiled on first use."""

    index: int
    prefix: str
    """A literal prefix of the path; the pattern is matched against the rest (as in git)."""
    rest: str
    named: bool
    """True if the pattern is matched against the last component."""
    folders: bool
    _compiled: re.Pattern[str] | None = None
    _tried: bool = False

    def matches(self, path: str, name: str) -> bool:
        text = name if self.named else path
        if not text.startswith(self.prefix):
            return False
        if not self._tried:
            self._tried = True
            self._compiled = compile_pattern(self.rest, paths=not self.named, any_case=_ANY_CASE)
        return self._compiled is not None and (
            self._compiled.fullmatch(text, len(self.prefix)) is not None
        )


@define
class IgnoreFile:
    """The rules of one file, in order. A file beyond the limits excludes everything in its folder:
    a part of its rules could show what the others hide.
    """

    source: str
    rules: list[Rule] = field(factory=list)
    _names: dict[str, _Last] = field(factory=dict)
    _paths: dict[str, _Last] = field(factory=dict)
    _ends: dict[int, dict[str, _Last]] = field(factory=dict)
    """``*end``, by the length of the end."""
    _patterns: list[_Pattern] = field(factory=list)
    _room: int = MAX_PATTERN_CHARACTERS
    _refused: Rule | None = None

    def deciding(self, path: str, folder: bool) -> Rule | None:
        """The last rule that names this very path (not merely a folder above it). ``path`` is
        relative to the file's folder, one character per byte.
        """
        if self._refused is not None:
            return self._refused
        path = _folded(path)
        name = path[path.rfind("/") + 1 :]
        found = [self._names.get(name), self._paths.get(path)]
        found += (
            ends.get(name[len(name) - length :])
            for length, ends in self._ends.items()
            if length <= len(name)
        )
        best = max((last.index(folder) for last in found if last is not None), default=-1)
        for pattern in reversed(self._patterns):
            if pattern.index < best:
                break
            if (folder or not pattern.folders) and pattern.matches(path, name):
                best = pattern.index
                break
        return self.rules[best] if best >= 0 else None

    def add(self, line: str) -> None:
        """One line that is neither blank nor a comment."""
        body = line.removeprefix("!")
        folders = body.endswith("/")
        body = body.removesuffix("/")
        named = "/" not in body
        body = _folded(body.removeprefix("/"))
        if not body or self._refused is not None:
            return
        index = len(self.rules)
        self.rules.append(Rule(line, self.source, excludes=not line.startswith("!")))
        special = _SPECIAL.search(body)
        if special is None:
            known = self._names if named else self._paths
            known.setdefault(body, _Last()).add(index, folders)
        elif named and body[0] == "*" and not _SPECIAL.search(body, 1):
            ends = self._ends.setdefault(len(body) - 1, {})
            ends.setdefault(body[1:], _Last()).add(index, folders)
        else:
            start = 0 if named else special.start()
            self._patterns.append(_Pattern(index, body[:start], body[start:], named, folders))
            self._room -= len(body)
        if len(self._patterns) > MAX_PATTERNS or self._room < 0 or index >= MAX_LINES:
            self.refuse("more patterns than can be tried in time")

    def refuse(self, why: str) -> None:
        """Drop the file's rules and exclude everything in its folder."""
        self._refused = Rule(f"the file has {why}", self.source)


def parse(text: str, source: str = ".gitignore") -> IgnoreFile:
    """The rules of an ignore file; comments, blanks and invalid lines give none.

    ``text`` holds one character per byte, as git matches bytes: ``?`` is not ``ü``.
    """
    made = IgnoreFile(source)
    for raw in text.removeprefix(_MARK).split("\n"):
        line = _without_trailing_blanks(raw.removesuffix("\r"))
        if line and not line.startswith("#"):
            made.add(line)
    return made


def as_bytes(name: str) -> str:
    """A file name as text with one character per byte."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def as_name(text: str) -> str:
    """The inverse of ``as_bytes``."""
    return text if text.isascii() else os.fsdecode(text.encode("latin-1"))


def _folded(text: str) -> str:
    """Lower case on systems whose file names ignore case; letters beyond ASCII stay, as in git."""
    return text.encode("latin-1").lower().decode("latin-1") if _ANY_CASE else text


def _without_trailing_blanks(line: str) -> str:
    """Git drops unescaped trailing blanks (not tabs)."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(line) else bare
