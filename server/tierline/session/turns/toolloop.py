"""The rounds of one turn: request, stream, run what the model calls, ask again, until it is done.

Every request of a turn is composed anew, so the budget is enforced before each of them, not once
per turn. Every reply and every result is written to the history before the next step. A call that
was cut short gets a result that says so, because providers refuse a conversation with an open call.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing

from attrs import define, evolve

from tierline import protocol as p
from tierline.context.blocks import Reasoning, Text, ToolResult
from tierline.context.thinking import Binding
from tierline.errors import TierlineError
from tierline.history.groups import calls
from tierline.history.messages import Message, Status
from tierline.history.state import StreamFilter
from tierline.providers.base import (
    MalformedEvent,
    ProviderError,
    ReasoningChunk,
    ReasoningDone,
    RequestAdapted,
    RetryScheduled,
    Stop,
    TextChunk,
    TextWasThinking,
    ToolCall,
    Usage,
)
from tierline.providers.errors import RequestFailed
from tierline.providers.overflows import Overflow, room_after
from tierline.session.caching.service import CacheService
from tierline.session.conversation import Conversation
from tierline.session.conversation.ordering import shield
from tierline.session.conversation.views import finished_event, results_of, sent_groups, shown_text
from tierline.session.edits.service import EditService
from tierline.session.events import EventBus
from tierline.session.files.urls import UrlService
from tierline.session.memory.anchor import Anchor
from tierline.session.models import ModelService
from tierline.session.requests.composer import ComposedRequest, Composer
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn
from tierline.session.tools.servers import ServerService
from tierline.session.tools.toolbox import ToolService
from tierline.session.turns.drafts import DraftService
from tierline.session.turns.duplicate_results import unchanged
from tierline.session.turns.reflection import request_data
from tierline.session.turns.spending import SpendingGuard
from tierline.session.turns.waiting_prompts import WaitingPrompts
from tierline.tools.registry import ToolOutput

log = logging.getLogger(__name__)

LIMIT_NOTICE = (
    "The reply was cut at the output limit of {limit} tokens. Ask it to go on, or raise "
    "context.max_output_tokens."
)
WINDOW_NOTICE = (
    "The reply was cut because the model's window is full. Remove files or start a new chat, then "
    "ask it to go on."
)
_WINDOW_FULL = frozenset({"model_context_window_exceeded", "model_length"})
INCOMPLETE_NOTICE = "The connection closed before the reply was complete. Retry asks again."
ROUNDS_NOTICE = (
    "Stopped after {rounds} requests for this prompt (tools.max_rounds). Send “continue” to let "
    "it go on."
)
MAX_CUTS = 3
"""How many times one request is made smaller after a refusal for its size."""
NOT_RUN = {
    "incomplete": "Not run: the connection closed before the reply was complete.",
    "output_limit": "Not run: the reply was cut at the output limit, so the call may not be whole. "
    "Call again, in smaller parts.",
    "filtered": "Not run: the reply was filtered.",
    "rounds": "Not run: the limit of {rounds} requests for one prompt was reached. The user "
    "decides whether to go on.",
    "cancelled": "Not run: the user stopped the turn.",
    "interrupted": "Interrupted: the user stopped the turn while this call was running. What it "
    "had done by then is not known.",
    "error": "Not run: the request failed before the reply was complete.",
    "closed": "Interrupted: Tierline was closed before this call had ended. What it had done by "
    "then is not known.",
}
EMPTY_REPLY = ("empty_reply", "The reply was empty.", "Retry, or ask in another way.")


class EmptyReplyError(Exception):
    """A reply without any content."""


@define(eq=False, repr=False, slots=False)
class RoundRunner:
    """Runs the rounds of a turn."""

    _bus: EventBus
    _preferences: Preferences
    _conversation: Conversation
    _models: ModelService
    _tools: ToolService
    _servers: ServerService
    _urls: UrlService
    _edits: EditService
    _anchor: Anchor
    _composer: Composer
    _cache: CacheService
    _drafts: DraftService
    _spending: SpendingGuard
    _waiting: WaitingPrompts

    async def run(self, turn: Turn) -> p.TurnFinished:
        """Run all rounds of a turn. Returns the event that ends it.

        Raises:
            TierlineError, ProviderError: the request could not be made or failed.
            EmptyReplyError: the reply is empty.
            NotSpent: the user refused to pay for the next request.
            asyncio.CancelledError: the turn was stopped. ``turn.round.open`` may hold calls then.
        """
        await self.complete_earlier(turn.group_id)
        await self._servers.settled()
        await self._urls.offer(turn)
        await self._news(turn)
        while True:
            turn.begin_round()
            composed, strategy = await self._ask(turn)
            message = await shield(self._record(turn, composed, strategy))
            stop = turn.round.stop or Stop("incomplete")
            if not turn.round.calls:
                return self.finished(turn, message)
            if not await self._answer_calls(turn, message, stop):
                return self.finished(turn, message)
            await self._waiting.add_steered(turn)

    async def complete_earlier(self, group_id: str = "") -> None:
        """Give calls of ended processes a result that says so. Calls of the running turn, and of
        another living server, are left alone.
        """
        visible = [m for m in self._conversation.visible() if m.group_id != group_id]
        answered = results_of(visible)
        open_calls = [
            (message, call)
            for message in visible
            for call in calls(message)
            if (message.group_id, call.id) not in answered
        ]
        if open_calls and not await asyncio.to_thread(
            self._conversation.store.drafts.others_running
        ):
            for message, call in open_calls:
                await self._conversation.add_result(
                    message.group_id,
                    ToolResult(call.id, (Text(NOT_RUN["closed"]),), True),
                    strategy=message.parsing_strategy,
                    facts={"tool": call.name, "interrupted": True},
                )

    async def _news(self, turn: Turn) -> None:
        """Add news about earlier edits as a note for the model."""
        if text := await self._edits.news():
            await self._conversation.add_note(turn.group_id, text)

    # --- one request -----------------------------------------------------------------------------

    async def _ask(self, turn: Turn) -> tuple[ComposedRequest, str]:
        provider = await self._models.provider()
        composed = await self._composer.compose(turn)
        turn.retrieval = composed.plan.retrieval_set
        self._announce(turn, composed)
        await self._spending.allow(turn, composed)
        sent = {composed.request.sha256}
        while True:
            try:
                await self._stream(turn, composed)
                turn.round.standing = composed.arrangement.next.transcript.limits
                self._models.on_answer()
                break
            except ProviderError as error:
                if turn.round.reply or len(sent) > MAX_CUTS:
                    raise
                composed = await self._mended(turn, composed, error)
                if composed.request.sha256 in sent:
                    raise
                sent.add(composed.request.sha256)
                self._tell(turn, composed)
        return composed, provider.strategy

    async def _mended(
        self, turn: Turn, composed: ComposedRequest, error: ProviderError
    ) -> ComposedRequest:
        """The request, changed so that it may be accepted after this refusal.

        Raises:
            ProviderError: it cannot be changed further.
        """
        if error.code == "overflow":
            return await self._smaller(turn, composed, error)
        models = self._models
        said = models.thinking_refusals.learn(error.code, composed.prompt, models.maker)
        if not said:
            raise error
        self._bus.notice("info", said, error.code, turn.group_id)
        return await self._composer.compose(turn)

    async def _smaller(
        self, turn: Turn, composed: ComposedRequest, error: ProviderError
    ) -> ComposedRequest:
        """The request, cut to the size that the provider names, or by a quarter.

        Raises:
            ProviderError: nothing more can leave.
        """
        found = error.overflow if isinstance(error, RequestFailed) else None
        found = found or Overflow()
        if learnt := self._models.on_overflow(found, composed.request):
            self._bus.notice("warning", learnt, "adapted", turn.group_id)
        try:
            most = room_after(found, composed.plan.tokens)
            return await self._composer.compose(turn, max_tokens=most)
        except TierlineError as nothing:
            raise ProviderError(
                "overflow", error.message, nothing.advice, http_status=error.http_status
            ) from error

    def _announce(self, turn: Turn, composed: ComposedRequest) -> None:
        if turn.rounds == 1:
            sent = sent_groups(composed.plan, turn.attached)
            self._conversation.describe(turn.group_id, composed.context_line, sent)
            message = self._conversation.show(turn.message_id)
            self._bus.publish(
                p.TurnStarted(
                    turn_id=turn.group_id, message=message, context_line=composed.context_line
                )
            )
        self._tell(turn, composed)
        self._bus.publish(p.Waiting(turn.group_id, self._models.waiting_text()))

    def _tell(self, turn: Turn, composed: ComposedRequest) -> None:
        for text in composed.notices:
            self._bus.notice("warning", text, "shed", turn.group_id)

    async def _stream(self, turn: Turn, composed: ComposedRequest) -> None:
        provider = await self._models.provider()
        turn.round.asked = time.time()
        turn.round.binding = Binding(composed.prompt, self._models.maker)
        turn.round.screen = StreamFilter() if self._anchor.enabled else None
        self._drafts.begin(turn, composed.plan.plan_id, provider.strategy)
        await self._composer.sending(composed, turn.group_id)
        async with aclosing(self._cache.watched(provider, composed, turn.group_id)) as events:
            known = False
            async for event in events:
                if not known and not isinstance(event, RetryScheduled | RequestAdapted):
                    known = True
                    await self._composer.accepted(composed)
                match event:
                    case TextChunk() | ReasoningChunk() | TextWasThinking():
                        self._said(turn, event)
                    case ReasoningDone(data=data):
                        turn.round.stop_thinking()
                        turn.round.add_reasoning(provider.strategy, data)
                        self._drafts.on_text(turn)
                    case ToolCall():
                        turn.round.add_call(self._tools.is_valid(event), provider.strategy)
                        self._drafts.on_text(turn)
                    case Usage():
                        turn.round.usage = event
                    case RequestAdapted() | RetryScheduled():
                        composed = await self._again(turn, composed, event)
                    case MalformedEvent():
                        turn.round.malformed += 1
                    case Stop():
                        turn.round.stop = event
        if rest := turn.round.show_rest():
            self._bus.publish(p.TextDelta(turn.group_id, rest))

    def _said(self, turn: Turn, event: TextChunk | ReasoningChunk | TextWasThinking) -> None:
        """Handle a piece of the reply."""
        match event:
            case TextChunk(text=text):
                turn.round.stop_thinking()
                turn.round.reply.append(text)
                self._drafts.on_text(turn)
                if shown := turn.round.show(text):
                    self._bus.publish(p.TextDelta(turn.group_id, shown))
            case ReasoningChunk(text=text):
                turn.round.think(text)
                self._bus.publish(p.ReasoningDelta(turn.group_id, text))
            case TextWasThinking():
                text = turn.round.was_thinking()
                self._bus.publish(p.ReasoningDelta(turn.group_id, text, was_text=True))

    async def _again(
        self, turn: Turn, composed: ComposedRequest, event: RequestAdapted | RetryScheduled
    ) -> ComposedRequest:
        """Note that the request is sent again: unchanged after a wait, or without what
        was refused.
        """
        if isinstance(event, RetryScheduled):
            told = f"{event.reason} Trying again in {event.wait_seconds:.0f} s "
            told += f"({event.attempt} of {event.of})."
            self._bus.publish(p.Waiting(turn.group_id, told, event.wait_seconds))
            return composed
        self._bus.notice("info", event.reason, "adapted", turn.group_id)
        composed = evolve(composed, rendered=event.request)
        await self._composer.sending(composed, turn.group_id)
        return composed

    # --- one reply -------------------------------------------------------------------------------

    async def _record(self, turn: Turn, composed: ComposedRequest, strategy: str) -> Message:
        stop = turn.round.stop or Stop("incomplete")
        incomplete = stop.reason == "incomplete"
        self._notices(turn, composed, stop)
        content = turn.round.content()
        silent = all(isinstance(block, Reasoning) for block in content)
        if not content or (silent and stop.reason in ("end", "other")):
            raise EmptyReplyError
        usage = self._composer.settle(composed, turn.round.usage, turn.round.partial)
        turn.round.cache = await self._cache.report(turn.group_id)
        if turn.round.cache is not None:
            usage.cost, usage.saved = turn.round.cache.cost, turn.round.cache.saved
        message, problem = await self._drafts.record(
            turn,
            content,
            status=Status.INTERRUPTED if incomplete else Status.OK,
            strategy=strategy,
            usage=usage,
            plan_id=composed.plan.plan_id,
            note=INCOMPLETE_NOTICE if incomplete else "",
            cut=stop.reason == "output_limit",
            thinking_seconds=turn.round.thinking_seconds,
            embedded=self._models.embedded,
        )
        turn.record(message)
        turn.requests.append(request_data(composed, turn, usage))
        if problem:
            self._bus.notice("error", problem, "storage", turn.group_id)
        if incomplete:
            self._bus.notice("warning", INCOMPLETE_NOTICE, "incomplete", turn.group_id)
        return message

    def _notices(self, turn: Turn, composed: ComposedRequest, stop: Stop) -> None:
        def tell(level: p.NoticeLevel, text: str, code: str) -> None:
            self._bus.notice(level, text, code, turn.group_id)

        if turn.round.malformed:
            one = turn.round.malformed == 1
            what = "One damaged piece" if one else f"{turn.round.malformed} damaged pieces"
            tell("warning", f"{what} of the reply was skipped.", "malformed")
        if stop.reason == "output_limit":
            limit = composed.prompt.max_output_tokens
            full = stop.raw in _WINDOW_FULL
            text = WINDOW_NOTICE if full else LIMIT_NOTICE.format(limit=limit)
            tell("warning", text, "output_limit")
        if stop.reason in ("filtered", "other"):
            word = stop.raw or stop.reason
            tell("info", f"The provider ended the reply with “{word}”.", stop.reason)

    def finished(self, turn: Turn, message: Message) -> p.TurnFinished:
        """The event that ends a turn whose last reply is this message."""
        incomplete = message.status is Status.INTERRUPTED
        return finished_event(
            turn.group_id,
            "interrupted" if incomplete else "ok",
            self._conversation.show(message.id),
            turn.requests,
            turn.round.cache,
        )

    # --- its calls -------------------------------------------------------------------------------

    async def _answer_calls(self, turn: Turn, message: Message, stop: Stop) -> bool:
        """Run the calls of a reply. False if the turn ends here."""
        shown = self._conversation.show(message.id)
        self._bus.publish(p.MessageAdded(turn.group_id, shown))
        most = self._preferences.settings.tools.max_rounds
        if stop.reason in ("incomplete", "filtered"):
            await self.close_calls(turn, stop.reason)
            return False
        if turn.rounds >= most:
            await self.close_calls(turn, "rounds")
            notice = ROUNDS_NOTICE.format(rounds=most)
            self._bus.notice("warning", notice, "max_rounds", turn.group_id)
            return False
        if stop.reason == "output_limit":
            await self.close_calls(turn, "output_limit")
            return True
        await self._run_calls(turn, message)
        return True

    async def _run_calls(self, turn: Turn, message: Message) -> None:
        """Run calls in order; neighbours that only read run together. Results keep the order."""
        while turn.round.open:
            batch = self._batch(turn.round.open)
            names = ", ".join(dict.fromkeys(call.name[:50] for call in batch))
            self._bus.publish(p.Waiting(turn.group_id, f"Running {names}…"))
            tasks: list[asyncio.Task[tuple[ToolOutput, int]]] = []
            try:
                async with asyncio.TaskGroup() as group:
                    for call in batch:
                        row = self._tools.row(call, message.id, "running")
                        self._bus.publish(p.ToolChanged(turn.group_id, row))
                        tasks.append(group.create_task(self._tools.run(call, message)))
            except asyncio.CancelledError:
                await shield(self._stopped(turn, batch, tasks))
                raise
            for call, task in zip(batch, tasks, strict=True):
                await shield(self._result(turn, call, *task.result()))

    def _batch(self, waiting: list[ToolCall]) -> list[ToolCall]:
        """The calls to run next: one that must run alone, or all consecutive ones that need not."""
        alone = self._tools.alone
        if alone(waiting[0].name):
            return waiting[:1]
        end = next((i for i, call in enumerate(waiting) if alone(call.name)), len(waiting))
        return waiting[:end]

    async def _stopped(
        self, turn: Turn, batch: list[ToolCall], tasks: list[asyncio.Task[tuple[ToolOutput, int]]]
    ) -> None:
        """Called when the turn was stopped while calls ran: keeps finished results, and marks the
        others as stopped.
        """
        for call, task in zip(batch, tasks, strict=False):
            if task.done() and not task.cancelled() and task.exception() is None:
                await self._result(turn, call, *task.result())
            else:
                await self._close(turn, call, NOT_RUN["interrupted"])
        await self.close_calls(turn, "cancelled")

    async def close_calls(self, turn: Turn, code: str) -> None:
        """Complete every call that has no result yet; ``code`` is one of ``NOT_RUN``."""
        words = NOT_RUN[code].format(rounds=self._preferences.settings.tools.max_rounds)
        for call in list(turn.round.open):
            await self._close(turn, call, words)

    async def _close(self, turn: Turn, call: ToolCall, words: str) -> None:
        await self._result(turn, call, ToolOutput(words, error=True), 0, "interrupted")

    async def _result(
        self,
        turn: Turn,
        call: ToolCall,
        output: ToolOutput,
        milliseconds: int,
        status: p.CallStatus | None = None,
    ) -> None:
        """Write a result to the history, then tell the clients."""
        message = turn.round.message
        assert message is not None, "only recorded calls are answered"
        state: p.CallStatus = status or ("error" if output.error else "ok")
        messages, standing = self._conversation.context(), turn.round.standing
        output = unchanged(call.name, output, messages, standing, turn.group_id) or output
        result = ToolResult(call.id, (Text(output.text), *output.images), output.error)
        facts = {
            "tool": call.name,
            "milliseconds": milliseconds,
            **({"note": output.note} if output.note else {}),
            **({"interrupted": True} if state == "interrupted" else {}),
        }
        turn.round.open.remove(call)
        _, problem = await self._conversation.add_result(
            turn.group_id,
            result,
            strategy=message.parsing_strategy,
            facts=facts,
            files_modified=output.facts.get("files_modified", ()),
            edit_results=output.facts.get("edit_results", ()),
        )
        if problem:
            self._bus.notice("error", problem, "storage", turn.group_id)
        turn.trace.append(
            {
                "tool": call.name,
                "status": state,
                "milliseconds": milliseconds,
                "characters": len(output.text),
                "began": round(time.time() - milliseconds / 1000, 3),
                "call": call.id,
                "message": message.id,
            }
        )
        row = evolve(
            self._tools.row(call, message.id, state),
            note=output.note,
            result=shown_text(output.text),
            milliseconds=milliseconds,
        )
        self._bus.publish(p.ToolChanged(turn.group_id, row))
