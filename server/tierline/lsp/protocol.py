"""Every custom method of Tierline: name, parameters, result. The single source.

``docs/protocol.md`` and ``vscode-client/src/protocol.ts`` are generated from this module by
``python -m tierline.lsp.generate``; a test fails when they drift. On the wire, names are camelCase.
Each request ``tierline/<area>/<verb>`` is also the server command ``tierline.<area>.<verb>``, whose
single argument is the same parameters object, so that an editor needs no code of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from attrs import field

if TYPE_CHECKING:
    from attrs import define
else:

    def define(cls: type) -> type:
        """``attrs.define``, with one ``repr`` for all: a generated one for each of so many classes
        would take a twentieth of the time in which ``initialize`` has to be answered.
        """
        cls.__repr__ = _shown
        return attrs.define(cls, repr=False)


PinKind: TypeAlias = Literal["sticky", "leased", "ephemeral", "none"]
ContextMode: TypeAlias = Literal["off", "light", "heavy"]
FileState: TypeAlias = Literal["ok", "missing", "refused", "shed"]
Accuracy: TypeAlias = Literal["exact", "calibrated", "estimated"]
MessageStatus: TypeAlias = Literal["ok", "tool_call", "dropped", "interrupted", "error"]
TurnOutcome: TypeAlias = Literal["ok", "interrupted", "error"]
CacheOutcome: TypeAlias = Literal["hit", "partial", "miss", "first", "unknown", "uncached"]
EditState: TypeAlias = Literal[
    "open", "applied", "partly", "rejected", "failed", "undone", "expired"
]
CallStatus: TypeAlias = Literal["waiting", "running", "asking", "ok", "error", "interrupted"]


def _shown(value: Any) -> str:
    fields = (f"{a.name}={getattr(value, a.name)!r}" for a in attrs.fields(type(value)))
    return f"{type(value).__name__}({', '.join(fields)})"


def camel(name: str) -> str:
    """``max_input_tokens`` on the wire is ``maxInputTokens``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


# --- shared values -------------------------------------------------------------------------------


@define
class NoParams:
    """A request without parameters."""


@define
class Ok:
    """Done; nothing to report."""

    ok: bool = True


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
    pin: PinKind
    state: FileState
    reason: str = ""
    """Why it is missing, refused or shed, and what to do; empty when all is well."""
    tier: str = ""
    """Stability tier in the last plan: L0 to L3, log or active; empty before the first request."""
    aliases: list[str] = field(factory=list)
    """Other names of the same file (links, relative spellings) that were given for it."""
    origin: str = ""
    dirty: bool = False
    """True if the text comes from an unsaved editor buffer."""
    code: str = ""
    """Stable code of the reason (``secret``, ``ignored``, ``binary``, …); empty if all is well."""
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
    """What the provider itself reported for one request, in tokens."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False
    """True if the provider reported nothing and these are our own counts."""
    cost: float = 0.0
    """US dollars by the model table's prices; 0 if they are not known."""
    saved: float = 0.0
    """US dollars that the cache saved; negative where writing cost more than reading gave back."""


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
    kind: Literal["command", "url"]
    title: str
    """The question."""
    text: str
    """What would be done, exactly; what cannot be seen is written as an escape."""
    detail: str = ""
    """Where, and with which limits."""
    can_remember: bool = False
    """True if ``always`` may be answered: the very same is then never asked again here."""


@define
class EditHunk:
    """One part of a proposed edit, which may be accepted by itself."""

    index: int
    line: int
    """First line, from 1, in the text as it was when the edit was proposed."""
    before: str
    after: str


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
    """Why it was rejected or failed."""


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
    note: str = ""
    """A line under the message: why it was interrupted or got no reply."""
    context_line: str = ""
    """Under a prompt: what context went with it, e.g. ``2 files · 2.1k tokens · CTX light``."""
    state: str = ""
    """The STATE block that a reply ended with, without its heading; not part of ``text``."""
    calls: list[ToolCallInfo] = field(factory=list)
    """The tools that an assistant's message calls, with what came of them. Messages with the role
    ``tool`` hold the results; a client that shows these rows need not show them."""
    covered: str = ""
    """Id of the compaction that stands for it: it is shown, but no longer sent."""
    compaction: Literal["", "truncate", "summarize"] = ""
    """Not a message but a compaction: ``text`` is the summary, ``id`` is what undo takes."""


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
    edits: list[EditInfo] = field(factory=list)
    """Edits proposed since the server started, oldest first."""


# --- chat ----------------------------------------------------------------------------------------


@define
class ChatSendParams:
    """A prompt. ``@path`` mentions in the text add files for this turn."""

    text: str
    images: list[ImageInput] = field(factory=list)
    active_uri: str = ""
    """The document that the user looks at; only its name is used, unless it is in the context."""
    selection: str = ""
    """Selected text, sent at the end of the prompt as volatile context."""
    force: bool = False
    """Write the prompt down again even if the same one was the last and got no reply."""


@define
class ChatSendResult:
    """The turn runs on; its events carry this id."""

    turn_id: str
    message_id: str
    queued: bool = False
    """True if another turn or a compaction is running; this one starts after it."""
    notices: list[str] = field(factory=list)


@define
class ChatCancelParams:
    """Cancel one turn, or whatever runs when ``turn_id`` is empty."""

    turn_id: str = ""


@define
class ChatCancelResult:
    """Whether something was running and has been told to stop."""

    cancelled: bool
    turn_id: str = ""


