"""The registry: every request with its parameters and result, and every error."""

from __future__ import annotations

from tierline.protocol.base import NoParams, Ok, define
from tierline.protocol.cache import (
    CacheExplainParams,
    CacheExplainResult,
    CacheTiers,
    CacheTiersParams,
    ChangeForecast,
    ChangeForecastParams,
    RequestStatsParams,
    RequestStatsResult,
    Stats,
    StatsParams,
    TurnStatsParams,
    TurnStatsResult,
)
from tierline.protocol.chat import (
    AskParams,
    ChatCancelParams,
    ChatCancelResult,
    ChatEditParams,
    ChatRetryParams,
    ChatSendParams,
    ChatSendResult,
    EffortParams,
    EffortResult,
    ModeParams,
    ModeResult,
    ProviderKeyParams,
    ProviderListResult,
    ProviderSelectParams,
    QueueChangeParams,
    QueueMoveParams,
    QueueParams,
    QueueResult,
    QueueSteerParams,
)
from tierline.protocol.editor import EditorChatParams, EditorChatResult, EditorModelsResult
from tierline.protocol.files import FileParams, FilesResult, UrlParams, UrlsResult, UrlText
from tierline.protocol.history import (
    AnchorResult,
    ArchiveParams,
    BranchCompareParams,
    BranchComparison,
    BranchListResult,
    BranchParams,
    CommandListResult,
    CommandParams,
    CommandResult,
    ExportParams,
    ExportResult,
    ForkParams,
    GroupDetails,
    GroupListParams,
    GroupListResult,
    GroupParams,
    HistoryStatus,
    ImportParams,
    ImportResult,
    NewSessionFiles,
    NewSessionParams,
    QueryParams,
    QueryResult,
    RecoverParams,
    RecoverResult,
    RenameParams,
    Scratchpad,
    ScratchpadAppendParams,
    ScratchpadSetParams,
    SearchHits,
    SearchParams,
    SessionListParams,
    SessionListResult,
    SessionMessages,
    SessionParams,
    StrategyParams,
    UndoParams,
    WindowParams,
)
from tierline.protocol.instructions import InstructionsResult, InstructionSwitchParams
from tierline.protocol.memory import (
    CapsuleInfo,
    CapsuleListResult,
    CapsuleMakeParams,
    CompactionParams,
    CompactionResult,
    CompactionUndoParams,
    CompactionView,
    MemoEditParams,
    MemoInfo,
    MemoListParams,
    MemoListResult,
    MemoParams,
    MemoryStats,
    MemoSaveParams,
    MemoSearchParams,
)
from tierline.protocol.mentions import (
    EditorContent,
    EditorProvideParams,
    MentionCompleteParams,
    MentionCompleteResult,
    MentionResolveParams,
    MentionResolveResult,
)
from tierline.protocol.models import (
    KeyCheckParams,
    KeyCheckResult,
    ModelsParams,
    ModelsResult,
)
from tierline.protocol.moments import BackParams, BackPreview, BackResult
from tierline.protocol.plans import (
    PlanDiffParams,
    PlanDiffResult,
    PlanExplainParams,
    PlanExplainResult,
    PlanInfo,
    PlanListParams,
    PlanListResult,
    PlanParams,
    PlanSentParams,
    PlanSentResult,
    PromptTextResult,
)
from tierline.protocol.symbols import (
    CodeParams,
    CodeResult,
    PinItemParams,
    PinKeyParams,
    PinsResult,
    ReindexParams,
    RetrievalInfo,
    RetrievalParams,
    SymbolsStatus,
)
from tierline.protocol.tools import (
    AllowedCommands,
    ConsentAnswerParams,
    EditAcceptParams,
    EditChooseParams,
    EditListResult,
    EditParams,
    EditPreview,
    EditProposeParams,
    EditRejectParams,
    EditReviewParams,
    EditReviewResult,
    ForgetCommandParams,
    SaveParams,
    SaveResult,
)
from tierline.protocol.values import Budget, EditInfo, ProviderInfo, State


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
EDITOR_PROVIDE = Method(
    "tierline/editor/provide",
    EditorProvideParams,
    EditorContent,
    "What a mention needs of the editor.",
)
CLIENT_METHODS: tuple[Method, ...] = (EDITOR_MODELS, EDITOR_CHAT, EDITOR_SAVE, EDITOR_PROVIDE)
"""Requests from server to client, only to clients that declare them in
``capabilities.experimental.tierline`` (``languageModels``, ``save``, ``provides``)."""
EDITOR_PART = "tierline/editor/part"
"""Notification from client to server: a part of a reply."""
EDITOR_CANCEL = "tierline/editor/cancel"
"""Notification from server to client."""

