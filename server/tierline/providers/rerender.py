"""Renders a stored prompt again, without a connection or a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from tierline.context.prompt import Prompt
from tierline.providers import editor, render_anthropic, render_local, render_openai
from tierline.providers.base import RenderedRequest
from tierline.providers.canonical import dumps, rendered

Render: TypeAlias = Callable[[Prompt], Mapping[str, Any]]


@frozen
class Dialect:
    """One way in which an adapter writes a body."""

    provider: str
    """The adapter's name (``RenderedRequest.provider``)."""
    strategy: str
    body: Render = field(repr=False)


DIALECTS = (
    Dialect("anthropic", render_anthropic.STRATEGY, render_anthropic.body),
    # Which of the two OpenAI's adapter uses depends on the address, and that is not stored.
    Dialect("openai", "openai", lambda prompt: render_openai.body(prompt, official=True)),
    Dialect("openai", "openai", lambda prompt: render_openai.body(prompt, official=False)),
    Dialect("local", "openai", render_local.body),
    Dialect(editor.NAME, "openai", editor.body),
)


def rerender(prompt: Prompt, provider: str, sha256: str) -> RenderedRequest:
    """The body with the hash ``sha256``, if one of the adapter's dialects gives it; else the
    adapter's first. The caller compares the hashes.

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
    family = provider or ("anthropic" if model.startswith("claude") else "openai")
    yield from (dialect for dialect in DIALECTS if dialect.provider == family)
    if not provider:
        yield from (dialect for dialect in DIALECTS if dialect.provider != family)
