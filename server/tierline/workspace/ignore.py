"""Ignore rules with git's own semantics: nested ``.gitignore`` files, negation, excluded parents.

pathspec translates each pattern; this module walks the levels as git does, because a list of
patterns alone cannot know that a file in an excluded folder stays excluded, nor that deeper files
win. Measured against ``git check-ignore``: see tests/property/test_ignore_against_git.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from attrs import frozen
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from tierline.workspace.reading import Signature, signature
from tierline.workspace.reserved import reserved

IGNORE_FILES = (".gitignore", ".tierlineignore")
"""Read in each folder; later ones win over earlier ones of the same folder."""
_MOST_BYTES = 1_000_000
_MARK = "\xef\xbb\xbf"
_CLASS = re.compile(r"\[:([a-z]+):\]")
_CLASSES = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "A-Za-z0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "xdigit": "A-Fa-f0-9",
    "space": " \t\n\r\f\v",
    "blank": " \t",
}
"""Character classes that git knows and pathspec does not."""
_ANY_CASE = sys.platform in ("win32", "darwin")


@frozen
class Rule:
    """One line of an ignore file."""

    line: str
    source: str
    pattern: GitIgnoreSpecPattern
    inner: bool
    """True for ``x/**``, which matches what is in a folder but not the folder."""

    @property
    def shown(self) -> str:
        """The line as a person reads it."""
        return as_name(self.line)

    def matches(self, path: str, folder: bool) -> bool:
        """True if the rule names this very path (not merely a folder above it)."""
        found = self.pattern.match_file(path + "/" if folder else path)
        if found is None:
            return False
        end = found.match.end()
        length = len(path) + folder
        if found.match.re.pattern == ".":  # *, ** and /**
            return True
        return bool(end < length if self.inner else end == length)


class IgnoreRules:
    """The rules of one workspace folder. Files are re-read when they change, else served cached."""

    def __init__(self, root: str, *, user_file: str | None = None) -> None:
        """``root`` is a real path; ``user_file`` replaces git's ``core.excludesFile``."""
        self._root = root
        found = repository(root)
        self._top = found.top
        self._exclude = os.path.join(found.common, "info", "exclude") if found.git else ""
        self._index = os.path.join(found.git, "index") if found.git else ""
        self._user = user_file
        self._cache: dict[str, tuple[Signature | None, list[Rule]]] = {}
        self._kept: tuple[Signature | None, frozenset[str]] = (None, frozenset())

    def ignored(self, path: str, *, folder: bool = False) -> str:
        """The rule that excludes a real path, as ``file: pattern``; empty if none does.

        A path in an excluded folder is excluded, whatever later rules say; of the rules for one
        level, the last one in the deepest folder decides (gitignore(5)). Git's own rules do not
        count for a file that is committed all the same.
        """
        relative = os.path.relpath(path, self._top).replace(os.sep, "/")
        if relative == "." or relative.startswith("../"):
            return ""
        parts = as_bytes(relative).split("/")
        for depth in range(1, len(parts) + 1):
            is_folder = folder or depth < len(parts)
            if reserved(parts[depth - 1]) == "git":
                return "git: .git"
            rule = self._deciding(parts[:depth], is_folder)
            if rule is not None and rule.pattern.include:
                ours = rule.source.endswith(IGNORE_FILES[1])
                if not ours and not folder and relative in self._tracked():
                    return ""
                return f"{rule.source}: {rule.shown}"
        return ""

    def _tracked(self) -> frozenset[str]:
        """Paths in git's index that a rule excludes all the same; asked of git once per index."""
        now = signature(self._index) if self._index else None
        if now is None:
            return frozenset()
        if self._kept[0] != now:
            listed = _git(self._top, "ls-files", "-z", "-i", "-c", "--exclude-standard")
            self._kept = (now, frozenset(listed.split("\0")))
        return self._kept[1]

    def _deciding(self, parts: list[str], folder: bool) -> Rule | None:
        for above in range(len(parts) - 1, -1, -1):
            directory = os.path.join(self._top, *map(as_name, parts[:above]))
            path = "/".join(parts[above:])
            for name in reversed(IGNORE_FILES):
                for rule in reversed(self._rules(os.path.join(directory, name))):
                    if rule.matches(path, folder):
                        return rule
        path = "/".join(parts)
        for name in (self._exclude, self._user_file()):
            for rule in reversed(self._rules(name) if name else ()):
                if rule.matches(path, folder):
                    return rule
        return None

    def _rules(self, path: str) -> list[Rule]:
        now = signature(path)
        known = self._cache.get(path)
        if known is not None and known[0] == now:
            return known[1]
        rules: list[Rule] = []
        if now is not None:
            try:
                with open(path, "rb") as file:
                    text = file.read(_MOST_BYTES).decode("latin-1")
            except OSError:
                text = ""
            shown = os.path.relpath(path, self._top).replace(os.sep, "/")
            source = path if shown.startswith("../") else shown
            rules = parse(text, source)
        self._cache[path] = (now, rules)
        return rules

    def _user_file(self) -> str:
        if self._user is None:
            self._user = _excludes_file(self._top) if self._index else ""
        return self._user


def as_bytes(name: str) -> str:
    """A file name with one character per byte of it."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def as_name(text: str) -> str:
    """The file name of such a text."""
    return text if text.isascii() else os.fsdecode(text.encode("latin-1"))


def parse(text: str, source: str = ".gitignore") -> list[Rule]:
    """The rules of an ignore file; comments, blanks and invalid lines give none.

    ``text`` holds one character per byte, as git matches bytes: ``?`` is not ``ü``.
    """
    rules: list[Rule] = []
    for raw in text.removeprefix(_MARK).split("\n"):
        line = _without_trailing_blanks(raw.removesuffix("\r"))
        if not line or line.startswith("#"):
            continue
        try:
            pattern = GitIgnoreSpecPattern(_for_pathspec(line))
        except ValueError:
            continue
        if pattern.include is None or pattern.regex is None:
            continue
        if _ANY_CASE:
            pattern.regex = re.compile(pattern.regex.pattern, re.IGNORECASE)
        core = line.removeprefix("!").rstrip("/")
        rules.append(Rule(line, source, pattern, core.endswith("/**") and core != "/**"))
    return rules


def _without_trailing_blanks(line: str) -> str:
    """Git drops unescaped trailing blanks (not tabs)."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(line) else bare


def _for_pathspec(line: str) -> str:
    """Pathspec also strips trailing tabs and the like, which git takes literally."""
    line = (
        _CLASS.sub(lambda match: _CLASSES.get(match[1], match[0]), line) if "[:" in line else line
    )
    bare = line.rstrip()
    if bare.endswith("\\"):
        return line
    return bare + "".join(f"[{blank}]" for blank in line[len(bare) :])


@frozen
class Repository:
    """Where a folder's git repository lies; ``git`` is empty if it is in none."""

    top: str
    git: str = ""
    common: str = ""
    """The repository's own folder, which linked work trees share."""


def repository(root: str) -> Repository:
    """The repository that a folder is in; its git folder is empty if it is in none."""
    folder = root
    while True:
        marker = os.path.join(folder, ".git")
        if os.path.isdir(marker):
            return Repository(folder, marker, marker)
        if os.path.isfile(marker):  # a linked work tree or a submodule
            return _linked(folder, marker)
        above = os.path.dirname(folder)
        if above == folder:
            return Repository(root)
        folder = above


def _linked(folder: str, marker: str) -> Repository:
    git = os.path.normpath(
        os.path.join(folder, _first_line(marker).removeprefix("gitdir:").strip())
    )
    common = _first_line(os.path.join(git, "commondir"))
    return Repository(folder, git, os.path.normpath(os.path.join(git, common)))


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(_MOST_BYTES).strip()
    except OSError:
        return ""


def _git(top: str, *arguments: str) -> str:
    """Standard output of a git command that changes nothing and runs no hook; empty on failure."""
    try:
        answer = subprocess.run(  # noqa: S603
            ["git", "-C", top, "-c", "core.fsmonitor=false", *arguments],  # noqa: S607
            capture_output=True,
            timeout=10,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.decode("utf-8", "surrogateescape")


def _excludes_file(top: str) -> str:
    """Git's ``core.excludesFile``, asked of git itself, as its configuration may include files."""
    if path := _git(top, "config", "--type=path", "--get", "core.excludesFile").strip():
        return os.path.join(top, path)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "git", "ignore")
