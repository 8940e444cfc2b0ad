"""Messages: the records that a conversation is made of."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from tierline.context.blocks import Block, Text

HistoryRole: TypeAlias = Literal["user", "assistant", "tool", "system"]


class Status(StrEnum):
    """The state of a message."""

    OK = "ok"
    TOOL_CALL = "tool_call"
    DROPPED = "dropped"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@frozen
class Message:
    """One record of the conversation.

    ``id`` is ``{epoch_ms}-{uuid8}``; ``session_id`` is ``sess_{epoch_ms}_{uuid6}``; ``timestamp``
    is ISO 8601 UTC. ``tokens`` is the snapshot weight (prompt + completion) of the request that
    produced an assistant message, equal for all parts of one turn.
    """

    id: str
    session_id: str
    group_id: str
    timestamp: str
    role: HistoryRole
    content: tuple[Block, ...]
    parent_id: str = ""
    branch_id: str = "main"
    status: Status = Status.OK
    parsing_strategy: str = "text"
    """``anthropic``, ``openai``, ``gemini``, ``gemini_gca`` or ``text``."""
    image_refs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    edit_results: tuple[Mapping[str, Any], ...] = ()
    tokens: int = 0
    usage: Mapping[str, int] = field(factory=dict)
    meta: Mapping[str, Any] = field(factory=dict)
    """Fields that this version does not know, kept when a record is copied, and marks of ours."""

    @cached_property
    def plain(self) -> bool:
        """True if it holds nothing but text: no call, result, picture or thinking."""
        return all(type(block) is Text for block in self.content)
