"""Real commits with the trees that they were made on: a git history, or a source package's patches.

Debian's source packages carry upstream commits as patches in ``git format-patch``'s form, with the
commit's message, to be applied in order. That makes a package a short history of a public
repository that an ordinary package client brings.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections.abc import Iterator
from email import message_from_string
from pathlib import Path

from attrs import frozen

MAX_TOUCHED = 12
"""A commit that touches more files is a sweep; no prompt is answered by it."""
_FILE = re.compile(r"^(?:---|\+\+\+) (?:[ab]/|[^/\s]+/)?([^\t\n]+)", re.M)
_DIFF = re.compile(r"^(?:diff --git|Index:|---|\+\+\+) ", re.M)
_FIELDS = re.compile(
    r"^(?:origin|bug[\w-]*|forwarded|last-update|reviewed-by|signed-off-by|applied-upstream|"
    r"co-authored-by|cc|fixes|closes|patch-name|acked-by|tested-by|reported-by|author|from|date|"
    r"gbp[\w-]*|change-id|link|see-also|backport\w*|description|subject)\s*:",
    re.I,
)
_CHERRY = re.compile(r"^\(?\s*(?:cherry[- ]picked|backported|upstream commit|commit).*$", re.I)


@frozen
class Commit:
    """A commit and the files that it changed and that were there before it."""

    id: str
    message: str
    touched: tuple[str, ...]
    changed: tuple[str, ...]
    """All paths whose content is another after it."""


class GitHistory:
    """The commits of a repository, oldest first, with a work tree that follows them."""

    def __init__(self, repository: Path, folder: Path) -> None:
        self.tree = folder / "tree"
        _git(repository.parent, "clone", "-q", "--shared", str(repository), str(self.tree))
        listed = _git(self.tree, "rev-list", "--reverse", "--no-merges", "HEAD").split()
        self._commits = listed

    def __iter__(self) -> Iterator[Commit]:
        """Checks out each commit's parent before it yields the commit."""
        before: str = ""
        for commit in self._commits:
            parents = _git(self.tree, "rev-list", "--parents", "-n", "1", commit).split()[1:]
            if not parents:
                continue
            _git(self.tree, "checkout", "-q", "--force", "--detach", parents[0])
            moved = _git(self.tree, "diff", "--name-only", "--no-renames", before, parents[0]) \
                if before else ""  # fmt: skip
            before = parents[0]
            rows = _git(self.tree, "diff", "--name-status", "--no-renames", parents[0], commit)
            pairs = [row.split("\t", 1) for row in rows.splitlines()]
            message = _git(self.tree, "log", "-1", "--format=%B", commit)
            yield Commit(
                id=commit[:12],
                message=clean(message),
                touched=tuple(path for status, path in pairs if status != "A"),
                changed=tuple(moved.splitlines()),
            )


class PatchSeries:
    """The patches of an unpacked Debian source package, in their order."""

    def __init__(self, description: Path, folder: Path) -> None:
        self.name = description.name.partition("_")[0]
        subprocess.run(
            ["dpkg-source", "--skip-patches", "--no-check", "-x", str(description), "tree"],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        self.tree = folder / "tree"
        self._patches = self.tree / "debian" / "patches"
        if not self._patches.exists():
            archive = next(description.parent.glob(f"{description.stem}.debian.tar.*"))
            with tarfile.open(archive) as packed:
                packed.extractall(self.tree, filter="data")

    def __iter__(self) -> Iterator[Commit]:
        """Yields each commit before it is applied; all patches are applied, in order."""
        before: tuple[str, ...] = ()
        series = (self._patches / "series").read_text(encoding="utf-8")
        for line in series.splitlines():
            name = line.partition("#")[0].strip().partition(" ")[0]
            path = self._patches / name
            if not name or not path.is_file():
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            commit = self._commit(name, text)
            if commit is not None:
                yield Commit(commit.id, commit.message, commit.touched, before)
                before = ()
            done = subprocess.run(
                ["patch", "-p1", "-f", "-s", "-r", "-", "--no-backup-if-mismatch", "-i", str(path)],
                cwd=self.tree, capture_output=True, check=False,
            )  # fmt: skip
            if done.returncode and commit is not None:
                continue
            before = (*before, *self._files(text))

    def _files(self, text: str) -> list[str]:
        found = [f.strip() for f in _FILE.findall(text) if "dev/null" not in f]
        return [f for f in dict.fromkeys(found) if not f.startswith("debian/")]

    def _commit(self, name: str, text: str) -> Commit | None:
        """The commit of a patch that git wrote: it has an author, a date and a subject."""
        head = text[: m.start()] if (m := _DIFF.search(text)) else text
        mail = message_from_string(re.sub(r"\AFrom [0-9a-f]{40}.*\n", "", head.lstrip()))
        subject = str(mail["Subject"] or "")
        if not subject or not mail["From"] or not mail["Date"]:
            return None
        subject = re.sub(r"^\s*\[[^\]]*\]\s*", "", " ".join(subject.split()))
        body = str(mail.get_payload())
        body = re.split(r"^---\s*$", body, maxsplit=1, flags=re.M)[0]
        touched = tuple(f for f in self._files(text) if (self.tree / f).is_file())
        return Commit(name, clean(f"{subject}\n\n{body}"), touched, ()) if touched else None


def clean(message: str) -> str:
    """A message without trailers, which may name files and people."""
    lines = [
        line for line in message.splitlines()
        if not _FIELDS.match(line.strip()) and not _CHERRY.match(line.strip())
    ]  # fmt: skip
    return "\n".join(lines).strip()[:4000]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *arguments],
        cwd=folder, capture_output=True, check=True,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace")
