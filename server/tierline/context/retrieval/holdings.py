"""Pins, leases, promotion and activation of cards.

A card that is retrieved is *ephemeral*: it ends with its turn. One that the conversation uses (the
model quotes it or asks for its body, the user names it) is *leased*: after the first use for one
more turn, after the second for the task. Only the user makes anything *sticky*.

The **activation score** of an item decays each turn and rises with events. It orders held items
when there is not room for all, and ends unused leases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, evolve, field, frozen

from tierline.context.items import Pin

FADE = 0.6
"""Factor on each score at each turn."""
WEIGHTS: Mapping[str, float] = {
    "planned": 0.5,
    "quoted": 2.0,
    "named": 3.0,
    "hop": 0.3,
    "cluster": 0.4,
}
"""Events that raise a score: being in the last plan, quoted by the model (or expanded for it),
named by the user, reached as a hop in the graph, returned again for the current query cluster.
"""
TASK_USES = 2
"""Uses after which a card is leased for the task."""
IDLE_SCORE = 0.15
"""A task lease whose score falls below this ends."""
MAX_LEASED = 12


@frozen
class Holding:
    """One item: its pin, its scope, its activation score."""

    key: str
    pin: Pin = Pin.NONE
    scope: str = ""
    """``turn:<n>`` or ``task:<id>`` for leased and ephemeral ones."""
    score: float = 0.0
    uses: int = 0
    why: str = ""


@frozen
class HoldingChange:
    """What happened to an item, for the reflection: promoted, leased on, ended."""

    key: str
    what: str
    why: str


@define
class Holdings:
    """The items of one branch of one session. Turns count from 1."""

    items: dict[str, Holding] = field(factory=dict)
    turn: int = 0
    task: str = ""
    changes: list[HoldingChange] = field(factory=list)
    """Changes since the turn began."""

    def copy(self) -> Holdings:
        """An independent copy, for a new branch."""
        return Holdings(dict(self.items), self.turn, self.task)

    # --- the course of a turn --------------------------------------------------------------------

    def begin_turn(self, task: str) -> None:
        """Begin a turn of a task. Ends leases of other tasks, and of turns that were not ended."""
        self.turn += 1
        self.changes = []
        for held in list(self.items.values()):
            kind, _, number = held.scope.partition(":")
            if kind == "turn" and int(number) < self.turn:
                self._drop(held, "its turn is over")
        if self.task and task != self.task:  # another task: no lease applies to it
            self.end_scope(f"task:{self.task}")
            self.end_scope(f"turn:{self.turn}")
        self.task = task

    def offer(self, keys: Iterable[str]) -> None:
        """Add cards retrieved for this turn: ephemeral, unless they are held more firmly."""
        for key in keys:
            held = self.items.get(key) or Holding(key)
            if held.pin in (Pin.NONE, Pin.EPHEMERAL):
                self.items[key] = evolve(held, pin=Pin.EPHEMERAL, scope=f"turn:{self.turn}")

    def observe(
        self,
        *,
        planned: Iterable[str] = (),
        quoted: Iterable[str] = (),
        named: Iterable[str] = (),
        hops: Iterable[str] = (),
        cluster: Iterable[str] = (),
    ) -> list[HoldingChange]:
        """Update the scores after a turn and promote used cards. Returns the promotions."""
        signals = {
            "planned": set(planned), "quoted": set(quoted), "named": set(named),
            "hop": set(hops), "cluster": set(cluster),
        }  # fmt: skip
        promoted: list[HoldingChange] = []
        for key in sorted(set(self.items).union(*signals.values())):
            held = self.items.get(key) or Holding(key)
            gain = sum(WEIGHTS[name] for name, keys in signals.items() if key in keys)
            used = key in signals["quoted"] or key in signals["named"]
            held = evolve(held, score=round(held.score * FADE + gain, 4), uses=held.uses + used)
            if used:
                held, change = self._promoted(held, key in signals["named"])
                if change is not None:
                    promoted.append(change)
            self.items[key] = held
        self.changes += promoted
        return promoted

    def end_turn(self) -> list[str]:
        """End ephemeral cards and leases of this turn. Returns the keys that are no longer held."""
        gone = self.end_scope(f"turn:{self.turn}")
        for held in list(self.items.values()):
            task_lease = held.pin is Pin.LEASED and held.scope.startswith("task:")
            if task_lease and held.score < IDLE_SCORE:
                gone.append(self._drop(held, "nobody used it lately"))
        leased = sorted(self.held(Pin.LEASED), key=lambda h: (-h.score, h.key))
        gone += [self._drop(held, "others are used more") for held in leased[MAX_LEASED:]]
        for key, held in list(self.items.items()):
            if held.pin is Pin.NONE and held.score < IDLE_SCORE:
                del self.items[key]
        return sorted(gone)

    def end_scope(self, scope: str) -> list[str]:
        """End the leases of one scope."""
        ended = [h for h in self.items.values() if h.scope == scope and h.pin is not Pin.STICKY]
        return sorted(self._drop(held, f"its scope {scope} ended") for held in ended)

    # --- the user's will -------------------------------------------------------------------------

    def pin(self, key: str) -> None:
        """The user pins an item: sticky until unpinned."""
        held = self.items.get(key) or Holding(key)
        self.items[key] = evolve(held, pin=Pin.STICKY, scope="", why="pinned by you")

    def unpin(self, key: str) -> bool:
        """The user removes a pin or a lease. True if there was one."""
        held = self.items.get(key)
        if held is None or held.pin is Pin.NONE:
            return False
        self.items[key] = evolve(held, pin=Pin.NONE, scope="", uses=0, why="")
        return True

    def rename(self, moved: Mapping[str, str]) -> None:
        """Give items new keys after files were renamed."""
        for old, new in moved.items():
            if (held := self.items.pop(old, None)) is not None:
                self.items[new] = evolve(held, key=new)

    # --- reading ---------------------------------------------------------------------------------

    def held(self, *pins: Pin) -> list[Holding]:
        """Items held so firmly, by key."""
        return sorted((h for h in self.items.values() if h.pin in pins), key=lambda h: h.key)

    def score(self, key: str) -> float:
        """Activation score of an item; 0 if it is unknown."""
        return self.items[key].score if key in self.items else 0.0

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        rows = [[h.key, str(h.pin), h.scope, h.score, h.uses, h.why] for h in self.items.values()]
        return {"turn": self.turn, "task": self.task, "items": rows}

    @classmethod
    def from_json(cls, value: Any) -> Holdings:
        """The holdings of JSON values; empty if they are invalid."""
        try:
            items = {
                str(key): Holding(
                    str(key), Pin(pin), _scope(scope), float(score), int(uses), str(why)
                )
                for key, pin, scope, score, uses, why in value["items"]
            }
            return cls(items, int(value["turn"]), str(value["task"]))
        except (KeyError, TypeError, ValueError):
            return cls()

    # --- helpers ---------------------------------------------------------------------------------

    def _promoted(self, held: Holding, by_user: bool) -> tuple[Holding, HoldingChange | None]:
        """Ephemeral becomes leased; a lease grows from the next turn to the task."""
        if held.pin not in (Pin.EPHEMERAL, Pin.LEASED):
            return held, None
        why = "you named it" if by_user else "the model used it"
        long = held.uses >= TASK_USES and bool(self.task)
        scope = f"task:{self.task}" if long else f"turn:{self.turn + 1}"
        if held.pin is Pin.LEASED and held.scope.startswith("task:"):
            return held, None
        what = "leased for the task" if long else "leased for the next turn"
        return (
            evolve(held, pin=Pin.LEASED, scope=scope, why=why),
            HoldingChange(
                held.key, what, f"{why} ({held.uses} {'use' if held.uses == 1 else 'uses'})"
            ),
        )

    def _drop(self, held: Holding, why: str) -> str:
        self.items[held.key] = evolve(held, pin=Pin.NONE, scope="", why="")
        if held.pin is Pin.LEASED:
            self.changes.append(HoldingChange(held.key, "lease ended", why))
        return held.key


def _scope(text: str) -> str:
    kind, _, which = text.partition(":")
    if text and (kind not in ("turn", "task") or (kind == "turn" and not which.isdigit())):
        raise ValueError(text)
    return text
