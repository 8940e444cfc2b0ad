"""Proxies, private certificate authorities and client certificates, as the user's other tools."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from attrs import frozen
from lsprotocol import types as lsp

from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from wire.proxying import Proxy, port_of
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

HOST = "models.example"
"""Nobody knows it but the proxy."""


@frozen
class Office:
    """A network with an authority of its own: a model's server that only the proxy reaches."""

    model: WireServer
    proxy: Proxy
    ca: Path
    mine: Path
    """A certificate with its key."""

    async def editor(self, start: Start, env: dict[str, str], **settings: Any) -> Editor:
        chosen = {
            "TIERLINE_PROVIDER_NAME": "openai",
            "TIERLINE_PROVIDER_BASE_URL": f"https://{HOST}/v1",
            "TIERLINE_PROVIDER_MAX_RETRIES": "0",
            "OPENAI_API_KEY": "k",
        }
        editor: Editor = await start(env=chosen | env, **settings)
        return editor


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    yield from made(tmp_path, asks=False)


@pytest.fixture
def strict_office(tmp_path: Path) -> Iterator[Office]:
    """Its server wants to see a certificate of the client."""
    yield from made(tmp_path, asks=True)


def made(folder: Path, *, asks: bool) -> Iterator[Office]:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(context)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    authority.issue_cert("me@example.org").private_key_and_cert_chain_pem.write_to_path(
        str(folder / "mine.pem")
    )
    with (
        wire_server("openai", [o_reply("Yes.")], tls=context) as model,
        Proxy({HOST: port_of(model)}, login="me:pass word") as proxy,
    ):
        yield Office(model, proxy, folder / "ca.pem", folder / "mine.pem")


def address(proxy: Proxy, login: str = "me:pass%20word") -> str:
    return f"http://{login}@127.0.0.1:{proxy.port}"


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])
async def test_the_environments_proxy_and_authorities_count(
    start: Start, office: Office, variable: str
) -> None:
    env = {"HTTPS_PROXY": address(office.proxy), variable: str(office.ca)}
    editor = await office.editor(start, env)
    end = await editor.chat("Is it?")
    assert (end.outcome, end.error) == ("ok", "")
    assert office.proxy.asked == [f"CONNECT {HOST}:443 HTTP/1.1"]
    listed = await editor.ask("provider/models", p.ModelsParams("openai", f"https://{HOST}/v1"))
    assert listed.source == "server"


async def test_the_editors_settings_stand_above_the_environment(
    start: Start, office: Office
) -> None:
    network = {"proxy": address(office.proxy), "caFile": str(office.ca)}
    dead = {"HTTPS_PROXY": "http://127.0.0.1:9", "NODE_EXTRA_CA_CERTS": "/no/such/file.pem"}
    editor = await office.editor(start, dead, network=network)
    end = await editor.chat("Is it so?")
    assert (end.outcome, end.error) == ("ok", "")
    assert len(office.proxy.asked) == 1


async def test_what_stands_in_the_way_is_said_with_what_to_do(start: Start, office: Office) -> None:
    env = {"HTTPS_PROXY": address(office.proxy)}
    editor = await office.editor(start, env)
    end = await editor.chat("Really?")
    assert (end.outcome, end.code) == ("error", "network")
    assert f"The certificate of {HOST}:443 is not trusted" in end.error
    assert "network.ca_file or NODE_EXTRA_CA_CERTS" in end.advice

    await change(editor, network={"proxy": address(office.proxy, "me:wrong")})
    end = await editor.chat("Sure?")
    assert "The proxy 127.0.0.1:" in end.error and "407" in end.error
    assert "network.proxy" in end.advice and "wrong" not in end.error + end.advice

    await change(editor, network={"proxy": "http://127.0.0.1:9"})
    end = await editor.chat("Why?")
    assert end.error == "The proxy 127.0.0.1:9 cannot be reached."
    assert "network.no_proxy" in end.advice

    await change(editor, network={"caFile": "/no/such/file.pem"})
    end = await editor.chat("Then?")
    assert end.error == "/no/such/file.pem cannot be used: no such file or directory."
    assert "network.ca_file" in end.advice

    lax = {"proxy": address(office.proxy), "proxyStrictSsl": False}
    await change(editor, network=lax)
    assert (await editor.chat("Is it now?")).outcome == "ok"


async def test_a_server_that_wants_a_certificate_is_shown_it(
    start: Start, strict_office: Office
) -> None:
    env = {"HTTPS_PROXY": address(strict_office.proxy), "SSL_CERT_FILE": str(strict_office.ca)}
    editor = await strict_office.editor(start, env)
    end = await editor.chat("And now?")
    assert (end.outcome, end.code) == ("error", "network")
    assert "wants to see a certificate of yours" in end.error
    assert "network.client_certificate" in end.advice

    await change(editor, network={"clientCertificate": str(strict_office.mine)})
    end = await editor.chat("Well?")
    assert (end.outcome, end.error) == ("ok", "")


async def change(editor: Editor, **settings: Any) -> None:
    """The user changes settings; a request behind the notification sees them."""
    editor.client.workspace_did_change_configuration(
        lsp.DidChangeConfigurationParams({"tierline": settings})
    )
    await editor.ask("provider/list")
