"""Which addresses are read."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.workspace.urls.guard import UrlRefused, check, parse


def code(text: str) -> str:
    with pytest.raises(UrlRefused) as caught:
        parse(text)
    assert caught.value.message
    return caught.value.code


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
        "017700000001", "0x7F.0x0.0x0.0x1", "127.0.0.1.", "127.255.255.254", "１２７.0.0.1",
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "db.internal",
        "metadata.google.internal", "router.home.arpa", "intranet", "nas.localdomain",
        "0.0.0.0", "0", "0.1.2.3", "10.0.0.1", "10.1", "172.16.0.1", "172.31.255.255",
        "192.168.1.1", "3232235777", "169.254.1.1", "169.254.169.254", "0xa9fea9fe",
        "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1",
        "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]",
        "[::127.0.0.1]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[fe80::1]", "[fe80::1%25eth0]",
        "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]",
        "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "[2002:a00:1::1]",
        "[100::1]", "[64:ff9b:1::1]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_address_inside_anyones_network_is_read(scheme: str, host: str) -> None:
    assert code(f"{scheme}://{host}/x") in ("url_private", "url_invalid")
    assert code(f"{scheme}://{host}:8080/x") in ("url_private", "url_invalid")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "url_invalid"),
        ("   ", "url_invalid"),
        ("https://", "url_invalid"),
        ("https:///path", "url_invalid"),
        ("https://exa mple.org/", "url_invalid"),
        ("https://example.org/a\nHost: x", "url_invalid"),
        ("https://example.org\\@127.0.0.1/", "url_invalid"),
        ("https://[::1", "url_invalid"),
        ("https://[not-an-address]/", "url_invalid"),
        ("https://256.1.1.1/", "url_invalid"),
        ("https://1.2.3.4.5/", "url_invalid"),
        ("https://0x/", "url_private"),
        ("https://08.1.1.1/", "url_invalid"),
        ("https://example.1/", "url_invalid"),
        ("https://-a.org/", "url_invalid"),
        ("https://a..org/", "url_invalid"),
        (f"https://{'a' * 64}.org/", "url_invalid"),
        (f"https://example.org/{'a' * 3000}", "url_invalid"),
        ("https://example.org:99999/", "url_invalid"),
        ("https://example.org:x/", "url_invalid"),
        ("file:///etc/passwd", "url_scheme"),
        ("ftp://example.org/", "url_scheme"),
        ("javascript:alert(1)", "url_scheme"),
        ("data:text/html,hi", "url_scheme"),
        ("gopher://example.org/", "url_scheme"),
        ("view-source:https://example.org", "url_scheme"),
        ("https://user@example.org/", "url_userinfo"),
        ("https://user:secret@example.org/", "url_userinfo"),
        ("https://example.org@127.0.0.1/", "url_userinfo"),
        ("https://example.org:22/", "url_port"),
        ("https://example.org:25/", "url_port"),
        ("http://example.org:6667/", "url_port"),
        ("http://example.org:0/", "url_port"),
    ],
)
def test_what_is_no_web_address_is_refused_with_its_reason(text: str, expected: str) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.org", "https://example.org/"),
        ("  HTTPS://Example.ORG/Path?q=1#part ", "https://example.org/Path?q=1"),
        ("example.org/x", "https://example.org/x"),
        ("example.org:8443/x", "https://example.org:8443/x"),
        ("//example.org/x", "https://example.org/x"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("https://example.org./", "https://example.org/"),
        ("https://bücher.example/ä?ö=ü", "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://134744072/", "https://8.8.8.8/"),
        ("https://[2606:4700:4700::1111]/x", "https://[2606:4700:4700::1111]/x"),
        ("https://[64:ff9b::808:808]/", "https://[64:ff9b::808:808]/"),
        ("https://example.org/a%20b?c=%2F&d=e+f", "https://example.org/a%20b?c=%2F&d=e+f"),
    ],
)
def test_an_address_has_one_spelling(text: str, url: str) -> None:
    found = parse(text)
    assert found.url == url
    assert parse(found.url) == found


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_address_is_judged_alike(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    a, b, c, d = address.packed
    spellings = [
        str(address), str(number), hex(number), f"0{number:o}", f"{a}.{number & 0xFFFFFF}",
        f"{a:#x}.{b:#o}.{c}.{d}".replace("0o", "0"), f"[::ffff:{address}]", f"[64:ff9b::{address}]",
    ]  # fmt: skip
    verdicts = set()
    for spelling in spellings:
        try:
            parse(f"http://{spelling}/")
            verdicts.add("")
        except UrlRefused as refused:
            verdicts.add(refused.code)
    assert len(verdicts) == 1
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert verdicts == {"url_private"}


@given(st.ip_addresses(v=6))
def test_what_passes_is_global(address: ipaddress.IPv6Address) -> None:
    try:
        check(address, "x")
    except UrlRefused:
        return
    inner = address.ipv4_mapped or address.sixtofour
    in_nat64 = address in ipaddress.ip_network("64:ff9b::/96")
    assert (
        inner is not None
        or in_nat64
        or address.teredo
        or (address.is_global and not address.is_multicast)
    )


@given(st.text(max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    for given_text in (text, f"https://{text}", f"http://{text}/"):
        try:
            found = parse(given_text)
        except UrlRefused:
            continue
        assert found.url.isascii()
        assert parse(found.url) == found
