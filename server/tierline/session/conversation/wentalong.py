"""What went along with a prompt beside the conversation: entries of its plan, and their groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tierline import protocol as p
from tierline.context.plan import ContextPlan, PlanEntry

_KINDS: dict[str, p.SentKind] = {
    "instructions": "instructions",
    "memo": "memo",
    "file": "file",
    "url": "page",
    "card": "card",
    "recall": "recalled",
}
"""By the beginning of the keys, in the order in which clients show them."""
_LONGEST = 200


def sent_entries(plan: ContextPlan) -> list[p.SentEntry]:
    """All that stood beside the conversation, in the plan's order."""
    found = (_entry(entry) for entry in plan.included)
    return [one for one in found if one is not None]


def sent_groups(plan: ContextPlan, attached: Iterable[p.Attachment]) -> list[p.SentGroup]:
    """The same by kind, without what is shown at the prompt anyway: what the user attached."""
    shown = {name for one in attached if not one.text for name in (one.path, one.uri)}
    kinds: dict[p.SentKind, list[str]] = {kind: [] for kind in _KINDS.values()}
    for one in sent_entries(plan):
        if one.label not in shown:
            kinds[one.kind].append(one.label)
    return [
        p.SentGroup(kind, len(labels), labels[0][-_LONGEST:] if _alone(kind, labels) else "")
        for kind, labels in kinds.items()
        if labels
    ]


def groups_of(recorded: Sequence[tuple[str, int, str]]) -> list[p.SentGroup]:
    """Groups as the log keeps them; kinds that this version does not know are left out."""
    known = {str(kind): kind for kind in _KINDS.values()}
    return [p.SentGroup(known[kind], n, label) for kind, n, label in recorded if kind in known]


def _alone(kind: p.SentKind, labels: Sequence[str]) -> bool:
    """Whether the name of the only one says something: memos and earlier turns have ids."""
    return len(labels) == 1 and kind not in ("memo", "recalled")


def _entry(entry: PlanEntry) -> p.SentEntry | None:
    kind, _, name = entry.key.partition(":")
    if kind not in _KINDS:
        return None
    return p.SentEntry(entry.key, _KINDS[kind], entry.path or name, entry.tokens)
