"""The chosen provider and model, and the provider's module."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias, cast

from attrs import field, frozen

from tierline.context.prompt import Prompt
from tierline.network import host_of
from tierline.providers.base import Provider, RenderedRequest
from tierline.providers.canonical import dumps, rendered
from tierline.providers.editor_port import EditorModel, EditorPort
from tierline.providers.gguf import LocalModel
from tierline.providers.registry import COMPATIBLE, SPECS, ProviderSpec, at, owner
from tierline.providers.transport import Endpoint

Render: TypeAlias = Callable[[Prompt], Mapping[str, Any]]


@frozen
class ProviderChoice:
    """Which provider and model are used, and why. Equal choices share a provider object."""

    spec: ProviderSpec
    model: str
    base_url: str
    why: str
    found: str = ""
    """Name of the server found on this machine, if that is used."""
    window: int | None = None
    """Window that the server reports for the model, in tokens; None if it was not asked."""
    endpoint: Endpoint = field(factory=Endpoint, repr=False)
    embedded: LocalModel | None = None
    offered: EditorModel | None = None

    newer: bool = False
    """The provider's newer interface is used (``ProviderSpec.newer``)."""
    reasons: bool = False
    """The model thinks, and summaries of its thinking can be requested."""
    retention: bool = False
    """The day-long cache has no extra cost."""
    listed: bool = False
    """Results of tools are lists of parts, which can carry breakpoints."""

    @property
    def kind(self) -> str:
        """The adapter: the wire format and what goes with it."""
        return self.spec.newer if self.newer else self.spec.adapter

    @property
    def official(self) -> bool:
        """True for the provider's own service, by its address."""
        host = host_of(self.base_url)
        own = f"api.{self.spec.name}.com"
        return not self.base_url or host == own or host.endswith(f".{own}")

    @property
    def host(self) -> str:
        """The provider whose prices hold for models that several serve."""
        place = at(self.base_url) if self.spec.compatible else self.spec
        return place.host if place is not None else ""

    @property
    def strategy(self) -> str:
        """The ``parsing_strategy`` of its messages."""
        return self.spec.strategy

    @property
    def embeds(self) -> bool:
        """True for the model that runs in a process of ours."""
        return self.spec.origin == "embedded"


class Adapter(Protocol):
    """The interface of a provider's module."""

    BODIES: tuple[Render, ...]
    """The ways in which it writes a body, for plans that are rendered again."""

    @staticmethod
    def make(choice: ProviderChoice, editor: EditorPort | None) -> Provider:
        """Does not connect or load anything yet."""
        ...


def adapter(name: str) -> Adapter:
    """The module of an adapter."""
    return cast("Adapter", importlib.import_module(f"tierline.providers.{name}"))


@frozen
class Dialect:
    """One of an adapter's ways to render a body."""

    provider: str
    """The adapter's name (``RenderedRequest.provider``)."""
    strategy: str
    body: Render = field(repr=False)


def dialects() -> list[Dialect]:
    """All dialects of all adapters, in the order of the registry."""
    found = {row.adapter: row.strategy for row in SPECS}
    found |= {row.newer: row.strategy for row in SPECS if row.newer}
    return [
        Dialect(name, strategy, body)
        for name, strategy in found.items()
        for body in adapter(name).BODIES
    ]


def rerender(prompt: Prompt, provider: str, sha256: str) -> RenderedRequest:
    """The body with the hash ``sha256``, if one of the adapter's dialects renders it; else the body
    of its first dialect. The caller compares the hashes.

    ``provider`` is the adapter's name. Plans of the first versions do not have one: all dialects
    are tried then, the model's own first.

    Raises:
        ValueError: there is no adapter of that name.
    """
    first: RenderedRequest | None = None
    for dialect in _candidates(prompt.model, provider):
        payload = dumps(dialect.body(prompt))
        request = rendered(dialect.provider, dialect.strategy, prompt.model, payload)
        if request.sha256 == sha256:
            return request
        first = first or request
    if first is None:
        raise ValueError(f"no adapter is called {provider!r}")
    return first


def _candidates(model: str, provider: str) -> Iterator[Dialect]:
    known = dialects()
    family = provider or (owner(model) or COMPATIBLE).adapter
    yield from (dialect for dialect in known if dialect.provider == family)
    if not provider:
        yield from (dialect for dialect in known if dialect.provider != family)
