"""Turns: a prompt goes in, a reply streams out, and whatever happens the history stays whole."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import aclosing
from typing import TYPE_CHECKING

from attrs import define, field

from tierline.context.blocks import Block, Reasoning, Text, ToolUse, visible
from tierline.errors import TierlineError
from tierline.history.messages import Status
from tierline.history.state import StreamFilter
from tierline.lsp import protocol as p
from tierline.providers.base import (
    Malformed,
    ProviderError,
    ReasoningDelta,
    ReasoningDone,
    Retrying,
    Stop,
    TextDelta,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from tierline.session.composer import Composed
    from tierline.session.session import Session

log = logging.getLogger(__name__)

_LIMIT_NOTICE = (
    "The reply was cut at the output limit of {limit} tokens. Ask it to go on, or raise "
    "context.max_output_tokens."
)
_INCOMPLETE_NOTICE = "The connection closed before the reply was complete. Retry asks again."


@define
class Turn:
    """One prompt on its way. ``group_id`` is the turn's id everywhere."""

    group_id: str
    message_id: str
    text: str
    selection: str = ""
    active_uri: str = ""
    reply: list[str] = field(factory=list)
    blocks: list[Block] = field(factory=list)
    usage: Usage = field(factory=Usage)
    stop: Stop | None = None
    cancelled: bool = False
    malformed: int = 0
    shown: list[str] = field(factory=list)
    """What of the reply clients have been given; the STATE block is not among it."""
    screen: StreamFilter | None = None
    """Hides the STATE block while the reply streams; None if none is asked for."""

    @property
    def partial(self) -> str:
        """What has streamed so far."""
        return "".join(self.reply)

    def show(self, piece: str) -> str:
        """The part of a new piece of the reply that may be shown now; may be empty."""
        text = self.screen.feed(piece) if self.screen is not None else piece
        self.shown.append(text)
        return text

    def content(self) -> tuple[Block, ...]:
        """The reply's blocks; text with nothing to see in it is left out."""
        blocks = [*self.blocks]
        if self.partial:
            blocks.insert(_reasoning_prefix(blocks), Text(self.partial))
        return tuple(block for block in blocks if visible(block))


