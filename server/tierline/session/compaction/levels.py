"""Model-written summaries of the memory levels: requested beside the turns, with a paid model.

An extract serves until the model's text arrives; the text replaces it at the next compression, so
that no bytes change for it alone. On any failure the extract stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from attrs import define, field

from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.compaction import CompactionKind, CompactionPlan
from tierline.history.selection import Strategy
from tierline.history.summarise import SummaryProblem
from tierline.memory.levels import LevelSummary
from tierline.memory.state import SUMMARY_TOKENS
from tierline.providers.base import ProviderError
from tierline.session.compaction.summariser import Summariser
from tierline.session.conversation import Conversation
from tierline.session.memory.levels import MemoryService

log = logging.getLogger(__name__)

MIN_TOKENS = 500
"""Tokens of a task; for a smaller one a request is not worth its price."""
_MIN_BUDGET = 120
_SHARE = 5


@define(eq=False, repr=False, slots=False)
class LevelSummaries:
    """Has a model summarise finished tasks. One per session, one request at a time."""

    _conversation: Conversation
    _memory: MemoryService
    _summariser: Callable[[], Summariser]
    _tried: set[str] = field(factory=set, init=False)
    """Ids of summaries that were requested; failed ones are not requested again."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def soon(self) -> None:
        """Called after a reply, when a task may have been finished."""
        if self._conversation.strategy == Strategy.LEVELS and (
            self._task is None or self._task.done()
        ):
            self._task = asyncio.ensure_future(self._write())

    async def settled(self) -> None:
        """Wait until no request runs."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Cancel running requests; the extracts stay."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _write(self) -> None:
        try:
            summariser = await asyncio.to_thread(self._summariser)
            if not summariser.uses_model:
                return
            for summary, messages in await self._memory.untold():
                if summary.original_tokens < MIN_TOKENS or summary.id in self._tried:
                    continue
                self._tried.add(summary.id)
                share = summary.original_tokens // _SHARE
                outline = CompactionPlan(
                    CompactionKind.SUMMARIZE,
                    "a task is finished",
                    covers=summary.groups,
                    zone=messages,
                    zone_tokens=summary.original_tokens,
                    budget_tokens=max(_MIN_BUDGET, min(SUMMARY_TOKENS, share)),
                    finished=True,
                )
                await self._one(summariser, summary, outline)
        except Exception:
            log.exception("The memory levels could not be summarised")

    async def _one(
        self, summariser: Summariser, summary: LevelSummary, outline: CompactionPlan
    ) -> None:
        place = self._conversation.session_id, self._conversation.branch
        try:
            text = await summariser.summary(outline)
        except (SummaryProblem, ProviderError, TierlineError) as error:
            log.info("The extract of a finished task stays: %s", error)
            return
        async with self._conversation.changes:
            if (self._conversation.session_id, self._conversation.branch) != place:
                return
            action = actions.level_summary(self._conversation.timeline(), summary.id, text)
            if problem := await self._conversation.act(action):
                log.info("A summary was not kept: %s", problem)
