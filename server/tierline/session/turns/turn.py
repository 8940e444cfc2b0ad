"""Turns: a prompt goes in, a reply streams out, and the history stays valid whatever happens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from attrs import define, evolve, field

from tierline import protocol as p
from tierline.context.blocks import Block, Image, Text, visible
from tierline.errors import ENDS, TierlineError
from tierline.history import actions
from tierline.history.messages import Status
from tierline.history.parser import text_of
from tierline.providers.base import ProviderError
from tierline.session.caching.keepalive import KeepAliveService
from tierline.session.caching.service import CacheService
from tierline.session.compaction.service import CompactionService
from tierline.session.conversation import Conversation, attached_of
from tierline.session.conversation.ordering import in_order, shield
from tierline.session.conversation.views import cut_off_usage, finished_event
from tierline.session.events import EventBus
from tierline.session.files.active_file import (
    ActiveFileContext,
    active_file_context,
    selection_context,
)
from tierline.session.files.service import FileService
from tierline.session.mentions.service import MentionService
from tierline.session.models import ModelService
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn, TurnQueue
from tierline.session.texts import redacted
from tierline.session.turns.drafts import DraftService
from tierline.session.turns.pictures import check_images
from tierline.session.turns.reflection import ReflectionService, cut_data
from tierline.session.turns.spending import SpendingRefused
from tierline.session.turns.toolloop import EMPTY_REPLY, EmptyReplyError, RoundRunner
from tierline.session.turns.waiting_prompts import WaitingPrompts
from tierline.session.workbench import NOTIFY, Workbench

log = logging.getLogger(__name__)

LIMIT_ADVICE = "Send “continue” to go on, or change the limits in the settings (spending)."


@define(eq=False, repr=False, slots=False)
class TurnRunner:
    """Runs one turn at a time; further prompts wait in order."""

    _bus: EventBus
    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _files: FileService
    _mentions: MentionService
    _compaction: CompactionService
    _cache: CacheService
    _keep_alive: KeepAliveService
    _drafts: DraftService
    _reflection: ReflectionService
    _rounds: RoundRunner
    _waiting: WaitingPrompts
    _workbench: Workbench
    _snapshots: SnapshotService
    _after_turn: Callable[[str], Awaitable[None]]
    """Called with the id of a turn that has ended."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _closing: bool = field(default=False, init=False)
    _idle: asyncio.Event = field(factory=asyncio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._waiting.wake = self._wake
        self._idle.set()

    async def send(
        self, params: p.ChatSendParams, required_files: frozenset[str] = frozenset()
    ) -> p.ChatSendResult:
        """Write the prompt to the history, start its turn or queue it, and answer at once.

        ``required_files``: keys of files without which the turn ends before anything is sent.

        Raises:
            TierlineError: ``empty_prompt``; ``not_sendable`` if a picture or the selection may not
                be sent; ``storage`` if the prompt could not be written (it is then kept in memory,
                and the turn runs all the same, with a notice).
        """
        async with self._conversation.changes:
            return await self._send(params, required_files)

    async def edit(self, params: p.ChatEditParams) -> p.ChatSendResult:
        """Change an earlier prompt and continue from there, on a new branch.

        Raises:
            TierlineError: ``conflict`` while a turn runs or waits; ``not_found``; as ``send``.
                Nothing has changed then.
        """
        conversation = self._conversation
        async with conversation.changes:
            self._queue.require_idle()
            old = next((m for m in conversation.visible() if m.group_id == params.group_id), None)
            if old is None or old.role != "user":
                raise TierlineError("not_found", "There is no such prompt.", "Reload the chat.")
            before = conversation.branch
            prompt = evolve(params.prompt, force=True)
            if params.keep_images:
                prompt.images = [
                    *(p.ImageInput(b.media_type, b.data) for b in old.content
                      if isinstance(b, Image) and b.data),
                    *prompt.images,
                ]  # fmt: skip

            async def branch() -> None:
                made = actions.fork_before(conversation.timeline(), params.group_id)
                problem = await conversation.act(made)
                made = actions.switch(conversation.timeline(), str(made.data["branch"]))
                if problem := problem or await conversation.act(made):
                    raise TierlineError("storage", problem, "Nothing was changed.")

            sent = await self._send(prompt, frozenset(), branch)
            sent.notices.append(
                f"You are on the new branch {conversation.branch}; what followed the earlier "
                f"prompt is on {before}."
            )
            self._bus.publish(p.StateChanged(reason="edit"))
            return sent

    async def _send(
        self,
        params: p.ChatSendParams,
        required_files: frozenset[str],
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> p.ChatSendResult:
        """``prepare`` is called once the prompt was checked, before it is written."""
        text, selection, notices = await self._redact(params)
        if unknown := self._models.unknown_model_notice():
            notices.append(unknown)
        images = await check_images(params.images, self._models)
        if not visible(Text(text)) and not images:
            raise TierlineError("empty_prompt", "There is nothing to send.", "Write a prompt.")
        if await self._drafts.recover():
            self._bus.publish(p.StateChanged(reason="recovered"))
        await self._files.settled()
        named = await self._mentions.take(params, text)
        await self._workbench.refresh([self._files.loader.uri(k) for k in self._files.paths()])
        seen = await self._look(params, selection)
        notices += (*named.notices, *seen.notices)
        attached = named.beside(seen.attached)
        if prepare is not None:
            await prepare()
        message = None if params.force else self._conversation.unanswered(text)
        if message is not None and not self._queue.contains(message.group_id):
            notices.append("This prompt had no reply; it is sent again as it stands, only once.")
        else:
            content: tuple[Block, ...] = (*images, *((Text(text),) if visible(Text(text)) else ()))
            message, problem = await self._conversation.add_user(
                content, files=self._files.paths(), attached=attached, looking=seen.text
            )
            if problem:
                notices.append(problem)
        queued = self._enqueue(
            Turn(
                group_id=message.group_id,
                message_id=message.id,
                text=text,
                active_uri=params.active_uri or (params.editor.uri if params.editor else ""),
                editor_text=seen.text,
                attached=attached,
                required_files=required_files,
                steer=params.steer and self._queue.current is not None,
            )
        )
        return p.ChatSendResult(
            turn_id=message.group_id, message_id=message.id, queued=queued, notices=notices
        )

    def _enqueue(self, turn: Turn) -> bool:
        """True if the turn has to wait."""
        queued = not self._queue.idle or self._compaction.running
        self._queue.waiting.append(turn)
        if queued:
            self._waiting.publish()
        self._wake()
        return queued

    async def _redact(self, params: p.ChatSendParams) -> tuple[str, str, list[str]]:
        """Text and selection without secrets, and notices about those."""
        text, notices = await redacted(params.text)
        selection, found = await redacted(params.selection)
        notices += [notice for notice in found if notice not in notices]
        uri = params.editor.uri if params.editor else params.active_uri
        if selection and (withheld := await self._files.withheld(uri)):
            raise TierlineError(
                "not_sendable",
                f"Nothing was sent, because the selection may not be. {withheld.message}",
                "Send the prompt without the selection, or add the file and confirm it.",
            )
        return text, selection, notices

    async def _look(self, params: p.ChatSendParams, selection: str) -> ActiveFileContext:
        """The context from the editor. A client that sends only the selection is not asked for
        more.
        """
        place = params.editor
        if place is None and selection and params.active_uri:
            place = p.EditorPlace(params.active_uri)
        if place is None or not place.uri:
            return selection_context(selection) if selection.strip() else ActiveFileContext()
        await self._workbench.refresh([place.uri])
        return await active_file_context(self._files, place, selection)

    async def cancel(self, params: p.ChatCancelParams) -> p.ChatCancelResult:
        """Stop a running or queued turn; the running one if none is named. The partial reply is
        kept and marked as interrupted. A second call has no further effect.
        """
        wanted = params.turn_id
        if not wanted and self._queue.current is None and self._queue.waiting:
            wanted = self._queue.waiting[0].group_id
        for turn in list(self._queue.waiting):
            if turn.group_id == wanted:
                self._queue.waiting.remove(turn)
                self._waiting.publish()
                await self._finish(turn, "interrupted", "Stopped before it began.")
                return p.ChatCancelResult(cancelled=True, turn_id=turn.group_id)
        turn_now = self._queue.current
        if turn_now is None or wanted not in ("", turn_now.group_id):
            return p.ChatCancelResult(cancelled=False, turn_id=wanted)
        if not turn_now.cancelled and self._task is not None:
            self._task.cancel()  # once: a second time would end the worker
        turn_now.cancelled = True
        return p.ChatCancelResult(cancelled=True, turn_id=turn_now.group_id)

    @in_order
    async def retry(self, params: p.ChatRetryParams) -> p.ChatSendResult:
        """Drop the reply, complete or partial, to the last or the named prompt and ask again.

        Raises:
            TierlineError: ``conflict`` while a turn runs or waits; ``not_found``.
        """
        self._queue.require_idle()
        prompt = await self._conversation.prepare_retry(params.group_id)
        turn = Turn(
            group_id=prompt.group_id,
            message_id=prompt.id,
            text=text_of(prompt.content),
            editor_text=str(prompt.meta.get("looking", "")),
            attached=tuple(attached_of(prompt.meta)),
        )
        self._bus.publish(p.StateChanged(reason="retry"))
        self._queue.waiting.append(turn)
        self._wake()
        return p.ChatSendResult(turn_id=turn.group_id, message_id=prompt.id)

    async def complete_earlier(self) -> None:
        """At start-up: complete the calls of ended processes, which have no result."""
        await self._rounds.complete_earlier()

    async def settled(self) -> None:
        """Wait until the running turn has ended."""
        await self._idle.wait()

    async def close(self) -> None:
        """Stop at once; the partial reply is recorded."""
        self._closing = True
        self._queue.waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _wake(self) -> None:
        if (self._task is None or self._task.done()) and not self._closing:
            self._task = asyncio.ensure_future(self._work())

    async def _work(self) -> None:
        while self._queue.waiting and not self._queue.paused:
            await self._compaction.done()
            if not self._queue.waiting or self._queue.paused:  # the prompt was removed meanwhile
                break
            turn = self._queue.waiting.popleft()
            self._queue.current = turn
            self._waiting.publish()
            self._idle.clear()
            self._keep_alive.stop()
            try:
                with self._models.held():
                    await self._run(turn)
            except asyncio.CancelledError:
                await shield(self._interrupted(turn))
                if self._closing or not turn.cancelled:
                    raise
            except ENDS:
                raise
            except BaseException:  # a panic in native code is a BaseException
                log.exception("Turn %s failed", turn.group_id)
                await self._failed(
                    turn, "internal", "The turn failed inside Tierline.", "See the log, then retry."
                )
            finally:
                self._queue.current = None
                self._idle.set()
            await self._after_turn(turn.group_id)

    async def _run(self, turn: Turn) -> None:
        await self._snapshots.prompt(turn.group_id)
        try:
            finished = await self._rounds.run(turn)
        except (TierlineError, ProviderError) as error:
            await shield(self._failed(turn, error.code, error.message, error.advice))
        except SpendingRefused as stopped:
            said = str(stopped)
            await shield(self._finish(turn, "interrupted", said, "limit", said, LIMIT_ADVICE))
        except EmptyReplyError:
            await shield(self._failed(turn, *EMPTY_REPLY))
        else:
            await shield(self._ended(turn, finished))

    async def _ended(self, turn: Turn, finished: p.TurnFinished, code: str = "") -> None:
        """Record the turn's reflection, then tell the clients. This is the turn's last event."""
        await self._reflection.record_turn(turn, finished.outcome, code)
        turn.finished = True
        finished.seconds = round(time.time() - turn.began, 1)
        self._bus.publish(finished)
        await self._tell_end(turn, finished)

    async def _tell_end(self, turn: Turn, finished: p.TurnFinished) -> None:
        """Notify the user of the end of a long turn; clients that do so themselves use
        the event.
        """
        after = self._preferences.settings.notify.after_seconds
        if not after or finished.seconds < after or turn.cancelled:
            return
        if NOTIFY not in self._workbench.features:
            what = "failed" if finished.outcome == "error" else "is finished"
            about = " ".join(turn.text.split())[:60]
            took = f"{finished.seconds:.0f} s"
            await self._workbench.tell(f"Tierline: the answer to “{about}” {what} ({took}).")

    async def _interrupted(self, turn: Turn) -> None:
        if turn.finished:
            return
        if turn.round.recorded and turn.round.message is not None and not turn.round.calls:
            # The reply was complete before it could be stopped.
            await self._ended(turn, self._rounds.finished(turn, turn.round.message))
        else:
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
        """Record the partial reply with its status; without any text, remember only that there is
        none.

        Calls that have not run get results that say so.
        """
        await self._paid(turn)
        why = "error" if outcome == "error" else "cancelled"
        shown = None
        if not turn.round.recorded and (content := turn.round.content()):
            message, _ = await self._drafts.record(
                turn,
                content,
                status=Status.INTERRUPTED,
                strategy=self._models.strategy,
                usage=None,
                plan_id="",
                note=note,
                embedded=self._models.embedded,
            )
            turn.record(message)
            await self._rounds.close_calls(turn, why)
            shown = self._conversation.show(message.id)
        else:
            await self._rounds.close_calls(turn, why)
            await self._drafts.drop(turn)
            self._conversation.set_reply_error(turn.group_id, note)
        finished = finished_event(turn.group_id, outcome, shown, turn.requests, turn.round.cache)
        finished.code, finished.error, finished.advice = code, error, advice
        await self._ended(turn, finished, code)

    async def _paid(self, turn: Turn) -> None:
        """Add a request that was cut off, which is paid for, to the turn's sum and its
        reflection.
        """
        found = None if turn.round.recorded else await self._cache.report(turn.group_id)
        if found is None:
            return
        turn.round.cache = found
        usage = cut_off_usage(found, reported=bool(turn.round.usage.input_tokens))
        turn.requests.append(cut_data(found, turn, usage))
