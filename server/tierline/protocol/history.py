"""Sessions, turns, branches, search, slash commands, the anchor and the scratchpad."""

from __future__ import annotations

from typing import Literal

from attrs import field

from tierline.protocol.base import define
from tierline.protocol.values import ChatMessage


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
    archived: bool = False


@define
class SessionListParams:
    """How many sessions; 0 for the newest thousand."""

    limit: int = 50
    query: str = ""
    """Only those in whose id, title or first words this is, in any case of letters."""
    archived: bool = False
    """Those in the archive instead of all others."""


@define
class SessionListResult:
    """Sessions, and log files in the folder that are damaged or foreign (never changed)."""

    sessions: list[SessionInfo]
    damaged: list[str] = field(factory=list)
    more: bool = False
    """There are more than were asked for."""
    partial: bool = False
    """The index is being built: some are missing, or counted in part. Ask again later."""


@define
class SessionParams:
    """A session by id; the current one when empty."""

    session_id: str = ""


@define
class ArchiveParams:
    """A session leaves the usual lists and searches; the current one when empty. Its records stay
    as they are, and whoever goes on with it brings it back.
    """

    session_id: str = ""
    away: bool = True
    """False: it comes back."""


@define
class NewSessionParams:
    """Whether listed files and pages stay; when empty, the setting decides or the user is asked."""

    files: Literal["", "keep", "drop"] = ""


@define
class KeptEntry:
    """A file, a folder with all its files, or a page that a new session would keep."""

    name: str
    files: int = 0
    """Of a folder's that are listed; 0 for a page."""
    tokens: int = 0
    pinned: bool = False


@define
class NewSessionFiles:
    """What a new session would keep, the largest first. Tokens and cost are those of its first
    prompt; cost in US dollars, 0 where prices are unknown.
    """

    entries: list[KeptEntry]
    tokens: int = 0
    cost: float = 0.0
    sentence: str = ""
    """A question to the user that says all that."""
    ask: bool = False
    """False if there is nothing to keep, or if a setting decides."""


@define
class ExportParams:
    """A session as a text; the current one when empty."""

    format: Literal["markdown", "html", "json"] = "markdown"
    session_id: str = ""


@define
class ExportResult:
    """The text, and what a file of it may be called."""

    name: str
    text: str


@define
class ImportParams:
    """A conversation as another tool wrote it."""

    text: str
    name: str = ""
    """The file's name, for messages."""


@define
class ImportResult:
    """What was taken over, and what could not be."""

    source: str
    """Whose format it is."""
    sessions: int
    messages: int
    left_out: list[str] = field(factory=list)


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
    archived: bool = False
    """Search the archive, too."""


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
    prompt: str = ""
    """The prompt that the line stands for: the client sends it as if it had been typed and shows
    nothing else. Empty for all other commands."""


@define
class CommandInfo:
    """One command of the chat."""

    usage: str
    doc: str
    source: str = ""
    """The file of a command of one's own; empty for those that are built in."""
    prompt: bool = False
    """It stands for a prompt."""


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
    """The STATE block in force; empty text for none."""

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
