"""A session that somebody had with a coding assistant, in no tool's format.

Readers of the formats make one: ``aider``, ``claude_code``, ``cline``. ``Drafting`` is what they
have in common: it keeps the files' texts while the session is read, and works out what the history
does not say, namely what a file said before the first edit and what others changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define, evolve, field, frozen

from benchmarks.recorded.closest import closest

Contents = Callable[[str, float | None, str], str | None]
"""``contents(path, when, commit)``: what a file said at a time (seconds since 1970) or in a commit,
from the session's repository; None if it is not known."""


def unknown(_path: str, _when: float | None, _commit: str) -> None:
    """Contents of nothing."""


@frozen
class Edit:
    """A change by the model. ``search`` is None where it gave the whole text."""

    path: str
    search: str | None
    replace: str


@frozen
class Look:
    """Something that the model asked for and was shown. ``path``: of a file that it read as it
    stands; empty for a command, a search, or a part.
    """

    name: str
    path: str
    text: str


@frozen
class Round:
    """One reply: what it said, looked at and changed."""

    text: str
    looks: tuple[Look, ...] = ()
    edits: tuple[Edit, ...] = ()
    thinking: str = ""


@frozen
class Turn:
    """A prompt and what came of it."""

    prompt: str
    rounds: tuple[Round, ...]
    at: float | None = None
    """Seconds since 1970; None if the history does not say."""
    adds: tuple[str, ...] = ()
    """Files that came into the chat before the prompt."""
    drops: tuple[str, ...] = ()
    changes: Mapping[str, str | None] = field(factory=dict)
    """What others made of files before the prompt; None for a file that is gone."""
    at_once: bool = False
    """Nobody typed it: the tool went on by itself, a moment after the turn before."""


@frozen
class Recording:
    """One session. ``person`` tells its author from others; it is a name or a repository."""

    name: str
    person: str
    format: str
    turns: tuple[Turn, ...]
    files: Mapping[str, str] = field(factory=dict)
    """Texts at its beginning, of the files that it talks about."""


@define
class Drafting:
    """Collects turns and keeps the files' texts."""

    name: str
    person: str
    format: str
    contents: Contents = unknown
    began: float | None = None
    files: dict[str, str] = field(factory=dict)
    now: dict[str, str] = field(factory=dict)
    turns: list[Turn] = field(factory=list)
    _made: set[str] = field(factory=set)
    """Files whose first text is only known from what edits looked for."""
    _edited: set[str] = field(factory=set)
    """Files that were edited in this turn."""

    def know(self, path: str, commit: str = "") -> str | None:
        """The text of a file as it is now, looked up if it was not met before."""
        if path not in self.now:
            text = self.contents(path, self.began, commit)
            if text is None:
                return None
            self.files[path] = self.now[path] = text
        return self.now[path]

    def first(self, path: str, text: str) -> None:
        """The history shows the whole text of a file that was not met before."""
        if path not in self.now:
            self.files[path] = self.now[path] = text

    def changed(self, changes: dict[str, str | None], path: str, text: str) -> None:
        """The history shows that a file says something else than it did: others changed it."""
        if path not in self.now:
            self.first(path, text)
        elif self.now[path].rstrip("\n") != text.rstrip("\n"):  # listings always end in one
            self._others(changes, path, text)

    def _others(self, changes: dict[str, str | None], path: str, text: str) -> None:
        """From here on a file's text is not what the beginning and the edits make of it, so what is
        missing in it can no longer be put at the beginning.
        """
        changes[path] = self.now[path] = text
        self._made.discard(path)

    def apply(self, edit: Edit, changes: dict[str, str | None]) -> Edit | None:
        """Take an edit down. Where what it looks for is not there, others had changed the file: so
        it is put there, in ``changes``. Returns the edit as it can be made; None if it cannot,
        because what it looks for is not there after an earlier edit of the same turn, or if it
        changes nothing or leaves nothing.
        """
        path = edit.path
        old = self.know(path)
        whole = edit.search is None
        if edit.replace == (old if whole else edit.search) or (whole and not edit.replace.strip()):
            return None
        if edit.search is None or (old is None and not edit.search.strip()):
            self.now[path] = edit.replace
            self._edited.add(path)
            return evolve(edit, search=None)
        if old is None:
            old = edit.search
            self._made.add(path)
            self.files[path] = old
        if not edit.search:
            edit = evolve(edit, search=old, replace=old + edit.replace)
        search = edit.search or ""
        if search not in old:
            if path in self._made:
                self.files[path] = _joined(self.files[path], search)
                old = _joined(old, search)
            elif path in self._edited:
                return None
            else:
                start, end = closest(old, search)
                old = old[:start] + search + old[end:]
                self._others(changes, path, old)
        self.now[path] = old.replace(search, edit.replace, 1)
        self._edited.add(path)
        return edit

    def done(self, turn: Turn) -> None:
        """A turn is complete."""
        self.turns.append(turn)
        self._edited.clear()

    def recording(self) -> Recording:
        """What was read."""
        return Recording(self.name, self.person, self.format, tuple(self.turns), dict(self.files))


def _joined(text: str, more: str) -> str:
    return text + ("" if text.endswith("\n") or not text else "\n") + more