@define
class ChatRetryParams:
    """Ask again: the group's prompt is sent anew after the group is removed from the history."""

    group_id: str = ""


# --- files ---------------------------------------------------------------------------------------


@define
class FileParams:
    """A file, by ``path`` (relative or absolute) or ``uri``. A folder means the files in it."""

    path: str = ""
    uri: str = ""
    confirm: bool = False
    """The user saw the warning and wants it all the same (ignored or secret files)."""


@define
class FilesResult:
    """The file context after the change, and what was refused."""

    files: list[FileInfo]
    refused: list[FileInfo] = field(factory=list)
    notices: list[str] = field(factory=list)


# --- plans ---------------------------------------------------------------------------------------


@define
class PlanParams:
    """A plan by id; the newest when empty. Showing the context without an id shows that of the next
    request: without a prompt, or as it would be with this one.
    """

    plan_id: str = ""
    prompt: str = ""


@define
class PlanListParams:
    """How many plans, newest first."""

    limit: int = 20


@define
class PlanExplainParams:
    """Ask why ``key`` (``file:src/a.py``, or just a path) is in or out."""

    key: str
    plan_id: str = ""


@define
class PlanExplainResult:
    """One sentence."""

    key: str
    included: bool
    sentence: str
    plan_id: str


@define
class PlanDiffParams:
    """Two plans to compare, the older first."""

    a: str
    b: str


@define
class PlanDiffResult:
    """What changed between two plans, line by line, and what broke the cached prefix."""

    lines: list[str]
    first_break: str = ""


@define
class PlanEntryInfo:
    """One item of a plan."""

    key: str
    section: str
    tier: str
    tokens: int
    included: bool
    code: str
    reason: str


@define
class PlanInfo:
    """A stored plan."""

    plan_id: str
    session_id: str
    turn_id: str
    created: str
    model: str
    mode: ContextMode
    total_tokens: int
    request_sha256: str = ""
    entries: list[PlanEntryInfo] = field(factory=list)


@define
class PlanListResult:
    """Newest first, without entries."""

    plans: list[PlanInfo]


@define
class PromptTextResult:
    """The exact assembled context as a person can read it."""

    text: str
    plan_id: str = ""


# --- history -------------------------------------------------------------------------------------


@define
class SessionInfo:
    """One session in a list, the one used last first."""

    session_id: str
    timestamp: str
    """Of its newest message, ISO 8601 UTC."""
    message_count: int
    preview: str
    """About the first 100 characters."""
    first_role: str
    title: str = ""
    current: bool = False


@define
class SessionListParams:
    """How many sessions; 0 for all."""

    limit: int = 50


@define
class SessionListResult:
    """Sessions, and log files in the folder that are damaged or foreign (never changed)."""

    sessions: list[SessionInfo]
    damaged: list[str] = field(factory=list)


@define
class SessionParams:
    """A session by id; the current one when empty."""

    session_id: str = ""


@define
class SessionMessages:
    """A session's visible messages."""

    session_id: str
    messages: list[ChatMessage]


@define
class SearchParams:
    """Case-insensitive search in all sessions, or in one."""

    query: str
    role: str = ""
    limit: int = 50
    session_id: str = ""


@define
class SearchHit:
    """A message that was found."""

    message_id: str
    session_id: str
    group_id: str
    role: str
    timestamp: str
    snippet: str


@define
class SearchHits:
    """Hits, newest first. ``partial``: the index is behind, there may be more."""

    hits: list[SearchHit]
    partial: bool = False


@define
class HistoryStatus:
    """Figures for a client's history bar. Token counts."""

    session_id: str
    session_title: str
    branch: str
    history_tokens: int
    max_history_tokens: int
    compaction_enabled: bool
    compaction_trigger_tokens: int
    compaction_percent: float
    needs_summary: bool
    groups: int
    window: int
    strategy: str
    compacting: bool = False
    """A compaction runs now."""
    compactions: int = 0
    """Compactions in force."""
    compaction_note: str = ""
    """How the last compaction of this run went; empty if there was none."""


@define
class GroupParams:
    """A turn by its group id; the newest when empty."""

    group_id: str = ""


@define
class UndoParams:
    """Take back the newest turn, or all after ``to``."""

    to: str = ""


@define
class GroupInfo:
    """One turn in a list."""

    group_id: str
    prompt: str
    messages: int
    tokens: int
    """Snapshot weight of its last request."""
    hidden: str = ""
    """``undo``, ``remove`` or ``drop`` if it is not part of the conversation now."""


@define
class GroupListParams:
    """How many turns, newest last; 0 for all."""

    limit: int = 0
    hidden: bool = False
    """List hidden turns too."""


@define
class GroupListResult:
    """Turns, oldest first."""

    groups: list[GroupInfo]


@define
class WindowParams:
    """The rolling window in turns; 0 for the full history."""

    size: int


@define
class StrategyParams:
    """How history is selected."""

    name: Literal["full", "window", "ranked", "levels"]


@define
class ForkParams:
    """A new branch from a message (the newest when empty); it becomes the current one."""

    message_id: str = ""
    name: str = ""


@define
class BranchParams:
    """A branch by id."""

    branch: str


@define
class BranchInfo:
    """One branch."""

    branch: str
    parent: str
    fork_message: str
    head_message: str
    current: bool


@define
class BranchListResult:
    """All branches of the session."""

    branches: list[BranchInfo]
    current: str


