"""Retrieval sets for clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tierline import protocol as p
from tierline.context.retrieval.sets import Candidate, RetrievalSet
from tierline.workspace.loader import Loader


def shown(loader: Loader, found: RetrievalSet, stored: Mapping[str, Any]) -> p.RetrievalInfo:
    """A set with the data stored beside it: context line, sizes, activation, pins, changes."""
    activation: Mapping[str, float] = stored.get("activation", {})
    pins: Mapping[str, str] = stored.get("pins", {})

    def candidate(c: Candidate) -> p.RetrievalCandidate:
        return p.of(
            p.RetrievalCandidate,
            c.card,
            c,
            uri=loader.uri(c.card.path),
            included=c.out is None,
            code=str(c.out or ""),
            activation=activation.get(c.card.key, 0.0),
            pin=p.known(p.PinKind, pins.get(c.card.key, ""), p.PinKind.NONE),
        )

    return p.of(
        p.RetrievalInfo,
        found,
        turn_id=found.group_id,
        mode=p.known(p.ContextMode, found.mode, p.ContextMode.OFF),
        line=str(stored.get("line", "")),
        candidates=[candidate(c) for c in (*found.included, *found.excluded)],
        map_tokens=int(stored.get("map_tokens", 0)),
        card_tokens=int(stored.get("card_tokens", 0)),
        changes=list(stored.get("changes", ())),
    )
