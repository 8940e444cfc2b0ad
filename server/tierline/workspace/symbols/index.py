"""The index of a workspace, kept up to date with the disk in steps that can be paused."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import sys
from collections.abc import Generator, Iterator, Mapping
from heapq import heapify, heappop
from pathlib import Path
from time import perf_counter

from attrs import define, evolve, field

from tierline import disk
from tierline.context.refusals import Refusal
from tierline.context.retrieval.corpus import Corpus, document
from tierline.context.retrieval.graph import ranking, run_to_end
from tierline.context.retrieval.symbol import SourceFile, Symbol
from tierline.workspace.decoding import decode
from tierline.workspace.secrets import redact
from tierline.workspace.symbols.database import FileRecord, FileStamp, SymbolDatabase
from tierline.workspace.symbols.extract import extract
from tierline.workspace.symbols.languages import syntax_of
from tierline.workspace.symbols.places import Folder, Places
from tierline.workspace.symbols.postings import DiskPostings

log = logging.getLogger(__name__)

MAX_BYTES = 600_000
"""Bytes; larger files are generated code or data, whose symbols would outnumber all others."""
MAX_MEMORY = 300_000_000
"""Resident bytes of the process above which no more files are indexed: 500 MB with the server."""
BEYOND = "more than the index's memory holds"
BATCH = 12
BIG = 10_000
_RANK_ITERATIONS = 30


@define
class IndexStatus:
    """Progress and size of the index."""

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
"""Modification time of an unsaved buffer's text: a later start reads the file again."""


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
        self.places = Places(folders, git_excludes, self._skip)
        self.database = SymbolDatabase(database)
        self._postings = DiskPostings()
        self.corpus = Corpus(self._postings, patient=True)
        self.status = IndexStatus()
        self._max_bytes = max_bytes
        self.stamps: dict[str, FileStamp] = {}
        """Stamps of the indexed files, by key."""
        self._unsaved: dict[str, bytes] = {}
        """Texts of open buffers by absolute path; they take precedence over the disk."""
        self._central: dict[str, float] | None = None
        self._ranks: dict[str, float] = {}
        self._loaded = False
        self._no_room = False

    # --- building --------------------------------------------------------------------------------

    def scan(self) -> Iterator[tuple[int, int]]:
        """Bring everything up to date. Yields (done, total) often, so that others can go on."""
        began = perf_counter()
        yield 0, 0
        if not self._loaded:
            yield from self._load()
        self.status.skipped = {}
        seen: set[str] = set()
        todo: list[str] = []
        for count, (key, path) in enumerate(self.places.found()):
            seen.add(self._known(key))
            if not self._current(key, path):
                todo.append(path)
            if count % 200 == 0:
                yield 0, count
        yield from self._leave_out(seen)
        del seen
        if len(todo) > BIG:  # the newest files first, as there may not be room for all
            todo.sort(key=lambda path: -_modified(path))
        self.status.total, self.status.done = len(todo), 0
        for start in range(0, len(todo), BATCH):
            if self._full():
                yield from self._exchange(todo[start:], start)
                break
            self._take(todo[start : start + BATCH])
            self.status.done = min(start + BATCH, len(todo))
            yield self.status.done, len(todo)
        self.status.done = len(todo)
        self._counted()
        self.status.seconds = perf_counter() - began

    def _known(self, key: str) -> str:
        """The string object that is held for an equal key, to save memory."""
        number = self.corpus.by_path.get(key)
        return key if number is None else self.corpus.entries[number].path

    def _leave_out(self, seen: set[str]) -> Iterator[tuple[int, int]]:
        """Forget files that were deleted."""
        for count, key in enumerate([key for key in self.stamps if key not in seen]):
            path = self.places.absolute(key)  # it may have been made during the walk
            if not (os.path.isfile(path) and self.places.wanted(path)):
                self._forget(key)
            if count % 200 == 0:
                yield 0, len(seen)

    def _full(self) -> bool:
        return self._no_room or resident() > MAX_MEMORY

    def _exchange(self, paths: list[str], start: int) -> Iterator[tuple[int, int]]:
        """Index files when there is no room for more: those that are indexed already, and others in
        place of files that were changed before them.
        """
        whole = start + len(paths)
        oldest = [(stamp.mtime, key) for key, stamp in self.stamps.items() if stamp.mtime >= 0]
        heapify(oldest)
        left_out = 0
        for count, path in enumerate(sorted(paths, key=lambda path: -_modified(path))):
            if self.places.key(path) not in self.stamps:
                modified = _modified(path)
                while oldest and not self._is_old(*oldest[0]):
                    heappop(oldest)
                if self._no_room or not oldest or oldest[0][0] >= modified:
                    left_out += 1
                    continue
                self._forget(heappop(oldest)[1])
                self.status.skipped[BEYOND] = self.status.skipped.get(BEYOND, 0) + 1
            self._take([path])
            if count % BATCH == 0:
                self.status.done = start + count
                yield start + count, whole
        if left_out:
            self.status.skipped[BEYOND] = self.status.skipped.get(BEYOND, 0) + left_out

    def _is_old(self, modified: int, key: str) -> bool:
        """True if a file is still indexed with this modification time."""
        stamp = self.stamps.get(key)
        return stamp is not None and stamp.mtime == modified

    def changed(
        self, paths: list[str], unsaved: Mapping[str, str] | None = None
    ) -> Generator[None, None, list[str]]:
        """Check files (absolute paths) that may have been written, made, deleted or edited. Returns
        the keys whose content has changed. Folders are not entered: a scan finds their files.

        ``unsaved`` has the texts of those with unsaved changes in the editor; for all other paths
        the disk counts. Made in steps.
        """
        keys: list[str] = []
        folders: set[str] | None = None
        for count, path in enumerate(dict.fromkeys(paths)):
            if count % BATCH == BATCH - 1:
                yield
            self._unsaved.pop(path, None)
            if unsaved is not None and path in unsaved:
                self._unsaved[path] = unsaved[path].encode("utf-8", "replace")
            key = self.places.key(path)
            if not key:
                continue
            before = self.stamps.get(key)
            if os.path.isfile(path) and self.places.wanted(path):
                if not self._current(key, path):
                    self._take([path])
            elif before is not None:
                self._forget(key)
            else:
                if folders is None:  # computed once: paths and files may be thousands
                    folders = {k[:at] for k in self.stamps for at in _slashes(k)}
                if key in folders:
                    keys += self._gone_below(key)
            if self.stamps.get(key) != before:
                keys.append(key)
        self._counted()
        return keys

    def _gone_below(self, folder: str) -> list[str]:
        """Forget the deleted files of a folder."""
        known = [key for key in self.stamps if key.startswith(folder + "/")]
        gone = [key for key in known if not os.path.exists(self.places.absolute(key))]
        for key in gone:
            self._forget(key)
        return gone

    def close(self) -> None:
        """Close the databases."""
        self.database.close()
        self._postings.close()

    # --- reading ---------------------------------------------------------------------------------

    def file(self, key: str) -> SourceFile | None:
        """What is known of a file."""
        return self.database.get(key)

    def central(self) -> dict[str, float]:
        """Rank of every file in the reference graph, by key; without regard to any prompt."""
        if self._central is None:
            run_to_end(self.settling())
        return self._ranks

    @property
    def unsettled(self) -> bool:
        """True if files have changed since the ranks were computed."""
        return self._central is None or self.corpus.stale

    def settling(self) -> Generator[None, None, None]:
        """Compute edges and ranks anew, in steps; the old ones hold until the end."""
        if self.corpus.crowded:
            yield from self.corpus.sweeping()
        self._central = self._ranks  # a later change resets it to None
        try:
            yield from self.corpus.connecting()
            edges = self.corpus.edges(fresh=False)
            entries = list(self.corpus.entries)
            jump = None
            if len(self.corpus) < len(entries):
                jump = {number: 1.0 for number, entry in enumerate(entries) if entry.alive}
            start = [self._ranks.get(entry.path, 0.0) for entry in entries]
            ranks = yield from ranking(
                edges,
                jump,
                tolerance=1e-5,
                max_iterations=_RANK_ITERATIONS,
                start=start if sum(start) > 0.5 else None,
            )
        except GeneratorExit:  # abandoned for more urgent work
            self._central = None
            raise
        self._ranks = {e.path: ranks[n] for n, e in enumerate(entries) if e.alive}
        if self._central is not None:
            self._central = self._ranks

    def ranks(self) -> dict[str, float]:
        """The ranks as they were last computed; a few edits hardly change them."""
        return self._ranks or self.central()

    # --- steps -----------------------------------------------------------------------------------

    def _load(self) -> Iterator[tuple[int, int]]:
        """Load the records of an earlier run."""
        self.stamps = self.database.stamps()
        for count, record in enumerate(self.database.all()):
            self._learn(record)
            if count % 100 == 99:
                yield 0, 0
        self.stamps = {
            entry.path: self.stamps[entry.path] for entry in self.corpus.entries if entry.alive
        }
        self._loaded = True

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

    def _take(self, paths: list[str]) -> None:
        """Read, extract and store some files."""
        made: list[tuple[FileRecord, FileStamp]] = []
        for path in paths:
            key = self._known(self.places.key(path))
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
            if not self._learn(record):
                self._forget(key)
                continue
            made.append((record, stamp))
            self.stamps[key] = stamp
        if made:
            try:
                self.database.put(made)
            except sqlite3.Error as error:
                log.warning("The symbol index was not written: %s", error)

    def _read(self, path: str) -> tuple[bytes, FileStamp] | None:
        if (text := self._unsaved.get(path)) is not None:
            return text, FileStamp(len(text), _UNSAVED, _sha(text))
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
        return data, FileStamp(status.st_size, status.st_mtime_ns, _sha(data))

    def _record(self, key: str, data: bytes) -> FileRecord | None:
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
        return FileRecord(_without_secrets(evolve(file, words="")), words)

    def _learn(self, record: FileRecord) -> bool:
        """Add a file to the corpus. False if the disk is full."""
        self._central = None
        try:
            self.corpus.put(record.file, record.words)
        except sqlite3.Error as error:
            if not self._no_room:
                log.warning("No more files are indexed: %s", error)
            self._no_room = True
            return False
        return True

    def _forget(self, key: str) -> None:
        if self.stamps.pop(key, None) is not None:
            self.database.delete([key])
        if self.corpus.remove(key):
            self._central = None

    def _skip(self, reason: str) -> None:
        self.status.skipped[reason] = self.status.skipped.get(reason, 0) + 1

    def _counted(self) -> None:
        self.status.files = len(self.stamps)
        self.status.symbols = self.corpus.symbols
        languages = +self.corpus.languages
        self.status.languages = dict(sorted(languages.items(), key=lambda kv: (-kv[1], kv[0])))


def resident() -> int:
    """Resident bytes of this process now, or at their peak; 0 where that is not known."""
    try:
        return int(disk.read("/proc/self/statm", 200).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return peak_memory()


def peak_memory() -> int:
    """Resident bytes of this process at their peak; 0 where that is not known."""
    try:
        import resource
    except ImportError:
        return 0
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else 1024 * found


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _slashes(key: str) -> Iterator[int]:
    return (at for at, letter in enumerate(key) if letter == "/")


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]  # shortened: one for each file is in memory


def _without_secrets(file: SourceFile) -> SourceFile:
    """Replace credentials in signatures, comments and attributes."""
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
