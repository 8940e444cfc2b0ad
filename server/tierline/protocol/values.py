"""Values that more than one method or event carries."""

from __future__ import annotations

from typing import Literal

from attrs import field

from tierline.protocol.base import (
    Accuracy,
    CacheOutcome,
    CallStatus,
    ContextMode,
    EditState,
    FileState,
    MessageStatus,
    PinKind,
    define,
)


@define
class ImageInput:
    """A picture that the user attached."""

    media_type: str
    """MIME type: image/png, image/jpeg, image/gif or image/webp."""
    data: str
    """Base64 of the bytes, without a data-URI prefix."""


@define
class FileInfo:
    """One entry of the file context."""

    path: str
    """Workspace-relative POSIX path, root-qualified in multi-root workspaces."""
    uri: str
    tokens: int
    """As it is sent; its full size if it was left out."""
    pin: PinKind
    state: FileState
    reason: str = ""
    """Why it is missing, refused, shed or sent only in part; empty when all is well."""
    tier: str = ""
    """Stability tier in the last plan: L0 to L3, log or active; empty before the first request."""
    aliases: list[str] = field(factory=list)
    """Other names of the same file (links, relative spellings) that were given for it."""
    origin: str = ""
    folder: str = ""
    """The folder that brought it (``src/``), which can be taken out again as one; empty if it came
    by itself."""
    dirty: bool = False
    """True if the text comes from an unsaved editor buffer."""
    code: str = ""
    """Stable code of the reason (``secret``, ``ignored``, ``binary``, …); empty if all is well.
    ``cut``, in state ``ok``: it is larger than one file may be; only its beginning is sent."""
    confirmable: bool = False
    """True if asking again with ``confirm`` would take a refused file."""


@define
class BudgetSection:
    """One part of the next request. The sections' tokens sum exactly to ``used``."""

    name: str
    tokens: int
    detail: str = ""


@define
class UsageInfo:
    """What the provider itself reported for one request, or for all of a turn, in tokens."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    """None where the provider says nothing of its cache."""
    cache_write_tokens: int | None = None
    estimated: bool = False
    """True if the provider reported nothing and these are our own counts."""
    cost: float = 0.0
    """US dollars, as the provider says or by the model table's prices; 0 if they are not known."""
    saved: float = 0.0
    """US dollars that the cache saved; negative where writing cost more than reading gave back."""
    requests: int = 1
    """How many requests these are the sums of."""


@define
class Budget:
    """The size of the next request as it would be sent now. Token counts throughout."""

    model: str
    provider: str
    used: int
    max_input_tokens: int
    max_output_tokens: int
    remaining: int
    percent: float
    """0 to 100."""
    sections: list[BudgetSection]
    accuracy: Accuracy
    margin_percent: float
    """Error margin that enforcement adds; never part of ``used``."""
    limit_source: str
    """Where the window size comes from: table, user, provider or default."""
    history_tokens: int = 0
    compaction_trigger_tokens: int = 0
    last_reported: UsageInfo | None = None
    lifetime_input_tokens: int = 0
    lifetime_output_tokens: int = 0


@define
class ToolCallInfo:
    """One call of a tool, as a foldable row shows it."""

    id: str
    """Unique within its message."""
    message_id: str
    """The assistant message that holds the call."""
    name: str
    title: str = ""
    """What it does, in a few words (``src/a.py, lines 1 to 40``)."""
    status: CallStatus = "waiting"
    note: str = ""
    """What came of it, in a few words (``42 lines``)."""
    arguments: str = ""
    """JSON, cut to what a person reads."""
    result: str = ""
    """The beginning of what the model was told."""
    milliseconds: int = 0
    edit_id: str = ""
    """The edit that it proposes, if it does."""


@define
class ConsentInfo:
    """Something that runs only if the user agrees."""

    id: str
    turn_id: str
    call_id: str
    kind: Literal["command", "url", "spending"]
    title: str
    """The question."""
    text: str
    """What would be done, exactly; what cannot be seen is written as an escape."""
    detail: str = ""
    """Where, and with which limits."""
    can_remember: bool = False
    """True if ``always`` may be answered: exactly this is then never asked again here."""


@define
class EditHunk:
    """One part of a proposed edit, which may be accepted by itself."""

    index: int
    line: int
    """First line, from 1, in the text as it was when that was last looked at."""
    before: str
    after: str
    choice: Literal["", "take", "leave"] = ""
    """The decision about this part; nothing is applied before all parts are decided. Of an edit
    that was applied at once: ``take`` if it was kept, ``leave`` if it was undone."""


@define
class EditInfo:
    """An edit that the model proposed."""

    id: str
    turn_id: str
    message_id: str
    call_id: str
    path: str
    uri: str
    state: EditState
    create: bool
    """True for a new file."""
    added: int
    removed: int
    """Lines."""
    hunks: list[EditHunk]
    accepted: list[int] = field(factory=list)
    """Indexes of the hunks that were applied."""
    reason: str = ""
    """Why it was rejected or failed; of an open one, why it does not fit the file as it is now."""
    review: Literal["", "open", "kept"] = ""
    """``open``: it was applied at once, and waits to be kept or undone."""


