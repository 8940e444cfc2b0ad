"""Pins as a service: what the user holds, what is leased, what the model suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierline import protocol as p
from tierline.context.items import Pin
from tierline.context.retrieval.cards import card_key, card_of, parse_key
from tierline.errors import TierlineError

if TYPE_CHECKING:
    from tierline.session.session import Session

FILE = "file:"


class PinService:
    """Files and symbols alike. Only what is done here, by the user, makes anything sticky."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def listed(self, _params: p.NoParams) -> p.PinsResult:
        """What is held, and what is suggested."""
        await self._session.retrieval.attach()
        return self.info()

    async def suggestions(self, _params: p.NoParams) -> p.PinsResult:
        """Only what the model suggests."""
        await self._session.retrieval.attach()
        return p.PinsResult(suggested=self.info().suggested)

    async def add(self, params: p.PinItemParams) -> p.PinsResult:
        """Pin a file, or a symbol of it, until it is unpinned."""
        await self._session.retrieval.attach()
        if not params.symbol:
            result = await self._session.files.pin(p.FileParams(path=params.path))
            if result.refused:
                refused = result.refused[0]
                raise TierlineError("not_found", refused.reason, "Nothing was pinned.")
            return await self._changed()
        path = self._session.files.key(params.path)
        found = await self._session.symbols.find(params.symbol, path)
        symbol = found[0][1] if found else None
        if symbol is None:
            raise TierlineError(
                "not_found",
                f"There is no {params.symbol} in {params.path} (as it is on disk).",
                "Save the file, or name a symbol of its outline.",
            )
        key = card_key(found[0][0], symbol.qualified)
        self._session.retrieval.cards[key] = card_of(found[0][0], symbol)
        self._session.retrieval.holdings.pin(key)
        return await self._changed()

    async def remove(self, params: p.PinKeyParams) -> p.PinsResult:
        """Take a pin or a lease away; a file stays in the context."""
        await self._session.retrieval.attach()
        if params.key.startswith(FILE):
            await self._session.files.unpin(p.FileParams(path=params.key.removeprefix(FILE)))
        elif not self._session.retrieval.holdings.unpin(params.key):
            raise TierlineError("not_found", f"{params.key} is not held.", "List the pins.")
        return await self._changed()

    async def accept(self, params: p.PinKeyParams) -> p.PinsResult:
        """Pin what the model suggests."""
        await self._suggested(params.key)
        path, symbol = parse_key(params.key.removeprefix(FILE))
        result = await self.add(p.PinItemParams(path=path, symbol=symbol))
        self._forget(params.key)
        await self._session.retrieval.save()
        return p.PinsResult(result.pins, self.info().suggested)

    async def dismiss(self, params: p.PinKeyParams) -> p.PinsResult:
        """Drop a suggestion."""
        await self._suggested(params.key)
        self._forget(params.key)
        return await self._changed()

    # --- for the parts ---------------------------------------------------------------------------

    def info(self) -> p.PinsResult:
        """What is held now: pinned files, then cards, the most active first."""
        session = self._session
        pins = [
            p.PinInfo(
                key=f"{FILE}{entry.key}",
                path=entry.key,
                uri=session.loader.uri(entry.key),
                pin=entry.pin.value,  # type: ignore[arg-type]
                tokens=session.sizes.tokens(entry)[0],
                scope=entry.lease,
                why=entry.origin,
            )
            for entry in session.files.context.entries()
            if entry.pin is not Pin.NONE
        ]
        held = session.retrieval.holdings.held(Pin.STICKY, Pin.LEASED)
        pins += [
            self._card_info(h.key, h.pin, h.scope, h.score, h.why)
            for h in sorted(held, key=lambda h: (h.pin is not Pin.STICKY, -h.score, h.key))
        ]
        suggested = [
            self._card_info(s.key, Pin.NONE, "", session.retrieval.holdings.score(s.key), s.why)
            for s in session.retrieval.suggestions
        ]
        return p.PinsResult(pins, suggested)

    def publish(self) -> None:
        """Tell the client."""
        self._session.bus.publish(p.PinsChanged(self.info()))
        self._session.budget_soon()

    def _card_info(self, key: str, pin: Pin, scope: str, score: float, why: str) -> p.PinInfo:
        path, symbol = parse_key(key.removeprefix(FILE))
        card = self._session.retrieval.cards.get(key)
        return p.PinInfo(
            key=key,
            path=path,
            uri=self._session.loader.uri(path),
            pin=pin.value,
            symbol=symbol,
            line=card.line if card else 0,
            end=card.end if card else 0,
            tokens=self._session.composer.tokens_of(key),
            scope=scope,
            activation=score,
            why=why,
        )

    async def _changed(self) -> p.PinsResult:
        await self._session.retrieval.save()
        self.publish()
        return self.info()

    async def _suggested(self, key: str) -> None:
        await self._session.retrieval.attach()
        if all(s.key != key for s in self._session.retrieval.suggestions):
            raise TierlineError("not_found", f"{key} is not suggested.", "List the suggestions.")

    def _forget(self, key: str) -> None:
        retrieval = self._session.retrieval
        retrieval.suggestions = [s for s in retrieval.suggestions if s.key != key]
