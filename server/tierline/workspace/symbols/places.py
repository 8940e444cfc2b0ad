"""The files of a workspace that belong in its index: their paths and their keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from time import monotonic

from attrs import frozen

from tierline.workspace.folders import walk
from tierline.workspace.ignore import IgnoreRules
from tierline.workspace.secretfiles import secret_kind
from tierline.workspace.symbols.languages import is_text, syntax_of

MAX_FILES = 200_000
_WALK_SECONDS = 300.0
"""Longest walk through the folders."""


@frozen
class Folder:
    """A workspace folder: the prefix of its keys (empty or with a slash), and real path."""

    prefix: str
    real: str


class Places:
    """Files of some folders, by key and path. ``skip`` is called for those left out."""

    def __init__(
        self, folders: list[Folder], git_excludes: str | None, skip: Callable[[str], None]
    ) -> None:
        self.folders = folders
        self._skip = skip
        self._rules = {
            folder.real: IgnoreRules(folder.real, user_file=git_excludes) for folder in folders
        }

    def found(self) -> Iterator[tuple[str, str]]:
        """All files that belong in the index: key and path."""
        count = 0
        for folder in self.folders:
            for path in self._walk(folder):
                yield self.key(path), path
                count += 1
                if count >= MAX_FILES:
                    self._skip("too many files")
                    return

    def absolute(self, key: str) -> str:
        """The path that a key means."""
        for folder in self.folders:
            if key.startswith(folder.prefix):
                return os.path.join(folder.real, *key[len(folder.prefix) :].split("/"))
        return key

    def _walk(self, folder: Folder) -> Iterator[str]:
        rules = self._rules[folder.real]

        def ignored(path: str) -> bool:
            inner = any(other.real == path for other in self.folders if other is not folder)
            return inner or path.endswith("/.tierline") or bool(rules.ignored(path, folder=True))

        until = monotonic() + _WALK_SECONDS
        try:
            for path in walk(
                folder.real, ignored, lambda _refusal: self._skip("unreadable"), until=until
            ):
                if self.wanted(path, ignored=False) and not rules.ignored(path):
                    yield path
        except TimeoutError:
            self._skip("folders that took too long")

    def wanted(self, path: str, *, ignored: bool = True) -> bool:
        """Whether a file belongs in the index; ``ignored``: check the ignore rules, too."""
        if syntax_of(path) is None and not is_text(path):
            return False
        if secret_kind(path):
            self._skip("secret")
            return False
        folder = self._folder_of(path)
        if folder is None or os.path.islink(path):
            return False
        return not (ignored and self._rules[folder.real].ignored(path))

    def _folder_of(self, path: str) -> Folder | None:
        found = [f for f in self.folders if path.startswith(f.real.rstrip(os.sep) + os.sep)]
        return max(found, key=lambda f: len(f.real), default=None)

    def key(self, path: str) -> str:
        """A file's key in the index; empty if it is in none of the folders."""
        folder = self._folder_of(path)
        if folder is None:
            return ""
        return folder.prefix + os.path.relpath(path, folder.real).replace(os.sep, "/")
