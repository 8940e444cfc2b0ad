"""The bodies of ``tierline/chat/event``, the server's notification."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tierline.protocol.base import ContextMode, NoticeLevel, TurnOutcome, define
from tierline.protocol.cache import CacheReport
from tierline.protocol.files import UrlInfo
from tierline.protocol.memory import CompactionResult
from tierline.protocol.symbols import PinsResult, SymbolsStatus
from tierline.protocol.values import (
    Budget,
    ChatMessage,
    ConsentInfo,
    EditInfo,
    FileInfo,
    ProviderInfo,
    QueuedPrompt,
    ToolCallInfo,
    UsageInfo,
)


@define
class TurnStarted:
    """A turn began: its request is being sent."""

    turn_id: str
    message: ChatMessage
    context_line: str = ""
    """The budget meter's line under the user message, e.g. ``2 files · 2.1k tokens · CTX light``"""
    kind: Literal["turnStarted"] = "turnStarted"


@define
class TextDelta:
    """More of the reply."""

    turn_id: str
    text: str
    kind: Literal["textDelta"] = "textDelta"


@define
class ReasoningDelta:
    """More of the model's thinking."""

    turn_id: str
    text: str
    was_text: bool = False
    """All of the reply's text so far was thinking. ``text`` repeats it; clients that can, move it
    from the reply to the thinking.
    """
    kind: Literal["reasoningDelta"] = "reasoningDelta"


@define
class Waiting:
    """Nothing has streamed yet, or a retry is due; shown as the turn's status."""

    turn_id: str
    text: str
    seconds: float = 0
    kind: Literal["waiting"] = "waiting"


@define
class Notice:
    """A message for the user."""

    level: NoticeLevel
    text: str
    code: str = ""
    turn_id: str = ""
    kind: Literal["notice"] = "notice"


@define
class MessageAdded:
    """The running turn has a new message: a complete reply that calls tools, or a prompt of the
    user's. What streams next belongs to another message.
    """

    turn_id: str
    message: ChatMessage
    kind: Literal["messageAdded"] = "messageAdded"


@define
class QueueChanged:
    """The queue of waiting prompts changed."""

    prompts: list[QueuedPrompt]
    kind: Literal["queueChanged"] = "queueChanged"


@define
class ToolChanged:
    """A call of a tool began, waits for the user, or has ended."""

    turn_id: str
    call: ToolCallInfo
    kind: Literal["toolChanged"] = "toolChanged"


@define
class ConsentAsked:
    """The user has to agree before the turn goes on."""

    consent: ConsentInfo
    kind: Literal["consentAsked"] = "consentAsked"


@define
class ConsentClosed:
    """A question was answered, here or elsewhere, or is no longer asked."""

    id: str
    answer: Literal["once", "always", "deny", "withdrawn"]
    kind: Literal["consentClosed"] = "consentClosed"


@define
class EditChanged:
    """An edit was proposed or decided, or its state changed."""

    edit: EditInfo
    kind: Literal["editChanged"] = "editChanged"


@define
class TurnFinished:
    """The reply is complete, stopped or failed; the message holds what there is."""

    turn_id: str
    outcome: TurnOutcome
    message: ChatMessage | None = None
    usage: UsageInfo | None = None
    """Sums over all requests of the turn, those that were cut off included; null if none was
    answered."""
    last: UsageInfo | None = None
    """The last request alone, if there were several."""
    code: str = ""
    """Error code when the outcome is ``error``."""
    error: str = ""
    advice: str = ""
    cache: CacheReport | None = None
    """What the cache gave the turn's last request."""
    seconds: float = 0.0
    """How long the user has waited for it."""
    kind: Literal["turnFinished"] = "turnFinished"


@define
class BudgetChanged:
    """The budget as it is now."""

    budget: Budget
    kind: Literal["budgetChanged"] = "budgetChanged"


@define
class FilesChanged:
    """The file context as it is now."""

    files: list[FileInfo]
    kind: Literal["filesChanged"] = "filesChanged"


@define
class UrlsChanged:
    """The web pages of the context as they are now."""

    urls: list[UrlInfo]
    kind: Literal["urlsChanged"] = "urlsChanged"


@define
class StateChanged:
    """The conversation was replaced (session loaded, undo, branch switch): ask for the state."""

    reason: str
    kind: Literal["stateChanged"] = "stateChanged"


@define
class ModeChanged:
    """The context mode changed."""

    mode: ContextMode
    kind: Literal["modeChanged"] = "modeChanged"


@define
class ProviderChanged:
    """The provider or the model changed."""

    provider: ProviderInfo
    kind: Literal["providerChanged"] = "providerChanged"


@define
class MemosChanged:
    """A memo was saved, changed or deleted."""

    kind: Literal["memosChanged"] = "memosChanged"


@define
class NotesChanged:
    """The STATE block or the scratchpad changed."""

    which: Literal["anchor", "scratchpad"]
    kind: Literal["notesChanged"] = "notesChanged"


@define
class SymbolsChanged:
    """The symbol index changed its state or its content."""

    status: SymbolsStatus
    kind: Literal["symbolsChanged"] = "symbolsChanged"


@define
class PinsChanged:
    """The pins, leases or suggestions changed."""

    pins: PinsResult
    kind: Literal["pinsChanged"] = "pinsChanged"


@define
class CompactionStart:
    """A compaction has been running for half a second. Prompts can be sent; they wait for it."""

    kind: Literal["compactionStart"] = "compactionStart"


@define
class CompactionComplete:
    """The history was compacted; ``messages`` is the conversation to show from now on."""

    result: CompactionResult
    messages: list[ChatMessage]
    kind: Literal["compactionComplete"] = "compactionComplete"


@define
class CompactionError:
    """The history could not be compacted; it is as it was."""

    code: str
    message: str
    advice: str = ""
    kind: Literal["compactionError"] = "compactionError"


@define
class CompactionNone:
    """A compaction ended without a change: clients remove its progress."""

    reason: str = ""
    kind: Literal["compactionNone"] = "compactionNone"


EventBody: TypeAlias = (
    TurnStarted
    | TextDelta
    | ReasoningDelta
    | Waiting
    | Notice
    | MessageAdded
    | QueueChanged
    | ToolChanged
    | ConsentAsked
    | ConsentClosed
    | EditChanged
    | TurnFinished
    | BudgetChanged
    | FilesChanged
    | UrlsChanged
    | StateChanged
    | ModeChanged
    | ProviderChanged
    | MemosChanged
    | NotesChanged
    | SymbolsChanged
    | PinsChanged
    | CompactionStart
    | CompactionComplete
    | CompactionError
    | CompactionNone
)


@define
class Event:
    """One step of what happens. ``seq`` grows by one; a gap means: ask for the state."""

    seq: int
    session_id: str
    body: EventBody
