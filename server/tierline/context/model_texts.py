"""Facts about a model in words, the same in pickers, in the terminal and in the doctor."""

from __future__ import annotations

from tierline.context.images import ImageRule
from tierline.context.models import ModelFacts, Prices

UNKNOWN = "nobody knows how much it can read"
ADVICE = "Describe the model in models.toml beside your configuration file."
_SOURCES = {
    "table": "table",
    "user": "your settings",
    "provider": "the server",
    "default": "assumed",
}


def summary(facts: ModelFacts) -> str:
    """Window and price on one line."""
    if facts.limit_source == "default":
        return f"{UNKNOWN}; {facts.max_input_tokens:,} tokens are assumed"
    window = f"{facts.max_input_tokens:,} tokens"
    return f"{window} · {price}" if (price := money(facts.prices)) else window


def money(prices: Prices) -> str:
    """US dollars per million tokens; empty if no price is known."""
    if not prices.input and not prices.output:
        return ""
    return f"{dollars(prices.input)} in, {dollars(prices.output)} out per million"


def details(facts: ModelFacts, *, short: bool = False) -> str:
    """Reply, cache, pictures and thinking on one line, and how reliable they are.

    ``short``: without the obvious, for lists that cut long lines.
    """
    parts = [cache(facts)] if short and facts.output_known else [reply(facts), cache(facts)]
    if facts.image_rule is ImageRule.NONE:
        parts.append("no pictures")
    elif facts.sees or facts.image_rule is not ImageRule.UNKNOWN:
        parts.append("pictures")
    parts += {"always": ["always thinks"], "can": ["can think"]}.get(facts.reasoning, [])
    if facts.responses_only:
        parts.append("Responses API only")
    if not short or facts.limit_source != "table":
        parts.append(f"source: {_SOURCES[facts.limit_source]}")
    if not facts.sure:
        parts.append("partly guessed" if short else "some figures are guesses")
    return " · ".join(parts)


def reply(facts: ModelFacts) -> str:
    """How long a reply may be."""
    if not facts.output_known:
        return f"limit of replies unknown, {facts.max_output_tokens:,} tokens are asked for"
    return f"replies up to {facts.max_output_tokens:,}"


def cache(facts: ModelFacts) -> str:
    """When the provider caches a prompt, and what a cached token costs."""
    if facts.caching == "none":
        return "no prompt cache"
    how = "cache at marks" if facts.explicit_markers else "cache by prefix"
    least = f" from {facts.min_cacheable_tokens:,}" if facts.min_cacheable_tokens else ""
    price = f", reads {dollars(facts.prices.read)}" if facts.prices.read else ""
    return f"{how}{least}{price}"


def dollars(amount: float) -> str:
    """An amount without needless digits: $2, $0.25, $0.006."""
    if amount >= 0.1 and round(amount, 2) == amount:
        text = f"{amount:.2f}"
        return f"${text.removesuffix('.00')}"
    return f"${amount:.4g}"
