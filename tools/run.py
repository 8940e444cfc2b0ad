"""``make run``: opens VS Code with Tierline on a sample workspace."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import workbench

ROOT = Path(__file__).resolve().parents[1]
VSIX = ROOT / "dist" / "tierline.vsix"
SAMPLE = ROOT / "examples" / "temperature"


def main() -> int:
    """Install into the desktop's VS Code, or serve one in the browser. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--web", action="store_true", help="VS Code in the browser")
    arguments = parser.parse_args()
    code = shutil.which("code")
    if code and not arguments.web:
        return desktop(code)
    return web()


def desktop(code: str) -> int:
    """Offer to install the extension into the VS Code that is there."""
    command = [code, "--install-extension", str(VSIX), "--force"]
    if not sys.stdin.isatty():
        print(f"Run this to install the extension: {' '.join(command)}")
        return 0
    if input("Install the Tierline extension into your VS Code? [y/N] ").lower() not in (
        "y",
        "yes",
    ):
        print("Nothing was installed. `make run WEB=1` opens VS Code in the browser instead.")
        return 0
    done = subprocess.run(command, check=False)
    return done.returncode or subprocess.run([code, str(SAMPLE)], check=False).returncode


def web() -> int:
    """Serve VS Code on loopback until Ctrl-C."""
    home = workbench.cache() / "run"
    workspace, user_data, extensions = (home / n for n in ("workspace", "user-data", "extensions"))
    for folder in (user_data, extensions):
        folder.mkdir(parents=True, exist_ok=True)
    if not workspace.exists():
        shutil.copytree(SAMPLE, workspace / SAMPLE.name)
    workbench.code_server()
    stamp = home / "installed-extension"
    built = str(VSIX.stat().st_mtime_ns)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != built:
        print("Installing the extension …", flush=True)
        workbench.install_extension(VSIX, user_data, extensions)
        stamp.write_text(built, encoding="utf-8")
    settings = user_data / "User" / "settings.json"
    if not settings.exists():
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps(workbench.SETTINGS, indent=2), encoding="utf-8")
    env = {"TIERLINE_PYTHON": sys.executable}
    log = home / "code-server.log"
    with workbench.serve(user_data, extensions, log=log, env=env) as served:
        url = workbench.opening(served, workspace / SAMPLE.name)
        line = "─" * (len(url) + 4)
        print(f"\n{line}\n  {url}\n{line}")
        print("Open this address in a browser, then the Tierline icon on the left. Ctrl-C stops.")
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: stop.set())
        stop.wait()
        print("\nStopped.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
