"""Why a request was, or was not, read from the cache: one code and one sentence.

Judged by what was sent before (``shape.py``) and the provider's own figures. A miss is attributed
to the first cause that explains it: another model, other tools, other instructions, an expired
lifetime, the first item whose bytes differ, and only then the provider.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import evolve, frozen

from tierline.context.models import ModelFacts
from tierline.context.tiers.base import Pricing
from tierline.context.tiers.outcome import Outcome
from tierline.context.tiers.shape import (
    TOOL_PREFIX,
    PrefixBreak,
    PrefixOverlap,
    Shape,
    first_break,
    lifetime,
    overlap,
)

_SLACK = 0.15
"""Share by which our count of a prefix may differ from the provider's."""
_STEP = 128
"""Automatic caches keep prefixes in steps of this many tokens (OpenAI, "Prompt caching")."""
_GRAIN = 32
"""Tokens by which counts may differ where a prefix of any length is kept."""


class Cause(StrEnum):
    """Why a request was not, or not wholly, read from the cache."""

    NONE = "none"
    """Nothing is missing."""
    NEW_SESSION = "new_session"
    PROVIDER = "provider"
    MODEL = "model"
    TOOLS = "tools"
    SYSTEM = "system"
    POLICY = "policy"
    EXPIRED = "expired"
    RESTARTED = "restarted"
    EDITED = "edited"
    REORDERED = "reordered"
    REMOVED = "removed"
    ADDED = "added"
    COMPACTED = "compacted"
    LOOKBACK = "lookback"
    EVICTED = "evicted"
    UNREPORTED = "unreported"
    SMALL = "small"
    NO_CACHE = "no_cache"


@frozen
class ReportedTokens:
    """Tokens as the provider reports them; None where it says nothing. ``input`` is all input."""

    input: int | None = None
    output: int | None = None
    read: int | None = None
    written: int | None = None
    written_1h: int | None = None
    """The part of ``written`` that is kept for an hour; None where it is not told apart."""
    missed: str = ""
    """Why the cache missed, in the provider's own word."""
    missed_tokens: int | None = None


@frozen
class Attribution:
    """The explanation of a request. Sizes in tokens; None where unknown."""

    outcome: Outcome
    cause: Cause
    sentence: str
    item: str = ""
    """Key of the first item that differs; empty if that is not the reason."""
    input: int = 0
    """All input; our own count where the provider gives none."""
    output: int = 0
    read: int | None = None
    written: int | None = None
    written_1h: int | None = None
    """The part of ``written`` that is kept for an hour; None where it is not told apart."""
    uncached: int | None = None
    """Input that was neither read nor written."""
    offered: int = 0
    """Tokens that the previous request left in the cache, by the provider's count if known."""
    readable: int = 0
    """Tokens of those that this request begins with."""
    idle: float = 0.0
    """Seconds since the previous request; 0 for the first."""


def attribute(
    before: Shape | None, now: Shape, figures: ReportedTokens, facts: ModelFacts
) -> Attribution:
    """Explain a request. ``before`` is the last one of the session that a provider accepted, with
    the moment at which its cache was used last.
    """
    prices = Pricing.of(facts)
    total = figures.input or now.tokens
    scale = total / now.tokens if now.tokens else 1.0
    seen = overlap(before, now, prices) if before is not None else PrefixOverlap(0, 0, 0, 0, False)
    seen = evolve(seen, offered=round(seen.offered * scale), readable=round(seen.readable * scale))
    if facts.caching == "none" and not figures.read:
        verdict = _Verdict(
            Outcome.UNCACHED, Cause.NO_CACHE, "This model's provider keeps no cache."
        )
    elif before is None:
        verdict = _first(figures)
    elif figures.read is None:
        verdict = _unreported(_cause(before, now, seen, prices), seen)
    elif seen.offered == 0 and not figures.read:
        verdict = _small(before, prices)
    else:
        verdict = _judge(_cause(before, now, seen, prices), seen, figures.read, total, prices)
    plain = None if figures.read is None else total - figures.read - (figures.written or 0)
    return Attribution(
        verdict.outcome,
        verdict.cause,
        f"{verdict.sentence} {_provider_says(figures, verdict.cause)}".strip(),
        verdict.item,
        input=total,
        output=figures.output or 0,
        read=figures.read,
        written=figures.written,
        written_1h=figures.written_1h,
        uncached=None if plain is None else max(plain, 0),
        offered=seen.offered,
        readable=seen.readable,
        idle=max(now.at - before.at, 0.0) if before is not None else 0.0,
    )


