"""Renders a stored prompt again, without a connection or a key."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from tierline.context.prompt import Prompt
from tierline.providers.base import RenderedRequest
from tierline.providers.canonical import dumps, rendered
from tierline.providers.choice import Render, adapter
from tierline.providers.registry import COMPATIBLE, SPECS, owner


@frozen
class Dialect:
    """One of an adapter's ways to render a body."""

    provider: str
    """The adapter's name (``RenderedRequest.provider``)."""
    strategy: str
    body: Render = field(repr=False)


def dialects() -> list[Dialect]:
    """All dialects of all adapters, in the order of the registry."""
    found = {row.adapter: row.strategy for row in SPECS}
    found |= {row.newer: row.strategy for row in SPECS if row.newer}
    return [
        Dialect(name, strategy, body)
        for name, strategy in found.items()
        for body in adapter(name).BODIES
    ]


def rerender(prompt: Prompt, provider: str, sha256: str) -> RenderedRequest:
    """The body with the hash ``sha256``, if one of the adapter's dialects renders it; else the body
    of its first dialect. The caller compares the hashes.

    ``provider`` is the adapter's name. Plans of the first versions do not have one: all dialects
    are tried then, the model's own first.

    Raises:
        ValueError: there is no adapter of that name.
    """
    first: RenderedRequest | None = None
    for dialect in _candidates(prompt.model, provider):
        payload = dumps(dialect.body(prompt))
        request = rendered(dialect.provider, dialect.strategy, prompt.model, payload)
        if request.sha256 == sha256:
            return request
        first = first or request
    if first is None:
        raise ValueError(f"no adapter is called {provider!r}")
    return first


def _candidates(model: str, provider: str) -> Iterator[Dialect]:
    known = dialects()
    family = provider or (owner(model) or COMPATIBLE).adapter
    yield from (dialect for dialect in known if dialect.provider == family)
    if not provider:
        yield from (dialect for dialect in known if dialect.provider != family)
