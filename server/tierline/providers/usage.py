"""Token figures and cost, under the names that services use.

OpenAI and Anthropic have a form each; DeepSeek has ``prompt_cache_hit_tokens``, Kimi
``cached_tokens`` at the top level, OpenRouter adds ``cost``, Gemini's own names come through some
gateways. A figure that is not reported stays None; it is never taken for 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import asdict

from tierline.providers.base import Usage
from tierline.providers.values import amount, figure, first, mapping, string

_INPUT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_READ = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens",
         "cache_read_tokens", "cachedContentTokenCount")  # fmt: skip
_WRITTEN = ("cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens",
            "cached_creation_tokens")  # fmt: skip
_UNCACHED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_COST = ("cost", "total_cost", "cost_usd")
_TICKS = 10**10
"""xAI reports cost in ten-billionths of a US dollar."""


def completion_usage(usage: Mapping[str, Any]) -> Usage | None:
    """The figures of Chat Completions, where ``prompt_tokens`` is the whole prompt. None if nothing
    is reported. A prompt of 0 tokens counts as not reported.
    """
    if not usage:  # as in most pieces of a stream
        return None
    details = mapping(first(usage, *_DETAILS))
    read = _first(details, *_READ)
    read = _first(usage, *_READ) if read is None else read
    written = _first(details, *_WRITTEN)
    written = _first(usage, *_WRITTEN) if written is None else written
    missed = _first(usage, "prompt_cache_miss_tokens")
    whole = _first(usage, *_INPUT) or None
    if whole is None and missed is not None and read is not None:
        whole = missed + read or None
    if whole is not None and (read or 0) + (written or 0) > whole:
        whole += (read or 0) + (written or 0)  # counted separately, as Anthropic does
    found = Usage(whole, _first(usage, *_OUTPUT), read, written, _cost(usage))
    return found if found != Usage() else None


def message_figures(before: Mapping[str, Any], later: Mapping[str, Any]) -> Mapping[str, Any]:
    """Merge two usage reports of one Messages API reply. Figures are cumulative, so a later one
    counts; but a total input of 0 tokens, as some servers report at the end, is ignored.
    """
    said: dict[str, Any] = {
        name: number for name in later if (number := figure(later[name])) is not None
    }
    said |= {"cost": cost} if (cost := _cost(later)) is not None else {}
    if not any(said.get(name) for name in _UNCACHED):
        said = {name: value for name, value in said.items() if name not in _UNCACHED}
    if not said.get("output_tokens") and before.get("output_tokens"):
        said.pop("output_tokens", None)
    return {**before, **said}


def message_usage(figures: Mapping[str, Any]) -> Usage:
    """Figures of the Messages API, whose ``input_tokens`` exclude what the cache read or wrote."""
    if "input_tokens" not in figures and (other := completion_usage(figures)) is not None:
        return other
    uncached, read, written = (figures.get(name) for name in _UNCACHED)
    whole = None if uncached is None else uncached + (read or 0) + (written or 0)
    return Usage(whole, figures.get("output_tokens"), read, written, figures.get("cost"))


def message_notes(usage: Mapping[str, Any], told: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Facts that the Messages API reports beside its figures, as fields of ``Usage``: the split of
    cache writes by lifetime (``usage.cache_creation``), the reply's id, and why the cache missed
    (``diagnostics.cache_miss_reason``; null while that is not known).
    """
    found: dict[str, Any] = {}
    hour = figure(mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    if hour is not None:
        found["written_1h"] = hour
    for one in told:
        if identifier := string(one.get("id")):
            found["reply_id"] = identifier
        reason = mapping(mapping(one.get("diagnostics")).get("cache_miss_reason"))
        if kind := string(reason.get("type")):
            found["missed"] = kind
            found["missed_tokens"] = figure(reason.get("cache_missed_input_tokens"))
    return found


def merged(before: Usage, later: Usage) -> Usage:
    """Merge two usage reports of one reply. Figures are cumulative, so a later one counts; but a 0
    at the end does not replace an earlier figure.
    """
    said = asdict(later)
    kept = {name: value for name, value in asdict(before).items() if not said[name]}
    return Usage(**{**said, **{n: v for n, v in kept.items() if v is not None}})


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Cost in US dollars, as the service reports it."""
    said = first(usage, *_COST)
    if isinstance(said, Mapping):
        said = first(said, "total_cost", "total", *_COST)
    found = amount(said)
    if found is None and (ticks := figure(usage.get("cost_in_usd_ticks"))) is not None:
        return ticks / _TICKS
    return found


def _first(place: Mapping[str, Any], *names: str) -> int | None:
    return next((n for name in names if (n := figure(place.get(name))) is not None), None)