_SAID = {
    "model_changed": ("the model changed", {Cause.MODEL, Cause.PROVIDER}),
    "system_changed": ("the system prompt changed", {Cause.SYSTEM, Cause.POLICY}),
    "tools_changed": ("the tools changed", {Cause.TOOLS}),
    "messages_changed": (
        "the messages changed",
        {Cause.EDITED, Cause.REORDERED, Cause.REMOVED, Cause.ADDED, Cause.COMPACTED, Cause.POLICY},
    ),
}
"""``cache_miss_reason`` of Anthropic's API, in words, and our causes of the same meaning."""


def _provider_says(figures: ReportedTokens, cause: Cause) -> str:
    """The provider's own reason, and whether it differs from ours; empty if it gives none."""
    if figures.missed not in _SAID:
        return ""
    words, same = _SAID[figures.missed]
    cost = f", which cost {figures.missed_tokens:,} tokens" if figures.missed_tokens else ""
    other = "" if cause in same else " Tierline does not see that."
    return f"The provider says that {words}{cost}.{other}"


@frozen
class _Verdict:
    outcome: Outcome
    cause: Cause
    sentence: str
    item: str = ""


def _first(figures: ReportedTokens) -> _Verdict:
    if figures.read:
        words = (
            f"This session had sent nothing before, yet {figures.read:,} tokens were read: another "
            "session had begun with the same bytes."
        )
        return _Verdict(Outcome.HIT, Cause.NONE, words)
    words = "Nothing had been sent in this session before: there was nothing to read."
    outcome = Outcome.FIRST if figures.read is not None else Outcome.UNKNOWN
    return _Verdict(outcome, Cause.NEW_SESSION, words)


def _unreported(why: _Verdict, seen: PrefixOverlap) -> _Verdict:
    words = "The provider did not say what it read from its cache."
    if why.cause is not Cause.NONE:
        return evolve(why, outcome=Outcome.UNKNOWN, sentence=f"{words} {why.sentence}")
    return _Verdict(Outcome.UNKNOWN, Cause.UNREPORTED, f"{words} {_same(seen.readable)}")


def _small(before: Shape, prices: Pricing) -> _Verdict:
    words = "The request before left nothing in the cache."
    if prices.minimum > sum(part.tokens for part in before.parts[: before.stable]):
        words = (
            f"The request before was smaller than {prices.minimum:,} tokens; this model does not "
            "cache so little."
        )
    return _Verdict(Outcome.UNCACHED, Cause.SMALL, words)


def _judge(why: _Verdict, seen: PrefixOverlap, read: int, total: int, prices: Pricing) -> _Verdict:
    """The outcome: what the provider read, compared with what it could have read."""
    slack = _SLACK * seen.readable + (_STEP if prices.minimum else _GRAIN)
    short = read + slack < seen.readable
    if not short and (why.cause is Cause.NONE or read + slack >= seen.offered):
        return _Verdict(Outcome.HIT, Cause.NONE, _hit(read, total))
    outcome = Outcome.PARTIAL if read else Outcome.MISS
    if why.cause in _WHOLE or not short:
        again = max(seen.offered - read, 0)
        words = f"{why.sentence} {_again(again, seen.offered)}".strip()
        return evolve(why, outcome=outcome, sentence=words)
    words = (
        f"The first {seen.readable:,} tokens are the bytes that were sent before, and not too "
        f"late, but the provider read only {read:,} from its cache: it had dropped the rest, or "
        "another of its machines answered."
    )
    return _Verdict(outcome, Cause.EVICTED, words)


_WHOLE = frozenset({Cause.PROVIDER, Cause.MODEL, Cause.EXPIRED, Cause.RESTARTED})
"""Causes that invalidate the whole cache, whatever the bytes."""


def _cause(before: Shape, now: Shape, seen: PrefixOverlap, prices: Pricing) -> _Verdict:
    """The first cause why not everything can be read; its outcome is a placeholder."""
    found = _whole(before, now, prices)
    if found is None and seen.broken and (broke := first_break(before, now, seen.common)):
        found = _blame(broke, before, now)
    if found is None and seen.far:
        words = (
            f"Nothing differs, but the breakpoint stands more than {prices.lookback} blocks behind "
            "what is cached, farther than the provider looks back."
        )
        found = (Cause.LOOKBACK, words, "")
    cause, words, item = found or (Cause.NONE, "", "")
    return _Verdict(Outcome.UNKNOWN, cause, words, item)


