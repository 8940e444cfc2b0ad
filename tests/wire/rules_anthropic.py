"""Rules of Anthropic's Messages API, from its documentation: "Messages", "Thinking", "Prefix checks
on thinking blocks", "Mid-conversation system messages", "Prompt caching", "Cache diagnostics".
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from attrs import define, field, frozen

from benchmarks.cache_simulator import CacheSimulator, Outcome, weigh
from wire.rules import MAX_MARKS, SECRET, Answer, Refused, Report, canonical, digest, opened, sealed
from wire.scripts import a_block, a_event, dumps
from wire.servers import Reply, whole

BINDING_BETA = "thinking-binding-controls-2026-08-01"
CLEAR_BETA = "mid-conversation-system-clear-at-2026-08-21"
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_THOUGHTS = ("thinking", "redacted_thinking")


@frozen
class Model:
    """How one model thinks."""

    types: tuple[str, ...]
    """What ``thinking.type`` may be."""
    default: bool
    """It thinks where ``thinking`` is left out."""
    binds: bool = False
    """Its blocks are bound to what stands before them."""
    efforts: tuple[str, ...] = _EFFORTS
    shown: bool = False
    """Thinking comes with its text where ``display`` is left out."""


_BOUND = Model(("adaptive",), True, binds=True)
MODELS = {
    "claude-fable-5-1": _BOUND,
    "claude-fable-5-2": _BOUND,
    "claude-mythos-5-1": _BOUND,
    "claude-mythos-5-2": _BOUND,
    "claude-opus-5-5": _BOUND,
    "claude-sonnet-5-5": Model(("adaptive", "between_tools"), True, binds=True),
    "claude-haiku-5-5": Model(("adaptive", "disabled"), True, binds=True),
    "claude-fable-5": Model(("adaptive",), True),
    "claude-mythos-5": Model(("adaptive",), True),
    "claude-opus-5": Model(("adaptive", "disabled"), True),
    "claude-sonnet-5": Model(("adaptive", "disabled"), True),
    "claude-opus-4-8": Model(("adaptive", "disabled"), False),
    "claude-opus-4-7": Model(("adaptive", "disabled"), False),
    "claude-opus-4-6": Model(
        ("adaptive", "enabled", "disabled"), False, efforts=("low", "medium", "high", "max")
    ),
    "claude-sonnet-4-6": Model(
        ("adaptive", "enabled", "disabled"), False, efforts=("low", "medium", "high", "max")
    ),
    "claude-": Model(("enabled", "disabled"), False, efforts=(), shown=True),
}


_ANY = Model(("adaptive", "enabled", "disabled", "between_tools"), False)


def model_of(name: str) -> Model:
    """The longest name that the model's begins with."""
    known = [start for start in MODELS if name.startswith(start)]
    if not known:
        raise Refused(f"model: {name}", 404)
    return MODELS[max(known, key=len)]


@define
class _State:
    """The request that was checked last."""

    body: Any
    chain: Any
    """Running hash of everything that the model sees."""
    dropped: list[dict[str, str]] = field(factory=list)


