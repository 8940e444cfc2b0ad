"""The store of what files said before they were changed: what is forgotten when it grows."""

from __future__ import annotations

import os
from pathlib import Path

from tierline.store.snapshots import SnapshotStore


def test_contents_that_no_change_names_go_first_and_no_change_is_forgotten(tmp_path: Path) -> None:
    """A kill between a content and its record leaves a content that nobody needs."""
    store = SnapshotStore(tmp_path, most_bytes=10_000)
    with store.held():
        kept = store.keep(b"needed")
        store.write({"kind": "change", "id": "1", "path": "a.py", "before": {"sha": kept}})
        orphan = store.keep(os.urandom(20_000))
        before = store.entries()
        store.prune()
    assert store.entries() == before, "all records fit"
    assert store.load(kept) == b"needed"
    assert store.load(orphan) is None
    assert store.size() < 10_000


def test_the_oldest_changes_are_forgotten_with_the_contents_that_only_they_need(
    tmp_path: Path,
) -> None:
    store = SnapshotStore(tmp_path, most_bytes=10_000)
    with store.held():
        shared = store.keep(b"shared")
        shas = [store.keep(os.urandom(3_000)) for _ in range(5)]
        for number, sha in enumerate(shas):
            sides = {"before": {"sha": shared}, "after": {"sha": sha}}
            store.write({"kind": "change", "id": str(number), "path": "a.py", **sides})
        store.prune()
    left = [entry["id"] for entry in store.entries()]
    assert left == ["3", "4"], "newest first, up to three quarters of the limit"
    assert [store.load(sha) is not None for sha in shas] == [False, False, False, True, True]
    assert store.load(shared) == b"shared"
