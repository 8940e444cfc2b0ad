"""Exits when the editor's process has ended, even without a shutdown request."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

POLL_SECONDS = 1.0


def alive(pid: int) -> bool:
    """True if a process with this id exists (and is not a zombie, where that can be seen)."""
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)
        if not handle:
            return False
        code = ctypes.c_ulong()
        ctypes.windll.kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
        ctypes.windll.kernel32.CloseHandle(handle)
        return code.value == 259
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123
            return stream.read().rpartition(b")")[2].split()[0] != b"Z"
    except (OSError, IndexError):
        return True


def watch(pid: int, gone: Callable[[], None]) -> None:
    """Call ``gone`` once, from a thread, when process ``pid`` no longer exists."""

    def poll() -> None:
        while alive(pid):
            time.sleep(POLL_SECONDS)
        gone()

    threading.Thread(target=poll, name="parent-watch", daemon=True).start()
