"""Workspaces whose ``.tierline`` a test prepares: marked as this user's, as Tierline's own are."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

from tierline.disk import ownership


def own(root: Path, state: Path | None = None) -> Path:
    """The ``.tierline`` of a workspace, made if need be, with the mark. Returns the folder.

    ``state``: the state folder of the server to come, if that is not this process's.
    """
    folder = root / ".tierline"
    folder.mkdir(parents=True, exist_ok=True)
    with patch.dict(os.environ, {"TIERLINE_STATE_DIR": str(state)} if state else {}):
        ownership.claim(folder)
    return folder
