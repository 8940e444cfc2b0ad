"""The strict outgoing form: a total function from any prompt to one that every provider accepts.

Histories are messy: replies without text, calls whose results never came, results without calls,
two prompts in a row after a failure, ids that another provider made, halves of emojis. Providers
refuse such bodies, and because the history is sent again every time, they refuse the session for
good. Here the outgoing copy is repaired; the log is never touched.

What holds for the result, whatever came in:

* the first message is the user's, roles alternate, the last message is the user's;
* no message is empty and no text is invisible;
* every call is answered by exactly one result in the very next message, before any text there;
* call ids are legal and unique, rewritten in pairs, and the same every time;
* every string can be encoded as UTF-8;
* at most four cache marks, none on an empty or a reasoning block.

Prefix stability: a message's form depends on what stands before it and on the run of messages right
after it, so appending to a conversation leaves the bytes of earlier messages alone, with these
exceptions, all of them after something failed: a call that was sent with a placeholder because its
result was missing changes when the result follows in the same run of user messages; two prompts in
a row share one message (new blocks are appended to it); closing text that stands in for a missing
prompt at the end disappears once a prompt is there.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import define, field

from tierline.context.blocks import (
    Block,
    Image,
    Reasoning,
    Role,
    Text,
    ToolResult,
    ToolUse,
    visible,
)
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec, Ttl
from tierline.context.text import well_formed

MAX_MARKS = 4
"""Anthropic accepts at most four cache breakpoints in one request."""

NO_OUTPUT = "(no output)"
NO_RESULT = "(No result: the call was interrupted before it finished.)"
HEAD = "(The beginning of this conversation is not shown.)"
TAIL = "Please continue."
ORPHAN = "(Result of a tool call that is not shown)"

_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_DEPTH = 100
_MAX_INT_BITS = 4096
_ID_LENGTHS = {"anthropic": 64}
_DEFAULT_ID_LENGTH = 40  # OpenAI's chat endpoint refuses longer ids; others are no stricter
_THINKING = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}


@define
class _Turn:
    role: Role
    blocks: list[PromptBlock] = field(factory=list)


def strict(prompt: Prompt, *, strategy: str) -> Prompt:
    """Return a prompt that renders to a valid body for ``strategy``. Never raises on odd input.

    ``strategy`` is the adapter's ``parsing_strategy``; reasoning of others is left out.
    """
    cleaned = [
        _Turn(_role(m.role), _clean_blocks(m.blocks, _role(m.role), strategy))
        for m in prompt.messages
    ]
    lead, runs = _runs(cleaned)
    turns = _framed(_pair(runs, _Ids(strategy)))
    system = [*_clean_blocks(prompt.system, "system", strategy), *lead]
    tools_mark = prompt.tools_mark if prompt.tools else None
    leftover, settled = _settle_marks([system, *(t.blocks for t in turns)])
    if prompt.tools:
        tools_mark = tools_mark or leftover
    first, *rest = _limit_marks(settled, MAX_MARKS - (1 if tools_mark else 0))
    return attrs.evolve(
        prompt,
        model=well_formed(prompt.model),
        system=tuple(first),
        messages=tuple(
            PromptMessage(turn.role, tuple(blocks))
            for turn, blocks in zip(turns, rest, strict=True)
        ),
        tools=tuple(_clean_tool(t) for t in prompt.tools),
        tools_mark=tools_mark,
    )


# --- cleaning of single blocks -------------------------------------------------------------------


def _role(role: str) -> Role:
    return "assistant" if role == "assistant" else "user"


def _clean_blocks(
    blocks: Iterable[PromptBlock], role: Role | str, strategy: str
) -> list[PromptBlock]:
    """Blocks that may be sent in this role. A block that is left out but carries a mark leaves an
    empty text behind, from which the mark moves at the end.
    """
    kept: list[PromptBlock] = []
    for entry in blocks:
        block = _clean_block(entry.block, role, strategy)
        if block is not None:
            # Nearly all blocks are sound, and there may be thousands: those stay the same objects.
            kept.append(entry if block is entry.block else attrs.evolve(entry, block=block))
        elif entry.mark is not None:
            kept.append(attrs.evolve(entry, block=Text("")))
    return kept


def _clean_block(block: Block, role: Role | str, strategy: str) -> Block | None:
    cleaned: Block | None = None
    match block:
        case Text():
            sound = well_formed(block.text)
            text = block if sound is block.text else Text(sound)
            cleaned = text if visible(text) else None
        case Image() if role == "user":
            cleaned = _clean_image(block)
        case Image() if role == "assistant":
            cleaned = Text(f"[picture {well_formed(block.ref)}]".replace(" ]", "]"))
        case ToolUse() if role == "assistant":
            cleaned = ToolUse(block.id, _legal_name(block.name), _clean_object(block.input))
        case ToolUse() if role == "user":
            cleaned = Text(f"(Tool call {_legal_name(block.name)})")
        case ToolResult() if role == "user":
            cleaned = attrs.evolve(block, content=_clean_content(block.content))
        case ToolResult() if role == "assistant":
            cleaned = _as_text(block)
        case Reasoning() if role == "assistant" and block.strategy == strategy:
            cleaned = _clean_reasoning(block)
        case _:
            cleaned = None
    return cleaned


def _clean_image(image: Image) -> Block:
    if image.media_type in _MEDIA_TYPES and _BASE64.fullmatch(image.data):
        return image if not image.ref else attrs.evolve(image, ref=well_formed(image.ref))
    name = well_formed(image.ref or image.media_type) or "without data"
    return Text(f"[picture not available: {name}]")


def _clean_content(content: Iterable[Block]) -> tuple[Text | Image, ...]:
    kept: list[Text | Image] = []
    for block in content:
        cleaned = _clean_block(block, "user", "")
        if isinstance(cleaned, Text | Image):
            kept.append(cleaned)
    return tuple(kept) or (Text(NO_OUTPUT),)


def _clean_reasoning(block: Reasoning) -> Reasoning | None:
    """Anthropic takes back only its own two kinds, whole; other services take any object."""
    data = _clean_object(block.data)
    if block.strategy == "anthropic":
        fields = _THINKING.get(str(data.get("type")))
        if fields is None or not all(isinstance(data.get(f), str) for f in fields):
            return None
    return Reasoning(block.strategy, data) if data else None


def _as_text(result: ToolResult) -> Text:
    """A result without its call, as words, so that nothing the model was told is lost."""
    words = (b.text if isinstance(b, Text) else "[picture]" for b in _clean_content(result.content))
    return Text("\n".join((ORPHAN, *words)))


def _clean_tool(tool: ToolSpec) -> ToolSpec:
    return attrs.evolve(
        tool,
        name=well_formed(tool.name),
        description=well_formed(tool.description),
        input_schema=_clean_object(tool.input_schema),
    )


def _legal_name(name: str) -> str:
    return _ILLEGAL.sub("_", name)[:64] or "tool"


def _clean_object(value: Any) -> dict[str, Any]:
    cleaned = _clean_value(value, 0)
    return cleaned if isinstance(cleaned, dict) else {}


def _clean_value(value: Any, depth: int) -> Any:
    """JSON without lone surrogates, NaN, foreign objects, giant numbers or endless nesting."""
    cleaned: Any = value
    match value:
        case None | bool():
            pass
        case int():
            cleaned = value if value.bit_length() <= _MAX_INT_BITS else None
        case float():
            cleaned = value if math.isfinite(value) else None
        case Mapping() | list() | tuple() if depth >= _MAX_DEPTH:
            cleaned = "(nested too deeply)"
        case Mapping():
            cleaned = {well_formed(str(k)): _clean_value(v, depth + 1) for k, v in value.items()}
        case list() | tuple():
            cleaned = [_clean_value(v, depth + 1) for v in value]
        case _:
            cleaned = well_formed(str(value))
    return cleaned


# --- runs, pairs and ids -------------------------------------------------------------------------


def _weighs(entry: PromptBlock) -> bool:
    """True for a block that alone makes a message worth sending."""
    return visible(entry.block) and not isinstance(entry.block, Reasoning)


def _void(blocks: Iterable[PromptBlock]) -> list[PromptBlock]:
    """What is left of blocks that are not sent: their marks."""
    return [attrs.evolve(b, block=Text("")) for b in blocks if b.mark is not None]


def _runs(turns: Iterable[_Turn]) -> tuple[list[PromptBlock], list[list[_Turn]]]:
    """Messages of one role in a row. A message that holds nothing gives only its marks to the one
    before it; marks before the first message are returned apart.
    """
    lead: list[PromptBlock] = []
    runs: list[list[_Turn]] = []
    for turn in turns:
        if not any(_weighs(b) for b in turn.blocks):
            (runs[-1][-1].blocks if runs else lead).extend(_void(turn.blocks))
        elif runs and runs[-1][-1].role == turn.role:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    return lead, runs


class _Ids:
    """Legal, unique call ids. A legal id that is new stays; any other gets one that is derived from
    it, from the item it stands in and from how often it was seen, hence the same every time.
    """

    def __init__(self, strategy: str) -> None:
        self._seen: set[str] = set()
        self._longest = _ID_LENGTHS.get(strategy, _DEFAULT_ID_LENGTH)

    def assign(self, call: ToolUse, key: str) -> str:
        legal = call.id and len(call.id) <= self._longest and not _ILLEGAL.search(call.id)
        chosen = call.id if legal else ""
        attempt = 0
        while not chosen or chosen in self._seen:
            parts = "\0".join((key, call.id, str(attempt))).encode("utf-8", "surrogatepass")
            chosen = f"tl_{hashlib.sha256(parts).hexdigest()[:24]}"
            attempt += 1
        self._seen.add(chosen)
        return chosen


def _pair(runs: Sequence[Sequence[_Turn]], ids: _Ids) -> list[_Turn]:
    """Alternating turns in which every call has its result in the next turn."""
    turns: list[_Turn] = []
    for index, run in enumerate(runs):
        if run[0].role == "assistant":
            after = runs[index + 1] if index + 1 < len(runs) else []
            turns += _assistant_turns(run, [b for t in after for b in t.blocks], ids)
        elif index == 0:
            turns.append(_Turn("user", [_loose(b) for t in run for b in t.blocks]))
    return turns


def _assistant_turns(run: Sequence[_Turn], after: list[PromptBlock], ids: _Ids) -> list[_Turn]:
    """An assistant run and the user run behind it. A message whose calls were never answered is
    closed by placeholders before the next one, so that its bytes stay what they were when sent.
    """
    answered = {b.block.tool_use_id for b in after if isinstance(b.block, ToolResult)}
    turns: list[_Turn] = []
    pending: list[PromptBlock] = []
    rest = after
    for place, message in enumerate(run):
        pending += message.blocks
        asked = {b.block.id for b in message.blocks if isinstance(b.block, ToolUse)}
        last = place == len(run) - 1
        if not last and asked <= answered:
            continue
        turns.append(_Turn("assistant", _without_trailing_reasoning(pending)))
        results, rest = _answer(turns[-1].blocks, rest, ids)
        turns.append(_Turn("user", results))
        pending = []
    turns[-1].blocks += [_loose(b) for b in rest]
    return turns if turns[-1].blocks else turns[:-1]


def _without_trailing_reasoning(blocks: Sequence[PromptBlock]) -> list[PromptBlock]:
    """Thinking that nothing follows has lost its reply; providers refuse it at the end."""
    last = max(i for i, b in enumerate(blocks) if _weighs(b))
    return [*blocks[: last + 1], *_void(blocks[last + 1 :])]


def _answer(
    asking: list[PromptBlock], answers: Iterable[PromptBlock], ids: _Ids
) -> tuple[list[PromptBlock], list[PromptBlock]]:
    """Give the calls in ``asking`` (changed in place) legal ids and one result each: the first that
    names the call, or a placeholder. Returns the results and what remains of ``answers``; a second,
    equal result of the same call is left out.
    """
    rest = list(answers)
    results: list[PromptBlock] = []
    for place, entry in enumerate(asking):
        call = entry.block
        if not isinstance(call, ToolUse):
            continue
        renamed = ids.assign(call, entry.key)
        asking[place] = attrs.evolve(entry, block=attrs.evolve(call, id=renamed))
        found = next((i for i, b in enumerate(rest) if _answers(b.block, call.id)), None)
        if found is None:
            results.append(PromptBlock(ToolResult(renamed, (Text(NO_RESULT),), True), entry.key))
            continue
        taken = rest.pop(found)
        assert isinstance(taken.block, ToolResult)
        results.append(attrs.evolve(taken, block=attrs.evolve(taken.block, tool_use_id=renamed)))
        rest = [
            attrs.evolve(b, block=Text("")) if b.block == taken.block and b.mark else b
            for b in rest
            if b.block != taken.block or b.mark or _asked_again(call.id, place, asking)
        ]
    return results, rest


def _answers(block: Block, call: str) -> bool:
    return isinstance(block, ToolResult) and block.tool_use_id == call


def _asked_again(call: str, place: int, asking: Sequence[PromptBlock]) -> bool:
    """True if a later call of the same message has the same id, so an equal result is its own."""
    return any(isinstance(b.block, ToolUse) and b.block.id == call for b in asking[place + 1 :])


def _loose(entry: PromptBlock) -> PromptBlock:
    """A block of the user's outside any pair: a result without its call becomes text."""
    if isinstance(entry.block, ToolResult):
        return attrs.evolve(entry, block=_as_text(entry.block))
    return entry


