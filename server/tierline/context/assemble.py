"""From an arrangement to a prompt: roles, headings, breakpoints.

Order of bytes: system with tier L0; tiers L1 to L3, each a user message with a short
acknowledgement; file tree, pages and working files that no tier holds, in the same form; the
conversation; the prompt; and after its breakpoint the tail, which holds for this request alone. So
the next request begins with the bytes of this one up to the tail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, evolve, field

from tierline.context.blocks import Reasoning, Role, Text, visible
from tierline.context.items import Section
from tierline.context.models import ModelFacts
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec, Ttl
from tierline.context.tiers.base import BASE_TIERS, TREE_PREFIX, Arrangement, Piece, Tier

ACKNOWLEDGEMENT = "Understood."
MAX_MARKS = 4
"""Breakpoints of one request; more are refused (Anthropic documentation, "Prompt caching")."""

TREE = "Repository Files"
_HEADINGS = {
    Section.INSTRUCTIONS: "Instructions",
    Section.SYMBOLS: "Repository Structure",
    Section.URLS: "URL Context",
    Section.FILES: "Reference Files",
    Section.MEMOS: "Memos",
    Section.STATE: "State of the Work",
}
WORKING_FILES = "Working Files"


def estimate(value: object) -> int:
    """Tokens by length alone, four characters each; for callers without a counter."""
    match value:
        case Text(text=text) | str(text):
            return (len(text) + 3) // 4
        case ToolSpec():
            return (len(value.name) + len(value.description) + len(str(value.input_schema))) // 4
    return 0


def assemble(
    arrangement: Arrangement,
    *,
    facts: ModelFacts,
    tools: tuple[ToolSpec, ...] = (),
    count: Callable[[object], int] = estimate,
    max_output_tokens: int = 4096,
    cache_key: str = "",
) -> Prompt:
    """The prompt of an arrangement. Roles alternate; no block is empty.

    Breakpoints are set only for providers that want them: at most ``facts.max_marks``, the most
    useful first, none after fewer tokens than the model caches, none on an empty or a thinking
    block. If one is left and there are dynamic tools, it goes on the last built-in tool
    (``Prompt.tools_mark``). ``count`` counts tools.
    """
    builder = _Builder(frozenset(arrangement.marks) if facts.explicit_markers else frozenset())
    for place, piece in enumerate(arrangement.pieces):
        builder.add(place, piece)
    builder.close()
    tools_mark: Ttl | None = None
    if facts.explicit_markers:
        room = min(facts.max_marks or MAX_MARKS, MAX_MARKS)
        sizes = [count(tool) for tool in tools]
        totals = _totals(sum(sizes), arrangement)
        wanted = [p for p in arrangement.marks if totals[p] >= facts.min_cacheable_tokens]
        used = builder.mark(wanted, room, arrangement.ttl)
        fixed = sum(s for s, tool in zip(sizes, tools, strict=True) if tool.builtin)
        dynamic = any(not tool.builtin for tool in tools)
        if used < room and dynamic and fixed >= max(1, facts.min_cacheable_tokens):
            tools_mark = arrangement.ttl
    return Prompt(
        model=facts.name,
        system=tuple(builder.system),
        messages=builder.sent(),
        tools=tools,
        tools_mark=tools_mark,
        max_output_tokens=max_output_tokens,
        cache_key=cache_key,
    )


def _totals(start: int, arrangement: Arrangement) -> dict[int, int]:
    """Tokens of the prefix up to and including each piece that a breakpoint may follow."""
    totals = {}
    done = 0
    for place in sorted(arrangement.marks):
        start += sum(piece.tokens for piece in arrangement.pieces[done : place + 1])
        done = place + 1
        totals[place] = start
    return totals


def heading(piece: Piece) -> str:
    """The heading that a document stands under."""
    if piece.key.startswith(TREE_PREFIX):
        return TREE
    if piece.tier is Tier.ACTIVE and piece.section is Section.FILES:
        return WORKING_FILES
    return _HEADINGS.get(piece.section, piece.section.value.capitalize())


@define
class _Message:
    role: Role
    blocks: list[PromptBlock] = field(factory=list)


@define
class _Builder:
    """Puts pieces into messages, in their order, and remembers where each one ends."""

    marked: frozenset[int]
    """Indexes of pieces that a breakpoint may follow."""
    system: list[PromptBlock] = field(factory=list)
    messages: list[_Message | PromptMessage] = field(factory=list)
    """A plain message stays the same object as long as nothing is added to it."""
    _ends: dict[int, tuple[int, int]] = field(factory=dict)
    """A piece's last block that can carry a mark: its message (-1: the system) and index."""
    _open: Tier | None = None
    """The tier whose documents the current user message holds, until it is acknowledged."""
    _heading: tuple[Tier, str] | None = None

    def add(self, place: int, piece: Piece) -> None:
        """Append one piece."""
        if piece.messages:
            self.close()
            for message in piece.messages:
                self._message(place, message)
        elif not visible(Text(piece.text)):
            return
        elif piece.tier is Tier.HEAD or piece.tier is Tier.L0:
            self._head(piece)
            self._append(place, -1, self.system, [_block(piece)])
        elif piece.tier in BASE_TIERS or piece.tier is Tier.ACTIVE:
            self._document(place, piece)
        else:
            self.close()
            self._say(place, "user", [_block(piece)])

    def close(self) -> None:
        """Acknowledge the documents that are open."""
        if self._open is not None:
            ack = PromptBlock(Text(ACKNOWLEDGEMENT), f"ack:{self._open}")
            self.messages.append(_Message("assistant", [ack]))
            self._open = None

    def mark(self, places: Sequence[int], room: int, ttl: Ttl) -> int:
        """Set breakpoints after the pieces at ``places``, at most ``room``. Returns how many."""
        used = 0
        for place in places:
            end = self._ends.get(place)
            if used == room or end is None:
                continue
            blocks = self.system if end[0] < 0 else self._opened(end[0]).blocks
            used += blocks[end[1]].mark is None
            blocks[end[1]] = evolve(blocks[end[1]], mark=ttl)
        return used

    def sent(self) -> tuple[PromptMessage, ...]:
        """The messages as they are sent."""
        return tuple(
            m if isinstance(m, PromptMessage) else PromptMessage(m.role, tuple(m.blocks))
            for m in self.messages
        )

    def _opened(self, index: int) -> _Message:
        """The message at ``index``, made ready for adding blocks."""
        message = self.messages[index]
        if isinstance(message, PromptMessage):
            message = self.messages[index] = _Message(message.role, list(message.blocks))
        return message

    def _document(self, place: int, piece: Piece) -> None:
        """Documents of one tier share a message; those in no tier share one per kind."""
        kind = (piece.tier, heading(piece))
        if self._open is not None and (
            self._open is not piece.tier or (piece.tier is Tier.ACTIVE and self._heading != kind)
        ):
            self.close()
        if self._open is None:
            self._heading = None
            if not self.messages or self.messages[-1].role != "user":
                self.messages.append(_Message("user"))
            self._open = piece.tier
        blocks = self._opened(len(self.messages) - 1).blocks
        if self._heading != kind:
            blocks.append(_heading(piece))
            self._heading = kind
        self._append(place, len(self.messages) - 1, blocks, [_block(piece)])

    def _head(self, piece: Piece) -> None:
        if piece.tier is Tier.L0 and self._heading != (kind := (piece.tier, heading(piece))):
            self.system.append(_heading(piece))
            self._heading = kind

    def _message(self, place: int, message: PromptMessage) -> None:
        """Append a message of the conversation."""
        if message.plain and not (self.messages and self.messages[-1].role == message.role):
            self.messages.append(message)
            if place in self.marked:
                self._ends[place] = (len(self.messages) - 1, len(message.blocks) - 1)
        else:
            self._say(place, message.role, message.blocks)

    def _say(self, place: int, role: Role, blocks: Sequence[PromptBlock]) -> None:
        """Append to the conversation; consecutive blocks of one role share a message."""
        sent = [b for b in blocks if visible(b.block)]
        if not sent:
            return
        if not self.messages or self.messages[-1].role != role:
            self.messages.append(_Message(role))
        last = len(self.messages) - 1
        self._append(place, last, self._opened(last).blocks, sent)

    def _append(
        self, place: int, index: int, blocks: list[PromptBlock], new: Sequence[PromptBlock]
    ) -> None:
        for block in new:
            blocks.append(block if block.mark is None else evolve(block, mark=None))
            if place in self.marked and not isinstance(block.block, Reasoning):
                self._ends[place] = (index, len(blocks) - 1)


def _heading(piece: Piece) -> PromptBlock:
    name = heading(piece)
    return PromptBlock(Text(f"# {name}"), f"heading:{piece.tier}:{name}")


def _block(piece: Piece) -> PromptBlock:
    return PromptBlock(Text(piece.text), piece.key)
