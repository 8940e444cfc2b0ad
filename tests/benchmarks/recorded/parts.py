"""A request's body in parts: files as they stand in it, what is said of changes, and the rest.

Reads the body as the model has to, without the engine's code (``bodyreader``), so that a mistake
there does not flatter what is measured.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from attrs import define, frozen

from benchmarks.cache_simulator import weigh
from support.bodyreader import Reader, UnreadableError, said


def tokens(text: str) -> float:
    """The simulator's tokens: bytes by four."""
    return len(text.encode("utf-8", "replace")) / 4


@frozen
class Version:
    """A text of a file, or a difference to it, that stands in a body."""

    path: str
    kind: str
    """``text`` or ``update``."""
    shown: str


@dataclass
class _Reader(Reader):
    """Takes down where files and updates stand. Only of the files that are in the chat: a prompt
    may well look like one.
    """

    known: frozenset[str] = frozenset()
    versions: list[Version] = field(default_factory=list)
    rests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """What is said of texts that are no files (the map of the repository)."""

    def _remember(self, text: str) -> None:
        super()._remember(text)
        if text.strip():
            self.rests.append(text)

    def _file(self, text: str, place: int) -> int:
        end = text.find("\n", place)
        head = text[place : end if end >= 0 else len(text)].split(" [", maxsplit=1)[0]
        with contextlib.suppress(ValueError):
            head = json.loads(head) if head.startswith('"') else head
        if head not in self.known or head in self.files:
            return 0
        found = super()._file(text, place)
        if found:
            self.versions.append(Version(head, "text", text[place:found]))
        return found

    def _update(self, text: str, place: int) -> int:
        before = dict(self.files)
        try:
            found = super()._update(text, place)
        except UnreadableError as error:
            self.faults.append(str(error))
            return 0
        if found:
            said = text[place:found]
            changed = [k for k in {*before, *self.files} if before.get(k) != self.files.get(k)]
            name = changed[0] if changed else said.split()[1]
            if name not in self.known:
                self.others.append(said)
            full = "in full):" in said.split("\n", 1)[0]
            self.versions.append(Version(name, "text" if full else "update", said))
        return found


@define
class Parts:
    """A body in parts."""

    files: Mapping[str, str]
    """What each file says, worked out from the body."""
    versions: list[Version]
    talk: dict[str, float]
    """Tokens of everything else, by what it is."""
    faults: list[str]
    total: float
    newest: list[dict[str, Any]]
    """The blocks of the last message without files and what is said of them."""
    held: dict[str, dict[str, set[str]]]
    """By file, then by part of ``talk``: the lines that a call wrote of it, or its result read."""
    front: list[dict[str, Any]]
    """What the user's side says before the last message, without files: at the first request the
    map and the tree of the repository."""


def parts(body: Mapping[str, Any], known: frozenset[str]) -> Parts:
    """Take a body apart. ``known``: the files that have been in the chat."""
    reader = _Reader(known=known)
    talk: dict[str, float] = {}
    total = 0.0
    newest: list[dict[str, Any]] = []
    front: list[dict[str, Any]] = []
    held: dict[str, dict[str, set[str]]] = {}
    for role, block, number in _blocks(body):
        rests = [block]
        size = weigh(block)
        total += size
        if block.get("type") == "tool_use":
            reader.calls[block["id"]] = given = block["input"]
            talk[f"use:{block['id']}"] = size
            wrote = [given.get("content", ""), *(e["replace"] for e in given.get("edits", ()))]
            _hold(held, given, f"use:{block['id']}", wrote)
        elif block.get("type") == "tool_result":
            talk[f"result:{block['tool_use_id']}"] = size
            text = said(block.get("content", ""))
            reader.result(block["tool_use_id"], text)
            call = reader.calls.get(block["tool_use_id"], {})
            _hold(held, call, f"result:{block['tool_use_id']}", [text])
        elif block.get("type") == "text" and role in ("system", "user"):
            before, others = len(reader.rests), len(reader.others)
            reader.text(block["text"])
            found = reader.rests[before:]
            for rest in found:
                _add(talk, rest, tokens(rest))
            shown = [*reader.others[others:], *found]
            rests = [{"type": "text", "text": rest} for rest in shown]
        else:
            _add(talk, json.dumps([role, block], sort_keys=True), size)
        if number == len(body["messages"]) - 1:
            newest += rests
        elif number >= 0 and role == "user":
            front += rests
    return Parts(reader.files, reader.versions, talk, reader.faults, total, newest, held, front)


def _hold(
    held: dict[str, dict[str, set[str]]], call: Mapping[str, Any], key: str, texts: list[str]
) -> None:
    """Take down the lines that a part of the conversation has of the file that a call names."""
    if path := str(call.get("path", "")):
        lines = {line for text in texts for line in text.splitlines()}
        held.setdefault(path, {})[key] = lines


def _add(talk: dict[str, float], text: str, size: float) -> None:
    key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    while key in talk:
        key += "'"
    talk[key] = size


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Role, block without its mark, and number of the message (-1 for what stands before)."""
    for part in ("tools", "system"):
        for block in body.get(part, ()):
            yield part, _bare(block), -1
    for number, message in enumerate(body["messages"]):
        for block in message["content"]:
            yield message["role"], _bare(block), number


def _bare(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


def outdated(read: Parts) -> tuple[float, float]:
    """Tokens in the body that are no longer what a file says (lines of older versions that it has
    no more, differences but for the lines that hold), and of files that have left the chat.
    """
    old = left = 0.0
    newest = {v.path: number for number, v in enumerate(read.versions) if v.kind == "text"}
    for number, version in enumerate(read.versions):
        now = read.files.get(version.path)
        if now is None:
            left += tokens(version.shown)
            continue
        if number < newest.get(version.path, 0):
            dead = tokens(version.shown)
        else:
            dead = tokens(version.shown) - _alive(version, now)
        old += max(dead, 0.0)
    return old, left


def _alive(version: Version, now: str) -> float:
    """What of a version still says how the file is; each line of the file counts where it was first
    shown, so an update's lines count only if the text before did not have them.
    """
    shown = version.shown.splitlines(keepends=True)
    current = now.splitlines(keepends=True)
    if version.kind == "update":
        rows = set(current)
        return sum(tokens(row[1:]) for row in shown if row[:1] == "+" and row[1:] in rows)
    matcher = difflib.SequenceMatcher(None, shown, current, autojunk=False)
    same = sum(tokens("".join(shown[m.a : m.a + m.size])) for m in matcher.get_matching_blocks())
    frame = tokens(shown[0]) + tokens(shown[1]) + tokens(shown[-1]) if len(shown) > 2 else 0.0
    return same + frame


def updates(read: Parts) -> dict[str, int]:
    """By file: how many differences stand in the body."""
    found: dict[str, int] = {}
    for version in read.versions:
        if version.kind == "update" and "```" in version.shown:
            found[version.path] = found.get(version.path, 0) + 1
    return found
