"""Tool calls and messages as the protocol shows them: kinds, states, places, content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acp import helpers, schema

from tierline import protocol as p

KINDS: dict[str, schema.ToolKind] = {
    "list_files": "search",
    "manage_scratchpad": "think",
    "propose_edit": "edit",
    "query_db": "search",
    "read_file": "read",
    "request_code_context": "search",
    "retrieve_memos": "search",
    "run_command": "execute",
    "save_memo": "think",
    "search_code": "search",
    "suggest_pins": "other",
}
MAX_TASKS = 50
"""Tasks of a plan."""
_TASK = re.compile(r"^[ \t]*[-*+] \[([ xX])\] (.+)$", re.M)
STATES: dict[str, schema.ToolCallStatus] = {
    "asking": "pending",
    "error": "failed",
    "interrupted": "failed",
    "ok": "completed",
    "running": "in_progress",
    "waiting": "pending",
}


def call_id(message_id: str, call: str) -> str:
    """An id that is unique in the session; a call's own id is unique only in its message."""
    return f"{message_id}/{call}"


def row(call: p.ToolCallInfo, root: Path) -> dict[str, Any]:
    """The fields of a tool call that both its start and its progress have."""
    arguments = _arguments(call.arguments)
    content = [helpers.tool_content(helpers.text_block(call.result))] if call.result else None
    return {
        "title": f"{call.name} {call.title}".strip(),
        "kind": KINDS.get(call.name, "other"),
        "status": STATES[call.status],
        "locations": _locations(arguments, root),
        "raw_input": arguments or None,
        "content": content,
    }


def diff(preview: p.EditPreview, root: Path, *, create: bool) -> schema.FileEditToolCallContent:
    """A proposed edit with both its texts."""
    before = None if create else preview.before
    return helpers.tool_diff_content(str(root / preview.path), preview.after, before)


def replay(messages: Sequence[p.ChatMessage], root: Path) -> Iterator[Any]:
    """The updates that show a conversation again, in order."""
    for message in messages:
        if message.role == "user":
            for image in message.images:
                if (block := _image(image)) is not None:
                    yield helpers.update_user_message(block)
            if message.text:
                yield helpers.update_user_message_text(message.text)
        elif message.role == "assistant" or message.compaction:
            if message.text:
                yield helpers.update_agent_message_text(message.text)
            for call in message.calls:
                fields = row(call, root)
                yield helpers.start_tool_call(call_id(message.id, call.id), **fields)


def plan(text: str) -> list[schema.PlanEntry]:
    """The tasks of a Markdown list, ``- [ ]`` and ``- [x]``; the first open one is under way."""
    entries: list[schema.PlanEntry] = []
    begun = False
    for mark, words in _TASK.findall(text):
        status: schema.PlanEntryStatus = "completed"
        if mark == " ":
            status, begun = "pending" if begun else "in_progress", True
        entries.append(helpers.plan_entry(words.strip(), status=status))
    return entries[:MAX_TASKS]


def usage(usage: p.UsageInfo | None) -> schema.Usage | None:
    """A turn's tokens, in the protocol's form."""
    if usage is None:
        return None
    return schema.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
        cached_read_tokens=usage.cache_read_tokens,
        cached_write_tokens=usage.cache_write_tokens,
    )


def _arguments(text: str) -> dict[str, Any]:
    """A call's arguments; empty if they were cut for display."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _locations(arguments: dict[str, Any], root: Path) -> list[schema.ToolCallLocation] | None:
    path, line = arguments.get("path"), arguments.get("start_line")
    if not isinstance(path, str) or not path:
        return None
    first = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
    return [schema.ToolCallLocation(path=str(root / path), line=first)]


def _image(uri: str) -> schema.ImageContentBlock | None:
    head, _, data = uri.partition(";base64,")
    if not head.startswith("data:") or not data:
        return None
    return helpers.image_block(data, head.removeprefix("data:"))
