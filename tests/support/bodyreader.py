"""Works out from a request body alone what every file says, as the model has to.

Written from the wire format (docs/tiers.md, "What is sent") and sharing no code with the engine, so
that a mistake there cannot cancel itself out here. Knows Anthropic's and OpenAI's bodies.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

_UPDATE = re.compile(r'Update: (?P<name>"(?:[^"\\]|\\.)*"|[^\s"]+) (?P<what>[^\n]*)\n?')
_FULL = re.compile(r"\((\w{8}), in full\):")
_DELTA = re.compile(r"changed from (\w{8}) to (\w{8}):")
_AGAIN = re.compile(r"is (\w{8}) again(?:, as it was first shown)?\.")
_GONE = "is no longer part of the context."
_CONFIRMED = re.compile(
    r"was (\w{8}) and is (\w{8}) since your edit (\S+) was applied as proposed\."
)
_MADE = re.compile(r"is (\w{8}) as you made it\.")
_RULE = "An edit of yours whose result names two versions has made the second of the first"
_TOLD = re.compile(
    r"Applied as proposed \((\w{8}) to (\w{8})\): (.*?)\."
    r"(?: It is not saved yet, so commands still see the file as it was\.)?",
    re.DOTALL,
)
_CREATED = re.compile(
    r"Created as proposed \((\w{8})\): (.*?)\."
    r"(?: It is not saved yet, so commands still see the file as it was\.)?",
    re.DOTALL,
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file"


class UnreadableError(Exception):
    """The body contradicts itself."""


@dataclass
class Reader:
    """Reads the parts of a body in their order."""

    files: dict[str, str] = field(default_factory=dict)
    """Text by path, or by the name that an update used. A file with a note (a cut one) stands as it
    was rendered.
    """
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    """What the model made of files that it created, in the context or not."""
    past: dict[tuple[str, str], str] = field(default_factory=dict)
    """Texts that a file has had, by path and version: an update may be against one of them."""
    paragraphs: dict[str, str] = field(default_factory=dict)
    """Texts that are no file, by version, to which an update may refer by its hash."""
    ruled: bool = False
    """The request says that results stand for updates."""

    def text(self, text: str) -> None:
        """One text of the system prompt or of the user's side."""
        place = 0
        rest = 0
        while place < len(text):
            end = self._update(text, place) or self._file(text, place)
            if end:
                self._remember(text[rest:place])
                place = rest = end
                continue
            line = text.find("\n", place)
            place = line + 1 if line >= 0 else len(text)
        self._remember(text[rest:])

    def _remember(self, text: str) -> None:
        self.ruled = self.ruled or _RULE in text
        for paragraph in (text, *text.split("\n\n")):
            self.paragraphs[version(paragraph)] = paragraph

    def _file(self, text: str, place: int) -> int:
        line_end = text.find("\n", place)
        line = text[place:line_end]
        if line_end < 0 or not line.strip() or line[0] in " \t" or text[line_end + 1] != "`":
            return 0
        found = _fence(text, line_end + 1)
        if found is None:
            return 0
        said, end = found
        path, note = _heading(line)
        if path in self.files:
            raise UnreadableError(f"{path} stands twice")
        self.files[path] = text[place:end] if note else said
        self.past[path, version(self.files[path])] = self.files[path]
        return end

    def _update(self, text: str, place: int) -> int:
        line = _UPDATE.match(text, place)
        if line is None:
            return 0
        name = json.loads(line["name"]) if line["name"].startswith('"') else line["name"]
        what = line["what"]
        if what == _GONE:
            self.files.pop(name, None)  # A text without a path was perhaps never named before.
            return line.end()
        if done := _CONFIRMED.fullmatch(what):
            self._edited(name, done[3], done[1], done[2])
            return line.end()
        if mine := _MADE.fullmatch(what):
            if name in self.files or name not in self.made:
                raise UnreadableError(f"{name} is not the model's own")
            self._now(name, self.made[name], mine[1])
            return line.end()
        if again := _AGAIN.fullmatch(what):
            self._now(name, self._old(name, again[1]), again[1])
            return line.end()
        fenced = _fence(text, line.end())
        if fenced is None:
            return 0
        said, end = fenced
        if whole := _FULL.fullmatch(what):
            self._now(name, said, whole[1])
        elif change := _DELTA.fullmatch(what):
            self._now(name, patch(self._old(name, change[1]), said), change[2])
        else:
            return 0
        return end

    def result(self, call: str, text: str) -> None:
        """The result of a call: it may say that an edit was applied."""
        created = _CREATED.fullmatch(text) if call in self.calls else None
        content = self.calls[call].get("content", "") if created else ""
        if created and version(content) == created[1]:
            self.made[created[2]] = content
        told = _TOLD.fullmatch(text) if self.ruled and call in self.calls else None
        name = told[3] if told else ""
        if told and version(self.made.get(name, "")) == told[1]:
            self.made[name] = _replaced(name, call, self.calls[call], self.made[name])
        if told and name in self.files and version(self.files[name]) == told[1]:
            self._edited(name, call, told[1], told[2])

    def _edited(self, name: str, call: str, before: str, after: str) -> None:
        old = self._old(name, before)
        self._now(name, _replaced(name, call, self.calls[call], old), after)

    def _old(self, name: str, named: str) -> str:
        old = self.files.get(name)
        if old is None or version(old) != named:
            old = self.past.get((name, named), self.paragraphs.get(named))
        if old is None or version(old) != named:
            raise UnreadableError(f"{name}: the update is for {named}, which is not what there is")
        return old

    def _now(self, name: str, text: str, named: str) -> None:
        if version(text) != named:
            raise UnreadableError(f"{name}: the result is not {named}")
        self.files[name] = self.past[name, named] = text