def _framed(turns: list[_Turn]) -> list[_Turn]:
    """The user speaks first and last."""
    if not turns or turns[0].role != "user":
        turns = [_Turn("user", [PromptBlock(Text(HEAD), "strict:head")]), *turns]
    if turns[-1].role != "user":
        turns = [*turns, _Turn("user", [PromptBlock(Text(TAIL), "strict:tail")])]
    return turns


# --- cache marks ---------------------------------------------------------------------------------


def _settle_marks(
    parts: Iterable[Sequence[PromptBlock]],
) -> tuple[Ttl | None, list[list[PromptBlock]]]:
    """Move every mark from an empty or reasoning block to the nearest block before it that can
    carry one, and take the empty blocks out. Also returns the mark that found no block before it.
    """
    leftover: Ttl | None = None
    settled: list[list[PromptBlock]] = []
    carrier: tuple[int, int] | None = None
    for part in parts:
        kept: list[PromptBlock] = []
        settled.append(kept)
        for entry in part:
            mark = entry.mark
            if _weighs(entry):
                kept.append(entry)
                carrier = (len(settled) - 1, len(kept) - 1)
                continue
            if isinstance(entry.block, Reasoning):
                kept.append(attrs.evolve(entry, mark=None))
            if mark is not None and carrier is None:
                leftover = mark
            elif mark is not None and carrier is not None:
                holder = settled[carrier[0]][carrier[1]]
                settled[carrier[0]][carrier[1]] = attrs.evolve(holder, mark=holder.mark or mark)
    return leftover, settled


def _limit_marks(parts: list[list[PromptBlock]], room: int) -> list[list[PromptBlock]]:
    """Keep the first mark, which guards the longest-lived prefix, and the last ones, by which the
    conversation is read; those between go.
    """
    marked = [(p, i) for p, part in enumerate(parts) for i, b in enumerate(part) if b.mark]
    for p, i in marked[1 : 1 + max(len(marked) - room, 0)]:
        parts[p][i] = attrs.evolve(parts[p][i], mark=None)
    return parts
