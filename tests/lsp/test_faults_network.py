"""A network that fails in every way, through a real server: what the user sees, keeps and pays.

Issue 10, item 2. The rows are in ``network_faults.py``. For each: how the turn ends, the exact
sentence and its advice, the text that is kept, the number of requests (nothing is sent twice that
may have been answered), and that the next turn works. The rows run one after another against the
same server, so each also shows that the faults before it left nothing behind.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from lsp.conftest import environment
from lsp.network_faults import FAULTS, FIRST, GOOD, RETRIES, STALL, Fault
from lsp.pipe import ForkedPipe as Pipe
from lsp.pipe import history
from support.recording import UNRECORDED
from support.wellformed import violations
from wire.drive import reply
from wire.servers import Kind, Reply, WireServer, wire_server
from wire.tunnel import certificate, serving

KEY = "test-key-of-nobody"
KINDS: list[Kind] = ["anthropic", "openai"]
LIMITS = {
    "TIERLINE_PROVIDER_STALL_SECONDS": str(STALL),
    "TIERLINE_PROVIDER_FIRST_BYTE_SECONDS": str(FIRST),
    "TIERLINE_PROVIDER_MAX_RETRIES": str(RETRIES),
}


@frozen
class Line:
    """One Tierline and the provider that it asks."""

    kind: Kind
    pipe: Pipe
    model: WireServer
    elsewhere: WireServer

    @property
    def service(self) -> str:
        return "Anthropic" if self.kind == "anthropic" else "127.0.0.1"

    def script(self, replies: list[Reply]) -> None:
        """Answer the next requests with these, the last one for ever."""
        self.model.requests.clear()
        self.model.script[:] = [
            evolve(r, headers={k: v.replace("{elsewhere}", self.elsewhere.url + "/v1/messages")
                               for k, v in r.headers.items()})
            for r in replies
        ]  # fmt: skip

    def turn(self, text: str) -> Turn:
        seen = len(self.pipe.messages)
        sent = self.pipe.request("tierline/chat/send", {"text": text})

        def body(message: dict[str, Any]) -> dict[str, Any]:
            found = (message.get("params") or {}).get("body")
            return found if isinstance(found, dict) else {}

        def end() -> Any:
            bodies = [body(m) for m in self.pipe.messages[seen:]]
            return next(
                (b for b in bodies
                 if b.get("kind") == "turnFinished" and b["turnId"] == sent["turnId"]), None
            )  # fmt: skip

        finished = self.pipe.until(end, 30)
        return Turn(finished, [body(m) for m in self.pipe.messages[seen:]])


@frozen
class Turn:
    """How a turn ended, and everything that was said on the way."""

    end: dict[str, Any]
    bodies: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [body for body in self.bodies if body.get("kind") == kind]

    @property
    def told(self) -> str:
        """What the user reads under the prompt, or beside a reply that is whole."""
        if self.end["error"]:
            return f"{self.end['error']} {self.end['advice']}"
        message = self.end.get("message") or {}
        return str(message.get("note") or " ".join(n["text"] for n in self.of("notice")))

    @property
    def text(self) -> str:
        return str((self.end.get("message") or {}).get("text", ""))

    @property
    def shown(self) -> str:
        """The text that streamed."""
        return "".join(body["text"] for body in self.of("textDelta"))

    @property
    def waits(self) -> list[str]:
        return [body["text"] for body in self.of("waiting") if body["seconds"]]


@pytest.fixture(scope="module", params=KINDS)
def line(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Line]:
    kind: Kind = request.param
    workspace = tmp_path_factory.mktemp(kind) / "work"
    workspace.mkdir()
    with (
        wire_server(kind, reply(kind, *GOOD)) as model,
        wire_server(kind, reply(kind, "The key, thank you.")) as elsewhere,
        Pipe(workspace, env=environment(model) | LIMITS) as pipe,
    ):
        pipe.initialize()
        found = Line(kind, pipe, model, elsewhere)
        assert found.turn("Are you there?").end["outcome"] == "ok"  # the SDK is loaded
        yield found
        assert "Traceback" not in pipe.stderr, pipe.stderr
        assert KEY not in pipe.stderr
        assert KEY not in str(history(workspace))


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_network_fault_is_named_and_costs_what_it_must(line: Line, fault: Fault) -> None:
    line.script(fault.script(line.kind))
    prompt = f"What of {fault}?"
    turn = line.turn(prompt)

    def named(sentence: str) -> str:
        return sentence.replace("{service}", line.service)

    assert (turn.end["outcome"], turn.end["code"]) == (fault.outcome, fault.code), turn.end
    assert turn.told == named(fault.told)
    assert turn.waits == [named(wait) for wait in fault.waits]
    assert turn.text == turn.shown == fault.text
    assert len(line.model.requests) == fault.requests
    assert line.elsewhere.requests == line.elsewhere.others == [], "the key stays where it belongs"
    assert KEY not in str(turn.bodies)

    line.script([reply(line.kind, *GOOD)])
    after = line.turn("And now?")
    assert (after.end["outcome"], after.text) == ("ok", "One two three.")
    assert len(line.model.requests) == 1
    (body,) = line.model.bodies
    assert violations(body, line.kind) == []
    assert str(body["messages"]).count(prompt) == 1, "it was asked, and stays in the history, once"


# --- before anything is sent ----------------------------------------------------------------------


def one_turn(workspace: Path, kind: Kind, url: str, **env: str) -> Turn:
    """A turn of a server of its own, at an address."""
    nowhere = WireServer(kind, [])
    given = environment(nowhere) | LIMITS | {"TIERLINE_PROVIDER_BASE_URL": url} | env
    nowhere._http.server_close()
    with Pipe(workspace, env=given) as pipe:
        pipe.initialize()
        turn = Line(kind, pipe, nowhere, nowhere).turn("Hello?")
        assert "Traceback" not in pipe.stderr, pipe.stderr
        assert pipe.request("tierline/state/get")["messages"][0]["text"] == "Hello?"
    return turn


def name_of(kind: Kind, host: str) -> str:
    return "Anthropic" if kind == "anthropic" else host


@pytest.fixture
def free_port() -> int:
    """Where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


