"""The one place that runs git, and only to read. Git runs no program that a repository names.

A repository's own configuration can name programs: monitors, hooks, diff drivers, signature checks,
helpers that fetch missing objects. Those that a reading command could start are switched off, git
never speaks to a network, and nothing points it to another folder. Git is not run where a file that
it opens is a pipe or a device, nor for a while after it ran into a time limit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

MAX_BYTES = 4_000_000
"""Bytes of output that are read: a commit may touch everything."""
MAX_COMMITS = 400
SECONDS = 10.0
REST_SECONDS = 60.0
"""Pause in a folder where git ran into a time limit: one turn asks it often."""
READERS = frozenset(
    {
        "cat-file", "config", "diff-index", "diff-tree", "for-each-ref", "log", "ls-files",
        "merge-base", "rev-parse",
    }
)  # fmt: skip
"""The commands that are used. None of them applies clean or smudge filters or runs hooks, as long
as ``diff-index`` looks at the index alone (``--cached``)."""
_NONE = os.devnull
_SETTINGS = {
    "core.alternateRefsCommand": "",
    "core.askPass": "",
    "core.attributesFile": _NONE,
    "core.bigFileThreshold": "16m",  # larger files are streamed
    "core.editor": "false",
    "core.fsmonitor": "false",
    "core.gitProxy": "",
    "core.hooksPath": _NONE,
    "core.pager": "cat",
    "core.quotePath": "false",
    "core.sshCommand": "false",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",
    "diff.orderFile": _NONE,
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.mailmap": "false",
    "log.showSignature": "false",
    "pager.log": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
}
_KEPT = frozenset(
    {
        "GIT_CEILING_DIRECTORIES", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH",
    }
)  # fmt: skip
"""Variables that say where git and the user's own settings lie. Others could send git to another
repository, make it run a program or write a trace."""
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # counts before every protocol.*.allow
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


_OPENED = (
    *("HEAD", "config", "config.worktree", "index", "packed-refs", "shallow", "commondir"),
    *("info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout", "logs/HEAD"),
    *("objects/info/alternates", "objects/info/commit-graph"),
)
_OPENED_BESIDE = (".gitattributes", ".gitignore", ".gitmodules", ".mailmap")
"""Files that git opens, and would wait for, in the work tree's top folder."""
_running: set[subprocess.Popen[bytes]] = set()
_resting: dict[str, float] = {}
"""Folders, with the time of the monotonic clock until which git is not run there."""


def end_all() -> None:
    """Kill every running git at once: this process is about to exit."""
    for process in list(_running):
        _end(process)


def read(
    folder: str, *arguments: str, most_bytes: int = MAX_BYTES, seconds: float = SECONDS
) -> bytes:
    """Standard output of a command of ``READERS``, up to the given time and size; empty if git is
    missing or prints nothing. Blocking.

    Raises:
        ValueError: the command is not one of ``READERS``.
    """
    if arguments[0] not in READERS or (
        arguments[0] == "diff-index" and "--cached" not in arguments
    ):
        raise ValueError(f"git {arguments[0]} is not one of the commands that only read")
    top = _top(folder)
    if time.monotonic() < _resting.get(folder, 0.0) or _waits(top):
        return b""
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    try:
        process = subprocess.Popen(  # noqa: S603
            ["git", "--no-pager", "-C", folder, *settings, *arguments],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(top),
            start_new_session=sys.platform != "win32",
        )
    except (OSError, ValueError):
        return b""
    _running.add(process)

    def too_late() -> None:
        _resting[folder] = time.monotonic() + REST_SECONDS
        _end(process)

    late = threading.Timer(seconds, too_late)
    late.daemon = True
    late.start()
    try:
        assert process.stdout is not None
        return process.stdout.read(most_bytes)
    finally:
        late.cancel()
        late.join()
        _end(process)
        process.wait()
        _running.discard(process)
        if process.stdout is not None:
            process.stdout.close()


def environment(top: str = "") -> dict[str, str]:
    """Our environment without variables that redirect git or make it prompt. ``top``: the work tree
    to use, whatever the repository's ``core.worktree`` says.
    """
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("GIT_") or name.upper() in _KEPT
    }
    for asking in ("SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER"):
        ours.pop(asking, None)
    return ours | _ENVIRONMENT | ({"GIT_WORK_TREE": top} if top else {})


def _top(folder: str) -> str:
    """The top folder of the work tree that a folder is in; empty if there is none."""
    above = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(above, ".git")):
        folder, above = above, os.path.dirname(above)
        if above == folder:
            return ""
    return above


def _waits(top: str) -> bool:
    """True if one of the files that git opens is a pipe or a device."""
    inside = (os.path.join(top, ".git", name) for name in ("", *_OPENED))
    beside = (os.path.join(top, name) for name in _OPENED_BESIDE)
    return bool(top) and any(map(_endless, (*inside, *beside)))


def _endless(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill git and everything that it started."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def newest(folder: str) -> list[frozenset[str]]:
    """The paths below ``folder``, relative to it, that each commit touched, the newest first;
    merges are left out. Empty without git or a history. Blocking, ten seconds at most.
    """
    raw = read(
        folder, "log", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-show-signature", "--name-only", "--relative", "-z", "-n", str(MAX_COMMITS),
        "--format=%x01", most_bytes=MAX_BYTES,
    )  # fmt: skip
    # The last record may be incomplete.
    records = raw.split(b"\x01")[1:]
    if len(raw) >= MAX_BYTES:
        records = records[:-1]
    return [
        frozenset(os.fsdecode(name.lstrip(b"\n")) for name in record.split(b"\0") if name.strip())
        for record in records
    ]


def tracked(folder: str, paths: Sequence[str]) -> frozenset[str]:
    """Those of these paths, relative to ``folder``, that git tracks. Blocking."""
    found: set[str] = set()
    for start in range(0, len(paths), 100):
        names = [f":(literal){path}" for path in paths[start : start + 100]]
        raw = read(folder, "ls-files", "-z", "--", *names)
        found.update(os.fsdecode(name) for name in raw.split(b"\0") if name)
    return frozenset(found)


def head_state(repository: str, common: str) -> tuple[tuple[int, int], ...]:
    """Times and sizes that change when a commit is made or another one checked out. ``repository``
    and ``common`` are the repository's folders (``ignore.repository``).
    """
    heads = (os.path.join(repository, "HEAD"), os.path.join(repository, "logs", "HEAD"))
    return tuple(_stamp(path) for path in (*heads, os.path.join(common, "packed-refs")))


def _stamp(path: str) -> tuple[int, int]:
    try:
        now = os.stat(path)
    except OSError:
        return (0, 0)
    return (now.st_mtime_ns, now.st_size)