@define
class RenameParams:
    """A session's title."""

    title: str
    session_id: str = ""


# --- memos ---------------------------------------------------------------------------------------

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
class GroupDetails:
    """Everything that belongs to a turn: as messages, and as one text to read."""

    group_id: str
    messages: list[ChatMessage]
    text: str
    tokens: int = 0
    """Snapshot weight of its last request."""
    hidden: str = ""
    """``undo``, ``remove`` or ``drop`` if it is not part of the conversation now."""
    plan_ids: list[str] = field(factory=list)
    """Plans of the requests that its replies answered."""


@define
class QueryParams:
    """One SELECT over the views ``messages``, ``groups`` and ``sessions``."""

    sql: str


@define
class QueryResult:
    """The rows as text. ``truncated``: the limits cut something off."""

    columns: list[str]
    rows: list[list[str]]
    truncated: bool = False


@define
class BranchCompareParams:
    """Two branches; an empty ``b`` is the current one."""

    a: str
    b: str = ""


@define
class BranchComparison:
    """What two branches share and what each has alone, and how their last requests differ."""

    a: str
    b: str
    common_message: str
    """Id of the last message that both have; empty if there is none."""
    only_a: list[ChatMessage]
    only_b: list[ChatMessage]
    plan_a: str = ""
    """The plan of the newest turn that has one; empty if there is none."""
    plan_b: str = ""
    plan_lines: list[str] = field(factory=list)
    """The difference from plan a to plan b."""
    text: str = ""
    """All of it as one text to read."""


@define
class CommandParams:
    """A line that begins with a slash: ``/context window 5``."""

    text: str


@define
class CommandResult:
    """What to show: a short answer, or (``document``) a text to open. Markdown."""

    title: str
    text: str
    document: bool = False


@define
class CommandInfo:
    """One command of the chat."""

    usage: str
    doc: str


@define
class CommandListResult:
    """All of them."""

    commands: list[CommandInfo]


@define
class RecoverParams:
    """A log file in the workspace's ``.tierline`` folder, by name."""

    file: str


@define
class RecoverResult:
    """How many records were taken over (known ones are left out), and the sessions as they are now.
    The file itself stays as it is.
    """

    added: int
    sessions: list[SessionInfo]
    damaged: list[str] = field(factory=list)


@define
class AnchorResult:
    """The STATE block in force (seed 000, "Global Anchor"); empty text for none."""

    text: str
    fields: dict[str, str] = field(factory=dict)
    """Goal, Context, Resolved and Technical Anchors, as far as it has them."""
    enabled: bool = False
    """Whether the model is asked to keep it (setting ``history.state_anchor``)."""


@define
class Scratchpad:
    """The session's scratchpad. ``version`` names this text."""

    text: str
    version: str


@define
class ScratchpadSetParams:
    """The whole new text; ``version`` is that of the text that was changed, empty for any."""

    text: str
    version: str = ""


@define
class ScratchpadAppendParams:
    """Text for the end of the scratchpad."""

    text: str


# --- capsules ------------------------------------------------------------------------------------


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


# --- memory levels -------------------------------------------------------------------------------


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
    """The memory as it is now, also under other strategies (seed 002, "Metrics")."""

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
    """The same as text, in the seed's layout."""


# --- compaction ----------------------------------------------------------------------------------

CompactionCase: TypeAlias = Literal["truncate", "summarize", "none"]


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


# --- mode and provider ---------------------------------------------------------------------------


@define
class ModeParams:
    """The context mode; empty cycles off, light, heavy."""

    mode: Literal["off", "light", "heavy", ""] = ""


@define
class ModeResult:
    """The mode now in force."""

    mode: ContextMode


@define
class ProviderListResult:
    """All providers, the active one marked."""

    providers: list[ProviderInfo]


@define
class ProviderSelectParams:
    """Choose a provider and model for this session; empty name returns to the automatic choice."""

    name: str = ""
    model: str = ""
    base_url: str = ""
    consent: bool = False
    """The user agrees to use the server found on this machine."""


@define
class ProviderKeyParams:
    """A key from the editor's secret storage. Kept in memory only, never written, never logged."""

    provider: Literal["anthropic", "openai"]
    key: str
    """Empty forgets the key."""


# --- cache ---------------------------------------------------------------------------------------


@define
class CacheDecision:
    """Something that the policy decided, with the numbers that it decided by."""

    code: str
    sentence: str
    numbers: dict[str, float] = field(factory=dict)


@define
class CacheReport:
    """What the provider's cache gave one request, and why. Tokens; -1 where nobody knows."""

    outcome: CacheOutcome
    code: str
    """Reason: ``none``, ``new_session``, ``provider``, ``model``, ``tools``, ``system``,
    ``policy``, ``expired``, ``restarted``, ``edited``, ``reordered``, ``removed``, ``added``,
    ``compacted``, ``lookback``, ``evicted``, ``unreported``, ``small`` or ``no_cache``."""
    sentence: str
    turn_id: str = ""
    plan_id: str = ""
    at: str = ""
    """ISO 8601, UTC."""
    provider: str = ""
    model: str = ""
    policy: str = ""
    item: str = ""
    """Key of the first item that differs from what was sent before; empty if none is to blame."""
    item_label: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    read_tokens: int = -1
    written_tokens: int = -1
    uncached_tokens: int = -1
    """Input that was neither read nor written."""
    offered_tokens: int = 0
    """What the request before had left in the cache."""
    readable_tokens: int = 0
    """How much of that this request begins with."""
    idle_seconds: float = 0.0
    """Since the cache was used last; 0 for the first request."""
    cost: float = 0.0
    """US dollars; 0 without known prices."""
    saved: float = 0.0
    decisions: list[CacheDecision] = field(factory=list)


