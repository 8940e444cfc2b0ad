"""The retrieval service: candidates for a prompt, held cards, and their scores after the turn.

Before a turn's first request ``prepare`` asks the index and makes the turn's ``RetrievalSet``;
``automatic`` returns the map, the held cards and the touchpoints for the composer; after the turn
``finished`` scores used cards, promotes, ends leases and stores the set with its reasons.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import asdict, define, evolve, field, frozen

from tierline import protocol as p
from tierline.context.counting import TokenCounter
from tierline.context.enforce import PlanCode
from tierline.context.items import Item, Pin, Section
from tierline.context.mode import LIMITS, ContextMode
from tierline.context.plan import ContextPlan, PlanEntry
from tierline.context.retrieval.cards import (
    Card,
    card_key,
    card_of,
    mentioned,
    parse_key,
    suggested_pins,
)
from tierline.context.retrieval.clusters import QueryCluster
from tierline.context.retrieval.holdings import HoldingChange, Holdings
from tierline.context.retrieval.maps import ANCHORS_KEY, SCAFFOLD_KEY, TREE_KEY
from tierline.context.retrieval.sets import RetrievalSet
from tierline.context.tiers.base import Signals
from tierline.errors import TierlineError
from tierline.history.parser import text_of
from tierline.session.conversation import Conversation
from tierline.session.files.service import FileService
from tierline.session.models import ModelService
from tierline.session.retrieval.capsules import CapsuleService
from tierline.session.retrieval.symbols import SymbolService
from tierline.session.retrieval.touchpoints import CardReader, gather
from tierline.session.retrieval.views import shown
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn, TurnQueue
from tierline.store.retrieval import RetrievalStore

log = logging.getLogger(__name__)

PINNED_LINES = 200
"""Most lines of a symbol that the user pinned."""
CANDIDATES = 24
"""Files that the index is asked for."""
BACKGROUND = 2
"""Earlier prompts of the task in a query."""
STORE_SECONDS = 5.0
"""Longest wait of a request for a set that is being stored."""


@frozen
class AutomaticContext:
    """Automatic context of a request."""

    items: tuple[Item, ...] = ()
    absent: tuple[PlanEntry, ...] = ()
    set_id: str = ""
    signals: Mapping[str, Signals] = field(factory=dict)


@frozen
class PinSuggestion:
    """A pin that the model suggests."""

    key: str
    """``file:<path>`` or ``card:<path>#<symbol>``."""
    why: str = "suggested by the model"


