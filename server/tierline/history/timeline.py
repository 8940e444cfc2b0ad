"""Timeline: folding a session's records into its present state.

The log is append-only. Undo, remove, drop, restore, summaries, branches and settings are events in
it; what is shown and sent follows from replaying them (event sourcing). Nothing is hidden without a
reason that is still in force: when a compaction's covered groups are no longer all there, its
summary ceases to stand for them and the originals come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from attrs import define, field, frozen

from tierline.context.blocks import Text
from tierline.history import usage
from tierline.history.events import EventKind, LogEvent
from tierline.history.groups import Group, groups, link_results, with_groups
from tierline.history.messages import Message, Status
from tierline.history.usage import TurnUsage

MAIN = "main"


@frozen
class Summary:
    """A compaction: ``text`` stands for the groups that it covers; empty text for a truncation."""

    id: str
    timestamp: str
    text: str
    covers: frozenset[str]
    case: str = "summarize"
    keeps: frozenset[str] = frozenset()
    """Ids of messages in the covered groups that are sent all the same."""


@frozen
class Branch:
    """A named line of the conversation. ``at`` is the id of the last inherited message."""

    id: str
    parent: str = ""
    at: str = ""
    head: str = ""
    """Id of the newest visible message; empty when there is none."""


@define
class _Line:
    """What differs from branch to branch while records are replayed."""

    id: str
    parent: str = ""
    at: str = ""
    messages: list[Message] = field(factory=list)
    hidden: dict[str, str] = field(factory=dict)
    """Group id to the kind of event that hides it."""
    summaries: list[Summary] = field(factory=list)
    states: list[tuple[str, str, str]] = field(factory=list)
    """(group that it was derived from, text, message that ended with it), oldest first."""
    compressed: list[str] = field(factory=list)
    """Groups after which the memory levels were compressed by hand."""
    told: list[tuple[str, str, str]] = field(factory=list)
    """(group after which it came, id of a summary of the memory levels, a model's words for it)."""


@frozen
class Timeline:
    """The state of one session, seen from its current branch."""

    session_id: str
    branch: str
    branches: tuple[Branch, ...]
    messages: tuple[Message, ...]
    """All messages of this branch by group; hidden ones have the status ``dropped``."""
    summaries: tuple[Summary, ...] = ()
    """Compactions in force, oldest first."""
    title: str = ""
    state: str = ""
    """The newest STATE block whose turn is still there."""
    states: Mapping[str, str] = field(factory=dict)
    """Message id to the STATE block that the message ended with."""
    usages: Mapping[str, TurnUsage] = field(factory=dict)
    """Message id to its turn's usage; for a turn without a reply, the prompt's id."""
    scratchpad: str = ""
    window: int | None = None
    strategy: str = ""
    files: tuple[Any, ...] = ()
    urls: tuple[str, ...] = ()
    edits: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    """Id of each proposed edit of the session, oldest first, to its data."""
    deleted: bool = False
    archived: bool = False
    duplicates: int = 0
    """Records that repeated an id; the first one counts."""
    hidden: Mapping[str, str] = field(factory=dict)
    """Group id to what hides it: undo, remove or drop."""
    compressed: tuple[str, ...] = ()
    """Groups after which the memory levels were compressed by hand."""
    told: tuple[tuple[str, str, str], ...] = ()
    """(group after which it came, id of a summary of the memory levels, a model's words for it)."""

    def visible(self) -> tuple[Message, ...]:
        """The messages that a client shows: all on the branch that are not hidden."""
        return tuple(m for m in self.messages if m.status is not Status.DROPPED)

    def groups(self) -> tuple[Group, ...]:
        """The visible turns, oldest first."""
        return groups(self.visible())

    def context(self) -> tuple[Message, ...]:
        """What may be sent: visible messages, with summaries in the place of what they cover."""
        covered: set[str] = set()
        kept: set[str] = set()
        for summary in self.summaries:
            covered |= summary.covers
            kept |= summary.keeps
        result: list[Message] = []
        pending = list(self.summaries)
        for message in self.visible():
            if message.group_id not in covered or message.role == "system":
                result.append(message)
                continue
            due = [s for s in pending if message.group_id in s.covers]
            pending = [s for s in pending if s not in due]
            result += [summary_message(self.session_id, s) for s in due if s.text]
            if message.id in kept:
                result.append(message)
        return tuple(result)

    def message(self, identifier: str) -> Message | None:
        """A message on this branch by id, hidden or not."""
        return next((m for m in self.messages if m.id == identifier), None)

    def undo_groups(self, *, to: str = "", count: int = 1) -> tuple[str, ...]:
        """The groups that an undo would take back: all after ``to``, or the newest ``count``.

        A prompt that is still queued is the newest group, so it goes first and the turn that runs
        stays whole. Empty if there is nothing to undo or ``to`` is not a visible group.
        """
        order = [g.id for g in self.groups()]
        if to:
            return tuple(order[order.index(to) + 1 :]) if to in order else ()
        return tuple(order[-count:]) if count > 0 else ()


def summary_message(session: str, summary: Summary) -> Message:
    """A summary as a message of the conversation."""
    text = f"[History Summary]\n{summary.text}"
    return Message(
        id=summary.id,
        session_id=session,
        group_id=f"summary:{summary.id}",
        timestamp=summary.timestamp,
        role="user",
        content=(Text(text),),
        meta={"summary": True, "covers": sorted(summary.covers)},
    )


def timeline(
    entries: Iterable[Message | LogEvent], *, session_id: str = "", branch: str = ""
) -> Timeline:
    """Replay a session's entries in log order.

    Entries of other sessions are passed over when ``session_id`` is given. ``branch`` looks at a
    branch other than the current one. Total: events that make no sense change nothing.
    """
    replay = _Replay()
    for entry in entries:
        if not session_id or entry.session_id == session_id:
            replay.add(entry)
    return replay.result(session_id, branch)


class _Replay:
    def __init__(self) -> None:
        self.lines: dict[str, _Line] = {MAIN: _Line(MAIN)}
        self.current = MAIN
        self.seen: set[str] = set()
        self.removed: set[str] = set()
        self.duplicates = 0
        self.session = ""
        self.title = ""
        self.scratchpad = ""
        self.window: int | None = None
        self.strategy = ""
        self.files: tuple[Any, ...] = ()
        self.urls: tuple[str, ...] = ()
        self.edits: dict[str, dict[str, Any]] = {}
        self.deleted = False
        self.archived = False
        self.status: dict[str, Status] = {}
        self.newest: dict[str, str] = {}
        self.usages: dict[str, TurnUsage] = {}

    def add(self, entry: Message | LogEvent) -> None:
        self.session = self.session or entry.session_id
        if entry.id in self.seen:
            self.duplicates += 1
            return
        self.seen.add(entry.id)
        line = self.lines.get(entry.branch_id)
        if line is None:
            line = self.lines[entry.branch_id] = _Line(entry.branch_id)
        if isinstance(entry, Message):
            line.messages.append(entry)
            self.deleted = self.archived = False
            if entry.role in ("user", "assistant"):
                self.newest[entry.group_id] = entry.id
        else:
            self._event(entry, line)

    def _event(self, event: LogEvent, line: _Line) -> None:  # noqa: PLR0912 - one per kind
        data = event.data
        match event.kind:
            case EventKind.UNDO | EventKind.DROP:
                line.hidden.update(dict.fromkeys(self._targets(data, line), event.kind))
            case EventKind.REMOVE:
                self.removed.update(_strings(data.get("groups")))
            case EventKind.RESTORE:
                for group in _strings(data.get("groups")):
                    line.hidden.pop(group, None)
            case EventKind.SUMMARY:
                covers = frozenset(_strings(data.get("covers")))
                case, text = _word(data, "case") or "summarize", _word(data, "text")
                keeps = frozenset(_strings(data.get("keeps")))
                line.summaries.append(Summary(event.id, event.timestamp, text, covers, case, keeps))
            case EventKind.UNSUMMARISE:
                gone = set(_strings(data.get("summaries")))
                line.summaries = [s for s in line.summaries if s.id not in gone]
            case EventKind.STATE:
                line.states.append(
                    (_word(data, "group"), _word(data, "text"), _word(data, "message"))
                )
            case EventKind.STATUS:
                word = _word(data, "status")
                if word in set(Status):
                    self.status[_word(data, "id")] = Status(word)
            case EventKind.FORK:
                self._fork(data, line)
            case EventKind.SWITCH:
                if _word(data, "branch") in self.lines:
                    self.current = _word(data, "branch")
            case EventKind.REFLECTION:
                # Earlier versions named only the turn: the newest of its messages ended with the
                # block.
                usage.add(self.usages, data, self.newest.get(_word(data, "group"), ""))
            case EventKind.COMPRESS:
                line.compressed.append(_word(data, "after"))
            case EventKind.LEVEL_SUMMARY:
                line.told.append(
                    (_word(data, "after"), _word(data, "summary"), _word(data, "text"))
                )
            case _:
                self._setting(event)

    def _setting(self, event: LogEvent) -> None:
        data = event.data
        match event.kind:
            case EventKind.SESSION | EventKind.RENAME:
                self.title = _word(data, "title")
            case EventKind.SCRATCHPAD:
                self.scratchpad = _word(data, "text")
            case EventKind.WINDOW:
                size = data.get("size")
                self.window = size if isinstance(size, int) and size >= 0 else self.window
            case EventKind.STRATEGY:
                self.strategy = _word(data, "name")
            case EventKind.FILES:
                files = data.get("files")
                self.files = tuple(files) if isinstance(files, list) else ()
            case EventKind.URLS:
                self.urls = _strings(data.get("urls"))
            case EventKind.EDIT:
                known = self.edits.setdefault(_word(data, "edit"), {})
                self.edits[_word(data, "edit")] = {**known, **data}
            case EventKind.DELETE:
                self.deleted = True
            case EventKind.ARCHIVE:
                self.archived = data.get("away") is not False

    def _targets(self, data: Mapping[str, Any], line: _Line) -> Iterable[str]:
        stay = _word(data, "to")
        if not stay:
            return _strings(data.get("groups"))
        gone = line.hidden.keys() | self.removed
        order = [g.id for g in groups(with_groups(line.messages)) if g.id not in gone]
        return order[order.index(stay) + 1 :] if stay in order else ()

    def _fork(self, data: Mapping[str, Any], line: _Line) -> None:
        """The new branch inherits by copy what is visible up to the message ``at``."""
        name, at = _word(data, "branch"), _word(data, "at")
        source = self.lines.get(_word(data, "parent") or line.id, line)
        if not name or name in self.lines:
            return
        shown = _by_group(source.messages)
        place = next((i for i, m in enumerate(shown) if m.id == at), len(shown))
        kept = [] if data.get("start") is True else shown[: place + 1]
        inherited = {m.group_id for m in kept}
        self.lines[name] = _Line(
            name,
            source.id,
            at,
            kept,
            dict(source.hidden),
            [s for s in source.summaries if s.covers <= inherited],
            [s for s in source.states if not s[0] or s[0] in inherited],
            [g for g in source.compressed if g in inherited],
            [told for told in source.told if told[0] in inherited],
        )

    def result(self, session_id: str, branch: str) -> Timeline:
        name = branch if branch in self.lines else self.current
        line = self.lines[name]
        hidden = {**line.hidden, **dict.fromkeys(self.removed, EventKind.REMOVE.value)}
        ordered = [m for g in groups(link_results(with_groups(line.messages))) for m in g.messages]
        messages = tuple(self._final(m, hidden) for m in ordered)
        present = {m.group_id for m in messages} - hidden.keys()
        states = [t for g, t, _ in line.states if not g or g in present]
        return Timeline(
            session_id=session_id or self.session,
            branch=name,
            branches=tuple(self._branch(b) for b in self.lines.values()),
            messages=messages,
            summaries=_in_force(line.summaries, present),
            title=self.title,
            state=states[-1] if states else "",
            states={m: t for _, t, m in line.states if m},
            usages=self.usages,
            scratchpad=self.scratchpad,
            window=self.window,
            strategy=self.strategy,
            files=self.files,
            urls=self.urls,
            edits=dict(self.edits),
            deleted=self.deleted,
            archived=self.archived,
            compressed=tuple(g for g in line.compressed if g in present),
            told=tuple(told for told in line.told if told[0] in present),
            duplicates=self.duplicates,
            hidden=hidden,
        )

    def _final(self, message: Message, hidden: Mapping[str, str]) -> Message:
        status = self.status.get(message.id, message.status)
        if message.group_id in hidden:
            status = Status.DROPPED
        return message if status is message.status else attrs.evolve(message, status=status)

    def _branch(self, line: _Line) -> Branch:
        gone = line.hidden.keys() | self.removed
        shown = [m for m in with_groups(line.messages) if m.group_id not in gone]
        return Branch(line.id, line.parent, line.at, shown[-1].id if shown else "")


def _by_group(messages: Iterable[Message]) -> list[Message]:
    """Every message with its group, groups contiguous in the order of their beginning."""
    return [m for g in groups(with_groups(messages)) for m in g.messages]


def _in_force(summaries: Iterable[Summary], present: set[str]) -> tuple[Summary, ...]:
    """Summaries all of whose groups are still there; a newer one replaces those it contains."""
    chosen: list[Summary] = []
    covered: set[str] = set()
    for summary in reversed(list(summaries)):
        if summary.covers and summary.covers <= present and not summary.covers <= covered:
            chosen.append(summary)
            covered |= summary.covers
    return tuple(reversed(chosen))


def _word(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list | tuple) else ()
