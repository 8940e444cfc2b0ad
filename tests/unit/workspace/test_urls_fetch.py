"""Every refusal, redirect and size case, against a server on loopback."""

from __future__ import annotations

import asyncio
import gzip
import os
import ssl
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from tierline.workspace.urls.fetch import MAX_BYTES, FetchedPage, PageLimits, fetch
from tierline.workspace.urls.guard import UrlRefused
from web.site import PUBLIC, Answer, Site, led, page, site

HOME = "http://example.org"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


async def refused(where: Site, path: str = "/", limits: PageLimits | None = None) -> UrlRefused:
    url = path if "://" in path else f"{HOME}{path}"
    with pytest.raises(UrlRefused) as caught:
        await where.fetch(url, limits)
    assert caught.value.message.endswith(".")
    return caught.value


async def test_a_page_is_read_without_cookies_or_credentials(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine example.org login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    async with site({"/a?b=c": page("Hello", Set_Cookie="id=1; Path=/")}) as where:
        found = await where.fetch(f"{HOME}/a?b=c#there")
        assert found == FetchedPage(
            f"{HOME}/a?b=c", f"{HOME}/a?b=c", "text/html", "utf-8", b"Hello"
        )
        await where.fetch(f"{HOME}/a?b=c")
    assert where.connected == [(PUBLIC, 80)] * 2
    for head in where.requests:
        lines = head.split("\r\n")
        assert lines[0] == "GET /a?b=c HTTP/1.1"
        names = {line.split(":")[0].lower() for line in lines[1:] if line}
        assert names <= {"host", "user-agent", "accept", "accept-encoding", "connection"}
        assert "Host: example.org" in lines


async def test_a_refused_address_is_never_connected_to() -> None:
    async with site() as where:
        for url in ("http://127.0.0.1/", "http://[::1]/", "http://0x7f.1:8080/", "file:///x"):
            await refused(where, url)
    assert (where.connected, where.resolved, where.requests) == ([], [], [])


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"], ["10.0.0.7"], ["192.168.0.1"], ["169.254.169.254"], ["0.0.0.0"],
        ["::1"], ["fe80::1"], ["fd12::1"], ["::ffff:10.0.0.1"], ["224.0.0.1"], ["100.64.0.1"],
        ["fd00:ec2::254"], [PUBLIC, "10.0.0.7"], ["10.0.0.7", PUBLIC], ["fe80::1%eth0"],
    ],
)  # fmt: skip
async def test_a_name_for_an_inner_address_is_refused(addresses: list[str]) -> None:
    async with site({"/": page()}) as where:
        where.names["evil.example.org"] = addresses
        found = await refused(where, "http://evil.example.org/")
        assert found.code == "url_private"
        assert "evil.example.org is " in found.message
    assert where.connected == []


async def test_a_name_is_resolved_once_and_that_address_is_used() -> None:
    """DNS rebinding: the second answer would be loopback."""
    async with site({"/": page("public")}) as where:
        where.names["rebind.example.org"] = [PUBLIC]
        where.later["rebind.example.org"] = ["127.0.0.1"]
        found = await where.fetch("http://rebind.example.org/")
        assert found.body == b"public"
        assert where.resolved == ["rebind.example.org"]
        assert where.connected == [(PUBLIC, 80)]
        # A redirect to itself is a new hop, so the new answer is checked as well.
        where.answers["/"] = led("/again")
        where.resolved.clear()
        where.connected.clear()
        assert (await refused(where, "http://rebind.example.org/")).code == "url_private"
        assert where.connected == [(PUBLIC, 80)]


async def test_a_name_without_a_server_and_a_server_that_does_not_answer() -> None:
    async with site() as where:
        where.names["gone.example.org"] = []
        found = await refused(where, "http://gone.example.org/")
        assert (found.code, "There is no server" in found.message) == ("url_unreachable", True)
        where.names["down.example.org"] = ["93.184.215.15", "93.184.215.16"]
        found = await refused(where, "http://down.example.org/")
        assert found.code == "url_unreachable"
        assert where.connected == [("93.184.215.15", 80), ("93.184.215.16", 80)]
        where.answers["/"] = page("second address")
        where.names["half.example.org"] = ["93.184.215.15", PUBLIC]
        assert (await where.fetch("http://half.example.org/")).body == b"second address"


