"""Web pages in the context: read on the user's request, kept with their date, sent as data."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from attrs import evolve

from tierline import protocol as p
from tierline.context.counting import TokenCounter
from tierline.context.display import visible_text
from tierline.context.fences import render_file
from tierline.context.items import Item, Section
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.session.consents import ConsentService
from tierline.session.conversation import Conversation
from tierline.session.conversation.lists import SharedList
from tierline.session.events import EventBus
from tierline.session.models import ModelService
from tierline.session.state.plan import LastPlan
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn
from tierline.session.texts import in_thread_when_long
from tierline.workspace.mentions import links
from tierline.workspace.urls import fetch
from tierline.workspace.urls.cache import FOLDER, CachedPage, PageCache
from tierline.workspace.urls.extract import extract
from tierline.workspace.urls.guard import UrlRefused, parse

KEY_PREFIX = "url:"
_PRIORITY = 60
"""Priority: that of a file that is not pinned, as the user asked for both."""
MAX_LINKS = 5
"""Pasted links that one question is asked about."""
ANSWER_SECONDS = 120.0
"""Longest wait of a prompt for the answer; then it goes without the pages."""


class UrlService:
    """The pages of the conversation, in the order in which they were added."""

    def __init__(
        self,
        bus: EventBus,
        preferences: Preferences,
        conversation: Conversation,
        models: ModelService,
        consents: ConsentService,
        home: Path,
        last: LastPlan,
    ) -> None:
        self._bus = bus
        self._preferences = preferences
        self._conversation = conversation
        self._models = models
        self._consents = consents
        self._last = last
        self._cache = PageCache(str(home / FOLDER))
        self._pages: dict[str, CachedPage] = {}
        self._made: dict[str, tuple[tuple[object, ...], Item]] = {}
        """Cached items by address, with the values that they depend on."""
        self._lost: tuple[str, ...] = ()
        self._declined: set[str] = set()
        self._lock = asyncio.Lock()
        self._shared = SharedList(conversation, lambda now: now.urls, actions.urls, str)

    # --- requests --------------------------------------------------------------------------------

    async def add(self, params: p.UrlParams) -> p.UrlsResult:
        """Read a page, or take it from the cache, and put it into the context.

        Raises:
            TierlineError: ``url_…``: the address or the page is refused, with the reason.
        """
        url = _canonical(params.url)
        await self.settled()
        async with self._lock:
            page = await asyncio.to_thread(self._cache.get, url) or await self._read(url)
            self._pages[url] = page
        return await self._changed(url)

    async def refresh(self, params: p.UrlParams) -> p.UrlsResult:
        """Read a page of the context again. If that fails, it stays as it was."""
        await self.settled()
        url = self._listed(params.url)
        async with self._lock:
            self._pages[url] = await self._read(url)
        return await self._changed(url)

    async def remove(self, params: p.UrlParams) -> p.UrlsResult:
        """Take a page out of the context. It stays in the cache."""
        await self.settled()
        del self._pages[self._listed(params.url)]
        return await self._changed("")

    async def listed(self, _params: p.NoParams) -> p.UrlsResult:
        """The pages of the context."""
        await self.settled()
        return p.UrlsResult(self.infos())

    async def show(self, params: p.UrlParams) -> p.UrlText:
        """A page as the model gets it: from the context or the cache.

        Raises:
            TierlineError: ``not_found``: the page is neither listed nor cached.
        """
        url = self._find(params.url) or _canonical(params.url)
        page = self._pages.get(url) or await asyncio.to_thread(self._cache.get, url)
        if page is None:
            raise _not_listed(params.url)
        return p.UrlText(self._info(page), page.text)

    # --- for the session -------------------------------------------------------------------------

    def restore(self, addresses: Sequence[str]) -> None:
        """Restore the pages of an earlier run from the cache; blocking. Nothing is fetched."""
        self._hold(addresses)
        self._shared.set_known(addresses)

    def _hold(self, addresses: Iterable[str]) -> None:
        found = {url: self._cache.get(url) for url in addresses}
        self._pages = {url: page for url, page in found.items() if page is not None}
        self._lost = tuple(url for url, page in found.items() if page is None)

    async def settled(self) -> None:
        """Adopt another window's changes of the session's pages."""
        news = self._shared.changed_elsewhere()
        if news is not None:
            await asyncio.to_thread(self.restore, news)
            self._bus.publish(p.UrlsChanged(self.infos()))

    async def carry(self) -> None:
        """Store the current pages in a session that has just begun."""
        if self._pages:
            await self._conversation.act(actions.urls(self._pages))

    def lost(self) -> list[str]:
        """A sentence about pages that could not be restored."""
        names = ", ".join(self._lost)
        return [f"Pages that are no longer kept; add them again: {names}."] if names else []

    def items(self, counter: TokenCounter) -> tuple[Item, ...]:
        """The pages as items, cached: the same page gives the same bytes."""
        pages = list(self._pages.values())
        return tuple(self._item(page, counter) for page in pages)

    def key(self, address: str) -> str:
        """Key of the page at an address; empty if it is not in the context."""
        page = self._pages.get(address)
        return f"{KEY_PREFIX}{page.id}" if page is not None else ""

    async def known(self, address: str) -> CachedPage | None:
        """A page that was read before, whether or not it is in the context."""
        return self._pages.get(address) or await asyncio.to_thread(self._cache.get, address)

    def infos(self) -> list[p.UrlInfo]:
        """The pages of the context, for a client."""
        return [self._info(page) for page in self._pages.values()]

    async def offer(self, turn: Turn) -> None:
        """Ask about links that were pasted into a prompt. Nothing is read without a yes."""
        if self._preferences.settings.context.pasted_links == "never":
            return
        found = []
        for link in await in_thread_when_long(turn.text, links, turn.text):
            try:
                url = parse(link).url
            except UrlRefused:
                continue
            if url not in self._pages and url not in self._declined and url not in found:
                found.append(url)
        if not found:
            return
        found = found[:MAX_LINKS]
        what = "this page" if len(found) == 1 else f"these {len(found)} pages"
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                decision = await self._consents.ask_user(
                    "url",
                    f"Read {what} and send the text along?",
                    "\n".join(visible_text(url) for url in found),
                    "Tierline would ask the server for it now, without cookies or logins.",
                    turn_id=turn.group_id,
                )
        except TimeoutError:
            self._bus.notice("info", "The links were not read: nobody answered.", "url")
            return
        if not decision.allowed:
            self._declined.update(found)
            return
        for url in found:
            try:
                await self.add(p.UrlParams(url))
            except TierlineError as error:
                self._bus.notice("warning", f"{error.message} {error.advice}".strip(), error.code)

    def _item(self, page: CachedPage, counter: TokenCounter) -> Item:
        fits = (page, counter.model, counter.ratio, counter.accuracy)
        known = self._made.get(page.url)
        if known is not None and known[0] == fits:
            return known[1]
        text = rendered(page)
        made = Item.of_text(
            f"{KEY_PREFIX}{page.id}",
            Section.URLS,
            text,
            counter.count(text),
            priority=_PRIORITY,
            origin=f"added by you, read {page.fetched[:10]}",
            path=page.url,
        )
        self._made[page.url] = (fits, made)
        return made

    async def _read(self, url: str) -> CachedPage:
        try:
            fetched = await fetch.fetch(
                url,
                resolve=fetch.resolve_name,
                connect=fetch.connect_to,
                network=self._preferences.settings.network,
            )
            page = await asyncio.to_thread(extract, fetched)
        except UrlRefused as refused:
            raise _error(refused) from None
        made = CachedPage(
            url=fetched.url,
            final_url=fetched.final_url,
            title=page.title,
            media_type=fetched.media_type,
            fetched=self._conversation.store.timestamp(),
            text=page.text,
        )
        return await self._keep(made)

    async def _keep(self, page: CachedPage) -> CachedPage:
        from tierline.workspace.secrets import redact

        text, found = await asyncio.to_thread(redact, page.text)
        title, _ = redact(page.title)
        page = evolve(page, text=text, title=title, redacted=len(found))
        try:
            await asyncio.to_thread(self._cache.put, page)
        except OSError as error:
            self._bus.notice(
                "warning", f"The page is used, but could not be kept: {error.strerror}.", "url"
            )
        return page

    def _find(self, given: str) -> str:
        """The address of a page of the context, given by address, key or id; empty if none."""
        wanted = given.strip().removeprefix(KEY_PREFIX)
        for url, page in self._pages.items():
            if wanted in (url, page.id):
                return url
        try:
            url = parse(given).url
        except UrlRefused:
            return ""
        return url if url in self._pages else ""

    def _listed(self, given: str) -> str:
        url = self._find(given)
        if not url:
            raise _not_listed(given)
        return url

    async def _changed(self, url: str) -> p.UrlsResult:
        await asyncio.to_thread(lambda: self.items(self._models.counter()))  # long texts take time
        ours = list(self._pages)
        listed, problem = await self._shared.write(ours)
        if listed != ours:
            await asyncio.to_thread(self._hold, listed)
        infos = self.infos()
        self._bus.publish(p.UrlsChanged(infos))
        self._bus.context_changed()
        page = self._pages.get(url)
        notices = [problem] if problem else []
        if page is not None and page.redacted:
            secrets = "secret was" if page.redacted == 1 else "secrets were"
            notices.append(f"{page.redacted} {secrets} replaced in the text of the page.")
        return p.UrlsResult(infos, added=self._info(page) if page else None, notices=notices)

    def _info(self, page: CachedPage) -> p.UrlInfo:
        key = f"{KEY_PREFIX}{page.id}"
        listed = page.url in self._pages
        return p.of(
            p.UrlInfo,
            page,
            key=key,
            tokens=self._item(page, self._models.counter()).tokens if listed else 0,
            final_url=page.final_url if page.final_url != page.url else "",
            tier=self._last.tier(key),
        )


def rendered(page: CachedPage) -> str:
    """A page in its form in the prompt: fenced like a file, so that its text stays data."""
    return render_file(page.url, page.text, f"web page, read {page.fetched[:10]}")


def _canonical(given: str) -> str:
    try:
        return parse(given).url
    except UrlRefused as refused:
        raise _error(refused) from None


def _error(refused: UrlRefused) -> TierlineError:
    return TierlineError(refused.code, refused.message, refused.advice)


def _not_listed(given: str) -> TierlineError:
    return TierlineError(
        "not_found", f"{given[:200]} is not in the context.", "/url list shows the pages."
    )
