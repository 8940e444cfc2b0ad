"""Profiles of servers from three sources: the table, the server's own facts, learnt refusals."""

from __future__ import annotations

from attrs import evolve

from tierline.context.images import ImageRule
from tierline.context.models import ModelFacts
from tierline.providers.profile import Profile, started
from tierline.store.profiles import ProfileStore

MAX_MARKS = 4
"""Breakpoints of a request through a gateway: as many as Anthropic accepts."""


class ServerProfiles(ProfileStore):
    """The profiles for adapters. Learnt values take precedence, except over a smaller window that
    the server now reports.
    """

    def of(self, base_url: str, model: str) -> Profile:
        """See ``Profiles.of``."""
        said, learnt = self.known(base_url, model)
        profile = Profile.of(said, started(base_url, model))
        if 0 < profile.window < learnt.get("window", 0):
            learnt.pop("window")
        return Profile.of(learnt, profile)


def profiled(facts: ModelFacts, profile: Profile) -> ModelFacts:
    """The facts of a model, corrected by its server's profile."""
    if profile.marks and not facts.explicit_markers:
        facts = evolve(facts, caching="explicit", max_marks=MAX_MARKS, ttls=("5m",))
    if not profile.pictures:
        facts = evolve(facts, image_rule=ImageRule.NONE)
    if profile.max_output_tokens:
        most = min(facts.max_output_tokens, profile.max_output_tokens)
        facts = evolve(facts, max_output_tokens=most)
    return facts
