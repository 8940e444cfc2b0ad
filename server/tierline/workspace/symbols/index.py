"""The index of a workspace: what is on disk, kept in step with it, in pieces that can be paused."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, perf_counter

from attrs import define, evolve, field, frozen

from tierline import disk
from tierline.context.refusals import Refusal
from tierline.context.retrieval.corpus import Corpus, document
from tierline.context.retrieval.graph import pagerank
from tierline.context.retrieval.symbol import SourceFile, Symbol
from tierline.workspace.decoding import decode
from tierline.workspace.folders import walk
from tierline.workspace.ignore import IgnoreRules
from tierline.workspace.secretfiles import secret_kind
from tierline.workspace.secrets import redact
from tierline.workspace.symbols.database import Record, Stamp, SymbolDatabase
from tierline.workspace.symbols.extract import extract
from tierline.workspace.symbols.languages import is_text, syntax_of

log = logging.getLogger(__name__)

MAX_BYTES = 600_000
"""Larger files are generated or data; their symbols would drown the others."""
MAX_FILES = 200_000
MAX_MEMORY = 300_000_000
"""Resident bytes of the process from which no more files are taken: with the server, 500 MB."""
BEYOND = "more than the index's memory holds"
_WALK_SECONDS = 300.0
"""After which no more files are looked for."""
BATCH = 12
BIG = 10_000
_RANK_ITERATIONS = 30


@frozen
class Folder:
    """A workspace folder: what its keys begin with (with a slash, or empty) and its real path."""

    prefix: str
    real: str


@define
class IndexStatus:
    """Where the index stands."""

    files: int = 0
    symbols: int = 0
    done: int = 0
    total: int = 0
    skipped: dict[str, int] = field(factory=dict)
    """Files that were left out, by reason."""
    missing: dict[str, str] = field(factory=dict)
    """Languages whose grammar is not installed, with the error."""
    languages: dict[str, int] = field(factory=dict)
    seconds: float = 0.0


_UNSAVED = -1
"""Stands for the time of a text that is on no disk; a later start so reads the file again."""


class SymbolIndex:
    """Files, symbols and ranks of the workspace. For one thread."""

    def __init__(
        self,
        folders: list[Folder],
        database: Path | None,
        *,
        git_excludes: str | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.folders = folders
        self.database = SymbolDatabase(database)
        self.corpus = Corpus()
        self.status = IndexStatus()
        self._max_bytes = max_bytes
        self._rules = {
            folder.real: IgnoreRules(folder.real, user_file=git_excludes) for folder in folders
        }
        self.stamps: dict[str, Stamp] = {}
        """What is indexed, by key."""
        self._unsaved: dict[str, bytes] = {}
        """Texts of open buffers by absolute path; they count before what is on disk."""
        self._symbols: dict[str, int] = {}
        self._central: dict[str, float] | None = None
        self._ranks: dict[str, float] = {}
        self._loaded = False

    # --- building --------------------------------------------------------------------------------

    def scan(self) -> Iterator[tuple[int, int]]:  # noqa: PLR0912
        """Bring everything up to date. Yields (done, total) often, so that others get a turn."""
        began = perf_counter()
        yield 0, 0
        if not self._loaded:
            yield from self._load()
        wanted: dict[str, str] = {}
        self.status.skipped = {}
        for folder in self.folders:
            for found in self._walk(folder):
                wanted[self._key(folder, found)] = found
                if len(wanted) >= MAX_FILES:
                    self._skip("too many files")
                    break
                if len(wanted) % 200 == 0:
                    yield 0, len(wanted)
        for number, path in enumerate([p for p in self.stamps if p not in wanted]):
            self._forget(path)
            if number % 200 == 0:
                yield 0, len(wanted)
        todo: list[tuple[str, str]] = []
        for number, (key, path) in enumerate(wanted.items()):
            if not self._current(key, path):
                todo.append((key, path))
            if number % 200 == 0:
                yield 0, len(wanted)
        if len(todo) > BIG:  # what was worked on last is worth most, if it is not all of it
            todo.sort(key=lambda one: -_modified(one[1]))
        self.status.total, self.status.done = len(todo), 0
        for start in range(0, len(todo), BATCH):
            batch = todo[start : start + BATCH]
            if resident() > MAX_MEMORY:
                rest = todo[start:]
                batch = [one for one in rest if one[0] in self.stamps]
                self.status.skipped[BEYOND] = len(rest) - len(batch)
                for at in range(0, len(batch), BATCH):
                    self._take(batch[at : at + BATCH])
                    yield start + at, len(todo)
                self.status.done = len(todo)
                break
            self._take(batch)
            self.status.done = min(start + BATCH, len(todo))
            yield self.status.done, len(todo)
        self._counted()
        self.status.seconds = perf_counter() - began

    def changed(self, paths: list[str], unsaved: Mapping[str, str] | None = None) -> list[str]:
        """Files (absolute paths) may have been written, made, deleted or edited. Returns the keys
        whose content is another now. Folders are not followed: a scan finds what they hold.

        ``unsaved`` has the texts of those that are open in the editor; for all other paths the disk
        counts again.
        """
        keys = []
        folders: set[str] | None = None
        for path in dict.fromkeys(paths):
            self._unsaved.pop(path, None)
            if unsaved is not None and path in unsaved:
                self._unsaved[path] = unsaved[path].encode("utf-8", "replace")
            folder = self._folder_of(path)
            if folder is None:
                continue
            key = self._key(folder, path)
            before = self.stamps.get(key)
            if os.path.isfile(path) and self._wanted(path):
                if not self._current(key, path):
                    self._take([(key, path)])
            elif before is not None:
                self._forget(key)
            else:
                if folders is None:  # once: there may be thousands of paths, and of files
                    folders = {k[:at] for k in self.stamps for at in _slashes(k)}
                if key not in folders:
                    continue
                for gone in [k for k in self.stamps if k.startswith(key + "/")]:
                    if not os.path.exists(self.absolute(gone)):
                        self._forget(gone)
                        keys.append(gone)
            if self.stamps.get(key) != before:
                keys.append(key)
        self._counted()
        return keys

    def close(self) -> None:
        """Release the database."""
        self.database.close()

    # --- reading ---------------------------------------------------------------------------------

    def file(self, key: str) -> SourceFile | None:
        """What is known of a file."""
        return self.database.get(key)

    def central(self) -> dict[str, float]:
        """Rank of every file in the reference graph, by key; without regard to any prompt."""
        if self._central is None:
            edges = self.corpus.edges()
            alive = [e.alive for e in self.corpus.entries]
            jump = {n: 1.0 for n, living in enumerate(alive) if living}
            start = [self._ranks.get(e.path, 0.0) for e in self.corpus.entries]
            warm = start if sum(start) > 0.5 else None
            ranks = pagerank(
                edges, jump, start=warm, tolerance=1e-5, max_iterations=_RANK_ITERATIONS
            )
            self._central = {
                entry.path: ranks[number]
                for number, entry in enumerate(self.corpus.entries)
                if entry.alive
            }
            self._ranks = self._central
        return self._central

    def ranks(self) -> dict[str, float]:
        """The ranks as they were computed last; a few edits change little about them."""
        return self._ranks or self.central()

    def absolute(self, key: str) -> str:
        """The path that a key means."""
        for folder in self.folders:
            if key.startswith(folder.prefix):
                return os.path.join(folder.real, *key[len(folder.prefix) :].split("/"))
        return key

    # --- steps -----------------------------------------------------------------------------------

    def _load(self) -> Iterator[tuple[int, int]]:
        """Take up what an earlier run left."""
        self.stamps = self.database.stamps()
        for count, record in enumerate(self.database.all()):
            self._learn(record)
            if count % 100 == 99:
                yield 0, 0
        known = set(self.corpus.by_path)
        self.stamps = {path: s for path, s in self.stamps.items() if path in known}
        self._loaded = True

    def _walk(self, folder: Folder) -> Iterator[str]:
        rules = self._rules[folder.real]

        def ignored(path: str) -> bool:
            inner = any(other.real == path for other in self.folders if other is not folder)
            return inner or path.endswith("/.tierline") or bool(rules.ignored(path, folder=True))

        until = monotonic() + _WALK_SECONDS
        try:
            for path in walk(
                folder.real, ignored, lambda _refusal: self._skip("unreadable"), until=until
            ):
                if self._wanted(path, ignored=False) and not rules.ignored(path):
                    yield path
        except TimeoutError:
            self._skip("folders that took too long")

    def _wanted(self, path: str, *, ignored: bool = True) -> bool:
        if syntax_of(path) is None and not is_text(path):
            return False
        if secret_kind(path):
            self._skip("secret")
            return False
        folder = self._folder_of(path)
        if folder is None or os.path.islink(path):
            return False
        return not (ignored and self._rules[folder.real].ignored(path))

    def _folder_of(self, path: str) -> Folder | None:
        found = [f for f in self.folders if path.startswith(f.real.rstrip(os.sep) + os.sep)]
        return max(found, key=lambda f: len(f.real), default=None)

    def _key(self, folder: Folder, path: str) -> str:
        return folder.prefix + os.path.relpath(path, folder.real).replace(os.sep, "/")

    def _current(self, key: str, path: str) -> bool:
        known = self.stamps.get(key)
        if known is None:
            return False
        if path in self._unsaved:
            return known.mtime == _UNSAVED and known.sha == _sha(self._unsaved[path])
        try:
            status = os.stat(path)
        except OSError:
            return False
        return known.size == status.st_size and known.mtime == status.st_mtime_ns

    def _take(self, batch: list[tuple[str, str]]) -> None:
        """Read, extract and store some files."""
        made: list[tuple[Record, Stamp]] = []
        for key, path in batch:
            read = self._read(path)
            if read is None:
                self._forget(key)
                continue
            data, stamp = read
            known = self.stamps.get(key)
            if known is not None and known.sha == stamp.sha:
                self.database.restamp(key, stamp)
                self.stamps[key] = stamp
                continue
            record = self._record(key, data)
            if record is None:
                self._forget(key)
                continue
            made.append((record, stamp))
            self.stamps[key] = stamp
            self._learn(record)
        if made:
            try:
                self.database.put(made)
            except sqlite3.Error as error:
                log.warning("The symbol index was not written: %s", error)

    def _read(self, path: str) -> tuple[bytes, Stamp] | None:
        if (text := self._unsaved.get(path)) is not None:
            return text, Stamp(len(text), _UNSAVED, _sha(text))
        try:
            with disk.open_read(path) as file:
                status = os.fstat(file.fileno())
                if status.st_size > self._max_bytes:
                    self._skip("too large")
                    return None
                data = file.read(self._max_bytes + 1)
        except (OSError, ValueError):
            self._skip("unreadable")
            return None
        return data, Stamp(status.st_size, status.st_mtime_ns, _sha(data))

    def _record(self, key: str, data: bytes) -> Record | None:
        raw = decode(data)
        if isinstance(raw, Refusal) or not hasattr(raw, "text"):
            self._skip("binary")
            return None
        text = raw.text
        syntax = syntax_of(key)
        file = SourceFile(key, "text", text.count("\n"), words=text)
        if syntax is not None and syntax.name not in self.status.missing:
            try:
                file = extract(key, text, syntax)
            except ImportError as error:
                self.status.missing[syntax.name] = str(error)
            except Exception:  # a grammar must not take the index down
                log.warning("Symbols of a %s file were not read", syntax.name, exc_info=True)
                self._skip("not understood")
        words = document(file)
        return Record(_without_secrets(evolve(file, words="")), words)

    def _learn(self, record: Record) -> None:
        self.corpus.put(record.file, record.words)
        self._symbols[record.file.path] = len(record.file.symbols)
        self._central = None

    def _forget(self, key: str) -> None:
        if self.stamps.pop(key, None) is not None:
            self.database.delete([key])
        self._symbols.pop(key, None)
        if self.corpus.remove(key):
            self._central = None

    def _skip(self, reason: str) -> None:
        self.status.skipped[reason] = self.status.skipped.get(reason, 0) + 1

    def _counted(self) -> None:
        self.status.files = len(self.stamps)
        self.status.symbols = sum(self._symbols.values())
        languages: dict[str, int] = {}
        for entry in self.corpus.entries:
            if entry.alive:
                languages[entry.language] = languages.get(entry.language, 0) + 1
        self.status.languages = dict(sorted(languages.items(), key=lambda kv: (-kv[1], kv[0])))


def resident() -> int:
    """Resident bytes of this process now, or at their peak; 0 where that is not known."""
    try:
        return int(disk.read("/proc/self/statm", 200).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _slashes(key: str) -> Iterator[int]:
    return (at for at, letter in enumerate(key) if letter == "/")


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _without_secrets(file: SourceFile) -> SourceFile:
    """Nothing that looks like a credential is kept in a signature, a comment or an attribute."""
    whole = "\n".join(f"{s.signature}\n{s.doc}\n{' '.join(s.attributes)}" for s in file.symbols)
    if not redact(whole)[1]:
        return file

    def clean(text: str) -> str:
        return redact(text)[0]

    symbols: list[Symbol] = [
        evolve(
            s,
            signature=clean(s.signature),
            doc=clean(s.doc),
            attributes=tuple(map(clean, s.attributes)),
        )
        for s in file.symbols
    ]
    return evolve(file, symbols=tuple(symbols))
