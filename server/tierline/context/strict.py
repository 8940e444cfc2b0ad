"""The strict outgoing form: a total function from any prompt to one that every provider accepts.

Histories are messy: replies without text, calls whose results never came, results without calls,
two prompts in a row after a failure, ids that another provider made, halves of emojis. Providers
refuse such bodies, and since the history is sent again every time, the session could never
continue. Here the outgoing copy is repaired; the log is never touched.

The result always satisfies:

* the first message is the user's, roles alternate, the last message is the user's;
* no message is empty and no text is invisible;
* every call is answered by exactly one result in the very next message, before any text there;
* call ids are legal and unique, rewritten in pairs, and deterministic;
* every string can be encoded as UTF-8;
* at most four cache marks, none on an empty or a reasoning block.

Prefix stability: a message's form depends on the messages before it and on the run of messages
right after it, so appending to a conversation leaves the bytes of earlier messages alone, with
these exceptions, all of them after something failed: a call that was sent with a placeholder
because its result was missing changes when the result follows in the same run of user messages; two
prompts in a row share one message (new blocks are appended to it); closing text that stands in for
a missing prompt at the end disappears once a prompt is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs
from attrs import define, field

from tierline.context.blocks import Block, Reasoning, Role, Text, ToolResult, ToolUse, visible
from tierline.context.cleaning import ILLEGAL, as_text, clean_blocks, clean_tool, side
from tierline.context.formats import wire_format
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, Ttl
from tierline.context.text import well_formed

MAX_MARKS = 4
"""Cache breakpoints in one request; Anthropic accepts at most four."""

NO_RESULT = "(No result: the call was interrupted before it finished.)"
HEAD = "(The beginning of this conversation is not shown.)"
TAIL = "Please continue."


@define
class _Turn:
    role: Role
    blocks: list[PromptBlock] = field(factory=list)


_Message: TypeAlias = _Turn | PromptMessage
"""A message to repair, or a plain message, which needs no repair and stays the same object."""
_Part: TypeAlias = list[PromptBlock] | PromptMessage


def strict(prompt: Prompt, *, strategy: str) -> Prompt:
    """Return a prompt that renders to a valid body for ``strategy``. Never raises on odd input.

    ``strategy`` is the adapter's ``parsing_strategy``; reasoning of other strategies is left out.
    """
    cleaned = (
        m if m.plain else _Turn(side(m.role), clean_blocks(m.blocks, side(m.role), strategy))
        for m in prompt.messages
    )
    lead, runs = _runs(cleaned)
    turns = _framed(_pair(runs, _Ids(strategy)))
    system = [*clean_blocks(prompt.system, "system", strategy), *lead]
    tools_mark = prompt.tools_mark if prompt.tools else None
    leftover, settled = _settle_marks([system, *(_part(t) for t in turns)])
    if prompt.tools:
        tools_mark = tools_mark or leftover
    first, *rest = _limit_marks(settled, MAX_MARKS - (1 if tools_mark else 0))
    return attrs.evolve(
        prompt,
        model=well_formed(prompt.model),
        system=tuple(first if isinstance(first, list) else first.blocks),
        messages=tuple(
            blocks if isinstance(blocks, PromptMessage) else PromptMessage(turn.role, tuple(blocks))
            for turn, blocks in zip(turns, rest, strict=True)
        ),
        tools=tuple(clean_tool(t) for t in prompt.tools),
        tools_mark=tools_mark,
    )


# --- runs, pairs and ids -------------------------------------------------------------------------


def _weighs(entry: PromptBlock) -> bool:
    """True for a block that alone makes a message worth sending."""
    return visible(entry.block) and not isinstance(entry.block, Reasoning)


def _void(blocks: Iterable[PromptBlock]) -> list[PromptBlock]:
    """Empty blocks with the marks of blocks that are not sent."""
    return [attrs.evolve(b, block=Text("")) for b in blocks if b.mark is not None]


def _runs(messages: Iterable[_Message]) -> tuple[list[PromptBlock], list[list[_Message]]]:
    """Runs of messages of one role. An empty message gives only its marks to the message before it;
    marks before the first message are returned apart.
    """
    lead: list[PromptBlock] = []
    runs: list[list[_Message]] = []
    role = ""
    for message in messages:
        if isinstance(message, _Turn) and not any(_weighs(b) for b in message.blocks):
            if marks := _void(message.blocks):
                (_opened(runs[-1]).blocks if runs else lead).extend(marks)
        elif message.role == role:
            runs[-1].append(message)
        else:
            runs.append([message])
            role = message.role
    return lead, runs


def _opened(run: list[_Message]) -> _Turn:
    """The last message of a run, made ready for adding blocks."""
    last = run[-1]
    if isinstance(last, PromptMessage):
        last = run[-1] = _Turn(last.role, list(last.blocks))
    return last


class _Ids:
    """Legal, unique call ids. A legal, new id stays; any other is replaced by one derived from it,
    its item and its number of occurrences, so that the result is deterministic.
    """

    def __init__(self, strategy: str) -> None:
        self._seen: set[str] = set()
        self._longest = wire_format(strategy).longest_id

    def assign(self, call: ToolUse, key: str) -> str:
        legal = call.id and len(call.id) <= self._longest and not ILLEGAL.search(call.id)
        chosen = call.id if legal else ""
        attempt = 0
        while not chosen or chosen in self._seen:
            parts = "\0".join((key, call.id, str(attempt))).encode("utf-8", "surrogatepass")
            chosen = f"tl_{hashlib.sha256(parts).hexdigest()[:24]}"
            attempt += 1
        self._seen.add(chosen)
        return chosen


def _pair(runs: Sequence[Sequence[_Message]], ids: _Ids) -> list[_Message]:
    """Alternating turns in which every call has its result in the next turn."""
    turns: list[_Message] = []
    for index, run in enumerate(runs):
        if run[0].role == "assistant":
            after = runs[index + 1] if index + 1 < len(runs) else ()
            if _plain(run) and (not after or _plain(after)):
                turns += (*run, *after)
            else:
                turns += _assistant_turns(run, [b for t in after for b in t.blocks], ids)
        elif index == 0:
            if _plain(run):
                turns.append(run[0])
            else:
                turns.append(_Turn("user", [_loose(b) for t in run for b in t.blocks]))
    return turns


def _plain(run: Sequence[_Message]) -> bool:
    return len(run) == 1 and isinstance(run[0], PromptMessage)


def _assistant_turns(run: Sequence[_Message], after: list[PromptBlock], ids: _Ids) -> list[_Turn]:
    """An assistant run and the user run after it. Calls that were never answered get placeholders
    before the next message, so that the bytes stay as they were sent.
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
    """The blocks without thinking at the end, which providers refuse as its reply is missing."""
    last = max(i for i, b in enumerate(blocks) if _weighs(b))
    return [*blocks[: last + 1], *_void(blocks[last + 1 :])]


