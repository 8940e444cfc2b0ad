"""The chosen provider and model, and the provider's module."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, cast

from attrs import field, frozen

from tierline.context.prompt import Prompt
from tierline.providers.addresses import host_of
from tierline.providers.base import Provider
from tierline.providers.editor_port import EditorModel, EditorPort
from tierline.providers.gguf import LocalModel
from tierline.providers.registry import ProviderSpec, at
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
