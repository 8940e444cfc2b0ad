"""The debugging mode over TCP against programs and web pages that are not its user's."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lsp.editor import TOKEN
from lsp.pipe import SERVE, clean_environment, frame
from tierline.lsp.tcp import TOKEN_VARIABLE, is_loopback


def opening(token: Any = TOKEN, method: str = "initialize") -> dict[str, Any]:
    options = {} if token is None else {"token": token}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {"processId": None, "capabilities": {}, "initializationOptions": options},
    }


BODY = json.dumps(opening()).encode()
REFUSED = {
    "POST": b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY,
    "GET": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "other headers": b"Host: x\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY,
    "headers behind": b"Content-Length: %d\r\nOrigin: http://x\r\n\r\n" % len(BODY) + BODY,
    "no token": frame(opening(None)),
    "another token": frame(opening(TOKEN[:-1] + "x")),
    "beyond ASCII": frame(opening("ü" * 20)),
    "a number": frame(opening(7)),
    "another method": frame(opening(method="tierline/chat/send")),
    "no JSON": b"Content-Length: 3\r\n\r\n{x}",
    "a list": b"Content-Length: 2\r\n\r\n[]",
    "deep": b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
    "too large": b"Content-Length: 999999999\r\n\r\n",
    "endless line": b"Content-Length: " + b"1" * 300_000,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    "empty lines": b"\r\n\r\n",
}


@contextmanager
def served(workspace: Path, **env: str) -> Iterator[tuple[int, str]]:
    """A server on a port of its choice; and what it said when it began to listen."""
    command = [*SERVE, "--tcp", "127.0.0.1:0"]
    with subprocess.Popen(
        command, env=clean_environment(workspace, **env), stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        said = ""
        while "Listening" not in said:
            said = server.stderr.readline()
            assert said, "it has ended"
        try:
            yield int(said.split(":")[1].split(".")[0]), said
        finally:
            server.kill()


def answer_to(port: int, data: bytes) -> bytes:
    """What comes back until the connection is closed, or an answer is whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
        try:
            link.sendall(data)
            seen = b""
            while b'"capabilities"' not in seen and (piece := link.recv(65_536)):
                seen += piece
        except ConnectionError:  # a reset: it was closed before all was read
            return b""
        return seen


def test_whoever_has_not_the_token_is_hung_up_on_and_its_user_is_served(workspace: Path) -> None:
    with served(workspace, **{TOKEN_VARIABLE: TOKEN}) as (port, said):
        assert TOKEN not in said, "a token of the user's own is not shown"
        for what, data in REFUSED.items():
            assert answer_to(port, data) == b"", what
        assert not (workspace / ".tierline").exists()
        assert b'"capabilities"' in answer_to(port, frame(opening()))
        with pytest.raises(OSError, match=r"refused|reset"):
            time.sleep(0.2)
            socket.create_connection(("127.0.0.1", port), timeout=5).recv(1)


def test_a_token_is_made_for_each_start_and_shown_to_its_user(workspace: Path) -> None:
    tokens = []
    for _ in range(2):
        with served(workspace) as (port, said):
            made = re.search(r"token: (\S{30,})$", said)
            assert made is not None
            assert answer_to(port, frame(opening(TOKEN))) == b""
            assert b'"capabilities"' in answer_to(port, frame(opening(made[1])))
            tokens.append(made[1])
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize("where", ["0.0.0.0:0", "192.168.1.1:7817", "[::]:0", "example.org:80"])
def test_no_address_but_this_machines_own_is_listened_on(workspace: Path, where: str) -> None:
    done = subprocess.run(
        [*SERVE, "--tcp", where],
        env=clean_environment(workspace),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "this machine only" in done.stderr


def test_a_token_that_can_be_guessed_is_refused(workspace: Path) -> None:
    done = subprocess.run(
        [*SERVE, "--tcp", "127.0.0.1:0"],
        env=clean_environment(workspace, **{TOKEN_VARIABLE: "short"}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "at least 16 characters" in done.stderr


def test_what_counts_as_this_machine() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "", "localhost.example.org"]))