@define
class CacheExplainParams:
    """A turn; the newest request of the session when empty."""

    turn_id: str = ""


@define
class CacheExplainResult:
    """Why a request did or did not hit the cache."""

    sentence: str
    report: CacheReport | None = None
    """The turn's last request; null before the first one."""
    requests: list[CacheReport] = field(factory=list)
    """All requests of the turn, in their order."""
    last_miss: CacheReport | None = None
    """The session's newest request that did not read all that was cached; null if there is none."""


@define
class CacheTiersParams:
    """``next`` is the request as it would be sent now, ``last`` the one that was sent last."""

    which: Literal["next", "last"] = "next"


@define
class CacheItem:
    """One piece of a request in its tier. Sizes in tokens."""

    key: str
    label: str
    section: str
    kind: Literal["item", "delta", "full", "gone", "confirmed"]
    """``item``: as it is; the others are updates in the conversation."""
    tokens: int
    path: str = ""
    age: int = 0
    """Requests since it was put here; with the counter policy its N."""
    hazard: float = 0.0
    """Probability that it changes by the next request, 0 to 1; 0 if the policy does not use it."""
    stale: bool = False
    """Something later in the request replaces these bytes."""
    cached: bool = False
    """The provider has these bytes in its cache, and the request begins with them."""
    marked: bool = False
    """A cache breakpoint stands behind it."""
    change: Literal["", "new", "edited", "moved"] = ""
    """Since the request before."""


@define
class CacheTier:
    """One tier, from the most stable to the least. Sizes in tokens."""

    tier: str
    name: str
    tokens: int
    cached_tokens: int
    stale_tokens: int
    delta_tokens: int
    """Updates that were appended instead of rewriting a tier."""
    items: list[CacheItem] = field(factory=list)


@define
class CacheTiers:
    """A request's tiers as a viewer draws them."""

    which: Literal["next", "last"]
    policy: str
    provider: str
    model: str
    caching: Literal["explicit", "automatic", "none"]
    """Whether the provider caches at breakpoints, every prefix by itself, or not at all."""
    tokens: int
    cached_tokens: int
    """What of it the provider has cached, by our own count."""
    tiers: list[CacheTier] = field(factory=list)
    ttl: str = ""
    """Lifetime that breakpoints ask for; empty where there are none."""
    seconds_left: float = -1.0
    """Until what is cached expires; 0 if it has, -1 if it does not or nothing was sent."""
    decisions: list[CacheDecision] = field(factory=list)
    report: CacheReport | None = None
    """The newest request's outcome."""


@define
class StatsParams:
    """A session by id (the current one when empty), or all sessions of the workspace."""

    session_id: str = ""
    all: bool = False


@define
class TurnStatsParams:
    """Turns of a session (the current one when empty), or of all sessions, newest first."""

    session_id: str = ""
    all: bool = False
    limit: int = 20


@define
class CallStats:
    """One call of a tool."""

    tool: str
    status: str
    milliseconds: int
    characters: int
    """Of its whole result."""


@define
class TurnStats:
    """What a turn was given, did and came to."""

    session_id: str
    turn_id: str
    began: float
    """Seconds since the epoch."""
    seconds: float
    outcome: str
    """``ok``, ``interrupted`` or ``error``."""
    retrieval_set: str
    plans: list[str]
    """One plan per request."""
    input_tokens: int
    output_tokens: int
    read_tokens: int
    """From the provider's cache."""
    error_percent: float | None
    """How far the estimates were from what the provider reported; null if it reported nothing."""
    calls: list[CallStats]
    edits: list[str]
    """``path: state`` of every edit that was proposed."""


@define
class TurnStatsResult:
    """Newest first."""

    turns: list[TurnStats]


@define
class KeepAliveStats:
    """What keep-alive requests did. Money in US dollars."""

    requests: int = 0
    read_tokens: int = 0
    cost: float = 0.0
    saved: float = 0.0
    """What writing the prefix anew would have cost more in pauses that they bridged."""
    enabled: bool = False
    decision: CacheDecision | None = None
    """The last decision of this run, with its numbers."""


@define
class SessionStats:
    """Sums over a session's requests. Tokens; money in US dollars by the model table's prices."""

    session_id: str
    title: str = ""
    requests: int = 0
    reported: int = 0
    """Requests for which the provider gave figures of its cache; rates are of these."""
    input_tokens: int = 0
    output_tokens: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    uncached_tokens: int = 0
    hit_rate: float = 0.0
    """Share of input that was read from the cache, 0 to 1, over reported requests."""
    cost: float = 0.0
    saved: float = 0.0
    """Against the same requests with no cache at all; keep-alive requests are subtracted."""
    priced: int = 0
    """Requests whose prices are known."""
    beside: int = 0
    """Requests of Tierline's own, such as summaries; their price is in ``cost``, nothing else."""
    causes: dict[str, int] = field(factory=dict)
    """Requests that did not read all that was cached, by reason code."""
    keep_alive: KeepAliveStats = field(factory=KeepAliveStats)


@define
class Stats:
    """Per session, the newest first, and in total."""

    sessions: list[SessionStats]
    total: SessionStats


