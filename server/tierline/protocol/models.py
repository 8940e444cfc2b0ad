"""Models to choose from, what is known of each, and whether a key is good."""

from __future__ import annotations

from typing import Literal

from attrs import field

from tierline.protocol.base import define


@define
class ModelsParams:
    """Whose models: a provider's name, or the address of a server found on this machine."""

    provider: str = ""
    base_url: str = ""


@define
class ModelCard:
    """One model. ``summary`` and ``details`` say the rest in words, a line each."""

    name: str
    known: bool
    """False if nobody described it: sizes are assumed."""
    max_input_tokens: int
    max_output_tokens: int
    summary: str
    details: str
    price_input: float | None = None
    """US dollars per million tokens; null if no price is known."""
    price_output: float | None = None
    price_cached: float | None = None
    caching: Literal["explicit", "automatic", "none"] = "none"
    pictures: bool | None = None
    """Null if nobody knows."""
    thinking: Literal["no", "can", "always", "unknown"] = "unknown"
    note: str = ""


@define
class ModelsResult:
    """The models of a provider. ``source`` says who named them."""

    provider: str
    title: str
    models: list[ModelCard]
    source: Literal["server", "table"]
    notice: str = ""
    """Why the server's own list is not here, if it is not."""


@define
class PresetInfo:
    """A provider that can be set up. What stands in braces in its address is to be filled in."""

    name: str
    title: str
    base_url: str
    key_prefix: str = ""
    own: bool = False
    """A server that users run themselves: the address may differ, and a key is rarely needed."""


@define
class KeyCheckParams:
    """A key that is to be tried before it is stored. It is forgotten afterwards."""

    provider: str
    key: str
    base_url: str = ""


@define
class KeyCheckResult:
    """Whether the key is good. ``message`` is one sentence and what to do."""

    outcome: Literal["ok", "refused", "unreachable", "unknown"]
    """unknown: the server was reached, but has no way to try a key without a prompt."""
    message: str
    models: list[str] = field(factory=list)