def _answer(
    asking: list[PromptBlock], answers: Iterable[PromptBlock], ids: _Ids
) -> tuple[list[PromptBlock], list[PromptBlock]]:
    """Give the calls in ``asking`` (changed in place) legal ids and one result each: the first that
    names the call, or a placeholder. Returns the results and the rest of ``answers``; a second,
    equal result of a call is dropped.
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
    """A user block outside any pair: a result without its call becomes text."""
    if isinstance(entry.block, ToolResult):
        return attrs.evolve(entry, block=as_text(entry.block))
    return entry


def _framed(turns: list[_Message]) -> list[_Message]:
    """The turns, beginning and ending with a user message."""
    if not turns or turns[0].role != "user":
        turns = [_Turn("user", [PromptBlock(Text(HEAD), "strict:head")]), *turns]
    if turns[-1].role != "user":
        turns = [*turns, _Turn("user", [PromptBlock(Text(TAIL), "strict:tail")])]
    return turns


# --- cache marks ---------------------------------------------------------------------------------


def _part(turn: _Message) -> _Part:
    return turn if isinstance(turn, PromptMessage) else turn.blocks


def _settle_marks(parts: Iterable[_Part]) -> tuple[Ttl | None, list[_Part]]:
    """Move every mark from an empty or reasoning block to the nearest block before it that can
    carry one, and remove the empty blocks. Also returns the mark that found no block before it.
    """
    leftover: Ttl | None = None
    settled: list[_Part] = []
    carrier: tuple[int, int] | None = None
    for part in parts:
        if isinstance(part, PromptMessage):
            settled.append(part)
            carrier = (len(settled) - 1, len(part.blocks) - 1)
            continue
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
                place, last = carrier
                holder = settled[place]
                if isinstance(holder, PromptMessage):
                    holder = settled[place] = list(holder.blocks)
                holder[last] = attrs.evolve(holder[last], mark=holder[last].mark or mark)
    return leftover, settled


def _limit_marks(parts: list[_Part], room: int) -> list[_Part]:
    """Keep the first mark (the longest-lived prefix) and the last ones, of the conversation."""
    marked = [
        (part, i)
        for part in parts
        if not isinstance(part, PromptMessage)
        for i, b in enumerate(part)
        if b.mark
    ]
    for part, i in marked[1 : 1 + max(len(marked) - room, 0)]:
        part[i] = attrs.evolve(part[i], mark=None)
    return parts
