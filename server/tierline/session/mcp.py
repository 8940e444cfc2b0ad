"""The workspace's context for other agents: a Model Context Protocol server over the official SDK.

It offers only tools that read: files, search, symbols, history, memos, plans. The same boundary,
ignore rules and redaction hold as for Tierline's own model.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from attrs import asdict, frozen

from tierline import __version__, prompts
from tierline import protocol as p
from tierline.context.text import clip, well_formed
from tierline.errors import TierlineError
from tierline.providers.base import ToolCall
from tierline.session.session import Session
from tierline.tools.registry import ToolOutput
from tierline.tools.schema import problems

READING = (
    "list_files",
    "query_db",
    "read_file",
    "request_code_context",
    "retrieve_memos",
    "search_code",
)
"""Tools of the model's that change nothing."""
MAX_CHARACTERS = 60_000
"""Characters of one answer."""
INSTRUCTIONS = prompts.read("mcp")
_TEXT = {"type": "string"}


@frozen
class McpTool:
    """A tool that only this server has."""

    description: str
    schema: Mapping[str, Any]
    answer: Callable[[Session, Mapping[str, Any]], Awaitable[str]]


async def _search(session: Session, arguments: Mapping[str, Any]) -> str:
    limit = int(arguments.get("limit", 20))
    found = await session.history.search(p.SearchParams(str(arguments["query"]), limit=limit))
    lines = [f"{hit.timestamp} {hit.role} {hit.message_id}: {hit.snippet}" for hit in found.hits]
    return "\n".join(lines) or "Nothing was found."


async def _plans(session: Session, arguments: Mapping[str, Any]) -> str:
    found = await session.plans.listed(p.PlanListParams(int(arguments.get("limit", 20))))
    lines = [f"{x.plan_id} {x.created} {x.model} {x.total_tokens} tokens" for x in found.plans]
    return "\n".join(lines) or "There are no plans yet."


async def _plan(session: Session, arguments: Mapping[str, Any]) -> str:
    found = await session.plans.get(p.PlanParams(str(arguments.get("plan_id", ""))))
    return json.dumps(asdict(found), ensure_ascii=False, indent=1)


async def _explain(session: Session, arguments: Mapping[str, Any]) -> str:
    params = p.PlanExplainParams(str(arguments["key"]), str(arguments.get("plan_id", "")))
    return (await session.plans.explain(params)).sentence


VIEWS: Mapping[str, McpTool] = {
    "explain_context": McpTool(
        "Why a file or another item was in or out of a request.",
        {"type": "object", "properties": {"key": _TEXT, "plan_id": _TEXT}, "required": ["key"]},
        _explain,
    ),
    "get_plan": McpTool(
        "A plan with all its entries: what a request consisted of, and why. The newest by default.",
        {"type": "object", "properties": {"plan_id": _TEXT}},
        _plan,
    ),
    "list_plans": McpTool(
        "The newest plans: one for each request that was sent.",
        {
            "type": "object",
            "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": 200}},
        },
        _plans,
    ),
    "search_history": McpTool(
        "Search all earlier conversations of this workspace, newest first.",
        {
            "type": "object",
            "properties": {
                "query": _TEXT,
                "limit": {"type": "integer", "minimum": 1, "maximum": 200},
            },
            "required": ["query"],
        },
        _search,
    ),
}


class ContextServer:
    """Answers one MCP client from a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def tools(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Name, description and schema of each tool, by name."""
        found = [
            (tool.name, tool.spec.description, tool.spec.input_schema)
            for tool in self._session.tools.registry
            if tool.name in READING
        ]
        found += [(name, view.description, view.schema) for name, view in VIEWS.items()]
        return sorted(found, key=lambda tool: tool[0])

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Run one tool. Never raises: an error is the answer's text."""
        if name in READING:
            message = self._session.conversation.store.make("assistant", "")
            output, _ = await self._session.tools.run(ToolCall("mcp", name, arguments), message)
        elif (view := VIEWS.get(name)) is None:
            names = ", ".join(tool[0] for tool in self.tools())
            output = ToolOutput(f"There is no tool {name!r}. Tools: {names}.", error=True)
        elif found := problems(arguments, view.schema):
            output = ToolOutput(f"The arguments are not usable: {'; '.join(found)}.", error=True)
        else:
            try:
                output = ToolOutput(await view.answer(self._session, arguments))
            except TierlineError as error:
                output = ToolOutput(f"{error.message} {error.advice}", error=True)
        text = well_formed(output.text)
        if len(text) > MAX_CHARACTERS:
            text = clip(text, MAX_CHARACTERS) + "\n[cut]"
        return ToolOutput(text, output.error)

    async def serve(self, stdin: Any = None, stdout: Any = None) -> None:
        """Speak MCP on the given streams (standard input and output by default) until they end."""
        from mcp.server import Server
        from mcp.server.stdio import stdio_server
        from mcp.types import (
            CallToolRequestParams,
            CallToolResult,
            ListToolsResult,
            TextContent,
            Tool,
            ToolAnnotations,
        )

        async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
            reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
            return ListToolsResult(
                tools=[
                    Tool(name=n, description=d, input_schema=dict(s), annotations=reading)
                    for n, d, s in self.tools()
                ]
            )

        async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
            output = await self.call(params.name, params.arguments or {})
            content = [TextContent(type="text", text=output.text)]
            return CallToolResult(content=list(content), is_error=output.error)

        server: Any = Server(
            "tierline",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
        async with stdio_server(stdin, stdout) as (read, write):
            await server.run(read, write, server.create_initialization_options())
