"""Which files a folder holds, in a stable order, without what is ignored and without link loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from tierline.context.refusals import Reason, Refusal, refuse


def walk(
    top: str, ignored: Callable[[str], bool], unreadable: Callable[[Refusal], None]
) -> Iterator[str]:
    """Paths of the files below ``top``: a folder's own files first, then its folders, by name.

    Ignored folders and git's own are not entered; links to folders are not followed. Whether a file
    is ignored is for the caller to ask.
    """
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                found = sorted(listing, key=lambda item: item.name)
        except OSError as error:
            unreadable(refuse(folder, Reason.UNREADABLE, error.strerror or "read error"))
            continue
        below = []
        for item in found:
            if item.is_dir(follow_symlinks=False):
                if item.name != ".git" and not ignored(item.path):
                    below.append(item.path)
            elif not (item.is_symlink() and os.path.isdir(item.path)):
                yield item.path
        folders.extend(reversed(below))
