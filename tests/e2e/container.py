"""VS Code in a clean Debian: its own root file system, processes, home and, if wanted, no network.

What a container runtime would do, done with its parts: a minimal Debian (``mmdebstrap``, from the
package registry, kept in the cache folder), a throw-away layer over it (overlayfs), namespaces
for mounts, processes and network (``unshare``), ``chroot``, and an ordinary user. From this
machine come only, read-only, Node.js and code-server, and with a network how the registry is
reached: its certificates and pip's configuration. It needs root on Linux.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from attrs import field, frozen

import workbench as server

PACKAGES = ("python3", "python3-venv", "ca-certificates", "procps", "libgomp1")
HOME = "/home/dev"
USER = 1000
FORWARD = Path(__file__).with_name("forward.py")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
REGISTRY = ("PIP_INDEX_URL", "PIP_CERT", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy")
"""What this machine's environment says of the way to the package index."""
NO_PYTHON = "rm -f usr/bin/python3* usr/local/bin/python3*"
NO_ENSUREPIP = "rm -rf usr/lib/python3*/ensurepip usr/share/python-wheels"


def possible() -> bool:
    """Whether this machine can make such a container."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("unshare") is not None


@frozen
class Container:
    """One clean machine. ``alter``: shell lines run in its root before anything starts there."""

    folder: Path
    """On this machine: the layer, the user's home, the sockets."""
    network: bool = True
    alter: str = ""
    ports: tuple[int, ...] = ()
    """Ports of this machine's loopback that can be reached inside, also without a network."""
    env: dict[str, str] = field(factory=dict)

    @property
    def home(self) -> Path:
        """The user's home, which is empty at first."""
        return self.folder / "home"

    def prepare(self) -> None:
        """Make the folders and the cached root."""
        root()
        for name in ("upper", "work", "root", "home"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def install(self, vsix: Path) -> None:
        """Install an extension with the editor's own command, inside."""
        shutil.copy(vsix, self.home / vsix.name)
        done = subprocess.run(
            self._command(f"--force --install-extension {HOME}/{vsix.name}"),
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode != 0 or "successfully installed" not in done.stdout:
            raise SystemExit(f"the extension was not installed: {done.stderr or done.stdout}")

    @contextlib.contextmanager
    def serve(self, workspace: Path, log: Path) -> Iterator[str]:
        """VS Code on a copy of ``workspace`` until the block ends. Yields the workbench's URL."""
        project = self.home / workspace.name
        if not project.exists():
            shutil.copytree(workspace, project)
        with contextlib.ExitStack() as stack:
            # A path of a Unix socket has at most 107 characters; pytest's folders are deep.
            sockets = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tierline-")))
            sockets.chmod(0o777)
            for port in self.ports:
                self._run(
                    stack, [sys.executable, str(FORWARD), f"unix:{sockets}/{port}", f"tcp:{port}"]
                )
            port = server.free_port()
            self._forward(stack, f"tcp:{port}", f"unix:{sockets}/code")
            arguments = (
                f"--auth none --socket /run/e2e/code --socket-mode 777 --disable-telemetry "
                f"--disable-update-check --disable-workspace-trust "
                f"--disable-getting-started-override {HOME}/{project.name}"
            )
            stream = stack.enter_context(log.open("w", encoding="utf-8"))
            process = self._run(stack, self._command(arguments, sockets), stream)
            url = f"http://127.0.0.1:{port}/"
            _wait(url, process, log)
            yield f"{url}?folder={HOME}/{project.name}"

    def _forward(self, stack: contextlib.ExitStack, listen: str, target: str) -> None:
        self._run(stack, [sys.executable, str(FORWARD), listen, target])

    def _run(
        self, stack: contextlib.ExitStack, command: list[str], stream: object = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # type: ignore[call-overload]
            command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        stack.callback(_stop, process)
        return process  # type: ignore[no-any-return]

    def _command(self, arguments: str, sockets: Path | None = None) -> list[str]:
        """The command line that starts code-server inside, with ``arguments``."""
        flags = ["--mount", "--pid", "--fork", "--kill-child=KILL", "--ipc", "--uts"]
        if not self.network:
            flags.append("--net")
        return ["unshare", *flags, "bash", "-ec", self._script(arguments, sockets)]

    def _script(self, arguments: str, sockets: Path | None) -> str:
        at, node, code = self.folder, server._node(), server.code_server().parents[4]
        lines = [
            f"mount -t overlay overlay {at}/root "
            f"-o lowerdir={root()},upperdir={at}/upper,workdir={at}/work",
            f"cd {at}/root",
            "mount -t proc proc proc; mount --rbind /dev dev",
            f"mkdir -p .{HOME} opt/node opt/code-server run/e2e",
            f"mount --bind {self.home} .{HOME}; chown -R {USER}:{USER} .{HOME}",
            f"mount --bind {node.parent} opt/node; mount -o remount,bind,ro opt/node",
            f"mount --bind {code} opt/code-server; mount -o remount,bind,ro opt/code-server",
            self.alter or ":",
        ]
        env = {
            "HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "TIERLINE_LOG": "INFO", **self.env,
        }  # fmt: skip
        if sockets is not None:
            lines.append(f"mount --bind {sockets} run/e2e")
        if self.network:
            lines.append("cp -L /etc/resolv.conf etc/resolv.conf; cp /etc/hosts etc/hosts")
            lines.append("[ ! -f /etc/pip.conf ] || cp /etc/pip.conf etc/pip.conf")
            lines.append(f"[ ! -f {CERTIFICATES} ] || cp -L {CERTIFICATES} .{CERTIFICATES}")
            env |= {k: os.environ[k] for k in REGISTRY if k in os.environ}
        else:
            lines.append("ip link set lo up")
            lines += [
                f"{sys.executable} {FORWARD} tcp:{port} unix:{sockets}/{port} & "
                for port in (self.ports if sockets is not None else ())
            ]
        inside = shlex.join(["env", "-i", *(f"{k}={v}" for k, v in env.items())])
        lines.append(
            f"exec chroot --userspec={USER}:{USER} . {inside} /opt/node/node "
            f"/opt/code-server/node_modules/code-server/out/node/entry.js {arguments}"
        )
        return "\n".join(lines)


def root() -> Path:
    """The minimal Debian, made at the first call (a minute, 240 MB)."""
    home = server.cache() / "debian-root"
    stamp = home.with_name(f".debian-root-{'-'.join(PACKAGES)}")
    if not stamp.exists():
        server.need({"mmdebstrap": "mmdebstrap"})
        print("Making a minimal Debian (once; a minute or so) …", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        home.parent.mkdir(parents=True, exist_ok=True)
        command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
        done = subprocess.run(
            [*command, "bookworm", str(home)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"no minimal Debian could be made: {done.stderr[-800:]}")
        stamp.touch()
    return home


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with opener.open(f"{url}healthz", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"VS Code did not start: {log.read_text(errors='replace')[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
            return