@define
class Messages:
    """See ``Rules``."""

    minimum: int = 1024
    scripted: bool = False
    """The replies come from a script: signatures are not the service's own, and a model may have
    any name."""
    epoch: int = 0
    """Raise it, and what was signed before is bound to something else."""
    cache: CacheSimulator = field(init=False)
    outcomes: list[Outcome] = field(factory=list)
    _state: _State | None = None
    _asked: set[str] = field(factory=set)
    """What stood before the replies of a script: thinking may stand behind nothing else."""
    _sent: dict[str, Any] = field(factory=dict)
    """Bodies by the id of the message that answered them."""

    def __attrs_post_init__(self) -> None:
        self.cache = CacheSimulator(self.minimum)

    def check(self, body: Any, headers: Mapping[str, str]) -> Report:
        body = _normal(body)
        model = self._model(body)
        limit = body.get("max_tokens")
        if type(limit) is not int or limit < 0:
            raise Refused("max_tokens: Field required")
        if limit > 128_000:
            raise Refused(f"max_tokens: {limit} > 128000, which is the maximum for this model")
        if limit == 0 and body.get("stream"):
            raise Refused("stream: not supported with `max_tokens: 0`")
        return self._checked(body, headers, model)

    def count(self, body: Any, headers: Mapping[str, str]) -> Reply:
        unknown = set(body) & {"max_tokens", "stream", "diagnostics", "metadata"}
        if unknown:
            raise Refused(f"{min(unknown)}: Extra inputs are not permitted")
        body = _normal(body)
        self._checked(body, headers, self._model(body), counts=True)
        return whole({"input_tokens": round(_size(body))})

    def _model(self, body: Any) -> Model:
        name = _text(body.get("model"), "model")
        try:
            return model_of(name)
        except Refused:
            if not self.scripted:
                raise
            return _ANY

    def _checked(
        self, body: Any, headers: Mapping[str, str], model: Model, *, counts: bool = False
    ) -> Report:
        betas = [beta.strip() for beta in headers.get("anthropic-beta", "").split(",")]
        _thinking(body, model, betas)
        _tools(body)
        _messages(body, betas)
        _marks(body)
        if "diagnostics" in body and set(body["diagnostics"] or {}) - {"previous_message_id"}:
            raise Refused("diagnostics: Extra inputs are not permitted")
        return self._behind(body, counts) if self.scripted else self._bound(body, model)

    def _behind(self, body: Any, counts: bool) -> Report:
        """Check that a script's thinking stands behind a request that was made, whatever its model
        is called: what the newest ones demand is done for all.
        """
        chain, valid = self._chain(body), 0
        for place, message in enumerate(body["messages"]):
            thoughts = [b for b in message["content"] if b["type"] in _THOUGHTS]
            if thoughts and chain.hexdigest() not in self._asked:
                path = f"messages.{place}.content.{message['content'].index(thoughts[0])}"
                raise Refused(_DIFFERENT.format(path=path, kind=thoughts[0]["type"]))
            valid += len(thoughts)
            _add(chain, [message["role"], message.get("clear_at")])
            for block in message["content"]:
                _add(chain, _unmarked(block))
        if not counts:
            self._asked.add(chain.hexdigest())
        return Report(valid)

    def _chain(self, body: Any) -> Any:
        """The running hash at the beginning of the conversation."""
        chain = hmac.new(SECRET, digestmod=hashlib.sha256)
        _add(chain, self.epoch)
        for part in ("system", "tools"):
            _add(chain, [part, [_unmarked(block) for block in body.get(part, ())]])
        return chain

    def _bound(self, body: Any, model: Model) -> Report:
        """Check every thinking block against what stands before it."""
        chain = self._chain(body)
        binding = (body.get("thinking") or {}).get("block_binding") or {}
        drop = binding.get("prefix_mismatch_behavior") == "drop_block"
        state = self._state = _State(body, chain)
        valid = foreign = 0
        broken = False
        for place, message in enumerate(body["messages"]):
            _add(chain, [message["role"], message.get("clear_at")])
            kept = []
            for index, block in enumerate(message["content"]):
                if block.get("type") in _THOUGHTS:
                    path = f"messages.{place}.content.{index}"
                    facts = _signature(block, path)
                    if facts["model"] != body["model"]:
                        foreign += 1
                        reason = "model_binding_mismatch"
                        state.dropped.append(_dropped(path, reason))
                        continue
                    if model.binds and (broken or facts["prefix"] != chain.copy().hexdigest()):
                        if not drop:
                            raise Refused(_DIFFERENT.format(path=path, kind=block["type"]))
                        broken = True
                        state.dropped.append(_dropped(path, "prefix_binding_mismatch"))
                        continue
                    valid += 1
                kept.append(block)
                _add(chain, _unmarked(block))
            message["content"] = kept
        return Report(valid, foreign)

    # --- the reply -------------------------------------------------------------------------------

    def reply(self, body: Any, answer: Answer, number: int, now: float) -> Reply:
        assert self._state is not None
        state, model = self._state, model_of(body["model"])
        try:
            outcome = self.cache.send(state.body, now)
        except ValueError as error:
            raise AssertionError(f"the cache's rules are not the service's: {error}") from error
        self.outcomes.append(outcome)
        content, stop = _content(state, model, answer, number)
        if body["max_tokens"] == 0:
            content, stop = [], "max_tokens"
        identifier = f"msg_{number:06d}"
        message: dict[str, Any] = {
            "id": identifier,
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": _usage(outcome, content),
            "diagnostics": self._diagnosis(state.body, outcome),
        }
        if state.dropped:
            message["input_transformations"] = state.dropped
        self._sent[identifier] = deepcopy(state.body)
        if not body.get("stream"):
            return whole(message)
        return Reply(list(_streamed(message)))

    def _diagnosis(self, body: Any, outcome: Outcome) -> Any:
        asked = body.get("diagnostics")
        if not asked or not asked.get("previous_message_id"):
            return None
        before = self._sent.get(asked["previous_message_id"])
        if before is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        kind = _changed(before, body)
        if not kind:
            return None
        missed = max(0, round(_size(before) - outcome.read))
        reason = {"type": f"{kind}_changed", "cache_missed_input_tokens": missed}
        return {"cache_miss_reason": reason}

    def refusal(self, refused: Refused) -> Reply:
        kind = "not_found_error" if refused.status == 404 else "invalid_request_error"
        error = {"type": kind, "message": refused.message}
        body = {"type": "error", "error": error, "request_id": "req_1"}
        return whole(body, refused.status)


