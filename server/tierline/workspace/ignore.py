"""Ignore rules with git's own semantics: nested ``.gitignore`` files, negation, excluded parents.

This module walks the levels as git does, because a list of patterns alone cannot know that a file
in an excluded folder stays excluded, nor that deeper files win. Measured against ``git
check-ignore``: see tests/property/test_ignore_against_git.py.

The rules come from the repository and may be hostile, so a verdict takes bounded time
(``wildmatch``, ``ignorefile``), and only regular files are read.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TypeAlias

from attrs import frozen

from tierline.context.refusals import Reason, Refusal
from tierline.workspace import git
from tierline.workspace.ignorefile import MAX_BYTES, IgnoreFile, Rule, as_bytes, as_name, parse
from tierline.workspace.reading import Signature, read_file, signature
from tierline.workspace.secretfiles import reserved

IGNORE_FILES = (".gitignore", ".tierlineignore")
"""Read in each folder; later ones win over earlier ones of the same folder."""
_MAX_LINE = 100_000
_MAX_KEPT = 100_000
"""Rules, of all files together, that are kept in memory."""
_MAX_FOLDERS = 10_000
"""Folders whose verdict is cached."""
RuleLevels: TypeAlias = list[tuple[int, IgnoreFile]]
"""Files of rules with the depth of their folder."""
RuleCache: TypeAlias = dict[tuple[str, ...], RuleLevels]
"""The files of rules for what lies in the folder that was looked at last."""


class IgnoreRules:
    """The rules of one workspace folder. Files are read again when they change.

    May be called from several threads.
    """

    def __init__(self, root: str, *, user_file: str | None = None) -> None:
        """``root`` is a real path; ``user_file`` replaces git's ``core.excludesFile``."""
        self._root = root
        found = repository(root)
        self._top = found.top
        self._exclude = os.path.join(found.common, "info", "exclude") if found.git else ""
        self._index = os.path.join(found.git, "index") if found.git else ""
        self._user = user_file
        self._lock = threading.Lock()
        self._files: OrderedDict[str, tuple[Signature | None, IgnoreFile | None]] = OrderedDict()
        self.kept = 0
        """Rules in memory."""
        self._version = 0
        """Grows when a file of rules is read, which invalidates the cached verdicts."""
        self._folders: OrderedDict[str, tuple[int, Rule | None]] = OrderedDict()
        self._in_index: tuple[Signature | None, frozenset[str]] = (None, frozenset())

    def ignored(self, path: str, *, folder: bool = False, known: RuleCache | None = None) -> str:
        """The rule that excludes a real path, as ``file: pattern``; empty if none does. ``known``
        keeps the files of rules from one path to the next of the same folder.

        A path in an excluded folder is excluded, whatever later rules say; of the rules for one
        level, the last one in the deepest folder decides (gitignore(5)). ``.gitignore`` does not
        count for a file that git tracks all the same.
        """
        relative = os.path.relpath(path, self._top).replace(os.sep, "/")
        if relative == "." or relative.startswith("../"):
            return ""
        parts = as_bytes(relative).split("/")
        levels = self._levels(parts) if known is None else self._known_levels(parts, known)
        for depth in range(1, len(parts) + 1):
            if reserved(parts[depth - 1]) == "git":
                return "git: .git"
            is_folder = folder or depth < len(parts)
            rule = self._excluding(parts[:depth], is_folder, levels)
            if rule is not None:
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
        if self._in_index[0] != now:
            listed = git.read(self._top, "ls-files", "-z", "-i", "-c", "--exclude-standard")
            names = listed.decode("utf-8", "surrogateescape").split("\0")
            self._in_index = (now, frozenset(names))
        return self._in_index[1]

    def _known_levels(self, parts: list[str], known: RuleCache) -> RuleLevels:
        place = self._top, *parts[:-1]
        if place not in known:
            known.clear()
            known[place] = self._levels(parts)
        return known[place]

    def _levels(self, parts: list[str]) -> RuleLevels:
        """The ignore files for a path or a folder above it, with their depth, strongest first."""
        found: RuleLevels = []
        directory = self._top
        for above, part in enumerate(parts):
            files = (self._file(os.path.join(directory, name)) for name in IGNORE_FILES)
            found += ((above, file) for file in files if file is not None)
            directory = os.path.join(directory, as_name(part))
        found.reverse()
        users = (os.path.realpath(name) for name in (self._exclude, self._user_file()) if name)
        found += ((0, file) for name in users if (file := self._file(name)) is not None)
        return found

    def _excluding(self, parts: list[str], folder: bool, levels: RuleLevels) -> Rule | None:
        """The deciding rule for this very path, if it excludes."""
        whole = "/".join(parts)
        if folder:
            with self._lock:
                known = self._folders.get(whole)
                if known is not None and known[0] == self._version:
                    return known[1]
                version = self._version
        rule = None
        for above, file in levels:
            if above < len(parts):
                rule = file.deciding("/".join(parts[above:]) if above else whole, folder)
                if rule is not None:
                    break
        excluding = rule if rule is not None and rule.excludes else None
        if folder:
            with self._lock:
                self._folders[whole] = (version, excluding)
                if len(self._folders) > _MAX_FOLDERS:
                    self._folders.popitem(last=False)
        return excluding

    def _file(self, path: str) -> IgnoreFile | None:
        now = signature(path)
        with self._lock:
            known = self._files.get(path)
            if known is not None and known[0] == now:
                self._files.move_to_end(path)
                return known[1]
        made = self._read(path) if now is not None else None
        with self._lock:
            old = self._files.pop(path, (None, None))[1]
            self._files[path] = (now, made)
            self.kept += _weight(made) - _weight(old)
            while self.kept > _MAX_KEPT and len(self._files) > 1:
                self.kept -= _weight(self._files.popitem(last=False)[1][1])
            if known is not None or made is not None:
                self._version += 1
        return made

    def _read(self, path: str) -> IgnoreFile | None:
        shown = os.path.relpath(path, self._top).replace(os.sep, "/")
        source = path if shown.startswith("../") else shown
        read = read_file(source, path, MAX_BYTES)
        if not isinstance(read, Refusal):
            return parse(read.data.decode("latin-1"), source)
        if read.reason is not Reason.TOO_LARGE:  # git follows no link here either
            return None
        made = IgnoreFile(source)
        made.refuse(f"more than {MAX_BYTES:,} bytes")
        return made

    def _user_file(self) -> str:
        if self._user is None:
            self._user = _excludes_file(self._top) if self._index else ""
        return self._user


def _weight(file: IgnoreFile | None) -> int:
    return 1 if file is None else 1 + len(file.rules)


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
    read = read_file(path, os.path.realpath(path), _MAX_LINE)
    if isinstance(read, Refusal):
        return ""
    return os.fsdecode(read.data.partition(b"\n")[0]).strip()


def _excludes_file(top: str) -> str:
    """Git's ``core.excludesFile``. Git is asked, as its configuration may include files."""
    said = os.fsdecode(git.read(top, "config", "--type=path", "--get", "core.excludesFile"))
    if path := said.strip():
        return os.path.join(top, path)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "git", "ignore")
