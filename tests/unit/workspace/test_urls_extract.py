"""The readable text of pages, their charsets, and the cache."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from attrs import evolve

from tierline.workspace.mentions import links
from tierline.workspace.urls import extract as module
from tierline.workspace.urls.cache import CachedPage, PageCache, page_id
from tierline.workspace.urls.extract import decode, extract
from tierline.workspace.urls.fetch import FetchedPage
from tierline.workspace.urls.guard import UrlRefused

WORDS = "<p>A paragraph of some length that says what the page is about.</p>" * 8
GUIDE = f"""<!doctype html><html><head><title> The
 Guide </title><style>p {{ color: red }}</style></head><body>
<nav>Home | Docs | Blog</nav><aside>Subscribe to the newsletter</aside>
<main><h1>Install</h1><p>Use <code>pip</code> &amp; <a href="/more?a=1">read on</a>.</p>
<pre><code class="language-python">def a(b):
    return b * 2  # &lt;kept&gt;
</code></pre>
<table><tr><th>name</th><th>value</th></tr><tr><td>a_b</td><td>1 * 2</td></tr></table>
<ul><li>one</li><li>two</li></ul><p style="display: none">Hidden words</p>
<p hidden>More hidden words</p><script>alert("no")</script>{WORDS}</main>
<footer>Cookies and terms</footer></body></html>"""


def made(body: str | bytes, kind: str = "text/html", charset: str = "") -> FetchedPage:
    data = body.encode() if isinstance(body, str) else body
    return FetchedPage("https://example.org/d/", "https://example.org/d/", kind, charset, data)


def test_no_module_of_the_working_directory_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the user's project, which may not even be trusted."""
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert extract(made(GUIDE)).title == "The Guide"


def test_a_page_becomes_markdown_without_its_surroundings() -> None:
    page = extract(made(GUIDE))
    assert page.title == "The Guide"
    assert page.text.startswith("# Install\n\nUse `pip` & [read on](https://example.org/more?a=1).")
    assert "```python\ndef a(b):\n    return b * 2  # <kept>\n```" in page.text
    assert "| a_b | 1 * 2 |" in page.text
    assert "- one\n- two" in page.text
    for gone in ("Home |", "newsletter", "idden words", "alert", "Cookies", "color: red"):
        assert gone not in page.text
    assert "\n\n\n" not in page.text
    assert page.text.endswith("\n")


def test_a_page_without_main_is_found_by_its_words() -> None:
    blog = (
        "<html><body><div id='menu'><a href='/1'>Login</a> <a href='/2'>Share this</a></div>"
        f"<div class='post'><h2>Story</h2>{WORDS}</div></body></html>"
    )
    page = extract(made(blog))
    assert "A paragraph of some length" in page.text
    bare = extract(made("<p>Only a few words.</p>"))
    assert bare.text == "Only a few words.\n"


def test_other_texts_stay_as_they_are() -> None:
    text = '{"a": "<b>no markup</b>"}\n\n\n\nend'
    assert extract(made(text, "application/json")).text == ('{"a": "<b>no markup</b>"}\n\nend\n')
    assert extract(made("a\r\nb\x00c".replace("\x00", "\x1b"), "text/plain")).text == "a\nbc\n"


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("grün".encode(), "", "grün"),
        ("grün".encode(), "utf-8", "grün"),
        ("grün".encode("latin-1"), "iso-8859-1", "grün"),
        ("“quoted” €".encode("cp1252"), "iso-8859-1", "“quoted” €"),
        ("“quoted” €".encode("cp1252"), "", "“quoted” €"),
        ("Привет".encode("koi8-r"), "koi8-r", "Привет"),
        ("日本語".encode("shift_jis"), "Shift_JIS", "日本語"),
        ("日本語".encode("gbk"), "gb2312", "日本語"),
        (b'<meta charset="koi8-r">' + "Привет".encode("koi8-r"), "", "Привет"),
        (
            b'<meta http-equiv="Content-Type" content="text/html; charset=euc-jp">'
            + "日本".encode("euc-jp"),
            "",
            "日本",
        ),
        (b'<?xml version="1.0" encoding="koi8-r"?>' + "Мир".encode("koi8-r"), "", "Мир"),
        (b"\xef\xbb\xbf" + "grün".encode(), "iso-8859-1", "grün"),
        (b"\xff\xfe" + "grün".encode("utf-16-le"), "", "grün"),
        (b"\xfe\xff" + "grün".encode("utf-16-be"), "utf-8", "grün"),
        ("grün".encode(), "no-such-charset", "grün"),
        ("grün".encode(), "base64", "grün"),
        (b'<meta charset="hex">' + "grün".encode(), "", "grün"),
        ("ü".encode("latin-1") * 50, "utf-8", "ü" * 50),
    ],
)
def test_charsets(body: bytes, charset: str, text: str) -> None:
    assert decode(body, charset).endswith(text)
    assert (
        text in extract(made(body, "text/html" if b"<" in body[:9] else "text/plain", charset)).text
    )


