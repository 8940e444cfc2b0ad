"""Writes down which lines a process runs that a test has started."""

from __future__ import annotations

import atexit
import json
import os
from pathlib import Path
from typing import NoReturn

from mutation.faults import PACKAGE

PACKAGES = ("context", "history", "store")


def watch() -> None:
    """Record from now on; what was found is written when the process leaves of itself."""
    import coverage

    test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" (", 1)[0]
    folder = Path(os.environ["TIERLINE_MUTATION_CHILDREN"])
    sources = [str(PACKAGE / name) for name in PACKAGES]
    recorder = coverage.Coverage(data_file=None, source=sources)
    recorder.start()
    left = os._exit

    def write() -> None:
        recorder.stop()
        data = recorder.get_data()
        lines = {
            Path(file).relative_to(PACKAGE).as_posix(): sorted(data.lines(file) or [])
            for file in data.measured_files()
        }
        path = folder / f"{os.getpid()}.json"
        path.write_text(json.dumps({"test": test, "lines": lines}), encoding="utf-8")

    def leave(status: int) -> NoReturn:
        write()
        left(status)

    atexit.register(write)
    os._exit = leave
