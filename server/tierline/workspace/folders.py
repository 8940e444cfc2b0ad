"""Which files a folder holds, in a stable order, without what is ignored and without link loops."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from itertools import islice

from tierline.context.refusals import Reason, Refusal, refuse

MAX_ENTRIES = 200_000
"""Entries of one folder; the rest is left out."""


def walk(
    top: str,
    ignored: Callable[[str], bool],
    unreadable: Callable[[Refusal], None],
    *,
    until: float = math.inf,
) -> Iterator[str]:
    """Paths of the files below ``top``: a folder's own files first, then its folders, by name.

    Ignored folders and git's own are not entered; links to folders are not followed. The caller
    checks whether a file is ignored.

    Raises:
        TimeoutError: the monotonic clock passed ``until``.
    """
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                found = sorted(islice(listing, MAX_ENTRIES), key=lambda item: item.name)
                if next(listing, None) is not None:
                    more = f"only {MAX_ENTRIES:,} of its files were looked at"
                    unreadable(refuse(folder, Reason.UNREADABLE, more))
        except OSError as error:
            unreadable(refuse(folder, Reason.UNREADABLE, error.strerror or "read error"))
            continue
        below = []
        for item in found:
            if time.monotonic() > until:
                raise TimeoutError("the folders took too long")
            if item.is_dir(follow_symlinks=False):
                if item.name != ".git" and not ignored(item.path):
                    below.append(item.path)
            elif not (item.is_symlink() and os.path.isdir(item.path)):
                yield item.path
        folders.extend(reversed(below))
