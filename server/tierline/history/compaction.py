"""Compaction: which part of a conversation is replaced, and by what.

The newest part stays word for word. The older part is dropped if the topic changed after it, else
replaced by a summary. Pure: the session asks the detector and the summariser, writes the event, and
tells the client.

The unit is a turn, so a call is never separated from its result. The newest turn, standing rules
("always …", "from now on …"), pinned messages and system messages always stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from attrs import field, frozen

from tierline.history.boundaries import SAFE_BOUNDARY, TopicBoundary
from tierline.history.cues import is_new_task
from tierline.history.extract import standing_rules
from tierline.history.groups import Group, groups, is_prompt
from tierline.history.messages import Message
from tierline.history.parser import text_of

Size = Callable[[Sequence[Message]], int]
"""Tokens of messages as they would be sent."""

HYSTERESIS = 0.1
"""After an attempt, history must grow by this share of the trigger before the next one."""
RULE_TOKENS = 200
"""A longer message is not kept for its standing rules: the rules are quoted in the summary."""
SMALLEST = 48
"""Fewer tokens than this are not summarised."""
SHARE = 0.5
"""Most tokens of a summary, as a share of what it replaces."""


class CompactionKind(StrEnum):
    """What a compaction does with the older part."""

    TRUNCATE = "truncate"
    SUMMARIZE = "summarize"
    NONE = "none"


@frozen
class CompactionSettings:
    """When to compact and what stays. Token counts."""

    enabled: bool = True
    compaction_trigger_tokens: int = 24_000
    verbatim_window_tokens: int = 4_000
    summary_budget_tokens: int = 500
    min_verbatim_exchanges: int = 2

    @property
    def margin(self) -> int:
        """Tokens by which history must grow between two attempts."""
        return max(1, round(self.compaction_trigger_tokens * HYSTERESIS))


VERBATIM_SHARE, LEAST_VERBATIM = 1 / 6, 4_000
SUMMARY_SHARE, LEAST_SUMMARY = 1 / 48, 500
"""Defaults for the summary's budget: its share of the trigger, and its least size in tokens. They
keep the proportions of 24,000 (trigger), 4,000 (verbatim) and 500 tokens (summary).
"""


@frozen
class CompactionPlan:
    """The plan of a compaction."""

    case: CompactionKind
    reason: str
    covers: tuple[str, ...] = ()
    """Groups that are replaced, those of earlier summaries included."""
    keeps: tuple[str, ...] = ()
    """Ids of single messages in those groups that stay."""
    zone: tuple[Message, ...] = field(default=(), repr=False)
    """The replaced messages, with an earlier summary: the source of the new one."""
    zone_tokens: int = 0
    budget_tokens: int = 0
    """Most tokens of the summary."""
    rules: tuple[str, ...] = ()
    """Standing rules from messages too long to keep; they go into the text whatever the case."""
    boundary: TopicBoundary = SAFE_BOUNDARY
    finished: bool = False
    """The task at the end of the zone is finished, since another one follows."""

    def text(self, summary: str) -> str:
        """The text that stands for the zone; it may be empty for a truncation."""
        said = {rule.lower() for rule in self.rules if rule in summary}
        missing = [f"- {rule}" for rule in self.rules if rule.lower() not in said]
        quoted = "\n".join(["Standing rules:", *missing]) if missing else ""
        return "\n\n".join(part for part in (quoted, summary.strip()) if part)


NOTHING = CompactionPlan(CompactionKind.NONE, "There is nothing to compact.")


def should_compact(
    history_tokens: int, settings: CompactionSettings, *, after: int | None = None
) -> bool:
    """True if history is beyond its trigger and, when an attempt has left it at ``after`` tokens,
    has grown by the hysteresis margin since.
    """
    if not settings.enabled or history_tokens <= settings.compaction_trigger_tokens:
        return False
    return after is None or history_tokens >= after + settings.margin


def outline(
    messages: Sequence[Message],
    settings: CompactionSettings,
    size: Size,
    boundary: TopicBoundary = SAFE_BOUNDARY,
) -> CompactionPlan:
    """Decide a compaction of what may be sent now (summaries in it stand for what they cover).

    ``boundary`` counts messages. It truncates if it lies in or after the verbatim window with
    confidence of 0.5 and more; otherwise everything before the window is summarised.
    """
    turns = groups(messages)
    start = verbatim_start(turns, settings, size)
    case = CompactionKind.SUMMARIZE
    reason = "no clear change of topic in what is recent"
    cut = start
    if boundary.sure and boundary.boundary_index is not None:
        place = _turn_at(turns, boundary.boundary_index)
        if place >= start:
            case, reason = CompactionKind.TRUNCATE, boundary.boundary_reason or "the topic changed"
            cut = _at_least(turns, place, settings.min_verbatim_exchanges)
    zone = tuple(m for turn in turns[:cut] for m in turn.messages if m.role != "system")
    fresh = [m for m in zone if not m.meta.get("summary")]
    keeps, rules = _kept(fresh, settings, size)
    replaced = [m for m in zone if m.id not in keeps]
    if not any(not m.meta.get("summary") for m in replaced):
        return NOTHING
    tokens = size(replaced)
    budget = min(settings.summary_budget_tokens, int(tokens * SHARE))
    if case is CompactionKind.SUMMARIZE and tokens < SMALLEST:
        return CompactionPlan(CompactionKind.NONE, "What could be summarised is too short for it.")
    return CompactionPlan(
        case=case,
        reason=reason,
        covers=_covers(zone),
        keeps=keeps,
        zone=tuple(replaced),
        zone_tokens=tokens,
        budget_tokens=budget,
        rules=rules,
        boundary=boundary,
        finished=case is CompactionKind.TRUNCATE or _begins_another(turns[cut:]),
    )


# --- helpers -------------------------------------------------------------------------------------


def verbatim_start(turns: Sequence[Group], settings: CompactionSettings, size: Size) -> int:
    """Index of the first turn that stays word for word: the newest turns within the window, at
    least the newest one, at least ``min_verbatim_exchanges``.
    """
    room = settings.verbatim_window_tokens
    place = len(turns)
    for turn in reversed(turns):
        room -= size(turn.messages)
        if room < 0:
            break
        place -= 1
    newest = max(0, len(turns) - 1)
    return _at_least(turns, min(place, newest), settings.min_verbatim_exchanges)


def _at_least(turns: Sequence[Group], place: int, exchanges: int) -> int:
    """Move the cut back until enough prompts are behind it."""
    while place > 0 and _prompts(turns[place:]) < exchanges:
        place -= 1
    return place


def _begins_another(turns: Sequence[Group]) -> bool:
    prompts = (text_of(m.content) for turn in turns for m in turn.messages if is_prompt(m))
    return is_new_task(next(prompts, ""))


def _prompts(turns: Sequence[Group]) -> int:
    return sum(
        any(is_prompt(m) and not m.meta.get("summary") for m in turn.messages) for turn in turns
    )


def _index(turns: Sequence[Group], place: int) -> int:
    return sum(len(turn.messages) for turn in turns[:place])


def _turn_at(turns: Sequence[Group], index: int) -> int:
    """The turn that holds a message, so that a boundary inside it moves to its beginning."""
    seen = 0
    for place, turn in enumerate(turns):
        seen += len(turn.messages)
        if index < seen:
            return place
    return len(turns)


def _covers(zone: Sequence[Message]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for message in zone:
        if message.meta.get("summary"):
            covered = message.meta.get("covers")
            found.update(dict.fromkeys(covered if isinstance(covered, list | tuple) else ()))
        else:
            found[message.group_id] = None
    return tuple(found)


def _kept(
    fresh: Sequence[Message], settings: CompactionSettings, size: Size
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of messages that stay (pinned ones, short ones with rules), and rules quoted from long
    ones. Messages that stay take at most half of the verbatim window, the newest first.
    """
    room = max(RULE_TOKENS, settings.verbatim_window_tokens // 2)
    keeps: list[str] = []
    quoted: list[str] = []
    for message in reversed(fresh):
        rules = standing_rules(message)
        pinned = bool(message.meta.get("pinned"))
        if not rules and not pinned:
            continue
        tokens = size([message])
        if tokens <= room and (pinned or tokens <= RULE_TOKENS):
            room -= tokens
            keeps.append(message.id)
        else:
            quoted = [*rules, *quoted]
    return tuple(reversed(keeps)), tuple(dict.fromkeys(quoted))
