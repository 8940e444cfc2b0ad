"""Rules of Chat Completions and of the families that speak it, from their documentation:
OpenAI's reference; DeepSeek's and Kimi's guides to thinking with tools; Gemini's guide to thought
signatures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from wire.rules import MAX_MARKS, Answer, Refused, Report, canonical, digest, opened, sealed
from wire.scripts import O_DONE, o_chunk
from wire.servers import Reply, whole

_REASONING = ("deepseek", "kimi", "glm")
_MESSAGE = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MISSING = {
    "deepseek": "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "kimi": "thinking is enabled but reasoning_content is missing in assistant tool call message "
    "at index {place}",
    "glm": "thinking is enabled but reasoning_content is missing in assistant tool call message "
    "at index {place}",
}


@define
class Completions:
    """See ``Rules``."""

    family: str
    """``scripted``: the replies come from a script, and may be of any family. ``gateway``: it hands
    marks on to Anthropic's models."""
    _said: dict[str, str] = field(factory=dict)
    """Reasoning that came with a call, by the call's id."""
    _came: dict[tuple[str, str], list[tuple[str, Any]]] = field(factory=dict)
    """Reasoning and signature with which a script's calls came, by model and id."""
    _cached: list[list[str]] = field(factory=list)

    def check(self, body: Any, headers: Mapping[str, str]) -> Report:
        if self.family == "openai" and "max_tokens" in body:
            raise Refused(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.",
                param="max_tokens",
                code="unsupported_parameter",
            )
        effort = body.get("reasoning_effort")
        efforts = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
        if effort is not None and effort not in efforts:
            raise Refused(f"Invalid value: {effort!r}", param="reasoning_effort")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused("messages: at least one message is required", param="messages")
        self._marks(messages)
        if body.get("tools") == []:
            raise Refused("[] is too short - 'tools'", param="tools")
        valid = 0
        waiting: list[str] = []
        for place, message in enumerate(messages):
            waiting = self._shape(message, place, waiting)
            if message["role"] == "assistant" and message.get("tool_calls"):
                valid += self._reasoned(message, place)
                self._brought_back(message, body, place)
        if waiting:
            raise Refused(_UNANSWERED.format(ids=", ".join(waiting)), param="messages")
        if messages[-1]["role"] not in ("user", "tool"):
            raise Refused("The last message must be the user's or a tool's.", param="messages")
        return Report(valid)

    def _marks(self, messages: list[Any]) -> None:
        """``cache_control`` on parts, at gateways that hand it on to Anthropic's models."""
        lists = [m["content"] for m in messages if isinstance(m.get("content"), list)]
        marked = [part for parts in lists for part in parts if "cache_control" in part]
        if marked and self.family not in ("gateway", "scripted"):
            raise Refused("Unknown parameter: 'cache_control'.", code="unknown_parameter")
        if len(marked) > MAX_MARKS:
            raise Refused(
                f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
            )
        if any(part["cache_control"].get("type") != "ephemeral" for part in marked):
            raise Refused("cache_control: Input should be 'ephemeral'")

    def _shape(self, message: Any, place: int, waiting: list[str]) -> list[str]:
        """One message's form. Returns the calls that are still without a result after it."""
        role, path = message.get("role"), f"messages[{place}]"
        if role not in _MESSAGE:
            raise Refused(f"Invalid value: {role!r}", param=f"{path}.role")
        known = set(_MESSAGE[role])
        if role == "assistant" and self.family in (*_REASONING, "scripted"):
            known.add("reasoning_content")
        if extra := set(message) - known:
            raise Refused(f"Unknown parameter: '{path}.{min(extra)}'.", code="unknown_parameter")
        if role in ("system", "developer") and place:
            raise Refused("System message must be at the beginning.", param=path)
        content = message.get("content")
        if not content and not (role == "assistant" and message.get("tool_calls")):
            raise Refused(f"{path}.content must not be empty", param=path)
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                raise Refused(
                    "messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    param=path,
                )
            return [call for call in waiting if call != message["tool_call_id"]]
        if waiting:
            raise Refused(_UNANSWERED.format(ids=", ".join(waiting)), param=path)
        return [self._call(call, path) for call in message.get("tool_calls") or ()]

    def _call(self, call: Any, path: str) -> str:
        known = {"id", "type", "function"} | (
            {"extra_content"} if self.family in ("gemini", "scripted") else set()
        )
        if extra := set(call) - known:
            raise Refused(
                f"Unknown parameter: '{path}.tool_calls.{min(extra)}'.", code="unknown_parameter"
            )
        function = call.get("function") or {}
        if not call.get("id") or not _NAME.fullmatch(function.get("name", "")):
            raise Refused(f"{path}.tool_calls: a call needs an id and a name")
        try:
            json.loads(function["arguments"])
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(f"{path}.tool_calls: arguments are not JSON") from error
        return str(call["id"])

    def remember(self, model: str, reasoning: str, calls: list[dict[str, Any]]) -> None:
        """What a script said: the calls have to bring back what they came with."""
        for call in calls:
            if call.get("id"):
                came = (reasoning, call.get("extra_content"))
                self._came.setdefault((model, call["id"]), []).append(came)

    def _brought_back(self, message: Any, body: Any, place: int) -> None:
        """A script's calls go back with what they came with, where it was said by this model."""
        for call in message["tool_calls"]:
            came = self._came.get((body["model"], call["id"]))
            if came is None:
                continue
            given = message.get("reasoning_content") or ""
            if given not in [reasoning for reasoning, _ in came]:
                raise Refused(_MISSING["kimi"].format(place=place))
            if call.get("extra_content") not in [extra for _, extra in came]:
                raise Refused(
                    f"Function call is missing a thought_signature in functionCall parts. Function "
                    f"call `default_api:{call['function']['name']}`, position {place}."
                )

    def _reasoned(self, message: Any, place: int) -> int:
        """1 if the message's calls bring back the reasoning that they came with."""
        if self.family in _REASONING:
            given = message.get("reasoning_content")
            expected = {self._said.get(call["id"]) for call in message["tool_calls"]}
            if not given or (expected != {None} and given not in expected):
                raise Refused(_MISSING[self.family].format(place=place))
            return int(expected != {None})
        if self.family == "gemini":
            # Of calls that were made together only the first one carries a signature.
            first = message["tool_calls"][0]
            google = (first.get("extra_content") or {}).get("google") or {}
            name = first["function"]["name"]
            facts = opened(google.get("thought_signature"))
            if not google.get("thought_signature"):
                raise Refused(
                    f"Function call is missing a thought_signature in functionCall parts. "
                    f"Function call `default_api:{name}`, position {place}."
                )
            if facts is None or facts["call"] != _call_digest(first):
                raise Refused("Thought signature is not valid.")
            return 1
        return 0

    def reply(self, body: Any, answer: Answer, number: int, now: float) -> Reply:
        chunks = [o_chunk({"role": "assistant", "content": ""})]
        reasons = self.family in _REASONING and body.get("reasoning_effort") != "none"
        thinking = answer.thinking if reasons else ""
        chunks += [o_chunk({"reasoning_content": piece}) for piece in _cut(thinking)]
        chunks += [o_chunk({"content": piece}) for piece in _cut(answer.text)]
        for index, use in enumerate(answer.uses):
            call: dict[str, Any] = {
                "index": index,
                "id": use.id or f"call_{number:04d}_{index}",
                "type": "function",
                "function": {"name": use.name, "arguments": use.text},
            }
            if thinking:
                self._said[call["id"]] = thinking
            if self.family == "gemini" and not index:
                google = {"thought_signature": sealed(call=_call_digest(call))}
                call["extra_content"] = {"google": google}
            chunks.append(o_chunk({"tool_calls": [call]}))
        chunks.append(o_chunk({}, "tool_calls" if answer.uses else "stop"))
        if (body.get("stream_options") or {}).get("include_usage"):
            said = thinking + answer.text + "".join(use.text for use in answer.uses)
            chunks.append(o_chunk(None, usage=self._usage(body, said)))
        return Reply([*chunks, O_DONE])

    def _usage(self, body: Any, said: str) -> dict[str, Any]:
        """Automatic caching: the longest common beginning with any earlier request, in steps."""
        parts = [canonical(body.get("tools", [])), *map(canonical, body["messages"])]
        common = max((_common(parts, earlier) for earlier in self._cached), default=0)
        self._cached.append(parts)
        tokens = sum(map(len, parts)) // 4
        step = 64 if self.family == "deepseek" else 128
        cached = common // 4 // step * step
        if self.family != "deepseek" and cached < 1024:
            cached = 0
        output = max(1, len(said) // 4)
        usage: dict[str, Any] = {
            "prompt_tokens": tokens,
            "completion_tokens": output,
            "total_tokens": tokens + output,
        }
        match self.family:
            case "deepseek":
                usage["prompt_cache_hit_tokens"] = cached
                usage["prompt_cache_miss_tokens"] = tokens - cached
            case "kimi":
                usage["cached_tokens"] = cached
            case "openai" | "gemini" | "glm":
                usage["prompt_tokens_details"] = {"cached_tokens": cached}
        return usage

    def count(self, body: Any, headers: Mapping[str, str]) -> Reply:
        raise Refused("no such path", 404)

    def refusal(self, refused: Refused) -> Reply:
        error = {
            "message": refused.message,
            "type": "invalid_request_error",
            "param": refused.param or None,
            "code": refused.code or None,
        }
        return whole({"error": error}, refused.status)


_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
)


def _call_digest(call: Any) -> str:
    function = call["function"]
    return digest(function["name"], json.loads(function["arguments"]))


def _common(parts: list[str], earlier: list[str]) -> int:
    total = 0
    for one, other in zip(parts, earlier, strict=False):
        if one == other:
            total += len(one)
            continue
        return total + next(
            (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
            min(len(one), len(other)),
        )
    return total


def _cut(text: str, size: int = 40) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]
