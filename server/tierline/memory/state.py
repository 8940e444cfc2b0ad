"""The memory: levels that a conversation fills turn by turn.

It is a function of the log alone: the same turns give the same levels, so it is not stored and can
be rebuilt at any time. Between two compressions the context only grows at its end, so that what the
provider has cached stays as it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from attrs import define, evolve, field, frozen

from tierline.context.blocks import Text
from tierline.history.extract import LineKind, digest, extractive_summary
from tierline.history.extract import render as extract
from tierline.history.ids import derived_id
from tierline.history.messages import Message
from tierline.memory import tasks
from tierline.memory.levels import Budgets, Level, LevelSummary
from tierline.memory.metrics import Compression, Metrics
from tierline.memory.situations import MemoryAction, SituationFacts, decide
from tierline.memory.tasks import Task
from tierline.memory.turns import Count, MemoryTurn
from tierline.memory.words import similarity

RECENCY, REFERENCES, RELEVANCE, EXPLICIT = 0.3, 0.2, 0.4, 0.1
"""Weights of the four parts."""


def recency(minutes: float) -> float:
    """``1 / (1 + minutes_since_created)``; 1 for what is new, and for a clock that went back."""
    return 1 / (1 + max(minutes, 0.0))


def references(later: int, total: int) -> float:
    """``times_mentioned_later / total_mentions``; 0 if it is never mentioned."""
    return min(max(later, 0) / total, 1.0) if total > 0 else 0.0


@frozen
class Score:
    """The four parts, each 0 to 1."""

    recency: float = 0.0
    references: float = 0.0
    relevance: float = 0.0
    """Similarity of the content to the current task, by words."""
    explicit: float = field(default=0.0)
    """1 if it was marked as important."""

    @property
    def total(self) -> float:
        """The weighted sum, 0 to 1."""
        return (
            RECENCY * self.recency
            + REFERENCES * self.references
            + RELEVANCE * self.relevance
            + EXPLICIT * self.explicit
        )


SUMMARY_TOKENS = 500
"""Longest summary of one task."""
_MIN_SUMMARY_LENGTH = 60
_MIN_SUMMARY = 12
_SHARE = 5
"""A summary aims at a fifth of its sources' tokens."""
_MERGED_SHARE = 2.5
_LONG_TASK = 24
"""Turns of a task after which its summary is extended instead of made anew."""
STANDS_OUT = 1.5
"""A turn that scores this many times the median stays word for word while others are compressed."""


@define
class VerbatimTurn:
    """A turn that is in the context word for word."""

    turn: MemoryTurn
    task: int
    cleared: bool = False
    """True if its tool calls and results have been dropped."""
    covered: bool = False
    """True if a summary covers it already; it is kept only because it is the newest turn."""

    @property
    def working(self) -> int:
        """Tokens in working memory."""
        return self.turn.talk_tokens

    @property
    def volatile(self) -> int:
        """Tokens in volatile memory."""
        return 0 if self.cleared else self.turn.tool_tokens


