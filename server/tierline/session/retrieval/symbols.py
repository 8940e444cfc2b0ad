"""The symbol service: keeps the index up to date with the workspace, and its map at hand."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from attrs import field, frozen

from tierline import protocol as p
from tierline.context.mode import LIMITS
from tierline.context.retrieval.symbol import Symbol
from tierline.errors import TierlineError
from tierline.session.events import EventBus
from tierline.session.models import ModelService
from tierline.session.state.preferences import Preferences
from tierline.session.tools.toolbox import ToolService
from tierline.workspace.buffers import Buffer
from tierline.workspace.loader import Loader
from tierline.workspace.symbols.client import IndexUnavailable, SymbolClient

log = logging.getLogger(__name__)

START_DELAY_SECONDS = 0.25
"""The index starts only after the handshake and the first requests."""
CHANGE_DELAY_SECONDS = 0.15
"""Writes and keystrokes come in bursts: they are sent to the index this long after the first, or at
once before a prompt.
"""
MAX_BUFFER = 500_000
"""Characters of an unsaved text that is sent to the index; for a longer one the disk counts."""
EDITED = 20
"""Files that changed lately which are remembered."""
TREE_LINES = 40
TITLE = "Indexing symbols"


class Progress(Protocol):
    """Progress of work in the client (``$/progress``)."""

    def report(self, title: str, message: str, percent: int) -> None:
        """Begin or update; ``percent`` is 0 to 100."""

    def end(self, message: str) -> None:
        """End the progress."""


class NoProgress:
    """For clients that show no progress."""

    def report(self, title: str, message: str, percent: int) -> None:
        """See ``Progress``."""

    def end(self, message: str) -> None:
        """See ``Progress``."""


@frozen
class MapBlock:
    """A folder of the module map."""

    key: str
    text: str
    files: tuple[str, ...]


@frozen
class ModuleMap:
    """The newest map from the index."""

    blocks: tuple[MapBlock, ...] = ()
    """Most central folders first."""
    tree: str = ""
    scaffold: str = ""
    ranks: Mapping[str, float] = field(factory=dict)
    """Rank of the most referenced files in the reference graph."""


class SymbolService:
    """Owns the index's process. Used from the event loop's thread."""

    def __init__(
        self,
        bus: EventBus,
        preferences: Preferences,
        models: ModelService,
        tools: ToolService,
        loader: Loader,
        home: Path,
        progress: Progress | None = None,
    ) -> None:
        self._bus = bus
        self._preferences = preferences
        self._models = models
        self._tools = tools
        self._loader = loader
        self._home = home
        self._progress = progress or NoProgress()
        self._client = SymbolClient(self._on_event)
        self._state: p.SymbolsState = "starting" if self.enabled else "off"
        self._figures: Mapping[str, Any] = {}
        self._done = self._total = 0
        self._ready = asyncio.Event()
        self._changed: set[str] = set()
        self._told: list[str] = []
        """What else has changed, as it was told; its keys are still to be found."""
        self._telling = asyncio.Lock()
        self._flush: asyncio.Task[None] | None = None
        self._start: asyncio.Task[None] | None = None
        self._refresh: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._again = False
        self._map_for: tuple[int, int, bool] | None = None
        self.map = ModuleMap()
        self.edited: list[str] = []
        """Keys of recently changed files, the newest first."""
        self.updated: list[Callable[[], None]] = []
        """Called when the index has changed."""

    @property
    def enabled(self) -> bool:
        """False if the settings switch the index off, the workspace has no folder, or the session
        is read-only.
        """
        return (
            self._preferences.settings.symbols.enabled
            and len(self._loader.roots) > 0
            and not self._preferences.read_only
        )

    @property
    def ready(self) -> bool:
        """True once the whole workspace has been read."""
        return self._ready.is_set()

    # --- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the index after a delay, in a process of its own."""
        if self.enabled and self._start is None:
            self._start = asyncio.ensure_future(self._open(START_DELAY_SECONDS))

    async def close(self) -> None:
        """End the process."""
        tasks = [t for t in (self._start, self._flush, self._refresh) if t is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.close()

    def configured(self) -> None:
        """Called after new settings, which may switch the index on or off."""
        if self.enabled and self._state == "off":
            self._state = "starting"
            self._client = SymbolClient(self._on_event)
            self._start = None
            self.start()
        elif not self.enabled and self._state != "off":
            self._state = "off"
            self._ready.clear()
            self.map = ModuleMap()
            self._ending = asyncio.ensure_future(self._client.close())
            self._publish()

    def roots_changed(self) -> None:
        """Folders joined or left: keys change, so the index is rebuilt."""
        if self._state != "off":
            self._ready.clear()
            self._state = "starting"
            self._start = asyncio.ensure_future(self._open(0))

    async def _open(self, delay: float) -> None:
        await asyncio.sleep(delay)
        roots = self._loader.roots.all
        folders = [(f"{root.name}/" if len(roots) > 1 else "", root.real) for root in roots]
        try:
            # Opening a folder creates nothing in it; the first prompt does.
            database = self._home / "symbols.sqlite3" if self._home.is_dir() else None
            await self._client.open(folders, database)
        except (OSError, IndexUnavailable) as error:
            log.warning("The symbol index does not start: %s", error)
            self._state = "failed"
            self._figures = {"why": str(error)}
            self._publish()

    # --- changes ---------------------------------------------------------------------------------

    def documents_changed(self, uris: Iterable[str]) -> None:
        """Files were edited, saved, made or deleted; an open buffer takes precedence
        over the disk.
        """
        if self._state == "off":
            return
        uris = list(uris)
        newest = self._keys(uris[-EDITED:])
        self.edited = list(dict.fromkeys([*reversed(newest), *self.edited]))[:EDITED]
        self._changed.update(newest)
        self._told += uris[:-EDITED]  # a branch switch: to find all their keys takes long
        if self._changed or self._told:
            self._hand_on_soon()

    def _keys(self, uris: Sequence[str]) -> list[str]:
        keys = map(self._loader.key, uris)
        return [key for key in keys if key and not key.startswith(".tierline/")]

    def _hand_on_soon(self) -> None:
        if self._flush is None or self._flush.done():
            self._flush = asyncio.ensure_future(self._hand_on())

    async def _hand_on(self) -> None:
        await asyncio.sleep(CHANGE_DELAY_SECONDS)
        await self._tell()

    async def _tell(self) -> bool:
        """Send all changes so far to the index. True if its content changed."""
        async with self._telling:
            return await self._tell_now()

    async def _tell_now(self) -> bool:
        if self._told:
            told, self._told = self._told, []
            self._changed.update(await asyncio.to_thread(self._keys, told))
        keys, self._changed = sorted(self._changed), set()
        real = await asyncio.to_thread(self._real, keys) if keys else {}
        if not real:
            return False
        opened = real.keys() & self._loader.buffers.open_keys(self._loader.roots)
        texts = {key: text for key in opened if (text := self._unsaved(key)) is not None}
        try:
            answer = await self._client.ask(
                "changed",
                paths=sorted(real.values()),
                unsaved={real[key]: text for key, text in texts.items()},
            )
        except IndexUnavailable as error:
            log.debug("Changes are not indexed yet: %s", error)
            self._changed.update(keys)  # sent once the index is ready
            return False
        return bool(answer.get("keys"))

    def _real(self, keys: Iterable[str]) -> dict[str, str]:
        paths = {key: self._loader.roots.path_of(key) for key in keys}
        return {key: os.path.realpath(path) for key, path in paths.items() if path}

    def _unsaved(self, key: str) -> str | None:
        held = self._loader.buffers.get(key, self._loader.roots)
        if isinstance(held, Buffer) and len(held.text) <= MAX_BUFFER:
            return held.text
        return None

    def _on_event(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "progress":
            self._done, self._total = int(event["done"]), int(event["total"])
            if self._state in ("starting", "indexing"):
                self._state = "indexing"
                percent = round(100 * self._done / self._total) if self._total else 0
                self._progress.report(TITLE, f"{self._done} of {self._total} files", percent)
            return
        if kind == "failed":
            self._state = "failed"
            self._figures = {"why": f"{event['why']} See the log; reindex starts it again."}
            self._progress.end("The symbol index has failed.")
            self._publish()
            return
        self._figures = event
        if kind == "ready":
            self._state = "ready"
            self._ready.set()
            # Text that was typed meanwhile, or before the session began.
            self._changed.update(self._loader.buffers.open_keys(self._loader.roots))
            if self._changed:
                self._hand_on_soon()
            self._progress.end(f"{event['status']['files']} files")
        self.refresh_soon()
        self._publish()

    def _publish(self) -> None:
        self._bus.publish(p.SymbolsChanged(self._info()))
        for call in self.updated:
            call()

    # --- the map ---------------------------------------------------------------------------------

    def wanted(self) -> tuple[int, int, bool]:
        """The size of the map for mode and model: tokens, symbols per file, and whether the model
        has the tools to ask for more.
        """
        limits = LIMITS[self._preferences.mode]
        facts = self._models.facts()
        tools = bool(self._tools.specs())
        return limits.map_limit(facts.max_input_tokens), limits.map_symbols, tools

    def refresh_soon(self) -> None:
        """Ask the index for the map again; one request at a time."""
        self._again = True
        if self._refresh is None or self._refresh.done():
            self._refresh = asyncio.ensure_future(self._refreshed())

    async def _refreshed(self) -> None:
        while self._again:
            self._again = False
            await self._fetch()
        self._bus.context_changed()

    async def settle(self, seconds: float) -> None:
        """Bring the map up to date with mode and model, waiting at most ``seconds``."""
        if not self.enabled or self._state in ("off", "failed") or seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._ready.wait()
                if await self._tell():
                    self._again = True
                    self.refresh_soon()
                if self._refresh is not None and not self._refresh.done():
                    await asyncio.shield(self._refresh)
                if self._map_for != self.wanted():
                    await self._fetch()
        except TimeoutError:
            log.debug("The symbol index is not ready; the prompt goes without")

    async def _fetch(self) -> None:
        # In a thread: whether tools fit needs a count, and the first one loads a vocabulary.
        tokens, per_file, tools = wanted = await asyncio.to_thread(self.wanted)
        if tokens <= 0:
            self.map, self._map_for = ModuleMap(ranks=self.map.ranks), wanted
            return
        lines = max(8, min(TREE_LINES, tokens // 20))
        try:
            answer = await self._client.ask(
                "map", tokens=tokens, per_file=per_file, tree_lines=lines, tools=tools
            )
        except IndexUnavailable as error:
            log.debug("No module map: %s", error)
            return
        if answer.get("ready"):
            self._map_for = wanted
            self.map = ModuleMap(
                tuple(MapBlock(b["key"], b["text"], tuple(b["files"])) for b in answer["blocks"]),
                answer["tree"],
                answer["scaffold"],
                answer["ranks"],
            )

    # --- questions -------------------------------------------------------------------------------

    async def rank(self, **query: Any) -> Mapping[str, Any] | None:
        """The files that a prompt is about; None if the index does not answer in time."""
        if not self.ready:
            return None
        try:
            answer = await self._client.ask("rank", seconds=4.0, **query)
        except IndexUnavailable as error:
            log.debug("Nothing is retrieved: %s", error)
            return None
        return answer if answer.get("ready") else None

    async def find(self, name: str, path: str = "") -> list[tuple[str, Symbol | None]]:
        """Symbols by name, the most central file first; without a name, the file itself.

        Raises:
            TierlineError: ``conflict``: the index cannot answer now, or is switched off.
        """
        if self._state == "off":
            raise TierlineError(
                "conflict",
                "The symbol index is switched off, or no folder is open.",
                "Switch it on (symbols.enabled), or use the whole file.",
            )
        try:
            answer = await self._client.ask("find", name=name, path=path)
        except IndexUnavailable as error:
            raise TierlineError(
                "conflict", f"{error}", "Try again in a moment, or read the file."
            ) from error
        return [(found, Symbol.of(row) if row else None) for found, row in answer["found"]]

    async def names(
        self, letters: str, limit: int, seconds: float
    ) -> list[tuple[str, str, int]] | None:
        """Names that hold these letters: each with a file that defines it, and how many do. None if
        the index cannot say within these seconds, but may later.
        """
        if not self.ready:
            return None if self._state in ("starting", "indexing") else []
        try:
            answer = await self._client.ask("names", letters=letters, most=limit, seconds=seconds)
        except IndexUnavailable:
            return None
        return [(name, path, count) for name, path, count in answer["names"]]

    async def outline(self, path: str, seconds: float = 2.0) -> list[Symbol] | None:
        """All symbols of a file, as it is on disk; None if the index cannot say in time."""
        try:
            answer = await self._client.ask("outline", path=path, seconds=seconds)
        except IndexUnavailable:
            return None
        return [Symbol.of(row) for row in answer["symbols"]]

    async def status(self, _params: p.NoParams) -> p.SymbolsStatus:
        """Progress and size of the index."""
        return self._info()

    async def reindex(self, params: p.ReindexParams) -> p.SymbolsStatus:
        """Scan every file again; restarts an index that has failed."""
        if self.enabled:
            try:
                self._client.post("rescan", fresh=params.fresh)
            except IndexUnavailable:
                await self._client.close()
                self._client = SymbolClient(self._on_event)
                self._ready.clear()
                self._state = "starting"
                await self._open(0)
        return self._info()

    def _info(self) -> p.SymbolsStatus:
        status = self._figures.get("status", {})
        missing: Mapping[str, str] = status.get("missing", {})
        languages = [
            p.SymbolsLanguage(name, files) for name, files in status.get("languages", {}).items()
        ]
        languages += [p.SymbolsLanguage(name, 0, False, why) for name, why in missing.items()]
        why = str(self._figures.get("why", ""))
        if self._state == "off":
            why = "Switched off (symbols.enabled), or no folder is open."
        return p.SymbolsStatus(
            state=self._state,
            files=status.get("files", 0),
            symbols=status.get("symbols", 0),
            done=self._done if self._state == "indexing" else status.get("done", 0),
            total=self._total if self._state == "indexing" else status.get("total", 0),
            languages=languages,
            skipped=[p.SkippedFiles(r, n) for r, n in status.get("skipped", {}).items()],
            seconds=round(status.get("seconds", 0.0), 2),
            cpu_seconds=self._figures.get("cpu", 0.0),
            memory_bytes=self._figures.get("memory", 0),
            why=why,
        )
