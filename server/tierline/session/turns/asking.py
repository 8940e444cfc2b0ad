"""One question to the model beside the conversation: nothing of it is shown or written down."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from tierline.context.blocks import Text
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.errors import TierlineError
from tierline.providers.base import ProviderError, TextDelta, Usage

if TYPE_CHECKING:
    from tierline.session.session import Session


async def ask(session: Session, question: str, *, max_output_tokens: int) -> str:
    """The model's whole answer to one question.

    Raises:
        TierlineError: no provider, or the provider's error with its code and advice.
    """
    provider = await session.models.provider()
    facts = session.models.facts()
    prompt = Prompt(
        model=facts.name,
        system=(),
        messages=(PromptMessage("user", (PromptBlock(Text(question), "ask"),)),),
        max_output_tokens=max_output_tokens,
    )
    request = provider.render(strict(prompt, strategy=provider.strategy))
    said, usage = [], Usage()
    try:
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    said.append(event.text)
                elif isinstance(event, Usage):
                    usage = event
    except ProviderError as error:
        raise TierlineError(error.code, error.message, error.advice) from error
    await session.cache.beside(provider, facts, usage)
    return "".join(said)
