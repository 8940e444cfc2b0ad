"""Memory levels as a service: the conversation as the ``levels`` strategy sends it, and figures.

The memory is a function of the log, so it is not stored. The user's command to compress is an event
in the log.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from attrs import define, field, frozen

from tierline import protocol as p
from tierline.config import MemoryConfig
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.items import Item, Section
from tierline.history import actions
from tierline.history.isolation import EXTERNAL, isolate
from tierline.history.messages import HistoryRole, Message, Status
from tierline.history.selection import Strategy
from tierline.memory import view as views
from tierline.memory.levels import Budgets, Level, LevelSummary
from tierline.memory.recall import RecalledPiece, of_summarised, recall, render
from tierline.memory.state import Memory
from tierline.memory.turns import TurnCache
from tierline.memory.view import CompressCommand, MemoryBuilder, ModelSummary
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus
from tierline.session.models import ModelService
from tierline.session.retrieval.semantic import SemanticRanking
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn, TurnQueue
from tierline.store.group_search import GroupSearch

SHARE_OF_WINDOW = 0.5
"""The levels shrink so that they take at most this share of the model's input."""
RECALLED_SHARE = 0.25
"""Retrieved pieces take at most this share of the levels' total."""

LevelName = Literal["permanent", "session", "working", "volatile"]


@frozen
class MemoryView:
    """The memory's part in one request."""

    messages: tuple[Message, ...] | None
    """The conversation as levels; None if it is sent as it is."""
    recalled: tuple[RecalledPiece, ...]
    room: int
    """Tokens for retrieved pieces."""

    def items(self, count: Callable[[Any], int]) -> tuple[Item, ...]:
        """The retrieved pieces as items of the tail, as far as there is room."""
        items: list[Item] = []
        left = self.room
        for place, piece in enumerate(self.recalled):
            text = render(piece)
            tokens = count(text)
            if tokens > left:
                continue
            left -= tokens
            items.append(
                Item.of_text(
                    f"recall:{piece.name}",
                    Section.RETRIEVED,
                    text,
                    tokens,
                    volatile=True,
                    priority=45 - place,
                    origin=f"recalled {piece.kind} ({piece.why})",
                )
            )
        return tuple(items)


