"""Replies in OpenAI's harmony format, which servers without a parser for gpt-oss pass on as text.

A reply is a row of messages: ``<|start|>assistant<|channel|>analysis<|message|>…<|end|>``. The
channel ``analysis`` is thinking; ``final``, and what a model says before it calls a tool
(``commentary``), is the answer. Some servers leave out the head of the first or the last message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from attrs import define

BEGINNINGS = ("<|channel|>", "<|start|>")
_MARK = re.compile(r"<\|(start|channel|constrain|message|end|return|call)\|>")
_LONGEST = len("<|constrain|>")

Told: TypeAlias = tuple[Literal["text", "thinking"], str]


@define
class Harmony:
    """Splits the text of one reply. What may still become a mark is held back."""

    _held: str = ""
    _head: str | None = None
    """The head of a message while it is being read; None in its text."""
    _thinks: bool = False
    _answered: bool = False
    """True once the answer has begun: white space in it is the model's own."""

    def feed(self, text: str, *, last: bool = False) -> Iterator[Told]:
        """What is certain after one more piece of text; all of it after the ``last``."""
        self._held += text
        while mark := _MARK.search(self._held):
            yield from self._part(self._held[: mark.start()])
            self._held = self._held[mark.end() :]
            self._meet(mark[1])
        start = self._held.rfind("<", max(len(self._held) - _LONGEST, 0))
        may_be_mark = start >= 0 and not last and _may_be_mark(self._held[start:])
        end = start if may_be_mark else len(self._held)
        text, self._held = self._held[:end], self._held[end:]
        yield from self._part(text)

    def rest(self) -> Iterator[Told]:
        """What was held back. A head that no message followed is text like any other."""
        yield from self.feed("", last=True)
        if self._head and self._head.strip() != "assistant":
            yield "text", self._head

    def _meet(self, mark: str) -> None:
        match mark:
            case "start" | "channel" | "constrain":
                self._head = f"{self._head or ''} "
            case "message":
                self._thinks, self._head = "analysis" in (self._head or "").split(), None
            case _:
                self._thinks, self._head = False, None

    def _part(self, text: str) -> Iterator[Told]:
        if self._head is not None:
            self._head += text
        elif text and self._thinks:
            yield "thinking", text
        elif text := text if self._answered else text.lstrip():
            self._answered = True
            yield "text", text


def _may_be_mark(text: str) -> bool:
    return any(
        f"<|{name}|>".startswith(text)
        for name in ("start", "channel", "constrain", "message", "end", "return", "call")
    )
