"""Reads the sessions that Claude Code keeps: JSON lines, one file a session.

Of the form: lines of the types ``user`` and ``assistant`` hold a message of the Messages API with a
time; an assistant's message may be spread over several lines with one id. Results of ``Read``,
``Edit`` and ``Write`` carry the file's text in ``toolUseResult``. Lines of sub-agents
(``isSidechain``), of the program itself (``isMeta``) and of its slash commands are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from attrs import define, field

from benchmarks.recorded.recording import (
    Contents,
    Drafting,
    Edit,
    Look,
    Recording,
    Round,
    Turn,
    unknown,
)

_OWN = ("<command-", "<local-command", "Caveat: The messages below", "[Request interrupted")
_REMINDER = re.compile(r"<(system-reminder|ide_\w+)>.*?</\1>\s*", re.DOTALL)


@define
class _Draft:
    drafting: Drafting
    root: str = ""
    prompt: str = ""
    at: float | None = None
    rounds: list[Round] = field(factory=list)
    changes: dict[str, str | None] = field(factory=dict)
    text: list[str] = field(factory=list)
    thinking: list[str] = field(factory=list)
    calls: dict[str, Mapping[str, Any]] = field(factory=dict)
    """Of the reply that is being read, by id."""
    results: dict[str, tuple[str, Any, bool]] = field(factory=dict)
    message: str = ""

    def said(self, message: Mapping[str, Any]) -> None:
        """A line of the model."""
        if not self.prompt:
            return
        if message.get("id") != self.message and self.results:
            self.close()
        self.message = message.get("id", "")
        for block in _content(message):
            if block.get("type") == "text":
                self.text.append(block["text"].strip())
            elif block.get("type") == "thinking":
                self.thinking.append(str(block.get("thinking", "")))
            elif block.get("type") == "tool_use":
                self.calls[block["id"]] = block

    def close(self) -> None:
        """A reply and its results are complete."""
        looks: list[Look] = []
        edits: list[Edit] = []
        for identifier, call in self.calls.items():
            text, details, failed = self.results.get(identifier, ("", None, True))
            self._used(call, text, details, failed, looks, edits)
        text = "\n\n".join(filter(None, self.text))
        if text or looks or edits:
            thinking = "\n\n".join(filter(None, self.thinking))
            self.rounds.append(Round(text, tuple(looks), tuple(edits), thinking))
        self.text, self.thinking, self.calls, self.results = [], [], {}, {}

    def flush(self) -> None:
        """The turn is over."""
        self.close()
        if self.prompt and self.rounds:
            turn = Turn(self.prompt, tuple(self.rounds), self.at, changes=self.changes)
            self.drafting.done(turn)
            self.changes = {}
        self.prompt, self.rounds, self.message = "", [], ""

    def _used(
        self,
        call: Mapping[str, Any],
        text: str,
        details: Any,
        failed: bool,
        looks: list[Look],
        edits: list[Edit],
    ) -> None:
        name, given = str(call.get("name", "")), call.get("input") or {}
        path = self._relative(str(given.get("file_path") or given.get("path") or ""))
        details = details if isinstance(details, Mapping) else {}
        if name in ("Edit", "MultiEdit", "Write") and path and not failed:
            original = details.get("originalFile")
            if isinstance(original, str) and original:
                self._shown(path, original)
            pairs = given.get("edits") or [given]
            for pair in pairs:
                search = None if name == "Write" else pair.get("old_string", "")
                new = pair.get("content" if name == "Write" else "new_string", "")
                made = self.drafting.apply(Edit(path, search, new), self.changes)
                edits += [made] if made is not None else []
            return
        whole = (details.get("file") or {}) if name == "Read" else {}
        content = whole.get("content")
        complete = isinstance(content, str) and whole.get("numLines") == whole.get("totalLines")
        if complete and path and not failed:
            self._shown(path, str(content))
            looks.append(Look(name, path, str(content)))
        elif text.strip():
            looks.append(Look(name, "", text))

    def _shown(self, path: str, text: str) -> None:
        if not self.rounds:
            self.drafting.changed(self.changes, path, text)
        else:  # in the middle of a turn: what cannot be put before it is taken as it was before
            self.drafting.first(path, text)

    def _relative(self, path: str) -> str:
        root, path = self.root.replace("\\", "/").rstrip("/") + "/", path.replace("\\", "/")
        windows = ":" in root[:3]  # where case is no matter: C:/Users is c:/users
        if path.lower().startswith(root.lower()) if windows else path.startswith(root):
            return path[len(root) :]
        return "" if path.startswith(("/", "~")) or ":" in path[:3] else path


def read(
    lines: Iterable[str], person: str, contents: Contents = unknown, name: str = ""
) -> list[Recording]:
    """The sessions in the lines that have a turn; as a rule it is one."""
    drafts: dict[str, _Draft] = {}
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict) or entry.get("type") not in ("user", "assistant"):
            continue
        if entry.get("isSidechain") or entry.get("isMeta") or entry.get("isCompactSummary"):
            continue
        session = str(entry.get("sessionId", ""))
        draft = drafts.get(session)
        if draft is None:
            title = f"{name or person} {session[:8]}"
            draft = drafts[session] = _Draft(Drafting(title, person, "claude-code", contents))
        draft.root = draft.root or str(entry.get("cwd", ""))
        _line(draft, entry)
    for draft in drafts.values():
        draft.flush()
    return [d.drafting.recording() for d in drafts.values() if d.drafting.turns]


def _line(draft: _Draft, entry: Mapping[str, Any]) -> None:
    message = entry.get("message") or {}
    if entry["type"] == "assistant":
        if message.get("model") != "<synthetic>":  # the program's own words
            draft.said(message)
        return
    texts = []
    for block in _content(message):
        if block.get("type") == "tool_result":
            text = "\n".join(b.get("text", "") for b in _content(block))
            failed = bool(block.get("is_error"))
            draft.results[str(block.get("tool_use_id"))] = (
                _REMINDER.sub("", text), entry.get("toolUseResult"), failed,
            )  # fmt: skip
        elif block.get("type") == "text":
            texts.append(block["text"])
    prompt = _REMINDER.sub("", "\n".join(texts)).strip()
    if prompt and not prompt.startswith(_OWN):
        draft.flush()
        draft.prompt, draft.at = prompt, _time(entry.get("timestamp"))
        if draft.drafting.began is None:
            draft.drafting.began = draft.at


def _content(holder: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = holder.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _time(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None
