"""Read by each Python process that a test starts: writes down who reaches for another machine.

Every server of every test is watched this way, with the Python processes that it starts; native
code is watched by ``lsp/test_no_network.py``. Nothing is imported before it is needed: what a
program imports first, and from where, stays as it is.
"""

import os
import sys

FILE = "LEAKS_ARE_WRITTEN_TO"
"""Names the environment's variable; where it is not set, nothing is recorded."""
CONNECTS = ("socket.connect", "socket.sendto", "socket.sendmsg")
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def reached(event: str, arguments: tuple[object, ...]) -> object:
    """The other machine that is meant, as it was written; None for this one."""
    if event in CONNECTS:
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) and len(address) in (2, 4) else None
    elif event in NAMES:
        host = arguments[0]
    else:
        return None
    name = host.decode() if isinstance(host, bytes) else host
    if not isinstance(name, str) or name in ("", "localhost"):
        return None
    import ipaddress

    try:
        return None if ipaddress.ip_address(name).is_loopback else name
    except ValueError:
        return name


def record(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook (PEP 578)."""
    if event.startswith("socket.") and (name := reached(event, arguments)) is not None:
        write({"event": event, "reached": name})


def write(line: dict[str, object]) -> None:
    """Append a line about this process. What is short is appended whole."""
    import json
    from pathlib import Path

    if to := os.environ.get(FILE):
        about = {"test": os.environ.get("PYTEST_CURRENT_TEST", ""), "program": sys.orig_argv[:6]}
        with Path(to).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, **about}, default=repr) + "\n")


if os.environ.get(FILE):
    sys.addaudithook(record)
