"""The conversation in memory and its log: what was said, in order, and nothing lost."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import evolve

from tierline.context.blocks import Block, Image, Text, ToolUse
from tierline.errors import TierlineError
from tierline.history import ids
from tierline.history.events import Event, EventKind
from tierline.history.messages import Message, Status
from tierline.history.parser import text_of
from tierline.lsp import protocol as p
from tierline.store.errors import StorageError
from tierline.store.sessions import HistoryStore


class Conversation:
    """The current session's messages. Every change is appended to the log, never rewritten there.

    If the log cannot be written, the chat goes on in memory and the caller gets the sentence to
    show; each later change tries the log again.
    """

    def __init__(self, store: HistoryStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._notes: dict[str, str] = {}
        self._hidden: set[str] = set()
        self.messages: list[Message] = []
        self.session_id = ids.session_id(self._ms(), os.urandom(4))
        self.branch = "main"
        self.restored_files: list[Any] = []

    # --- reading ---------------------------------------------------------------------------------

    def groups(self) -> list[str]:
        """Group ids in the order in which their prompts were sent."""
        return list(dict.fromkeys(message.group_id for message in self.visible()))

    def visible(self) -> list[Message]:
        """Active messages, whole groups in order: a queued prompt comes after the earlier reply."""
        active = [m for m in self.messages if m.group_id not in self._hidden]
        order = {group: i for i, group in enumerate(dict.fromkeys(m.group_id for m in active))}
        return sorted(active, key=lambda message: order[message.group_id])

    def find(self, message_id: str) -> Message:
        """A message by id. Raises TierlineError ``not_found``."""
        for message in self.messages:
            if message.id == message_id:
                return message
        raise TierlineError("not_found", f"There is no message {message_id}.", "Reload the chat.")

    def show(self, message_id: str) -> p.ChatMessage:
        """A message as clients see it."""
        return self._shown(self.find(message_id))

    def shown(self) -> list[p.ChatMessage]:
        """The whole conversation as clients see it."""
        return [self._shown(message) for message in self.visible()]

    def unanswered(self, text: str) -> Message | None:
        """The newest message, if it is this very prompt and got no reply."""
        visible = self.visible()
        if visible and visible[-1].role == "user" and text_of(visible[-1].content) == text:
            return visible[-1]
        return None

    # --- writing ---------------------------------------------------------------------------------

    async def add_user(
        self, content: tuple[Block, ...], *, files: Sequence[str]
    ) -> tuple[Message, str]:
        """Write a prompt durably before anything else happens with it.

        Returns the message and, if the log could not be written, a sentence for the user.
        """
        message = self._message("user", content, group_id="", files=tuple(files))
        message = evolve(message, group_id=message.id)
        return message, await self._append(message)

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
    ) -> Message:
        """Write a reply durably, whole or as far as it came."""
        if status is Status.OK and any(isinstance(block, ToolUse) for block in content):
            status = Status.TOOL_CALL
        figures = (
            {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cache_read_tokens": usage.cache_read_tokens,
                "cache_write_tokens": usage.cache_write_tokens,
            }
            if usage
            else {}
        )
        message = evolve(
            self._message("assistant", content, group_id=group_id),
            status=status,
            parsing_strategy=strategy,
            usage=figures,
            tokens=usage.input_tokens + usage.output_tokens if usage else 0,
            meta={k: v for k, v in (("plan_id", plan_id), ("note", note)) if v},
        )
        await self._append(message)
        return message

    async def no_reply(self, group_id: str, note: str) -> None:
        """Remember for this run why a prompt got no reply."""
        self._notes[group_id] = note

    async def prepare_retry(self, group_id: str) -> Message:
        """Hide the reply to a prompt so that it can be asked again. Returns the prompt.

        The old turn is removed by an event, and the prompt is written anew as a turn of its own, so
        that the log stays append-only.
        """
        groups = self.groups()
        wanted = group_id or (groups[-1] if groups else "")
        prompt = next((m for m in self.messages if m.group_id == wanted and m.role == "user"), None)
        if prompt is None:
            raise TierlineError("not_found", "There is no prompt to retry.", "Send one.")
        if groups[-1] != wanted:
            raise TierlineError(
                "conflict", "Only the last prompt can be retried.", "Undo the later ones first."
            )
        if all(m.role == "user" for m in self.messages if m.group_id == wanted):
            return prompt
        await self.event(EventKind.REMOVE, {"groups": [wanted]})
        self._hidden.add(wanted)
        message, _ = await self.add_user(prompt.content, files=prompt.files)
        return message

    async def event(self, kind: EventKind, data: dict[str, Any]) -> str:
        """Append an event. Returns a sentence for the user if the log could not be written."""
        event = Event(
            id=ids.message_id(self._ms(), os.urandom(4)),
            session_id=self.session_id,
            timestamp=self._now(),
            kind=kind,
            branch_id=self.branch,
            data=data,
        )
        try:
            await asyncio.to_thread(self._store.append_event, event)
        except StorageError as error:
            return f"{error.message} {error.advice}"
        return ""

    async def restore_newest(self) -> bool:
        """Take up the newest session of the log (seed 004, "Auto-Restore on Startup")."""
        sessions = await asyncio.to_thread(self._store.list_sessions, 1)
        if not sessions:
            return False
        await self.load(sessions[0].session_id)
        return True

    async def load(self, session_id: str) -> None:
        """Make another session the current one."""
        loaded = await asyncio.to_thread(self._store.load, session_id)
        self.session_id = session_id
        self.messages = list(loaded.messages)
        self._hidden = set(loaded.hidden_groups)
        self.restored_files = list(loaded.files)
        self._notes.clear()

    # --- helpers ---------------------------------------------------------------------------------

    async def _append(self, message: Message) -> str:
        self.messages.append(message)
        try:
            await asyncio.to_thread(self._store.append, message, durable=True)
        except StorageError as error:
            return f"{error.message} {error.advice}"
        return ""

    def _message(
        self,
        role: Any,
        content: tuple[Block, ...],
        *,
        group_id: str,
        files: tuple[str, ...] = (),
    ) -> Message:
        visible = self.visible()
        return Message(
            id=ids.message_id(self._ms(), os.urandom(4)),
            session_id=self.session_id,
            group_id=group_id,
            timestamp=self._now(),
            role=role,
            content=content,
            parent_id=visible[-1].id if visible else "",
            branch_id=self.branch,
            files=files,
        )

    def _ms(self) -> int:
        return int(self._clock() * 1000)

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._clock(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _shown(self, message: Message) -> p.ChatMessage:
        note = str(message.meta.get("note", ""))
        if message.role == "user":
            note = self._notes.get(message.group_id, note)
        return p.ChatMessage(
            id=message.id,
            group_id=message.group_id,
            role=message.role,
            text="\n".join(b.text for b in message.content if isinstance(b, Text)),
            status=message.status.value,
            timestamp=message.timestamp,
            tokens=message.tokens,
            images=[
                f"data:{b.media_type};base64,{b.data}"
                for b in message.content
                if isinstance(b, Image)
            ],
            files=list(message.files),
            note=note,
        )
