"""From a page to readable text: markdown for HTML, the text itself for everything else.

HTML is read in a process of its own (``python -m tierline.workspace.urls.extract``): the parsers
are large, one of them is C, and the page comes from anywhere. A page that crashes or stalls them
costs one error message.
"""

from __future__ import annotations

import codecs
import json
import re
import subprocess
import sys
from typing import Any
from urllib.parse import urljoin

from attrs import frozen

from tierline.context.text import clip
from tierline.workspace.urls.fetch import FetchedPage
from tierline.workspace.urls.guard import UrlRefused

MAX_SECONDS = 30.0
_LARGE = 1_000_000
"""Characters of HTML; converting more to markdown takes seconds, so only the words are kept."""
MAX_CHARACTERS = 400_000
"""Characters of text that are kept; about 100,000 tokens. A note at the end tells of a cut."""
_HTML = ("text/html", "application/xhtml+xml")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-zA-Z0-9_:.-]{2,40})""", re.I)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-zA-Z0-9_:.-]{2,40})""")
_TAKEN_FOR = {
    "iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "us-ascii": "cp1252",
    "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932",
    "sjis": "cp932", "euc-kr": "cp949", "iso-8859-9": "cp1254", "tis-620": "cp874",
}  # fmt: skip
"""Supersets that browsers read these charsets as (Encoding Standard, "names and labels")."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANK = re.compile(r"\n{3,}")
_NOISE = (
    "script", "style", "noscript", "template", "iframe", "object", "embed", "canvas", "svg",
    "video", "audio", "form", "button", "input", "select", "textarea", "dialog", "nav", "aside",
    "footer",
)  # fmt: skip
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_ENOUGH = 0.4
"""Least share of the page's text in readability's choice: it may pick a single section."""


@frozen
class Page:
    """The extracted text of a page."""

    title: str
    text: str


def extract(fetched: FetchedPage) -> Page:
    """The readable text of a page. Blocking, up to ``MAX_SECONDS``.

    Raises:
        UrlRefused: it holds no text, or could not be read as its content type.
    """
    text = decode(fetched.body, fetched.charset)
    title = ""
    if fetched.media_type in _HTML or (not fetched.media_type and "<html" in text[:2000].lower()):
        title, text = _in_process(text, fetched.final_url)
    text = _clean(text)
    if not text:
        raise UrlRefused(
            "url_empty",
            "The page has no readable text; it may be made by scripts in the browser.",
            "Paste the text instead.",
        )
    if len(text) > MAX_CHARACTERS:
        left = len(text) - MAX_CHARACTERS
        shown = clip(text, MAX_CHARACTERS)
        text = f"{shown}\n\n[The page goes on for {left:,} more characters.]\n"
    return Page(" ".join(_CONTROL.sub("", title).split())[:200], text)


def decode(body: bytes, charset: str) -> str:
    """The text of a body, decoded by its byte order mark, the server's charset, the page's own,
    UTF-8, or Windows-1252 (HTML Standard, "determining the character encoding").

    Raises:
        UrlRefused: it is binary.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    declared = _META.search(body[:4096]) or _XML.search(body[:200])
    for name in (charset, declared[1].decode("ascii") if declared else "", "utf-8"):
        encoding = _codec(name)
        if not encoding:
            continue
        text = body.decode(encoding, "replace")
        # A server may send one charset for all its pages: if it is plainly wrong, try the next.
        if text.count("\ufffd") <= len(text) // 1000:
            break
    else:
        text = body.decode("cp1252", "replace")
    if text.count("\0") > 0:
        raise UrlRefused("url_type", "It is binary data, whatever the server calls it.")
    return text


def _codec(name: str) -> str:
    name = name.strip().lower()
    name = _TAKEN_FOR.get(name, name)
    try:
        found = codecs.lookup(name) if name else None
        return found.name if found is not None and found._is_text_encoding else ""
    except (LookupError, ValueError):
        return ""


