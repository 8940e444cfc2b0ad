"""Thinking that a model writes into its text, between tags at the reply's beginning.

Servers without a parser of their own for reasoning models pass the tags on. Only the beginning of a
reply is looked at: later, the same words are text about tags. Where a chat template has written the
opening tag itself, only the closing one comes, at the beginning of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from attrs import define, field

from tierline.providers.values import ContentPiece

_BEGINNINGS = ("<|channel|>", "<|start|>")
_MARKS = (*_BEGINNINGS, "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>")
_MARK = re.compile("|".join(map(re.escape, _MARKS)))


@define
class HarmonyParser:
    """Splits the text of one reply in OpenAI's harmony format, which servers without a parser for
    gpt-oss pass on as text. Text that may still become a mark is held back.

    A reply is a row of messages: ``<|start|>assistant<|channel|>analysis<|message|>…<|end|>``. The
    channel ``analysis`` is thinking; ``final``, and what a model says before it calls a tool
    (``commentary``), is the answer. Some servers leave out the head of the first or last message.
    """

    _held: str = ""
    _head: str | None = None
    """The head of a message while it is being read; None in its text."""
    _thinks: bool = False
    _answered: bool = False
    """True once the answer has begun: white space in it is the model's own."""

    def feed(self, text: str, *, last: bool = False) -> Iterator[ContentPiece]:
        """Thinking and text that are certain after one more piece, or all after the ``last``."""
        self._held += text
        while mark := _MARK.search(self._held):
            yield from self._part(self._held[: mark.start()])
            self._held = self._held[mark.end() :]
            self._meet(mark[0])
        keep = 0 if last else max(overlap(self._held, known) for known in _MARKS)
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        yield from self._part(text)

    def rest(self) -> Iterator[ContentPiece]:
        """The text that was held back. A head without a message after it counts as text."""
        yield from self.feed("", last=True)
        if self._head and self._head.strip() != "assistant":
            yield "text", self._head

    def _meet(self, mark: str) -> None:
        match mark:
            case "<|start|>" | "<|channel|>" | "<|constrain|>":
                self._head = f"{self._head or ''} "
            case "<|message|>":
                self._thinks, self._head = "analysis" in (self._head or "").split(), None
            case _:
                self._thinks, self._head = False, None

    def _part(self, text: str) -> Iterator[ContentPiece]:
        if self._head is not None:
            self._head += text
        elif text and self._thinks:
            yield "thinking", text
        elif text := text if self._answered else text.lstrip():
            self._answered = True
            yield "text", text


def overlap(text: str, tag: str) -> int:
    """Characters at the end of a text that may be the beginning of a tag."""
    return next((n for n in range(len(tag) - 1, 0, -1) if text.endswith(tag[:n])), 0)


_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "◁think▷": "◁/think▷",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "<|channel>thought": "<channel|>",
}
_MAX_TAG_LENGTH = max(map(len, (*_TAGS, *_BEGINNINGS)))
_START = 80
"""Characters at a line's beginning in which a tag or a fence is looked for."""
_SPECIAL = "<channel|>"
"""A closing tag that is a special token, which no text contains by chance."""
_BARE, _BARE_END = re.compile(r"analysis\w"), "assistantfinal"
"""What remains if a server removes harmony's marks but not the words in them."""
_ALONE = re.compile(
    rf"(?:^|(?<=\n))[ \t]*({'|'.join(map(re.escape, _TAGS.values()))})|({re.escape(_SPECIAL)})"
)
_ALONE_BARE = re.compile(rf"{_ALONE.pattern}|({_BARE_END})")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)

TaggedPiece: TypeAlias = ContentPiece | tuple[Literal["was thinking"], str]


@define
class ThinkTagParser:
    """Splits the text of one reply. Held back are text that may still become a tag, at most a tag's
    length, and white space before the first visible character.
    """

    _held: str = ""
    _close: str = ""
    """The tag that ends the thinking; empty outside of it."""
    _begun: bool = False
    """True once the beginning is over: all the rest is text."""
    _trim: bool = False
    """True between the end of the thinking and the first visible character of the answer."""
    _thought: list[str] = field(factory=list)
    _line: str = ""
    """The beginning of the answer's last line so far."""
    _fences: int = 0
    """Fences in the answer before that line."""
    _ended: bool = False
    """True once a tag has ended the thinking; a further tag is text."""
    _bare: bool = False
    """True if the reply begins like harmony without its marks."""
    _harmony: HarmonyParser | None = None

    def feed(self, text: str) -> Iterator[TaggedPiece]:
        """Thinking and text that are certain after one more piece; ``was thinking`` says that all
        text before was thinking.
        """
        self._held += text
        if not self._begun and not self._close and self._harmony is None:
            self._open()
        if self._harmony is not None:
            held, self._held = self._held, ""
            yield from self._harmony.feed(held)
            return
        if self._close:
            yield from self._inside()
        if self._begun:
            yield from self._answer()

    def rest(self) -> Iterator[TaggedPiece]:
        """What was held back. Thinking that never ended is text, so that it is not lost."""
        if self._harmony is not None:
            yield from self._harmony.rest()
            return
        held, self._held = self._held, ""
        if self._close:
            self._thought.append(held)
            if whole := "".join(self._thought).strip():
                yield ("text", whole)
        elif held and not self._trim:
            yield ("text", held)

    def _open(self) -> None:
        start = self._held.lstrip()
        for opening, closing in _TAGS.items():
            if start.startswith(opening):
                self._held, self._close = start[len(opening) :], closing
                return
        if start.startswith(_BEGINNINGS):
            self._harmony = HarmonyParser()
            return
        known = (*_TAGS, *_BEGINNINGS, "analysis")
        if start and not any(tag.startswith(start[:_MAX_TAG_LENGTH]) for tag in known):
            self._begun, self._bare = True, _BARE.match(start) is not None

    def _inside(self) -> Iterator[ContentPiece]:
        thought, end, after = self._held.partition(self._close)
        if end:
            self._held, self._close, self._begun, self._trim = after, "", True, True
            self._ended = True
        else:
            keep = overlap(thought, self._close)
            self._held = thought[len(thought) - keep :]
            thought = thought[: len(thought) - keep]
        if thought:
            self._thought.append(thought)
            yield ("thinking", thought)

    def _answer(self) -> Iterator[TaggedPiece]:
        if self._trim:
            self._held = self._held.lstrip()
            if not self._held:
                return
            self._trim = False
        if self._ended:
            held, self._held = self._held, ""
            if held:
                yield ("text", held)
            return
        seen = self._line + self._held
        alone = _ALONE_BARE if self._bare else _ALONE
        closing = next((c for c in alone.finditer(seen) if self._in_text(seen[: c.start()])), None)
        if closing is not None:
            self._held, self._ended, self._trim = seen[closing.end() :], True, True
            if before := seen[len(self._line) : closing.start(closing.lastindex or 0)]:
                yield ("text", before)
            yield ("was thinking", "")
            yield from self._answer()
            return
        ends = (*_TAGS.values(), *([_BARE_END] if self._bare else []))
        keep = max(overlap(self._held, tag) for tag in ends)
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        if text:
            yield ("text", text)
            lines, _, last = (self._line + text).rpartition("\n")
            self._fences += len(_FENCE.findall(lines))
            self._line = last[:_START]

    def _in_text(self, lines: str) -> bool:
        return (self._fences + len(_FENCE.findall(lines))) % 2 == 0
