"""``tierline index``: what is derived from the log and the files, made anew with a progress bar.

None of it is the truth: deleting it loses nothing but the time to make it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tierline import protocol as p
from tierline.cli.common import (
    _Json,
    _Root,
    fail,
    home_of,
    in_session,
    print_json,
    progress_bar,
    say,
    tell,
)
from tierline.errors import TierlineError

if TYPE_CHECKING:
    from tierline.session.session import Session

app = typer.Typer()
index = typer.Typer(no_args_is_help=True, help="Indexes: of the history, symbols, meaning.")
app.add_typer(index, name="index")

_BATCH = 16
_BATCH_SECONDS = 120.0


@index.command("history")
def index_history(root: _Root = Path(), as_json: _Json = False) -> None:
    """Build the search index over the history anew, from the log."""
    from tierline.store.sessions import HistoryStore

    home = home_of(root)
    if not (home / "history.jsonl").is_file():
        raise _nothing("There is no history in this workspace yet.")
    store = HistoryStore(home.parent)
    began = time.monotonic()
    try:
        with progress_bar("History") as step:
            done = store.index.rebuild(step)
    finally:
        store.close()
    seconds = time.monotonic() - began
    if as_json:
        print_json(
            {"records": done.records, "skipped": done.skipped, "bytes": done.read,
             "seconds": round(seconds, 3)}
        )  # fmt: skip
    else:
        tell(f"{done.records:,} records ({done.read:,} bytes) in {seconds:.1f} s.")
    if done.skipped:
        say(f"{done.skipped:,} damaged lines were passed over.", "yellow")


@index.command("symbols")
def index_symbols(
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Read every file, also those that are unchanged.")
    ] = False,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Bring the symbol index up to date with the files. It is kept if the workspace has one."""
    with progress_bar("Symbols") as step:
        shown = _Steps(step)

        async def work(session: Session) -> p.SymbolsStatus:
            await _settled(session)
            if fresh and session.symbols.ready:
                await session.symbols.reindex(p.ReindexParams(fresh=True))
                await asyncio.sleep(0.3)
                await _settled(session)
            return await session.symbols.status(p.NoParams())

        found = in_session(root, work, progress=shown)
    if as_json:
        print_json(found)
    elif found.state == "ready":
        tell(f"{found.symbols:,} symbols in {found.files:,} files, {found.seconds:.1f} s of work.")
    if found.state != "ready":
        fail(f"The symbol index is {found.state}. {found.why}".strip())


@index.command("meaning")
def index_meaning(root: _Root = Path(), as_json: _Json = False) -> None:
    """Embed every turn of the history that is not embedded yet, with the model on this machine."""
    if not (home_of(root) / "history.jsonl").is_file():
        raise _nothing("There is no history in this workspace yet.")
    with progress_bar("Turns") as step:
        done, total = in_session(root, lambda s: asyncio.to_thread(_embed, s, step))
    if as_json:
        print_json({"turns": total, "embedded": done})
    else:
        tell(f"{done:,} of {total:,} turns are embedded.")
    if done < total:
        fail("The model stopped answering. Run tierline doctor, then this again.")


def _embed(session: Session, step: Callable[[int, int], None]) -> tuple[int, int]:
    """How many turns are embedded, and how many there are."""
    from tierline.context.text import sha256
    from tierline.history.groups import groups
    from tierline.session.retrieval.semantic import group_text

    embedder = session.meaning.embedder
    if not session.meaning.available:
        raise TierlineError(
            "unavailable",
            "There is no model for meaning on this machine, or memory.embeddings is off.",
            "Name a folder with one in memory.embedding_model; see docs/memory.md.",
        )
    store = session.conversation.store
    texts: dict[str, str] = {}
    for one in store.list_sessions():
        messages = tuple(store.iter_messages(one.session_id))
        texts |= {sha256(t): t for t in map(group_text, groups(messages)) if t}
    keys = list(texts)
    for at in range(0, len(keys), _BATCH):
        batch = keys[at : at + _BATCH]
        embedder.preload({key: texts[key] for key in batch})
        if not embedder.ready(batch, _BATCH_SECONDS):
            return at, len(keys)
        step(at + len(batch), len(keys))
    return len(keys), len(keys)


async def _settled(session: Session) -> None:
    """Wait until the index is ready, or will not be."""
    symbols = session.symbols
    while (await symbols.status(p.NoParams())).state in ("starting", "indexing"):  # noqa: ASYNC110
        await asyncio.sleep(0.05)


class _Steps:
    """The symbol index's own reports, as a bar."""

    def __init__(self, step: Callable[[int, int], None]) -> None:
        self._step = step

    def report(self, title: str, message: str, percent: int) -> None:  # noqa: ARG002
        """See ``Progress``."""
        self._step(percent, 100)

    def end(self, message: str) -> None:  # noqa: ARG002
        """See ``Progress``."""
        self._step(100, 100)


def _nothing(message: str) -> TierlineError:
    return TierlineError("not_found", message, "Name the folder with --root.")
