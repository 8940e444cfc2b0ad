"""Sends a refused request again at once, without what the server refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from attrs import define, evolve, field

from tierline.context.prompt import Prompt
from tierline.providers.base import RenderedRequest, RequestAdapted, StreamEvent
from tierline.providers.errors import RequestFailed
from tierline.providers.profile import Profile, Profiles, corrected, sentence
from tierline.providers.refusals import refusal

MAX_CORRECTIONS = 8
_CORRECTABLE = frozenset({"bad_request", "unavailable", "thinking_unknown"})


@define
class Corrections:
    """Corrections learnt from the refusals of one request. Each is tried once, and the same bytes
    are never sent twice.
    """

    request: RenderedRequest
    """The request with all corrections so far."""
    _base_url: str
    _profiles: Profiles
    _render: Callable[[Prompt, Profile], RenderedRequest]
    _profile: Profile = field(init=False)
    _sent: set[str] = field(factory=set)
    _learnt: list[tuple[dict[str, Any], str]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        form = self.request.prompt.form if self.request.prompt is not None else {}
        self._profile = Profile.of(form)
        self._sent.add(self.request.sha256)

    def after(self, error: RequestFailed) -> RequestAdapted | None:
        """The request corrected after a refusal; None if it cannot be corrected."""
        prompt, said = self.request.prompt, error.said
        if prompt is None or said is None or error.code not in _CORRECTABLE:
            return None
        if error.code == "thinking_unknown" and prompt.thinking.drop:
            return None  # other refusals about thinking are handled in ``ThinkingRefusals``
        found = refusal(said, self.request.body) if len(self._sent) <= MAX_CORRECTIONS else None
        changed = corrected(self._profile, found) if found is not None else {}
        if found is None or not changed:
            return None
        profile = evolve(self._profile, **changed)
        request = self._render(prompt, profile)
        if request.sha256 in self._sent:
            return None
        self._sent.add(request.sha256)
        self._profile, self.request = profile, request
        why = sentence(request.model, changed, found)
        self._learnt.append((changed, why))
        return RequestAdapted(request, why)

    def taken(self) -> None:
        """The server has begun to answer: keep what was learnt."""
        for changed, why in self._learnt:
            self._profiles.learn(self._base_url, self.request.model, changed, why)
        self._learnt.clear()


async def with_corrections(
    send: Callable[[RenderedRequest], AsyncGenerator[StreamEvent, None]], corrections: Corrections
) -> AsyncGenerator[StreamEvent, None]:
    """One attempt at a request, and ``RequestAdapted`` before each time that it is sent again.

    Raises:
        RequestFailed: nothing more can be corrected.
    """
    while True:
        try:
            async with aclosing(send(corrections.request)) as events:
                async for event in events:
                    corrections.taken()
                    yield event
            return
        except RequestFailed as error:
            adapted = corrections.after(error)
            if adapted is None:
                raise
        yield adapted
