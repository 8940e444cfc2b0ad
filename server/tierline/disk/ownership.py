"""Whose ``.tierline`` it is: only one that this user's Tierline made is used.

A folder that came with a repository or an archive could bring conversations, notes and settings
that the user never made. So each folder that Tierline makes holds a random token, and the user's
own state folder knows it, together with where the folder is. A copy of the token elsewhere is worth
nothing. Any other folder is left alone, unread, and the workspace's files are kept in the state
folder instead. The same place serves Restricted Mode, in which nothing is written to the workspace.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Any, Literal, TypeAlias

from attrs import frozen

from tierline.disk import files
from tierline.disk.walk import kind
from tierline.folder import FOLDER

log = logging.getLogger(__name__)

TOKEN = "owner"  # noqa: S105 (a name)
"""The file with the token, in a ``.tierline``."""
FolderStatus: TypeAlias = Literal["absent", "empty", "ours", "unknown", "unfit"]
_TOKEN_BYTES = 32
_MAX_BYTES = 10_000


@frozen
class Home:
    """Where a workspace's files are kept."""

    folder: Path
    """A ``.tierline``; it may not be made yet."""
    aside: Path | None = None
    """A ``.tierline`` in the workspace that is not used."""
    why: str = ""
    """A sentence for the user: why the folder is not the workspace's own; empty if it is."""


def state_folder() -> Path:
    """The user's own folder for what programs remember; ``TIERLINE_STATE_DIR`` moves it."""
    import platformdirs

    chosen = os.environ.get("TIERLINE_STATE_DIR", "")
    return files.resolved(chosen or platformdirs.user_state_dir("tierline", appauthor=False))


def home(root: Path, *, trusted: bool = True) -> Home:
    """Where the files of a workspace are to be kept. Nothing is made or written. Blocking."""
    inside, elsewhere = root / FOLDER, user_folder_for(root)
    found = folder_status(inside)
    if not trusted:
        there = inside if found != "absent" else None
        return Home(elsewhere, there, _RESTRICTED if found == "ours" else "")
    if found == "ours":
        return Home(inside)
    if found in ("absent", "empty"):
        began_elsewhere = files.regular(elsewhere / "history.jsonl") is not None
        return Home(elsewhere if began_elsewhere else inside)
    return Home(elsewhere, inside, _UNKNOWN if found == "unknown" else _unfit(inside))


def user_folder_for(root: Path) -> Path:
    """The folder in the user's state folder that stands for a workspace's own."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    return state_folder() / "workspaces" / name / FOLDER


def prepare(chosen: Home) -> Home:
    """Make the parents of a folder in the state folder; a temporary folder replaces it if they
    cannot be made. An empty ``.tierline`` in the workspace is marked as ours. Blocking.
    """
    if chosen.aside is None and folder_status(chosen.folder) == "empty":
        claim(chosen.folder)
    above = chosen.folder.parent
    if chosen.folder.is_relative_to(state_folder()):
        try:
            above.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            log.warning("%s cannot be made: %s", above, error)
            return Home(Path(tempfile.mkdtemp(prefix="tierline-")) / FOLDER, chosen.aside, _NOWHERE)
    return chosen


def should_notify(chosen: Home) -> bool:
    """Whether the user is to be told why the folder is another one. Blocking.

    What was said is noted in the folder that is used, so that each start does not say it again.
    """
    said = chosen.folder / "said"
    try:
        if chosen.why and files.read(said, _MAX_BYTES) == chosen.why.encode():
            return False
    except OSError:
        pass
    if not chosen.why:
        return False
    try:
        chosen.folder.mkdir(exist_ok=True, mode=0o700)
        files.replace(said, chosen.why.encode(), sync=False)
    except OSError as error:
        log.info("It is not noted what the user was told: %s", error)
    return True


def folder_status(folder: Path) -> FolderStatus:
    """Whether a folder exists, and whether this user's Tierline made it. Blocking."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return "absent"
    except OSError:
        return "unfit"
    if not stat.S_ISDIR(found.st_mode):
        return "unfit"
    try:
        if not files.names(folder):
            return "empty"
        return "ours" if _known(folder, found) else "unknown"
    except OSError as error:
        log.info("%s is not used: %s", folder, error)
        return "unknown"


def claim(folder: Path) -> None:
    """Mark a folder as this user's own: one that was just made, or that the user claims.

    A failed write is only logged: the folder then counts as unknown at the next start.
    """
    token = secrets.token_hex(_TOKEN_BYTES)
    found = os.lstat(folder)
    known = {"path": _spelled(folder), "device": found.st_dev, "inode": found.st_ino}
    record = _record(token)
    try:
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        files.replace(record, json.dumps(known).encode(), sync=False)
        files.replace(folder / TOKEN, token.encode(), sync=False)
    except OSError as error:
        log.warning("%s could not be marked as this user's own: %s", folder, error)


def _known(folder: Path, found: os.stat_result) -> bool:
    """Whether the token is ours, and the folder is where it was, or was moved here as a whole."""
    try:
        token = files.read(folder / TOKEN, 2 * _TOKEN_BYTES).decode("ascii")
        known: Any = json.loads(files.read(_record(token), _MAX_BYTES))
    except (OSError, ValueError):
        return False
    if not isinstance(known, dict):
        return False
    same_file = (known.get("device"), known.get("inode")) == (found.st_dev, found.st_ino)
    return same_file or known.get("path") == _spelled(folder)


def _record(token: str) -> Path:
    name = hashlib.sha256(token.encode()).hexdigest()
    return state_folder() / "folders" / f"{name}.json"


def _spelled(folder: Path) -> str:
    return os.fsencode(files.resolved(folder.parent) / folder.name).decode("latin-1")


_ELSEWHERE = "this workspace's conversations are kept in your own folder for now"
_UNKNOWN = (
    "The .tierline folder here was not made by your Tierline, so nothing in it is used; "
    f"{_ELSEWHERE}. If it is yours, /import takes over its conversations, and `tierline own` all."
)
_RESTRICTED = (
    "Restricted Mode: nothing is written to this folder, and its .tierline is left alone; "
    f"{_ELSEWHERE}."
)
_NOWHERE = (
    "Your own folder for Tierline's files cannot be written: what is said here is kept until the "
    "computer clears its temporary files. Set TIERLINE_STATE_DIR to a folder of yours."
)


def _unfit(folder: Path) -> str:
    try:
        what = kind(os.lstat(folder).st_mode) or "a file"
    except OSError as error:
        what = error.strerror or "not readable"
    return f".tierline is {what}, not a folder. It is left alone; {_ELSEWHERE}."
