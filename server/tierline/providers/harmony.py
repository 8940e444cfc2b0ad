"""Replies in OpenAI's harmony format, which servers without a parser for gpt-oss pass on as text.

A reply is a row of messages: ``<|start|>assistant<|channel|>analysis<|message|>…<|end|>``. The
channel ``analysis`` is thinking; ``final``, and what a model says before it calls a tool
(``commentary``), is the answer. Some servers leave out the head of the first or the last message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import define

from tierline.providers.contents import ContentPiece

BEGINNINGS = ("<|channel|>", "<|start|>")
_MARKS = (*BEGINNINGS, "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>")
_MARK = re.compile("|".join(map(re.escape, _MARKS)))


@define
class HarmonyParser:
    """Splits the text of one reply. Text that may still become a mark is held back."""

    _held: str = ""
    _head: str | None = None
    """The head of a message while it is being read; None in its text."""
    _thinks: bool = False
    _answered: bool = False
    """True once the answer has begun: white space in it is the model's own."""

    def feed(self, text: str, *, last: bool = False) -> Iterator[ContentPiece]:
        """Thinking and text that are certain after one more piece; everything after the ``last``
        one.
        """
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
