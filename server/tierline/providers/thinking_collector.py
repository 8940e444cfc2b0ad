"""Thinking in Chat Completions replies that the model wants back with its calls.

DeepSeek, Kimi and GLM refuse a later request that lacks ``reasoning_content``; OpenRouter asks for
``reasoning_details``, unchanged; both names of the plain text are in use. Thinking goes back under
the name under which it came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from tierline.providers.base import ReasoningDone

PLAIN = ("reasoning_content", "reasoning")
DETAILS = "reasoning_details"
FIELDS = (*PLAIN, DETAILS)
"""Fields of a message, and of a stream's deltas. OpenAI itself does not send its thinking."""
SIGNATURE = "extra_content"
"""Field of a call that goes back as it came (Gemini, "Thought signatures")."""
_GROWING = ("text", "summary", "data", "signature")


@define
class ThinkingCollector:
    """Gathers the thinking of one reply from its pieces."""

    _texts: dict[str, list[str]] = field(factory=dict)
    _details: list[dict[str, Any]] = field(factory=list)

    def add(self, place: Mapping[str, Any]) -> None:
        """A delta, or a whole message."""
        for name in PLAIN:
            if isinstance(text := place.get(name), str) and text:
                self._texts.setdefault(name, []).append(text)
        details = place.get(DETAILS)
        for piece in details if isinstance(details, list) else ():
            if isinstance(piece, Mapping):
                self._detail(piece)

    def done(self) -> Iterator[ReasoningDone]:
        """The thinking gathered since the last call, if there is any."""
        data: dict[str, Any] = {name: "".join(texts) for name, texts in self._texts.items()}
        if self._details:
            data[DETAILS] = self._details
            data.pop("reasoning", None)  # the same text for clients that do not know the details
        self._texts, self._details = {}, []
        if data:
            yield ReasoningDone(data)

    def _detail(self, piece: Mapping[str, Any]) -> None:
        """Merge a piece: one entry's have its type and index, and texts come in parts."""
        last = self._details[-1] if self._details else None
        names = ("type", "index", "id")
        if last is None or any(last.get(n) != piece.get(n, last.get(n)) for n in names):
            self._details.append(dict(piece))
            return
        for name, value in piece.items():
            before = last.get(name)
            grows = name in _GROWING and isinstance(before, str) and isinstance(value, str)
            last[name] = before + value if grows else value if value is not None else before
