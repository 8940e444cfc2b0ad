"""Path logic of one operating system, without touching a disk, and conversion from and to URIs.

Both flavours work on any machine, so that Windows rules are tested everywhere.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from types import ModuleType
from urllib.parse import quote, unquote, urlsplit

from attrs import frozen

from tierline.context.text import well_formed

_DRIVE = re.compile(r"^[A-Za-z]:")
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")
_SAFE = "/!$&'()*+,;=:@~-._"


@frozen
class Flavour:
    """``posix`` or ``windows``: which separators, drives and names a path has."""

    name: str
    _path: ModuleType

    @property
    def windows(self) -> bool:
        """True if backslashes separate and drives exist."""
        return self.name == "windows"

    def absolute(self, path: str) -> bool:
        """True if the path does not depend on a folder."""
        return bool(self._path.isabs(path)) and (not self.windows or self._rooted(path))

    def join(self, folder: str, path: str) -> str:
        """The path seen from the folder."""
        return str(self._path.join(folder, path))

    def parent(self, path: str) -> str:
        """The folder that holds the path; a top folder holds itself."""
        return str(self._path.dirname(path))

    def basename(self, path: str) -> str:
        """The last component."""
        return str(self._path.basename(path))

    def normal(self, path: str) -> str:
        """One spelling: no ``.``, ``..`` or doubled separators; on Windows backslashes, lower-case
        drive or server name, no device prefix, no dots or blanks at the end of a name (Windows
        drops these itself, so ``.env.`` is ``.env``).
        """
        if not self.windows:
            path = posixpath.normpath(path) if path else ""
            return path[1:] if path.startswith("//") else path
        path = path.replace("/", "\\")
        if path[:8].upper() == "\\\\?\\UNC\\":
            path = "\\\\" + path[8:]
        elif path[:4] in ("\\\\?\\", "\\\\.\\"):
            path = path[4:]
        path = ntpath.normpath(path) if path else ""
        drive, rest = ntpath.splitdrive(path)
        names = [name if name in (".", "..") else name.rstrip(". ") for name in rest.split("\\")]
        return drive.lower() + "\\".join(names)

    def parts_below(self, root: str, path: str) -> tuple[str, ...] | None:
        """The components of a normal ``path`` below a normal ``root``; None if it lies elsewhere.

        Compared component by component, never by string prefix: ``/w/app-secrets`` is not below
        ``/w/app``. On Windows names are compared without regard to case.
        """
        separator = "\\" if self.windows else "/"
        base = [part for part in root.split(separator) if part]
        names = [part for part in path.split(separator) if part]
        head = names[: len(base)]
        if self.windows:
            same = [n.lower() for n in head] == [b.lower() for b in base]
        else:
            same = head == base
        if not same or ".." in names:
            return None
        return tuple(names[len(base) :])

    def legal(self, path: str) -> bool:
        """False for names no file can have: NUL, on Windows colons (streams), wildcards, quotes."""
        if not path or "\0" in path:
            return False
        if not self.windows:
            return True
        rest = ntpath.splitdrive(self.normal(path))[1]
        return not re.search(r'[<>:"|?*\x00-\x1f]', rest)

    def from_uri(self, uri: str) -> str | None:
        """The path of a ``file:`` URI, or of a notebook cell's URI; None for any other scheme.

        Percent-encoding in either case, ``c%3A`` and ``C:``, and server names reach one spelling.
        """
        scheme = uri.partition(":")[0].lower()
        if scheme not in ("file", "vscode-notebook-cell"):
            return None
        try:
            parts = urlsplit(uri)
            host = unquote(parts.netloc)
        except ValueError:
            return None
        path = unquote(parts.path, errors="surrogateescape")
        if parts.query:  # clients that do not encode a question mark in a name
            path += "?" + unquote(parts.query, errors="surrogateescape")
        if host.lower() == "localhost":
            host = ""
        if _DRIVE.match(path.lstrip("/")) and self.windows:
            path = path.lstrip("/")
        if host:
            path = f"//{host}{path}"
        return self.normal(path)

    def to_uri(self, path: str) -> str:
        """The ``file:`` URI of an absolute path, as VS Code writes it except that ``:`` stays."""
        path = self.normal(path)
        if self.windows:
            path = path.replace("\\", "/")
        if path.startswith("//"):
            return "file:" + _quoted(path)
        if not path.startswith("/"):
            path = "/" + path
        return "file://" + _quoted(path)

    def scheme(self, reference: str) -> str:
        """The reference's URI scheme, empty for a path (``c:\\x`` and ``a:b`` are paths)."""
        match = _SCHEME.match(reference)
        if match is None:
            return ""
        scheme = match[1].lower()
        rest = reference[match.end() :]
        if scheme in ("file", "untitled", "vscode-notebook-cell") or rest.startswith("//"):
            return scheme
        return ""

    @staticmethod
    def _rooted(path: str) -> bool:
        drive = ntpath.splitdrive(path)[0]
        return bool(drive)


POSIX = Flavour("posix", posixpath)
WINDOWS = Flavour("windows", ntpath)
NATIVE = WINDOWS if os.name == "nt" else POSIX


def _quoted(path: str) -> str:
    """Percent-encoded. Bytes that are not UTF-8 keep their value; half of a surrogate pair, which
    no file name on disk has, becomes U+FFFD.
    """
    try:
        return quote(path, safe=_SAFE, errors="surrogateescape")
    except UnicodeEncodeError:
        return quote(well_formed(path), safe=_SAFE)