_DIFFERENT = (
    "{path}: Invalid `signature` in `{kind}` block. The block is bound to a different "
    "conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "
    '"drop_block".'
)


# --- the request ----------------------------------------------------------------------------------


def _normal(body: Any) -> Any:
    """The body with every text as a list of blocks."""
    body = deepcopy(body)
    if isinstance(body.get("system"), str):
        body["system"] = [{"type": "text", "text": body["system"]}]
    for message in body.get("messages", ()):
        if isinstance(message.get("content"), str):
            message["content"] = [{"type": "text", "text": message["content"]}]
    return body


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise Refused(f"{name}: Field required")
    return value


def _thinking(body: Any, model: Model, betas: list[str]) -> None:
    thinking, effort = body.get("thinking"), (body.get("output_config") or {}).get("effort")
    if effort is not None and effort not in model.efforts:
        raise Refused(
            f"output_config.effort: {effort!r} is not supported by this model"
            if model.efforts
            else "This model does not support the effort parameter."
        )
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in ("adaptive", "enabled", "disabled", "between_tools"):
        raise Refused("thinking.type: Input tag found using 'type' does not match")
    if kind not in model.types:
        raise Refused(
            f'"thinking.type.{kind}" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    if kind in ("disabled", "between_tools") and effort in ("xhigh", "max"):
        raise Refused(f"effort {effort!r} needs thinking")
    if kind == "enabled" and not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
        raise Refused("thinking.enabled.budget_tokens: must be >= 1024 and less than max_tokens")
    known = {
        "adaptive": {"type", "display", "block_binding"},
        "enabled": {"type", "display", "budget_tokens", "block_binding"},
    }.get(kind, {"type"})
    if extra := set(thinking) - known:
        raise Refused(f"thinking.{kind}.{min(extra)}: Extra inputs are not permitted")
    if "block_binding" in thinking and BINDING_BETA not in betas:
        raise Refused(f"thinking.{kind}.block_binding: Extra inputs are not permitted")


def _tools(body: Any) -> None:
    names = [tool.get("name", "") for tool in body.get("tools", ())]
    for place, name in enumerate(names):
        if not _NAME.fullmatch(name):
            raise Refused(f"tools.{place}.name: String should match pattern")
        schema = body["tools"][place].get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise Refused(f"tools.{place}.input_schema.type: Field required")
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")


def _messages(body: Any, betas: list[str]) -> None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("messages: at least one message is required")
    for place, block in enumerate(body.get("system", ())):
        _visible(block, f"system.{place}")
    before, ids = "", set()
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        path = f"messages.{place}"
        if role not in ("user", "assistant", "system"):
            raise Refused(f"{path}.role: Input should be 'user', 'assistant' or 'system'")
        if (
            extra := set(message)
            - {"role", "content"}
            - ({"clear_at"} if role == "system" else set())
        ):
            raise Refused(f"{path}.{min(extra)}: Extra inputs are not permitted")
        if not content:
            raise Refused(f"{path}: all messages must have non-empty content")
        if role == "system":
            if "clear_at" in message and CLEAR_BETA not in betas:
                raise Refused(f"{path}.clear_at: Extra inputs are not permitted")
            if before != "user":
                raise Refused(f"{path}: a system message must follow a user message")
        elif role == before or (not before and role == "assistant"):
            raise Refused(f"{path}: roles must alternate, and the first message is the user's")
        kinds = [block.get("type") for block in content]
        allowed = {
            "user": {"text", "image", "document", "tool_result"},
            "assistant": {"text", "tool_use", *_THOUGHTS},
            "system": {"text", "tool_addition", "tool_removal"},
        }[role]
        for index, block in enumerate(content):
            if block.get("type") not in allowed:
                raise Refused(f"{path}.content.{index}: unexpected {block.get('type')!r}")
            _visible(block, f"{path}.content.{index}")
        if role == "user":
            _results(path, content, open_calls)
            open_calls = []
        if role == "assistant":
            if kinds[-1] in _THOUGHTS:
                raise Refused(f"{path}: the final block in an assistant message cannot be thinking")
            calls = [block for block in content if block["type"] == "tool_use"]
            open_calls = [call.get("id", "") for call in calls]
            for call in calls:
                if not _ID.fullmatch(call.get("id", "")):
                    raise Refused(f"{path}: tool_use.id: String should match pattern")
                if call["id"] in ids:
                    raise Refused(f"{path}: `tool_use` ids must be unique")
                ids.add(call["id"])
                if not isinstance(call.get("input"), dict):
                    raise Refused(f"{path}: tool_use.input: Input should be a valid dictionary")
        if role != "system":
            before = role
    if before != "user":
        raise Refused("This model does not support assistant message prefill.")
    used = any(b.get("type") in ("tool_use", "tool_result") for m in messages for b in m["content"])
    if used and not body.get("tools"):
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")


def _results(path: str, content: list[Any], calls: list[str]) -> None:
    results = [block.get("tool_use_id") for block in content if block["type"] == "tool_result"]
    for identifier in results:
        if identifier not in calls:
            raise Refused(f"{path}: unexpected `tool_use_id` found in `tool_result` blocks")
    if len(set(results)) < len(results):
        raise Refused(f"{path}: each tool_use must have a single result")
    if missing := [call for call in calls if call not in results]:
        raise Refused(
            f"{path}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}."
        )
    if results and any(b["type"] != "tool_result" for b in content[: len(results)]):
        raise Refused(f"{path}: `tool_result` blocks must come first")


def _visible(block: Mapping[str, Any], path: str) -> None:
    if block.get("type") == "text" and not str(block.get("text", "")).strip():
        raise Refused(f"{path}: text content blocks must contain non-whitespace text")


def _marks(body: Any) -> None:
    places = [*body.get("tools", ()), *body.get("system", ())]
    places += [block for message in body["messages"] for block in message["content"]]
    marked = [block for block in places if block.get("cache_control")]
    if len(marked) > MAX_MARKS:
        raise Refused(
            f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
        )
    short = False
    for block in marked:
        mark = block["cache_control"]
        if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
            raise Refused("cache_control: Input should be 'ephemeral' with a ttl of '5m' or '1h'")
        if block.get("type") in _THOUGHTS:
            raise Refused("cache_control: Extra inputs are not permitted")
        if short and mark.get("ttl") == "1h":
            raise Refused("a ttl='1h' cache_control block must not come after a ttl='5m' one")
        short = short or mark.get("ttl", "5m") == "5m"


def _signature(block: Mapping[str, Any], path: str) -> dict[str, Any]:
    kind = block["type"]
    facts = opened(block.get("signature" if kind == "thinking" else "data"))
    known = {"type", "thinking", "signature"} if kind == "thinking" else {"type", "data"}
    if facts is None or set(block) != known or facts["shown"] != digest(block.get("thinking", "")):
        raise Refused(f"{path}: Invalid `signature` in `{kind}` block")
    return facts


def _dropped(path: str, reason: str) -> dict[str, str]:
    return {"type": "thinking_dropped", "path": path, "reason": reason}


def _add(chain: Any, value: Any) -> None:
    chain.update(canonical(value).encode("utf-8", "surrogatepass") + b"\n")


def _unmarked(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


# --- the reply ------------------------------------------------------------------------------------


def _content(
    state: _State, model: Model, answer: Answer, number: int
) -> tuple[list[dict[str, Any]], str]:
    """The blocks of the reply, each thought bound to all that stands before it."""
    body, chain = state.body, state.chain.copy()
    _add(chain, ["assistant", None])
    thinking = body.get("thinking") or {}
    kind = thinking.get("type", "adaptive" if model.default else "disabled")
    shown = thinking.get("display", "summarized" if model.shown else "omitted") == "summarized"
    content: list[dict[str, Any]] = []

    def add(block: dict[str, Any]) -> None:
        content.append(block)
        _add(chain, block)

    def think(text: str, redacted: bool = False) -> None:
        said = text if shown else ""
        facts = {"model": body["model"], "prefix": chain.copy().hexdigest(), "number": number}
        if redacted:
            data = sealed(shown=digest(""), **facts)
            add({"type": "redacted_thinking", "data": data})
        else:
            signature = sealed(shown=digest(said), **facts)
            add({"type": "thinking", "thinking": said, "signature": signature})

    thinks = kind in ("adaptive", "enabled")
    if thinks and answer.thinking:
        think(answer.thinking, answer.redacted)
        if len(answer.thinking) / 4 >= body["max_tokens"]:
            return content, "max_tokens"
    if answer.text:
        # The newest models give what they say between tool calls as thinking.
        if answer.uses and model.binds and thinks:
            think(answer.text)
        else:
            add({"type": "text", "text": answer.text})
    if answer.twice and thinks:
        think("And once more.")
    for index, use in enumerate(answer.uses):
        identifier = use.id or f"toolu_{number:04d}_{index}"
        add({"type": "tool_use", "id": identifier, "name": use.name, "input": use.arguments})
    return content, "tool_use" if answer.uses else "end_turn"


def _usage(outcome: Outcome, content: list[dict[str, Any]]) -> dict[str, Any]:
    thought = sum(weigh(block) for block in content if block["type"] in _THOUGHTS)
    return {
        "input_tokens": round(outcome.plain),
        "cache_read_input_tokens": round(outcome.read),
        "cache_creation_input_tokens": round(outcome.written),
        "cache_creation": {
            "ephemeral_5m_input_tokens": round(outcome.by_ttl.get("5m", 0)),
            "ephemeral_1h_input_tokens": round(outcome.by_ttl.get("1h", 0)),
        },
        "output_tokens": round(sum(weigh(block) for block in content)),
        "output_tokens_details": {"thinking_tokens": round(thought)},
    }


def _streamed(message: dict[str, Any]) -> Iterator[bytes]:
    usage = message["usage"]
    begun: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield a_event("message_start", message={**message, **begun})
    yield a_event("ping")
    for index, block in enumerate(message["content"]):
        yield from a_block(index, *_pieces(block))
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    figures = {name: value for name, value in usage.items() if name != "cache_creation"}
    yield a_event("message_delta", delta=delta, usage=figures)
    yield a_event("message_stop")


def _pieces(block: dict[str, Any]) -> list[Mapping[str, Any]]:
    match block["type"]:
        case "text":
            parts: list[Mapping[str, Any]] = [
                {"type": "text_delta", "text": piece} for piece in _cut(block["text"])
            ]
            return [{"type": "text", "text": ""}, *parts]
        case "thinking":
            parts = [
                {"type": "thinking_delta", "thinking": piece} for piece in _cut(block["thinking"])
            ]
            parts.append({"type": "signature_delta", "signature": block["signature"]})
            return [{"type": "thinking", "thinking": "", "signature": ""}, *parts]
        case "tool_use":
            parts = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in _cut(dumps(block["input"]))
            ]
            return [{**block, "input": {}}, *parts]
        case _:
            return [block]


def _cut(text: str, size: int = 40) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def _size(body: Any) -> float:
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    blocks += [block for message in body["messages"] for block in message["content"]]
    return sum(weigh(_unmarked(block)) for block in blocks)


def _changed(before: Any, body: Any) -> str:
    """What of an earlier request is not the beginning of this one; empty if all of it is."""
    if before["model"] != body["model"]:
        return "model"

    def plain(of: Any, part: str) -> list[Any]:
        return [_unmarked(block) for block in of.get(part, ())]

    for part in ("system", "tools"):
        if plain(before, part) != plain(body, part):
            return part
    earlier = [(m["role"], list(map(_unmarked, m["content"]))) for m in before["messages"]]
    now = [(m["role"], list(map(_unmarked, m["content"]))) for m in body["messages"]]
    return "" if now[: len(earlier)] == earlier else "messages"