both = pytest.mark.parametrize("kind", KINDS)


@both
def test_nothing_listens(workspace: Path, kind: Kind, free_port: int) -> None:
    turn = one_turn(workspace, kind, f"http://127.0.0.1:{free_port}")
    said = (
        f"{name_of(kind, '127.0.0.1')} cannot be reached: nothing listens at 127.0.0.1:{free_port}."
    )
    assert turn.told == f"{said} Start the server or check the base URL, then retry."
    assert (turn.end["code"], len(turn.waits)) == ("network", 1)


@both
def test_a_name_that_does_not_exist(workspace: Path, kind: Kind) -> None:
    """``.invalid`` is reserved (RFC 2606)."""
    turn = one_turn(workspace, kind, "http://model.invalid/v1", no_proxy="*", **UNRECORDED)
    said = (
        f"{name_of(kind, 'model.invalid')} cannot be reached: the name model.invalid is not known."
    )
    assert turn.told == f"{said} Check the network and the spelling of the base URL, then retry."
    assert turn.end["code"] == "network"


@both
def test_a_proxy_that_is_not_there(workspace: Path, kind: Kind, free_port: int) -> None:
    proxy = f"http://someone:secret@127.0.0.1:{free_port}"
    env = {"no_proxy": "", "NO_PROXY": "", "https_proxy": proxy, "HTTPS_PROXY": proxy}
    turn = one_turn(workspace, kind, "https://model.invalid/v1", **env)
    assert turn.told == (
        f"The proxy 127.0.0.1:{free_port} cannot be reached. Check HTTPS_PROXY and the network, or "
        "add model.invalid to NO_PROXY."
    )
    assert turn.end["code"] == "network"
    assert "secret" not in str(turn.bodies)


@both
def test_a_proxy_that_refuses(workspace: Path, kind: Kind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_refuse, args=(listener,), daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        env = {"no_proxy": "", "NO_PROXY": ""}
        env |= dict.fromkeys(("https_proxy", "HTTPS_PROXY"), f"http://someone:secret@{address}")
        turn = one_turn(workspace, kind, "https://model.invalid/v1", **env)
    assert turn.told == (
        f"The proxy {address} did not let the request through (407 Proxy Authentication Required). "
        "Check the address, user name and password in HTTPS_PROXY."
    )
    assert (turn.end["code"], turn.waits) == ("network", [])
    assert "secret" not in str(turn.bodies)


def _refuse(listener: socket.socket) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            client.recv(65536)
            client.sendall(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
            )


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, with its key in one file."""
    return certificate(tmp_path, "127.0.0.1")


@both
def test_a_certificate_that_nobody_vouches_for(workspace: Path, kind: Kind, trusted: Path) -> None:
    """The key is not sent; with the advice followed, the turn is answered."""
    with wire_server(kind, reply(kind, *GOOD), tls=serving(trusted)) as model:
        turn = one_turn(workspace, kind, model.url)
        assert turn.told == (
            "The certificate of 127.0.0.1 is not trusted: self-signed certificate. Add your "
            "network's certificate authority to the system, or name its PEM file in "
            "network.ca_file or NODE_EXTRA_CA_CERTS."
        ).replace("127.0.0.1 is", f"127.0.0.1:{model.port} is")
        assert (turn.end["code"], turn.waits) == ("network", [])
        assert model.requests == []
        turn = one_turn(workspace, kind, model.url, SSL_CERT_FILE=str(trusted))
        assert (turn.end["outcome"], turn.text) == ("ok", "One two three.")


@both
def test_https_where_only_http_is_spoken(workspace: Path, kind: Kind) -> None:
    with wire_server(kind, reply(kind, *GOOD)) as model:
        turn = one_turn(workspace, kind, model.url.replace("http:", "https:"))
        said, _, advice = turn.told.partition("). ")
        assert said.startswith(f"127.0.0.1:{model.port} does not answer with a secure connection (")
        assert advice == (
            "Check the port, and whether the base URL should begin with http instead of https."
        )
        assert model.requests == []