def _whole(before: Shape, now: Shape, prices: Pricing) -> tuple[Cause, str, str] | None:
    """The cause for which nothing at all can be cached, if there is one."""
    if before.provider != now.provider:
        words = f"The request went to another provider: {before.provider} became {now.provider}."
        return Cause.PROVIDER, words, ""
    if before.model != now.model:
        words = f"Another model was asked ({before.model} became {now.model}), with its own cache."
        return Cause.MODEL, words, ""
    if before.instance != now.instance:
        return Cause.RESTARTED, "The model was started anew, with an empty cache.", ""
    idle, limit = now.at - before.at, lifetime(before, prices)
    if idle > limit:
        words = (
            f"The cache was last used {duration(idle)} before; the provider keeps it for "
            f"{duration(limit)}."
        )
        return Cause.EXPIRED, words, ""
    return None


def _blame(found: PrefixBreak, before: Shape, now: Shape) -> tuple[Cause, str, str]:
    key, how = found.key, found.how
    name = label(key)
    if key.startswith(TOOL_PREFIX):
        words = {
            "edited": f"The definition of the tool {name} changed",
            "added": f"The tool {name} was added",
            "removed": f"The tool {name} is gone",
            "reordered": f"The tool {name} stands elsewhere",
        }[how]
        return Cause.TOOLS, f"{words}; tools stand first in every request.", key
    if before.policy != now.policy:
        words = f"The order of the prompt follows another policy: {before.policy} became "
        return Cause.POLICY, f"{words}{now.policy}.", key
    if key.startswith("system:"):
        return Cause.SYSTEM, f"The instructions changed ({name} was {how}).", key
    if key.startswith("summary"):
        return Cause.COMPACTED, "Older messages were replaced by a summary.", key
    if key.startswith("history:"):
        words = {
            "edited": "A message of the conversation is sent in another form than before",
            "added": "A message stands where there was none before",
            "removed": "A message that was sent before is no longer part of the conversation",
            "reordered": "A message stands elsewhere",
        }[how]
        return Cause(how), f"{words}.", key
    if name.startswith(("the ", "a ", "memo ")):  # a path keeps its case
        name = name[:1].upper() + name[1:]
    words = {
        "edited": f"{name} was edited",
        "added": f"{name} was added before what had been sent",
        "removed": f"{name} is no longer sent",
        "reordered": f"{name} stands elsewhere than before",
    }[how]
    return Cause(how), f"{words}; from there on the bytes differ.", key


_NAMES = {
    "file": "{}",
    "tool": "{}",
    "url": "{}",
    "tree": "the file tree",
    "scaffold": "the {} scaffold",
    "summary": "the summary",
    "memo": "memo {}",
    "symbols": "the module map of {}",
    "system": "the instructions “{}”",
    "history": "a message",
}


def label(key: str) -> str:
    """An item's name for a person."""
    if key == "system:head":
        return "the system prompt"
    if key == "tools":
        return "the tool definitions"
    if key == "request:frame":
        return "the form of the request"
    if key == "symbols:./":
        return "the module map of the top folder"
    kind, _, rest = key.partition(":")
    return _NAMES[kind].format(rest) if kind in _NAMES else key


def title(key: str) -> str:
    """An item's name at the beginning of a row."""
    name = label(key)
    for article in ("the ", "a "):
        if name.startswith(article):
            name = name.removeprefix(article)
            return name[:1].upper() + name[1:]
    return name


def duration(seconds: float) -> str:
    """``4 minutes``: a length of time in the unit that suits it."""
    for size, name in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {name}{'s' * (count != 1)}"
    count = round(seconds)
    return f"{count} second{'s' * (count != 1)}"


def _hit(read: int, total: int) -> str:
    return (
        "All that had been sent before was read from the cache: "
        f"{read:,} of {total:,} tokens. The rest is new."
    )


def _same(readable: int) -> str:
    if readable:
        return f"The first {readable:,} tokens are the bytes that were sent before."
    return "Nothing of it had been sent before."


def _again(again: int, offered: int) -> str:
    if not again or not offered:
        return ""
    return f"Of {offered:,} tokens that were cached, {again:,} had to be read anew."