@define
class RequestStatsParams:
    """The newest requests of a session (the current one when empty), at most ``limit``."""

    session_id: str = ""
    limit: int = 200


@define
class TierTokens:
    """How large one tier of a request was, by Tierline's own count. Sizes in tokens."""

    tier: str
    name: str
    tokens: int
    cached_tokens: int


@define
class RequestStats:
    """One request that a turn made. Tokens, -1 where the provider said nothing."""

    turn_id: str
    at: str
    """ISO 8601, UTC."""
    provider: str
    model: str
    outcome: CacheOutcome
    code: str
    """As in ``CacheReport``."""
    window_tokens: int
    """Most input that the model takes."""
    input_tokens: int
    output_tokens: int
    read_tokens: int = -1
    written_tokens: int = -1
    cost: float | None = None
    """US dollars; null without known prices."""
    saved: float | None = None
    """Against the same request with no cache."""
    tiers: list[TierTokens] = field(factory=list)
    """From the most stable to the least; empty for requests older than the newest 40."""


@define
class RequestStatsResult:
    """Oldest first."""

    session_id: str
    requests: list[RequestStats]
    left_out: int = 0
    """Older requests that the limit left out."""


# --- symbols, retrieval, pins --------------------------------------------------------------------


@define
class SymbolsLanguage:
    """A language of the index."""

    name: str
    files: int
    available: bool = True
    why: str = ""
    """Why its symbols are not read: the grammar is not installed for this platform."""


@define
class SkippedFiles:
    """Files that are not indexed, by reason."""

    reason: str
    files: int


@define
class SymbolsStatus:
    """Where the symbol index stands."""

    state: Literal["off", "starting", "indexing", "ready", "failed"]
    files: int = 0
    symbols: int = 0
    done: int = 0
    total: int = 0
    """Files of the scan that runs, or of the last one."""
    languages: list[SymbolsLanguage] = field(factory=list)
    skipped: list[SkippedFiles] = field(factory=list)
    seconds: float = 0.0
    """What the last whole scan took."""
    cpu_seconds: float = 0.0
    """Processor time that the index's process has used so far."""
    memory_bytes: int = 0
    """The most that the index's process has had resident."""
    why: str = ""
    """Why it is off or has failed, and what to do."""


@define
class ReindexParams:
    """Look at every file again; ``fresh`` also chooses anew what the module map shows."""

    fresh: bool = False


@define
class RetrievalParams:
    """A retrieval set by its id or by the turn that it was made for; the newest when both empty."""

    set_id: str = ""
    turn_id: str = ""


@define
class RetrievalCandidate:
    """A piece of code that was found for a prompt, in the request or not."""

    key: str
    """Key of the item (``card:src/a.py#Plan.entry``)."""
    path: str
    uri: str
    symbol: str
    kind: str
    line: int
    """First line, from 1."""
    end: int
    score: float
    """0 to 1, relative to the best."""
    why: str
    included: bool
    code: str = ""
    """Stable code of why it is out; empty if it is in."""
    reason: str = ""
    tokens: int = 0
    hop: bool = False
    """Reached through the reference graph, not by the prompt's words."""
    activation: float = 0.0
    pin: PinKind = "none"


@define
class RetrievalInfo:
    """What was retrieved for one turn, with reasons; the breakdown of the line under a prompt."""

    set_id: str
    turn_id: str
    mode: ContextMode
    query: str = ""
    line: str = ""
    """The budget meter's line under the prompt."""
    cluster: int = 0
    """Number of the query cluster (phase) that the prompt belongs to."""
    task: str = ""
    candidates: list[RetrievalCandidate] = field(factory=list)
    map_tokens: int = 0
    """Tokens of the module map in this request."""
    card_tokens: int = 0
    changes: list[str] = field(factory=list)
    """Promotions and ended leases, in sentences."""
    note: str = ""


@define
class CodeParams:
    """A symbol whose body is wanted: ``symbol`` (``Plan.entry``), ``path`` or both."""

    symbol: str = ""
    path: str = ""
    max_lines: int = 200


@define
class CodeResult:
    """The body, as the model is given it."""

    found: bool
    text: str
    key: str = ""
    path: str = ""
    line: int = 0
    end: int = 0


@define
class PinItemParams:
    """A file by ``path``, or a symbol of it."""

    path: str
    symbol: str = ""


@define
class PinKeyParams:
    """A pin or a suggestion by the key of its item."""

    key: str


@define
class PinInfo:
    """Something that is held in the context, or that the model suggests to pin."""

    key: str
    path: str
    uri: str
    pin: PinKind
    symbol: str = ""
    line: int = 0
    end: int = 0
    tokens: int = 0
    scope: str = ""
    """What a lease is scoped to: ``turn:<n>`` or ``task:<id>``."""
    activation: float = 0.0
    why: str = ""


@define
class PinsResult:
    """What is held, and what is suggested. Suggestions hold nothing until they are accepted."""

    pins: list[PinInfo] = field(factory=list)
    suggested: list[PinInfo] = field(factory=list)


# --- web pages -----------------------------------------------------------------------------------


@define
class UrlParams:
    """A web page by its address (``example.org/page`` means https), or by its key."""

    url: str


@define
class UrlInfo:
    """A web page in the context."""

    key: str
    url: str
    title: str
    fetched: str
    """When it was read; ISO 8601, UTC."""
    tokens: int
    final_url: str = ""
    """Where it was found, if the server led on to another address."""
    media_type: str = ""
    tier: str = ""
    """Stability tier in the last plan; empty before the first request."""


