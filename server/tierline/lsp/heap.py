"""Memory and garbage of the imports at start-up."""

from __future__ import annotations

import contextlib
import gc
import linecache

_M_ARENA_MAX = -8  # glibc, malloc.h
_THRESHOLDS = (5_000, 20, 20)
"""Objects and collections until the next generation is collected. With Python's own (700, 10, 10)
every few plans all objects are looked through, for 70 to 200 ms, and hardly anything is found.
"""


def enable_collector() -> None:
    """Begin to collect garbage, once ``initialize`` has been answered.

    The imports leave megabytes of garbage: a first version of each value class, and the source that
    attrs generated for it. Collecting it would delay the start. The objects that remain are frozen,
    since they live as long as the process.
    """
    if gc.isenabled():
        return
    _one_heap()
    linecache.clearcache()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.enable()


def _one_heap() -> None:
    """Let all threads allocate from one heap (glibc's ``M_ARENA_MAX``; nothing elsewhere). A heap
    per thread never shrinks: that of the vocabulary alone keeps 7 MB.
    """
    with contextlib.suppress(Exception):
        from ctypes import CDLL

        CDLL(None).mallopt(_M_ARENA_MAX, 1)
