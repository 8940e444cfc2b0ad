"""Replies of the real services, event by event, for ``wire.servers``.

Shapes follow Anthropic's "Streaming" and OpenAI's "Chat completion chunk" references.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wire.servers import Act, Reply


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- Anthropic ------------------------------------------------------------------------------------


def a_event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {dumps({'type': kind, **fields})}\n\n".encode()


def a_start(**usage: int) -> bytes:
    message: dict[str, Any] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "mock-a",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, **usage},
    }
    return a_event("message_start", message=message)


def a_block(index: int, start: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[bytes]:
    return [
        a_event("content_block_start", index=index, content_block=start),
        *(a_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        a_event("content_block_stop", index=index),
    ]


def a_texts(index: int, *pieces: str) -> list[bytes]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return a_block(index, {"type": "text", "text": ""}, *deltas)


def a_thinking(index: int, *pieces: str, signature: str = "c2ln") -> list[bytes]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    last = {"type": "signature_delta", "signature": signature}
    start = {"type": "thinking", "thinking": "", "signature": ""}
    return a_block(index, start, *deltas, *([last] if signature else []))


def a_tool(index: int, identifier: str, name: str, *pieces: str) -> list[bytes]:
    start = {"type": "tool_use", "id": identifier, "name": name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
    return a_block(index, start, *deltas)


def a_end(reason: str = "end_turn", output_tokens: int = 5) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        a_event("message_delta", delta=delta, usage={"output_tokens": output_tokens}),
        a_event("message_stop"),
    ]


def a_reply(*pieces: str, reason: str = "end_turn", **usage: int) -> Reply:
    ping = a_event("ping")
    return Reply([a_start(**usage), ping, *a_texts(0, *pieces), *a_end(reason)])


def a_error(kind: str, message: str, status: int, **headers: str) -> Reply:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return _error(status, body, headers)


# --- OpenAI ---------------------------------------------------------------------------------------


def o_data(value: Any) -> bytes:
    return f"data: {dumps(value)}\n\n".encode()


def o_chunk(
    delta: Mapping[str, Any] | None = None,
    finish: str | None = None,
    usage: Mapping[str, Any] | None = None,
) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    value = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "mock-o",
        "choices": choices,
        "usage": usage,
    }
    return o_data(value)


O_DONE = b"data: [DONE]\n\n"
O_USAGE: Mapping[str, Any] = {
    "prompt_tokens": 100,
    "completion_tokens": 5,
    "total_tokens": 105,
    "prompt_tokens_details": {"cached_tokens": 64},
}


def o_texts(*pieces: str) -> list[bytes]:
    head = o_chunk({"role": "assistant", "content": ""})
    return [head, *(o_chunk({"content": piece}) for piece in pieces)]


def o_call(index: int, identifier: str, name: str, *pieces: str) -> list[bytes]:
    start = {"index": index, "id": identifier, "type": "function"}
    return [
        o_chunk({"tool_calls": [{**start, "function": {"name": name, "arguments": ""}}]}),
        *(
            o_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in pieces
        ),
    ]


def o_end(finish: str | None = "stop", usage: Mapping[str, Any] | None = O_USAGE) -> list[bytes]:
    last = [o_chunk(None, usage=usage)] if usage is not None else []
    return [o_chunk({}, finish), *last, O_DONE]


def o_reply(
    *pieces: str, finish: str | None = "stop", usage: Mapping[str, Any] | None = O_USAGE
) -> Reply:
    return Reply([*o_texts(*pieces), *o_end(finish, usage)])


def o_error(message: str, status: int, *, code: str | None = None, **headers: str) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return _error(status, {"error": error}, headers)


# --- both -----------------------------------------------------------------------------------------


def raw(data: bytes | Path) -> Reply:
    """The bytes of a fixture in one write."""
    return Reply([data if isinstance(data, bytes) else data.read_bytes()])


def text_error(text: str, status: int) -> Reply:
    return Reply([text.encode()], status, {"content-type": "text/plain"})


def split(reply: Reply, size: int = 1) -> Reply:
    """The same body in writes of ``size`` bytes."""
    whole = b"".join(part for part in reply.body if isinstance(part, bytes))
    return Reply([whole[i : i + size] for i in range(0, len(whole), size)], reply.status)


def then(parts: Iterable[bytes], *acts: Act | bytes) -> Reply:
    """Part of a reply, then something that happens."""
    return Reply([*parts, *acts])


def _error(status: int, body: Any, headers: Mapping[str, str]) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    shown: Sequence[bytes] = [dumps(body).encode()]
    return Reply(shown, status, {"content-type": "application/json", **named})
