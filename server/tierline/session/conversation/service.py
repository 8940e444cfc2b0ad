"""The conversation: the log's current state, and entries that could not be written to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import asdict

from tierline import protocol as p
from tierline.context.blocks import Block, Image, Reasoning, Text, ToolResult, ToolUse, visible
from tierline.context.thinking import readable
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.actions import Action
from tierline.history.events import LogEvent
from tierline.history.groups import groups, snapshot_tokens
from tierline.history.messages import Message, Status
from tierline.history.parser import text_of
from tierline.history.state import extract
from tierline.history.timeline import Timeline
from tierline.history.usage import of_messages, with_events
from tierline.session.conversation.views import (
    Answers,
    Title,
    call_rows,
    groups_of,
    results_of,
    show_usage,
    with_compactions,
)
from tierline.session.state.preferences import Preferences
from tierline.store.errors import StorageError
from tierline.store.sessions import HistoryStore

T = TypeVar("T")


class Conversation:
    """The current session. Every change is appended to the log, never rewritten there.

    If the log cannot be written, the chat goes on in memory and the caller gets the sentence to
    show; each later change tries the log again.
    """

    def __init__(self, store: HistoryStore, preferences: Preferences) -> None:
        self.store = store
        self._preferences = preferences
        self.changes = asyncio.Lock()
        """Held by a request that changes the conversation (``ordering.py``)."""
        self.opening = 0
        """Requests that open another session, or wait for one that does."""
        self._notes: dict[str, str] = {}
        self._unsaved: list[Message | LogEvent] = []
        self._described: dict[str, tuple[str, Sequence[p.SentGroup]]] = {}
        self.keeps_state: Callable[[], bool] = lambda: False
        """Whether replies are searched for a STATE block."""
        self.title: Title = lambda _name, _arguments: ""

    @property
    def session_id(self) -> str:
        """Id of the current session."""
        return self.store.session_id

    @property
    def branch(self) -> str:
        """The current branch."""
        return self.timeline().branch

    @property
    def strategy(self) -> str:
        """The history selection: the session's own choice, else the setting."""
        own = self._preferences.strategy_now or self.timeline().strategy
        return own or self._preferences.settings.history.strategy

    @property
    def window(self) -> int:
        """Turns in the window: the session's own choice, else the setting. 0 for all."""
        own = self.timeline().window
        return self._preferences.settings.history.window if own is None else own

    # --- reading ---------------------------------------------------------------------------------

    def timeline(self) -> Timeline:
        """The session as the log has it now."""
        return self.store.timeline()

    def visible(self) -> list[Message]:
        """The visible messages: whole turns in order, each with its unsaved messages at its end."""
        return self._with_unsaved(self.timeline().visible())

    def context(self) -> list[Message]:
        """The messages that may be sent: summaries replace the groups that they cover."""
        return self._with_unsaved(self.timeline().context())

    def groups(self) -> list[str]:
        """Ids of the visible turns, oldest first."""
        return list(dict.fromkeys(message.group_id for message in self.visible()))

    def find(self, message_id: str) -> Message:
        """A message by id. Raises TierlineError ``not_found``."""
        for message in self.visible():
            if message.id == message_id:
                return message
        raise TierlineError("not_found", f"There is no message {message_id}.", "Reload the chat.")

    def show(self, message_id: str) -> p.ChatMessage:
        """A message as clients see it."""
        message = self.find(message_id)
        turn = (m for m in self.visible() if m.group_id == message.group_id)
        return self.all_shown(turn)[message_id]

    def shown(self) -> list[p.ChatMessage]:
        """The whole conversation as clients see it, compactions after the messages that they
        replace.
        """
        now = self.timeline()
        return with_compactions(list(self.all_shown(self.visible()).values()), now.summaries)

    def all_shown(
        self, messages: Iterable[Message], now: Timeline | None = None
    ) -> dict[str, p.ChatMessage]:
        """Messages of whole turns as clients see them, by id. ``now``: the timeline of their
        session, if it is not the current one.

        All parts of a turn have the same weight: that of its newest request.
        """
        known = list(messages)
        now = now or self.timeline()
        turns = groups(known)
        weights = {g.id: g.tokens for g in turns}
        answers = results_of(known)
        shown = {
            m.id: self._as_shown(
                m,
                now.states.get(m.id, ""),
                weights[m.group_id] if m.role in ("assistant", "tool") else m.tokens,
                answers,
            )
            for m in known
        }
        # Reflections that could not be written yet are in memory, like messages.
        prompts = {m.group_id: shown[m.id] for m in reversed(known) if m.role == "user"}
        for group_id, prompt in prompts.items():
            prompt.context_line, sent = self.described(group_id)
            prompt.sent = list(sent)
        for message_id, found in of_messages(turns, with_events(now.usages, self._unsaved)).items():
            message = shown[message_id]
            show_usage(message, found)
            if (asked := prompts.get(message.group_id)) is not None and not asked.context_line:
                asked.context_line, asked.sent = found.line, groups_of(found.went)
        return shown

    def unanswered(self, text: str) -> Message | None:
        """The newest message, if it is this same prompt and got no reply."""
        visible = self.visible()
        if visible and visible[-1].role == "user" and text_of(visible[-1].content) == text:
            return visible[-1]
        return None

    # --- writing ---------------------------------------------------------------------------------

    async def add_user(
        self,
        content: tuple[Block, ...],
        *,
        files: Sequence[str],
        attached: Sequence[p.Attachment] = (),
        looking: str = "",
        group_id: str = "",
    ) -> tuple[Message, str]:
        """Write a prompt durably, before anything else is done with it.

        ``attached`` and ``looking``: context from the editor that went with it, for clients and for
        a retry. ``group_id``: the turn that it belongs to, if it does not begin one. Returns the
        message as it was stored and, if the log could not be written, a sentence for the user.
        """
        meta: dict[str, Any] = {"looking": looking} if looking else {}
        if attached:
            meta["attached"] = [asdict(one) for one in attached]
        message = self.store.make("user", content, group_id=group_id, files=tuple(files), meta=meta)
        return await self._append(message)

    async def add_again(
        self,
        message: Message,
        *,
        text: str = "",
        attached: Sequence[p.Attachment] | None = None,
        group_id: str = "",
    ) -> Message:
        """Write a prompt again with another text or in another turn, otherwise unchanged."""
        content = message.content
        if text:
            content = (*(b for b in content if not isinstance(b, Text)), Text(text))
        written, _ = await self.add_user(
            content,
            files=message.files,
            attached=attached_of(message.meta) if attached is None else attached,
            looking=str(message.meta.get("looking", "")),
            group_id=group_id,
        )
        return written

    async def add_assistant(
        self,
        group_id: str,
        content: tuple[Block, ...],
        *,
        status: Status,
        strategy: str,
        usage: p.UsageInfo | None,
        plan_id: str,
        note: str = "",
        cut: bool = False,
        identifier: str = "",
        thinking_seconds: float = 0.0,
        embedded: bool = False,
    ) -> tuple[Message, str]:
        """Write a reply durably, complete or partial. Returns what ``add_user`` does.

        A STATE block is taken out of a complete reply and written down beside it, as an event.
        ``cut`` says that the reply ended at the output limit: its block may be incomplete, so the
        previous one stays in force.
        """
        content, state = take_state(content) if self.keeps_state() else (content, None)
        unfinished = None
        if cut or status is Status.INTERRUPTED:
            state, unfinished = None, state
        if status is Status.OK and any(isinstance(block, ToolUse) for block in content):
            status = Status.TOOL_CALL
        figures = _figures(usage)
        meta = {
            "plan_id": plan_id,
            "note": note,
            "unfinished_state": unfinished,
            "thinking_seconds": round(thinking_seconds, 1),
            "embedded": embedded,
        }
        message = self.store.make(
            "assistant",
            content,
            identifier=identifier,
            group_id=group_id,
            status=status,
            strategy=strategy,
            usage=figures,
            tokens=snapshot_tokens(figures),
            meta={name: value for name, value in meta.items() if value},
        )
        if state is None:
            return await self._append(message)
        event = self.store.event(actions.state(state, group_id, message.id))
        return await self._append(message, event)

    async def add_result(
        self,
        group_id: str,
        result: ToolResult,
        *,
        strategy: str,
        facts: Mapping[str, Any],
        files_modified: Sequence[str] = (),
        edit_results: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[Message, str]:
        """Write the whole result of a call, one record for each, so that the hint after a truncated
        result can name it. Returns what ``add_user`` does.
        """
        message = self.store.make(
            "tool",
            (result,),
            group_id=group_id,
            status=Status.OK,
            strategy=strategy,
            files_modified=tuple(files_modified),
            edit_results=tuple(edit_results),
            meta=dict(facts),
        )
        return await self._append(message)

    async def add_note(self, group_id: str, text: str) -> tuple[Message, str]:
        """Write a system note for the model. Returns what ``add_user`` does."""
        message = self.store.make("system", (Text(text),), group_id=group_id)
        return await self._append(message)

    def set_reply_error(self, group_id: str, note: str) -> None:
        """Remember for this run why a prompt got no reply."""
        self._notes[group_id] = note

    def describe(self, group_id: str, context_line: str, sent: Sequence[p.SentGroup]) -> None:
        """Remember what context goes with a prompt until its turn has ended."""
        self._described[group_id] = (context_line, sent)

    def described(self, group_id: str) -> tuple[str, Sequence[p.SentGroup]]:
        """The values of ``describe`` for a turn of this run."""
        return self._described.get(group_id, ("", ()))

    async def prepare_retry(self, group_id: str) -> Message:
        """Make a turn ready to be asked again. Returns its prompt.

        A prompt without a reply is used as it is. Otherwise the old turn is removed by an event and
        the prompt is written anew, so that the log stays append-only.

        Raises:
            TierlineError: ``not_found`` without a prompt; ``conflict`` if it is not the last one.
        """
        groups = self.groups()
        wanted = group_id or (groups[-1] if groups else "")
        turn = [m for m in self.visible() if m.group_id == wanted]
        prompt = next((m for m in turn if m.role == "user"), None)
        if prompt is None:
            raise TierlineError("not_found", "There is no prompt to retry.", "Send one.")
        if groups[-1] != wanted:
            raise TierlineError(
                "conflict", "Only the last prompt can be retried.", "Undo the later ones first."
            )
        if len(turn) == 1:
            return prompt
        await self.act(actions.remove(self.timeline(), wanted))
        return await self.add_again(prompt)

    async def act(self, action: Action) -> str:
        """Append an event. Returns a sentence for the user if the log could not be written."""
        return (await self._acted(self.store.record, action))[1]

    async def revise(self, make: Callable[[Timeline], Action]) -> tuple[LogEvent | None, str]:
        """Append the event that ``make`` derives from the current state; no other window can change
        the state in between. ``make`` is called in a thread. Returns the written event, or None and
        a sentence for the user.
        """
        return await self._acted(self.store.revise, make)

    async def _acted(self, work: Callable[[T], LogEvent], given: T) -> tuple[LogEvent | None, str]:
        try:
            return await asyncio.to_thread(work, given), ""
        except StorageError as error:
            return None, f"{error.message} {error.advice}"

    async def reflect(self, action: Action) -> str:
        """Append a turn's reflection after its unsaved entries; if it cannot be written, it stays
        in memory like them. Returns what ``act`` does.
        """
        try:
            event = await asyncio.to_thread(self.store.event, action)
        except StorageError as error:
            return f"{error.message} {error.advice}"
        return (await self._write(event))[1]

    async def restore_newest(self) -> Timeline | None:
        """Continue the session that was used last."""
        return await asyncio.to_thread(self.store.restore_newest)

    async def open(self, session_id: str = "") -> Timeline:
        """Make another session, or a new one, the current one."""
        self._notes.clear()
        self._unsaved.clear()
        if session_id:
            return await asyncio.to_thread(self.store.load_session, session_id)
        self.store.new_session()
        return self.timeline()

    async def _append(self, message: Message, *events: LogEvent) -> tuple[Message, str]:
        stored, problem = await self._write(message, *events)
        return (stored[-1] if stored else message), problem

    async def _write(self, *entries: Message | LogEvent) -> tuple[list[Message], str]:
        """Append entries, with those that could not be written before."""
        waiting = [*self._unsaved, *entries]
        try:
            stored = await asyncio.to_thread(self.store.append_all, waiting, durable=True)
        except StorageError as error:
            self._unsaved += entries
            return [], f"{error.message} {error.advice}"
        self._unsaved.clear()
        return stored, ""

    def _with_unsaved(self, saved: Sequence[Message]) -> list[Message]:
        """The messages with unsaved ones, by whole groups: an unsaved reply follows its prompt in
        the log.
        """
        known = {message.id for message in saved}
        unsaved = (m for m in self._unsaved if isinstance(m, Message) and m.id not in known)
        messages = [*saved, *unsaved]
        order = {g: i for i, g in enumerate(dict.fromkeys(m.group_id for m in messages))}
        return sorted(messages, key=lambda message: order[message.group_id])

    def _as_shown(
        self, message: Message, state: str, weight: int, answers: Answers
    ) -> p.ChatMessage:
        note = str(message.meta.get("note", ""))
        if message.role == "user":
            note = self._notes.get(message.group_id, note)
        text = "\n".join(b.text for b in message.content if isinstance(b, Text))
        if state and extract(text).state:  # the reply was nothing but the block
            text = ""
        return p.ChatMessage(
            id=message.id,
            group_id=message.group_id,
            role=message.role,
            text=text,
            state=state,
            thinking="\n\n".join(
                thought
                for b in message.content
                if isinstance(b, Reasoning) and (thought := readable(b).strip())
            ),
            thinking_seconds=_seconds(message.meta.get("thinking_seconds")),
            status=message.status,
            timestamp=message.timestamp,
            tokens=weight,
            images=[
                f"data:{b.media_type};base64,{b.data}"
                for b in message.content
                if isinstance(b, Image) and b.data
            ],
            files=list(message.files),
            attached=attached_of(message.meta),
            note=note,
            calls=call_rows(message, answers, self.title),
            embedded=message.meta.get("embedded") is True,
        )


def attached_of(meta: Mapping[str, Any]) -> list[p.Attachment]:
    """Attachments of a prompt; none if the record is damaged."""
    try:
        return [p.Attachment(**one) for one in meta.get("attached", ())]
    except TypeError:
        return []


def take_state(content: tuple[Block, ...]) -> tuple[tuple[Block, ...], str | None]:
    """A reply's blocks without the STATE block that its last text ends with, and the block.

    A reply that is nothing but the block keeps it: no reply may be empty.
    """
    last = next((i for i in reversed(range(len(content))) if isinstance(content[i], Text)), None)
    block = content[last] if last is not None else None
    if last is None or not isinstance(block, Text):
        return content, None
    found = extract(block.text)
    if not found.state:
        return content, None
    rest = (Text(found.text),) if visible(Text(found.text)) else ()
    without = (*content[:last], *rest, *content[last + 1 :])
    kept = any(visible(b) for b in without if not isinstance(b, Reasoning))
    return (without if kept else content), found.state


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0


def _figures(usage: p.UsageInfo | None) -> dict[str, Any]:
    if usage is None:
        return {}
    figures = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
    return {name: tokens for name, tokens in figures.items() if tokens is not None}
