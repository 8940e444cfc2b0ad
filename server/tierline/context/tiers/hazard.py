"""The probability that an item changes by the next request.

A Beta estimate: a prior worth ``PRIOR_WEIGHT`` requests, and decayed counts of the requests at
which the item had and had not changed. The prior comes from the file's history in version control
if known, else from the kind of item. A file that is being edited is likelier to change than its
past suggests.

``churn`` is that history: a commit stands for a request, as for both the question is whether the
file differs afterwards. Counts decay, and a prior worth ``WEIGHT`` commits is mixed in, so that a
young repository has little influence. The constants were chosen on the first half of Tierline's own
history, by log loss; on the second half the estimate's log loss is 0.157 for files touched within
five commits; that of 0.15 for every file is 0.227, and that of the best constant, known only
afterwards, 0.160.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tierline.context.items import Item, Section
from tierline.context.tiers.base import ChangeEvidence, Signals

PRIOR_WEIGHT = 2.0
"""Requests that the prior is worth."""
DECAY = 0.97
"""Factor on old counts per request: evidence is half as good after 23 requests."""
DIRTY = 0.5
"""Least probability for a file with unsaved changes."""
VISIBLE = 0.2
"""Least probability for a file on the screen."""
PRIORS: dict[Section, float] = {
    Section.INSTRUCTIONS: 0.01,
    Section.SYMBOLS: 0.10,
    Section.FILES: 0.15,
    Section.URLS: 0.01,
    Section.MEMOS: 0.05,
    Section.STATE: 0.60,
}
_OTHER = 0.2


def hazard(evidence: ChangeEvidence, signals: Signals, section: Section) -> float:
    """Probability (0 to 1) that the item's content differs at the next request."""
    prior = PRIORS.get(section, _OTHER) if signals.churn is None else signals.churn
    prior = min(max(prior, 0.0), 1.0)
    if signals.dirty:
        prior = max(prior, DIRTY)
    if signals.visible:
        prior = max(prior, VISIBLE)
    seen = evidence.changed + evidence.quiet
    return (prior * PRIOR_WEIGHT + evidence.changed) / (PRIOR_WEIGHT + seen)


def observe(
    known: Mapping[str, ChangeEvidence], seen: Mapping[str, str], items: Iterable[Item]
) -> dict[str, ChangeEvidence]:
    """The evidence after one more request. ``seen`` has the hashes of the previous request; items
    that it did not have add no evidence yet, removed items are forgotten.
    """
    now: dict[str, ChangeEvidence] = {}
    for item in items:
        old = known.get(item.key, ChangeEvidence())
        if item.key not in seen:
            now[item.key] = old
            continue
        changed = seen[item.key] != item.sha256
        now[item.key] = ChangeEvidence(
            round(old.changed * DECAY + changed, 6), round(old.quiet * DECAY + (not changed), 6)
        )
    return now


HALF_LIFE = 80.0
"""Commits after which a commit counts half."""
WEIGHT = 10.0
"""Commits that the prior is worth."""


def churn(commits: Sequence[Collection[str]], paths: Iterable[str]) -> dict[str, float]:
    """Probability (0 to 1) for each path. ``commits`` are the paths that each touched, the newest
    first; ``paths`` are files that existed all along, or whose first commit is among ``commits``.
    """
    prior = PRIORS[Section.FILES]
    touched: dict[str, float] = {}
    total = 0.0
    for age, names in enumerate(commits):
        weight = 0.5 ** (age / HALF_LIFE)
        total += weight
        for name in names:
            touched[name] = touched.get(name, 0.0) + weight
    return {path: (touched.get(path, 0.0) + WEIGHT * prior) / (total + WEIGHT) for path in paths}
