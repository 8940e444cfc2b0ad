"""The memo service: for the editor, for the model's tools, and for the memos that go
with a prompt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from tierline import protocol as p
from tierline.context.items import Item, Section
from tierline.errors import TierlineError
from tierline.memory import memos as rules
from tierline.memory.memos import Memo, MemoDraft, RankedMemo, Scope
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus
from tierline.session.texts import redact
from tierline.store.errors import StorageError
from tierline.store.memos import FILE, MemoStore, user_folder
from tierline.tools.registry import ToolOutput

log = logging.getLogger(__name__)

_ANSWER_CHARACTERS = 12_000
"""Characters of the memos that one ``retrieve_memos`` call returns."""


class MemoService:
    """Reads and writes both scopes. The logs are only ever appended to."""

    def __init__(self, bus: EventBus, conversation: Conversation, home: Path) -> None:
        self._bus = bus
        self._conversation = conversation
        self._stores: dict[Scope, MemoStore] = {
            "project": MemoStore(home / FILE, "project"),
            "user": MemoStore(user_folder() / FILE, "user"),
        }

    # --- for the editor --------------------------------------------------------------------------

    async def listed(self, params: p.MemoListParams) -> p.MemoListResult:
        """All memos, the newest first."""
        pool = await self._pool(params.scope)
        found = rules.search(pool, "", [params.tag] if params.tag else [], limit=len(pool))
        return p.MemoListResult([_info(m) for m in found], _tags(pool))

    async def search(self, params: p.MemoSearchParams) -> p.MemoListResult:
        """Memos that fit words and tags, the best first."""
        pool = await self._pool(params.scope)
        found = rules.search(pool, params.query, params.tags, limit=max(1, params.limit))
        return p.MemoListResult([_info(m) for m in found], _tags(pool))

    async def save(self, params: p.MemoSaveParams) -> p.MemoInfo:
        """Write a new memo.

        Raises:
            TierlineError: ``invalid_params`` if it is empty or too long; ``storage``.
        """
        checked = rules.draft(
            {"content": params.content, "tags": params.tags, "scope": params.scope}
        )
        if isinstance(checked, str):
            raise TierlineError("invalid_params", checked, "Change it and save again.")
        return _info(await self._write(checked, "user"))

    async def edit(self, params: p.MemoEditParams) -> p.MemoInfo:
        """Change a memo's text or tags, or move it to the other scope.

        Raises:
            TierlineError: ``not_found``; ``invalid_params`` if the new text is refused;
                ``storage``.
        """
        memo = await self._find(params.id)
        checked = rules.draft(
            {
                "content": memo.content if params.content is None else params.content,
                "tags": list(memo.tags) if params.tags is None else params.tags,
                "scope": params.scope or memo.scope,
            }
        )
        if isinstance(checked, str):
            raise TierlineError("invalid_params", checked, "The memo is as it was.")
        if checked.scope != memo.scope:  # first the copy, then the removal: nothing can be lost
            moved = await self._write(checked, memo.source)
            await self._append(memo.scope, {"kind": "delete", "id": memo.id})
            return _info(moved)
        content, _ = redact(checked.content)
        record = {"kind": "edit", "id": memo.id, "content": content, "tags": list(checked.tags)}
        when = await self._append(memo.scope, record)
        return _info(evolve(memo, content=content, tags=checked.tags, changed=when))

    async def delete(self, params: p.MemoParams) -> p.MemoListResult:
        """Delete a memo; its records stay in the log."""
        memo = await self._find(params.id)
        await self._append(memo.scope, {"kind": "delete", "id": memo.id})
        return await self.listed(p.MemoListParams())

    # --- for the model ---------------------------------------------------------------------------

    async def save_memo(self, arguments: Mapping[str, Any]) -> ToolOutput:
        """Carry out a ``save_memo`` call (:data:`tierline.memory.memos.SAVE_TOOL`)."""
        checked = rules.draft(arguments)
        if isinstance(checked, str):
            return ToolOutput(checked, error=True)
        known = [m for m in await self._pool("") if m.content.strip() == checked.content]
        if known:
            return ToolOutput(f"This is memo {known[0].id} already; nothing new was saved.")
        try:
            memo = await self._write(checked, "model")
        except TierlineError as error:
            return ToolOutput(f"{error.message} {error.advice}", error=True)
        return ToolOutput(f"Saved as memo {memo.id} ({memo.scope}).")

    async def retrieve_memos(self, arguments: Mapping[str, Any]) -> ToolOutput:
        """Carry out a ``retrieve_memos`` call (:data:`tierline.memory.memos.RETRIEVE_TOOL`)."""
        tags, query = arguments.get("tags", []), arguments.get("query", "")
        tags = [tags] if isinstance(tags, str) else tags
        if not isinstance(query, str) or not isinstance(tags, list | tuple):
            return ToolOutput("`tags` is a list of words, `query` is text.", error=True)
        wanted = [t for t in tags if isinstance(t, str)]
        pool = await self._pool("")
        found = rules.search(pool, query, wanted, limit=20)
        if not found:
            known = ", ".join(_tags(pool)[:40]) or "none"
            return ToolOutput(f"No memo fits. Tags in use: {known}.")
        lines: list[str] = []
        room = _ANSWER_CHARACTERS
        for memo in found:
            line = f"{memo.id} ({memo.scope}, {', '.join(memo.tags) or 'no tags'}): {memo.content}"
            room -= len(line)
            if room < 0 and lines:
                lines.append(f"... and {len(found) - len(lines)} more; ask with fewer words.")
                break
            lines.append(line)
        return ToolOutput("\n\n".join(lines))

    async def all(self) -> Sequence[Memo]:
        """Every memo of both scopes."""
        return await self._pool("")

    def relevant(self, prompt: str) -> list[RankedMemo]:
        """The memos that go with a prompt: at most five, none for fillers. Blocking. Never raises:
        a turn does not depend on memos.
        """
        try:
            pool = [memo for store in self._stores.values() for memo in store.all()]
        except StorageError as error:
            log.warning("Memos cannot be read: %s", error)
            return []
        return rules.relevant(prompt, pool)

    async def _pool(self, scope: str) -> Sequence[Memo]:
        stores = [s for name, s in self._stores.items() if scope in ("", name)]
        parts = [await asyncio.to_thread(store.all) for store in stores]
        return [memo for part in parts for memo in part]

    async def _find(self, identifier: str) -> Memo:
        for memo in await self._pool(""):
            if memo.id == identifier:
                return memo
        raise TierlineError(
            "not_found", f"There is no memo {identifier}.", "List the memos to see what is."
        )

    async def _write(self, checked: MemoDraft, source: str) -> Memo:
        content, _ = redact(checked.content)
        conversation = self._conversation
        memo = Memo(
            id=f"memo-{conversation.store.new_id()}",
            scope=checked.scope,
            content=content,
            tags=checked.tags,
            source=source,
            session_id=conversation.session_id,
        )
        record = {
            "kind": "save",
            "id": memo.id,
            "content": memo.content,
            "tags": list(memo.tags),
            "source": memo.source,
            "session_id": memo.session_id,
        }
        when = await self._append(memo.scope, record)
        return evolve(memo, created=when, changed=when)

    async def _append(self, scope: Scope, record: Mapping[str, Any]) -> str:
        when = self._conversation.store.timestamp()
        await asyncio.to_thread(self._stores[scope].append, {**record, "timestamp": when})
        self._bus.publish(p.MemosChanged())
        return when


def memo_items(found: Sequence[RankedMemo], count: Callable[[str], int]) -> tuple[Item, ...]:
    """Memos as items of a prompt's tail, the best first. The first one has the note about memos, so
    it is the last to leave if there is no room.
    """
    items: list[Item] = []
    for number, ranked in enumerate(found, start=1):
        text = rules.render_one(ranked.memo, number)
        if number == 1:
            text = f"{rules.NOTE}\n{text}"
        items.append(
            Item.of_text(
                f"memo:{ranked.memo.id}",
                Section.MEMOS,
                text,
                count(text),
                volatile=True,
                priority=41 - number,
                depends=(items[0].key,) if items else (),
                origin=f"memo of the {ranked.memo.scope}, {ranked.why}",
            )
        )
    return tuple(items)


def _info(memo: Memo) -> p.MemoInfo:
    return p.of(p.MemoInfo, memo, source="model" if memo.source == "model" else "user")


def _tags(memos: Sequence[Memo]) -> list[str]:
    """Tags in use, the most frequent first."""
    counts: dict[str, int] = {}
    for memo in memos:
        for tag in memo.tags:
            counts[tag] = counts.get(tag, 0) + 1
    return sorted(counts, key=lambda tag: (-counts[tag], tag))
