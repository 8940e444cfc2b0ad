"""Ignore rules with git's own semantics: nested ``.gitignore`` files, negation, excluded parents.

pathspec translates each pattern; this module walks the levels as git does, because a list of
patterns alone cannot know that a file in an excluded folder stays excluded, nor that deeper files
win. Measured against ``git check-ignore``: see tests/property/test_ignore_against_git.py.
"""

from __future__ import annotations

import os
import subprocess
import sys

from attrs import frozen
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from tierline.workspace.reading import Signature, signature

IGNORE_FILES = (".gitignore", ".tierlineignore")
"""Read in each folder; later ones win over earlier ones of the same folder."""
_MOST_BYTES = 1_000_000
_ANY_CASE = sys.platform in ("win32", "darwin")


@frozen
class Rule:
    """One line of an ignore file."""

    line: str
    source: str
    pattern: GitIgnoreSpecPattern
    inner: bool
    """True for ``x/**``, which matches what is in a folder but not the folder."""

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
        self._top, git = _repository(root)
        self._exclude = os.path.join(git, "info", "exclude") if git else ""
        self._user = user_file
        self._git = bool(git)
        self._cache: dict[str, tuple[Signature | None, list[Rule]]] = {}

    def ignored(self, path: str, *, folder: bool = False) -> str:
        """The rule that excludes a real path, as ``file: pattern``; empty if none does.

        A path in an excluded folder is excluded, whatever later rules say; of the rules for one
        level, the last one in the deepest folder decides (gitignore(5)).
        """
        relative = os.path.relpath(path, self._top).replace(os.sep, "/")
        if relative == "." or relative.startswith("../"):
            return ""
        parts = relative.split("/")
        for depth in range(1, len(parts) + 1):
            is_folder = folder or depth < len(parts)
            if parts[depth - 1] == ".git":
                return "git: .git"
            rule = self._deciding(parts[:depth], is_folder)
            if rule is not None and rule.pattern.include:
                return f"{rule.source}: {rule.line}"
        return ""

    def _deciding(self, parts: list[str], folder: bool) -> Rule | None:
        for above in range(len(parts) - 1, -1, -1):
            directory = os.path.join(self._top, *parts[:above])
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
                    text = file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
            except OSError:
                text = ""
            shown = os.path.relpath(path, self._top).replace(os.sep, "/")
            source = path if shown.startswith("../") else shown
            rules = parse(text, source)
        self._cache[path] = (now, rules)
        return rules

    def _user_file(self) -> str:
        if self._user is None:
            self._user = _excludes_file(self._top) if self._git else ""
        return self._user


def parse(text: str, source: str = ".gitignore") -> list[Rule]:
    """The rules of an ignore file's text; comments, blanks and invalid lines give none."""
    rules = []
    for raw in text.removeprefix("\ufeff").split("\n"):
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
            import re

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
    bare = line.rstrip()
    if bare.endswith("\\"):
        return line
    return bare + "".join(f"[{blank}]" for blank in line[len(bare) :])


def _repository(root: str) -> tuple[str, str]:
    """The top of the git work tree that holds ``root``, and its common git folder.

    Without a repository: ``root`` itself and an empty string.
    """
    folder = root
    while True:
        marker = os.path.join(folder, ".git")
        if os.path.isdir(marker):
            return folder, marker
        if os.path.isfile(marker):  # a linked work tree or a submodule
            return folder, _common_folder(folder, marker)
        above = os.path.dirname(folder)
        if above == folder:
            return root, ""
        folder = above


def _common_folder(folder: str, marker: str) -> str:
    try:
        with open(marker, encoding="utf-8") as file:
            git = os.path.join(folder, file.read(4096).removeprefix("gitdir:").strip())
        common = os.path.join(git, "commondir")
        if os.path.isfile(common):
            with open(common, encoding="utf-8") as file:
                git = os.path.join(git, file.read(4096).strip())
    except (OSError, UnicodeDecodeError):
        return marker
    return os.path.normpath(git)


def _excludes_file(top: str) -> str:
    """Git's ``core.excludesFile``, asked of git itself, as its configuration may include files."""
    try:
        answer = subprocess.run(  # noqa: S603
            ["git", "-C", top, "config", "--type=path", "--get", "core.excludesFile"],  # noqa: S607
            capture_output=True,
            timeout=5,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if path := answer.stdout.decode("utf-8", "surrogateescape").strip():
            return os.path.join(top, path)
    except (OSError, subprocess.SubprocessError):
        pass
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "git", "ignore")
