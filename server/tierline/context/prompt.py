"""The neutral prompt: what the engine hands to a provider adapter, before any wire format."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from tierline.context.blocks import Block, Role, Text, visible
from tierline.context.text import well_formed

Ttl: TypeAlias = Literal["5m", "30m", "1h", "12h"]
"""How long a cache entry lives at least: 5m and 1h at Anthropic, 30m and 12h at OpenAI."""
LONG: frozenset[str] = frozenset({"1h", "12h"})
"""Lifetimes whose cache writes have the higher price."""


@frozen
class PromptBlock:
    """One block as it will be sent, with the item that it comes from and its cache marker."""

    block: Block
    key: str
    """Stable key of the item (``file:src/a.py``, ``history:<message id>``, ``prompt``)."""
    mark: Ttl | None = None
    """A cache breakpoint after this block, with its time to live; None for no breakpoint."""


@frozen
class PromptMessage:
    """One message: a role and its blocks, in order."""

    role: Role
    blocks: tuple[PromptBlock, ...]

    @cached_property
    def memo(self) -> dict[str, Any]:
        """A cache of values computed from this message alone, by name."""
        return {}

    @cached_property
    def plain(self) -> bool:
        """True for valid, visible text without a breakpoint: most messages of a conversation. Such
        a message passes every stage as the same object.
        """
        return bool(self.blocks) and all(
            type(b.block) is Text
            and b.mark is None
            and visible(b.block)
            and well_formed(b.block.text) is b.block.text
            for b in self.blocks
        )


@frozen
class ToolSpec:
    """A tool that the model may call. ``input_schema`` is a JSON Schema object."""

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(factory=dict)
    builtin: bool = True
    """Built-in tools come before dynamic ones, so that adding one of these keeps their prefix."""


@frozen
class Thinking:
    """How the model is asked to think. Empty fields are not sent: the service's default holds."""

    mode: str = ""
    """``thinking.type`` of Anthropic's API."""
    effort: str = ""
    """The effort, in the service's own word."""
    shown: bool = False
    """Readable thinking is requested with the reply."""
    drop: bool = False
    """The service shall leave out, not refuse, thinking that is bound to another beginning."""


@frozen
class Prompt:
    """A whole request in neutral form, in the order of bytes: tools, system, messages."""

    model: str
    system: tuple[PromptBlock, ...]
    messages: tuple[PromptMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    tools_mark: Ttl | None = None
    max_output_tokens: int = 4096
    cache_key: str = ""
    """Stable routing key for providers with automatic prefix caching (one per session)."""
    form: Mapping[str, Any] = field(factory=dict)
    """The server's form (``Profile.form``), as the adapter applied it; empty for the plain form."""
    thinking: Thinking = field(factory=Thinking)
    previous_reply: str | None = None
    """The service's id of its previous reply, with which it reports why its cache missed. Empty
    before the first; None if it shall not be sent.
    """
