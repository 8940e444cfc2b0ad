"""Listing the files that the model may be shown, without reading them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

from tierline.context.refusals import Reason, Refusal, refuse
from tierline.workspace.folders import walk
from tierline.workspace.ignore import RuleCache
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath


def readable(
    loader: Loader, reference: str = "", *, until: float = math.inf
) -> Iterator[ResolvedPath] | Refusal:
    """Files below a folder that are neither ignored nor secret, in a stable order; of all workspace
    folders if ``reference`` is empty. Links that lead out of the workspace are left out.

    Raises:
        TimeoutError: from the iterator, once the monotonic clock passes ``until``.
    """
    if reference in ("", ".", "./", "/"):
        return _below(loader, [root.real for root in loader.roots], until)
    place = loader.roots.resolve(reference)
    if isinstance(place, Refusal):
        return place
    if os.path.isfile(place.path):
        return loader.refusal(place) or iter([place])
    if not os.path.isdir(place.path):
        return refuse(reference, Reason.NOT_FOUND)
    if loader.excluded(place.path):
        return refuse(reference, Reason.IGNORED)
    return _below(loader, [place.path], until)


def _below(loader: Loader, folders: list[str], until: float) -> Iterator[ResolvedPath]:
    seen: set[str] = set()
    known: RuleCache = {}
    for folder in folders:
        for path in walk(folder, loader.excluded, lambda _refusal: None, until=until):
            place = loader.roots.found(path)
            if not isinstance(place, ResolvedPath) or not place.key or place.key in seen:
                continue
            seen.add(place.key)
            if loader.refusal(place, known) is None:
                yield place
