"""The file context, the web pages in it, and instruction files: AGENTS.md and its like."""

from __future__ import annotations

from typing import Literal

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


@define
class InstructionInfo:
    """A file of instructions for assistants, of the project or the user's own."""

    key: str
    name: str
    """Its path in the workspace; the user's own begin with ``~/``."""
    kind: Literal["agents", "claude", "gemini", "copilot", "cursor", "cline", "user"]
    uri: str
    tokens: int
    """As it is sent, or would be."""
    enabled: bool
    """False: the user switched it off."""
    active: bool
    """It is part of the next request."""
    why: str = ""
    """Why it is not; empty if it is."""
    folder: str = ""
    """It is for files of this folder."""
    globs: list[str] = field(factory=list)
    """It is for files that fit one of these."""
    description: str = ""
    imports: list[str] = field(factory=list)
    """Files that it brings along."""
    notices: list[str] = field(factory=list)
    """What of it is not sent, and why."""
    tier: str = ""
    """Stability tier in the last plan."""


@define
class InstructionsResult:
    """The instruction files that there are."""

    files: list[InstructionInfo]


@define
class InstructionSwitchParams:
    """Use a file, or leave it out, in this workspace from now on."""

    key: str
    enabled: bool
