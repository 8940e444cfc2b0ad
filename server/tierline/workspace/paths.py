"""Workspace folders and keys: every spelling of a file's name leads to one key, or to a refusal."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from tierline.context.refusals import Reason, Refusal, refuse
from tierline.workspace.flavour import NATIVE, Flavour

_MAX_PATH = 32_767


@frozen
class Root:
    """One workspace folder."""

    name: str
    """Prefix of its keys in a workspace with several folders: unique, without a slash."""
    path: str
    """Absolute path as the editor gave it, in normal spelling."""
    real: str
    """The path with all links resolved."""


@frozen
class ResolvedPath:
    """Where a reference leads."""

    key: str
    path: str
    """Absolute path with all links resolved."""
    root: Root
    alias: str = ""
    """The given name as a key, if it differs (a link, another case)."""

    @property
    def relative(self) -> str:
        """POSIX path below the root."""
        below = self.path[len(self.root.real) :].replace("\\", "/")
        return below.strip("/") if self.root.real != "/" else self.path.lstrip("/")


class Roots:
    """The workspace's folders, in the editor's order; they may change at any time.

    ``flavour`` and ``realpath`` can be replaced to exercise another system's rules.
    """

    def __init__(
        self,
        folders: Iterable[str | tuple[str, str]] = (),
        *,
        flavour: Flavour = NATIVE,
        realpath: Callable[[str], str] = os.path.realpath,
    ) -> None:
        """``folders`` are paths or URIs, or pairs of the name that the editor shows and a URI."""
        self.flavour = flavour
        self.version = 0
        """Grows with each change of the folders."""
        self._realpath = realpath
        self._roots: list[Root] = []
        for folder in folders:
            name, path = folder if isinstance(folder, tuple) else ("", folder)
            self._append(path, name)

    @classmethod
    def from_uris(cls, folders: Iterable[tuple[str, str]]) -> Roots:
        """Roots of the editor's workspace folders: pairs of shown name and URI (or path)."""
        return cls(folders)

    def __iter__(self) -> Iterator[Root]:
        return iter(self._roots)

    def __len__(self) -> int:
        return len(self._roots)

    @property
    def all(self) -> Sequence[Root]:
        """The folders, in order."""
        return tuple(self._roots)

    @property
    def primary(self) -> Path | None:
        """The first folder, which holds the session's own files; None if no folder is open."""
        return Path(self._roots[0].path) if self._roots else None

    # --- folders at run time ---------------------------------------------------------------------

    def add(self, folder: str, name: str = "") -> Callable[[str], str | None]:
        """Add a folder (path or URI). Returns a function from an old key to the new one."""
        before = list(self._roots)
        self._append(folder, name)
        return self._rekeying(before)

    def remove(self, folder: str) -> Callable[[str], str | None]:
        """Remove a folder. Returns a function from an old key to the new one, None if gone."""
        before = list(self._roots)
        path = self._path_of(folder)
        self._roots = [root for root in before if path not in (root.path, root.real)]
        self.version += 1
        return self._rekeying(before)

    def replace(self, folders: Iterable[tuple[str, str]]) -> Callable[[str], str | None]:
        """Take the editor's new set of folders. Returns a function from old keys to new ones."""
        before = list(self._roots)
        self._roots = []
        self.version += 1
        for name, folder in folders:
            self._append(folder, name)
        return self._rekeying(before)

    def _append(self, folder: str, name: str) -> None:
        path = self._path_of(folder)
        if any(path == root.path for root in self._roots):
            return
        wanted = (name or self.flavour.basename(path) or "root").replace("/", "_")
        wanted = wanted.replace("\\", "_") if self.flavour.windows else wanted
        unique, number = wanted, 2
        while any(unique == root.name for root in self._roots):
            unique, number = f"{wanted}~{number}", number + 1
        real = self.flavour.normal(self._realpath(path))
        self._roots.append(Root(unique, path, real))
        self.version += 1

    def _path_of(self, folder: str) -> str:
        return self.flavour.from_uri(folder) or self.flavour.normal(folder)

    def _rekeying(self, before: list[Root]) -> Callable[[str], str | None]:
        after = list(self._roots)

        def new_key(key: str) -> str | None:
            root, relative = _split(before, key)
            same = next((new for new in after if root and new.path == root.path), None)
            return _key(after, same, relative) if same else None

        return new_key

    # --- references ------------------------------------------------------------------------------

    def resolve(self, reference: str, *, base: str = "") -> ResolvedPath | Refusal:
        """The file that a key, a relative or absolute path, or a URI means.

        A name is taken literally; nothing is a pattern. The boundary is checked after links are
        resolved, component by component. The file need not exist. ``base`` is the name of the
        folder that unqualified paths are tried in first.
        """
        flavour = self.flavour
        scheme = flavour.scheme(reference)
        if scheme:
            path = flavour.from_uri(reference)
            if path is None:
                return refuse(reference, Reason.UNSUPPORTED_SCHEME)
        else:
            path = reference
        if not flavour.legal(path) or len(path) > _MAX_PATH:
            return refuse(reference, Reason.INVALID_PATH)
        if not self._roots:
            return refuse(reference, Reason.OUTSIDE_WORKSPACE, "no folder is open")
        if flavour.absolute(path):
            return self._place(flavour.normal(path), reference)
        return self._relative(path, reference, base)

    def found(self, path: str) -> ResolvedPath | Refusal:
        """The same for what a walk through a real folder came to: only a link leads elsewhere."""
        alike = self.flavour is NATIVE and not self.flavour.windows  # no junctions, one spelling
        if not alike or len(path) > _MAX_PATH or os.path.islink(path):
            return self.resolve(path)
        return self._at(path, path, path)

    def path_of(self, key: str) -> str | None:
        """The absolute path that a key stands for, links unresolved; None if its root is gone."""
        root, relative = _split(self._roots, key)
        if root is None or not relative:
            return None
        return self.flavour.normal(self.flavour.join(root.path, relative))

    def uri_of(self, key: str) -> str:
        """The ``file:`` URI of a key, empty if its root is gone."""
        path = self.path_of(key)
        return self.flavour.to_uri(path) if path else ""

    def inside(self, real: str) -> Root | None:
        """The innermost folder that holds an absolute path whose links are resolved."""
        found: tuple[int, Root] | None = None
        for root in self._roots:
            if self.flavour.parts_below(root.real, real) is not None and (
                found is None or len(root.real) > found[0]
            ):
                found = (len(root.real), root)
        return found[1] if found else None

    def _relative(self, path: str, reference: str, base: str) -> ResolvedPath | Refusal:
        """Try a relative path root-qualified, then in each root; the first that exists wins."""
        flavour = self.flavour
        spellings = [path]
        if not flavour.windows and "\\" in path:
            spellings.append(path.replace("\\", "/"))
        hits: list[ResolvedPath] = []
        first: ResolvedPath | Refusal | None = None
        ordered = sorted(self._roots, key=lambda root: root.name != base)
        for spelling in spellings:
            for root, relative, qualified in self._candidates(ordered, spelling):
                place = self._place(flavour.normal(flavour.join(root.path, relative)), reference)
                if isinstance(place, ResolvedPath) and os.path.lexists(place.path):
                    if qualified or root.name == base:
                        return place
                    if all(hit.path != place.path for hit in hits):
                        hits.append(place)
                elif first is None or isinstance(place, Refusal):
                    first = place
            if hits:
                break
        if len(hits) > 1:
            return refuse(reference, Reason.AMBIGUOUS, ", ".join(hit.key for hit in hits))
        if hits:
            return hits[0]
        return first if first is not None else refuse(reference, Reason.NOT_FOUND)

    def _candidates(self, roots: list[Root], path: str) -> list[tuple[Root, str, bool]]:
        """Root, path below it, and whether the path names its root."""
        if len(roots) == 1:
            return [(roots[0], path, False)]
        separators = path.replace("\\", "/") if self.flavour.windows else path
        head, _, rest = separators.removeprefix("./").partition("/")
        named = [(root, rest, True) for root in roots if root.name == head and rest]
        return named + [(root, path, False) for root in roots]

    def _place(self, path: str, reference: str) -> ResolvedPath | Refusal:
        """Key and real path of an absolute path in normal spelling."""
        real = self._real(path)
        if isinstance(real, Reason):
            return refuse(reference, real)
        return self._at(real, path, reference)

    def _at(self, real: str, path: str, reference: str) -> ResolvedPath | Refusal:
        root = self.inside(real)
        if root is None:
            return refuse(reference, Reason.OUTSIDE_WORKSPACE)
        below = self.flavour.parts_below(root.real, real)
        if not below:
            return ResolvedPath("", real, root)
        key = _key(self._roots, root, "/".join(below))
        return ResolvedPath(key, real, root, self._alias(path, key))

    def _real(self, path: str) -> str | Reason:
        try:
            real = self.flavour.normal(self._realpath(path))
        except OSError:
            return Reason.LINK_LOOP
        except ValueError:
            return Reason.INVALID_PATH
        if self.flavour is NATIVE:
            try:
                if stat.S_ISLNK(os.lstat(real).st_mode):
                    return Reason.LINK_LOOP
            except (OSError, ValueError):
                return real
        return real

    def _alias(self, path: str, key: str) -> str:
        """The given name as a key, if it is below a root's given path and differs from the key."""
        for root in self._roots:
            for base in (root.path, root.real):
                below = self.flavour.parts_below(base, path)
                if below:
                    alias = _key(self._roots, root, "/".join(below))
                    if alias == key:
                        return ""
                    return alias
        return ""


def _key(roots: list[Root], root: Root, relative: str) -> str:
    return relative if len(roots) == 1 else f"{root.name}/{relative}"


def _split(roots: list[Root], key: str) -> tuple[Root | None, str]:
    if len(roots) == 1:
        return roots[0], key
    head, _, rest = key.partition("/")
    for root in roots:
        if root.name == head:
            return root, rest
    return None, key
