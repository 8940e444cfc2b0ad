"""Pins, leases, promotion and activation as a state machine.

Seed 003:121-139 (pins, turns, lease scope), 151-163 (promotion, activation score), 202-204.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tierline.context.items import Pin
from tierline.context.retrieval.holdings import (
    FADE,
    MAX_LEASED,
    TASK_USES,
    WEIGHTS,
    Holdings,
)

KEYS = [f"card:src/m{n}.py#f{n}" for n in range(6)]
keys = st.lists(st.sampled_from(KEYS), unique=True, max_size=4)
TASKS = ["t1", "t2", "t3"]


class Course(RuleBasedStateMachine):
    """A conversation: turns with retrieval, replies and the user's pins, against a plain model."""

    def __init__(self) -> None:
        super().__init__()
        self.holdings = Holdings()
        self.running = False
        self.sticky: set[str] = set()
        self.scores: dict[str, float] = {}
        self.uses: dict[str, int] = {}
        """Uses since the item was last let go by the user, as far as it was held when used."""
        self.seen: set[str] = set()

    @initialize(task=st.sampled_from(TASKS))
    def begin(self, task: str) -> None:
        self.task = task

    # --- the user --------------------------------------------------------------------------------

    @rule(key=st.sampled_from(KEYS))
    def pin(self, key: str) -> None:
        self.holdings.pin(key)
        self.sticky.add(key)

    @rule(key=st.sampled_from(KEYS))
    def unpin(self, key: str) -> None:
        before = self.holdings.items.get(key)
        held = before is not None and before.pin is not Pin.NONE
        assert self.holdings.unpin(key) is held
        self.sticky.discard(key)

    # --- a turn ----------------------------------------------------------------------------------

    @precondition(lambda self: not self.running)
    @rule(task=st.sampled_from(TASKS), stay=st.booleans())
    def turn_begins(self, task: str, stay: bool) -> None:
        before = self.task
        self.task = before if stay else task
        number = self.holdings.turn
        self.holdings.begin_turn(self.task)
        self.running = True
        assert self.holdings.turn == number + 1
        if self.task != before:
            ended = [h for h in self.holdings.items.values() if h.scope == f"task:{before}"]
            assert not ended, "leases end with their task"

    @precondition(lambda self: self.running)
    @rule(offered=keys)
    def retrieved(self, offered: list[str]) -> None:
        before = {k: self.pin_of(k) for k in KEYS}
        self.holdings.offer(offered)
        for key in KEYS:
            if key in offered and before[key] in (Pin.NONE, Pin.EPHEMERAL):
                assert self.pin_of(key) is Pin.EPHEMERAL
            else:
                assert self.pin_of(key) is before[key], "a lease or a pin is not lowered to a hook"

    @precondition(lambda self: self.running)
    @rule(planned=keys, quoted=keys, named=keys, hops=keys, cluster=keys)
    def turn_ends(
        self,
        planned: list[str],
        quoted: list[str],
        named: list[str],
        hops: list[str],
        cluster: list[str],
    ) -> None:
        before = {k: (self.pin_of(k), self.scope_of(k)) for k in KEYS}
        used_before = {k: self.uses_of(k) for k in KEYS}
        expected = {}
        signals = {"planned": planned, "quoted": quoted, "named": named, "hop": hops,
                   "cluster": cluster}  # fmt: skip
        for key in KEYS:
            gain = sum(WEIGHTS[name] for name, found in signals.items() if key in found)
            expected[key] = round(self.holdings.score(key) * FADE + gain, 4)
        promoted = self.holdings.observe(
            planned=planned, quoted=quoted, named=named, hops=hops, cluster=cluster
        )
        for key in KEYS:
            assert self.holdings.score(key) == expected[key], "the activation score"
            pin, scope = before[key]
            used = key in quoted or key in named
            if pin is Pin.STICKY or pin is Pin.NONE or not used:
                assert self.pin_of(key) is pin, "only what is held and used is promoted"
                assert self.scope_of(key) == scope
            else:
                assert self.pin_of(key) is Pin.LEASED, "a used hook becomes leased"
                long = used_before[key] + 1 >= TASK_USES or scope.startswith("task:")
                at = f"task:{self.task}" if long else f"turn:{self.holdings.turn + 1}"
                assert self.scope_of(key) == at
        assert {c.key for c in promoted} <= {*quoted, *named}
        assert all(c.why for c in promoted), "persist what was promoted and why (seed 003:199)"
        gone = self.holdings.end_turn()
        self.running = False
        now = f"turn:{self.holdings.turn}"
        assert not [h for h in self.holdings.items.values() if h.scope == now]
        assert not [h for h in self.holdings.items.values() if h.pin is Pin.EPHEMERAL]
        assert not set(gone) & self.sticky

    @precondition(lambda self: self.running)
    @rule()
    def turn_breaks_off(self) -> None:
        """No reply and no reflection: the server was killed."""
        self.running = False
        self.holdings = Holdings.from_json(self.holdings.to_json())
        self.turn_begins(self.task, True)

    @precondition(lambda self: not self.running)
    @rule()
    def restart(self) -> None:
        self.holdings = Holdings.from_json(self.holdings.to_json())

    @precondition(lambda self: not self.running)
    @rule(key=st.sampled_from(KEYS))
    def fork(self, key: str) -> None:
        """A branch inherits by copy: what is done there is not done here (design, section 7)."""
        there = self.holdings.copy()
        assert there.to_json() == self.holdings.to_json()
        before = self.holdings.to_json()
        there.pin(key)
        there.begin_turn("t9")
        there.offer([key])
        there.end_turn()
        assert self.holdings.to_json() == before

    # --- always ----------------------------------------------------------------------------------

    @invariant()
    def only_the_user_makes_sticky(self) -> None:
        found = {h.key for h in self.holdings.held(Pin.STICKY)}
        assert found == self.sticky, "seed 003:154: only user pins as sticky"

    @invariant()
    def scopes_are_whole(self) -> None:
        for held in self.holdings.items.values():
            if held.pin is Pin.EPHEMERAL:
                assert held.scope == f"turn:{self.holdings.turn}"
            elif held.pin is Pin.LEASED:
                kind, _, which = held.scope.partition(":")
                assert kind in ("turn", "task") and which
                if kind == "task":
                    assert which == self.task
                else:
                    assert int(which) >= self.holdings.turn
            else:
                assert held.scope == ""
            assert held.score >= 0

    @invariant()
    def leases_are_few(self) -> None:
        if not self.running:
            assert len(self.holdings.held(Pin.LEASED)) <= MAX_LEASED

    # --- helpers ---------------------------------------------------------------------------------

    def pin_of(self, key: str) -> Pin:
        return self.holdings.items[key].pin if key in self.holdings.items else Pin.NONE

    def scope_of(self, key: str) -> str:
        return self.holdings.items[key].scope if key in self.holdings.items else ""

    def uses_of(self, key: str) -> int:
        return self.holdings.items[key].uses if key in self.holdings.items else 0


Course.TestCase.settings = settings(stateful_step_count=30, deadline=None)
TestCourse = Course.TestCase