@define(eq=False, repr=False, slots=False)
class MemoryService:
    """Keeps the memory of the current session. Its work is done in threads, one at a time."""

    _bus: EventBus
    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _meaning: SemanticRanking
    _keeper: MemoryBuilder | None = field(default=None, init=False)
    _key: tuple[Any, ...] = field(default=(), init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)
    _turns: TurnCache = field(factory=TurnCache, init=False)
    _search: GroupSearch = field(factory=GroupSearch, init=False)
    retrieved: tuple[str, ...] = field(default=(), init=False)
    """Names of the pieces that went with the last prompt."""

    async def view(
        self, messages: Sequence[Message], turn: Turn | None, max_input_tokens: int
    ) -> MemoryView:
        """The conversation as levels. Pieces are retrieved only for a turn: a preview has no
        prompt.
        """
        found = await asyncio.to_thread(
            self._work, list(messages), turn.search_text if turn else "", max_input_tokens
        )
        if turn is not None and turn is self._queue.current:
            self.retrieved = tuple(piece.name for piece in found.recalled)
        return found

    async def recalled(
        self, visible: Sequence[Message], sent: Sequence[Message], turn: Turn
    ) -> MemoryView | None:
        """Pieces of summarised turns that a prompt refers to. ``sent`` is the conversation as it is
        sent. None if no turn is summarised.
        """
        shown = {message.group_id for message in sent if not message.meta.get("summary")}
        if all(m.group_id in shown for m in visible if m.role != "system"):
            return None
        found = await asyncio.to_thread(self._summarised, list(visible), shown, turn.search_text)
        if turn is self._queue.current:
            self.retrieved = tuple(piece.name for piece in found.recalled)
        return found

    async def stats(self, _params: p.NoParams) -> p.MemoryStats:
        """Levels, summaries with their sources, and how well compression works."""
        return self._shown(await self._now())

    async def untold(self) -> list[tuple[LevelSummary, tuple[Message, ...]]]:
        """The summaries of finished tasks that are still extracts, each with its turns."""
        memory = await self._now()
        return [
            (summary, tuple(m for g in summary.groups for m in memory.turns[g].messages))
            for summary in memory.session
            if summary.id.startswith("task-") and summary.id not in memory.told
        ]

    async def _now(self) -> Memory:
        models = self._models
        messages = isolate(self._conversation.context(), models.strategy, models.maker)
        window = models.facts().max_input_tokens
        return await asyncio.to_thread(self._memory, list(messages), window)

    async def compress(self, params: p.NoParams) -> p.MemoryStats:
        """Compress working memory now, whatever its age.

        It is an event in the log; the originals stay there.

        Raises:
            TierlineError: ``storage``: it could not be written; nothing was changed.
        """
        from tierline.errors import TierlineError

        self._queue.require_quiet()
        action = actions.compress(self._conversation.timeline())
        if problem := await self._conversation.act(action):
            raise TierlineError("storage", problem, "Nothing was changed.")
        self._bus.context_changed()
        return await self.stats(params)

    async def add(self, role: str, text: str, *, important: bool = False) -> str:
        """Append a message without asking a model. Returns its id.

        A prompt or a system message begins a turn, a reply or a tool's output belongs to the newest
        one. Tool output is written as a call with its result, as every provider wants them.
        """
        store = self._conversation.store
        groups = self._conversation.groups()
        group = groups[-1] if groups and role in ("assistant", "tool") else ""
        facts: dict[str, Any] = {"meta": {"important": True}} if important else {}
        strategy = self._models.strategy
        if role == "tool":
            call = f"call_{store.new_id().replace('-', '_')}"
            use = (ToolUse(call, EXTERNAL, {}),)
            asked = store.make(
                "assistant", use, group_id=group, status=Status.TOOL_CALL, strategy=strategy
            )
            result = (ToolResult(call, (Text(text),)),)
            answer = store.make("tool", result, group_id=asked.group_id, strategy=strategy, **facts)
            made = [asked, answer]
        else:
            made = [store.make(cast(HistoryRole, role), text, group_id=group, **facts)]
        stored = await asyncio.to_thread(store.append_all, made, durable=True)
        return stored[-1].id

    def close(self) -> None:
        """Free the search table."""
        self._search.close()

    def _work(self, messages: list[Message], prompt: str, window: int) -> MemoryView:
        memory = self._memory(messages, window)
        pieces: tuple[RecalledPiece, ...] = ()
        if prompt.strip():
            pieces = recall(
                memory,
                prompt,
                search=self._search.over(_before_the_prompt(messages)),
                semantic=self._meaning.rank(prompt, messages),
                result=_last_result(messages),
            )
        else:
            self._meaning.preload(messages)
        system = [m for m in messages if m.role == "system"]
        room = int(memory.budgets.total * RECALLED_SHARE)
        return MemoryView(views.messages(memory, system), pieces, room)

    def _summarised(self, messages: list[Message], shown: set[str], prompt: str) -> MemoryView:
        budgets = budgets_of(self._preferences.settings.memory)
        room = int(budgets.total * RECALLED_SHARE)
        if not prompt.strip():
            return MemoryView(None, (), room)
        talk = [message for message in messages if message.role != "system"]
        count = self._models.counter().count
        with self._lock:
            turns = self._turns.turns(talk, count)
        pieces = of_summarised(
            turns,
            shown,
            prompt,
            Memory(budgets, count),
            search=self._search.over([m for m in talk if m.group_id not in shown]),
            semantic=self._meaning.rank(prompt, talk),
            result=_last_result(messages),
        )
        return MemoryView(None, pieces, room)

    def _memory(self, messages: list[Message], window: int) -> Memory:
        facts = self._models.facts()
        timeline = self._conversation.timeline()
        forced = [CompressCommand(group) for group in timeline.compressed]
        told = [ModelSummary(*one) for one in timeline.told]
        budgets = budgets_of(self._preferences.settings.memory).within(
            int(window * SHARE_OF_WINDOW)
        )
        key = (self._conversation.session_id, budgets, facts.name)
        with self._lock:
            if self._keeper is None or key != self._key:
                counter = self._models.counter()
                self._keeper, self._key = MemoryBuilder(budgets, counter.count), key
            return self._keeper.memory(messages, forced, told)

    def _shown(self, memory: Memory) -> p.MemoryStats:
        figures = views.stats(memory, self.retrieved, time.time() / 60)
        live = [(s, False) for s in (*memory.session, *memory.working.values())]
        summaries = sorted(
            [*live, *((s, True) for s in memory.archived)], key=lambda pair: pair[0].begun
        )
        return p.of(
            p.MemoryStats,
            figures,
            active=self._conversation.strategy == Strategy.LEVELS,
            levels=[
                p.MemoryLevel(_name(level), figures.fill[level], figures.budget[level])
                for level in Level
            ],
            summaries=[_summary(s, archived) for s, archived in summaries],
            ratio=round(figures.ratio, 2),
            last_compression_minutes=figures.minutes_since_compression,
            lines=figures.lines(),
        )


def budgets_of(settings: MemoryConfig) -> Budgets:
    """The memory's budgets from the settings."""
    return Budgets(
        permanent=settings.permanent_tokens,
        session=settings.session_tokens,
        working=settings.working_tokens,
        total=settings.total_tokens,
        session_minutes=settings.session_minutes,
        working_minutes=settings.working_minutes,
        trigger_percent=settings.trigger_percent,
    )


def _before_the_prompt(messages: Sequence[Message]) -> list[Message]:
    """The turns before the newest, whose own prompt would rank first."""
    newest = messages[-1].group_id if messages else ""
    return [message for message in messages if message.group_id != newest]


def _last_result(messages: Sequence[Message]) -> str:
    """The newest tool output of the running turn: its errors may be repetitions."""
    for message in reversed(messages):
        results = [b for b in message.content if isinstance(b, ToolResult)]
        if results:
            return "\n".join(b.text for r in results for b in r.content if isinstance(b, Text))
        if message.role == "user":
            return ""
    return ""


def _name(level: Level) -> LevelName:
    return cast(LevelName, level.name.lower())


def _summary(summary: LevelSummary, archived: bool) -> p.MemorySummaryInfo:
    return p.of(p.MemorySummaryInfo, summary, level=_name(summary.level), archived=archived)