class TurnRunner:
    """Runs one turn at a time; further prompts wait in order."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._queue: deque[Turn] = deque()
        self.current: Turn | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def queued_groups(self) -> tuple[str, ...]:
        """Groups whose turn has not begun; their prompts are in no request yet."""
        return tuple(turn.group_id for turn in self._queue)

    async def send(self, params: p.ChatSendParams) -> p.ChatSendResult:
        """Write the prompt down, start its turn or queue it, and answer at once.

        Raises:
            TierlineError: ``empty_prompt``; ``storage`` if the prompt could not be written (it is
                then kept in memory, and the turn runs all the same, with a notice).
        """
        session = self._session
        text, notices = session.redact(params.text)
        selection, _ = session.redact(params.selection)
        if selection and (withheld := await session.files.withheld(params.active_uri)):
            selection = ""
            notices.append(f"The selection is not sent. {withheld}")
        images, image_notices = await session.check_images(params.images)
        notices += image_notices
        if not visible(Text(text)) and not images:
            raise TierlineError("empty_prompt", "There is nothing to send.", "Write a prompt.")
        notices += await session.files.mention(text)
        again = None if params.force else session.conversation.unanswered(text)
        if again is not None and not self._knows(again.group_id):
            notices.append("This prompt had no reply; it is sent again as it stands, only once.")
            message = again
        else:
            content: tuple[Block, ...] = (*images, *((Text(text),) if visible(Text(text)) else ()))
            message, problem = await session.conversation.add_user(
                content, files=session.files.paths()
            )
            if problem:
                notices.append(problem)
        turn = Turn(
            group_id=message.group_id,
            message_id=message.id,
            text=text,
            selection=selection,
            active_uri=params.active_uri,
        )
        queued = self.current is not None or bool(self._queue) or session.compacting
        self._queue.append(turn)
        self._wake()
        return p.ChatSendResult(
            turn_id=turn.group_id, message_id=message.id, queued=queued, notices=notices
        )

    async def cancel(self, params: p.ChatCancelParams) -> p.ChatCancelResult:
        """Stop a running or queued turn. What has streamed is kept and marked as interrupted."""
        wanted = params.turn_id
        for turn in list(self._queue):
            if turn.group_id == wanted:
                self._queue.remove(turn)
                await self._finish(turn, "interrupted", "Stopped before it began.")
                return p.ChatCancelResult(cancelled=True, turn_id=turn.group_id)
        turn_now = self.current
        if turn_now is None or wanted not in ("", turn_now.group_id):
            return p.ChatCancelResult(cancelled=False, turn_id=wanted)
        turn_now.cancelled = True
        if self._task is not None:
            self._task.cancel()
        return p.ChatCancelResult(cancelled=True, turn_id=turn_now.group_id)

    async def retry(self, params: p.ChatRetryParams) -> p.ChatSendResult:
        """Drop the reply (or what there is of it) to the last or the named prompt and ask again."""
        if self.current is not None:
            raise TierlineError("conflict", "A reply is still streaming.", "Stop it first.")
        prompt = await self._session.conversation.prepare_retry(params.group_id)
        turn = Turn(group_id=prompt.group_id, message_id=prompt.id, text=_text(prompt.content))
        self._session.bus.publish(p.StateChanged(reason="retry"))
        self._queue.append(turn)
        self._wake()
        return p.ChatSendResult(turn_id=turn.group_id, message_id=prompt.id)

    async def settled(self) -> None:
        """Wait until the running turn has ended."""
        await self._idle.wait()

    async def close(self) -> None:
        """Stop at once; the partial reply is written down."""
        self._closing = True
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _knows(self, group_id: str) -> bool:
        return group_id in self.queued_groups or (
            self.current is not None and self.current.group_id == group_id
        )

    def _wake(self) -> None:
        if (self._task is None or self._task.done()) and not self._closing:
            self._task = asyncio.ensure_future(self._work())

    async def _work(self) -> None:
        while self._queue:
            await self._session.compaction_done()
            turn = self._queue.popleft()
            self.current = turn
            self._idle.clear()
            self._session.keep_alive.stop()
            try:
                await self._run(turn)
            except asyncio.CancelledError:
                await asyncio.shield(self._interrupted(turn))
                if self._closing or not turn.cancelled:
                    raise
            except Exception:
                log.exception("Turn %s failed", turn.group_id)
                await self._failed(
                    turn, "internal", "The turn failed inside Tierline.", "See the log, then retry."
                )
            finally:
                self.current = None
                self._idle.set()
            await self._session.after_turn(turn.group_id)

    async def _run(self, turn: Turn) -> None:
        session = self._session
        try:
            provider = await session.models.provider()
            composed = await session.composer.compose(turn)
            self._announce(turn, composed)
            try:
                await self._stream(turn, composed)
            except ProviderError as error:
                if error.code != "overflow" or turn.reply:
                    raise
                # The window was smaller than we believed: cut once, send once more, no loop.
                composed = await session.composer.compose(turn, after_overflow=True)
                for text in composed.notices:
                    session.bus.publish(p.Notice("warning", text, "shed", turn.group_id))
                await self._stream(turn, composed)
        except TierlineError as error:
            await self._failed(turn, error.code, error.message, error.advice)
            return
        except ProviderError as error:
            await self._failed(turn, error.code, error.message, error.advice)
            return
        await self._complete(turn, composed, provider.strategy)

    def _announce(self, turn: Turn, composed: Composed) -> None:
        session = self._session
        session.conversation.describe(turn.group_id, composed.context_line)
        message = session.conversation.show(turn.message_id)
        session.bus.publish(
            p.TurnStarted(
                turn_id=turn.group_id, message=message, context_line=composed.context_line
            )
        )
        for text in composed.notices:
            session.bus.publish(p.Notice("warning", text, "shed", turn.group_id))
        session.bus.publish(p.Waiting(turn.group_id, session.models.waiting_text()))

    async def _stream(self, turn: Turn, composed: Composed) -> None:
        session = self._session
        provider = await session.models.provider()
        turn.screen = StreamFilter() if session.anchor.enabled else None
        await session.composer.sending(composed, turn.group_id)
        async with aclosing(session.cache.watched(provider, composed, turn.group_id)) as events:
            known = False
            async for event in events:
                if not known and not isinstance(event, Retrying):
                    known = True
                    await session.composer.accepted(composed)
                match event:
                    case TextDelta(text=text):
                        turn.reply.append(text)
                        if shown := turn.show(text):
                            session.bus.publish(p.TextDelta(turn.group_id, shown))
                    case ReasoningDelta(text=text):
                        session.bus.publish(p.ReasoningDelta(turn.group_id, text))
                    case ReasoningDone(data=data):
                        turn.blocks.append(Reasoning(provider.strategy, data))
                    case ToolCall():
                        turn.blocks.append(ToolUse(event.id, event.name, event.input))
                    case Usage():
                        turn.usage = event
                    case Retrying():
                        session.bus.publish(
                            p.Waiting(
                                turn.group_id,
                                f"{event.reason} Trying again in {event.wait_seconds:.0f} s "
                                f"({event.attempt} of {event.of}).",
                                event.wait_seconds,
                            )
                        )
                    case Malformed():
                        turn.malformed += 1
                    case Stop():
                        turn.stop = event

    async def _complete(self, turn: Turn, composed: Composed, strategy: str) -> None:
        session = self._session
        stop = turn.stop or Stop("incomplete")
        content = turn.content()
        incomplete = stop.reason == "incomplete"
        if turn.malformed:
            what = (
                "One damaged piece" if turn.malformed == 1 else f"{turn.malformed} damaged pieces"
            )
            session.bus.publish(
                p.Notice("warning", f"{what} of the reply was skipped.", "malformed", turn.group_id)
            )
        if stop.reason == "output_limit":
            limit = composed.prompt.max_output_tokens
            session.bus.publish(
                p.Notice(
                    "warning", _LIMIT_NOTICE.format(limit=limit), "output_limit", turn.group_id
                )
            )
        if stop.reason in ("filtered", "other"):
            session.bus.publish(
                p.Notice(
                    "info",
                    f"The provider ended the reply with “{stop.raw or stop.reason}”.",
                    stop.reason,
                    turn.group_id,
                )
            )
        if not content:
            await self._failed(
                turn, "empty_reply", "The reply was empty.", "Retry, or ask in another way."
            )
            return
        usage = session.composer.settle(composed, turn.usage, turn.partial)
        cache = await session.cache.report(turn.group_id)
        if cache is not None:
            usage.cost, usage.saved = cache.cost, cache.saved
        message, problem = await session.conversation.add_assistant(
            turn.group_id,
            content,
            status=Status.INTERRUPTED if incomplete else Status.OK,
            strategy=strategy,
            usage=usage,
            plan_id=composed.plan.plan_id,
            note=_INCOMPLETE_NOTICE if incomplete else "",
            cut=stop.reason == "output_limit",
        )
        if problem:
            session.bus.publish(p.Notice("error", problem, "storage", turn.group_id))
        if incomplete:
            session.bus.publish(
                p.Notice("warning", _INCOMPLETE_NOTICE, "incomplete", turn.group_id)
            )
        session.bus.publish(
            p.TurnFinished(
                turn.group_id,
                "interrupted" if incomplete else "ok",
                message=session.conversation.show(message.id),
                usage=usage,
                cache=cache,
            )
        )

    async def _interrupted(self, turn: Turn) -> None:
        await self._finish(turn, "interrupted", "Stopped.")

    async def _failed(self, turn: Turn, code: str, message: str, advice: str) -> None:
        await self._finish(turn, "error", f"{message} {advice}".strip(), code, message, advice)

    async def _finish(
        self,
        turn: Turn,
        outcome: p.TurnOutcome,
        note: str,
        code: str = "",
        error: str = "",
        advice: str = "",
    ) -> None:
        """Keep the partial text, marked; without any, remember only that there was no reply."""
        session = self._session
        shown = None
        if content := turn.content():
            record, _ = await session.conversation.add_assistant(
                turn.group_id,
                tuple(b for b in content if not isinstance(b, ToolUse)) or content,
                status=Status.INTERRUPTED,
                strategy=session.models.strategy,
                usage=None,
                plan_id="",
                note=note,
            )
            shown = session.conversation.show(record.id)
        else:
            session.conversation.no_reply(turn.group_id, note)
        session.bus.publish(
            p.TurnFinished(
                turn.group_id, outcome, message=shown, code=code, error=error, advice=advice
            )
        )


def _reasoning_prefix(blocks: list[Block]) -> int:
    """Thinking comes before text, text before calls: the order in which providers take them."""
    return sum(isinstance(block, Reasoning) for block in blocks)


def _text(content: tuple[Block, ...]) -> str:
    return "\n".join(block.text for block in content if isinstance(block, Text))
