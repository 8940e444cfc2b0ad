"""Reads ``api_conversation_history.json`` of Cline and of the tools that were made from it.

Of the form: a list of messages of the Messages API. The first user message has the task in
``<task>``, later ones what the user said in ``<feedback>``, ``<user_message>`` or ``<answer>``.
Calls stand in the model's text as XML (``<read_file><path>…``, ``<replace_in_file>`` with search
and replace blocks, ``<write_to_file>``), their results in the next user message behind
``[read_file for 'x'] Result:``. The newest versions call tools by blocks instead. The time stands
in ``<environment_details>``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import define, evolve, field

from benchmarks.recorded.blocks import edits_in
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

_TOOLS = (
    "read_file|write_to_file|replace_in_file|apply_diff|execute_command|search_files|list_files|"
    "list_code_definition_names|ask_followup_question|attempt_completion|plan_mode_respond|"
    "new_task|browser_action|use_mcp_tool|update_todo_list"
)
_CALL = re.compile(rf"<(?P<name>{_TOOLS})>(?P<inner>.*?)</(?P=name)>", re.DOTALL)
_FIELD = re.compile(r"<(?P<name>\w+)>\n?(?P<value>.*?)\n?</(?P=name)>", re.DOTALL)
_SAID = re.compile(r"<(task|feedback|user_message|answer)>\s*(.*?)\s*</\1>", re.DOTALL)
_RESULT = re.compile(r"^\[(?P<name>\w+)(?: for '(?P<of>.*?)')?\] Result:\s*", re.DOTALL)
_DETAILS = re.compile(r"<environment_details>.*?</environment_details>", re.DOTALL)
_TIME = re.compile(r"# Current Time\s*\n?(?:.*?\n)?(\d+/\d+/\d{4}), (\d+:\d+:\d+)(?:\s*([AP]M))?")
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")
_TALK = {"attempt_completion": "result", "plan_mode_respond": "response",
         "ask_followup_question": "question"}  # fmt: skip
_THINKING = re.compile(r"<thinking>\s*(.*?)\s*</thinking>\s*", re.DOTALL)


@define
class _Draft:
    drafting: Drafting
    prompt: str = ""
    at: float | None = None
    rounds: list[Round] = field(factory=list)
    changes: dict[str, str | None] = field(factory=dict)
    reading: str = ""
    """The file that the last reply asked for."""

    def user(self, texts: list[str]) -> None:
        whole = "\n".join(texts)
        at = _time(whole)
        for text in texts:
            self._result(text)
        said = [found[2] for found in _SAID.finditer(_DETAILS.sub("", whole))]
        if said:
            self.flush()
            self.prompt, self.at = "\n\n".join(said), at
            if self.drafting.began is None:
                self.drafting.began = at

    def _result(self, text: str) -> None:
        found = _RESULT.match(text)
        if found is None or not self.rounds:
            return
        content = _DETAILS.sub("", text[found.end() :]).strip("\n")
        if not content.strip() or _SAID.search(content):
            return
        self._look(found["name"], content)

    def _look(self, name: str, content: str) -> None:
        if name in ("write_to_file", "replace_in_file", "apply_diff", "attempt_completion"):
            return
        last = self.rounds[-1]
        path = self.reading if name == "read_file" else ""
        if path:
            content = _numbers_off(content)
            self.drafting.first(path, content)
            path = path if self.drafting.now.get(path) == content else ""
        self.rounds[-1] = evolve(last, looks=(*last.looks, Look(name, path, content)))

    def model(self, blocks: list[Mapping[str, Any]]) -> None:
        text = "\n".join(b.get("text", "") for b in blocks if b.get("type") == "text")
        calls = [(m["name"], dict(_FIELD.findall(m["inner"]))) for m in _CALL.finditer(text)]
        calls += [
            (str(b.get("name")), dict(b.get("input") or {}))
            for b in blocks
            if b.get("type") == "tool_use"
        ]
        thinking = "\n\n".join(_THINKING.findall(text))
        said = [_THINKING.sub("", _CALL.sub("", text)).strip()]
        edits: list[Edit] = []
        self.reading = ""
        for name, given in calls:
            path = str(given.get("path", "")).strip()
            if name == "write_to_file":
                edits.append(Edit(path, None, f"{given.get('content', '')}\n"))
            elif name in ("replace_in_file", "apply_diff"):
                blocks_of = f"{path}\n{given.get('diff', '')}"
                edits += [evolve(edit, path=path) for edit in edits_in(blocks_of)[1]]
            elif name == "read_file":
                self.reading = path
            elif name in _TALK:
                said.append(str(given.get(_TALK[name], "")).strip())
        applied = (self.drafting.apply(edit, self.changes) for edit in edits)
        made = tuple(edit for edit in applied if edit is not None)
        spoken = "\n\n".join(filter(None, said))
        if self.prompt and (spoken or made or calls):
            self.rounds.append(Round(spoken, (), made, thinking))

    def flush(self) -> None:
        if self.prompt and self.rounds:
            self.drafting.done(Turn(self.prompt, tuple(self.rounds), self.at, changes=self.changes))
            self.changes = {}
        self.prompt, self.rounds = "", []


def read(text: str, person: str, contents: Contents = unknown, name: str = "") -> list[Recording]:
    """The session of a file, if it has a turn. Raises ValueError for what is no JSON list."""
    messages = json.loads(text)
    if not isinstance(messages, list):
        raise ValueError("a history of Cline is a list of messages")
    draft = _Draft(Drafting(name or person, person, "cline", contents))
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        blocks = [block for block in blocks if isinstance(block, dict)]
        if message.get("role") == "assistant":
            draft.model(blocks)
        elif message.get("role") == "user":
            draft.user(list(_texts(blocks)))
    draft.flush()
    return [draft.drafting.recording()] if draft.drafting.turns else []


def _texts(blocks: list[dict[str, Any]]) -> list[str]:
    found = []
    headed = ""
    for block in blocks:
        if block.get("type") == "tool_result":
            content = block.get("content")
            inner = content if isinstance(content, list) else [{"text": content or ""}]
            found.append("\n".join(str(b.get("text", "")) for b in inner if isinstance(b, dict)))
        elif block.get("type") == "text":
            text = str(block.get("text", ""))
            if headed and not text.startswith("<environment_details>"):
                found[-1] = headed + "\n" + text  # a result's heading is a block of its own
                headed = ""
                continue
            found.append(text)
            alone = _RESULT.match(text)
            headed = text if alone and not text[alone.end() :].strip() else ""
    return found


def _numbers_off(text: str) -> str:
    """The text of a file without the line numbers of newer versions."""
    text = re.sub(r"^<file>.*?<content[^>]*>\n|\n?</content>.*$", "", text, flags=re.DOTALL)
    lines = text.split("\n")
    numbered = [re.match(r"^ *\d+ \| ?", line) for line in lines]
    if all(numbered):
        text = "\n".join(re.sub(r"^ *\d+ \| ?", "", line) for line in lines)
    return text if text.endswith("\n") else f"{text}\n"


def _time(text: str) -> float | None:
    if found := _TIME.search(text):
        form = "%m/%d/%Y %I:%M:%S %p" if found[3] else "%m/%d/%Y %H:%M:%S"
        when = " ".join(filter(None, found.groups()))
        try:
            return datetime.strptime(when, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            return None
    if "# Current Time" in text and (found := _ISO.search(text.split("# Current Time")[1])):
        return datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()
    return None
