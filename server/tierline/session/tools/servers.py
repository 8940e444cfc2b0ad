"""Tools of MCP servers: started with the user's consent, asked about by tool, bounded like ours."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from attrs import define, field

from tierline.context.display import shown_name, visible_text
from tierline.context.prompt import ToolSpec
from tierline.context.refusals import Refusal
from tierline.context.text import clip
from tierline.mcpservers.connection import ServerConnection, ServerError, ServerTool
from tierline.mcpservers.definitions import FILES, ServerDefinition, parse
from tierline.session.consents import ConsentDecision, ConsentService
from tierline.session.events import EventBus
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.tools.commands import AllowList
from tierline.session.tools.toolbox import ToolService
from tierline.tools.registry import Call, Consent, Tool, ToolOutput
from tierline.workspace.paths import Roots
from tierline.workspace.reading import read_file

log = logging.getLogger(__name__)

SETTLE_SECONDS = 10.0
"""Longest wait of a turn for starting servers: tools that appear later would invalidate
its cache.
"""
MAX_DEFINITION = 256 * 1024
"""Bytes of a configuration file."""
MAX_DESCRIPTION = 2000
"""Characters of a tool's description: each request pays for them."""
_MAX_SENT_ENTRIES = 200
"""Characters of a variable or a header in the question before a server is started."""
MAX_ANSWER = 400_000
"""Characters of an answer, as for commands."""
_ODD = re.compile(r"[^A-Za-z0-9_]+")


