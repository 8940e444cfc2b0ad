"""The context that went with a prompt beside the conversation: plan entries, and groups by kind."""

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
"""Kinds by key prefix, in the order in which clients show them."""
_MAX_LABEL_LENGTH = 200


def sent_entries(plan: ContextPlan) -> list[p.SentEntry]:
    """The plan's entries beside the conversation, in order."""
    found = (_entry(entry) for entry in plan.included)
    return [one for one in found if one is not None]


def sent_groups(plan: ContextPlan, attached: Iterable[p.Attachment]) -> list[p.SentGroup]:
    """Those entries by kind, without the user's attachments, which are shown at the
    prompt anyway.
    """
    shown = {name for one in attached if not one.text for name in (one.path, one.uri)}
    kinds: dict[p.SentKind, list[str]] = {kind: [] for kind in _KINDS.values()}
    for one in sent_entries(plan):
        if one.label not in shown:
            kinds[one.kind].append(one.label)
    return [
        p.SentGroup(
            kind, len(labels), labels[0][-_MAX_LABEL_LENGTH:] if _alone(kind, labels) else ""
        )
        for kind, labels in kinds.items()
        if labels
    ]


def groups_of(recorded: Sequence[tuple[str, int, str]]) -> list[p.SentGroup]:
    """Groups as the log keeps them; kinds that this version does not know are left out."""
    known = {str(kind): kind for kind in _KINDS.values()}
    return [p.SentGroup(known[kind], n, label) for kind, n, label in recorded if kind in known]


def _alone(kind: p.SentKind, labels: Sequence[str]) -> bool:
    """The name of a single item; empty for memos and earlier turns, which only have ids."""
    return len(labels) == 1 and kind not in ("memo", "recalled")


def _entry(entry: PlanEntry) -> p.SentEntry | None:
    kind, _, name = entry.key.partition(":")
    if kind not in _KINDS:
        return None
    return p.SentEntry(entry.key, _KINDS[kind], entry.path or name, entry.tokens)
