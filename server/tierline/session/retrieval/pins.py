"""The pin service: sticky pins, leases, and pins that the model suggests."""

from __future__ import annotations

from attrs import define

from tierline import protocol as p
from tierline.context.items import Pin
from tierline.context.retrieval.cards import card_key, card_of, parse_key
from tierline.errors import TierlineError
from tierline.session.events import EventBus
from tierline.session.files.service import FileService
from tierline.session.files.sizes import FileSizes
from tierline.session.retrieval.service import RetrievalService
from tierline.session.retrieval.symbols import SymbolService
from tierline.session.state.plan import LastPlan

FILE = "file:"


@define(eq=False, repr=False, slots=False)
class PinService:
    """Pins of files and symbols. Only these requests, by the user, make anything sticky."""

    _bus: EventBus
    _files: FileService
    _sizes: FileSizes
    _symbols: SymbolService
    _retrieval: RetrievalService
    _last: LastPlan

    async def listed(self, _params: p.NoParams) -> p.PinsResult:
        """Pins, leases and suggestions."""
        await self._retrieval.attach()
        return self.info()

    async def suggestions(self, _params: p.NoParams) -> p.PinsResult:
        """The model's suggestions alone."""
        await self._retrieval.attach()
        return p.PinsResult(suggested=self.info().suggested)

    async def add(self, params: p.PinItemParams) -> p.PinsResult:
        """Pin a file, or a symbol of it, until it is unpinned.

        Raises:
            TierlineError: ``not_found``: the file is refused, or the symbol is unknown;
                ``conflict``: the index cannot answer now.
        """
        await self._retrieval.attach()
        if not params.symbol:
            result = await self._files.pin(p.FileParams(path=params.path))
            if result.refused:
                refused = result.refused[0]
                raise TierlineError("not_found", refused.reason, "Nothing was pinned.")
            return await self._changed()
        path = self._files.key(params.path)
        found = await self._symbols.find(params.symbol, path)
        symbol = found[0][1] if found else None
        if symbol is None:
            raise TierlineError(
                "not_found",
                f"There is no {params.symbol} in {params.path} (as it is on disk).",
                "Save the file, or name a symbol of its outline.",
            )
        key = card_key(found[0][0], symbol.qualified)
        self._retrieval.cards[key] = card_of(found[0][0], symbol)
        self._retrieval.holdings.pin(key)
        return await self._changed()

    async def remove(self, params: p.PinKeyParams) -> p.PinsResult:
        """Remove a pin or a lease; a file stays in the context.

        Raises:
            TierlineError: ``not_found``: the item is not held.
        """
        await self._retrieval.attach()
        if params.key.startswith(FILE):
            await self._files.unpin(p.FileParams(path=params.key.removeprefix(FILE)))
        elif not self._retrieval.holdings.unpin(params.key):
            raise TierlineError("not_found", f"{params.key} is not held.", "List the pins.")
        return await self._changed()

    async def accept(self, params: p.PinKeyParams) -> p.PinsResult:
        """Pin an item that the model suggests."""
        await self._suggested(params.key)
        path, symbol = parse_key(params.key.removeprefix(FILE))
        result = await self.add(p.PinItemParams(path=path, symbol=symbol))
        self._retrieval.forget(params.key)
        await self._retrieval.save()
        return p.PinsResult(result.pins, self.info().suggested)

    async def dismiss(self, params: p.PinKeyParams) -> p.PinsResult:
        """Drop a suggestion."""
        await self._suggested(params.key)
        self._retrieval.forget(params.key)
        return await self._changed()

    # --- for the parts ---------------------------------------------------------------------------

    def info(self) -> p.PinsResult:
        """Held items: pinned files, then cards, the most active first."""
        pins = [
            p.PinInfo(
                key=f"{FILE}{entry.key}",
                path=entry.key,
                uri=self._files.loader.uri(entry.key),
                pin=entry.pin,
                tokens=self._sizes.tokens(entry)[0],
                scope=entry.lease,
                why=entry.origin,
            )
            for entry in self._files.context.entries()
            if entry.pin is not Pin.NONE
        ]
        held = self._retrieval.holdings.held(Pin.STICKY, Pin.LEASED)
        pins += [
            self._card_info(h.key, h.pin, h.scope, h.score, h.why)
            for h in sorted(held, key=lambda h: (h.pin is not Pin.STICKY, -h.score, h.key))
        ]
        suggested = [
            self._card_info(s.key, Pin.NONE, "", self._retrieval.holdings.score(s.key), s.why)
            for s in self._retrieval.suggestions
        ]
        return p.PinsResult(pins, suggested)

    def publish(self) -> None:
        """Publish the pins to the clients."""
        self._bus.publish(p.PinsChanged(self.info()))
        self._bus.context_changed()

    def _card_info(self, key: str, pin: Pin, scope: str, score: float, why: str) -> p.PinInfo:
        path, symbol = parse_key(key.removeprefix(FILE))
        card = self._retrieval.cards.get(key)
        return p.PinInfo(
            key=key,
            path=path,
            uri=self._files.loader.uri(path),
            pin=pin,
            symbol=symbol,
            line=card.line if card else 0,
            end=card.end if card else 0,
            tokens=self._last.tokens(key),
            scope=scope,
            activation=score,
            why=why,
        )

    async def _changed(self) -> p.PinsResult:
        await self._retrieval.save()
        self.publish()
        return self.info()

    async def _suggested(self, key: str) -> None:
        await self._retrieval.attach()
        if all(s.key != key for s in self._retrieval.suggestions):
            raise TierlineError("not_found", f"{key} is not suggested.", "List the suggestions.")
