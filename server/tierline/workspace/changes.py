"""Changes from git: uncommitted, staged, of a commit, of a branch against its base.

Git compares only objects in its store. Files of the working tree are read through the loader, so
that no filter of the repository runs, unsaved buffers count, and files that may not be sent are
left out.
"""

from __future__ import annotations

import codecs
import os
import re
import time
from collections.abc import Iterable, Sequence

from attrs import frozen

from tierline.context.fences import fence, render_path
from tierline.context.filetext import FileText
from tierline.context.refusals import Reason
from tierline.context.text import clip
from tierline.context.tiers import delta
from tierline.workspace import git
from tierline.workspace.decoding import decode
from tierline.workspace.load_results import LoadedFile
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath

MAX_CHARACTERS = 60_000
"""Characters of all changes; the rest is left out, with a note."""
MAX_FILES = 200
_MAX_FILE = 300_000
"""Characters of a file of the working tree that is compared."""
_SECONDS = 10.0
"""Longest comparison of one folder's files."""
_MAX_INDEX = 40_000_000
_MAX_COMMITS = 30
_EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's empty tree."""
_REVISION = re.compile(r"(?!.*\.\.)\w[\w./@{}^~+-]{0,200}")
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--submodule=short")
_BASES = ("origin/HEAD", "main", "master", "origin/main", "origin/master", "trunk", "develop")
_ENTRY = re.compile(
    rb"\d{6} [0-9a-f]{40,64} \d\t([^\0]*)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n"
    rb"  dev: [^\n]*\n  uid: [^\n]*\n  size: (\d+)\t[^\n]*\n"
)


@frozen
class ChangeSet:
    """Changes, ready to be given to the model."""

    label: str
    text: str
    detail: str


@frozen
class _Part:
    """The changes in one workspace folder."""

    diff: str
    files: int
    left_out: int = 0
    head: str = ""
    cut: bool = False
    """True if there are more files than were compared."""


def read(loader: Loader, what: str) -> ChangeSet | str:
    """The changes that ``what`` names: ``changes``, ``staged``, ``branch``, ``branch:NAME`` or a
    commit. A sentence if there are none. Blocking, bounded in time and size.
    """
    folders = [root.real for root in loader.roots]
    if what == "changes":
        label, nothing = "Uncommitted changes", "There are no uncommitted changes."
        parts = [_working(loader, folder) for folder in folders]
    elif what == "staged":
        label, nothing = "Staged changes", "Nothing is staged."
        parts = [_between(loader, folder, ("diff-index", "--cached", _head(folder) or _EMPTY))
                 for folder in folders]  # fmt: skip
    elif what == "branch" or what.startswith("branch:"):
        name = what.partition(":")[2] or "HEAD"
        label = "Branch" if name == "HEAD" else f"Branch {name}"
        nothing = f"There is no branch {name} that differs from its base."
        parts = [_branch(loader, folder, name) for folder in folders]
    else:
        label, nothing = f"Commit {what}", f"Git knows no commit {what}."
        parts = next(([found] for f in folders if (found := _commit(loader, f, what)).files), [])
    parts = [part for part in parts if part.files]
    if not parts:
        return nothing
    return _said(label, parts)


def commits(folder: str, limit: int = 20) -> list[tuple[str, str]]:
    """The newest commits: short name and subject. Blocking."""
    raw = git.read(folder, "log", "--no-show-signature", "--no-mailmap", "-z", "-n", str(limit),
                   "--format=%h %s")  # fmt: skip
    rows = [row.partition(" ") for row in raw.decode("utf-8", "replace").split("\0") if row]
    return [(name, subject) for name, _, subject in rows]


def branches(folder: str, limit: int = 50) -> list[str]:
    """Local branches, the one committed to last first. Blocking."""
    raw = git.read(folder, "for-each-ref", "--sort=-committerdate", f"--count={limit}",
                   "--format=%(refname:short)", "refs/heads")  # fmt: skip
    return raw.decode("utf-8", "replace").split("\n")[:-1]


# --- one folder ----------------------------------------------------------------------------------


def _commit(loader: Loader, folder: str, name: str) -> _Part:
    commit = _verified(folder, name)
    if not commit:
        return _Part("", 0)
    parent = _verified(folder, f"{commit}^1") or _EMPTY
    said = git.read(folder, "log", "-1", "--no-show-signature", "--no-mailmap",
                    "--format=%h, %an, %ad%n%n%B", commit, most_bytes=10_000)  # fmt: skip
    part = _between(loader, folder, ("diff-tree", "-r", parent, commit))
    return _Part(part.diff, part.files, part.left_out, _text(said).strip())


def _branch(loader: Loader, folder: str, name: str) -> _Part:
    tip = _verified(folder, name)
    others = (_verified(folder, base) for base in _BASES) if tip else ()
    for base in others:
        fork = _line(git.read(folder, "merge-base", base, tip)) if base and base != tip else ""
        if not fork or fork == tip:
            continue
        log = git.read(folder, "log", "--no-show-signature", "--no-mailmap", "-n",
                       str(_MAX_COMMITS), "--format=%h %s", f"{fork}..{tip}")  # fmt: skip
        part = _between(loader, folder, ("diff-tree", "-r", fork, tip))
        return _Part(part.diff, part.files, part.left_out, _text(log).strip())
    return _Part("", 0)


