"""The paths that a mention can name: listed in the background, searched by their letters."""

from __future__ import annotations

import asyncio
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import accumulate, islice, pairwise

from tierline.context.refusals import Refusal
from tierline.workspace.listing import readable
from tierline.workspace.loader import Loader

MAX_PATHS = 400_000
LIST_SECONDS = 120.0
_KEPT_SECONDS = 5.0
"""Lifetime of a listing: letters are typed faster than files are made."""
_QUICK_SECONDS = 0.3
"""A listing that takes no longer is waited for; a longer one continues in the background."""
_SHARE = 20
"""A slow listing is repeated only after this many times its duration."""
_SOUGHT_SHARE = 5
"""The same if something was sought in vain: it may be new, or be no path at all."""
_FIRST_SECONDS, _WAIT_SECONDS = 1.0, 0.06
"""How long the very first request, and later ones, wait for a listing; then they get the paths
found so far.
"""
_REST_AFTER, _REST_SECONDS = 200, 0.001
"""Number of files after which the listing pauses for requests, and the pause in seconds."""
_AT_ONCE = 2_000
"""Paths that are sorted or joined in one go."""
_LETTERS_SECONDS = 0.03
"""Longest search for paths that contain the letters only somewhere."""


class _Lines:
    """Lines that are searched as one text: many times faster than one by one, in a third of the
    memory.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        rest = iter(lines)
        parts, self._starts = ["\n"], array("I", (1,))
        while some := list(islice(rest, _AT_ONCE)):
            parts.append("\n".join(some) + "\n")
            ends = accumulate((len(line) + 1 for line in some), initial=self._starts.pop())
            self._starts.extend(ends)
        self._text = "".join(parts)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._text[self._starts[number] : self._starts[number + 1] - 1]

    def __iter__(self) -> Iterator[str]:
        for start, after in pairwise(self._starts):
            yield self._text[start : after - 1]

    def holding(self, sought: str) -> Iterator[int]:
        """Numbers of the lines that contain a text, in order; with a line break before it, those
        that begin with it.
        """
        place = self._text.find(sought)
        while place >= 0:
            number = bisect_right(self._starts, place + (sought[0] == "\n")) - 1
            if number >= len(self._starts) - 1:
                return
            yield number
            place = self._text.find(sought, self._starts[number + 1] - 1)


class PathList:
    """Paths, the shallow and short ones first; folders end with a slash."""

    def __init__(self, paths: Iterable[str]) -> None:
        rest = iter(paths)
        # A single sort of all paths would hold Python's lock and delay requests.
        parts = iter(lambda: sorted(islice(rest, _AT_ONCE), key=_order), [])
        self._paths = _Lines(merge(*parts, key=_order))
        self._whole = _Lines(path.casefold() for path in self._paths)
        self._names = _Lines(line.rstrip("/").rpartition("/")[2] for line in self._whole)

    def __len__(self) -> int:
        return len(self._paths)

    def best(self, letters: str, limit: int, listed: frozenset[str] = frozenset()) -> list[str]:
        """Paths that contain the letters in order: names that begin with them first, then paths
        that do, names and paths that contain them as one text, and all others.
        """
        wanted = letters.casefold()
        if not wanted:
            first = [path for path in sorted(listed, key=_order) if self._holds(path)]
            rest = (path for path in self._paths if path not in listed)
            return [*first, *islice(rest, limit)][:limit]
        found: dict[int, None] = {}  # in this order
        for lines, sought in (
            (self._names, f"\n{wanted}"), (self._whole, f"\n{wanted}"),
            (self._names, wanted), (self._whole, wanted),
        ):  # fmt: skip
            found |= dict.fromkeys(islice(lines.holding(sought), limit))
            if len(found) >= limit:
                break
        else:
            found |= dict.fromkeys(self._scattered(wanted))
        return [self._paths[number] for number in islice(found, limit)]

    def _holds(self, path: str) -> bool:
        order = _order(path)
        place = bisect_left(self._paths, order, key=_order)
        return place < len(self) and self._paths[place] == path

    def _scattered(self, wanted: str) -> Iterator[int]:
        until = time.monotonic() + _LETTERS_SECONDS
        for number, line in enumerate(self._whole):
            if number % 1000 == 0 and time.monotonic() > until:
                return
            place = 0
            for letter in wanted:
                place = line.find(letter, place) + 1
                if not place:
                    break
            else:
                yield number


class PathIndex:
    """The files of the workspace and their folders. Only files that may be shown are listed."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._known = PathList(())
        self._found: list[str] = []
        """Paths that the running listing has found so far."""
        self._took = 0.0
        self._at = -_KEPT_SECONDS
        self._first = True
        self._task: asyncio.Task[None] | None = None

    async def best(self, letters: str, limit: int, listed: frozenset[str]) -> list[str]:
        """Completions of the letters, among the paths listed so far."""
        await self._fresh()
        known = self._known
        if len(self._found) > 2 * len(known):  # the first listing is running; each update sorts all
            known = self._known = await asyncio.to_thread(PathList, tuple(self._found))
        found = await asyncio.to_thread(known.best, letters, limit, listed)
        age = time.monotonic() - self._at
        if not found and letters and age > max(_KEPT_SECONDS, self._took * _SOUGHT_SHARE):
            self._begin()  # the file may be new
        return found

    @property
    def complete(self) -> bool:
        """False while the first listing runs."""
        return not self._first

    async def _fresh(self) -> None:
        age = time.monotonic() - self._at
        if age > max(_KEPT_SECONDS, self._took * _SHARE) or self._first:
            self._begin()
        if self._task is None or (not self._first and self._took > _QUICK_SECONDS):
            return
        await asyncio.wait(
            {self._task},
            timeout=_FIRST_SECONDS if self._first and not self._found else _WAIT_SECONDS,
        )

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._refresh())

    async def _refresh(self) -> None:
        began = time.monotonic()
        paths = await asyncio.to_thread(self._list)
        self._known = await asyncio.to_thread(PathList, paths)
        self._found = []
        self._at = time.monotonic()
        self._took = self._at - began
        self._first = False

    def _list(self) -> list[str]:
        """Files that may be shown, and the folders that hold them; blocking."""
        found: list[str] = []
        folders: set[str] = set()
        walked = readable(self._loader, until=time.monotonic() + LIST_SECONDS)
        try:
            for place in () if isinstance(walked, Refusal) else walked:
                found.append(place.key)
                if self._first:
                    self._found.append(place.key)
                parts = place.key.split("/")[:-1]
                folders.update("/".join(parts[: n + 1]) + "/" for n in range(len(parts)))
                if len(found) >= MAX_PATHS:
                    break
                if len(found) % _REST_AFTER == 0:
                    time.sleep(_REST_SECONDS)
        except TimeoutError:
            pass
        return [*found, *folders]


def _order(path: str) -> tuple[int, int, str]:
    return path.count("/"), len(path), path