@define
class Memory:
    """The levels after some turns. ``add`` takes the next turn; ``copy`` branches off."""

    budgets: Budgets
    count: Count
    turns: dict[str, MemoryTurn] = field(factory=dict)
    """Every turn so far, in order."""
    held: list[VerbatimTurn] = field(factory=list)
    working: dict[int, LevelSummary] = field(factory=dict)
    """Summaries of what open tasks have compressed, by task."""
    session: list[LevelSummary] = field(factory=list)
    archived: list[LevelSummary] = field(factory=list)
    """Summaries that left the context; they can be retrieved."""
    permanent: tuple[str, ...] = ()
    permanent_sources: tuple[str, ...] = ()
    task: Task = field(factory=Task)
    number: int = -1
    """Number of the current task."""
    members: dict[int, list[str]] = field(factory=dict)
    """The turns of each task."""
    metrics: Metrics = field(factory=Metrics)
    mentions: dict[str, list[int]] = field(factory=dict)
    """For each name, the indexes of the turns in which it occurs."""
    places: dict[str, int] = field(factory=dict)
    reasons: list[str] = field(factory=list)
    """Why each task began."""
    now: float = 0.0
    told: dict[str, str] = field(factory=dict)
    """Texts that a model wrote for summaries, by their ids. They replace the extracts at the next
    compression, which changes sent bytes anyway.
    """

    def copy(self) -> Memory:
        """An independent copy."""
        return evolve(
            self,
            turns=dict(self.turns),
            held=[evolve(h) for h in self.held],
            working=dict(self.working),
            session=list(self.session),
            archived=list(self.archived),
            members={task: list(turns) for task, turns in self.members.items()},
            metrics=self.metrics.copy(),
            mentions={name: list(places) for name, places in self.mentions.items()},
            places=dict(self.places),
            reasons=list(self.reasons),
            told=dict(self.told),
        )

    # --- levels ----------------------------------------------------------------------------------

    def fill(self, level: Level) -> int:
        """Tokens that a level holds."""
        if level is Level.PERMANENT:
            return self._count_text("\n".join(self.permanent)) if self.permanent else 0
        if level is Level.SESSION:
            return sum(summary.tokens for summary in self.session)
        if level is Level.WORKING:
            return sum(h.working for h in self.held) + sum(s.tokens for s in self.working.values())
        return sum(h.volatile for h in self.held)

    @property
    def used(self) -> int:
        """Tokens in all levels."""
        return sum(self.fill(level) for level in Level)

    @property
    def waiting(self) -> frozenset[str]:
        """Rules and important texts that go to permanent memory when their turns are compressed."""
        said = {line for held in self.held for line in _lasting(held.turn)}
        return frozenset(said.difference(self.permanent))

    @property
    def in_full(self) -> frozenset[str]:
        """The turns that are in the context word for word."""
        return frozenset(h.turn.id for h in self.held)

    # --- the agent loop --------------------------------------------------------------------------

    def add(self, turn: MemoryTurn) -> None:
        """Add the next turn. Only its prompt decides what is compressed before it, so that all
        requests of the turn begin with the same bytes.
        """
        self.now = max(self.now, turn.when)
        changed = tasks.change(self.task, turn.prompt, turn.when)
        if not changed.new and tasks.finished(turn.prompt):
            self.task = evolve(self.task, finished=True)
        facts = SituationFacts(
            fill=max(
                (self.used + turn.prompt_tokens) / self.budgets.total,
                (self.fill(Level.WORKING) + turn.prompt_tokens) / self.budgets.working,
            ),
            trigger=self.budgets.trigger,
            new_task=changed.new and self.number >= 0,
        )
        due = decide(facts)
        if MemoryAction.COMPRESS_TASK in due:
            self.compress_task(turn)
        if changed.new:
            self.number += 1
            self.task = Task()
            self.members[self.number] = []
            self.reasons.append(changed.reason)
        if MemoryAction.COMPRESS_OLDEST in due:
            self.make_room(turn)
        self.turns[turn.id] = turn
        self.places[turn.id] = len(self.places)
        for name in turn.names:
            self.mentions.setdefault(name, []).append(self.places[turn.id])
        self.members[self.number].append(turn.id)
        self.held.append(VerbatimTurn(turn, self.number))
        self.task = self.task.with_turn(turn.prompt, turn.text[:4000], turn.files, turn.when)

    def compress_task(self, coming: MemoryTurn) -> None:
        """Finish the task: one summary of it goes to session memory, its tool output is dropped.
        Its last turn stays word for word until the next compression, as the end of a task is seldom
        certain.
        """
        self._adopt()
        gone = [h for h in self.held if h.task == self.number]
        for held in self.held:
            held.cleared = True
        if not gone:
            return
        self._promote(self.number)
        newest = gone[-1]
        newest.covered = True
        self.held = [h for h in self.held if h is newest or h.task != self.number]
        self.held = [h for h in self.held if not (h.covered and h is not newest)]
        self._permanent(gone)
        self._session_room(coming)

    def make_room(self, coming: MemoryTurn, *, force: bool = False) -> None:
        """If memory is over the trigger, drop volatile first, oldest and least important first,
        then summarise the oldest turns of working memory.
        """
        self._adopt()
        self._drop_volatile(coming, force=force)
        self.held = [h for h in self.held if not h.covered or h is self.held[-1]]
        self._compress_oldest(coming, force=force)
        self._session_room(coming)

    def score(self, turn: MemoryTurn, now: float) -> Score:
        """How important a turn is to the current task."""
        place = self.places.get(turn.id, len(self.places))
        later = total = 0
        for name in turn.names:
            mentioned = self.mentions.get(name, ())
            total += len(mentioned)
            later += len(mentioned) - bisect_right(mentioned, place)
        return Score(
            recency=recency(now - turn.when),
            references=references(later, total),
            relevance=similarity(dict.fromkeys(turn.terms, 1.0), self.task.bag),
            explicit=float(turn.important),
        )

    # --- how -------------------------------------------------------------------------------------

    def _adopt(self) -> None:
        """Replace extracts of finished tasks by the texts that a model wrote for them."""
        self.session = [
            evolve(s, text=self.told[s.id], tokens=self._count_text(self.told[s.id]))
            if s.id in self.told
            else s
            for s in self.session
        ]

    def _drop_volatile(self, coming: MemoryTurn, *, force: bool) -> None:
        room = self.budgets.target * self.budgets.total
        droppable = [h for h in self.held[: -self.budgets.verbatim_turns] if h.volatile]
        droppable.sort(key=lambda h: (not h.turn.dead_end, self.score(h.turn, coming.when).total))
        for held in droppable:
            if not force and self.used + coming.prompt_tokens <= room:
                return
            held.cleared = True

    def _compress_oldest(self, coming: MemoryTurn, *, force: bool) -> None:
        room = 0 if force else int(self.budgets.target * self.budgets.working)
        candidates = self.held[: -self.budgets.verbatim_turns]
        aged = [
            h
            for h in candidates
            if force or coming.when - h.turn.when >= self.budgets.working_minutes
        ]
        young = [h for h in candidates if h not in aged]
        free = self.fill(Level.WORKING) + coming.prompt_tokens - room
        over = self.fill(Level.WORKING) + coming.prompt_tokens > self.budgets.working
        chosen: list[VerbatimTurn] = []
        spared: list[VerbatimTurn] = []
        quota = 0.25 * self.budgets.working
        scores = {h.turn.id: self.score(h.turn, coming.when).total for h in candidates}
        middle = sorted(scores.values())[len(scores) // 2] if scores else 0.0
        for held in (*aged, *(young if over or not aged else ())):
            if free <= 0:
                break
            valuable = scores[held.turn.id] >= STANDS_OUT * middle > 0
            if valuable and not force and held.working <= quota:
                spared.append(held)
                quota -= held.working
                continue
            chosen.append(held)
            free -= held.working
        if free > 0 and over:
            chosen += [h for h in spared if h not in chosen]
        if not chosen:
            return
        self.held = [h for h in self.held if h not in chosen]
        self._permanent(chosen)
        for task in dict.fromkeys(h.task for h in chosen):
            gone = {h.turn.id for h in chosen if h.task == task}
            known = self.working.get(task)
            covers = [g for g in self.members[task] if g in gone or (known and g in known.groups)]
            if task == self.number:
                self.working[task] = self._summarise(task, covers, Level.WORKING, known)
            else:
                self._absorb(task, covers)

    def _absorb(self, task: int, groups: Sequence[str]) -> None:
        """Make a finished task's summary anew with its turns that were still in full."""
        made = next((s for s in self.session if set(groups) & set(s.groups)), None)
        if made is None or not set(groups) <= set(made.groups):
            self._promote(task)

    def _promote(self, task: int) -> None:
        """Make one summary of a whole task, from its turns and not from earlier summaries."""
        groups = self.members.get(task, [])
        before = self.working.pop(task, None)
        self.session = [s for s in self.session if not set(s.groups) <= set(groups)]
        if groups:
            self.session.append(self._summarise(task, groups, Level.SESSION, before))
            self.session.sort(key=lambda s: s.begun)

    def _summarise(
        self, task: int, groups: Sequence[str], level: Level, before: LevelSummary | None
    ) -> LevelSummary:
        """Summarise the turns themselves; for a long task, its summary so far and the new turns."""
        turns = [self.turns[g] for g in groups]
        messages = [m for t in turns for m in t.messages]
        sources = tuple(m.id for m in messages)
        original = sum(t.tokens for t in turns)
        if before is not None and len(before.groups) > _LONG_TASK:
            known = set(before.groups)
            new = [m for t in turns if t.id not in known for m in t.messages]
            messages = [_as_message(before), *new]
        budget = max(_MIN_SUMMARY_LENGTH, min(SUMMARY_TOKENS, original // _SHARE))
        budget = min(budget, max(original // 2, _MIN_SUMMARY))
        found = digest(messages, finished=level is Level.SESSION)
        said = tuple(
            line for line in found.lines if line.kind is not LineKind.RULE
        )  # it is in permanent memory
        text = extract(evolve(found, lines=said), budget_tokens=budget, count=self._count_text)
        title = " ".join(turns[0].prompt.split())[:80]
        text = text or f"Asked: {title}"
        summary = LevelSummary(
            id=f"task-{task + 1}-{derived_id(*groups, length=6)}",
            level=level,
            text=text,
            tokens=self._count_text(text),
            sources=sources,
            groups=tuple(groups),
            original_tokens=original,
            title=title,
            begun=turns[0].when,
            ended=turns[-1].when,
        )
        self.metrics.record(Compression(original, summary.tokens, self.now, summary.id))
        return summary

    def _session_room(self, coming: MemoryTurn) -> None:
        """If session memory is over its trigger, replace the oldest summaries by a shorter one."""
        budget = self.budgets.session
        if self.fill(Level.SESSION) <= self.budgets.trigger * budget:
            return
        over = self.fill(Level.SESSION) > budget
        old = [
            s for s in self.session if over or coming.when - s.ended >= self.budgets.session_minutes
        ]
        chosen: list[LevelSummary] = []
        left = self.fill(Level.SESSION)
        for summary in old:
            if left <= self.budgets.target * budget:
                break
            chosen.append(summary)
            left -= summary.tokens
        if not chosen:
            return
        merged = self._merge(chosen)
        self.archived += chosen
        self.session = sorted(
            [merged, *(s for s in self.session if s not in chosen)], key=lambda s: s.begun
        )

    def _merge(self, parts: Sequence[LevelSummary]) -> LevelSummary:
        original = sum(s.tokens for s in parts)
        budget = max(_MIN_SUMMARY_LENGTH, min(SUMMARY_TOKENS, int(original / _MERGED_SHARE)))
        messages = [_as_message(s) for s in parts]
        text = extractive_summary(messages, budget_tokens=budget, count=self._count_text)
        groups = tuple(g for s in parts for g in s.groups)
        merged = LevelSummary(
            id=f"tasks-{derived_id(*groups, length=6)}",
            level=Level.SESSION,
            text=text or parts[-1].text,
            tokens=self._count_text(text or parts[-1].text),
            sources=tuple(m for s in parts for m in s.sources),
            groups=groups,
            original_tokens=original,
            title=f"{len(parts)} earlier tasks",
            begun=parts[0].begun,
            ended=parts[-1].ended,
        )
        self.metrics.record(Compression(original, merged.tokens, self.now, merged.id))
        return merged

    def _permanent(self, gone: Sequence[VerbatimTurn]) -> None:
        """Move standing rules and important texts of compressed turns to permanent memory."""
        lines = dict(zip(self.permanent, self.permanent_sources, strict=True))
        for held in gone:
            turn = held.turn
            lines |= dict.fromkeys(_lasting(turn), turn.messages[0].id)
        order = list(lines)
        while order and self._count_text("\n".join(order)) > self.budgets.permanent:
            order.pop(0)  # the oldest: a later rule often replaces an earlier one
        self.permanent = tuple(order)
        self.permanent_sources = tuple(lines[line] for line in order)

    def _count_text(self, text: str) -> int:
        return self.count(text)  # type: ignore[arg-type]


def _lasting(turn: MemoryTurn) -> list[str]:
    """Standing rules, and the whole prompt if it is important."""
    kept = (*turn.rules, *((turn.prompt.strip(),) if turn.important else ()))
    return [line for line in kept if line]


def _as_message(summary: LevelSummary) -> Message:
    """A summary as a message, whose lines the extraction reads back under their headings."""
    return Message(
        id=summary.id,
        session_id="",
        group_id=summary.id,
        timestamp="",
        role="user",
        content=(Text(summary.text),),
        meta={"summary": True},
    )
