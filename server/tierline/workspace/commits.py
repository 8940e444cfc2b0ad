"""Which files the newest commits touched, asked of git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from tierline.workspace import git

MAX_COMMITS = 400
MAX_BYTES = git.MAX_BYTES


def newest(folder: str) -> list[frozenset[str]]:
    """The paths below ``folder``, relative to it, that each commit touched, the newest first;
    merges are left out. Empty without git or a history. Blocking, ten seconds at most.
    """
    raw = git.read(
        folder, "log", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-show-signature", "--name-only", "--relative", "-z", "-n", str(MAX_COMMITS),
        "--format=%x01", most_bytes=MAX_BYTES,
    )  # fmt: skip
    # The last record may be incomplete.
    records = raw.split(b"\x01")[1:]
    if len(raw) >= MAX_BYTES:
        records = records[:-1]
    return [
        frozenset(os.fsdecode(name.lstrip(b"\n")) for name in record.split(b"\0") if name.strip())
        for record in records
    ]


def tracked(folder: str, paths: Sequence[str]) -> frozenset[str]:
    """Those of these paths, relative to ``folder``, that git tracks. Blocking."""
    found: set[str] = set()
    for start in range(0, len(paths), 100):
        names = [f":(literal){path}" for path in paths[start : start + 100]]
        raw = git.read(folder, "ls-files", "-z", "--", *names)
        found.update(os.fsdecode(name) for name in raw.split(b"\0") if name)
    return frozenset(found)


def head_state(git: str, common: str) -> tuple[tuple[int, int], ...]:
    """A text that changes when a commit is made or another one checked out. ``git`` and ``common``
    are the repository's folders (``ignore.repository``).
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