@pytest.mark.parametrize(
    "status",
    ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"],
)
async def test_redirects_are_followed(status: str) -> None:
    async with site(
        {
            "/": led("b?x=1", status),
            "/b?x=1": led("//other.example.org/c", status),
            "/c": led("http://third.example.org:8080/d#e", status),
            "/d": page("there"),
        }
    ) as where:
        found = await where.fetch(f"{HOME}/")
    assert (found.url, found.final_url) == (f"{HOME}/", "http://third.example.org:8080/d")
    assert where.paths() == ["/", "/b?x=1", "/c", "/d"]
    assert where.resolved == [
        "example.org", "example.org", "other.example.org", "third.example.org"
    ]  # fmt: skip
    assert where.connected[-1] == (PUBLIC, 8080)


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://127.0.0.1/", "url_private"),
        ("http://localhost:8000/", "url_private"),
        ("http://2130706433/", "url_private"),
        ("http://[::ffff:127.0.0.1]/", "url_private"),
        ("http://169.254.169.254/latest/meta-data/", "url_private"),
        ("http://inner.example.org/", "url_private"),
        ("//10.0.0.1/", "url_private"),
        ("file:///etc/passwd", "url_scheme"),
        ("ftp://example.org/", "url_scheme"),
        ("data:text/plain,hi", "url_scheme"),
        ("http://user:password@example.org/", "url_userinfo"),
        ("http://example.org:22/", "url_port"),
        ("http://[bad/", "url_redirects"),
        ("/\x7f", "url_invalid"),
    ],
)
async def test_a_redirect_to_a_forbidden_place_is_refused(location: str, code: str) -> None:
    async with site({"/": led(location)}) as where:
        where.names["inner.example.org"] = ["10.1.2.3"]
        assert (await refused(where)).code == code
    assert where.connected == [(PUBLIC, 80)]
    assert where.paths() == ["/"]


async def test_redirects_have_an_end() -> None:
    chain = {f"/{i}": led(f"/{i + 1}") for i in range(9)} | {"/9": page("far")}
    async with site(chain | {"/loop": led("/loop"), "/a": led("/b"), "/b": led("/a")}) as where:
        assert (await where.fetch(f"{HOME}/4")).body == b"far", "five redirects are followed"
        where.requests.clear()
        found = await refused(where, "/3")
        assert (found.code, "more than 5" in found.message) == ("url_redirects", True)
        assert where.paths() == ["/3", "/4", "/5", "/6", "/7", "/8"]
        for path in ("/loop", "/a"):
            found = await refused(where, path)
            assert (found.code, "circle" in found.message) == ("url_redirects", True)
        where.answers["/bare"] = page("x", status="302 Found")
        assert (await refused(where, "/bare")).code == "url_status"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("401 Unauthorized", "needs a login"),
        ("403 Forbidden", "refused by the server"),
        ("404 Not Found", "does not exist"),
        ("410 Gone", "no longer exists"),
        ("418 Teapot", "was not given"),
        ("429 Too Many Requests", "too many requests"),
        ("500 Internal Server Error", "the server has a problem"),
        ("503 Unavailable", "the server has a problem"),
        ("206 Partial Content", "was not given"),
        ("204 No Content", "was not given"),
    ],
)
async def test_other_answers_than_a_page(status: str, words: str) -> None:
    async with site({"/": page("x" * ("204" not in status), status=status)}) as where:
        found = await refused(where)
    assert (found.code, words in found.message) == ("url_status", True)
    assert f"HTTP {status[:3]}" in found.message


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        ("text/html", True),
        ("TEXT/HTML ; Charset=UTF-8", True),
        ("text/plain", True),
        ("text/markdown; charset=utf-8", True),
        ("application/xhtml+xml", True),
        ("application/json", True),
        ("application/ld+json", True),
        ("application/atom+xml", True),
        ("image/png", False),
        ("image/svg+xml", False),
        ("application/pdf", False),
        ("application/octet-stream", False),
        ("application/zip", False),
        ("video/mp4", False),
        ("multipart/form-data; boundary=x", False),
        ("", False),
    ],
)
async def test_only_texts_are_taken(kind: str, taken: bool) -> None:
    async with site({"/": page("body", type_=kind)}) as where:
        if taken:
            assert (await where.fetch(f"{HOME}/")).body == b"body"
        else:
            found = await refused(where)
            assert found.code == "url_type"
            assert (kind.split(";", maxsplit=1)[0] or "nothing at all") in found.message


async def test_the_size_has_a_limit() -> None:
    limits = PageLimits(max_bytes=10_000)
    length = str(10**12)
    async with site(
        {
            "/fits": page(b"x" * 10_000),
            "/over": page(b"x" * 10_001),
            "/says": page(b"x", Content_Length=length),
            "/endless": Answer([HEAD + b"\r\n"], endless=b"y" * 4096),
            "/chunks": Answer([CHUNKED], endless=b"1000\r\n" + b"z" * 4096 + b"\r\n"),
        }
    ) as where:
        assert len((await where.fetch(f"{HOME}/fits", limits)).body) == 10_000
        for path in ("/over", "/says", "/endless", "/chunks"):
            found = await refused(where, path, limits)
            assert (found.code, "0.01 MB" in found.message) == ("url_too_large", True)
        await asyncio.sleep(0.05)
        sent = where.sent
        await asyncio.sleep(0.1)
        assert where.sent == sent, "the connection is closed at once"
    assert MAX_BYTES == 2_000_000