def test_binary_data_and_empty_pages_are_refused() -> None:
    for fetched, code in (
        (made(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "text/plain"), "url_type"),
        (made("", "text/plain"), "url_empty"),
        (made(" \n\n ", "text/plain"), "url_empty"),
        (made("<html><body><div id='root'></div><script>go()</script></body></html>"), "url_empty"),
        (made(""), "url_empty"),
    ):
        with pytest.raises(UrlRefused) as caught:
            extract(fetched)
        assert caught.value.code == code


def test_a_very_long_text_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARACTERS", 1000)
    page = extract(made("word " * 1000, "text/plain"))
    assert len(page.text) < 1100
    assert page.text.endswith("[The page goes on for 4,000 more characters.]\n")


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 60_000 + "deep" + "</div>" * 60_000,
        "<table><tr><td>" * 3000 + "deep",
        "<a href='" + "x" * 100_000 + "'>t</a>" + WORDS,
        "<!--" + "-" * 100_000,
        "&#xD800; &#0; &#x110000; \ud7ff" + WORDS,
        "<p>" + "<b><i>" * 5000 + "mis</b>nested",
        "<a href='http://[bad'>x</a>" + WORDS,
        "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><p>&b;</p>"
        + WORDS,
    ],
    ids=["deep", "tables", "long link", "comment", "characters", "nesting", "bad link", "entity"],
)
def test_hostile_html_costs_no_more_than_a_message(html: str) -> None:
    try:
        page = extract(made(html))
    except UrlRefused as refused:
        assert refused.message
    else:
        assert "root:" not in page.text
        page.text.encode()


def test_a_parser_that_dies_or_stalls_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", 0.001)
    with pytest.raises(UrlRefused, match="took more than"):
        extract(made(GUIDE))
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    with pytest.raises(UrlRefused, match="could not be read"):
        extract(made(GUIDE))


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See https://example.org/a.", ["https://example.org/a"]),
        (
            "(https://example.org/a_(b)), then <http://x.org>!",
            ["https://example.org/a_(b)", "http://x.org"],
        ),
        ("[text](https://example.org/a)", ["https://example.org/a"]),
        ("twice https://a.org https://a.org", ["https://a.org"]),
        ("`https://a.org` and\n```\nhttps://b.org\n```\nhttps://c.org", ["https://c.org"]),
        ("file:///x ftp://a.org example.org a@b.org xhttps://no.org", []),
        ("“https://a.org/x?y=1&z=2#t”", ["https://a.org/x?y=1&z=2#t"]),
        ("", []),
    ],
)
def test_links_in_a_prompt(text: str, found: list[str]) -> None:
    assert links(text) == found


# --- cache ---------------------------------------------------------------------------------------

PAGE = CachedPage(
    "https://example.org/a", "https://example.org/b", "Title", "text/html",
    "2026-11-28T08:00:00.000Z", "Text with ünïcode\n",
)  # fmt: skip


def test_a_page_is_kept_with_its_date_for_the_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / ".tierline" / "urls"
    cache = PageCache(str(folder))
    assert cache.get(PAGE.url) is None
    assert cache.all() == []
    cache.put(PAGE)
    assert [f.name for f in folder.iterdir()] == [f"{page_id(PAGE.url)}.json"]
    if os.name == "posix":
        assert stat.S_IMODE(next(folder.iterdir()).stat().st_mode) == 0o600
    again = PageCache(str(folder))
    assert again.get(PAGE.url) == PAGE
    newer = evolve(PAGE, url="https://example.org/z", fetched="2026-11-29T00:00:00.000Z")
    again.put(newer)
    assert [p.url for p in again.all()] == [newer.url, PAGE.url]


def test_a_damaged_or_foreign_file_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    cache = PageCache(str(tmp_path))
    cache.put(PAGE)
    path = next(tmp_path.iterdir())
    good = json.loads(path.read_text(encoding="utf-8"))
    for bad in ("", "{", "[]", "null", '{"url": 1}', json.dumps(good | {"text": 5}),
                json.dumps(good | {"url": "https://example.org/other"})):  # fmt: skip
        path.write_text(bad, encoding="utf-8")
        fresh = PageCache(str(tmp_path))
        assert fresh.get(PAGE.url) is None
        assert fresh.all() == []
    path.write_text(json.dumps(good | {"later": "version"}), encoding="utf-8")
    assert PageCache(str(tmp_path)).get(PAGE.url) == PAGE


def test_a_failed_write_leaves_the_earlier_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = PageCache(str(tmp_path))
    cache.put(PAGE)

    def fail(*_: object, **_held: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("tierline.disk.files.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        cache.put(evolve(PAGE, text="new"))
    monkeypatch.undo()
    assert cache.get(PAGE.url) == PAGE
    assert PageCache(str(tmp_path)).get(PAGE.url) == PAGE
