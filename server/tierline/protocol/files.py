"""The file context and the web pages in it."""

from __future__ import annotations

from attrs import field

from tierline.protocol.base import define
from tierline.protocol.values import FileInfo


@define
class FileParams:
    """A file, by ``path`` (relative or absolute) or ``uri``. A folder means the files in it."""

    path: str = ""
    uri: str = ""
    confirm: bool = False
    """The user saw the warning and still wants it (ignored or secret files)."""


@define
class FilesResult:
    """The file context after the change, and what was refused."""

    files: list[FileInfo]
    refused: list[FileInfo] = field(factory=list)
    notices: list[str] = field(factory=list)


@define
class UrlParams:
    """A web page by its address (``example.org/page`` means https), or by its key."""

    url: str


@define
class UrlInfo:
    """A web page in the context."""

    key: str
    url: str
    title: str
    fetched: str
    """When it was read; ISO 8601, UTC."""
    tokens: int
    final_url: str = ""
    """Where it was found, if the server led on to another address."""
    media_type: str = ""
    tier: str = ""
    """Stability tier in the last plan; empty before the first request."""


@define
class UrlsResult:
    """The web pages of the context."""

    urls: list[UrlInfo] = field(factory=list)
    added: UrlInfo | None = None
    """The page that was added or read again."""
    notices: list[str] = field(factory=list)


@define
class UrlText:
    """A page's text, as the model is given it."""

    info: UrlInfo
    text: str
