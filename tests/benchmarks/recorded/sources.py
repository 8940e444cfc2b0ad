"""What the files of a recorded session said: from its repository, or from dated copies of it."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.recorded.recording import Contents

_LONGEST = 400_000
"""Characters; a longer text is not what a person puts into a chat."""


def git(repository: Path) -> Contents:
    """Texts from a clone: of a commit if it is still there, else of the newest one before a time,
    else of the newest.
    """

    def run(*words: str) -> bytes | None:
        command = ("git", "-C", str(repository), *words)
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)
        return done.stdout if done.returncode == 0 else None

    def contents(path: str, when: float | None, commit: str) -> str | None:
        if commit and (found := run("show", f"{commit}:{path}")) is not None:
            return _text(found)
        if when is None:
            return None
        stamp = datetime.fromtimestamp(when, UTC).isoformat()
        listed = run("rev-list", "-1", f"--before={stamp}", "--all") or b""
        at = listed.decode("ascii").strip() or "HEAD"
        found = run("show", f"{at}:{path}")
        return None if found is None else _text(found)

    return contents


def dated(copies: Path) -> Contents:
    """Texts from folders named by their day (``2024-08-13``): the newest that is not younger."""
    days = sorted(p for p in copies.iterdir() if p.is_dir())

    def contents(path: str, when: float | None, commit: str) -> str | None:
        if when is None or not days or commit:
            return None
        day = datetime.fromtimestamp(when, UTC).date().isoformat()
        folder = max((p for p in days if p.name <= day), default=days[0])
        file = (folder / path).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
            return None
        return _text(file.read_bytes())

    return contents


def _text(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text if len(text) <= _LONGEST and "\0" not in text else None