@define(eq=False, repr=False, slots=False)
class RetrievalService:
    """Used from the event loop's thread, but for ``automatic``."""

    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _files: FileService
    _symbols: SymbolService
    _capsules: CapsuleService
    store: RetrievalStore
    reader: CardReader = field(init=False)
    holdings: Holdings = field(factory=Holdings, init=False)
    phase: QueryCluster = field(factory=QueryCluster, init=False)
    cards: dict[str, Card] = field(factory=dict, init=False)
    """Held cards by key."""
    suggestions: list[PinSuggestion] = field(factory=list, init=False)
    on_pins: Callable[[], None] = field(default=lambda: None, init=False)
    """Called when pins, leases or suggestions change."""
    _for: tuple[str, str] | None = field(default=None, init=False)
    _turn: str = field(default="", init=False)
    _current: RetrievalSet | None = field(default=None, init=False)
    _stored: asyncio.Event = field(factory=asyncio.Event, init=False)
    """Set once the current set is in the store; until then only this object knows it."""
    _touchpoints: tuple[Item, ...] = field(default=(), init=False)
    _plan: ContextPlan | None = field(default=None, init=False)
    _line: str = field(default="", init=False)
    _prompts: list[str] = field(factory=list, init=False)
    _expanded: set[str] = field(factory=set, init=False)
    _peeked: tuple[str, str, tuple[Item, ...]] = field(factory=lambda: ("", "", ()), init=False)

    def __attrs_post_init__(self) -> None:
        self.reader = CardReader(self._files.loader)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    # --- before a request ------------------------------------------------------------------------

    async def prepare(self, turn: Turn) -> None:
        """Make the turn's retrieval set, once; a second request of the turn uses the same."""
        await self.attach()
        symbols = self._symbols
        mode = self._preferences.mode
        if mode is not ContextMode.OFF:
            await symbols.settle(self._preferences.settings.symbols.wait_seconds)
        if turn.group_id == self._turn:
            return
        self._turn, self._plan, self._line = turn.group_id, None, ""
        self._expanded.clear()
        before = self.phase.cluster
        found, self._touchpoints, self.phase = await self._retrieved(turn, mode)
        if self.phase.cluster != before:
            self._prompts.clear()
        self._prompts = [*self._prompts, turn.search_text][-BACKGROUND:]
        self.holdings.begin_turn(self.phase.task)
        self._current = found
        self._stored.clear()
        self.holdings.offer(c.card.key for c in found.included)
        self.cards |= {c.card.key: c.card for c in found.included}

    async def peek(self, turn: Turn) -> None:
        """The automatic context of a prompt, for a preview; nothing is changed."""
        await self.attach()
        found, items, _ = await self._retrieved(turn, self._preferences.mode)
        self._peeked = (turn.group_id, found.set_id, items)

    async def _retrieved(
        self, turn: Turn, mode: ContextMode
    ) -> tuple[RetrievalSet, tuple[Item, ...], QueryCluster]:
        answer = await self._ask(turn) if mode is not ContextMode.OFF else None
        phase = (
            QueryCluster.from_json(answer["phase"]) if answer else self.phase.next(turn.search_text)
        )
        counter = self._models.counter()
        files, held = self._listed(), frozenset(self._held_keys())
        found, items = await asyncio.to_thread(
            self._gathered, turn, mode, answer, counter, files, held, phase
        )
        return found, items, phase

    async def _ask(self, turn: Turn) -> Mapping[str, Any] | None:
        files = self._files
        return await self._symbols.rank(
            text=turn.search_text,
            context=list(files.paths()),
            edited=self._symbols.edited[:10],
            active=files.key(turn.active_uri) if turn.active_uri else "",
            background="\n".join(self._prompts),
            phase=self.phase.to_json(),
            limit=CANDIDATES,
        )

    def _gathered(
        self,
        turn: Turn,
        mode: ContextMode,
        answer: Mapping[str, Any] | None,
        counter: TokenCounter,
        files: frozenset[str],
        held: frozenset[str],
        phase: QueryCluster,
    ) -> tuple[RetrievalSet, tuple[Item, ...]]:
        facts = self._models.facts()
        candidates, items = gather(
            answer or {},
            LIMITS[mode],
            most_tokens=LIMITS[mode].tokens(facts.max_input_tokens),
            reader=self.reader,
            count=counter.count,
            in_context=files,
            held=held,
        )
        note = ""
        if mode is ContextMode.OFF:
            note = "Context mode off retrieves nothing."
        elif answer is None:
            note = "The symbol index was not ready, so that nothing was retrieved."
        elif not answer["code"]:
            note = "Nothing was retrieved: the prompt says nothing that this code is named after."
        made = RetrievalSet(
            group_id=turn.group_id,
            query=turn.text[:2000],
            mode=mode.value,
            cluster=phase.cluster,
            task=phase.task,
            words=tuple((answer or {}).get("rarity", {})),
            names=tuple((answer or {}).get("names", ())),
            candidates=tuple(candidates),
            note=note,
        )
        return made, tuple(items)

    # --- for the composer ------------------------------------------------------------------------

    def automatic(self, turn: Turn | None, counter: TokenCounter) -> AutomaticContext:
        """The module map, held cards and, for a turn, its touchpoints. Reads files: blocking."""
        mode = self._preferences.mode
        held = self._held_items(mode, counter)
        ranks = self._symbols.map.ranks
        signals = {f"file:{path}": Signals(references=rank) for path, rank in ranks.items()}
        if mode is ContextMode.OFF:
            return AutomaticContext(tuple(held), signals=signals)
        shown, absent = self._map_items(mode, counter)
        for block in self._symbols.map.blocks:
            total = sum(ranks.get(path, 0.0) for path in block.files)
            signals[block.key] = Signals(references=total)
        set_id: str = ""
        touchpoints: tuple[Item, ...] = ()
        if turn is not None and turn.group_id == self._turn and self._current is not None:
            set_id, touchpoints = self._current.set_id, self._touchpoints
        elif turn is not None and turn.group_id == self._peeked[0]:
            _, set_id, touchpoints = self._peeked
        return AutomaticContext((*shown, *held, *touchpoints), tuple(absent), set_id, signals)

    def planned(self, turn: Turn, plan: ContextPlan, line: str) -> None:
        """Mark the cards that did not fit into a planned request."""
        if self._current is None or turn.group_id != self._turn:
            return
        self._plan, self._line = plan, line
        gone = frozenset(entry.key for entry in plan.excluded if not plan.includes(entry.key))
        self._current = self._current.without(gone)

    def _map_items(
        self, mode: ContextMode, counter: TokenCounter
    ) -> tuple[list[Item], list[PlanEntry]]:
        """Tree, note and blocks until the mode's limit is reached; the rest is named as absent."""
        found = self._symbols.map
        limit = LIMITS[mode].map_limit(self._models.facts().max_input_tokens)
        parts = [(SCAFFOLD_KEY, found.scaffold, 46), (TREE_KEY, found.tree, 45)]
        if found.blocks:
            parts.append((ANCHORS_KEY, self._capsules.anchors(found.ranks), 44))
        parts += [(block.key, block.text, 40) for block in found.blocks]
        items: list[Item] = []
        absent: list[PlanEntry] = []
        used = 0
        for key, text, priority in parts:
            if not text or not found.blocks:
                continue
            tokens = counter.count(text)
            if used + tokens > limit:
                reason = f"The module map takes at most {limit:,} tokens in mode {mode.value}."
                absent.append(
                    PlanEntry(key, Section.SYMBOLS, tokens, str(PlanCode.MODE_LIMIT), reason)
                )
                continue
            used += tokens
            items.append(
                Item.of_text(
                    key, Section.SYMBOLS, text, tokens, priority=priority, origin="module map"
                )
            )
        return items, absent

    def _held_items(self, mode: ContextMode, counter: TokenCounter) -> list[Item]:
        """Pinned and leased cards with their current text; they keep their order."""
        pins = (Pin.STICKY,) if mode is ContextMode.OFF else (Pin.STICKY, Pin.LEASED)
        listed = self._listed()
        touched = {item.key for item in self._touchpoints}
        items = []
        for held in self.holdings.held(*pins):
            card = self.cards.get(held.key)
            if card is None or card.path in listed or held.key in touched:
                continue
            lines = PINNED_LINES if held.pin is Pin.STICKY else LIMITS[mode].card_lines
            text = self.reader.render(evolve(card, why=""), lines)
            if text:
                items.append(
                    Item.of_text(
                        held.key,
                        Section.SYMBOLS,
                        text,
                        counter.count(text),
                        priority=60,
                        pin=held.pin,
                        origin=held.why,
                    )
                )
        return items

    def _listed(self) -> frozenset[str]:
        """Keys of files in the context whose text is sent."""
        return frozenset(entry.key for entry in self._files.context.entries() if not entry.reason)

    def _held_keys(self) -> Iterable[str]:
        return [held.key for held in self.holdings.held(Pin.STICKY, Pin.LEASED)]

    # --- after a turn ----------------------------------------------------------------------------

    async def finished(self, turn_id: str) -> None:
        """After a turn: score, promote, end leases, store the set, read suggestions."""
        found = self._current
        if found is None or turn_id != self._turn:
            return
        reply = "\n".join(
            text_of(m.content)
            for m in self._conversation.visible()
            if m.group_id == turn_id and m.role == "assistant"
        )
        keys = [c.card.key for c in found.included] + list(self._held_keys())
        promoted = self.holdings.observe(
            planned=[e.key for e in self._plan.included if e.key in keys] if self._plan else (),
            quoted=mentioned(reply, keys) | self._expanded,
            named=mentioned(found.query, keys),
            hops=[c.card.key for c in found.included if c.hop],
            cluster=[c.card.key for c in found.candidates] if self.phase.turns > 1 else (),
        )
        self.holdings.end_turn()
        changes = [_sentence(change) for change in self.holdings.changes]
        session_id = self._conversation.session_id
        value = {
            "set": found.to_json(),
            "line": self._line,
            "map_tokens": self._tokens(Section.SYMBOLS),
            "card_tokens": self._tokens(Section.RETRIEVED),
            "plan_id": self._plan.plan_id if self._plan else "",
            "activation": {key: self.holdings.score(key) for key in keys},
            "pins": {h.key: str(h.pin) for h in self.holdings.held(Pin.STICKY, Pin.LEASED)},
            "changes": changes,
        }
        await asyncio.to_thread(self.store.keep, session_id, turn_id, value)
        self._stored.set()
        suggested = await self._take_up(suggested_pins(reply))
        await self.save()
        if promoted or suggested or changes:
            self.on_pins()

    async def suggest(self, names: Iterable[str], why: str = "") -> list[str]:
        """Add pins that the model suggests, by tool or in its reply. Returns the keys of valid
        ones.
        """
        keys = await self._take_up(list(names), why)
        if keys:
            await self.save()
            self.on_pins()
        return keys

    def forget(self, key: str) -> None:
        """Drop a suggestion."""
        self.suggestions = [s for s in self.suggestions if s.key != key]

    async def _take_up(self, names: list[str], why: str = "") -> list[str]:
        keys = []
        for name in names:
            path, symbol = parse_key(name)
            try:
                found = await self._symbols.find(symbol, path)
            except TierlineError:
                break
            if not found:
                continue
            key = card_key(found[0][0], found[0][1].qualified) if found[0][1] else (
                f"file:{found[0][0]}"
            )  # fmt: skip
            if found[0][1] is not None:
                self.cards[key] = card_of(found[0][0], found[0][1])
            if self._pinned(key) or any(s.key == key for s in self.suggestions):
                continue
            keys.append(key)
            self.suggestions.append(PinSuggestion(key, why or "suggested by the model"))
        del self.suggestions[:-12]
        return keys

    def _pinned(self, key: str) -> bool:
        if key.startswith("file:"):
            entry = self._files.context.get(key.removeprefix("file:"))
            return entry is not None and entry.pin is Pin.STICKY
        held = self.holdings.items.get(key)
        return held is not None and held.pin is Pin.STICKY

    def _tokens(self, section: Section) -> int:
        return self._plan.section_tokens()[section] if self._plan else 0

    # --- state -----------------------------------------------------------------------------------

    async def attach(self) -> None:
        """Load the holdings of this branch of this session; a fork begins with a copy."""
        conversation = self._conversation
        now = (conversation.session_id, conversation.branch)
        if now == self._for:
            return
        stored = await asyncio.to_thread(self.store.held, *now)
        forked = self._for is not None and self._for[0] == now[0]
        self._for = now
        if stored is None and forked:
            self.holdings = self.holdings.copy()
            return
        stored = stored or {}
        self.holdings = Holdings.from_json(stored.get("holdings"))
        self.phase = QueryCluster.from_json(stored.get("phase"))
        self.cards = {}
        for row in stored.get("cards", ()):
            try:
                card = Card(**row | {"attributes": tuple(row["attributes"])})
            except (KeyError, TypeError):
                continue
            self.cards[card.key] = card
        self.suggestions = [
            PinSuggestion(str(key), str(why)) for key, why in stored.get("suggestions", ())
        ]
        self._prompts = []
        self._touchpoints = ()
        self._turn = ""

    async def save(self) -> None:
        """Store the holdings."""
        if self._for is None:
            await self.attach()
        assert self._for is not None
        wanted = {*self._held_keys(), *(s.key for s in self.suggestions)}
        self.cards = {key: card for key, card in self.cards.items() if key in wanted}
        value = {
            "holdings": self.holdings.to_json(),
            "phase": self.phase.to_json(),
            "cards": [asdict(card) for card in self.cards.values()],
            "suggestions": [[s.key, s.why] for s in self.suggestions],
        }
        await asyncio.to_thread(self.store.hold, *self._for, value)

    # --- requests --------------------------------------------------------------------------------

    async def get(self, params: p.RetrievalParams) -> p.RetrievalInfo:
        """The candidates of a turn, with reasons."""
        current = self._current
        meant = current is not None and self._turn and (
            params.turn_id == self._turn or params.set_id == current.set_id
            or not (params.turn_id or params.set_id)
        )  # fmt: skip
        if current is not None and meant and not await self._in_store():
            sizes = {
                "map_tokens": self._tokens(Section.SYMBOLS),
                "card_tokens": self._tokens(Section.RETRIEVED),
            }
            return shown(self._files.loader, current, {"line": self._line, **sizes})
        stored = await asyncio.to_thread(
            self.store.find,
            set_id=params.set_id,
            turn_id=params.turn_id,
            session_id=self._conversation.session_id,
        )
        if stored is None:
            return p.RetrievalInfo(
                set_id="", turn_id=params.turn_id, mode=self._preferences.mode,
                note="Nothing is known of what was retrieved for this prompt.",
            )  # fmt: skip
        return shown(self._files.loader, RetrievalSet.from_json(stored["set"]), stored)

    async def _in_store(self) -> bool:
        """False while the turn runs. Waits for the set of a turn that has just ended."""
        running = self._queue.current
        if not self._stored.is_set() and (running is None or running.finished):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stored.wait(), STORE_SECONDS)
        return self._stored.is_set()

    def candidates(self, turn_id: str) -> list[tuple[str, str]]:
        """Keys of the cards that were retrieved for a turn and left out, with the
        reason. Blocking.
        """
        current = self._current
        if current is None or current.group_id != turn_id:
            stored = self.store.find(
                set_id="", turn_id=turn_id, session_id=self._conversation.session_id
            )
            current = RetrievalSet.from_json(stored["set"]) if stored is not None else None
        return [(c.card.key, c.reason) for c in current.excluded] if current is not None else []

    async def code(self, params: p.CodeParams) -> p.CodeResult:
        """The body of a symbol, from the editor's buffer or disk; for clients and for the tool."""
        await self.attach()
        path, symbol = params.path, params.symbol
        if not path and ("#" in symbol):
            path, symbol = parse_key(symbol)
        key_path = self._files.key(path) if path else ""
        try:
            found = await self._symbols.find(symbol, key_path)
        except TierlineError as error:
            return p.CodeResult(False, f"{error.message} {error.advice}")
        if not found:
            name = f"{path}#{symbol}" if path and symbol else path or symbol
            hint = "Name a symbol of the module map, with its path, or read the file."
            return p.CodeResult(False, f"There is no {name or 'symbol'} in the index. {hint}")
        where, row = found[0]
        card = card_of(where, row) if row else Card(path=where, line=1, end=params.max_lines)
        text = await asyncio.to_thread(self.reader.body, card, params.max_lines)
        if text is None:
            return p.CodeResult(False, f"{card.title} cannot be read, or has changed: ask again.")
        self._expanded.add(card.key)
        others = [f"{other}#{symbol}" for other, _ in found[1:6]]
        if others:
            text += f"\nThere are others of this name: {', '.join(others)}."
        return p.CodeResult(True, text, card.key, where, card.line, card.end)


def _sentence(change: HoldingChange) -> str:
    path, symbol = parse_key(change.key)
    return f"{symbol or path}: {change.what}, because {change.why}."
