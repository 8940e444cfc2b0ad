"""Tierline's own requests, beside the conversation: only their cost is shown and recorded."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime

from attrs import evolve

from tierline.context.blocks import Text
from tierline.context.effort import room
from tierline.context.models import ModelFacts
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.context.tiers.attribution import Attribution, Cause
from tierline.context.tiers.outcome import Outcome
from tierline.context.tiers.request_cost import bill
from tierline.errors import TierlineError
from tierline.providers.base import Provider, ProviderError, TextChunk, TextWasThinking, Usage
from tierline.session.conversation import Conversation
from tierline.session.models import ModelService
from tierline.store.usage import BESIDE, StoredRequest, UsageStore


class ModelQuestions:
    """Asks the chat's model one question."""

    def __init__(self, models: ModelService, conversation: Conversation, store: UsageStore) -> None:
        self._models = models
        self._conversation = conversation
        self._store = store

    async def ask(self, question: str, *, max_output_tokens: int) -> str:
        """The model's whole answer to one question.

        Raises:
            TierlineError: there is no provider, or the provider's error with its code and advice.
        """
        provider = await self._models.provider()
        facts = self._models.facts()
        prompt = Prompt(
            model=facts.name,
            system=(),
            messages=(PromptMessage("user", (PromptBlock(Text(question), "ask"),)),),
            max_output_tokens=max_output_tokens + room(facts, "none"),
            thinking=self._models.thinking(facts, "none"),
        )
        request = provider.render(strict(prompt, strategy=provider.strategy))
        said, usage = [], Usage()
        try:
            async with aclosing(provider.stream(request)) as events:
                async for event in events:
                    if isinstance(event, TextChunk):
                        said.append(event.text)
                    elif isinstance(event, TextWasThinking):
                        said.clear()
                    elif isinstance(event, Usage):
                        usage = event
        except ProviderError as error:
            raise TierlineError(error.code, error.message, error.advice) from error
        await self.paid(provider, facts, usage)
        return "".join(said)

    async def paid(self, provider: Provider, facts: ModelFacts, usage: Usage) -> None:
        """The record of one of Tierline's own requests, which leaves the chat's cache alone.
        ``facts``: of the model that answered, which need not be the chat's.
        """
        if usage.input_tokens is None:
            return
        found = Attribution(
            Outcome.UNKNOWN,
            Cause.NONE,
            "A request beside the conversation.",
            input=usage.input_tokens,
            output=usage.output_tokens or 0,
            read=usage.cache_read_tokens,
            written=usage.cache_write_tokens,
        )
        session_id = self._conversation.session_id
        at = datetime.now(UTC).timestamp()
        price = bill(found, facts, "5m", charged=usage.cost)
        row = StoredRequest.of(found, price, session_id, "", at, provider.name, facts.name)
        await asyncio.to_thread(self._store.add, evolve(row, kind=BESIDE))
