"""The compaction service: beside the turns, one attempt at a time, harmless when it fails.

Half a second after a reply, if history has grown beyond its trigger, the older part is replaced by
a summary, or dropped where the topic changed. The log is only appended to: a compaction is an
event, which can be taken back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from attrs import define, field, frozen

from tierline import protocol as p
from tierline.context.limits import compaction_trigger
from tierline.errors import ENDS, TierlineError
from tierline.history import actions
from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary, local, unsure
from tierline.history.compaction import (
    LEAST_SUMMARY,
    LEAST_VERBATIM,
    NOTHING,
    SUMMARY_SHARE,
    VERBATIM_SHARE,
    CompactionKind,
    CompactionPlan,
    CompactionSettings,
    Size,
    outline,
    should_compact,
)
from tierline.history.groups import to_prompt
from tierline.history.isolation import isolate
from tierline.history.messages import Message
from tierline.history.selection import Strategy, select
from tierline.history.summarise import SummaryProblem
from tierline.history.timeline import Summary, summary_message
from tierline.history.truncation import truncate
from tierline.providers.base import ProviderError
from tierline.session.compaction.summariser import LevelSummaries, Summariser
from tierline.session.conversation import Conversation
from tierline.session.conversation.ordering import in_order
from tierline.session.events import EventBus
from tierline.session.memory.levels import MemoryService
from tierline.session.model_questions import ModelQuestions
from tierline.session.models import ModelService
from tierline.session.requests.composer import Composer
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue

log = logging.getLogger(__name__)

WORDS_UNHEARD = (
    "The summary is an extract, made without a model, so what it is to hold cannot be told to it."
)
LOOKED_AT = 200
"""Number of newest messages that the boundary detectors look at."""
_Place: TypeAlias = tuple[str, str]
"""A session and its branch."""


@define
class CompactionDelays:
    """Seconds. Tests make them shorter."""

    pause: float = 0.5
    """Between the reply and the check of the history."""
    quiet: float = 0.5
    """A compaction that takes no longer is not shown until its end, so that nothing flickers."""
    patience: float = 30.0
    """Longest wait of a prompt for a compaction, which is then cancelled."""
    longest: float = 120.0
    """Longest compaction; then it counts as failed."""


@frozen
class _Work:
    """The input of one attempt."""

    place: _Place
    messages: tuple[Message, ...]
    settings: CompactionSettings
    size: Size
    tokens: int
    summaries: tuple[str, ...]


@define(eq=False, repr=False, slots=False)
class CompactionService:
    """One per session."""

    _bus: EventBus
    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _asker: ModelQuestions
    _composer: Composer
    _memory: MemoryService
    _state: Callable[[p.NoParams], Awaitable[p.State]]
    """Returns the state for clients, for the answer to ``undo``."""
    times: CompactionDelays = field(factory=CompactionDelays, init=False)
    extractive: bool = field(default=False, init=False)
    """True to use no model, whatever the settings say (``tierline compact --extractive``)."""
    note: str = field(default="", init=False)
    """Result of the last attempt, for the status."""
    _soon: asyncio.Task[None] | None = field(default=None, init=False)
    _attempt: asyncio.Task[p.CompactionResult] | None = field(default=None, init=False)
    _levels: LevelSummaries = field(init=False)
    _left: dict[_Place, int] = field(factory=dict, init=False)
    """Tokens of history after the last attempt: it must grow before the next one."""
    _failed: set[_Place] = field(factory=set, init=False)
    _told: set[_Place] = field(factory=set, init=False)
    """Places where a failure was reported since the last success."""

    def __attrs_post_init__(self) -> None:
        self._levels = LevelSummaries(self._conversation, self._memory, self._summariser)

    # --- for the session -------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """True while an attempt runs."""
        return self._attempt is not None and not self._attempt.done()

    @property
    def failed(self) -> bool:
        """True if the last attempt on this conversation failed."""
        return self._place() in self._failed

    def soon(self) -> None:
        """Called after a reply: check the history in a moment."""
        if not self._preferences.settings.compaction.enabled or self.running:
            return
        self._levels.soon()
        if self._soon is not None:
            self._soon.cancel()
        self._soon = asyncio.ensure_future(self._look())

    async def done(self) -> None:
        """Wait until no attempt runs, ``CompactionDelays.patience`` at most: a prompt waits."""
        attempt = self._attempt
        if attempt is None or attempt.done():
            return
        await asyncio.wait([attempt], timeout=self.times.patience)
        if not attempt.done():
            attempt.cancel()
            await asyncio.wait([attempt])

    async def close(self) -> None:
        """Cancel a running attempt; the history stays as it is."""
        await self._levels.close()
        for task in (self._soon, self._attempt):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task])

    # --- requests --------------------------------------------------------------------------------

    async def run(self, params: p.CompactionParams) -> p.CompactionResult:
        """Compact now, whatever the size. The newest part still stays word for word.

        Raises:
            TierlineError: ``conflict`` while a reply streams or another attempt runs;
                ``compaction`` if it failed.
        """
        if not self._queue.idle:
            raise TierlineError("conflict", "A reply is still streaming.", "Wait for its end.")
        if self.running:
            raise TierlineError("conflict", "A compaction is running.", "Wait for its end.")
        self._attempt = asyncio.ensure_future(self._guarded(manual=True, words=params.instructions))
        try:
            return await asyncio.shield(self._attempt)
        except asyncio.CancelledError:
            if self._attempt.cancelled():  # cancelled by a waiting prompt
                raise TierlineError(
                    "compaction", "The compaction was broken off.", "Run it again later."
                ) from None
            raise

    async def show(self, params: p.CompactionUndoParams) -> p.CompactionView:
        """What a compaction stands for: its summary, and the messages that are no longer sent.

        Raises:
            TierlineError: ``not_found``: there is no such compaction.
        """
        now = self._conversation.timeline()
        known = {summary.id: summary for summary in now.summaries}
        wanted = params.compaction_id or next(reversed(known), "")
        if wanted not in known:
            raise TierlineError(
                "not_found", "There is no such compaction.", "The whole conversation is there."
            )
        found = known[wanted]
        left = [
            m
            for m in self._conversation.visible()
            if m.group_id in found.covers and m.id not in found.keeps and m.role != "system"
        ]
        work = await self._work(manual=False)
        tokens = await asyncio.to_thread(work.size, left)
        shown = list(self._conversation.all_shown(self._conversation.visible()).values())
        ids = {m.id for m in left}
        return p.CompactionView(
            compaction_id=found.id,
            summary=found.text,
            messages=[m for m in shown if m.id in ids],
            tokens=tokens,
            kept=len(found.keeps),
        )

    @in_order
    async def undo(self, params: p.CompactionUndoParams) -> p.State:
        """Undo a compaction: the messages that it replaced are sent again, word for word.

        Raises:
            TierlineError: ``conflict`` while something is running; ``not_found``; ``storage``.
        """
        if self._queue.current is not None or self.running:
            raise TierlineError("conflict", "Something is still running.", "Wait for its end.")
        action = actions.unsummarise(self._conversation.timeline(), params.compaction_id)
        if problem := await self._conversation.act(action):
            raise TierlineError("storage", problem, "Nothing was changed.")
        work = await self._work(manual=False)
        self._left[work.place] = work.tokens
        self.note = "The last compaction was taken back."
        await self._composer.purge_history()
        self._bus.publish(p.StateChanged(reason="compaction undone"))
        self._bus.context_changed()
        return await self._state(p.NoParams())

    # --- one attempt -----------------------------------------------------------------------------

    async def _look(self) -> None:
        await asyncio.sleep(self.times.pause)
        try:
            work = await self._work(manual=False)
        except Exception:
            log.exception("The history could not be measured")
            return
        if self._conversation.strategy == Strategy.LEVELS:
            return  # the memory levels have their own bounds
        after = self._left.get(work.place)
        if after is not None and work.tokens < after:
            # Turns were undone: growth counts from here.
            after = self._left[work.place] = work.tokens
        due = should_compact(work.tokens, work.settings, after=after)
        # No other task can run between here and the start of the attempt.
        if due and self._queue.idle and not self.running:
            self._attempt = asyncio.ensure_future(self._guarded(manual=False))

    async def _guarded(self, *, manual: bool, words: str = "") -> p.CompactionResult:
        """Run an attempt and handle every failure in it."""
        bus = self._bus
        place = self._place()
        loop = asyncio.get_running_loop()
        begun = loop.call_later(self.times.quiet, lambda: bus.publish(p.CompactionStart()))
        try:
            result = await asyncio.wait_for(
                self._compact(manual=manual, words=words), self.times.longest
            )
        except asyncio.CancelledError:
            self._remember_failure(place, await self._tokens())
            self.note = "It was broken off; it is tried again once the history has grown."
            bus.publish(p.CompactionNone(self.note))
            raise
        except ENDS:
            raise
        except BaseException as error:  # a panic in native code is a BaseException
            problem = _as_problem(error)
            self._remember_failure(place, await self._tokens())
            self.note = f"It failed: {problem.message}"
            told = place in self._told
            self._told.add(place)
            if told and not manual:
                bus.publish(p.CompactionNone(problem.message))
            else:
                bus.publish(p.CompactionError(problem.code, problem.message, problem.advice))
            if manual:
                raise TierlineError(
                    "compaction", problem.message, problem.advice or "Run it again later."
                ) from error
            return p.CompactionResult("none", problem.message)
        finally:
            begun.cancel()
        return result

    def _remember_failure(self, place: _Place, tokens: int) -> None:
        self._failed.add(place)
        self._left[place] = tokens

    async def _compact(self, *, manual: bool, words: str = "") -> p.CompactionResult:
        work = await self._work(manual=manual)
        summariser = await asyncio.to_thread(self._summariser, words)
        if words and not summariser.uses_model:
            self._bus.notice("info", WORDS_UNHEARD, "compaction")
        # A user who says what to keep wants a summary.
        boundary = SAFE_BOUNDARY if words else await self._boundary(work, summariser)
        planned = await asyncio.to_thread(
            outline, work.messages, work.settings, work.size, boundary
        )
        if planned.case is CompactionKind.NONE:
            return self._nothing(work, planned)
        written = (
            await summariser.summary(planned) if planned.case is CompactionKind.SUMMARIZE else ""
        )
        text = planned.text(written)
        card = Summary("", "", text, frozenset(planned.covers))
        if text and work.size([summary_message(work.place[0], card)]) >= planned.zone_tokens:
            if planned.case is CompactionKind.TRUNCATE:
                return self._nothing(work, NOTHING)
            raise SummaryProblem("longer", "The summary was no shorter than what it replaces.")
        action = actions.summarise(text, planned.covers, planned.case, planned.keeps)
        async with self._conversation.changes:
            if not self._unchanged(work, planned):
                meanwhile = "The conversation changed meanwhile."
                return self._nothing(work, CompactionPlan(CompactionKind.NONE, meanwhile))
            if problem := await self._conversation.act(action):
                raise TierlineError("storage", problem, "The history is as it was.")
        return await self._finish(work, planned, text)

    def _summariser(self, words: str = "") -> Summariser:
        return Summariser(
            self._preferences.settings.compaction,
            self._models,
            self._asker,
            self._models.counter().count,
            self.extractive,
            words=words,
        )

    async def _finish(self, work: _Work, planned: CompactionPlan, text: str) -> p.CompactionResult:
        after = await self._tokens()
        self._left[work.place] = after
        self._failed.discard(work.place)
        self._told.discard(work.place)
        await self._composer.purge_history()
        newest = self._conversation.timeline().summaries
        result = p.CompactionResult(
            case="truncate" if planned.case is CompactionKind.TRUNCATE else "summarize",
            reason=planned.reason,
            compaction_id=newest[-1].id if newest else "",
            summary=text,
            messages=sum(not m.meta.get("summary") for m in planned.zone),
            tokens_before=work.tokens,
            tokens_after=after,
        )
        self.note = f"{work.tokens:,} tokens became {after:,}."
        self._bus.publish(p.CompactionComplete(result, self._conversation.shown()))
        trigger = work.settings.compaction_trigger_tokens
        if after > trigger:
            self._bus.notice(
                "info",
                f"The newest turns alone hold {after:,} tokens, more than the trigger of "
                f"{trigger:,}. Compaction pauses until the history has grown.",
                "compaction_paused",
            )
        self._bus.context_changed()
        return result

    def _nothing(self, work: _Work, planned: CompactionPlan) -> p.CompactionResult:
        self._left[work.place] = work.tokens
        self.note = planned.reason
        self._bus.publish(p.CompactionNone(planned.reason))
        return p.CompactionResult(
            "none", planned.reason, tokens_before=work.tokens, tokens_after=work.tokens
        )

    async def _boundary(self, work: _Work, summariser: Summariser) -> TopicBoundary:
        shown = work.messages[-LOOKED_AT:]
        skipped = len(work.messages) - len(shown)
        detector = self._preferences.settings.compaction.detector
        asks = detector == "model" or (detector == "auto" and summariser.uses_model)
        found = TopicBoundary()
        if detector != "model":
            found = await asyncio.to_thread(local.detect, shown)
        if detector == "model" or (asks and unsure(found)):
            answer = await summariser.boundary(shown)
            found = answer if answer.boundary_index is not None or detector == "model" else found
        if found.boundary_index is None:
            return found
        return TopicBoundary(
            found.boundary_index + skipped, found.boundary_reason, found.confidence, found.summary
        )

    def _unchanged(self, work: _Work, planned: CompactionPlan) -> bool:
        """True if the messages to be replaced are still there: the user may have undone or
        switched.
        """
        if self._place() != work.place:
            return False
        now = self._conversation.timeline()
        there = {m.group_id for m in now.visible()}
        same = tuple(s.id for s in now.summaries) == work.summaries
        return same and set(planned.covers) <= there

    # --- measuring -------------------------------------------------------------------------------

    def _place(self) -> _Place:
        conversation = self._conversation
        return conversation.session_id, conversation.branch

    async def _tokens(self) -> int:
        try:
            return (await self._work(manual=False)).tokens
        except Exception:
            log.exception("The history could not be measured")
            return 0

    async def _work(self, *, manual: bool) -> _Work:
        facts = self._models.facts()
        strategy = self._models.strategy
        counter = await asyncio.to_thread(self._models.counter)
        waiting = set(self._queue.groups)
        messages = [m for m in self._conversation.context() if m.group_id not in waiting]

        def size(some: Sequence[Message]) -> int:
            sent = truncate(isolate(some, strategy), group_id="")
            return counter.count([to_prompt(m) for m in sent])

        chosen = messages
        if self._conversation.strategy == Strategy.WINDOW or self._conversation.window > 0:
            chosen = list(
                select(messages, strategy=Strategy.WINDOW, size=self._conversation.window)
            )
        tokens = await asyncio.to_thread(size, chosen)
        trigger = compaction_trigger(self._composer.limits(facts, counter))
        return _Work(
            place=self._place(),
            messages=tuple(messages),
            settings=self._settings(trigger, tokens, manual),
            size=size,
            tokens=tokens,
            summaries=tuple(s.id for s in self._conversation.timeline().summaries),
        )

    def _settings(self, trigger: int, tokens: int, manual: bool) -> CompactionSettings:
        """The settings, limited to workable values: the verbatim window to half of the trigger (by
        hand, of the history), a summary to a quarter.
        """
        own = self._preferences.settings.compaction
        base = min(trigger, tokens) if manual else trigger
        verbatim = own.verbatim_window_tokens or max(LEAST_VERBATIM, int(base * VERBATIM_SHARE))
        summary = own.summary_budget_tokens or max(LEAST_SUMMARY, int(base * SUMMARY_SHARE))
        return CompactionSettings(
            enabled=own.enabled,
            compaction_trigger_tokens=trigger,
            verbatim_window_tokens=min(verbatim, base // 2),
            summary_budget_tokens=max(1, min(summary, trigger // 4)),
            min_verbatim_exchanges=own.min_verbatim_exchanges,
        )


def _as_problem(error: BaseException) -> TierlineError:
    match error:
        case TierlineError():
            return error
        case SummaryProblem():
            return TierlineError(error.code, error.message, "The conversation is as it was.")
        case ProviderError():
            return TierlineError(
                error.code,
                f"The history could not be summarised. {error.message}",
                error.advice or "The conversation is as it was.",
            )
        case TimeoutError():
            return TierlineError(
                "timeout", "Summarising took too long.", "The conversation is as it was."
            )
    log.error("Compaction failed", exc_info=error)
    return TierlineError(
        "internal",
        "The history could not be compacted; the log says why.",
        "The conversation is as it was.",
    )
