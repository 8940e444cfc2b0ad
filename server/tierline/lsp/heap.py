"""What the imports of the start leave in memory."""

from __future__ import annotations

import contextlib
import gc
import linecache

_M_ARENA_MAX = -8  # glibc, malloc.h


def tidy() -> None:
    """Begin to collect garbage, once ``initialize`` has been answered.

    The imports left megabytes behind, a first version of each value class and the source that attrs
    generated for it; finding them takes longer than the start allows. What is then left stays for
    good and need not be looked at again.
    """
    if gc.isenabled():
        return
    _one_heap()
    linecache.clearcache()
    gc.collect()
    gc.freeze()
    gc.enable()


def _one_heap() -> None:
    """Let all threads allocate from one heap (glibc's ``M_ARENA_MAX``; nothing elsewhere). Each
    thread's own one keeps what it once had: 7 MB for the vocabulary alone.
    """
    with contextlib.suppress(Exception):
        from ctypes import CDLL

        CDLL(None).mallopt(_M_ARENA_MAX, 1)
