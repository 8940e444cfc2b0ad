"""Memos, capsules, memory levels and compaction."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import field

from tierline.protocol.base import define
from tierline.protocol.values import ChatMessage

MemoScope: TypeAlias = Literal["project", "user"]


@define
class MemoInfo:
    """A memo: knowledge that does not depend on a session. Times are ISO 8601 UTC."""

    id: str
    scope: MemoScope
    content: str
    tags: list[str] = field(factory=list)
    created: str = ""
    changed: str = ""
    source: Literal["user", "model"] = "user"


@define
class MemoListParams:
    """Memos of one scope or both, with a tag or any."""

    scope: Literal["project", "user", ""] = ""
    tag: str = ""


@define
class MemoListResult:
    """Memos, and the tags that are in use, the most frequent first."""

    memos: list[MemoInfo]
    tags: list[str] = field(factory=list)


@define
class MemoSaveParams:
    """A new memo: for this project, or for all projects of the user."""

    content: str
    tags: list[str] = field(factory=list)
    scope: MemoScope = "project"


@define
class MemoEditParams:
    """What to change; what is left out stays. Another scope moves the memo: it gets a new id."""

    id: str
    content: str | None = None
    tags: list[str] | None = None
    scope: Literal["project", "user", ""] = ""


@define
class MemoParams:
    """A memo by id."""

    id: str


@define
class MemoSearchParams:
    """Words, tags that a memo must all have, or both."""

    query: str = ""
    tags: list[str] = field(factory=list)
    scope: Literal["project", "user", ""] = ""
    limit: int = 50


@define
class CapsuleInfo:
    """A short description of a file: an aid, never the truth."""

    path: str
    text: str
    source: Literal["extract", "model"]
    model: str
    confidence: float
    """0 to 1."""
    created: str
    sha256: str
    """Of the text that it describes."""
    stale: bool = False
    """The file has changed since, or is gone: it is not sent."""


@define
class CapsuleListResult:
    """All capsules by path."""

    capsules: list[CapsuleInfo]


@define
class CapsuleMakeParams:
    """A file to describe, by its own words or by the model."""

    path: str
    use_model: bool = False


@define
class MemoryLevel:
    """One level and how full it is. Token counts; volatile has what the others leave."""

    level: Literal["permanent", "session", "working", "volatile"]
    tokens: int
    budget: int


@define
class MemorySummaryInfo:
    """A summary with its provenance."""

    id: str
    level: Literal["permanent", "session", "working", "volatile"]
    title: str
    text: str
    tokens: int
    original_tokens: int
    sources: list[str]
    """Ids of the messages that it was made from."""
    archived: bool = False
    """It is no longer sent, but can be retrieved."""


@define
class MemoryStats:
    """The memory as it is now, also under other strategies."""

    active: bool
    """The history strategy is ``levels``."""
    used: int
    total: int
    messages: int
    levels: list[MemoryLevel]
    summaries: list[MemorySummaryInfo]
    ratio: float
    """How many times shorter summaries are, on average; 0 before the first."""
    original_tokens: int
    compressed_tokens: int
    tasks: int
    task: str
    retrieved: list[str]
    """What went with the last prompt, e.g. ``task-2``, ``error-17``, ``turn-8``."""
    last_compression_minutes: float | None = None
    warning: str = ""
    """Summaries are too detailed (under 2x on average); empty if all is well."""
    lines: list[str] = field(factory=list)
    """The same as text."""


CompactionCase: TypeAlias = Literal["truncate", "summarize", "none"]


@define
class CompactionParams:
    """Compact now. ``instructions``: what the summary is to hold, in the user's own words."""

    instructions: str = ""


@define
class CompactionView:
    """What a compaction stands for."""

    compaction_id: str
    summary: str
    messages: list[ChatMessage]
    """Those that are no longer sent, oldest first."""
    tokens: int
    """What they took."""
    kept: int = 0
    """Messages of the same turns that are still sent."""


@define
class CompactionUndoParams:
    """A compaction by the id of its message; the newest one in force when empty."""

    compaction_id: str = ""


@define
class CompactionResult:
    """What a compaction did. Token counts of the history as it is sent."""

    case: CompactionCase
    reason: str
    compaction_id: str = ""
    summary: str = ""
    messages: int = 0
    """How many messages it stands for."""
    tokens_before: int = 0
    tokens_after: int = 0
