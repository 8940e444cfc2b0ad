"""The model's tools for history, scratchpad and memos."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from tierline.history.scratchpad import TOOL as SCRATCHPAD_TOOL
from tierline.memory.memos import RETRIEVE_TOOL, SAVE_TOOL
from tierline.session.conversation import Conversation
from tierline.session.memory.memos import MemoService
from tierline.session.memory.scratchpad import ScratchpadService
from tierline.store import query_db
from tierline.tools.registry import Call, Tool, ToolOutput


def note_tools(
    conversation: Conversation, scratchpad: ScratchpadService, memos: MemoService
) -> Iterator[Tool]:
    """``query_db``, ``manage_scratchpad``, ``save_memo``, ``retrieve_memos``."""

    async def query(call: Call) -> ToolOutput:
        index = conversation.store.index
        return ToolOutput(*await asyncio.to_thread(query_db.run, index, call.arguments))

    async def pad(call: Call) -> ToolOutput:
        return ToolOutput(*await scratchpad.tool(call.arguments))

    async def save(call: Call) -> ToolOutput:
        return await memos.save_memo(call.arguments)

    async def retrieve(call: Call) -> ToolOutput:
        return await memos.retrieve_memos(call.arguments)

    yield Tool(query_db.TOOL, query, title=lambda a: str(a.get("sql", "")))
    yield Tool(SCRATCHPAD_TOOL, pad, title=lambda a: str(a.get("action", "")), parallel=False)
    yield Tool(SAVE_TOOL, save, title=lambda a: str(a.get("content", "")), parallel=False)
    yield Tool(RETRIEVE_TOOL, retrieve, title=_wanted)


def _wanted(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return ""
    tags = arguments.get("tags") or []
    return " ".join([str(arguments.get("query", "")), *(f"#{tag}" for tag in tags)])
