"""Summaries and topic boundaries by a model, for compactions and for tasks of the memory levels."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing

from attrs import define, field, frozen

from tierline.config import CompactionConfig
from tierline.context.blocks import Text
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary
from tierline.history.boundaries import model as asked
from tierline.history.compaction import CompactionKind, CompactionPlan
from tierline.history.extract import extractive_summary
from tierline.history.messages import Message
from tierline.history.selection import Strategy
from tierline.history.summarise import (
    SummaryProblem,
    accept,
    instructions,
    pieces,
    request_text,
    transcript,
)
from tierline.memory.levels import LevelSummary
from tierline.memory.state import SUMMARY_TOKENS
from tierline.providers.base import ProviderError, Stop, TextChunk, TextWasThinking, Usage
from tierline.session.conversation import Conversation
from tierline.session.memory.levels import MemoryService
from tierline.session.model_questions import ModelQuestions
from tierline.session.models import ModelService

INPUT_SHARE = 0.6
"""Largest share of the model's window for a request's piece of the conversation."""
MAX_INPUT_TOKENS = 32_000
"""Longest piece in tokens: models write better notes on less."""
SHRINKS = 3
"""How many times a refusal for size may halve the pieces."""
THINKING_TOKENS = 1_500
"""Tokens beside the answer for models that think first; unused ones cost nothing."""


@frozen
class Summariser:
    """Makes the summary of an outline. One per attempt; ``calls`` counts requests."""

    settings: CompactionConfig
    models: ModelService
    asker: ModelQuestions
    count: Callable[[str], int]
    extractive: bool = False
    words: str = ""
    """The user's wishes for the summary."""

    @property
    def uses_model(self) -> bool:
        """Whether a model is used; if not, summaries are extracts and boundaries are
        found locally.
        """
        if self.extractive:
            return False
        match self.settings.summariser:
            case "model":
                return True
            case "extractive":
                return False
        return self.models.choice() is not None and not self.models.embedded

    async def boundary(self, messages: Sequence[Message]) -> TopicBoundary:
        """Ask the model where the topic changed. Any failure is the safe default."""
        shown, first = asked.newest(messages)
        text = asked.format_messages(shown, first=first)
        try:
            answer = await self._ask(asked.INSTRUCTIONS, text, asked.ANSWER_TOKENS, 8_000)
        except ProviderError:
            return SAFE_BOUNDARY
        return asked.parse(answer, len(shown), first=first)

    async def summary(self, outline: CompactionPlan) -> str:
        """The text that stands for the outline's zone, shorter than it.

        Raises:
            SummaryProblem: the model's text cannot be used.
            ProviderError, TierlineError: the model cannot be asked.
        """
        if not self.uses_model:
            return await asyncio.to_thread(self._extract, outline)
        for shrink in range(SHRINKS + 1):
            try:
                return await self._written(outline, 2**shrink)
            except ProviderError as error:
                if error.code != "overflow" or shrink == SHRINKS:
                    raise
        raise AssertionError  # the loop returns or raises

    def _extract(self, outline: CompactionPlan) -> str:
        text = extractive_summary(
            outline.zone,
            budget_tokens=outline.budget_tokens,
            count=self.count,
            finished=outline.finished,
        )
        if not text:
            raise SummaryProblem("empty", "There was nothing to extract a summary from.")
        return text

    async def _written(self, outline: CompactionPlan, divisor: int) -> str:
        _, facts = await self.models.provider_named(self.settings.model)
        budget = outline.budget_tokens
        window = min(facts.max_input_tokens, facts.window - self._room(budget, facts.window))
        room = min(MAX_INPUT_TOKENS, int(window * INPUT_SHARE))
        if divisor > 1:
            room = min(room, outline.zone_tokens) // divisor
        room -= min(budget, room // 4)
        parts = await asyncio.to_thread(pieces, outline.zone, max(room, 64), self.count)
        source = "\n".join(transcript(m, 4_000) for m in outline.zone)
        text = ""
        for part in parts:
            answer = await self._ask(
                instructions(budget, self.words),
                request_text(part, text),
                budget,
                limit=max(4_000, 12 * outline.zone_tokens),
            )
            text = await asyncio.to_thread(
                accept,
                answer,
                f"{source}\n{text}",
                budget_tokens=budget,
                replaced_tokens=outline.zone_tokens,
                count=self.count,
            )
        return text

    def _room(self, tokens: int, window: int) -> int:
        return min(2 * tokens + THINKING_TOKENS, max(tokens, window // 4))

    async def _ask(self, system: str, text: str, tokens: int, limit: int) -> str:
        """One request; at most about ``limit`` characters of its answer are read."""
        provider, facts = await self.models.provider_named(self.settings.model)
        prompt = Prompt(
            model=facts.name,
            system=(PromptBlock(Text(system), "system:compaction"),),
            messages=(PromptMessage("user", (PromptBlock(Text(text), "prompt"),)),),
            max_output_tokens=min(self._room(tokens, facts.window), facts.max_output_tokens),
            thinking=self.models.thinking(facts, "none"),
        )
        request = provider.render(strict(prompt, strategy=provider.strategy))
        answer: list[str] = []
        size = 0
        usage = Usage()
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextChunk):
                    answer.append(event.text)
                    size += len(event.text)
                    if size > limit:
                        break
                elif isinstance(event, TextWasThinking):
                    answer.clear()
                elif isinstance(event, Usage):
                    usage = event
                elif isinstance(event, Stop) and event.reason == "incomplete":
                    raise ProviderError(
                        "network",
                        "The connection closed before the summary was complete.",
                        "It is tried again later.",
                    )
        await self.asker.paid(provider, facts, usage)
        return "".join(answer)


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
