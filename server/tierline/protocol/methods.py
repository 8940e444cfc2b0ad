"""The registry: every request with its parameters and result, and every error."""

from __future__ import annotations

from tierline.protocol.base import NoParams, Ok, define
from tierline.protocol.cache import *
from tierline.protocol.chat import *
from tierline.protocol.editor import *
from tierline.protocol.files import *
from tierline.protocol.history import *
from tierline.protocol.memory import *
from tierline.protocol.mentions import *
from tierline.protocol.moments import *
from tierline.protocol.plans import *
from tierline.protocol.symbols import *
from tierline.protocol.tools import *
from tierline.protocol.values import *


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
    "tierline/editor/models",
    NoParams,
    EditorModelsResult,
    "List the models that the editor offers.",
)
EDITOR_CHAT = Method(
    "tierline/editor/chat", EditorChatParams, EditorChatResult, "Ask one of the editor's models."
)
EDITOR_SAVE = Method("tierline/editor/save", SaveParams, SaveResult, "Save documents.")
EDITOR_PROVIDE = Method(
    "tierline/editor/provide",
    EditorProvideParams,
    EditorContent,
    "Give what a mention needs of the editor.",
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
        "List what a prompt can name with @.",
    ),
    Method(
        "tierline/mention/resolve",
        MentionResolveParams,
        MentionResolveResult,
        "List what a prompt names, with sizes; change nothing.",
    ),
    Method("tierline/chat/edit", ChatEditParams, ChatSendResult, "Change an earlier prompt."),
    Method("tierline/queue/list", NoParams, QueueResult, "List the waiting prompts."),
    Method("tierline/queue/change", QueueChangeParams, QueueResult, "Change a waiting prompt."),
    Method("tierline/queue/move", QueueMoveParams, QueueResult, "Move a waiting prompt."),
    Method("tierline/queue/remove", QueueParams, QueueResult, "Take a waiting prompt back."),
    Method("tierline/queue/steer", QueueSteerParams, QueueResult, "Send one in the running turn."),
    Method("tierline/files/add", FileParams, FilesResult, "Add a file or folder to the context."),
    Method("tierline/files/remove", FileParams, FilesResult, "Take a file out of the context."),
    Method("tierline/files/list", NoParams, FilesResult, "List the file context."),
    Method("tierline/files/clear", NoParams, FilesResult, "Empty the file context."),
    Method("tierline/files/pin", FileParams, FilesResult, "Pin a file: it is shed last."),
    Method("tierline/files/unpin", FileParams, FilesResult, "Unpin a file; it stays in context."),
    Method("tierline/instructions/list", NoParams, InstructionsResult, "List instruction files."),
    Method(
        "tierline/instructions/set",
        InstructionSwitchParams,
        InstructionsResult,
        "Use an instruction file or leave it out.",
    ),
    Method("tierline/urls/add", UrlParams, UrlsResult, "Read a web page into the context."),
    Method("tierline/urls/list", NoParams, UrlsResult, "List the web pages in the context."),
    Method("tierline/urls/remove", UrlParams, UrlsResult, "Take a web page out of the context."),
    Method("tierline/urls/refresh", UrlParams, UrlsResult, "Read a web page again."),
    Method("tierline/urls/show", UrlParams, UrlText, "Get the text of a web page."),
    Method("tierline/budget/get", NoParams, Budget, "Get the next request's size by section."),
    Method("tierline/state/get", NoParams, State, "Get everything that a client shows."),
    Method("tierline/mode/set", ModeParams, ModeResult, "Set or cycle the context mode."),
    Method("tierline/provider/list", NoParams, ProviderListResult, "List providers, with state."),
    Method("tierline/provider/select", ProviderSelectParams, ProviderInfo, "Choose a provider."),
    Method("tierline/provider/setKey", ProviderKeyParams, ProviderInfo, "Hand over a key."),
    Method("tierline/model/effort", EffortParams, EffortResult, "Get or set how much it thinks."),
    Method("tierline/provider/models", ModelsParams, ModelsResult, "List a provider's models."),
    Method("tierline/provider/checkKey", KeyCheckParams, KeyCheckResult, "Try a key."),
    Method("tierline/plan/get", PlanParams, PlanInfo, "Get a stored plan with all its entries."),
    Method("tierline/plan/list", PlanListParams, PlanListResult, "List plans, newest first."),
    Method(
        "tierline/plan/explain",
        PlanExplainParams,
        PlanExplainResult,
        "Say why an item is in a request or not.",
    ),
    Method("tierline/plan/diff", PlanDiffParams, PlanDiffResult, "Compare two plans."),
    Method("tierline/plan/sent", PlanSentParams, PlanSentResult, "List what a prompt took along."),
    Method("tierline/plan/show", PlanParams, PromptTextResult, "Get the exact context as text."),
    Method("tierline/history/newSession", NewSessionParams, State, "Begin a new session."),
    Method(
        "tierline/history/newSessionFiles",
        NoParams,
        NewSessionFiles,
        "List the files and pages that a new session would keep.",
    ),
    Method("tierline/history/listSessions", SessionListParams, SessionListResult, "List sessions."),
    Method("tierline/history/loadSession", SessionParams, State, "Continue another session."),
    Method("tierline/history/getSession", SessionParams, SessionMessages, "Read a session."),
    Method("tierline/history/deleteSession", SessionParams, SessionListResult, "Hide a session."),
    Method("tierline/history/renameSession", RenameParams, Ok, "Give the session a title."),
    Method(
        "tierline/history/archiveSession",
        ArchiveParams,
        SessionListResult,
        "Archive a session, or bring it back.",
    ),
    Method("tierline/history/search", SearchParams, SearchHits, "Search all sessions."),
    Method("tierline/history/status", NoParams, HistoryStatus, "Get the figures of the history."),
    Method("tierline/history/list", GroupListParams, GroupListResult, "List the session's turns."),
    Method("tierline/history/undo", UndoParams, State, "Take back the newest turn."),
    Method("tierline/history/remove", GroupParams, State, "Remove a turn for good."),
    Method("tierline/history/drop", GroupParams, State, "Hide a turn; it can come back."),
    Method("tierline/history/restore", GroupParams, State, "Bring a hidden turn back."),
    Method("tierline/history/window", WindowParams, HistoryStatus, "Set how many turns are sent."),
    Method("tierline/history/strategy", StrategyParams, HistoryStatus, "Choose the strategy."),
    Method("tierline/history/show", GroupParams, GroupDetails, "Get everything of one turn."),
    Method("tierline/history/query", QueryParams, QueryResult, "Read the history with SQL."),
    Method("tierline/branch/compare", BranchCompareParams, BranchComparison, "Compare branches."),
    Method("tierline/chat/command", CommandParams, CommandResult, "Carry out a slash command."),
    Method("tierline/chat/commands", NoParams, CommandListResult, "List the slash commands."),
    Method("tierline/history/export", ExportParams, ExportResult, "Export a session as text."),
    Method("tierline/history/import", ImportParams, ImportResult, "Import a conversation."),
    Method("tierline/history/recover", RecoverParams, RecoverResult, "Take over a damaged log."),
    Method("tierline/history/anchor", NoParams, AnchorResult, "Get the STATE block in force."),
    Method("tierline/history/rebuild", NoParams, AnchorResult, "Derive STATE from the window."),
    Method("tierline/scratchpad/get", NoParams, Scratchpad, "Get the session's scratchpad."),
    Method("tierline/scratchpad/set", ScratchpadSetParams, Scratchpad, "Replace the scratchpad."),
    Method("tierline/scratchpad/append", ScratchpadAppendParams, Scratchpad, "Add to its end."),
    Method("tierline/symbols/status", NoParams, SymbolsStatus, "Get the symbol index's state."),
    Method("tierline/symbols/reindex", ReindexParams, SymbolsStatus, "Index every file again."),
    Method("tierline/retrieval/get", RetrievalParams, RetrievalInfo, "List what a turn retrieved."),
    Method("tierline/retrieval/code", CodeParams, CodeResult, "Get the body of a symbol."),
    Method("tierline/pins/list", NoParams, PinsResult, "List what is held or suggested."),
    Method("tierline/pins/suggested", NoParams, PinsResult, "List what the model suggests to pin."),
    Method("tierline/pins/add", PinItemParams, PinsResult, "Pin a file or a symbol."),
    Method("tierline/pins/remove", PinKeyParams, PinsResult, "Remove a pin or a lease."),
    Method("tierline/pins/accept", PinKeyParams, PinsResult, "Pin what the model suggests."),
    Method("tierline/pins/dismiss", PinKeyParams, PinsResult, "Dismiss a suggestion."),
    Method("tierline/compaction/run", CompactionParams, CompactionResult, "Compact now."),
    Method(
        "tierline/compaction/show",
        CompactionUndoParams,
        CompactionView,
        "List the messages that a compaction stands for.",
    ),
    Method("tierline/compaction/undo", CompactionUndoParams, State, "Take back a compaction."),
    Method("tierline/branch/fork", ForkParams, State, "Begin a branch at a message."),
    Method("tierline/branch/switch", BranchParams, State, "Go to another branch."),
    Method("tierline/branch/list", NoParams, BranchListResult, "List the branches."),
    Method(
        "tierline/cache/explain",
        CacheExplainParams,
        CacheExplainResult,
        "Say why a turn hit or missed the cache.",
    ),
    Method("tierline/cache/tiers", CacheTiersParams, CacheTiers, "Get a request's tiers."),
    Method(
        "tierline/cache/forecast",
        ChangeForecastParams,
        ChangeForecast,
        "Estimate what a change would cost the next request.",
    ),
    Method("tierline/stats/get", StatsParams, Stats, "Get requests, cache figures and money."),
    Method("tierline/stats/turns", TurnStatsParams, TurnStatsResult, "List what each turn did."),
    Method("tierline/stats/requests", RequestStatsParams, RequestStatsResult, "List requests."),
    Method("tierline/capsule/list", NoParams, CapsuleListResult, "List the capsules."),
    Method("tierline/capsule/make", CapsuleMakeParams, CapsuleInfo, "Make a capsule of a file."),
    Method("tierline/memory/stats", NoParams, MemoryStats, "Get the memory levels and summaries."),
    Method("tierline/memory/compress", NoParams, MemoryStats, "Compress working memory now."),
    Method("tierline/memo/list", MemoListParams, MemoListResult, "List the memos, newest first."),
    Method("tierline/memo/save", MemoSaveParams, MemoInfo, "Save a memo."),
    Method("tierline/memo/edit", MemoEditParams, MemoInfo, "Change a memo."),
    Method("tierline/memo/delete", MemoParams, MemoListResult, "Delete a memo."),
    Method("tierline/memo/search", MemoSearchParams, MemoListResult, "Search the memos."),
    Method("tierline/consent/answer", ConsentAnswerParams, Ok, "Answer a question of a tool."),
    Method("tierline/edit/list", NoParams, EditListResult, "List the proposed edits."),
    Method("tierline/edit/propose", EditProposeParams, EditInfo, "Propose an edit from a reply."),
    Method("tierline/edit/accept", EditAcceptParams, EditInfo, "Apply an edit or parts of it."),
    Method("tierline/edit/reject", EditRejectParams, EditInfo, "Reject an edit."),
    Method(
        "tierline/edit/choose",
        EditChooseParams,
        EditInfo,
        "Take or leave one part; the last choice applies what was taken.",
    ),
    Method("tierline/edit/keep", EditReviewParams, EditReviewResult, "Keep applied edits."),
    Method("tierline/edit/undo", EditReviewParams, EditReviewResult, "Undo applied edits."),
    Method("tierline/back/preview", BackParams, BackPreview, "List what going back would change."),
    Method("tierline/back/go", BackParams, BackResult, "Go back to a prompt, or forward."),
    Method("tierline/edit/preview", EditParams, EditPreview, "Get both texts of an edit."),
    Method("tierline/command/allowed", NoParams, AllowedCommands, "List the allowed commands."),
    Method(
        "tierline/command/forget",
        ForgetCommandParams,
        AllowedCommands,
        "Ask about a command again.",
    ),
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
    ErrorCode(
        -32001, "no_provider", "No language model can be reached; the advice names ways to get one."
    ),
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
