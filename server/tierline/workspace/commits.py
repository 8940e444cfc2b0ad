"""Which files the newest commits touched, asked of git. Nothing of the repository's is run by it.

A repository's own configuration can name programs: signature checks, file-system monitors, remote
helpers that fetch missing objects. All are switched off, and git never speaks to a network here.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterable, Sequence

MOST_COMMITS = 400
MOST_BYTES = 4_000_000
"""Of output that is read: a commit may touch everything."""
SECONDS = 10.0
_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "protocol.allow=never",
    "-c", "core.quotePath=false", "-c", "core.pager=cat",
)  # fmt: skip
_ENV = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def newest(folder: str) -> list[frozenset[str]]:
    """The paths below ``folder``, relative to it, that each commit touched, the newest first;
    merges are left out. Empty without git or a history. Blocking, ten seconds at most.
    """
    raw = _git(
        folder, "log", "--no-merges", "--no-renames", "--no-ext-diff", "--name-only", "--relative",
        "-z", "-n", str(MOST_COMMITS), "--format=%x01",
    )  # fmt: skip
    # The last record may be cut.
    records = raw.split(b"\x01")[1:]
    if len(raw) >= MOST_BYTES:
        records = records[:-1]
    return [
        frozenset(os.fsdecode(name.lstrip(b"\n")) for name in record.split(b"\0") if name.strip())
        for record in records
    ]


def tracked(folder: str, paths: Sequence[str]) -> frozenset[str]:
    """Which of these paths, relative to ``folder``, git keeps. Blocking."""
    found: set[str] = set()
    for start in range(0, len(paths), 100):
        names = [f":(literal){path}" for path in paths[start : start + 100]]
        raw = _git(folder, "ls-files", "-z", "--", *names)
        found.update(os.fsdecode(name) for name in raw.split(b"\0") if name)
    return frozenset(found)


def head_state(git: str, common: str) -> tuple[tuple[int, int], ...]:
    """Changes when a commit is made or another one checked out. ``git`` and ``common`` are the
    repository's folders (``ignore.repository``).
    """
    return tuple(
        _stamp(path)
        for path in _unique(
            os.path.join(git, "HEAD"),
            os.path.join(git, "logs", "HEAD"),
            os.path.join(common, "packed-refs"),
        )
    )


def _unique(*paths: str) -> Iterable[str]:
    return dict.fromkeys(paths)


def _stamp(path: str) -> tuple[int, int]:
    try:
        now = os.stat(path)
    except OSError:
        return (0, 0)
    return (now.st_mtime_ns, now.st_size)


def _git(folder: str, *arguments: str) -> bytes:
    """Standard output of a git command, as far as it came; empty on failure."""
    try:
        process = subprocess.Popen(  # noqa: S603
            ["git", "-C", folder, *_SAFE, *arguments],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENV},
        )
    except OSError:
        return b""
    late = threading.Timer(SECONDS, process.kill)
    late.start()
    try:
        assert process.stdout is not None
        return process.stdout.read(MOST_BYTES)
    finally:
        late.cancel()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