@define
class Attachment:
    """Something that was sent with a prompt: what the user was looking at, what was named."""

    kind: Literal[
        "file",
        "selection",
        "excerpt",
        "folder",
        "symbol",
        "problems",
        "terminal",
        "git",
        "editors",
        "web",
        "session",
        "memo",
    ]
    label: str
    """``src/a.py:10-14``"""
    path: str
    uri: str
    first_line: int = 0
    """Lines from 1; 0 for the whole file."""
    last_line: int = 0
    text: str = ""
    """What was sent of it; empty for files and pages, which stand in the context."""


SentKind = Literal["instructions", "memo", "file", "page", "card", "recalled"]
"""What is sent beside the conversation. ``card``: an excerpt that was found for the prompt;
``recalled``: an earlier turn."""


@define
class SentGroup:
    """How much of one kind was sent with a prompt; ``tierline/plan/sent`` lists it."""

    kind: SentKind
    count: int
    label: str = ""
    """What it is, if it is one."""


@define
class ChatMessage:
    """One message as a client shows it."""

    id: str
    group_id: str
    role: Literal["user", "assistant", "tool", "system"]
    text: str
    status: MessageStatus
    timestamp: str
    """ISO 8601, UTC."""
    tokens: int = 0
    """Snapshot weight of the request that produced it (prompt + completion); 0 if unknown."""
    images: list[str] = field(factory=list)
    """Data URIs."""
    files: list[str] = field(factory=list)
    attached: list[Attachment] = field(factory=list)
    """At a prompt: what was sent with it from the editor."""
    note: str = ""
    """A line under the message: why it was interrupted or got no reply."""
    context_line: str = ""
    """Under a prompt: what context went with it, e.g. ``2 files · 2.1k tokens · CTX light``."""
    sent: list[SentGroup] = field(factory=list)
    """At a prompt: what else was sent with its first request, without what is ``attached``."""
    state: str = ""
    """The STATE block that a reply ended with, without its heading; not part of ``text``."""
    thinking: str = ""
    """What can be read of the model's thinking before this reply."""
    thinking_seconds: float = 0.0
    """How long it thought; 0 if that is not known."""
    calls: list[ToolCallInfo] = field(factory=list)
    """The tools that an assistant's message calls, with what came of them. Messages with the role
    ``tool`` hold the results; a client that shows these rows need not show them."""
    usage: UsageInfo | None = None
    """What the turn took, sums over all its requests: at the turn's last reply, or at its prompt if
    the provider answered without a reply coming of it. Null at the other messages, while the turn
    runs, and where it is not known."""
    last: UsageInfo | None = None
    """The turn's last request alone, if there were several."""
    cache_outcome: CacheOutcome | None = None
    """What the cache gave that request; null where ``usage`` is, and in older conversations."""
    covered: str = ""
    """Id of the compaction that stands for it: it is shown, but no longer sent."""
    compaction: Literal["", "truncate", "summarize"] = ""
    """Not a message but a compaction: ``text`` is the summary, ``id`` is what undo takes."""
    embedded: bool = False
    """At a reply: the embedded model wrote it, which is small."""


@define
class QueuedPrompt:
    """A prompt that waits for its turn."""

    turn_id: str
    message_id: str
    text: str
    images: int = 0
    """How many pictures are sent with it."""
    steer: bool = False
    """It is to reach the running turn at its next step."""


@define
class ProviderInfo:
    """A provider and whether it can be used now."""

    name: str
    available: bool
    model: str
    why: str
    """Why it was chosen, or why it cannot be used and what to do."""
    models: list[str] = field(factory=list)
    active: bool = False
    needs_consent: bool = False
    """A server was found on this machine; it is used only after the user agreed."""
    base_url: str = ""
    title: str = ""
    """What people call it."""
    origin: Literal["service", "embedded", "editor", "found"] = "service"
    """found: a server that runs on this machine."""
    takes_key: bool = False
    key_prefix: str = ""
    """How its keys begin, to show what is asked for."""


@define
class State:
    """Everything that a client shows; enough to draw itself whole after a reconnect."""

    seq: int
    """Sequence number of the newest event that this state already contains."""
    session_id: str
    branch: str
    messages: list[ChatMessage]
    files: list[FileInfo]
    budget: Budget
    mode: ContextMode
    provider: ProviderInfo
    busy_turn: str = ""
    """Id of the turn that is running; empty when idle."""
    partial_text: str = ""
    """What the running turn has streamed so far."""
    version: str = ""
    root: str = ""
    compacting: bool = False
    consents: list[ConsentInfo] = field(factory=list)
    """Questions that wait for the user."""
    queue: list[QueuedPrompt] = field(factory=list)
    """Prompts that wait, the next one first; they are among ``messages``, too."""
    edits: list[EditInfo] = field(factory=list)
    """Edits proposed in this conversation, oldest first; those that are open survive a restart."""
