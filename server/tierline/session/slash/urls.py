"""Commands about web pages that are typed into the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierline import protocol as p
from tierline.errors import TierlineError

if TYPE_CHECKING:
    from tierline.session.session import Session


async def add(session: Session, rest: str) -> p.CommandResult:
    """Read a page into the context."""
    found = await session.urls.add(_address(rest, "/url <address>"))
    return _answer("In the context", found)


async def refresh(session: Session, rest: str) -> p.CommandResult:
    """Read a page again."""
    found = await session.urls.refresh(_address(rest, "/url refresh <address>"))
    return _answer("Read again", found)


async def remove(session: Session, rest: str) -> p.CommandResult:
    """Take a page out."""
    await session.urls.remove(_address(rest, "/url remove <address>"))
    return p.CommandResult("Web pages", "The page is no longer in the context.")


async def listed(session: Session, _rest: str) -> p.CommandResult:
    """All pages."""
    pages = session.urls.infos()
    lines = [
        f"- <{page.url}> · {page.title or 'no title'} · {page.tokens:,} tokens · "
        f"read {page.fetched[:10]}"
        for page in pages
    ]
    return p.CommandResult("Web pages", "\n".join(lines) or "No web pages are in the context.")


async def show(session: Session, rest: str) -> p.CommandResult:
    """The text of one page."""
    found = await session.urls.show(_address(rest, "/url show <address>"))
    title = found.info.title or found.info.url
    return p.CommandResult(title, found.text, document=True)


def _address(rest: str, usage: str) -> p.UrlParams:
    address = rest.strip().strip("<>")
    if not address or len(address.split()) != 1:
        raise TierlineError("invalid_params", "Which page?", f"Write {usage}.")
    return p.UrlParams(address)


def _answer(what: str, found: p.UrlsResult) -> p.CommandResult:
    page = found.added
    if page is None:
        return p.CommandResult("Web pages", "\n".join(found.notices))
    name = page.title or page.url
    text = f"{what}: {name}, {page.tokens:,} tokens, as read on {page.fetched[:10]}."
    return p.CommandResult("Web pages", " ".join((text, *found.notices)))
