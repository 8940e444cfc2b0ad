"""Pages that were read, with their date: ``.tierline/urls/<hash of the address>.json``.

A page is read once and then stays as it was, so that its bytes in the prompt stay cached; it is
read again only when the user asks. Writing is atomic: the old copy stays until the new one is
complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from pathlib import Path

import attrs
from attrs import frozen

from tierline import disk
from tierline.disk.folder import make

FOLDER = "urls"
_FORMAT = 1
_MAX_BYTES = 64 * 1024 * 1024
_NAME = re.compile(r"[0-9a-f]{16}\.json")


@frozen
class CachedPage:
    """One page as it was read."""

    url: str
    """The requested address in canonical spelling."""
    final_url: str
    title: str
    media_type: str
    fetched: str
    """When it was read; ISO 8601, UTC."""
    text: str
    """Readable and without secrets."""
    redacted: int = 0
    """How many secrets were replaced."""

    @property
    def id(self) -> str:
        """The page's name in keys and on disk."""
        return page_id(self.url)


def page_id(url: str) -> str:
    """Sixteen hexadecimal digits of the hash of a canonical address."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


class PageCache:
    """The pages of one workspace. Thread-safe; blocking."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._pages: dict[str, CachedPage] = {}

    def get(self, url: str) -> CachedPage | None:
        """The page at a canonical address, if it is cached and its file can be read."""
        name = page_id(url)
        with self._lock:
            page = self._pages.get(name)
            if page is None and (page := self._read(f"{name}.json")) is not None:
                self._pages[name] = page
        return page if page is not None and page.url == url else None

    def put(self, page: CachedPage) -> None:
        """Keep a page, replacing an earlier copy.

        Raises:
            OSError: it was not kept; the earlier copy is unchanged.
        """
        value = {"format": _FORMAT, **attrs.asdict(page)}
        path = os.path.join(self._folder, f"{page.id}.json")
        with self._lock:
            make(Path(self._folder))
            text = json.dumps(value, ensure_ascii=False, indent=1)
            disk.replace(path, text.encode("utf-8", "surrogatepass"), mode=0o600, sync=False)
            self._pages[page.id] = page

    def all(self) -> list[CachedPage]:
        """Every page that was kept, the newest first. Damaged files are passed over."""
        try:
            names = [n for n in disk.names(self._folder) if _NAME.fullmatch(n)]
        except OSError:
            return []
        pages = [page for name in names if (page := self._read(name)) is not None]
        return sorted(pages, key=lambda page: (page.fetched, page.url), reverse=True)

    def _read(self, name: str) -> CachedPage | None:
        try:
            value = json.loads(disk.read_text(os.path.join(self._folder, name), _MAX_BYTES))
            known = {a.name: a.type for a in attrs.fields(CachedPage)}
            page = CachedPage(**{k: v for k, v in value.items() if k in known})
        except (OSError, ValueError, TypeError, AttributeError):
            return None
        words = (page.url, page.final_url, page.title, page.media_type, page.fetched, page.text)
        fits = all(isinstance(word, str) for word in words) and isinstance(page.redacted, int)
        return page if fits and f"{page.id}.json" == name else None
