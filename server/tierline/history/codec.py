"""Messages and events to and from the JSON records of the log.

Records of this version carry ``"v": 1`` and hold content in the neutral shape (text, image,
tool_use, tool_result, reasoning). Records without ``v`` come from older tools or other
programs: their content is parsed by their ``parsing_strategy``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tierline.context.blocks import Block, Image, Reasoning, Text, ToolResult, ToolUse
from tierline.history.events import EventKind, LogEvent
from tierline.history.messages import HistoryRole, Message, Status
from tierline.history.parser import MessageParser

VERSION = 1

_ROLES: dict[str, HistoryRole] = {
    "user": "user", "human": "user", "assistant": "assistant", "model": "assistant",
    "ai": "assistant", "tool": "tool", "function": "tool", "system": "system",
    "developer": "system",
}  # fmt: skip
_STATUS = {
    "completed": Status.OK,
    "tool_result": Status.OK,
    "cancelled": Status.INTERRUPTED,
    "incomplete": Status.INTERRUPTED,
    "failed": Status.ERROR,
    **{status.value: status for status in Status},
}
_FIELDS = frozenset(
    {
        "v", "type", "id", "session_id", "group_id", "timestamp", "role", "content",
        "parent_id", "branch_id", "status", "tokens", "usage", "parsing_strategy",
        "image_refs", "images", "files", "files_modified", "edit_results", "tool_calls",
        "tool_call_id", "reasoning_content", "reasoning", "meta", "parts",
    }
)  # fmt: skip


def decode(record: Mapping[str, Any]) -> Message | LogEvent | None:
    """A record as a message or an event; None if it is neither (a foreign line). Never raises."""
    kind = record.get("type")
    session, identifier = record.get("session_id"), record.get("id")
    if not isinstance(session, str) or not session or not isinstance(identifier, str | int):
        return None
    if kind == "event":
        return _event(record)
    if kind not in (None, "message"):
        return None
    role_word = record.get("role")
    if role_word == "summary":
        return _legacy_summary(record)
    role = _ROLES.get(role_word) if isinstance(role_word, str) else None
    return None if role is None else _message(record, role)


def encode(entry: Message | LogEvent) -> dict[str, Any]:
    """A message or an event as a record; fields with their default value are left out."""
    if isinstance(entry, LogEvent):
        return {
            "v": VERSION,
            "type": "event",
            "id": entry.id,
            "session_id": entry.session_id,
            "timestamp": entry.timestamp,
            "kind": str(entry.kind),
            "branch_id": entry.branch_id,
            "data": dict(entry.data),
        }
    record: dict[str, Any] = {
        "v": VERSION,
        "type": "message",
        "id": entry.id,
        "session_id": entry.session_id,
        "group_id": entry.group_id,
        "timestamp": entry.timestamp,
        "role": entry.role,
        "status": entry.status.value,
        "parsing_strategy": entry.parsing_strategy,
        "content": encode_content(entry.content),
    }
    optional: dict[str, Any] = {
        "parent_id": entry.parent_id,
        "branch_id": "" if entry.branch_id == "main" else entry.branch_id,
        "image_refs": list(entry.image_refs),
        "files": list(entry.files),
        "files_modified": list(entry.files_modified),
        "edit_results": [dict(r) for r in entry.edit_results],
        "tokens": entry.tokens,
        "usage": dict(entry.usage),
        "meta": dict(entry.meta),
    }
    record.update({name: value for name, value in optional.items() if value})
    return record


def encode_content(content: Iterable[Block]) -> str | list[dict[str, Any]]:
    """One plain text stays a string; anything else is a list of blocks."""
    blocks = tuple(content)
    if len(blocks) == 1 and isinstance(blocks[0], Text):
        return blocks[0].text
    return [_encode_block(block) for block in blocks]


def _encode_block(block: Block) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Image():
            return _encode_image(block)
        case ToolUse():
            arguments = dict(block.input)
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": arguments}
        case ToolResult():
            shown: dict[str, Any] = {
                "type": "tool_result",
                "tool_use_id": block.tool_use_id,
                "content": encode_content(block.content),
            }
            if block.is_error:
                shown["is_error"] = True
            return shown
        case Reasoning():
            return _encode_reasoning(block)


def _encode_reasoning(block: Reasoning) -> dict[str, Any]:
    facts = {"service": block.maker.service, "model": block.maker.model, "prefix": block.prefix}
    known = {name: value for name, value in facts.items() if value}
    return {"type": "reasoning", "strategy": block.strategy, "data": dict(block.data), **known}


def _encode_image(image: Image) -> dict[str, Any]:
    source: dict[str, Any] = {"type": "base64", "media_type": image.media_type}
    if image.ref:
        source = {"type": "file", "media_type": image.media_type, "ref": image.ref}
    else:
        source["data"] = image.data
    shown: dict[str, Any] = {"type": "image", "source": source}
    if image.width is not None and image.height is not None:
        shown |= {"width": image.width, "height": image.height}
    return shown


def _message(record: Mapping[str, Any], role: HistoryRole) -> Message:
    strategy = _text(record, "parsing_strategy") or "text"
    own = record.get("v") == VERSION
    parser = MessageParser("text" if own else strategy)
    content = parser.blocks(record)
    word = record.get("status")
    status = _STATUS.get(word, Status.OK) if isinstance(word, str) else Status.OK
    if not own and status is Status.OK and any(isinstance(b, ToolUse) for b in content):
        status = Status.TOOL_CALL
    extra = {name: value for name, value in record.items() if name not in _FIELDS}
    meta = record.get("meta")
    return Message(
        id=str(record["id"]),
        session_id=_text(record, "session_id"),
        group_id=_text(record, "group_id"),
        timestamp=_text(record, "timestamp"),
        role=role,
        content=content,
        parent_id=_text(record, "parent_id"),
        branch_id=_text(record, "branch_id") or "main",
        status=status,
        parsing_strategy=strategy,
        image_refs=_texts(record, "image_refs"),
        files=_texts(record, "files"),
        files_modified=_texts(record, "files_modified"),
        edit_results=_objects(record, "edit_results"),
        tokens=_number(record.get("tokens")),
        usage=_usage(record.get("usage")),
        meta={**extra, **(meta if isinstance(meta, Mapping) else {})},
    )


def _event(record: Mapping[str, Any]) -> LogEvent | None:
    kind, data = record.get("kind"), record.get("data")
    if not isinstance(kind, str):
        return None
    return LogEvent(
        id=str(record["id"]),
        session_id=_text(record, "session_id"),
        timestamp=_text(record, "timestamp"),
        kind=kind,
        branch_id=_text(record, "branch_id") or "main",
        data=dict(data) if isinstance(data, Mapping) else {},
    )


def _legacy_summary(record: Mapping[str, Any]) -> LogEvent:
    """A compaction record as older tools write it: a message with the role ``summary``."""
    text = MessageParser("text").text(record)
    return LogEvent(
        id=str(record["id"]),
        session_id=_text(record, "session_id"),
        timestamp=_text(record, "timestamp"),
        kind=EventKind.SUMMARY,
        branch_id=_text(record, "branch_id") or "main",
        data={"text": text, "covers": list(_texts(record, "covers")), "case": "summarize"},
    )


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _texts(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = record.get(name)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def _objects(record: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    value = record.get(name)
    return tuple(v for v in value if isinstance(v, Mapping)) if isinstance(value, list) else ()


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _usage(value: Any) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        return {}
    return {str(k): v for k, v in value.items() if isinstance(v, int) and not isinstance(v, bool)}