def _in_process(html: str, url: str) -> tuple[str, str]:
    try:
        # -P: the working directory is the user's project, none of its modules may be imported.
        done = subprocess.run(
            [sys.executable, "-P", "-m", "tierline.workspace.urls.extract"],
            input=json.dumps({"html": html, "url": url}).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=MAX_SECONDS,
            check=True,
        )
        answer = json.loads(done.stdout)
        return str(answer["title"]), str(answer["text"])
    except subprocess.TimeoutExpired:
        why = f"reading it took more than {MAX_SECONDS:g} seconds"
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError):
        why = "its HTML could not be read"
    raise UrlRefused("url_type", f"The page was not taken: {why}.", "Paste the text instead.")


def _clean(text: str) -> str:
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = [line.rstrip() for line in text.split("\n")]
    text = _BLANK.sub("\n\n", "\n".join(lines)).strip("\n")
    return f"{text}\n" if text.strip() else ""


# --- in the process ------------------------------------------------------------------------------


def readable(html: str, url: str) -> tuple[str, str]:
    """Title and markdown of a page: its ``main`` or only ``article``, else what readability takes
    for its content, else all of it.
    """
    from lxml import html as parser
    from lxml.etree import ParserError

    try:
        # The text is decoded already: the page's own charset declaration no longer holds.
        source = re.sub(r"^\s*<\?xml[^>]*\?>", "", html)
        tree = parser.document_fromstring(source)
    except (ParserError, ValueError):
        return "", ""
    title = " ".join((tree.findtext(".//title") or "").split())
    for element in tree.xpath("//comment()") + [e for n in _NOISE for e in tree.iter(n)]:
        _drop(element)
    for element in tree.xpath("//*[@hidden or @aria-hidden='true' or @style]"):
        style = element.get("style")
        if style is None or _HIDDEN.search(style) or element.get("hidden") is not None:
            _drop(element)
    for link in tree.iter("a"):
        if href := link.get("href"):
            link.set("href", _absolute(url, href))
    whole = tree.find("body") if tree.find("body") is not None else tree
    main = tree.xpath("//main | //*[@role='main']") or tree.xpath("//article")
    chosen = main[0] if len(main) == 1 else _content(tree, whole)
    if _size(chosen) < 200 or _size(chosen) < 0.1 * _size(whole):
        chosen = whole
    return title, _markdown(chosen)


def _absolute(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return href


def _content(tree: Any, whole: Any) -> Any:
    from lxml import html as parser
    from readability import Document

    source = parser.tostring(tree, encoding="unicode")
    if len(source) > _LARGE:
        return whole
    try:
        found = parser.fromstring(Document(source).summary())
    except Exception:
        return whole
    return found if _size(found) >= _ENOUGH * _size(whole) else whole


def _markdown(element: Any) -> str:
    from lxml import html as parser
    from markdownify import markdownify

    source = parser.tostring(element, encoding="unicode", with_tail=False)
    if len(source) > _LARGE:
        return _plain(element)
    try:
        made = markdownify(
            source,
            heading_style="ATX",
            bullets="-",
            code_language_callback=_language,
            strip=["img"],
            escape_asterisks=False,
            escape_underscores=False,
            escape_misc=False,
        )
    except RecursionError:  # nested deeper than any page written for people
        return _plain(element)
    return str(made)


def _plain(element: Any) -> str:
    return "\n".join(text.strip() for text in element.itertext() if text.strip())


def _language(element: Any) -> str:
    """The language of a code block, from the class that highlighters set."""
    around = [
        element,
        *element.find_all("code", limit=1),
        *([element.parent] * bool(element.parent)),
    ]
    for one in around:
        for name in one.get("class") or ():
            found = re.fullmatch(
                r"(?:language|lang|highlight|highlight-source)-([a-z0-9+#]+)", name
            )
            if found and found[1] != "source":
                return found[1]
    return ""


def _size(element: Any) -> int:
    return sum(len(text.strip()) for text in element.itertext())


def _drop(element: Any) -> None:
    """Remove an element; the text after it stays."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def main() -> None:
    """Read ``{"html", "url"}`` from standard input, write ``{"title", "text"}``."""
    asked = json.loads(sys.stdin.buffer.read())
    title, text = readable(asked["html"], asked["url"])
    sys.stdout.write(json.dumps({"title": title, "text": text}))


if __name__ == "__main__":
    main()
