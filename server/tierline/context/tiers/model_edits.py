"""The model's own edits, which need no update: the call's result tells of them.

A result that names the versions before and after changes the file from one to the other, at its
place in the conversation. So base, updates and results in their order give every current text. If
the file has another version at that place, the result changes nothing: it came before the file was
in the request, or a rewrite has put the text after it into the base.

A file that the model created stands whole in its call. It is no part of the context by that: if it
becomes one, an update says which version it has, and has no text if the model made that one.

All of it is read from what is sent, as by the model. What happened to an edit later does not
matter: undoing it is a change of the file like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field, frozen

from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.fences import render_file
from tierline.context.items import Item
from tierline.context.tiers.logstate import LogEntry
from tierline.context.tiers.updates import content_of, version

TOOL = "propose_edit"
UNSAVED = " It is not saved yet, so commands still see the file as it was."
_TOLD = re.compile(r"Applied as proposed \(([0-9a-f]{8}) to ([0-9a-f]{8})\): (.*)\.", re.DOTALL)
_CREATED = re.compile(r"Created as proposed \(([0-9a-f]{8})\): (.*)\.", re.DOTALL)
_NAMED = "="
"""Prefix of a version's name where its hash is unknown, because its text is not at hand."""


def told(path: str, versions: tuple[str, str]) -> str:
    """The text of the result of an edit that was applied as proposed. ``versions`` are the names of
    the file's versions before and after (``updates.version``); the first is empty for a new file.
    """
    if not versions[0]:
        return f"Created as proposed ({versions[1]}): {path}."
    return f"Applied as proposed ({versions[0]} to {versions[1]}): {path}."


@frozen
class ReportedEdit:
    """An edit, as named in its result. ``before`` is empty if it created the file."""

    path: str
    before: str
    after: str

    @property
    def key(self) -> str:
        """Key of the file's item."""
        return f"file:{self.path}"


def told_in(item: Item) -> tuple[ReportedEdit, ...]:
    """The edits in the results of a conversation's item."""
    found: tuple[ReportedEdit, ...] | None = item.memo.get("told")
    if found is None:
        blocks = [b.block for m in item.messages for b in m.blocks]
        calls = {b.id: b for b in blocks if isinstance(b, ToolUse) and b.name == TOOL}
        results = (b for b in blocks if isinstance(b, ToolResult) and b.tool_use_id in calls)
        found = tuple(one for b in results for one in _told(b, calls[b.tool_use_id]))
        item.memo["told"] = found
    return found


def _told(result: ToolResult, call: ToolUse) -> Iterable[ReportedEdit]:
    said = result.content[0] if result.content else None
    text = said.text.removesuffix(UNSAVED) if isinstance(said, Text) else ""
    if m := _TOLD.fullmatch(text):
        yield ReportedEdit(m[3], m[1], m[2])
    elif (m := _CREATED.fullmatch(text)) and version(str(call.input.get("content", ""))) == m[1]:
        yield ReportedEdit(m[2], "", m[1])


def among(items: Sequence[Item]) -> list[tuple[int, Item]]:
    """The items with such results, with their indexes."""
    return [(n, item) for n, item in enumerate(items) if item.messages and told_in(item)]


@define
class VersionIndex:
    """Known texts, by their items' hashes, and the names of their versions."""

    texts: Mapping[str, str]
    _names: dict[str, str] = field(factory=dict)

    def name(self, path: str, sha: str) -> str:
        """The name of a version of a file; empty if its text is not the file's exact text."""
        if sha.startswith(_NAMED):
            return sha.removeprefix(_NAMED)
        if sha not in self._names:
            content = content_of("", path, self.texts.get(sha, ""))
            self._names[sha] = content.version if content.plain else ""
        return self._names[sha]

    def sha(self, path: str, name: str) -> str:
        """The hash of the version of a file with this name."""
        head = render_file(path, "").split("\n")[0] + "\n"
        for sha, text in self.texts.items():
            if text.startswith(head) and self.name(path, sha) == name:
                return sha
        return _NAMED + name


@define
class KnownVersions:
    """The versions that the model knows at a place of the conversation: item hash by key."""

    versions: VersionIndex
    now: dict[str, str] = field(factory=dict)
    whole: dict[str, str] = field(factory=dict)
    """The newest versions that a difference can start from, without those never sent."""

    told: set[str] = field(factory=set)
    """Keys whose version comes from a result."""

    made: dict[str, str] = field(factory=dict)
    """By key of a file that the model created: the name of the version that it and the model's
    edits after that give, in the context or not.
    """

    def wrote(self, doc: Item) -> bool:
        """True if the document is what the model itself made of a file that it created."""
        name = self.made.get(doc.key)
        return name is not None and name == self.versions.name(doc.path, doc.sha256)

    def take(self, key: str, sha: str) -> None:
        """Set the version from here on; an empty hash: the document was removed."""
        self.told.discard(key)
        if not sha:
            self.now.pop(key, None)
            self.whole.pop(key, None)
            return
        self.now[key] = sha
        if sha in self.versions.texts:
            self.whole[key] = sha

    def follow(self, items: Iterable[tuple[int, Item]]) -> None:
        """Advance to the place after these items."""
        for _, item in items:
            for edit in told_in(item):
                if not edit.before or self.made.get(edit.key) == edit.before:
                    self.made[edit.key] = edit.after
                sha = self.now.get(edit.key) if edit.before else None
                if sha and self.versions.name(edit.path, sha) == edit.before:
                    self.take(edit.key, self.versions.sha(edit.path, edit.after))
                    self.told.add(edit.key)

    def read(
        self, updates: Iterable[tuple[int, LogEntry]], items: Iterable[tuple[int, Item]]
    ) -> None:
        """Advance to the end of the log: ``updates`` and ``items`` with their indexes there."""
        waiting = list(items)
        for number, (place, entry) in enumerate(updates):
            before = [one for one in waiting if one[0] < place - number]
            self.follow(before)
            waiting = waiting[len(before) :]
            self.take(entry.key, entry.sha)
        self.follow(waiting)