@define(eq=False, repr=False, slots=False)
class ServerService:
    """Keeps the MCP servers of a workspace, and offers their tools to the model."""

    _bus: EventBus
    _preferences: Preferences
    _roots: Roots
    _tools: ToolService
    _consents: ConsentService
    _snapshots: SnapshotService
    _connections: dict[str, ServerConnection] = field(factory=dict, init=False)
    _starting: set[asyncio.Task[None]] = field(factory=set, init=False)
    _asking: set[asyncio.Task[None]] = field(factory=set, init=False)

    def start(self, passed: Sequence[ServerDefinition] = ()) -> None:
        """Start the servers that the editor passed on, and those that the workspace names if the
        user agrees. Returns at once.
        """
        settings = self._preferences.settings.tools
        if settings.mcp_servers == "off" or not settings.workspace_trusted:
            return
        for definition in passed:
            if not self._off(definition.name):
                self._begin(definition)
        self._keep(self._asking, self._named())

    async def settled(self) -> None:
        """Wait up to ``SETTLE_SECONDS`` for servers that are starting."""
        if self._starting:
            await asyncio.wait(set(self._starting), timeout=SETTLE_SECONDS)

    async def close(self) -> None:
        """End all servers."""
        for task in (*self._asking, *self._starting):
            task.cancel()
        await asyncio.gather(*(c.close() for c in self._connections.values()))

    # --- starting --------------------------------------------------------------------------------

    async def _named(self) -> None:
        """Start the servers that the workspace's files name, each with the user's consent."""
        found, problems = await asyncio.to_thread(self._definitions)
        for text in problems:
            self._say(f"{text} It is not used.")
        for definition in found:
            if self._off(definition.name):
                continue
            if definition.name not in self._connections and await self._agreed(definition):
                self._begin(definition)

    def _definitions(self) -> tuple[list[ServerDefinition], list[str]]:
        """Blocking."""
        root = self._roots.primary
        found: dict[str, ServerDefinition] = {}
        problems: list[str] = []
        for name in FILES if root is not None else ():
            place = f"{root}/{name}"
            if not os.path.lexists(place):
                continue
            read = read_file(name, place, MAX_DEFINITION)
            if isinstance(read, Refusal):
                problems.append(read.message)
                continue
            named, wrong = parse(read.data.decode("utf-8", "replace"), name, os.environ)
            problems += wrong
            for definition in named:
                found.setdefault(definition.name, definition)
        return list(found.values()), problems

    async def _agreed(self, definition: ServerDefinition) -> bool:
        """Whether the user agrees to start exactly this server: a repository must not start a
        program.
        """
        mark = hashlib.sha256("\0".join(definition.identity).encode()).hexdigest()[:16]
        entry = ["mcp-server", definition.name, mark]
        if entry in await asyncio.to_thread(self._allowed().commands):
            return True
        along = ", ".join(
            shown_name(clip(one, _MAX_SENT_ENTRIES)) for one in definition.written[1:]
        )
        given = f" It is given {along}." if along else ""
        decision = await self._consents.ask_user(
            "command",
            f"Start the MCP server {visible_text(definition.name)[:60]}?",
            visible_text(definition.shown),
            f"{definition.origin} of this workspace names it.{given}",
            can_remember=True,
        )
        return await self._settled_for(decision, entry)

    def _begin(self, definition: ServerDefinition) -> None:
        connection = ServerConnection(definition, str(self._roots.primary or Path.home()))
        self._connections[definition.name] = connection
        self._keep(self._starting, self._connect(connection))

    async def _connect(self, connection: ServerConnection) -> None:
        name = visible_text(connection.definition.name)[:60]
        try:
            await connection.open()
        except ServerError as error:
            self._say(f"The MCP server {name} is not used: {error}.")
            return
        for tool in connection.tools:
            if self._off(connection.definition.name, tool.name):
                continue
            self._tools.registry.add(self._tool(connection, tool))
        self._bus.context_changed()
        log.info("The MCP server %s offers %d tools", name, len(connection.tools))

    def _tool(self, connection: ServerConnection, tool: ServerTool) -> Tool:
        spec = ToolSpec(
            name=offered_name(connection.definition.name, tool.name),
            description=clip(
                f"{tool.description} (MCP server {connection.definition.name})".strip(),
                MAX_DESCRIPTION,
            ),
            input_schema=dict(tool.schema),
            builtin=False,
        )

        async def answer(call: Call) -> ToolOutput:
            return await self._call(connection, tool, call)

        return Tool(spec, answer, Consent.SERVER, title=_title)

    # --- calling ---------------------------------------------------------------------------------

    async def _call(self, connection: ServerConnection, tool: ServerTool, call: Call) -> ToolOutput:
        server = connection.definition.name
        entry = ["mcp-tool", server, tool.name]
        if not await self._may(entry, connection, tool, call):
            return ToolOutput(
                "Not called: the user did not allow this call.", error=True, note="not allowed"
            )
        self._tools.running(call)
        try:
            work = connection.call(tool.name, call.arguments)
            found = await self._snapshots.around(call.turn_id, call.name, work)
        except ServerError as error:
            return ToolOutput(f"The MCP server {server} gave no answer: {error}.", error=True)
        text = found.text
        if len(text) > MAX_ANSWER:
            text = clip(text, MAX_ANSWER) + "\n[cut: the answer was longer]"
        return ToolOutput(text, found.error, found.images)

    async def _may(
        self, entry: list[str], connection: ServerConnection, tool: ServerTool, call: Call
    ) -> bool:
        if matches(self._preferences.settings.tools.mcp_allow, entry[1], tool.name):
            return True
        allowed = await asyncio.to_thread(self._allowed().commands)
        if entry in allowed or [*entry[:2], "*"] in allowed:
            return True
        server = visible_text(connection.definition.name)[:60]
        says = " It says that it changes nothing." if tool.reads_only else ""
        self._tools.is_asking(call)
        decision = await self._consents.ask_user(
            "command",
            f"Call {visible_text(tool.name)[:60]} of the MCP server {server}?",
            visible_text(json.dumps(call.arguments, ensure_ascii=False, indent=1)),
            f"“Always” is for this tool with any arguments.{says}",
            turn_id=call.turn_id,
            call_id=call.id,
            can_remember=True,
        )
        return await self._settled_for(decision, entry)

    async def _settled_for(self, decision: ConsentDecision, entry: list[str]) -> bool:
        """Whether it may be done; ``entry`` is not asked about again if the user said so."""
        if decision.answer == "always":
            await asyncio.to_thread(self._allowed().add, entry)
        return decision.allowed

    def _off(self, server: str, tool: str = "") -> bool:
        return matches(self._preferences.settings.tools.mcp_off, server, tool)

    def _allowed(self) -> AllowList:
        return AllowList(str(self._roots.primary or Path()))

    def _say(self, text: str) -> None:
        self._bus.notice("warning", text, "mcp")

    def _keep(self, where: set[asyncio.Task[None]], work: Any) -> None:
        task = asyncio.ensure_future(work)
        where.add(task)
        task.add_done_callback(where.discard)


def matches(patterns: str, server: str, tool: str = "") -> bool:
    """True if one of the patterns (``server``, ``server/tool``, ``*`` for any text) matches."""
    for pattern in filter(None, map(str.strip, patterns.split(","))):
        name, slash, rest = pattern.partition("/")
        if fnmatchcase(server, name) and (not slash or (bool(tool) and fnmatchcase(tool, rest))):
            return True
    return False


def offered_name(server: str, tool: str) -> str:
    """A tool's name in the prompt: the same in every session, legal for every provider."""
    name = f"mcp_{_ODD.sub('_', server)}_{_ODD.sub('_', tool)}"
    if len(name) <= 64:
        return name
    return f"{name[:55]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _title(arguments: Mapping[str, Any]) -> str:
    return visible_text(json.dumps(arguments, ensure_ascii=False))
