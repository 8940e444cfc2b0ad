"""Workspaces whose ``.tierline`` a test prepares: marked as this user's, as Tierline's own are."""

from __future__ import annotations

from pathlib import Path

from tierline.disk import ownership


def own(root: Path) -> Path:
    """The ``.tierline`` of a workspace, made if need be, with the mark. Returns the folder."""
    folder = root / ".tierline"
    folder.mkdir(parents=True, exist_ok=True)
    ownership.claim(folder)
    return folder
