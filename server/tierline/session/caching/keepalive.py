"""Keep-alive: reads a cached prefix again before it expires, as long as that is worth its price.

Off unless ``cache.keep_alive`` says so. Only for providers whose cache lives for a time that every
use renews (Anthropic, "Prompt caching"); never while a turn runs; and only by the rent-or-buy rule
of ``context/tiers/lifetime.py``, whose last numbers the statistics show.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from attrs import define, evolve, field

from tierline import protocol as p
from tierline.context.prompt import Prompt, PromptMessage
from tierline.context.tiers.base import Pricing
from tierline.context.tiers.lifetime import KeepAlive, keep_alive
from tierline.errors import TierlineError
from tierline.providers.base import ProviderError, RenderedRequest, Usage
from tierline.providers.registry import official
from tierline.session.caching.service import CacheService
from tierline.session.conversation import Conversation
from tierline.session.models import ModelService
from tierline.session.requests.composer import ComposedRequest, Composer
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue

log = logging.getLogger(__name__)


@define
class _Last:
    """The request whose prefix is kept."""

    composed: ComposedRequest
    session_id: str
    at: float
    used: float
    spent: float = 0.0
    """Cost of keep-alive requests since that request, in the unit of ``Pricing``."""


@define(eq=False, repr=False, slots=False)
class KeepAliveService:
    """One per session. Its last decision is in ``CacheService.decision``."""

    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _composer: Composer
    _cache: CacheService
    clock: Callable[[], float] = field(default=time.time, init=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, init=False)
    """Replaced in tests."""
    _last: _Last | None = field(default=None, init=False)
    _activity: float | None = field(default=None, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._cache.on_sent = self.sent

    def sent(self, composed: ComposedRequest) -> None:
        """Note that the provider answered this request."""
        at = self.clock()
        self._last = _Last(composed, self._conversation.session_id, at, at)

    def active(self) -> None:
        """Note that the user typed in the editor."""
        self._activity = self.clock()

    def begin(self) -> None:
        """Called when no turn runs: keep the cache alive, if the user wants it."""
        self.stop()
        if self._preferences.settings.cache.keep_alive and self._last is not None:
            self._task = asyncio.ensure_future(self._watch(self._last))

    def stop(self) -> None:
        """Called when a turn begins or the session ends; cancels a running request."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self, last: _Last) -> None:
        try:
            await self._cache.report("")  # its figures are known only then
            while self._wanted(last):
                verdict = self._decide(last)
                words = "sent" if verdict.send else "waiting" if verdict.early else "let go"
                numbers = {k: round(float(v), 6) for k, v in verdict.numbers.items()}
                self._cache.decision = p.CacheDecision(words, verdict.sentence, numbers)
                if verdict.send:
                    if not await self._ping(last):
                        return
                elif verdict.early:
                    await self.sleep(verdict.wait)
                else:
                    return
        except (ProviderError, TierlineError) as error:
            self._cache.decision = p.CacheDecision(
                "failed", f"{error.message} {error.advice}".strip()
            )
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("Keep-alive stopped")

    def _wanted(self, last: _Last) -> bool:
        facts = self._models.facts()
        return (
            self._preferences.settings.cache.keep_alive
            and self._queue.idle
            and self._conversation.session_id == last.session_id
            and facts.name == last.composed.plan.model
            and facts.explicit_markers
            and bool(facts.ttls)
        )

    def _decide(self, last: _Last) -> KeepAlive:
        now = self.clock()
        facts = self._models.facts()
        arranged = last.composed.arrangement
        return keep_alive(
            idle=now - last.at,
            since_use=now - last.used,
            ttl=arranged.ttl,
            prefix=self._cache.marked_tokens(last.session_id),
            spent=last.spent,
            gaps=arranged.next.gaps,
            prices=Pricing.of(facts, input_tokens=last.composed.plan.tokens),
            since_activity=None if self._activity is None else now - self._activity,
        )

    async def _ping(self, last: _Last) -> bool:
        """Send a request that reads the prefix. False if it was no longer cached."""
        provider = await self._models.provider()
        silent = official(self._models.maker.service).prewarms
        request = ping(last.composed.prompt, provider.render, silent=silent)
        if request is None or provider.name != last.composed.request.provider:
            return False
        usage = Usage()
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, Usage):
                    usage = event
        last.used = self.clock()
        prices = Pricing.of(self._models.facts())
        last.spent += prices.read * self._cache.marked_tokens(last.session_id)
        await asyncio.to_thread(
            self._cache.pinged, last.session_id, provider.name, usage, last.used
        )
        await self._composer.kept_alive(last.composed, last.used)
        if usage.cache_read_tokens == 0:
            self._cache.decision = p.CacheDecision(
                "lost", "The provider had dropped the cache; nothing more is kept alive."
            )
            return False
        return True


def ping(
    prompt: Prompt, render: Callable[[Prompt], RenderedRequest], *, silent: bool = False
) -> RenderedRequest | None:
    """The smallest request that reads everything that a prompt left in the cache: the same bytes up
    to the last breakpoint, one token of output. None if there is no breakpoint. ``silent``: no
    output at all, which Anthropic's own service offers ("Pre-warming the cache").
    """
    end = next(
        (
            (place, block + 1)
            for place in reversed(range(len(prompt.messages)))
            for block in reversed(range(len(prompt.messages[place].blocks)))
            if prompt.messages[place].blocks[block].mark
        ),
        None,
    )
    if end is None:
        return None
    place, blocks = end
    last = prompt.messages[place]
    if last.role == "user":  # a conversation must end with the user
        cut = PromptMessage(last.role, last.blocks[:blocks])
        prompt = evolve(prompt, messages=(*prompt.messages[:place], cut))
    return render(evolve(prompt, max_output_tokens=0 if silent else 1))
