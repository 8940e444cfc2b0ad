"""A real VS Code in the browser: installs code-server into a cache folder and starts it.

Used by ``make run`` and by the end-to-end tests. Everything comes from the Debian and npm
registries; the first installation compiles native modules and takes a few minutes, later starts
take seconds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

CODE_SERVER = "4.139.1"
NODE = "24"
DEBIAN = {
    "/usr/include/krb5.h": "libkrb5-dev",
    "/usr/include/X11/Xlib.h": "libx11-dev",
    "/usr/include/X11/extensions/XKBfile.h": "libxkbfile-dev",
    "/usr/include/libsecret-1/libsecret/secret.h": "libsecret-1-dev",
    "g++": "build-essential",
    "pkg-config": "pkg-config",
    "python3": "python3",
}
SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": True,
    "remote.autoForwardPorts": False,
}
"""The user's settings of a fresh window: Tierline's chat without VS Code's own beside it, and no
look through all processes for open ports, again and again.
"""
BROWSER = {"chromium": "chromium"}
NEOVIM = {"nvim": "neovim"}
EMACS = {"emacs": "emacs-nox"}


def cache() -> Path:
    """The cache folder, outside the repository, so that clones share it."""
    base = os.environ.get("TIERLINE_E2E_CACHE")
    return Path(base) if base else Path.home() / ".cache" / "tierline-e2e"


@contextlib.contextmanager
def installing() -> Iterator[None]:
    """One process at a time installs; whoever waited finds it done."""
    import fcntl  # this module is read on Windows, too

    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "installing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def need(packages: dict[str, str]) -> None:
    """Make sure that programs and headers exist. Root on Debian installs them; others are told how.

    Raises:
        SystemExit: with the one command to run.
    """
    missing = [
        package
        for probe, package in packages.items()
        if not (Path(probe).exists() if probe.startswith("/") else shutil.which(probe))
    ]
    if not missing:
        return
    names = " ".join(missing)
    if sys.platform == "darwin":
        raise SystemExit(
            f"Missing: {names}. On macOS: xcode-select --install; brew install {names}"
        )
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise SystemExit(f"Missing system packages. Run: sudo apt-get install -y {names}")
    print(f"Installing system packages: {names} …", flush=True)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = {"stdout": subprocess.DEVNULL, "env": env}
    subprocess.run(["apt-get", "update", "-q"], check=True, **quiet)  # type: ignore[call-overload]
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing]
    subprocess.run(command, check=True, **quiet)  # type: ignore[call-overload]


def code_server() -> Path:
    """Install code-server if need be. Returns its entry script."""
    home = cache() / "code-server"
    entry = home / "node_modules" / "code-server" / "out" / "node" / "entry.js"
    stamp = home / f".installed-{CODE_SERVER}"
    if stamp.exists() and entry.exists():
        return entry
    node = _node()
    if entry.exists() and _works(node, entry):
        stamp.touch()
        return entry
    need(DEBIAN)
    print("Installing VS Code for the browser (once; three minutes or so) …", flush=True)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    # The native modules use N-API, so any recent Node's headers serve; node-gyp must not fetch any.
    headers = next(
        (p for p in ("/usr", "/usr/local") if (Path(p) / "include" / "node").exists()), "/usr"
    )
    env = {
        **os.environ,
        "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}",
        "npm_config_nodedir": headers,
    }
    log = cache() / "code-server-install.log"
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            ["npm", "install", f"code-server@{CODE_SERVER}", "--foreground-scripts", "--no-audit"],
            cwd=home, env=env, stdout=stream, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"code-server could not be installed; see {log}")
    stamp.touch()
    return entry


def builtin_extensions() -> Path:
    """The folder of VS Code's own extensions."""
    return code_server().parents[2] / "lib" / "vscode" / "extensions"


def _node() -> Path:
    """Node 24 of its own: code-server insists on its major version."""
    home = cache() / "node24"
    binary = home / "node_modules" / "node" / "bin" / "node"
    if not binary.exists():
        print("Installing Node.js 24 for VS Code …", flush=True)
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        command = ["npm", "install", f"node@{NODE}", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(command, cwd=home, check=True)
        if not binary.exists():  # newer npm asks before it runs a package's install script
            setup = home / "node_modules" / "node" / "installArchSpecificPackage.js"
            if setup.exists():
                subprocess.run(["node", setup.name], cwd=setup.parent, check=False)
    if not binary.exists():
        raise SystemExit(f"Node.js {NODE} could not be installed into {home}")
    return binary


def _works(node: Path, entry: Path) -> bool:
    done = subprocess.run([node, entry, "--version"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and CODE_SERVER in done.stdout


def free_port() -> int:
    """A port on loopback that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def install_extension(vsix: Path, user_data: Path, extensions: Path) -> None:
    """Install a packaged extension, replacing an older one."""
    _extensions(user_data, extensions, "--force", "--install-extension", str(vsix))


def uninstall_extension(identifier: str, user_data: Path, extensions: Path) -> None:
    """Remove an extension that ``install_extension`` brought."""
    _extensions(user_data, extensions, "--uninstall-extension", identifier)


def _extensions(user_data: Path, extensions: Path, *arguments: str) -> None:
    command = [
        str(_node()), str(code_server()), "--user-data-dir", str(user_data),
        "--extensions-dir", str(extensions), *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} failed: {done.stderr or done.stdout}")


@contextlib.contextmanager
def serve(
    user_data: Path,
    extensions: Path,
    *,
    log: Path,
    env: dict[str, str] | None = None,
    builtin: Path | None = None,
    trusting: bool = True,
    locale: str = "en",
) -> Iterator[str]:
    """Run code-server until the block ends. Yields its URL; ``opening`` adds a workspace to it.

    ``builtin``: the folder of VS Code's own extensions, if not all of them are wanted.
    ``trusting``: every folder is trusted. ``locale``: the display language, if the user data has a
    language pack for it.
    """
    port = free_port()
    command = [
        str(_node()), str(code_server()), "--auth", "none", "--bind-addr", f"127.0.0.1:{port}",
        "--user-data-dir", str(user_data), "--extensions-dir", str(extensions),
        "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override",
        "--locale", locale, *(["--disable-workspace-trust"] if trusting else []),
        *(["--vscode-option", f"builtin-extensions-dir={builtin}"] if builtin else []),
    ]  # fmt: skip
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})}, start_new_session=True,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}/"
            _wait(url, process, log)
            yield url
        finally:
            _stop(process)


def opening(url: str, workspace: Path) -> str:
    """The URL of a window on a folder or a ``.code-workspace`` file."""
    kind = "workspace" if workspace.suffix == ".code-workspace" else "folder"
    return f"{url}?{kind}={workspace}"


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with opener.open(f"{url}healthz", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(
        f"VS Code did not start; see {log}:\n{log.read_text(errors='replace')[-2000:]}"
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and what it started: they share a process group of their own."""
    for signal in (15, 9):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
            return
