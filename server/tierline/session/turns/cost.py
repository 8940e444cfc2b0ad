"""What a turn took: sums over its requests."""

from __future__ import annotations

from collections.abc import Sequence

from tierline.lsp import protocol as p


def total(usages: Sequence[p.UsageInfo]) -> p.UsageInfo | None:
    """The sum; None of nothing. ``estimated`` if one of them is."""
    if not usages:
        return None
    return p.UsageInfo(
        input_tokens=sum(one.input_tokens for one in usages),
        output_tokens=sum(one.output_tokens for one in usages),
        cache_read_tokens=sum(one.cache_read_tokens for one in usages),
        cache_write_tokens=sum(one.cache_write_tokens for one in usages),
        estimated=any(one.estimated for one in usages),
        cost=sum(one.cost for one in usages),
        saved=sum(one.saved for one in usages),
        requests=sum(one.requests for one in usages),
    )


def last(usages: Sequence[p.UsageInfo]) -> p.UsageInfo | None:
    """The last of several; None of one, which is the sum already."""
    return usages[-1] if len(usages) > 1 else None


def cut_off(found: p.CacheReport, *, reported: bool) -> p.UsageInfo:
    """A request whose reply did not come to its end: it is paid for all the same."""
    return p.UsageInfo(
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cache_read_tokens=max(found.read_tokens, 0),
        cache_write_tokens=max(found.written_tokens, 0),
        estimated=not reported,
        cost=found.cost,
        saved=found.saved,
    )
