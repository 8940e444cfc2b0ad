from __future__ import annotations

import subprocess
import sys
import threading
import time

from tierline.lsp import parent


def test_a_running_process_is_alive_and_a_finished_one_is_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert parent.alive(child.pid)
    child.kill()
    deadline = time.monotonic() + 5
    while parent.alive(child.pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not parent.alive(child.pid), "a zombie counts as gone"
    child.wait()
    assert not parent.alive(child.pid)


def test_the_watch_calls_back_once_when_the_process_goes() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    gone = threading.Event()
    parent.watch(child.pid, gone.set)
    child.wait()
    assert gone.wait(parent.POLL_SECONDS + 3)