@define
class UrlsResult:
    """The web pages of the context."""

    urls: list[UrlInfo] = field(factory=list)
    added: UrlInfo | None = None
    """The page that was added or read again."""
    notices: list[str] = field(factory=list)


@define
class UrlText:
    """A page's text, as the model is given it."""

    info: UrlInfo
    text: str


# --- tools ---------------------------------------------------------------------------------------


@define
class ConsentAnswerParams:
    """The user's answer to a question. ``always`` counts as ``once`` where it may not be given."""

    id: str
    answer: Literal["once", "always", "deny"]
    reason: str = ""
    """Told to the model with a denial."""


@define
class EditParams:
    """An edit by id."""

    id: str


@define
class EditAcceptParams:
    """Accept an edit, or some of its hunks."""

    id: str
    hunks: list[int] = field(factory=list)
    """Indexes; empty for all."""


@define
class EditRejectParams:
    """Reject an edit. The reason is told to the model."""

    id: str
    reason: str = ""


@define
class EditListResult:
    """Edits, oldest first."""

    edits: list[EditInfo]


@define
class EditPreview:
    """Both texts of an edit, for a diff view. Line ends are LF."""

    id: str
    path: str
    uri: str
    before: str
    after: str
    stale: bool = False
    """True if the file has changed since; ``before`` is then what it says now, and ``after`` what
    the edit would make of that."""


@define
class AllowedCommands:
    """Commands that run in this workspace without being asked about, each as its argument list."""

    commands: list[list[str]]


@define
class ForgetCommandParams:
    """A command to ask about again; all of them if ``argv`` is empty."""

    argv: list[str] = field(factory=list)


@define
class SaveParams:
    """Documents that the client is asked to save."""

    uris: list[str]


@define
class SaveResult:
    """Those that are saved now."""

    saved: list[str]


# --- events --------------------------------------------------------------------------------------


@define
class TurnStarted:
    """The request is on its way."""

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
    """Something that the user should know."""

    level: Literal["info", "warning", "error"]
    text: str
    code: str = ""
    turn_id: str = ""
    kind: Literal["notice"] = "notice"


@define
class MessageAdded:
    """A reply that calls tools is complete. The turn goes on: what streams next is new."""

    turn_id: str
    message: ChatMessage
    kind: Literal["messageAdded"] = "messageAdded"


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
    """An edit was proposed, or something became of it."""

    edit: EditInfo
    kind: Literal["editChanged"] = "editChanged"


@define
class TurnFinished:
    """The reply is complete, stopped or failed; the message holds what there is."""

    turn_id: str
    outcome: TurnOutcome
    message: ChatMessage | None = None
    usage: UsageInfo | None = None
    code: str = ""
    """Error code when the outcome is ``error``."""
    error: str = ""
    advice: str = ""
    cache: CacheReport | None = None
    """What the cache gave the turn's last request."""
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
    """Another context mode."""

    mode: ContextMode
    kind: Literal["modeChanged"] = "modeChanged"


@define
class ProviderChanged:
    """Another provider or model is in force."""

    provider: ProviderInfo
    kind: Literal["providerChanged"] = "providerChanged"


@define
class MemosChanged:
    """A memo was saved, changed or deleted."""

    kind: Literal["memosChanged"] = "memosChanged"


@define
class NotesChanged:
    """The STATE block or the scratchpad is another one."""

    which: Literal["anchor", "scratchpad"]
    kind: Literal["notesChanged"] = "notesChanged"


@define
class SymbolsChanged:
    """The symbol index is in another state, or holds something else."""

    status: SymbolsStatus
    kind: Literal["symbolsChanged"] = "symbolsChanged"


@define
class PinsChanged:
    """What is held or suggested is another."""

    pins: PinsResult
    kind: Literal["pinsChanged"] = "pinsChanged"


@define
class CompactionStart:
    """A compaction has been running for half a second. Prompts can be sent; they wait for it."""

    kind: Literal["compactionStart"] = "compactionStart"


@define
class CompactionComplete:
    """The history was compacted; ``messages`` is the conversation as it is to be shown now."""

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
    """Nothing was changed, and nothing needs to be said: take the progress away."""

    reason: str = ""
    kind: Literal["compactionNone"] = "compactionNone"


