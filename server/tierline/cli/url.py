"""``tierline url``: the web pages that go with the prompts of the newest session (docs/urls.md).

The same pages as in the editor: one list in the session's log, one text per page in the cache.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from tierline.cli.common import (
    _Json,
    _Root,
    console,
    home_of,
    in_session,
    out,
    print_json,
    say,
    tell,
    write,
)
from tierline.context.display import printable
from tierline.localization.translator import translate, translate_label

if TYPE_CHECKING:
    from tierline import protocol as p

app = typer.Typer()
url = typer.Typer(no_args_is_help=True, help="Web pages that go with the prompts.")
app.add_typer(url, name="url")

_Address = Annotated[str, typer.Argument(help="The address, or the key that list shows.")]


@url.command("add")
def url_add(
    address: Annotated[str, typer.Argument(help="http or https; private places are refused.")],
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Read a page and put it into the newest session's context. Known pages are not read again."""
    from tierline import protocol as p

    with console(stderr=True).status(translate(f"Reading {address}")):
        found = in_session(root, lambda s: s.urls.add(p.UrlParams(address)))
    _changed("In the context", found, as_json)


@url.command("list")
def url_list(root: _Root = Path(), as_json: _Json = False) -> None:
    """List the pages of the newest session's context."""
    from tierline import protocol as p

    pages: list[p.UrlInfo] = []
    if home_of(root).is_dir():  # looking must not leave a folder behind
        pages = in_session(root, lambda s: s.urls.listed(p.NoParams()), read_only=True).urls
    if as_json:
        print_json(pages)
    elif not pages:
        say("There are no web pages in the context. Add one: tierline url add ADDRESS.", "dim")
    else:
        table = Table(box=None)
        for name in ("key", "read", "title", "address"):
            table.add_column(translate_label(name), no_wrap=name == "key")
        table.add_column(translate_label("tokens"), justify="right")
        for one in pages:
            cells = (one.key, one.fetched[:10], one.title or "–", one.url, f"{one.tokens:,}")
            table.add_row(*map(Text, map(printable, cells)))
        out.print(table)


@url.command("show")
def url_show(address: _Address, root: _Root = Path(), as_json: _Json = False) -> None:
    """Print the text of a page as the model is given it."""
    from tierline import protocol as p

    found = in_session(root, lambda s: s.urls.show(p.UrlParams(address)), read_only=True)
    if as_json:
        print_json(found)
    else:
        write(found.text.rstrip("\n"))


@url.command("refresh")
def url_refresh(address: _Address, root: _Root = Path(), as_json: _Json = False) -> None:
    """Read a page again. If that fails, it stays as it was."""
    from tierline import protocol as p

    with console(stderr=True).status(translate(f"Reading {address}")):
        found = in_session(root, lambda s: s.urls.refresh(p.UrlParams(address)))
    _changed("Read again", found, as_json)


@url.command("remove")
def url_remove(address: _Address, root: _Root = Path(), as_json: _Json = False) -> None:
    """Take a page out of the context. Its text stays in the cache."""
    from tierline import protocol as p

    found = in_session(root, lambda s: s.urls.remove(p.UrlParams(address)))
    if as_json:
        print_json(found)
    else:
        tell("The page is no longer in the context.")


def _changed(what: str, found: p.UrlsResult, as_json: bool) -> None:
    if as_json:
        print_json(found)
    elif found.added is not None:
        page = found.added
        tell(
            f"{what}: {page.title or page.url}, {page.tokens:,} tokens, as read on "
            f"{page.fetched[:10]}."
        )
    for notice in found.notices:
        say(notice, "yellow")
