"""RetrievalSet: the candidates found for one turn, each with source, score and reason."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any

from attrs import asdict, evolve, field, frozen

from tierline.context.retrieval.cards import Card


class Exclusion(StrEnum):
    """Why a candidate is not in the request. Stable: clients and stored sets hold them."""

    MODE = "mode"
    LIMIT = "limit"
    WEAK = "weak"
    IN_CONTEXT = "in_context"
    SAME_FILE = "same_file"
    UNREADABLE = "unreadable"
    CHANGED = "changed"
    HELD = "held"
    BUDGET = "budget"


SENTENCES = {
    Exclusion.MODE: "Context mode off retrieves nothing.",
    Exclusion.LIMIT: "Better matches filled what the context mode allows.",
    Exclusion.WEAK: "Too little of the prompt occurs in it.",
    Exclusion.IN_CONTEXT: "The whole file is in the context.",
    Exclusion.SAME_FILE: "Other symbols of this file fit better.",
    Exclusion.UNREADABLE: "The file cannot be read, or may not be sent.",
    Exclusion.CHANGED: "The symbol is no longer in the text.",
    Exclusion.HELD: "It is pinned and in the request already.",
    Exclusion.BUDGET: "The request was too large for it.",
}


@frozen
class Candidate:
    """A piece of evidence with its provenance."""

    card: Card
    score: float
    """0 to 1, relative to the best of the set."""
    node: str
    """Node of the reference graph that it belongs to: the file's path."""
    hop: bool = False
    """Reached through the graph, not by the prompt's words."""
    tokens: int = 0
    out: Exclusion | None = None
    """Why it is not in the request; None if it is."""

    @property
    def reason(self) -> str:
        """Why it is in or out, for a person."""
        return SENTENCES[self.out] if self.out else f"{self.card.why or 'found'}."


@frozen
class RetrievalSet:
    """The ordered candidates of one turn."""

    group_id: str
    query: str
    mode: str
    cluster: int = 0
    """Query cluster (``QueryClusterId``)."""
    task: str = ""
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    note: str = ""
    """Why there is nothing, if so: the index is not ready, or retrieval is off."""
    set_id: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        value = json.dumps(
            [self.group_id, self.query, self.mode, self.cluster,
             [[c.card.key, c.card.line, c.card.end, c.score, c.out] for c in self.candidates]],
            ensure_ascii=False,
        ).encode("utf-8", "surrogatepass")  # fmt: skip
        object.__setattr__(self, "set_id", f"ret_{hashlib.sha256(value).hexdigest()[:16]}")

    @property
    def included(self) -> tuple[Candidate, ...]:
        """The candidates in the request, best first."""
        return tuple(c for c in self.candidates if c.out is None)

    @property
    def excluded(self) -> tuple[Candidate, ...]:
        """The candidates that were left out, best first."""
        return tuple(c for c in self.candidates if c.out is not None)

    def without(self, keys: frozenset[str]) -> RetrievalSet:
        """The set after a plan had no room for these cards. The id stays."""
        changed = tuple(
            evolve(c, out=Exclusion.BUDGET) if c.out is None and c.card.key in keys else c
            for c in self.candidates
        )
        made = evolve(self, candidates=changed)
        object.__setattr__(made, "set_id", self.set_id)
        return made

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RetrievalSet:
        """The set of JSON values.

        Raises:
            KeyError, TypeError, ValueError: it is not one.
        """
        candidates = tuple(
            Candidate(
                card=Card(**c["card"] | {"attributes": tuple(c["card"]["attributes"])}),
                score=float(c["score"]),
                node=str(c["node"]),
                hop=bool(c["hop"]),
                tokens=int(c["tokens"]),
                out=Exclusion(c["out"]) if c["out"] else None,
            )
            for c in value["candidates"]
        )
        made = cls(
            group_id=value["group_id"], query=value["query"], mode=value["mode"],
            cluster=value["cluster"], task=value["task"], words=tuple(value["words"]),
            names=tuple(value["names"]), candidates=candidates, note=value["note"],
        )  # fmt: skip
        object.__setattr__(made, "set_id", str(value["set_id"]))
        return made
