"""Rules of OpenAI's Responses API without stored state, from its reference and its guide to
reasoning models: encrypted reasoning goes back between the calls that it led to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from wire.rules import MAX_MARKS, Answer, Refused, Report, canonical, opened, sealed
from wire.scripts import dumps
from wire.servers import Reply, whole

ENCRYPTED = "reasoning.encrypted_content"
_EFFORTS = (None, "none", "minimal", "low", "medium", "high", "xhigh", "max")


@define
class Responses:
    """See ``Rules``."""

    _led: dict[str, str] = field(factory=dict)
    """Which reasoning item led to a call or a message, by the id of the call."""

    def check(self, body: Any, headers: Mapping[str, str]) -> Report:
        for name in ("messages", "max_tokens", "max_completion_tokens", "stream_options"):
            if name in body and not (name == "stream_options" and body.get("stream")):
                raise Refused(f"Unsupported parameter: '{name}'.", param=name)
        if body.get("store") is not False or body.get("previous_response_id"):
            raise Refused("This organization keeps no data: `store` must be false.", param="store")
        if (limit := body.get("max_output_tokens")) is not None and limit < 16:
            raise Refused("max_output_tokens: expected a value >= 16", param="max_output_tokens")
        if (body.get("reasoning") or {}).get("effort") not in _EFFORTS:
            raise Refused("Invalid value", param="reasoning.effort")
        _marks(body)
        return self._items(body)

    def _items(self, body: Any) -> Report:
        items = body.get("input")
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        if not items:
            raise Refused("input: at least one item is required", param="input")
        valid = 0
        waiting: dict[str, int] = {}
        done: set[str] = set()
        thought = ""
        """The reasoning item that the items here follow."""
        bare = ""
        """The same, while nothing has followed it yet."""
        for place, item in enumerate(items):
            path = f"input[{place}]"
            kind = item.get("type", "message")
            if bare and kind not in ("message", "function_call", "reasoning"):
                raise Refused(_ALONE.format(id=bare), param=path)
            match kind:
                case "reasoning":
                    thought = bare = self._reasoning(item, body, path)
                    valid += 1
                case "function_call":
                    call = str(item.get("call_id") or "")
                    self._call(item, call, path, done | set(waiting))
                    if (led := self._led.get(call)) and led != thought:
                        raise Refused(_WITHOUT.format(id=call, needs=led), param=path)
                    waiting[call], bare = place, ""
                case "function_call_output":
                    call = str(item.get("call_id") or "")
                    if call not in waiting:
                        raise Refused(
                            f"No tool call found for function call output with call_id {call}.",
                            param=path,
                        )
                    if not isinstance(item.get("output"), str | list):
                        raise Refused(f"{path}.output: required", param=path)
                    del waiting[call]
                    done.add(call)
                case "message":
                    if item.get("role") not in ("user", "assistant", "system", "developer"):
                        raise Refused(f"Invalid value: {item.get('role')!r}", param=f"{path}.role")
                    if not item.get("content"):
                        raise Refused(f"{path}.content must not be empty", param=path)
                    if item["role"] != "assistant":
                        if bare:
                            raise Refused(_ALONE.format(id=bare), param=path)
                        thought = ""
                    bare = ""
                case _:
                    raise Refused(f"Invalid value: {kind!r}", param=f"{path}.type")
        if bare:
            raise Refused(_ALONE.format(id=bare), param="input")
        if waiting:
            raise Refused(f"No tool output found for function call {min(waiting)}.", param="input")
        return Report(valid)

    def _reasoning(self, item: Any, body: Any, path: str) -> str:
        facts = opened(item.get("encrypted_content"))
        if facts is None or facts["model"] != body["model"]:
            raise Refused(
                f"The encrypted content for item {item.get('id', '')} could not be verified.",
                param=path,
                code="invalid_encrypted_content",
            )
        if not isinstance(item.get("summary"), list):
            raise Refused(f"Missing required parameter: '{path}.summary'.", param=path)
        return str(facts["id"])

    def _call(self, item: Any, call: str, path: str, known: set[str]) -> None:
        if not call or not item.get("name"):
            raise Refused(f"{path}: a call needs a call_id and a name", param=path)
        if call in known:
            raise Refused(f"Duplicate call_id {call}.", param=path)
        try:
            json.loads(item["arguments"])
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(f"{path}.arguments is not JSON", param=path) from error

    def reply(self, body: Any, answer: Answer, number: int, now: float) -> Reply:
        output: list[dict[str, Any]] = []
        thought = ""
        if answer.thinking and (body.get("reasoning") or {}).get("effort") != "none":
            thought = f"rs_{number:04d}"
            shown = (body.get("reasoning") or {}).get("summary")
            item: dict[str, Any] = {"id": thought, "type": "reasoning", "summary": []}
            if shown:
                item["summary"] = [{"type": "summary_text", "text": answer.thinking}]
            if ENCRYPTED in (body.get("include") or ()):
                item["encrypted_content"] = sealed(model=body["model"], id=thought)
            output.append(item)
        if answer.text:
            part = {"type": "output_text", "text": answer.text, "annotations": []}
            output.append(
                {
                    "id": f"msg_{number:04d}",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        for index, use in enumerate(answer.uses):
            call = use.id or f"call_{number:04d}_{index}"
            if thought:
                self._led[call] = thought
            output.append(
                {
                    "id": f"fc_{number:04d}_{index}",
                    "type": "function_call",
                    "call_id": call,
                    "name": use.name,
                    "arguments": use.text,
                    "status": "completed",
                }
            )
        response: dict[str, Any] = {
            "id": f"resp_{number:04d}",
            "object": "response",
            "created_at": 1_700_000_000,
            "model": body["model"],
            "status": "completed",
            "output": output,
            "usage": _usage(body, output),
        }
        return Reply(list(_streamed(response)))

    def count(self, body: Any, headers: Mapping[str, str]) -> Reply:
        tokens = len(canonical([body.get("tools"), body.get("input")])) // 4
        return whole({"object": "response.input_tokens", "input_tokens": tokens})

    def refusal(self, refused: Refused) -> Reply:
        error = {
            "message": refused.message,
            "type": "invalid_request_error",
            "param": refused.param or None,
            "code": refused.code or None,
        }
        return whole({"error": error}, refused.status)


def _marks(body: Any) -> None:
    """Breakpoints: what they may say, where they may stand, and how many one request writes."""
    options = body.get("prompt_cache_options")
    if options is not None and (
        options.get("mode", "implicit") not in ("implicit", "explicit")
        or options.get("ttl", "30m") not in ("30m", "12h")
    ):
        raise Refused("Invalid value", param="prompt_cache_options")
    written = 0
    items = body["input"] if isinstance(body.get("input"), list) else ()
    for place, item in enumerate(items):
        if "prompt_cache_breakpoint" in item:
            raise Refused("Unknown parameter", param=f"input[{place}].prompt_cache_breakpoint")
        said = item.get("output" if item.get("type") == "function_call_output" else "content")
        for part in said if isinstance(said, list) else ():
            mark = part.get("prompt_cache_breakpoint")
            if mark is None:
                continue
            written += 1
            if part.get("type") not in ("input_text", "input_image", "input_file"):
                raise Refused("Unknown parameter", param=f"input[{place}].content")
            if mark.get("mode") != "explicit" or mark.get("ttl", "30m") not in ("30m", "12h"):
                raise Refused("Invalid value", param=f"input[{place}].prompt_cache_breakpoint")
    if written > MAX_MARKS:
        raise Refused(f"A request can write up to {MAX_MARKS} breakpoints. Found {written}.")


_ALONE = "Item '{id}' of type 'reasoning' was provided without its required following item."
_WITHOUT = (
    "Item '{id}' of type 'function_call' was provided without its required 'reasoning' item: "
    "'{needs}'."
)


def _usage(body: Any, output: list[Any]) -> dict[str, Any]:
    read = len(canonical([body.get("tools"), body.get("input")])) // 4
    said = len(canonical(output)) // 4
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + said,
    }


def _streamed(response: dict[str, Any]) -> Iterator[bytes]:
    order = iter(range(10_000))

    def event(kind: str, **fields: Any) -> bytes:
        data = {"type": kind, "sequence_number": next(order), **fields}
        return f"event: {kind}\ndata: {dumps(data)}\n\n".encode()

    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty: dict[str, Any] = {
            "message": {"content": []},
            "function_call": {"arguments": ""},
            "reasoning": {"summary": []},
        }
        opening = {**item, "status": "in_progress", **empty[item["type"]]}
        yield event("response.output_item.added", output_index=index, item=opening)
        if item["type"] == "message":
            part = item["content"][0]
            blank = {**part, "text": ""}
            yield event("response.content_part.added", content_index=0, part=blank, **place)
            for piece in _cut(part["text"]):
                yield event("response.output_text.delta", content_index=0, delta=piece, **place)
            yield event("response.output_text.done", content_index=0, text=part["text"], **place)
            yield event("response.content_part.done", content_index=0, part=part, **place)
        elif item["type"] == "function_call":
            for piece in _cut(item["arguments"]):
                yield event("response.function_call_arguments.delta", delta=piece, **place)
            yield event(
                "response.function_call_arguments.done", arguments=item["arguments"], **place
            )
        else:
            for number, part in enumerate(item["summary"]):
                for piece in _cut(part["text"]):
                    yield event(
                        "response.reasoning_summary_text.delta",
                        summary_index=number,
                        delta=piece,
                        **place,
                    )
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=response)


def _cut(text: str, size: int = 40) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]
