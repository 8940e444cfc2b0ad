"""What passes between the adapter for the editor's models and the protocol edge. Kept small: the
language server imports this module before it answers ``initialize``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol, TypeAlias

from attrs import field, frozen


@frozen
class EditorModel:
    """A model that the editor offers. ``max_input_tokens`` is 0 if the editor does not say."""

    id: str
    name: str = ""
    vendor: str = ""
    family: str = ""
    max_input_tokens: int = 0
    pictures: bool = False

    @property
    def label(self) -> str:
        """The vendor's name and the model's id: unique, and not the name of a provider's own model,
        whose prices would not hold here.
        """
        return f"{self.vendor}:{self.id}" if self.vendor else self.id


@frozen
class ReplyPiece:
    """A part of a reply: text, thinking, or a whole call with its arguments as JSON text."""

    text: str = ""
    call_id: str = ""
    call_name: str = ""
    call_arguments: str = ""
    thinking: str = ""


@frozen
class ReplyEnd:
    """The client's message that the reply is complete."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    usage: Mapping[str, Any] = field(factory=dict)
    """The model's usage, in the format of Chat Completions or Messages."""


ReplyEvent: TypeAlias = ReplyPiece | ReplyEnd


class EditorPort(Protocol):
    """The way to the client. The protocol edge implements it."""

    @property
    def available(self) -> bool:
        """True if the client declared that it has language models."""
        ...

    async def models(self) -> list[EditorModel]:
        """The models that the editor offers now; empty if it offers none or has no model API."""
        ...

    def chat(self, model: str, body: Mapping[str, Any]) -> AsyncGenerator[ReplyEvent, None]:
        """Send and stream; raises ProviderError. Closing the iterator cancels at the client."""
        ...