METHODS: tuple[Method, ...] = (
    Method("tierline/chat/send", ChatSendParams, ChatSendResult, "Send a prompt."),
    Method("tierline/chat/ask", AskParams, ChatSendResult, "Explain, fix, test or document code."),
    Method("tierline/chat/cancel", ChatCancelParams, ChatCancelResult, "Stop a reply at once."),
    Method("tierline/chat/retry", ChatRetryParams, ChatSendResult, "Send the last prompt again."),
    Method(
        "tierline/mention/complete",
        MentionCompleteParams,
        MentionCompleteResult,
        "What a prompt can name with @.",
    ),
    Method(
        "tierline/mention/resolve",
        MentionResolveParams,
        MentionResolveResult,
        "What a prompt names, with sizes; nothing is changed.",
    ),
    Method("tierline/chat/edit", ChatEditParams, ChatSendResult, "Change an earlier prompt."),
    Method("tierline/queue/list", NoParams, QueueResult, "List the prompts that wait."),
    Method("tierline/queue/change", QueueChangeParams, QueueResult, "Change one."),
    Method("tierline/queue/move", QueueMoveParams, QueueResult, "Put one in another place."),
    Method("tierline/queue/remove", QueueParams, QueueResult, "Take one back."),
    Method("tierline/queue/steer", QueueSteerParams, QueueResult, "Let one reach the turn."),
    Method("tierline/files/add", FileParams, FilesResult, "Add a file or folder to the context."),
    Method("tierline/files/remove", FileParams, FilesResult, "Take a file out of the context."),
    Method("tierline/files/list", NoParams, FilesResult, "List the file context."),
    Method("tierline/files/clear", NoParams, FilesResult, "Empty the file context."),
    Method("tierline/files/pin", FileParams, FilesResult, "Pin a file: it is shed last."),
    Method("tierline/files/unpin", FileParams, FilesResult, "Unpin a file; it stays in context."),
    Method("tierline/instructions/list", NoParams, InstructionsResult, "AGENTS.md and its like."),
    Method(
        "tierline/instructions/set",
        InstructionSwitchParams,
        InstructionsResult,
        "Use an instruction file or leave it out.",
    ),
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
    Method("tierline/model/effort", EffortParams, EffortResult, "How much the model thinks."),
    Method("tierline/provider/models", ModelsParams, ModelsResult, "A provider's models."),
    Method("tierline/provider/checkKey", KeyCheckParams, KeyCheckResult, "Try a key."),
    Method("tierline/plan/get", PlanParams, PlanInfo, "A stored plan with all its entries."),
    Method("tierline/plan/list", PlanListParams, PlanListResult, "Stored plans, newest first."),
    Method("tierline/plan/explain", PlanExplainParams, PlanExplainResult, "Why is this in or out?"),
    Method("tierline/plan/diff", PlanDiffParams, PlanDiffResult, "What changed between two plans."),
    Method("tierline/plan/sent", PlanSentParams, PlanSentResult, "What went with a prompt."),
    Method("tierline/plan/show", PlanParams, PromptTextResult, "The exact context, readable."),
    Method("tierline/history/newSession", NewSessionParams, State, "Begin a new session."),
    Method("tierline/history/newSessionFiles", NoParams, NewSessionFiles, "What it would keep."),
    Method("tierline/history/listSessions", SessionListParams, SessionListResult, "Sessions."),
    Method("tierline/history/loadSession", SessionParams, State, "Continue another session."),
    Method("tierline/history/getSession", SessionParams, SessionMessages, "Read a session."),
    Method("tierline/history/deleteSession", SessionParams, SessionListResult, "Hide a session."),
    Method("tierline/history/renameSession", RenameParams, Ok, "Give the session a title."),
    Method("tierline/history/archiveSession", ArchiveParams, SessionListResult, "Archive one."),
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
    Method("tierline/history/export", ExportParams, ExportResult, "A session as a text."),
    Method(
        "tierline/history/import", ImportParams, ImportResult, "Take over another tool's session."
    ),
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
    Method("tierline/compaction/run", CompactionParams, CompactionResult, "Compact now."),
    Method("tierline/compaction/show", CompactionUndoParams, CompactionView, "What left?"),
    Method("tierline/compaction/undo", CompactionUndoParams, State, "Take back a compaction."),
    Method("tierline/branch/fork", ForkParams, State, "Begin a branch at a message."),
    Method("tierline/branch/switch", BranchParams, State, "Go to another branch."),
    Method("tierline/branch/list", NoParams, BranchListResult, "List the branches."),
    Method("tierline/cache/explain", CacheExplainParams, CacheExplainResult, "Why did it miss?"),
    Method("tierline/cache/tiers", CacheTiersParams, CacheTiers, "A request's tiers and cache."),
    Method(
        "tierline/cache/forecast", ChangeForecastParams, ChangeForecast, "What would a change cost?"
    ),
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
    Method(
        "tierline/edit/propose", EditProposeParams, EditInfo, "Propose code of a reply as an edit."
    ),
    Method("tierline/edit/accept", EditAcceptParams, EditInfo, "Apply an edit or parts of it."),
    Method("tierline/edit/reject", EditRejectParams, EditInfo, "Reject an edit."),
    Method(
        "tierline/edit/choose",
        EditChooseParams,
        EditInfo,
        "Take or leave one part; the last choice applies what was taken.",
    ),
    Method("tierline/edit/keep", EditReviewParams, EditReviewResult, "Keep what was applied."),
    Method("tierline/edit/undo", EditReviewParams, EditReviewResult, "Take it out again."),
    Method("tierline/back/preview", BackParams, BackPreview, "What would going back change?"),
    Method("tierline/back/go", BackParams, BackResult, "Go back to a prompt, or forward."),
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
    ErrorCode(
        -32011,
        "unclear_mention",
        "A mention names a folder, nothing, or what may not be sent; nothing was sent.",
    ),
    ErrorCode(-32006, "empty_prompt", "The prompt has no visible text and no picture."),
    ErrorCode(
        -32008, "not_sendable", "A picture, selection or file that the user chose cannot be sent."
    ),
)
