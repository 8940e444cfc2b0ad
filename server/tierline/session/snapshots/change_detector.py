"""Finding the files that a program changed, by comparing the workspace before and after it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from attrs import frozen

from tierline.context.refusals import Refusal
from tierline.session.snapshots.content import FileContent, raw, text_only
from tierline.workspace.folders import walk
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath
from tierline.workspace.reading import Signature, signature
from tierline.workspace.secretfiles import reserved

MAX_FILES = 5_000
MAX_BYTES = 48_000_000
"""Files and bytes that are kept in memory while a program runs."""
SECONDS = 2.0
"""Longest scan of the workspace."""


@frozen
class _Seen:
    signature: Signature | None
    content: FileContent


class ChangeDetector:
    """The files of a workspace at the time of its creation. Blocking; for a thread.

    Ignored files and files of secrets are not read. ``known`` files come first; others are read as
    far as the limits go.
    """

    def __init__(self, loader: Loader, known: Iterable[str]) -> None:
        self._loader = loader
        self._known = tuple(known)
        self._seen: dict[str, _Seen] = {}
        self._whole = True
        size = 0
        for place in self._places():
            if len(self._seen) >= MAX_FILES or size >= MAX_BYTES:
                self._whole = False
                break
            content, stamp = raw(self._loader, place)
            self._seen[place.key] = _Seen(stamp, content)
            size += len(content.data or b"")

    def changed(self) -> list[tuple[str, FileContent, FileContent]]:
        """Path, content before and content now of each changed file."""
        found = []
        there = {place.key: place for place in self._places()} if self._whole else {}
        for key in {**dict.fromkeys(self._seen), **dict.fromkeys(there)}:
            place = there.get(key) or self._loader.roots.resolve(key)
            if isinstance(place, Refusal) or place.key != key:
                continue
            before = self._seen.get(key)
            if before is not None and before.signature == signature(place.path):
                continue
            now, _ = raw(self._loader, place)
            old = before.content if before is not None else FileContent()
            if not old.same(now) and not (old.why and now.why):
                # Decoded late: most files only need to be found unchanged.
                found.append((key, text_only(old), text_only(now)))
        return found

    def _places(self) -> Iterator[ResolvedPath]:
        until = time.monotonic() + SECONDS
        done: set[str] = set()
        try:
            for reference in (*self._known, *self._walked(until)):
                place = self._loader.roots.resolve(reference)
                if isinstance(place, Refusal) or place.key in done or not place.key:
                    continue
                done.add(place.key)
                ours = any(reserved(part) for part in place.key.split("/"))
                if not ours and self._loader.refusal(place) is None:
                    yield place
                if time.monotonic() > until:
                    raise TimeoutError
        except TimeoutError:
            self._whole = False

    def _walked(self, until: float) -> Iterator[str]:
        for root in self._loader.roots:
            yield from walk(root.real, self._loader.excluded, lambda _refusal: None, until=until)
