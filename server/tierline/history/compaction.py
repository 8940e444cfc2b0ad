"""Compaction: what of a conversation is replaced, by what, and whether a summary may stand for it.

The newest part stays word for word; what lies before it is dropped,
where the topic changed, or replaced by a summary. Pure: the session asks the detector and the
summariser, writes the event, and tells the client.

A turn is the unit: a call and its result are never torn apart. The newest turn, standing rules
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
"""Less than this many tokens are not worth a summary."""
SHARE = 0.5
"""Of what it replaces, a summary may take this much."""


class Case(StrEnum):
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
"""Of the trigger, what stays word for word and what a summary may take where nothing is set: the
proportions of 24,000, 4,000 and 500 tokens."""


@frozen
class Outline:
    """What a compaction would do."""

    case: Case
    reason: str
    covers: tuple[str, ...] = ()
    """Groups that are replaced, those of earlier summaries included."""
    keeps: tuple[str, ...] = ()
    """Ids of single messages in them that stay all the same."""
    zone: tuple[Message, ...] = field(default=(), repr=False)
    """What is replaced, an earlier summary included: what a summary must be made from."""
    zone_tokens: int = 0
    budget_tokens: int = 0
    """Most that the summary may take."""
    rules: tuple[str, ...] = ()
    """Standing rules from messages too long to keep; they go into the text whatever the case."""
    boundary: TopicBoundary = SAFE_BOUNDARY
    finished: bool = False
    """What is replaced ends with a task that is over, for what follows begins another."""

    def text(self, summary: str) -> str:
        """The text that stands for the zone; it may be empty for a truncation."""
        said = {rule.lower() for rule in self.rules if rule in summary}
        missing = [f"- {rule}" for rule in self.rules if rule.lower() not in said]
        quoted = "\n".join(["Standing rules:", *missing]) if missing else ""
        return "\n\n".join(part for part in (quoted, summary.strip()) if part)


NOTHING = Outline(Case.NONE, "There is nothing to compact.")


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
) -> Outline:
    """Decide a compaction of what may be sent now (summaries in it stand for what they cover).

    ``boundary`` counts messages. It truncates if it lies in or after the verbatim window with
    confidence of 0.5 and more; otherwise everything before the window is summarised.
    """
    turns = groups(messages)
    start = verbatim_start(turns, settings, size)
    case = Case.SUMMARIZE
    reason = "no clear change of topic in what is recent"
    cut = start
    if boundary.sure and boundary.boundary_index is not None:
        place = _turn_at(turns, boundary.boundary_index)
        if place >= start:
            case, reason = Case.TRUNCATE, boundary.boundary_reason or "the topic changed"
            cut = _at_least(turns, place, settings.min_verbatim_exchanges)
    zone = tuple(m for turn in turns[:cut] for m in turn.messages if m.role != "system")
    fresh = [m for m in zone if not m.meta.get("summary")]
    keeps, rules = _kept(fresh, settings, size)
    replaced = [m for m in zone if m.id not in keeps]
    if not any(not m.meta.get("summary") for m in replaced):
        return NOTHING
    tokens = size(replaced)
    budget = min(settings.summary_budget_tokens, int(tokens * SHARE))
    if case is Case.SUMMARIZE and tokens < SMALLEST:
        return Outline(Case.NONE, "What could be summarised is too short for it.")
    return Outline(
        case=case,
        reason=reason,
        covers=_covers(zone),
        keeps=keeps,
        zone=tuple(replaced),
        zone_tokens=tokens,
        budget_tokens=budget,
        rules=rules,
        boundary=boundary,
        finished=case is Case.TRUNCATE or _begins_another(turns[cut:]),
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
    """The turn that holds a message: a boundary inside a turn moves to its beginning."""
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
    """Pinned messages and short messages with rules stay; long ones' rules are quoted. What is kept
    takes at most half of the verbatim window; the newest rules go first.
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
