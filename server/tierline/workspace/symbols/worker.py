"""The index's own process: it reads, parses and ranks files beside the server.

One JSON object a line, both ways. Requests carry ``id`` and ``do``; answers carry the same ``id``;
what has no ``id`` is an event (``progress``, ``ready``, ``updated``). Work on many files is done in
small steps, between which requests are answered. The process lives as long as its standard input is
open.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from attrs import asdict

from tierline.context.retrieval.clusters import QueryCluster
from tierline.context.retrieval.evidence import FileTerms, PromptTerms
from tierline.context.retrieval.maps import MapChoice, blocks, by_rank, choose, scaffold, tree
from tierline.context.retrieval.rank import RankQuery, looks_like_test, rank_files, rank_symbols
from tierline.context.retrieval.symbol import SourceFile
from tierline.context.retrieval.words import query_terms
from tierline.workspace.ignore import repository
from tierline.workspace.reading import signature
from tierline.workspace.symbols.index import SymbolIndex, peak_memory
from tierline.workspace.symbols.places import Folder

POLL_SECONDS = 2.0
"""How often a branch switch is looked for while nothing else happens."""
PROGRESS_SECONDS = 0.2
SYMBOLS_PER_FILE = 3
MAX_AT_ONCE = 100
"""Files of one message that are read at once; more are read in steps."""
RECHOOSE_SHARE = 0.2
"""Share of the files: if more change at once (a branch switch), the map is chosen anew."""
MAX_RANKS = 2_000
_PATIENCE_SECONDS = 1.0
"""Least time that a scan runs before a change restarts it."""
_REST_SHARE = 20
"""Ranks are computed again only after this many times the duration of the last computation."""
Steps: TypeAlias = Generator[None, None, dict[str, Any]]
"""An answer that is made in steps."""
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


class Worker:
    """Answers requests about one workspace."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._send = send
        self._index: SymbolIndex | None = None
        self._scan: Iterator[tuple[int, int]] | None = None
        self._settled = 0.0
        """Monotonic time before which the ranks are not computed again."""
        self._making: deque[tuple[Any, Steps]] = deque()
        self._begun, self._patience, self._again = 0.0, _PATIENCE_SECONDS, False
        self._ready = False
        self._choices: dict[tuple[int, int], MapChoice] = {}
        self._heads: dict[str, Any] = {}
        self._told = 0.0
        self._cache: dict[str, SourceFile | None] = {}
        self._before: dict[str, str] | None = None
        """Hashes of the indexed files when the scan began; None if none runs."""

    @property
    def busy(self) -> bool:
        """True while files wait to be read or an answer is being made."""
        return self._scan is not None or bool(self._making)

    def handle(self, message: Mapping[str, Any]) -> None:
        """Answer one request, or begin to: a long answer is made in steps, between which other
        requests are answered. Errors are sent as answers.
        """
        try:
            answer = getattr(self, f"do_{message['do']}")(message)
        except Exception as error:
            answer = _failed(error)
        if isinstance(answer, Generator):
            self._making.append((message.get("id"), answer))
        else:
            self._send({"id": message.get("id"), **(answer or {})})

    def step(self) -> None:
        """Do a little of the waiting work; answers come before files."""
        if self._making:
            self._make()
            return
        assert self._scan is not None and self._index is not None
        try:
            done, total = next(self._scan)
        except StopIteration:
            self._scan = None
            if self._again:
                self._begin()
            return
        now = time.monotonic()
        if now - self._told > PROGRESS_SECONDS:
            self._told = now
            self._send({"event": "progress", "done": done, "total": total})

    def _make(self) -> None:
        """One step of the oldest answer in the making."""
        number, making = self._making[0]
        try:
            next(making)
            return
        except StopIteration as ended:
            answer = ended.value
        except Exception as error:
            answer = _failed(error)
        self._making.popleft()
        self._send({"id": number, **answer})

    def idle(self) -> None:
        """When there is nothing to do: look for a branch switch, update outdated ranks."""
        index = self._index
        if index is None or not self._ready:
            return
        heads = self._git_heads()
        if heads != self._heads:
            self._heads = heads
            self._begin()
        elif index.unsettled and time.monotonic() > self._settled:
            self._scan = self._settle(index)

    # --- requests --------------------------------------------------------------------------------

    def do_open(self, message: Mapping[str, Any]) -> None:
        """Open these folders and begin to index them."""
        if self._index is not None:
            self._index.close()
        folders = [Folder(str(f["prefix"]), str(f["real"])) for f in message["folders"]]
        database = Path(message["database"]) if message.get("database") else None
        self._index = SymbolIndex(folders, database)
        self._ready = False
        self._choices.clear()
        self._heads = self._git_heads()
        self._scan = self._before = None
        self._begin()

    def do_changed(self, message: Mapping[str, Any]) -> Steps:
        """Index files that were written, made, deleted or edited (``unsaved``: path to text)."""
        index = self._opened()
        began = time.perf_counter()
        paths = [str(path) for path in message["paths"]]
        files = [path for path in paths if not os.path.isdir(path)]
        if len(files) < len(paths) or len(paths) > MAX_AT_ONCE:
            self._begin()
        if len(files) > MAX_AT_ONCE:  # a branch switch: the scan takes them in small steps
            unsaved = message.get("unsaved") or {}
            files = [path for path in files if path in unsaved]
        keys = yield from index.changed(files, message.get("unsaved"))
        for key in keys:
            self._cache.pop(key, None)
        if keys and self._ready:
            self._send({"event": "updated", "keys": keys[:200], **self._figures()})
        return {"keys": keys, "ms": round(1000 * (time.perf_counter() - began), 2)}

    def do_rescan(self, message: Mapping[str, Any]) -> None:
        """Scan everything again; with ``fresh``, choose the map anew too."""
        self._opened()
        if message.get("fresh"):
            self._choices.clear()
        self._begin()

    def do_status(self, _message: Mapping[str, Any]) -> dict[str, Any]:
        """Progress and size of the index."""
        return self._figures()

    def do_rank(self, message: Mapping[str, Any]) -> Steps:
        """The files and symbols that a prompt is about."""
        index = self._opened()
        if not self._ready:
            return {"ready": False}
        text = str(message["text"])
        before = QueryCluster.from_json(message.get("phase"))
        for word in query_terms(text):
            index.corpus.rarity(word)  # computed now, then cached
            yield
        phase = before.next(text, rarity=index.corpus.rarity)
        same = phase.cluster == before.cluster
        query = RankQuery(
            text=text,
            context=tuple(message.get("context", ())),
            edited=tuple(message.get("edited", ())),
            active=str(message.get("active", "")),
            background=str(message.get("background", "")) if same else "",
        )
        found = yield from answer(index, query, int(message.get("limit", 24)), self._read)
        return {**found, "phase": phase.to_json()}

    def do_map(self, message: Mapping[str, Any]) -> Steps:
        """The module map, in blocks by folder."""
        index = self._opened()
        if not self._ready:
            return {"ready": False}
        tokens, per_file = int(message["tokens"]), int(message["per_file"])
        ranks = index.ranks()
        choice = self._choices.get((tokens, per_file))
        if choice is None:
            choice = choose(ranks, self._read, tokens=tokens, per_file=per_file, keep=_mappable)
            self._choices[tokens, per_file] = choice
            yield
        languages = [
            name for name, count in index.status.languages.items()
            if name not in ("text", "markdown") and count * 20 >= max(1, index.status.files)
        ]  # fmt: skip
        best = list(islice(by_rank(ranks), MAX_RANKS))
        yield
        shown = tree(index.corpus.by_path, limit=int(message.get("tree_lines", 40)))
        yield
        return {
            "ready": True,
            "blocks": [asdict(block) for block in blocks(choice, self._read)],
            "tree": shown,
            "scaffold": scaffold(
                choice, self._read, languages=sorted(languages), tools=bool(message.get("tools"))
            ),
            "ranks": {path: round(ranks[path], 6) for path in best},
            "files": index.status.files,
        }

    def do_find(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Symbols by name, in one file or everywhere: rows of path and symbol."""
        index = self._opened()
        name, path = str(message["name"]), str(message.get("path", ""))
        if path:
            there = index.corpus.by_path
            paths = [path] if path in there else [p for p in there if p.endswith("/" + path)][:20]
        else:
            last = name.replace("::", ".").rpartition(".")[2]
            ranks = index.ranks()
            paths = [index.corpus.entries[n].path for n in index.corpus.definers(last)]
            paths.sort(key=lambda p: (-ranks.get(p, 0.0), p))
        found: list[list[Any]] = []
        for known in paths[:20]:
            file = self._read(known)
            symbol = file.find(name) if file is not None and name else None
            if symbol is not None:
                found.append([known, symbol.row()])
            elif not name and file is not None:
                found.append([known, None])
        return {"found": found}

    def do_names(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Names of symbols that hold these letters, the likeliest first, with the file that is most
        central among those that define them.
        """
        index = self._opened()
        most = int(message["most"])
        ranks = index.ranks()
        found = []
        for name, numbers in index.corpus.names_like(str(message["letters"]), most):
            paths = (index.corpus.entries[n].path for n in numbers)
            found.append([name, min(paths, key=lambda p: (-ranks.get(p, 0.0), p)), len(numbers)])
        return {"names": found}

    def do_outline(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """All symbols of a file."""
        file = self._read(str(message["path"]))
        return {"symbols": [symbol.row() for symbol in file.symbols] if file else []}

    # --- helpers ---------------------------------------------------------------------------------

    def _opened(self) -> SymbolIndex:
        if self._index is None:
            raise RuntimeError("no folder is open")
        return self._index

    def _begin(self) -> None:
        """Scan everything. A running scan is restarted, but ever less often: otherwise none would
        end where files are written all the time.
        """
        index = self._opened()
        now = time.monotonic()
        if self._before is None:
            self._patience = _PATIENCE_SECONDS
            self._before = {path: stamp.sha for path, stamp in index.stamps.items()}
        elif now < self._begun + self._patience:
            self._again = True
            return
        else:  # files read by the abandoned scan are still to be reported
            self._patience *= 2
        self._begun, self._again = now, False
        self._scan = self._all_of(index)

    def _all_of(self, index: SymbolIndex) -> Iterator[tuple[int, int]]:
        """Read all waiting files; the first time, compute the ranks as well."""
        yield from index.scan()
        if not self._ready or self._much_changed(index):
            yield from self._settle(index)
        self._finished()

    def _much_changed(self, index: SymbolIndex) -> bool:
        before = self._before or {}
        changed = sum(before.get(path) != stamp.sha for path, stamp in index.stamps.items())
        return changed > RECHOOSE_SHARE * max(1, len(index.stamps))

    def _settle(self, index: SymbolIndex) -> Iterator[tuple[int, int]]:
        """Bring the ranks up to date; not after each edit, as it is slow in a large workspace."""
        began = time.process_time()
        count = len(index.stamps)
        for _ in index.settling():
            yield count, count
        self._settled = time.monotonic() + _REST_SHARE * (time.process_time() - began)

    def _finished(self) -> None:
        index = self._opened()
        after, before = index.stamps, self._before or {}
        changed = [p for p, stamp in after.items() if before.pop(p, None) != stamp.sha]
        changed += before
        self._before = None
        first, self._ready = not self._ready, True
        self._cache.clear()
        if not first and len(changed) > RECHOOSE_SHARE * max(1, len(after)):
            self._choices.clear()
        self._send({"event": "progress", "done": len(after), "total": len(after)})
        if first:
            self._send({"event": "ready", **self._figures()})
        elif changed:
            self._send({"event": "updated", "keys": sorted(changed)[:200], **self._figures()})

    def _figures(self) -> dict[str, Any]:
        index = self._opened()
        status = asdict(index.status)
        return {
            "status": status,
            "ready": self._ready,
            "scanning": self.busy,
            "memory": peak_memory(),
            "cpu": round(time.process_time(), 2),
        }

    def _read(self, path: str) -> SourceFile | None:
        if path not in self._cache:
            if len(self._cache) > 2_000:
                self._cache.clear()
            self._cache[path] = self._opened().file(path)
        return self._cache[path]

    def _git_heads(self) -> dict[str, Any]:
        heads: dict[str, Any] = {}
        for folder in self._opened().folders:
            git = repository(folder.real).git
            if git:
                head = os.path.join(git, "HEAD")
                heads[head] = (signature(head), signature(os.path.join(git, "index")))
        return heads


def _failed(error: Exception) -> dict[str, Any]:
    """The answer to a request that failed."""
    return {"error": f"{type(error).__name__}: {error}"}


def answer(
    index: SymbolIndex, query: RankQuery, limit: int, read: Callable[[str], SourceFile | None]
) -> Steps:
    """The answer to ``rank`` as it is sent to the server: files with their best symbols, and
    whether the prompt is about the code at all (``code``).
    """
    ranks = index.ranks()
    found = yield from rank_files(index.corpus, query, central=ranks, limit=limit)
    files = []
    asked = PromptTerms.of(query.text)
    about = False
    for ranked in found.files:
        yield
        file = read(ranked.path)
        if file is None:
            continue
        names = FileTerms.of(ranked.path, [s.name for s in file.symbols if s.kind != "heading"])
        meant = not ranked.hop and asked.means(names, index.corpus.rarity)
        about = about or meant or ranked.named
        symbols = rank_symbols(file.symbols, query, found.names, rarity=index.corpus.rarity)
        files.append(
            {
                **asdict(ranked),
                "meant": meant,
                "lines": file.lines,
                "language": file.language,
                "symbols": [
                    [symbol.row(), round(score, 3), why]
                    for symbol, score, why in symbols[:SYMBOLS_PER_FILE]
                ],
            }
        )
    rarity = {word: round(index.corpus.rarity(word), 3) for word in found.words}
    return {
        "ready": True,
        "code": about,
        "files": files,
        "names": list(found.names),
        "rarity": rarity,
    }


def _mappable(path: str) -> bool:
    return not looks_like_test(path) and not path.endswith((".md", ".markdown", ".json"))


def main() -> None:
    """Answer until standard input ends."""
    answers = os.dup(1)
    os.set_inheritable(answers, False)
    os.dup2(2, 1)  # prints must not get between the answers
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if hasattr(os, "nice"):
        os.nice(5)  # typing comes first
    gc.set_threshold(100_000, 20, 100)  # the records stay; collecting them is in vain

    def send(message: Mapping[str, Any]) -> None:
        data = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        _write(answers, data.encode("utf-8", "replace") + b"\n")

    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(waiting,), daemon=True).start()
    worker = Worker(send)
    while True:
        try:
            line = waiting.get(timeout=0.0005 if worker.busy else POLL_SECONDS)
        except queue.Empty:
            if worker.busy:
                worker.step()
            else:
                worker.idle()
            continue
        if not line:
            return
        worker.handle(json.loads(line))


def _read_lines(waiting: queue.SimpleQueue[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in sys.stdin.buffer:
            waiting.put(line)
    os._exit(0)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except OSError:
            os._exit(0)


if __name__ == "__main__":
    main()
