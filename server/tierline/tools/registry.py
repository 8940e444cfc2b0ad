"""What the model may call: typed definitions in one canonical order.

A tool is data: a name, a description, a JSON schema, the function that answers, and what the user
has to agree to. Definitions are part of the cached prefix, so their order never depends on that of
registration: built-in ones by name, then the others by name (``ToolSpec.builtin``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from attrs import field, frozen

from tierline.context.blocks import Image
from tierline.context.prompt import ToolSpec
from tierline.tools.schema import misnamed, problems, repaired


class Consent(StrEnum):
    """What the user has to agree to before a call has any effect."""

    NONE = "none"
    """Reads what may be read, or writes only the model's own notes: runs at once."""
    EDIT = "edit"
    """Changes a file: the tool itself shows the change and waits for accept or reject."""
    COMMAND = "command"
    """Runs a program: the tool itself asks, each time or until it is allow-listed."""
    SERVER = "server"
    """A tool of an MCP server, whose effects are unknown: asked about like a command."""


@frozen
class Call:
    """One call as a handler sees it."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    turn_id: str = ""
    message_id: str = ""
    """The assistant message that holds the call."""


@frozen
class ToolOutput:
    """A handler's answer. ``text`` is the full text for the model; it is truncated
    when it is sent.
    """

    text: str
    error: bool = False
    images: tuple[Image, ...] = ()
    note: str = ""
    """A few words for the row in the chat (``42 lines``); empty for none."""
    facts: Mapping[str, Any] = field(factory=dict)
    """JSON values for the trace and the history record (``files_modified``, ``edit_results``)."""


Handler: TypeAlias = Callable[[Call], Awaitable[ToolOutput]]


@frozen
class Tool:
    """A tool: what the model is told about it, who answers, what the user must agree to."""

    spec: ToolSpec
    handler: Handler
    consent: Consent = Consent.NONE
    title: Callable[[Mapping[str, Any]], str] | None = None
    """Words for the row in the chat, made from the (unchecked) arguments."""
    parallel: bool = True
    """May run beside other calls of the same reply; only for tools that need no consent."""

    @property
    def name(self) -> str:
        """The name that the model calls it by."""
        return self.spec.name

    @property
    def alone(self) -> bool:
        """True if no other call of the same reply may run beside it."""
        return not self.parallel or self.consent is not Consent.NONE

    def titled(self, arguments: Mapping[str, Any]) -> str:
        """Words for the row in the chat, whatever the shape of the arguments."""
        try:
            words = self.title(arguments) if self.title else ""
        except (TypeError, ValueError, AttributeError, KeyError, IndexError):
            words = ""
        return " ".join(words.split())[:200]


class Registry:
    """The tools of one session. Registering a name again replaces it."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(self, tool: Tool) -> None:
        """Register a tool.

        Raises:
            ValueError: the name is not one that every provider takes.
        """
        name = tool.name
        if not (0 < len(name) <= 64 and name.isascii() and name.replace("_", "").isalnum()):
            raise ValueError(f"not a usable name for a tool: {name!r}")
        self._tools[name] = tool

    def remove(self, name: str) -> None:
        """Forget a tool; unknown names are no error."""
        self._tools.pop(name, None)

    def get(self, name: str) -> Tool | None:
        """The tool of a name."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        """All tools in canonical order."""
        return iter(sorted(self._tools.values(), key=lambda t: (not t.spec.builtin, t.name)))

    def specs(self, offered: Callable[[Tool], bool] = lambda _tool: True) -> tuple[ToolSpec, ...]:
        """The definitions to send, in canonical order."""
        return tuple(tool.spec for tool in self if offered(tool))

    def repaired(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments of a call, values of a wrong type repaired where they have one meaning."""
        tool = self._tools.get(name)
        return arguments if tool is None else repaired(arguments, tool.spec.input_schema)

    def check(self, name: str, arguments: Mapping[str, Any], error: str = "") -> str:
        """Why a call cannot be run, in words for the model; empty if it can.

        ``error`` is what the provider adapter found wrong with the arguments.
        """
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(t.name for t in self)
            return f"There is no tool {name[:100]!r}. Tools: {known}."
        if error:
            return f"{error} Call {name} again with one JSON object."
        found = problems(arguments, tool.spec.input_schema)
        if found or tool.spec.builtin:
            found += misnamed(arguments, tool.spec.input_schema)
        if found:
            return f"The arguments of {name} are not usable: {'; '.join(found)}."
        return ""
