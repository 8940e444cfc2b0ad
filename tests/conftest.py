"""For all tests: nothing that they run may reach for another machine, and no
example fails because the machine is busy.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.recording import RECORDER, VARIABLE

if settings.get_current_profile_name() == "default":  # not Hypothesis' own for CI, nor mutation's
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


ROOT = Path(__file__).parents[1]


def pytest_configure() -> None:
    """Record this process and all Python processes that are started from it."""
    handle, name = tempfile.mkstemp(prefix="leaks-", suffix=".jsonl")
    os.close(handle)
    os.environ[VARIABLE] = name
    os.environ["LANGUAGE"] = "en"  # what the command line says is asserted in English
    if "TIERLINE_STATE_DIR" not in os.environ:  # else a worker of xdist, or a test's own process
        os.environ["TIERLINE_STATE_DIR"] = tempfile.mkdtemp(prefix="tierline-state-")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        # Else every server that a test starts would compile all its modules again, as no user's.
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "bytecode"))
    paths = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(RECORDER.parent)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(part for part in paths if part))
    site = sys.modules.get("sitecustomize")  # of xdist's workers, who were started from here
    if site is None or site.__file__ != str(RECORDER):
        runpy.run_path(str(RECORDER))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector need not look at it again with every test."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    Path(os.environ[VARIABLE]).unlink(missing_ok=True)
    state = os.environ["TIERLINE_STATE_DIR"]
    if "tierline-state-" in state and "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(state, ignore_errors=True)


@pytest.fixture(autouse=True)
def reaches_nobody() -> Iterator[None]:
    """Fails the test in which another machine was reached for; the entry names the one that
    started the program, should it have outlived that one.
    """
    log = Path(os.environ[VARIABLE])
    before = log.stat().st_size
    yield
    if log.stat().st_size > before:
        with log.open(encoding="utf-8") as file:
            file.seek(before)
            found = [json.loads(line) for line in file]
        pytest.fail(f"another machine was reached for: {json.dumps(found, indent=1)}")