def packed(data: bytes, coding: str) -> bytes:
    if coding == "gzip":
        return gzip.compress(data)
    if coding == "deflate":
        return zlib.compress(data)
    made = zlib.compressobj(9, zlib.DEFLATED, -15)
    return made.compress(data) + made.flush()


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw"])
async def test_a_compressed_bomb_stops_at_the_limit(coding: str) -> None:
    name = "deflate" if coding == "raw" else coding
    bomb = packed(b"\0" * 200_000_000, coding)
    assert len(bomb) < 300_000
    async with site(
        {
            "/bomb": page(bomb, Content_Encoding=name),
            "/fine": page(packed(b"hello" * 100, coding), Content_Encoding=name),
            "/broken": page(b"not compressed at all", Content_Encoding=name),
            "/other": page(b"?", Content_Encoding="br"),
            "/twice": page(b"?", Content_Encoding="gzip, gzip"),
        }
    ) as where:
        import tracemalloc

        tracemalloc.start()
        found = await refused(where, "/bomb")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.code == "url_too_large"
        assert peak < 12_000_000, "never unpacked beyond the limit"
        assert (await where.fetch(f"{HOME}/fine")).body == b"hello" * 100
        for path in ("/broken", "/other", "/twice"):
            assert (await refused(where, path)).code == "url_type"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(), id="says nothing"),
        pytest.param(Answer([b"HTTP/1.1 200 OK\r\n"], endless=b"X", pause=0.02), id="slow head"),
        pytest.param(Answer([HEAD + b"\r\n"], endless=b"y", pause=0.02), id="slow body"),
        pytest.param(Answer([HEAD + b"Content-Length: 9\r\n\r\n", b"x"], pause=9), id="stalls"),
    ],
)
async def test_the_time_has_a_limit(answer: Answer) -> None:
    if not answer.pieces:
        answer = Answer([b""], pause=9)
    async with site({"/": answer}) as where:
        begun = time.monotonic()
        found = await refused(where, "/", PageLimits(seconds=0.4))
        assert time.monotonic() - begun < 3
    assert (found.code, "0.4 seconds" in found.message) == ("url_timeout", True)


async def test_a_slow_name_server_counts_too() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await asyncio.sleep(9)
        return [PUBLIC]

    with pytest.raises(UrlRefused, match="within"):
        await fetch(f"{HOME}/", resolve=resolve, limits=PageLimits(seconds=0.2))


@pytest.mark.parametrize(
    "raw",
    [
        b"hello\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 50\r\n\r\nshort",
        CHUNKED + b"zz\r\nnot a size",
        b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
    ],
    ids=["words", "ssh", "closes", "cut", "bad chunk", "huge head"],
)
async def test_what_is_no_web_server_is_an_error_not_a_crash(raw: bytes) -> None:
    async with site({"/": Answer([raw])}) as where:
        assert (await refused(where)).code == "url_unreachable"


async def test_a_certificate_is_for_the_name_although_the_address_is_fixed(tmp_path: Path) -> None:
    """The connection goes to an address; the certificate is checked for the host's name."""
    trusted, server = certificate(tmp_path, "example.org")
    async with site({"/": page("secure")}, tls=server) as where:
        found = await where.fetch("https://example.org/", tls=trusted)
        assert found.body == b"secure"
        for url, context in (
            ("https://other.example.org/", trusted),
            ("https://example.org/", None),
        ):
            with pytest.raises(UrlRefused) as caught:
                await where.fetch(url, tls=context)
            assert caught.value.code == "url_unreachable"
            assert "certificate" in caught.value.message
        where.answers["/"] = led("http://example.org/plain")
        with pytest.raises(UrlRefused, match="from https to http"):
            await where.fetch("https://example.org/", tls=trusted)


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A context that trusts a new certificate for the name, and the server's."""
    import subprocess

    key, cert = folder / "key.pem", folder / "cert.pem"
    command: list[Any] = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-keyout", key, "-out", cert, "-subj", f"/CN={name}",
        "-addext", f"subjectAltName=DNS:{name}",
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, env=dict(os.environ))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl makes the certificate; it is not there")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return ssl.create_default_context(cafile=str(cert)), server
