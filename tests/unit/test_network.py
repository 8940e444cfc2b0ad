"""Which proxy is on the way to an address, and which pages are read through one."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest
import trustme

from tierline.network import Network, NetworkError, options, proxy_for, tls_context
from tierline.workspace.urls.fetch import fetch
from tierline.workspace.urls.guard import UrlRefused
from wire.proxying import Proxy, port_of
from wire.scripts import o_reply
from wire.servers import wire_server

BOTH = {"https": "http://a:1", "http": "http://b:2"}
CASES: list[tuple[str, Network, dict[str, str], str]] = [
    ("https://x.example/v1", Network(), BOTH, "http://a:1"),
    ("http://x.example/v1", Network(), BOTH, "http://b:2"),
    ("https://x.example/v1", Network(), {"all": "socks5://c:3"}, "socks5://c:3"),
    ("https://x.example/v1", Network(), {"https": "a:1"}, "http://a:1"),
    ("https://x.example/v1", Network(), {}, ""),
    ("https://x.example/v1", Network(proxy="http://own:4"), BOTH, "http://own:4"),
    ("https://x.example/v1", Network(proxy="none"), BOTH, ""),
    ("http://127.0.0.1:80/v1", Network(proxy="http://own:4"), BOTH, ""),
    ("http://localhost:80/v1", Network(), BOTH, ""),
    ("https://[::1]/v1", Network(), BOTH, ""),
    ("https://x.example/v1", Network(), {**BOTH, "no": "example"}, ""),
    ("https://x.example/v1", Network(), {**BOTH, "no": ".example"}, ""),
    ("https://x.example/v1", Network(), {**BOTH, "no": "*.x.example"}, ""),
    ("https://x.example/v1", Network(), {**BOTH, "no": "other, X.Example:443"}, ""),
    ("https://wx.example/v1", Network(), {**BOTH, "no": "x.example"}, "http://a:1"),
    ("https://x.example/v1", Network(), {**BOTH, "no": "*"}, ""),
    ("https://10.1.2.3/v1", Network(), {**BOTH, "no": "10.0.0.0/8"}, ""),
    ("https://11.1.2.3/v1", Network(), {**BOTH, "no": "10.0.0.0/8"}, "http://a:1"),
    ("https://[fd00::1]/v1", Network(), {**BOTH, "no": "fd00::/8"}, ""),
    ("https://x.example/v1", Network(no_proxy="y.example"), {**BOTH, "no": "*"}, "http://a:1"),
    ("https://x.example/v1", Network(no_proxy="x.example"), BOTH, ""),
    ("no address", Network(), BOTH, ""),
    ("https://[bad/v1", Network(), BOTH, ""),
]


@pytest.mark.parametrize(("url", "network", "env", "proxy"), CASES)
def test_the_way_is_the_one_that_other_tools_take(
    url: str, network: Network, env: dict[str, str], proxy: str
) -> None:
    assert proxy_for(url, network, env) == proxy


def test_a_password_in_a_proxys_address_is_not_shown() -> None:
    assert "secret" not in repr(Network(proxy="http://me:secret@proxy.example:1"))


async def unknown(_host: str, _port: int) -> Sequence[str]:
    raise OSError("no name server")


async def test_a_page_is_read_through_the_proxy_where_the_name_is_not_known_here() -> None:
    authority = trustme.CA()
    server, client = (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context())
    authority.issue_cert("docs.example").configure_cert(server)
    authority.configure_trust(client)
    with wire_server("openai", [o_reply("Yes.")], tls=server) as pages:
        pages.pages["/page"] = {"title": "A page"}
        with Proxy({"docs.example": port_of(pages)}, login="me:pass word") as proxy:
            way = Network(proxy=f"http://me:pass%20word@127.0.0.1:{proxy.port}")
            page = await fetch(
                "https://docs.example/page", resolve=unknown, tls=client, network=way
            )
            assert b"A page" in page.body
            assert proxy.asked == ["CONNECT docs.example:443 HTTP/1.1"]
            for refused in ("https://10.0.0.1/x", "https://169.254.169.254/x"):
                with pytest.raises(UrlRefused):
                    await fetch(refused, resolve=unknown, tls=client, network=way)
            assert len(proxy.asked) == 1, "what is refused is not even asked for"
            with pytest.raises(UrlRefused) as found:
                wrong = Network(proxy=f"http://127.0.0.1:{proxy.port}")
                await fetch("https://docs.example/page", resolve=unknown, tls=client, network=wrong)
            assert "The proxy did not let docs.example through" in found.value.message


async def test_a_name_that_leads_inside_is_refused_behind_a_proxy_as_well() -> None:
    async def inside(_host: str, _port: int) -> Sequence[str]:
        return ["192.168.0.7"]

    with Proxy({}) as proxy, pytest.raises(UrlRefused):
        way = Network(proxy=f"http://127.0.0.1:{proxy.port}")
        await fetch("http://inside.example/", resolve=inside, network=way)
    assert proxy.asked == []


def test_a_proxy_that_is_none_is_told_and_a_socks_proxy_is_one() -> None:
    with pytest.raises(NetworkError) as found:
        options("https://x.example/v1", Network(proxy="ftp://proxy.example"))
    assert "network.proxy" in found.value.advice
    way = options("https://x.example/v1", Network(proxy="socks5://127.0.0.1:1080"))
    httpx2.AsyncClient(**way)  # fails without the package that speaks it


def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("no key at all")
    for network in (Network(ca_file=str(key)), Network(client_certificate=str(key))):
        with pytest.raises(NetworkError) as found:
            tls_context(network)
        assert str(key) in found.value.message
        assert "PEM" in found.value.advice