def _replaced(name: str, call: str, arguments: dict[str, Any], text: str) -> str:
    """The text after a proposal."""
    for search, new in _replacements(arguments):
        if search not in text:
            raise UnreadableError(f"{name}: the edit {call} does not fit")
        text = text.replace(search, new, 1)
    return text


def _replacements(call: dict[str, Any]) -> list[tuple[str, str]]:
    """What a proposal replaces: ``propose_edit``'s ``edits``, or one as the tests' world has it."""
    if "edits" in call:
        return [(pair["search"], pair["replace"]) for pair in call["edits"]]
    return [(call["old"], call["new"])]


def version(text: str) -> str:
    """The first eight digits of the text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _heading(line: str) -> tuple[str, str]:
    """Path and note of the line above a fence."""
    if line.startswith('"'):
        path, used = json.JSONDecoder().raw_decode(line)
        return str(path), line[used:].strip()
    path, _, note = line.partition(" [")
    return path, note


def _fence(text: str, place: int) -> tuple[str, int] | None:
    """What the fence at ``place`` holds, and where it ends."""
    opening = re.compile(r"(`{3,})([^`\n]*)\n").match(text, place)
    if opening is None:
        return None
    marks, info = opening.groups()
    start = search = opening.end()
    while True:
        after = search + len(marks)
        if text.startswith(marks, search) and text[after : after + 1] in ("\n", ""):
            break
        search = text.find("\n", search) + 1
        if search == 0:
            return None
    said = text[start:search]
    if info.split()[-1:] == ["no-final-newline"]:
        said = said[:-1]
    return said, min(search + len(marks) + 1, len(text))


def patch(old: str, diff: str) -> str:
    """A unified diff applied, strictly."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", old)
    rows = re.findall(r"[^\n]*\n|[^\n]+", diff)
    new: list[str] = []
    place = at = 0
    while at < len(rows):
        head = _HUNK.match(rows[at])
        if head is None:
            raise UnreadableError(f"no hunk: {rows[at]!r}")
        at += 1
        gone, come = int(head[2] or 1), int(head[4] or 1)
        start = int(head[1]) - (1 if gone else 0)
        new += lines[place:start]
        place = start
        while gone or come:
            sign, line = rows[at][0], rows[at][1:]
            at += 1
            if at < len(rows) and rows[at].startswith(_NO_END):
                line = line[:-1]
                at += 1
            if sign in " -":
                if place >= len(lines) or lines[place] != line:
                    raise UnreadableError(f"line {place + 1} is not {line!r}")
                place += 1
                gone -= 1
            if sign in " +":
                new.append(line)
                come -= 1
    return "".join([*new, *lines[place:]])


def said(content: str | list[dict[str, Any]]) -> str:
    """The text of a result."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def read(body: dict[str, Any]) -> Reader:
    """Read an Anthropic or an OpenAI body."""
    reader = Reader()
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            reader.calls[call["id"]] = json.loads(call["function"]["arguments"])
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_use":
                reader.calls[block["id"]] = block["input"]
    for block in body.get("system", ()):
        reader.text(block["text"])
    for message in body["messages"]:
        content = message["content"]
        if message["role"] == "tool":
            reader.result(message["tool_call_id"], said(content))
        if message["role"] not in ("user", "system"):
            continue
        if isinstance(content, str):
            reader.text(content)
            continue
        for block in content:
            if block["type"] == "text":
                reader.text(block["text"])
            elif block["type"] == "tool_result":
                reader.result(block["tool_use_id"], said(block.get("content", "")))
    return reader
