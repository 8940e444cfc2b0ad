"""The one place that runs git, and only to read. Nothing that a repository names is run by it.

A repository's own configuration can name programs: monitors, hooks, diff drivers, signature checks,
helpers that fetch missing objects. Those that a reading command could start are switched off, git
never speaks to a network, and no variable of the environment points it elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

MOST_BYTES = 4_000_000
"""Of output that is read: a commit may touch everything."""
SECONDS = 10.0
READERS = frozenset(
    {
        "cat-file",
        "config",
        "diff-index",
        "diff-tree",
        "for-each-ref",
        "log",
        "ls-files",
        "merge-base",
        "rev-parse",
    }
)
"""The commands that are used. None of them applies clean or smudge filters or runs hooks, as long
as ``diff-index`` looks at the index alone (``--cached``)."""
_NONE = os.devnull
_SETTINGS = {
    "core.alternateRefsCommand": "",
    "core.askPass": "",
    "core.attributesFile": _NONE,
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
    "log.showSignature": "false",
    "pager.log": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_KEPT = frozenset(
    {
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
    }
)
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


def read(
    folder: str, *arguments: str, most_bytes: int = MOST_BYTES, seconds: float = SECONDS
) -> bytes:
    """Standard output of a command of ``READERS``, as far as it came in the given time and size;
    empty if git is not there or says nothing. Blocking.
    """
    if arguments[0] not in READERS or (
        arguments[0] == "diff-index" and "--cached" not in arguments
    ):
        raise ValueError(f"git {arguments[0]} is not one of the commands that only read")
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    try:
        process = subprocess.Popen(  # noqa: S603
            ["git", "--no-pager", "-C", folder, *settings, *arguments],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=sys.platform != "win32",
        )
    except (OSError, ValueError):
        return b""
    late = threading.Timer(seconds, _end, (process,))
    late.start()
    try:
        assert process.stdout is not None
        return process.stdout.read(most_bytes)
    finally:
        late.cancel()
        late.join()
        _end(process)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def environment() -> dict[str, str]:
    """Our environment without what redirects git or makes it ask."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("GIT_") or name.upper() in _KEPT
    }
    for asking in ("SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER"):
        ours.pop(asking, None)
    return ours | _ENVIRONMENT


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and all that it started, by force."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
