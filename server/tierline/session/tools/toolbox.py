"""The session's tools: offering them, running calls, and telling the clients."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict, define, evolve, field

from tierline import protocol as p
from tierline.context.counting import TokenCounter
from tierline.context.items import Item, Section
from tierline.context.prompt import ToolSpec
from tierline.context.text import clip, well_formed
from tierline.errors import ENDS, TierlineError
from tierline.history.messages import Message
from tierline.providers.base import ToolCall
from tierline.session.conversation.views import shown_arguments
from tierline.session.events import EventBus
from tierline.session.models import ModelService
from tierline.session.state.preferences import Preferences
from tierline.session.texts import redacted
from tierline.session.workbench import Workbench
from tierline.tools import reading, searching
from tierline.tools.registry import Call, Consent, Registry, Tool, ToolOutput
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath

log = logging.getLogger(__name__)

MAX_RESULT = 5_000_000
"""Characters of a result that are kept; tools should limit themselves to less."""
SHARE = 0.25
"""Largest share of the model's input for tool definitions; beyond it, tools are left out."""


_NO_ROOM = (
    "It is offered no tools: their definitions would take too much of its window. It answers from "
    "the context alone."
)


@define(eq=False, repr=False, slots=False)
class ToolService:
    """Offers and runs tools. Other services add their tools to ``registry``."""

    _bus: EventBus
    _preferences: Preferences
    _models: ModelService
    _loader: Loader
    _workbench: Workbench
    registry: Registry = field(factory=Registry, init=False)

    def __attrs_post_init__(self) -> None:
        for tool in (
            *reading.tools(self._loader, lambda: self._models.facts().max_input_tokens),
            searching.tool(self._loader),
        ):
            self.registry.add(tool)

    # --- what is offered -------------------------------------------------------------------------

    def specs(self) -> tuple[ToolSpec, ...]:
        """The definitions of the next request; none if tools are off or do not fit."""
        return () if self._unable() else self._fitting()

    def without(self) -> str:
        """Why the model is offered no tools, for the user; empty if it is offered some."""
        return self._unable() or ("" if self._fitting() else _NO_ROOM)

    def _unable(self) -> str:
        enabled, models = self._preferences.settings.tools.enabled, self._models
        if enabled == "off":
            return "Tools are switched off (tools.enabled)."
        if enabled == "auto" and models.embedded:
            return "The embedded model is offered no tools: it answers from the context alone."
        if not models.renders_tools:
            return "This model takes no tools: it answers from the context alone."
        return ""

    def _fitting(self) -> tuple[ToolSpec, ...]:
        specs = self.registry.specs(self._offered)
        facts = self._models.facts()
        counter = self._models.counter()
        room = SHARE * facts.max_input_tokens
        return specs if tools_tokens(specs, counter) <= room else ()

    def _offered(self, tool: Tool) -> bool:
        settings = self._preferences.settings.tools
        if tool.consent is Consent.COMMAND:
            return settings.commands != "off" and settings.workspace_trusted
        if tool.consent is Consent.SERVER:
            return settings.mcp_servers != "off" and settings.workspace_trusted
        if tool.consent is Consent.EDIT:
            return settings.workspace_trusted
        return True

    # --- running ---------------------------------------------------------------------------------

    def is_valid(self, call: ToolCall) -> ToolCall:
        """The call with values of a wrong type converted where they have one meaning."""
        return evolve(call, input=self.registry.repaired(call.name, call.input))

    async def run(self, call: ToolCall, message: Message) -> tuple[ToolOutput, int]:
        """Run one call, whatever the model wrote. Returns the answer and milliseconds.

        Raises:
            asyncio.CancelledError: the turn was stopped.
        """
        began = time.monotonic()
        output = await self._run(call, message)
        text = well_formed(output.text)
        if len(text) > MAX_RESULT:
            text = clip(text, MAX_RESULT) + "\n[cut: the result was too long to keep]"
        clean, _ = await redacted(text)
        output = ToolOutput(clean, output.error, output.images, output.note, output.facts)
        return output, round(1000 * (time.monotonic() - began))

    async def _run(self, call: ToolCall, message: Message) -> ToolOutput:
        if problem := self.registry.check(call.name, call.input, call.error):
            return ToolOutput(problem, error=True)
        tool = self.registry.get(call.name)
        if tool is None or not self._offered(tool):
            return ToolOutput(f"{call.name} is switched off here.", error=True)
        try:
            await self._refresh(call.input)
            return await tool.handler(
                Call(call.id, call.name, call.input, message.group_id, message.id)
            )
        except TierlineError as error:
            return ToolOutput(f"{error.message} {error.advice}", error=True)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return ToolOutput(f"{call.name} was interrupted.", error=True)
        except ENDS:
            raise
        except BaseException as error:  # a panic in native code is a BaseException
            log.exception("The tool %s failed", call.name)
            return ToolOutput(f"{call.name} failed inside Tierline: {type(error).__name__}.", True)

    async def _refresh(self, arguments: Mapping[str, Any]) -> None:
        """Update open documents, so that tools read and change what the user sees."""
        place = self._loader.roots.resolve(str(arguments.get("path") or ""))
        if isinstance(place, ResolvedPath):
            await self._workbench.refresh([self._loader.uri(place.key)])

    def is_asking(self, call: Call, edit_id: str = "") -> None:
        """Note that a call waits for the user."""
        self._changed(call, "asking", edit_id)
        self._bus.publish(p.Waiting(call.turn_id, "Waiting for your decision."))

    def running(self, call: Call) -> None:
        """Note that a call that had to wait runs now."""
        self._changed(call, "running")
        self._bus.publish(p.Waiting(call.turn_id, f"Running {call.name}…"))

    def _changed(self, call: Call, status: p.CallStatus, edit_id: str = "") -> None:
        row = self.row(ToolCall(call.id, call.name, call.arguments), call.message_id, status)
        row.edit_id = edit_id
        self._bus.publish(p.ToolChanged(call.turn_id, row))

    def title(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Words for a call's row."""
        tool = self.registry.get(name)
        return tool.titled(arguments) if tool else ""

    def alone(self, name: str) -> bool:
        """True if a call must not run beside others."""
        tool = self.registry.get(name)
        return tool is not None and tool.alone

    def row(self, call: ToolCall, message_id: str, status: p.CallStatus) -> p.ToolCallInfo:
        """A call as clients show it."""
        return p.ToolCallInfo(
            id=call.id,
            message_id=message_id,
            name=call.name,
            title=self.title(call.name, call.input),
            status=status,
            arguments=shown_arguments(call.input),
        )


def tools_tokens(specs: Sequence[ToolSpec], counter: TokenCounter) -> int:
    """Tokens of the definitions in a request, the service's overhead included."""
    return counter.count(list(specs)) + counter.model.tools_overhead_tokens if specs else 0


def tools_items(specs: Sequence[ToolSpec], counter: TokenCounter) -> list[Item]:
    """The definitions as one item of the plan. It has no text, as a request has its own field for
    tools.
    """
    if not specs:
        return []
    names = ", ".join(spec.name for spec in specs)
    return [
        Item(
            key="tools",
            section=Section.TOOLS,
            sha256=tools_hash(specs),
            tokens=tools_tokens(specs, counter),
            priority=100,
            required=True,
            origin=names,
        )
    ]


def tools_hash(specs: Sequence[ToolSpec]) -> str:
    """SHA-256 of the definitions; empty for none."""
    if not specs:
        return ""
    text = json.dumps([asdict(spec) for spec in specs], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