EventBody: TypeAlias = (
    TurnStarted
    | TextDelta
    | ReasoningDelta
    | Waiting
    | Notice
    | MessageAdded
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


# --- the editor's own language models ------------------------------------------------------------


@define
class EditorModelInfo:
    """A model that the editor offers to extensions."""

    id: str
    name: str = ""
    vendor: str = ""
    family: str = ""
    max_input_tokens: int = 0
    """0 if the editor does not say."""


@define
class EditorModelsResult:
    """What the editor offers now."""

    models: list[EditorModelInfo] = field(factory=list)


@define
class EditorChatParams:
    """A request to one of the editor's models."""

    request_id: str
    model: str
    body: dict[str, Any]
    """Messages and tools in the form of OpenAI's Chat Completions."""


@define
class EditorChatResult:
    """The reply is whole: all its parts have been sent before this answer."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@define
class EditorPartParams:
    """A part of a reply: text, or a whole tool call."""

    request_id: str
    text: str = ""
    call_id: str = ""
    call_name: str = ""
    call_arguments: str = ""
    """The arguments of a tool call as JSON text."""


@define
class EditorCancelParams:
    """The reply is no longer wanted."""

    request_id: str


# --- registry ------------------------------------------------------------------------------------


@define
class Method:
    """A request: its wire name, what goes in, what comes out."""

    name: str
    params: type
    result: type
    doc: str

    @property
    def command(self) -> str:
        """The same capability as a server command."""
        return self.name.replace("/", ".")


EVENT = "tierline/chat/event"
"""The one notification from server to client."""

EDITOR_MODELS = Method(
    "tierline/editor/models", NoParams, EditorModelsResult, "Which models does the editor offer?"
)
EDITOR_CHAT = Method(
    "tierline/editor/chat", EditorChatParams, EditorChatResult, "Ask one of the editor's models."
)
EDITOR_SAVE = Method("tierline/editor/save", SaveParams, SaveResult, "Save documents.")
CLIENT_METHODS: tuple[Method, ...] = (EDITOR_MODELS, EDITOR_CHAT, EDITOR_SAVE)
"""Requests from server to client, only to clients that declare them in
``capabilities.experimental.tierline`` (``languageModels``, ``save``)."""
EDITOR_PART = "tierline/editor/part"
"""Notification from client to server: a part of a reply."""
EDITOR_CANCEL = "tierline/editor/cancel"
"""Notification from server to client."""

METHODS: tuple[Method, ...] = (
    Method("tierline/chat/send", ChatSendParams, ChatSendResult, "Send a prompt."),
    Method("tierline/chat/cancel", ChatCancelParams, ChatCancelResult, "Stop a reply at once."),
    Method("tierline/chat/retry", ChatRetryParams, ChatSendResult, "Send the last prompt again."),
    Method("tierline/files/add", FileParams, FilesResult, "Add a file or folder to the context."),
    Method("tierline/files/remove", FileParams, FilesResult, "Take a file out of the context."),
    Method("tierline/files/list", NoParams, FilesResult, "List the file context."),
    Method("tierline/files/clear", NoParams, FilesResult, "Empty the file context."),
    Method("tierline/files/pin", FileParams, FilesResult, "Pin a file: it is shed last."),
    Method("tierline/files/unpin", FileParams, FilesResult, "Unpin a file; it stays in context."),
    Method("tierline/urls/add", UrlParams, UrlsResult, "Read a web page into the context."),
    Method("tierline/urls/list", NoParams, UrlsResult, "The web pages of the context."),
    Method("tierline/urls/remove", UrlParams, UrlsResult, "Take a web page out of the context."),
    Method("tierline/urls/refresh", UrlParams, UrlsResult, "Read a web page again."),
    Method("tierline/urls/show", UrlParams, UrlText, "The text of a web page."),
    Method("tierline/budget/get", NoParams, Budget, "The next request's size by section."),
    Method("tierline/state/get", NoParams, State, "Everything that a client shows."),
    Method("tierline/mode/set", ModeParams, ModeResult, "Set or cycle the context mode."),
    Method("tierline/provider/list", NoParams, ProviderListResult, "Providers and their state."),
    Method("tierline/provider/select", ProviderSelectParams, ProviderInfo, "Choose a provider."),
    Method("tierline/provider/setKey", ProviderKeyParams, ProviderInfo, "Hand over a key."),
    Method("tierline/plan/get", PlanParams, PlanInfo, "A stored plan with all its entries."),
    Method("tierline/plan/list", PlanListParams, PlanListResult, "Stored plans, newest first."),
    Method("tierline/plan/explain", PlanExplainParams, PlanExplainResult, "Why is this in or out?"),
    Method("tierline/plan/diff", PlanDiffParams, PlanDiffResult, "What changed between two plans."),
    Method("tierline/plan/show", PlanParams, PromptTextResult, "The exact context, readable."),
    Method("tierline/history/newSession", NoParams, State, "Begin a new session."),
    Method("tierline/history/listSessions", SessionListParams, SessionListResult, "Sessions."),
    Method("tierline/history/loadSession", SessionParams, State, "Continue another session."),
    Method("tierline/history/getSession", SessionParams, SessionMessages, "Read a session."),
    Method("tierline/history/deleteSession", SessionParams, SessionListResult, "Hide a session."),
    Method("tierline/history/renameSession", RenameParams, Ok, "Give the session a title."),
    Method("tierline/history/search", SearchParams, SearchHits, "Search all sessions."),
    Method("tierline/history/status", NoParams, HistoryStatus, "Figures of the history."),
    Method("tierline/history/list", GroupListParams, GroupListResult, "Turns of the session."),
    Method("tierline/history/undo", UndoParams, State, "Take back the newest turn."),
    Method("tierline/history/remove", GroupParams, State, "Remove a turn for good."),
    Method("tierline/history/drop", GroupParams, State, "Hide a turn; it can come back."),
    Method("tierline/history/restore", GroupParams, State, "Bring a hidden turn back."),
    Method("tierline/history/window", WindowParams, HistoryStatus, "Set the rolling window."),
    Method("tierline/history/strategy", StrategyParams, HistoryStatus, "Choose the selection."),
    Method("tierline/history/show", GroupParams, GroupDetails, "Everything of one turn."),
    Method("tierline/history/query", QueryParams, QueryResult, "Read the history with SQL."),
    Method("tierline/branch/compare", BranchCompareParams, BranchComparison, "Compare branches."),
    Method("tierline/chat/command", CommandParams, CommandResult, "Carry out a slash command."),
    Method("tierline/chat/commands", NoParams, CommandListResult, "List the slash commands."),
    Method("tierline/history/recover", RecoverParams, RecoverResult, "Take over a damaged log."),
    Method("tierline/history/anchor", NoParams, AnchorResult, "The STATE block in force."),
    Method("tierline/history/rebuild", NoParams, AnchorResult, "Derive STATE from the window."),
    Method("tierline/scratchpad/get", NoParams, Scratchpad, "The session's scratchpad."),
    Method("tierline/scratchpad/set", ScratchpadSetParams, Scratchpad, "Replace the scratchpad."),
    Method("tierline/scratchpad/append", ScratchpadAppendParams, Scratchpad, "Add to its end."),
    Method("tierline/symbols/status", NoParams, SymbolsStatus, "Where the symbol index stands."),
    Method("tierline/symbols/reindex", ReindexParams, SymbolsStatus, "Look at every file again."),
    Method("tierline/retrieval/get", RetrievalParams, RetrievalInfo, "What was found, and why."),
    Method("tierline/retrieval/code", CodeParams, CodeResult, "The body of a symbol."),
    Method("tierline/pins/list", NoParams, PinsResult, "What is held, and what is suggested."),
    Method("tierline/pins/suggested", NoParams, PinsResult, "What the model suggests to pin."),
    Method("tierline/pins/add", PinItemParams, PinsResult, "Pin a file or a symbol."),
    Method("tierline/pins/remove", PinKeyParams, PinsResult, "Take a pin or a lease away."),
    Method("tierline/pins/accept", PinKeyParams, PinsResult, "Pin what the model suggests."),
    Method("tierline/pins/dismiss", PinKeyParams, PinsResult, "Drop a suggestion."),
    Method("tierline/compaction/run", NoParams, CompactionResult, "Compact the history now."),
    Method("tierline/compaction/undo", CompactionUndoParams, State, "Take back a compaction."),
    Method("tierline/branch/fork", ForkParams, State, "Begin a branch at a message."),
    Method("tierline/branch/switch", BranchParams, State, "Go to another branch."),
    Method("tierline/branch/list", NoParams, BranchListResult, "List the branches."),
    Method("tierline/cache/explain", CacheExplainParams, CacheExplainResult, "Why did it miss?"),
    Method("tierline/cache/tiers", CacheTiersParams, CacheTiers, "A request's tiers and cache."),
    Method("tierline/stats/get", StatsParams, Stats, "Requests, cache figures and money."),
    Method("tierline/stats/turns", TurnStatsParams, TurnStatsResult, "What each turn did."),
    Method("tierline/stats/requests", RequestStatsParams, RequestStatsResult, "Every request."),
    Method("tierline/capsule/list", NoParams, CapsuleListResult, "Descriptions of files."),
    Method("tierline/capsule/make", CapsuleMakeParams, CapsuleInfo, "Describe a file."),
    Method("tierline/memory/stats", NoParams, MemoryStats, "Levels, summaries, ratio."),
    Method("tierline/memory/compress", NoParams, MemoryStats, "Compress working memory now."),
    Method("tierline/memo/list", MemoListParams, MemoListResult, "Memos, the newest first."),
    Method("tierline/memo/save", MemoSaveParams, MemoInfo, "Save a memo."),
    Method("tierline/memo/edit", MemoEditParams, MemoInfo, "Change a memo."),
    Method("tierline/memo/delete", MemoParams, MemoListResult, "Delete a memo."),
    Method("tierline/memo/search", MemoSearchParams, MemoListResult, "Search the memos."),
    Method("tierline/consent/answer", ConsentAnswerParams, Ok, "Answer a question of a tool."),
    Method("tierline/edit/list", NoParams, EditListResult, "The edits that were proposed."),
    Method("tierline/edit/accept", EditAcceptParams, EditInfo, "Apply an edit or parts of it."),
    Method("tierline/edit/reject", EditRejectParams, EditInfo, "Reject an edit."),
    Method("tierline/edit/preview", EditParams, EditPreview, "Both texts of an edit."),
    Method("tierline/command/allowed", NoParams, AllowedCommands, "Commands that are allowed."),
    Method("tierline/command/forget", ForgetCommandParams, AllowedCommands, "Ask again."),
)


@define
class ErrorCode:
    """A JSON-RPC error that a method may answer with; ``data`` carries ``{code, advice}``."""

    number: int
    code: str
    doc: str


ERRORS: tuple[ErrorCode, ...] = (
    ErrorCode(-32602, "invalid_params", "The parameters do not have the method's shape."),
    ErrorCode(-32800, "cancelled", "The client cancelled the request."),
    ErrorCode(-32001, "no_provider", "No language model can be reached; names the ways to get one"),
    ErrorCode(-32002, "not_found", "No such turn, plan, session, group or file."),
    ErrorCode(-32003, "fixed_part_too_large", "What cannot be shed does not fit into the window."),
    ErrorCode(-32004, "storage", "The conversation could not be written."),
    ErrorCode(-32005, "conflict", "Not possible in the present state (a turn is running)."),
    ErrorCode(-32010, "compaction", "The history could not be compacted; it is as it was."),
    ErrorCode(-32007, "no_state", "The model's answer holds no STATE block."),
    ErrorCode(-32006, "empty_prompt", "The prompt has no visible text and no picture."),
)
