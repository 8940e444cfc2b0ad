"""Composes requests: gathers candidates, plans, lays out, renders. Pure work runs in a thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from attrs import define, evolve, field, frozen

from tierline import protocol as p
from tierline.context import effort
from tierline.context.budget import UsageLedger, budget
from tierline.context.counting import TokenCounter
from tierline.context.enforce import FixedPartTooLarge
from tierline.context.items import Item
from tierline.context.limits import Limits, trigger_tokens
from tierline.context.mode import ContextMode
from tierline.context.models import ModelFacts
from tierline.context.plan import ContextPlan
from tierline.context.prompt import Prompt
from tierline.context.tiers.base import Arrangement
from tierline.errors import TierlineError
from tierline.history.isolation import isolate
from tierline.history.messages import Message
from tierline.history.pictures import lighter
from tierline.history.selection import Strategy, until
from tierline.providers.base import Provider, RenderedRequest, Usage
from tierline.providers.registry import official
from tierline.session.conversation import Conversation
from tierline.session.counting import Counters
from tierline.session.memory.anchor import note_items
from tierline.session.memory.levels import MemoryView
from tierline.session.memory.memos import memo_items
from tierline.session.models import ModelService
from tierline.session.requests.candidates import (
    ItemCache,
    RequestSnapshot,
    Sources,
    absent_of,
    gather,
    selection_of,
    tail_of,
)
from tierline.session.requests.context_line import context_line
from tierline.session.requests.layout import lay_out
from tierline.session.requests.tiering import CacheLine, SentState, policy
from tierline.session.retrieval.service import AutomaticContext
from tierline.session.state.plan import LastPlan
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn, TurnQueue
from tierline.store.group_search import GroupSearch
from tierline.store.plans import PlanStore

log = logging.getLogger(__name__)

PICTURES_SHARE = 0.8
"""Share of the largest body that pictures may take; the rest is for text."""
_BODY_CUTS = 2
_BODY_SHARE = 0.9
"""Safety factor on the tokens that fit into the allowed bytes: some have more bytes than others."""


@frozen
class ComposedRequest:
    """One request, ready to be sent, with its plan and arrangement."""

    plan: ContextPlan
    prompt: Prompt
    budget: p.Budget
    context_line: str
    notices: tuple[str, ...]
    arrangement: Arrangement
    line: CacheLine
    rendered: RenderedRequest | None = None

    @property
    def request(self) -> RenderedRequest:
        """The rendered body; only a composition for a turn has one.

        Raises:
            RuntimeError: it is a preview.
        """
        if self.rendered is None:
            raise RuntimeError("a preview has no request")
        return self.rendered


@frozen
class _Read:
    """The parts of a snapshot that are read in a thread."""

    instructions: tuple[Item, ...]
    files: tuple[Item, ...]
    memos: tuple[Item, ...]
    urls: tuple[Item, ...]
    automatic: AutomaticContext


@define(eq=False, repr=False, slots=False)
class Composer:
    """Makes the next request from the session's state."""

    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _counters: Counters
    _sources: Sources
    store: PlanStore
    _last_plan: LastPlan
    _home: Path
    compaction_failed: Callable[[], bool] = field(default=lambda: False, init=False)
    """Whether the last compaction of this conversation failed; set by the compaction service."""
    _ledger: UsageLedger = field(factory=UsageLedger, init=False)
    _sent: SentState = field(init=False)
    _known: ItemCache = field(factory=ItemCache, init=False)
    _lock: asyncio.Lock = field(factory=asyncio.Lock, init=False)
    _search: GroupSearch = field(factory=GroupSearch, init=False)
    _replies: dict[CacheLine, str] = field(factory=dict, init=False)
    """The service's id of its newest reply, by line."""
    _gone: int = field(default=0, init=False)
    """Number of pictures left out of the newest request."""
    _told_gone: int = field(default=0, init=False)
    """The number that the user was told."""

    def __attrs_post_init__(self) -> None:
        self._sent = SentState(self._home / "sent")

    # --- for the session -------------------------------------------------------------------------

    async def compose(self, turn: Turn, *, max_tokens: int = 0) -> ComposedRequest:
        """The request that answers a turn's prompt. ``max_tokens``: its limit, after one was
        refused for its size.

        Raises:
            FixedPartTooLarge: the items that cannot be left out do not fit into the window.
            TierlineError: no provider can be reached; ``not_sendable`` if the first request lacks
                a file that it must hold, or is larger in bytes than the service takes.
        """
        provider = await self._models.provider()
        await self._sources.files.refresh(everything=True)
        await self._sources.urls.settled()
        await self._sources.retrieval.prepare(turn)
        snapshot = await self._snapshot(turn, max_tokens)
        composed = await self._build(snapshot, provider)
        composed = self._lightened(await self._within_bytes(turn, composed, provider))
        if turn.rounds == 1:
            _has_all(composed.plan, turn.required_files)
        self._sources.retrieval.planned(turn, composed.plan, composed.context_line)
        return composed

    async def _within_bytes(
        self, turn: Turn, composed: ComposedRequest, provider: Provider
    ) -> ComposedRequest:
        """The request, with fewer tokens if its body is larger than the service accepts; unchanged
        if nothing more can leave.
        """
        for _ in range(_BODY_CUTS):
            share = self._models.max_body_bytes / max(len(composed.request.payload), 1)
            if share >= 1:
                break
            try:
                most = int(composed.plan.tokens * share * _BODY_SHARE)
                composed = await self._build(await self._snapshot(turn, most), provider)
            except FixedPartTooLarge:
                break
        return composed

    def _lightened(self, composed: ComposedRequest) -> ComposedRequest:
        """The request, with a notice about pictures that were left out, if that is new.

        Raises:
            TierlineError: ``not_sendable``: it is larger in bytes than the service takes.
        """
        most, size = self._models.max_body_bytes, len(composed.request.payload)
        if size > most:
            raise TierlineError(
                "not_sendable",
                f"Nothing was sent: the request has {size / 1e6:.1f} MB, and the service takes at "
                f"most {most / 1e6:.1f} MB.",
                "Send fewer or smaller pictures, or remove files.",
            )
        if self._gone == self._told_gone:
            return composed
        self._told_gone = self._gone
        if not self._gone:
            return composed
        what = "1 older picture is" if self._gone == 1 else f"{self._gone} older pictures are"
        text = f"{what} left out: a request may have at most {most / 1e6:.0f} MB."
        return evolve(composed, notices=(*composed.notices, text))

    async def preview(self, prompt: str = "", *, everything: bool = False) -> ComposedRequest:
        """The next request as it would be sent now, without a prompt or with this one, which is not
        stored. Files that may have changed are read again; all of them if ``everything``.
        """
        await self._sources.files.refresh(everything=everything)
        await self._sources.urls.settled()
        await self._sources.retrieval.attach()
        if not prompt.strip():
            return await self._build(await self._snapshot(None), None)
        pending = self._conversation.store.make("user", prompt)
        turn = Turn(pending.group_id, pending.id, prompt)
        await self._sources.retrieval.peek(turn)
        return await self._build(await self._snapshot(turn, pending=pending), None)

    async def sending(self, composed: ComposedRequest, turn_id: str) -> None:
        """Store the plan and prompt of a request that is being sent, so that it can be rendered
        again.
        """
        try:
            await asyncio.to_thread(
                self.store.save,
                composed.plan,
                composed.request.prompt or composed.prompt,
                composed.request.sha256,
                self._conversation.store.timestamp(),
                provider=composed.request.provider,
                session_id=self._conversation.session_id,
                turn_id=turn_id,
            )
        except OSError as error:
            log.warning("The plan was not kept: %s", error)

    def settle(self, composed: ComposedRequest, usage: Usage, reply: str) -> p.UsageInfo:
        """Record the provider's figures; estimates replace missing ones."""
        if usage.reply_id:
            self._replies[composed.line] = usage.reply_id
        counters = self._counters
        facts = self._models.facts()
        counter = counters.counter(facts)
        if usage.input_tokens:  # shown even if the counter cannot learn from it
            counters.observe(facts, composed.plan.tokens, usage.input_tokens)
        elif counter.learns and not counter.calibration.calibrated:
            learn = partial(counters.observe, facts, composed.plan.tokens)
            self._models.count_unreported(composed.request, learn)
        info = p.UsageInfo(
            input_tokens=usage.input_tokens or composed.plan.tokens,
            output_tokens=usage.output_tokens or counter.count(reply),
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            estimated=not usage.input_tokens,
        )
        self._ledger.record(
            usage.input_tokens,
            info.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        )
        return info

    async def accepted(self, composed: ComposedRequest) -> None:
        """Note that the provider has begun to answer, so that its cache holds this request."""
        await asyncio.to_thread(self._sent.keep, composed.line, composed.arrangement.next)

    async def kept_alive(self, composed: ComposedRequest, at: float) -> None:
        """Note that a keep-alive request used this request's cache entry, which restarts its
        lifetime.
        """
        sent = self._sent.get(composed.line)
        await asyncio.to_thread(self._sent.keep, composed.line, evolve(sent, kept=at))

    def limits(self, facts: ModelFacts, counter: TokenCounter) -> Limits:
        """The limits of a request to this model, by the settings."""
        settings = self._preferences.settings
        return Limits.of(
            facts,
            margin=counter.margin,
            max_output_tokens=settings.context.max_output_tokens,
            thinking_tokens=effort.room(facts, self._preferences.effort),
            shed_at=settings.context.shed_at_percent / 100,
            compaction_trigger_tokens=trigger_tokens(
                facts.max_input_tokens,
                tokens=settings.compaction.compaction_trigger_tokens,
                percent=facts.compaction_percent or settings.compaction.compaction_trigger_percent,
            ),
            compaction_enabled=settings.compaction.enabled,
        )

    async def purge_history(self) -> None:
        """Make the stability policy forget the conversation, after a compaction."""
        line = self._line()
        kept = self._sent.get(line)
        facts = self._models.facts()
        counter = await self._counters.loaded(facts)
        now = policy(self._preferences.settings.cache, counter.count).purge(kept, "history:")
        if now != kept:
            await asyncio.to_thread(self._sent.keep, line, now)

    def close(self) -> None:
        """Release the plan store."""
        self.store.close()
        self._search.close()

    # --- the work --------------------------------------------------------------------------------

    def _line(self) -> CacheLine:
        talk = self._conversation
        return CacheLine(talk.session_id, talk.branch, self._models.maker)

    async def _snapshot(
        self, turn: Turn | None, max_tokens: int = 0, *, pending: Message | None = None
    ) -> RequestSnapshot:
        settings = self._preferences.settings
        facts = self._models.facts()
        line, refusals = self._line(), self._models.thinking_refusals
        maker = line.reader
        counter = await self._counters.loaded(facts)
        limits = self.limits(facts, counter)
        if max_tokens:
            smaller = max(1, min(limits.max_input_tokens, max_tokens))
            limits = evolve(limits, max_input_tokens=smaller)
        tools = self._sources.tools.specs()
        active = turn.group_id if turn else ""
        messages = until(self._conversation.context(), active, self._queue.groups)
        messages += [pending] if pending is not None else []
        messages, self._gone = lighter(messages, int(self._models.max_body_bytes * PICTURES_SHARE))
        selection = selection_of(self._conversation.strategy, self._conversation.window)
        memory = await self._memory(turn, messages, selection, limits)
        read = await asyncio.to_thread(self._read, turn, counter)
        return RequestSnapshot(
            facts=facts,
            strategy=self._models.strategy,
            maker=maker,
            reasoned=refusals.requires_thinking(maker),
            refused=frozenset(refusals.refused),
            thinking=self._models.thinking(facts),
            mode=self._preferences.mode,
            limits=limits,
            messages=tuple(messages),
            instructions=read.instructions,
            files=read.files,
            absent=tuple(
                absent_of(entry)
                for entry in self._sources.files.context.entries()
                if not entry.readable
            ),
            group_id=active,
            tail=tail_of(turn),
            memos=read.memos,
            urls=read.urls,
            session_id=self._conversation.session_id,
            branch=self._conversation.branch,
            after_overflow=max_tokens > 0,
            compaction_failed=self.compaction_failed(),
            selection=selection,
            memory=memory,
            window=self._conversation.window,
            query=turn.search_text if turn else "",
            search=self._search,
            meaning=self._sources.meaning,
            cache=settings.cache,
            sent=self._sent.get(line),
            now=time.time(),
            dirty=tuple(f"file:{e.key}" for e in self._sources.files.context.entries() if e.dirty),
            churn=self._sources.churn.known(),
            automatic=read.automatic,
            notes=tuple(
                note_items(
                    self._conversation.timeline(),
                    enabled=self._sources.anchor.enabled,
                    tools=frozenset(tool.name for tool in tools),
                    volatile=settings.cache.policy != "log_structured",
                    count=counter.count,
                )
            ),
            tools=tools,
            edits=self._sources.edits.applied(),
        )

    async def _memory(
        self, turn: Turn | None, messages: Sequence[Message], selection: str, limits: Limits
    ) -> MemoryView | None:
        if selection == Strategy.LEVELS:
            isolated = isolate(messages, self._models.strategy, self._models.maker)
            return await self._sources.memory.view(isolated, turn, limits.max_input_tokens)
        if turn is not None and self._preferences.mode is not ContextMode.OFF:
            visible = until(self._conversation.visible(), turn.group_id, self._queue.groups)
            return await self._sources.memory.recalled(visible, messages, turn)
        return None

    def _read(self, turn: Turn | None, counter: TokenCounter) -> _Read:
        """Everything that is read or counted for a snapshot, in one go: on a busy machine each
        change of threads waits for the processor twice.
        """
        most = self._preferences.settings.context.max_file_tokens
        active = self._sources.files.key(turn.active_uri) if turn and turn.active_uri else ""
        return _Read(
            instructions=self._sources.instructions.items(active, counter),
            files=tuple(self._sources.files.context.to_items(counter, most)),
            memos=self._memos(turn, counter.count),
            urls=self._sources.urls.items(counter),
            automatic=self._sources.retrieval.automatic(turn, counter),
        )

    def _memos(self, turn: Turn | None, count: Callable[[str], int]) -> tuple[Item, ...]:
        """Memos and capsules that fit the prompt, for this request alone: in the tail they do not
        change the prefix.
        """
        if turn is None or self._preferences.mode == "off":
            return ()
        about = turn.search_text
        memos = (
            self._sources.memos.relevant(about)
            if self._preferences.settings.memory.inject_memos
            else []
        )
        return (*memo_items(memos, count), *self._sources.capsules.items(about, count))

    async def _build(self, snapshot: RequestSnapshot, provider: Provider | None) -> ComposedRequest:
        counter = self._counters.counter(snapshot.facts)
        composed = await self._in_thread(snapshot, counter, provider)
        self._sources.files.planned(composed.plan)
        self._last_plan.keep(composed.plan)
        return composed

    async def _in_thread(
        self, snapshot: RequestSnapshot, counter: TokenCounter, provider: Provider | None
    ) -> ComposedRequest:
        """One at a time, even after a cancellation: the thread of a cancelled one still runs, and
        several would use up all threads.
        """
        await self._lock.acquire()
        working = asyncio.ensure_future(asyncio.to_thread(self._work, snapshot, counter, provider))
        working.add_done_callback(self._worked)
        return await asyncio.shield(working)

    def _worked(self, working: asyncio.Future[ComposedRequest]) -> None:
        self._lock.release()
        if not working.cancelled():
            working.exception()  # its reader may be gone

    def _work(
        self, snapshot: RequestSnapshot, counter: TokenCounter, provider: Provider | None
    ) -> ComposedRequest:
        candidates = gather(snapshot, counter, self._known)
        self._known.keep(candidates.items)
        made = lay_out(candidates, snapshot, counter)
        line = CacheLine(snapshot.session_id, snapshot.branch, snapshot.maker)
        explained = official(line.reader.service).explains_misses
        previous = self._replies.get(line, "") if explained else None
        prompt = evolve(made.prompt, thinking=snapshot.thinking, previous_reply=previous)
        return ComposedRequest(
            plan=made.plan,
            prompt=prompt,
            budget=self._budget(made.plan, snapshot, counter),
            context_line=context_line(made.plan, snapshot.mode),
            notices=made.notices,
            arrangement=made.arrangement,
            line=line,
            rendered=provider.render(prompt) if provider is not None else None,
        )

    def _budget(
        self, decided: ContextPlan, snapshot: RequestSnapshot, counter: TokenCounter
    ) -> p.Budget:
        report = budget(
            decided,
            snapshot.facts,
            snapshot.limits,
            provider=self._models.info().name,
            accuracy=counter.accuracy,
            ledger=self._ledger,
        )
        return p.of(
            p.Budget,
            report,
            max_output_tokens=max(1, report.max_output_tokens),
            remaining=report.remaining,
            percent=round(report.percent, 2),
            sections=[p.BudgetSection(str(s.name), s.tokens, s.detail) for s in report.sections],
            margin_percent=round(100 * report.margin, 1),
            last_reported=p.of(p.UsageInfo, report.last) if report.last else None,
            lifetime_input_tokens=report.lifetime.input_tokens,
            lifetime_output_tokens=report.lifetime.output_tokens,
        )


def _has_all(made: ContextPlan, keys: frozenset[str]) -> None:
    """Raise if a required file is not in the plan."""
    held = {entry.key for entry in made.included}
    if lacking := {key for key in keys if f"file:{key}" not in held}:
        reasons = [entry.reason for entry in made.excluded if entry.path in lacking]
        raise TierlineError(
            "not_sendable",
            f"Nothing was sent. {' '.join(reasons) or ', '.join(sorted(lacking))}".strip(),
            "Name a part of it, leave it out, or choose a model with a larger window.",
        )
