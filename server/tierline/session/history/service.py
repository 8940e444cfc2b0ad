"""The history service: sessions, search, undo and the like, branches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from attrs import define, field

from tierline import protocol as p
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.actions import Action
from tierline.history.groups import Group, groups
from tierline.history.messages import Message, Status
from tierline.history.parser import text_of
from tierline.history.timeline import Timeline
from tierline.session.compaction.service import CompactionService
from tierline.session.conversation import Conversation
from tierline.session.conversation.ordering import in_order, opens_session
from tierline.session.edits.service import EditService
from tierline.session.events import EventBus
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.history import history_texts
from tierline.session.models import ModelService
from tierline.session.requests.composer import Composer
from tierline.session.requests.plans import PlanService
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue
from tierline.session.turns.turn import TurnRunner
from tierline.store.index import SessionSummary
from tierline.store.query_db import cell, query_db
from tierline.store.query_worker import VIEWS
from tierline.store.sessions import HistoryStore

_PREVIEW = 100
_MAX_SESSIONS = 1000
"""Sessions in one answer by default: a hundred thousand would take seconds."""
_PIECES, _PIECE_SECONDS = 600, 0.1
_PLANS = 1000
"""Plans that are searched: more than are kept."""


@define(eq=False, repr=False, slots=False)
class HistoryService:
    """The requests `history/…`. The log is only ever appended to."""

    _bus: EventBus
    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _files: FileService
    _urls: UrlService
    _edits: EditService
    _composer: Composer
    _plans: PlanService
    _compaction: CompactionService
    _turns: TurnRunner
    _whole_state: Callable[[p.NoParams], Awaitable[p.State]] = field(alias="state")
    """Returns the state for clients, for the answers."""
    _store: HistoryStore = field(init=False)
    _deepening: asyncio.Task[None] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._store = self._conversation.store

    def close(self) -> None:
        """Stop completing the index."""
        if self._deepening is not None:
            self._deepening.cancel()

    # --- sessions --------------------------------------------------------------------------------

    @opens_session
    async def new(self, params: p.NewSessionParams) -> p.State:
        """Begin a new session; unless they are dropped, files, pages and pins stay as they are."""
        return await self._open("", "new session", keep=params.files != "drop")

    @opens_session
    async def load(self, params: p.SessionParams) -> p.State:
        """Continue another session, with its files and pins.

        Raises:
            TierlineError: ``not_found``: there is no such session.
        """
        if await asyncio.to_thread(self._store.session, params.session_id) is None:
            raise _unknown_session(params.session_id)
        return await self._open(params.session_id, "session loaded")

    async def sessions(self, params: p.SessionListParams) -> p.SessionListResult:
        """Sessions, the one used last first."""
        limit = params.limit or _MAX_SESSIONS
        found = await asyncio.to_thread(
            self._store.sessions, limit + 1, params.query, archived=params.archived
        )
        others = await asyncio.to_thread(self._store.other_files)
        if found.partial:
            self._complete_soon()
        return p.SessionListResult(
            sessions=[self._info(summary) for summary in found.sessions[:limit]],
            damaged=[
                report.path.name for report in others if report.health in ("damaged", "partly")
            ],
            more=len(found.sessions) > limit,
            partial=found.partial,
        )

    @in_order
    async def recover(self, params: p.RecoverParams) -> p.RecoverResult:
        """Import the intact records of another log file in the folder; the file is not changed.

        Raises:
            TierlineError: ``not_found``: there is no such file.
        """
        known = {report.path.name: report.path for report in self._store.other_files()}
        if params.file not in known:
            raise TierlineError(
                "not_found",
                f"There is no other log {params.file} in the folder {self._store.folder.name}.",
                "Put the file there, then list the sessions.",
            )
        added = await asyncio.to_thread(self._store.import_file, known[params.file])
        listed = await self.sessions(p.SessionListParams())
        return p.RecoverResult(added, listed.sessions, listed.damaged)

    async def read(self, params: p.SessionParams) -> p.SessionMessages:
        """A session's visible messages, without making it the current one."""
        wanted = params.session_id or self._store.session_id
        now = await asyncio.to_thread(self._store.timeline, wanted)
        return p.SessionMessages(wanted, self._shown(now.visible(), now))

    @opens_session
    async def delete(self, params: p.SessionParams) -> p.SessionListResult:
        """Take a session out of every list and search."""
        self._queue.require_idle()
        current = self._store.session_id
        await asyncio.to_thread(self._store.delete_session, params.session_id or current)
        if self._store.session_id != current:
            self._replaced("session deleted")
        return await self.sessions(p.SessionListParams())

    @opens_session
    async def archive(self, params: p.ArchiveParams) -> p.SessionListResult:
        """Take a session out of the usual lists and searches, or back in; its records stay.

        Raises:
            TierlineError: ``not_found``: there is no such session.
        """
        current = self._store.session_id
        wanted = params.session_id or current
        if await asyncio.to_thread(self._store.session, wanted) is None:
            raise _unknown_session(wanted)
        if wanted == current:
            self._queue.require_idle()
        await asyncio.to_thread(self._store.archive_session, wanted, away=params.away)
        if self._store.session_id != current:
            self._replaced("session archived")
        return await self.sessions(p.SessionListParams())

    async def rename(self, params: p.RenameParams) -> p.Ok:
        """Give a session a title."""
        await asyncio.to_thread(
            self._store.record, actions.rename(params.title), session_id=params.session_id
        )
        return p.Ok()

    async def search(self, params: p.SearchParams) -> p.SearchHits:
        """Search all sessions, unsaved messages included."""
        result = await asyncio.to_thread(
            self._store.search,
            params.query,
            params.role,
            max(1, params.limit),
            session_id=params.session_id,
            archived=params.archived,
            memory=self._conversation.visible(),
        )
        hits = [
            p.SearchHit(h.id, h.session_id, h.group_id, h.role, h.timestamp, h.snippet)
            for h in result.hits
        ]
        self._complete_soon()  # further searches are likely
        return p.SearchHits(hits=hits, partial=result.partial)

    async def status(self, _params: p.NoParams) -> p.HistoryStatus:
        """Token counts, compaction and session for a history bar."""
        budget = (await self._composer.preview()).budget
        now = self._conversation.timeline()
        facts = self._models.facts()
        compaction = self._preferences.settings.compaction
        trigger = max(1, budget.compaction_trigger_tokens)
        return p.HistoryStatus(
            session_id=now.session_id or self._store.session_id,
            session_title=now.title,
            branch=now.branch,
            history_tokens=budget.history_tokens,
            max_history_tokens=facts.max_history_tokens,
            compaction_enabled=compaction.enabled,
            compaction_trigger_tokens=trigger,
            compaction_percent=round(min(100.0, 100 * budget.history_tokens / trigger), 1),
            needs_summary=compaction.enabled and budget.history_tokens > trigger,
            groups=len(now.groups()),
            window=self._conversation.window,
            strategy=self._conversation.strategy,
            compacting=self._compaction.running,
            compactions=len(now.summaries),
            compaction_note=self._compaction.note,
        )

    # --- turns -----------------------------------------------------------------------------------

    async def turns(self, params: p.GroupListParams) -> p.GroupListResult:
        """The session's turns with their weights, oldest first."""
        now = self._conversation.timeline()
        shown = groups(now.messages if params.hidden else now.visible())
        chosen = shown[-params.limit :] if params.limit > 0 else shown
        return p.GroupListResult([_group(g, now.hidden.get(g.id, "")) for g in chosen])

    @in_order
    async def undo(self, params: p.UndoParams) -> p.State:
        """Take back the newest turn, a queued prompt first; or everything after a turn."""
        queued = self._queue.groups
        if queued and not params.to:
            await self._turns.cancel(p.ChatCancelParams(turn_id=queued[-1]))
        elif params.to or not self._queue.current:
            self._queue.require_idle()
        else:
            await self._turns.cancel(p.ChatCancelParams())
            await self._turns.settled()
        return await self._act(actions.undo(self._conversation.timeline(), to=params.to), "undo")

    @in_order
    async def remove(self, params: p.GroupParams) -> p.State:
        """Remove a turn from everything that is sent, shown or searched."""
        self._queue.require_idle()
        now = self._conversation.timeline()
        return await self._act(actions.remove(now, self._group(params)), "turn removed")

    @in_order
    async def drop(self, params: p.GroupParams) -> p.State:
        """Hide a turn; ``restore`` brings it back."""
        self._queue.require_idle()
        now = self._conversation.timeline()
        return await self._act(actions.drop(now, self._group(params)), "turn dropped")

    @in_order
    async def restore(self, params: p.GroupParams) -> p.State:
        """Bring a hidden turn back; the one hidden last when none is named."""
        self._queue.require_idle()
        now = self._conversation.timeline()
        return await self._act(actions.restore(now, params.group_id), "turn restored")

    @in_order
    async def window(self, params: p.WindowParams) -> p.HistoryStatus:
        """Set the rolling window; it holds for this session."""
        await self._record(actions.window(params.size))
        return await self.status(p.NoParams())

    @in_order
    async def strategy(self, params: p.StrategyParams) -> p.HistoryStatus:
        """Choose the selection; it holds for this session."""
        await self._record(actions.strategy(params.name))
        return await self.status(p.NoParams())

    # --- branches --------------------------------------------------------------------------------

    @in_order
    async def fork(self, params: p.ForkParams) -> p.State:
        """Begin a branch at a message and go there; files and pins are inherited by copy."""
        self._queue.require_idle()
        made = actions.fork(self._conversation.timeline(), params.message_id, params.name)
        await self._record(made)
        now = self._conversation.timeline()
        return await self._act(actions.switch(now, str(made.data["branch"])), "fork")

    @in_order
    async def switch(self, params: p.BranchParams) -> p.State:
        """Go to another branch."""
        self._queue.require_idle()
        now = self._conversation.timeline()
        return await self._act(actions.switch(now, params.branch), "branch")

    async def branches(self, _params: p.NoParams) -> p.BranchListResult:
        """All branches of the session."""
        now = self._conversation.timeline()
        return p.BranchListResult(
            branches=[
                p.BranchInfo(b.id, b.parent, b.at, b.head, b.id == now.branch) for b in now.branches
            ],
            current=now.branch,
        )

    async def compare(self, params: p.BranchCompareParams) -> p.BranchComparison:
        """Two branches: their own turns, and how their newest requests differ."""
        now = self._conversation.timeline()
        a, b = params.a, params.b or now.branch
        for name in (a, b):
            actions.switch(now, name)  # refuses an unknown name
        found = await asyncio.to_thread(self._store.compare, a, b)
        plans = [await asyncio.to_thread(self._plan_of, name) for name in (a, b)]
        lines: list[str] = []
        if plans[0] and plans[1]:
            difference = await self._plans.diff(p.PlanDiffParams(plans[0], plans[1]))
            lines = difference.lines
        only_a = self._shown(found.only_a, self._store.timeline(branch=a))
        only_b = self._shown(found.only_b, self._store.timeline(branch=b))
        return p.BranchComparison(
            a=a,
            b=b,
            common_message=found.common,
            only_a=only_a,
            only_b=only_b,
            plan_a=plans[0],
            plan_b=plans[1],
            plan_lines=lines,
            text=history_texts.comparison(a, b, only_a, only_b, lines),
        )

    # --- reading ---------------------------------------------------------------------------------

    async def show(self, params: p.GroupParams) -> p.GroupDetails:
        """Everything of one turn, hidden or not; the newest when none is named.

        Raises:
            TierlineError: ``not_found``: there is no such turn.
        """
        group = self._group(params)
        now = self._conversation.timeline()
        messages = [m for m in self._conversation.visible() if m.group_id == group]
        messages = messages or [m for m in now.messages if m.group_id == group]
        if not messages:
            raise TierlineError(
                "not_found", f"There is no turn {group}.", "List the turns to see what is."
            )
        return p.GroupDetails(
            group_id=group,
            messages=self._shown(messages, now),
            text=history_texts.turn(group, messages, now.states),
            tokens=max((m.tokens for m in messages), default=0),
            hidden=now.hidden.get(group, ""),
            plan_ids=[str(m.meta["plan_id"]) for m in messages if m.meta.get("plan_id")],
        )

    async def query(self, params: p.QueryParams) -> p.QueryResult:
        """One SELECT over the history, for a person; the tool ``query_db`` is the same.

        Raises:
            TierlineError: ``invalid_params``, with what is wrong with the query.
        """
        answer = await asyncio.to_thread(query_db, self._store.index, params.sql)
        if answer.error:
            raise TierlineError("invalid_params", answer.error, f"Views: {', '.join(VIEWS)}.")
        return p.QueryResult(
            columns=list(answer.columns),
            rows=[[cell(value) for value in row] for row in answer.rows],
            truncated=answer.truncated,
        )

    def _complete_soon(self) -> None:
        """Complete the index in a thread, with the vocabulary for parts of words."""
        if self._deepening is None or self._deepening.done():
            self._deepening = asyncio.create_task(self._complete())

    async def _complete(self) -> None:
        """Work with pauses, in which others can use the index; the rest waits for the next call."""
        for _ in range(_PIECES):
            if await asyncio.to_thread(self._store.maintain, _PIECE_SECONDS):
                return
            await asyncio.sleep(2 * _PIECE_SECONDS)

    async def _open(self, session_id: str, reason: str, *, keep: bool = True) -> p.State:
        self._queue.require_idle()
        # A slow change of the list belongs to the session in which it was requested.
        async with self._files.order:
            opened = await self._conversation.open(session_id)
            if session_id or not keep:
                await self._files.take_up(opened.files)
            else:
                await self._files.carry()
        await self._edits.load()
        if session_id or not keep:
            await asyncio.to_thread(self._urls.restore, opened.urls)
        else:
            await self._urls.carry()
        return await self._state(reason)

    async def _act(self, action: Action, reason: str) -> p.State:
        await self._record(action)
        return await self._state(reason)

    async def _record(self, action: Action) -> None:
        if problem := await self._conversation.act(action):
            raise TierlineError("storage", problem, "Nothing was changed.")
        self._bus.context_changed()

    async def _state(self, reason: str) -> p.State:
        self._replaced(reason)
        return await self._whole_state(p.NoParams())

    def _replaced(self, reason: str) -> None:
        self._bus.session_id = self._store.session_id
        self._bus.publish(p.StateChanged(reason=reason))
        self._bus.context_changed(files=True)

    def _shown(self, messages: Iterable[Message], now: Timeline) -> list[p.ChatMessage]:
        return list(self._conversation.all_shown(messages, now).values())

    def _group(self, params: p.GroupParams) -> str:
        known = self._conversation.groups()
        if not params.group_id and not known:
            raise TierlineError("not_found", "There is no turn yet.", "Send a prompt first.")
        return params.group_id or known[-1]

    def _plan_of(self, branch: str) -> str:
        """The plan of the newest turn on a branch that has one; empty if none is kept."""
        turns = [g.id for g in self._store.timeline(branch=branch).groups()]
        kept = self._plans.store.list(_PLANS, self._store.session_id)
        known = {s.turn_id: s.plan.plan_id for s in reversed(kept)}
        return next((known[g] for g in reversed(turns) if g in known), "")

    def _info(self, summary: SessionSummary) -> p.SessionInfo:
        current = summary.session_id == self._store.session_id
        return p.of(p.SessionInfo, summary, first_role=summary.first_role, current=current)


def _group(group: Group, hidden: str) -> p.GroupInfo:
    prompt = next((text_of(m.content) for m in group.messages if m.role == "user"), "")
    return p.GroupInfo(
        group_id=group.id,
        prompt=prompt[:_PREVIEW],
        messages=len(group.messages),
        tokens=max((m.tokens for m in group.messages), default=0),
        hidden=hidden or ("drop" if group.messages[0].status is Status.DROPPED else ""),
    )


def _unknown_session(session_id: str) -> TierlineError:
    return TierlineError(
        "not_found", f"There is no session {session_id}.", "List the sessions to see what is."
    )