def _between(loader: Loader, folder: str, command: Sequence[str]) -> _Part:
    """Changes between two states of git's store, of the files that may be shown."""
    verb, *rest = command
    names = _names(git.read(folder, verb, *_PLAIN, "--no-renames", "--name-only", "-z", *rest))
    shown = [name for name in names if _may_show(loader, folder, name)]
    if not shown:
        return _Part("", 0, len(names))
    some = [f":(literal){name}" for name in shown[:MAX_FILES]]
    raw = git.read(folder, verb, "-p", "-M", *_PLAIN, *rest, "--", *some,
                   most_bytes=4 * MAX_CHARACTERS + 4)  # fmt: skip
    return _Part(_text(raw), len(shown), len(names) - len(shown))


def _working(loader: Loader, folder: str) -> _Part:
    """The files as they are now, buffers included, against the last commit."""
    if not git.read(folder, "rev-parse", "--git-dir"):
        return _Part("", 0)
    head = _head(folder)
    raw = git.read(folder, "ls-files", "--stage", "--debug", "-z", most_bytes=_MAX_INDEX)
    names = []
    for raw_name, *stamp in _ENTRY.findall(raw):
        name = os.fsdecode(raw_name)
        if _stamp(os.path.join(folder, name)) != tuple(map(int, stamp)):
            names.append(name)
    staged = ("diff-index", "--cached", *_PLAIN, "--no-renames", "--name-only", "-z")
    names += _names(git.read(folder, *staged, head or _EMPTY))
    names += _names(git.read(folder, "ls-files", "--others", "--exclude-standard", "-z"))
    names += _open_below(loader, folder)
    diffs: list[str] = []
    size = left_out = 0
    until = time.monotonic() + _SECONDS
    for name in sorted(set(names)):
        if len(diffs) >= MAX_FILES or size >= MAX_CHARACTERS or time.monotonic() > until:
            return _Part("".join(diffs), len(diffs), left_out, cut=True)
        if not _may_show(loader, folder, name):
            left_out += 1
        elif diff := _compared(loader, folder, name, head):
            diffs.append(diff)
            size += len(diff)
    return _Part("".join(diffs), len(diffs), left_out)


def _compared(loader: Loader, folder: str, name: str, head: str) -> str:
    """The diff of a file of the working tree; empty if nothing changed."""
    loaded = loader.load(os.path.join(folder, name))
    if not isinstance(loaded, LoadedFile) and loaded.reason is not Reason.NOT_FOUND:
        return f"--- {render_path(name)} is not compared: {loaded.message}\n"
    after = loaded.content.text if isinstance(loaded, LoadedFile) else ""
    blob = git.read(folder, "cat-file", "blob", f"{head}:./{name}") if head else b""
    old = decode(blob)
    before = old.text if isinstance(old, FileText) else ""
    if before == after:
        return ""
    head_line = f"--- a/{name}\n+++ b/{name}\n"
    if not isinstance(loaded, LoadedFile):
        head_line = f"--- a/{name}\n+++ /dev/null\n"
    elif not blob:
        head_line = f"--- /dev/null\n+++ b/{name}\n"
    if len(before) + len(after) > _MAX_FILE:
        return f"{head_line}(The file is too large to be compared.)\n"
    return head_line + _ended(delta.make(before, after))


# --- helpers -------------------------------------------------------------------------------------


def _said(label: str, parts: Iterable[_Part]) -> ChangeSet:
    parts = list(parts)
    files, left_out = sum(p.files for p in parts), sum(p.left_out for p in parts)
    whole = "".join(_ended(part.diff) for part in parts)
    shown = clip(whole, MAX_CHARACTERS)
    cut = any(part.cut for part in parts)
    many = f"more than {files} files" if cut else "1 file" if files == 1 else f"{files} files"
    head = "\n\n".join(part.head for part in parts if part.head)
    lines = [f"{label}, {many}, by git:"]
    if head:
        lines += ["", *(f"> {line}".rstrip() for line in head.splitlines())]
    text = "\n".join(lines) + "\n" + fence(shown, "diff")
    if cut or len(shown) < len(whole) or files > MAX_FILES:
        text += "(There is more; only the beginning is given.)\n"
    if left_out:
        text += f"({left_out} of its files may not be shown.)\n"
    return ChangeSet(label, text, many)


def _may_show(loader: Loader, folder: str, name: str) -> bool:
    place = loader.roots.resolve(os.path.join(folder, name))
    return isinstance(place, ResolvedPath) and loader.refusal(place) is None


def _open_below(loader: Loader, folder: str) -> list[str]:
    """Open documents that git tracks: their buffers may differ from the disk."""
    paths = (loader.roots.path_of(key) for key in loader.buffers.open_keys(loader.roots))
    names = [os.path.relpath(path, folder) for path in paths if path]
    inside = [name.replace(os.sep, "/") for name in names if not name.startswith("..")]
    some = [f":(literal){name}" for name in inside[:MAX_FILES]]
    return _names(git.read(folder, "ls-files", "-z", "--", *some)) if some else []


def _head(folder: str) -> str:
    return _verified(folder, "HEAD")


def _verified(folder: str, name: str) -> str:
    """The full name of a commit; empty if there is none."""
    if not _REVISION.fullmatch(name):
        return ""
    return _line(git.read(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"))


def _line(raw: bytes) -> str:
    return raw.decode("ascii", "replace").strip()


def _text(raw: bytes) -> str:
    """Decoded text, without a partial character at the end, where a limit of bytes cut it."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(raw)


def _names(raw: bytes) -> list[str]:
    """The complete names: a limit of bytes or time may have cut the last one."""
    return [os.fsdecode(name) for name in raw.split(b"\0")[:-1] if name]


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        now = os.lstat(path)
    except OSError:
        return (0, 0, 0)
    seconds, rest = divmod(now.st_mtime_ns, 1_000_000_000)
    return (seconds, rest, now.st_size)


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"
