"""The providers as data: a new one is a row here, its module, and rows in the models table.

A row's module (``adapter``) is imported on first use and offers what ``Adapter`` names. Several
rows may share an adapter: they differ in address and key only.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from attrs import field, frozen

if TYPE_CHECKING:  # the language server imports this module before it answers ``initialize``
    from tierline.context.prompt import Prompt
    from tierline.providers.base import Provider
    from tierline.providers.choose import Choice
    from tierline.providers.editor_port import EditorPort

Origin: TypeAlias = Literal["service", "embedded", "editor"]
Render: TypeAlias = "Callable[[Prompt], Mapping[str, Any]]"


@frozen
class ProviderSpec:
    """What is particular to one provider. Empty fields: it has no such thing."""

    name: str
    """What settings, plans and stored keys call it."""
    title: str
    """What people call it."""
    adapter: str
    """Module in this package; also the name in plans and figures."""
    strategy: str = "openai"
    """The wire format that its messages are tagged with."""
    origin: Origin = "service"
    """service: reached by an address; embedded: our own process; editor: the client asks."""
    default_model: str = ""
    base_url: str = ""
    """Empty if the SDK knows the address."""
    key_variable: str = ""
    """Environment variable of the key."""
    url_variable: str = ""
    """Environment variable that the SDK reads another address from."""
    key_prefix: str = field(default="", repr=False)
    """How its keys begin."""
    model_prefix: str = ""
    """How the names of its own models begin. An address or model with it speaks its format."""
    compatible: bool = False
    """Other servers speak its format; those often ask for no key."""
    automatic: bool = False
    """A key in the environment is enough to choose it."""


class Adapter(Protocol):
    """What a provider's module offers."""

    BODIES: tuple[Render, ...]
    """The ways in which it writes a body, for plans that are rendered again."""

    @staticmethod
    def make(choice: Choice, editor: EditorPort | None) -> Provider:
        """Connects to nothing and loads nothing yet."""
        ...


SPECS = (
    ProviderSpec(
        "anthropic",
        "Anthropic",
        "anthropic",
        strategy="anthropic",
        default_model="claude-sonnet-5",
        key_variable="ANTHROPIC_API_KEY",
        url_variable="ANTHROPIC_BASE_URL",
        key_prefix="sk-ant-",
        model_prefix="claude",
        automatic=True,
    ),
    ProviderSpec(
        "openai",
        "OpenAI",
        "openai",
        default_model="gpt-5.6",
        key_variable="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        key_prefix="sk-",
        compatible=True,
        automatic=True,
    ),
    ProviderSpec("local", "Embedded model", "local", origin="embedded"),
    ProviderSpec("editor", "The editor's models", "editor", origin="editor"),
)
_BY_NAME = {spec.name: spec for spec in SPECS}
NAMES = tuple(_BY_NAME)
COMPATIBLE = next(spec for spec in SPECS if spec.compatible)
"""Whose format servers speak that nobody described."""


def spec(name: str) -> ProviderSpec | None:
    """The row of a provider, if there is one of that name."""
    return _BY_NAME.get(name)


def of_origin(origin: Origin) -> ProviderSpec:
    """The first row of an origin."""
    return next(row for row in SPECS if row.origin == origin)


def with_keys() -> tuple[ProviderSpec, ...]:
    """The services, which ask for a key."""
    return tuple(row for row in SPECS if row.key_variable)


def owner(model: str) -> ProviderSpec | None:
    """The provider whose models have names that begin like this one."""
    rows = (row for row in SPECS if row.model_prefix)
    return next((row for row in rows if model.startswith(row.model_prefix)), None)


def adapter(name: str) -> Adapter:
    """The module of an adapter."""
    return cast("Adapter", importlib.import_module(f"tierline.providers.{name}"))
