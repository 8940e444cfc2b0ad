"""Summarising and finding boundaries by a model of the user's own provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from attrs import frozen

from tierline.config import CompactionConfig
from tierline.context.blocks import Text
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary
from tierline.history.boundaries import model as asked
from tierline.history.compaction import CompactionPlan
from tierline.history.extract import extractive_summary
from tierline.history.messages import Message
from tierline.history.summarise import (
    SummaryProblem,
    accept,
    instructions,
    pieces,
    request_text,
    transcript,
)
from tierline.providers.base import ProviderError, Stop, TextChunk, TextWasThinking, Usage
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
