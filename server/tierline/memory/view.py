"""The memory as it is sent: messages for the conversation, and pieces for the prompt's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from tierline.context.blocks import Text
from tierline.history.messages import Message
from tierline.memory.levels import Budgets, Level, LevelSummary
from tierline.memory.metrics import MemoryReport
from tierline.memory.state import Memory
from tierline.memory.turns import Count, MemoryTurn, TurnCache, spoken_only

NOTE = (
    "Parts of this conversation were shortened to save room. What follows in brackets stands for "
    "them; the newest turns are word for word."
)


@frozen
class CompressCommand:
    """The user's command to compress now, given after the turn ``after``."""

    after: str


def messages(memory: Memory, system: Sequence[Message] = ()) -> tuple[Message, ...]:
    """The conversation: standing rules, summaries in the order of what they stand for, the newest
    turns word for word. The same memory gives the same bytes.
    """
    made: list[Message] = list(system)
    shown = {m.id for held in memory.held for m in held.turn.messages}
    lasting = {
        line: source
        for line, source in zip(memory.permanent, memory.permanent_sources, strict=True)
        if source not in shown
    }
    if lasting:
        body = "\n".join(f"- {line}" for line in lasting)
        made.append(_note("permanent", f"[Standing rules]\n{body}", tuple(lasting.values())))
    summaries = sorted([*memory.session, *memory.working.values()], key=lambda s: s.begun)
    if summaries:
        made.append(_note("note", NOTE, ()))
    made += [_note(s.id, f"[{_heading(s)}]\n{s.text}", s.sources) for s in summaries]
    for held in memory.held:
        turn = held.turn.messages
        made += [m for m in (spoken_only(turn) if held.cleared else turn) if m.role != "system"]
    return tuple(made)


def stats(memory: Memory, retrieved: Sequence[str] = (), now: float = 0.0) -> MemoryReport:
    """Figures for ``tierline stats``. ``now`` in minutes since 1970; 0 leaves ages out."""
    last = memory.metrics.compressions[-1] if memory.metrics.compressions else None
    budgets = memory.budgets
    fill = {level: memory.fill(level) for level in Level}
    return MemoryReport(
        used=sum(fill.values()),
        total=budgets.total,
        messages=sum(len(turn.messages) for turn in memory.turns.values()),
        summaries=len(memory.session) + len(memory.working) + len(memory.archived),
        ratio=memory.metrics.average_ratio,
        original_tokens=memory.metrics.original_tokens,
        compressed_tokens=memory.metrics.compressed_tokens,
        fill=fill,
        budget={level: budgets.of(level) for level in Level},
        minutes_since_compression=max(now - last.at, 0.0) if last and now else None,
        retrieved=tuple(retrieved),
        tasks=len(memory.members),
        task=memory.task.title,
        warning=memory.metrics.warning,
        waiting=len(memory.waiting),
    )


@frozen
class ModelSummary:
    """A text that a model wrote for a summary, after the turn ``after``."""

    after: str
    summary: str
    text: str


@define
class MemoryBuilder:
    """Keeps the memory of one conversation up to date, turn by turn.

    A conversation that does not begin with the turns known so far, as after an undo or a change of
    branch, is read anew. One instance per session; not thread-safe.
    """

    budgets: Budgets
    count: Count
    _done: list[str] = field(factory=list)
    _memory: Memory | None = None
    _looked: TurnCache = field(factory=TurnCache)

    def memory(
        self,
        conversation: Sequence[Message],
        commands: Sequence[CompressCommand] = (),
        told: Sequence[ModelSummary] = (),
    ) -> Memory:
        """The memory after a conversation, whose last turn may still be growing."""
        talk = [m for m in conversation if m.role != "system"]
        turns = self._looked.turns(talk, self.count)
        forced = {command.after for command in commands}
        words: dict[str, dict[str, str]] = {}
        for one in told:
            words.setdefault(one.after, {})[one.summary] = one.text
        keys = [
            f"{turn.sha256}:{turn.id in forced}:{sorted(words.get(turn.id, ()))}" for turn in turns
        ]
        settled = keys[:-1]
        if self._memory is None or settled[: len(self._done)] != self._done:
            self._memory, self._done = Memory(self.budgets, self.count), []
        for turn in turns[len(self._done) : len(settled)]:
            _step(self._memory, turn, forced, words)
        self._done = settled
        memory = self._memory.copy()
        if turns:
            _step(memory, turns[-1], forced, words)
        return memory


def _step(
    memory: Memory, turn: MemoryTurn, forced: set[str], words: Mapping[str, dict[str, str]]
) -> None:
    memory.add(turn)
    if turn.id in forced:
        memory.make_room(turn, force=True)
    memory.told |= words.get(turn.id, {})


def _heading(summary: LevelSummary) -> str:
    if summary.level is Level.WORKING:
        return "Earlier in this task"
    return f"Finished: {summary.title}" if summary.title else "Finished task"


def _note(name: str, text: str, sources: Sequence[str]) -> Message:
    return Message(
        id=f"memory:{name}",
        session_id="",
        group_id=f"memory:{name}",
        timestamp="",
        role="user",
        content=(Text(text),),
        meta={"summary": True, "sources": list(sources)},
    )
