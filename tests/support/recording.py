"""Where the recorder of leaks is, and how a process is kept out of it."""

from __future__ import annotations

from pathlib import Path

RECORDER = Path(__file__).parents[1] / "recorder" / "sitecustomize.py"
VARIABLE = "LEAKS_ARE_WRITTEN_TO"
"""The recorder's own name for it; it can import nothing of this."""
UNRECORDED = {VARIABLE: ""}
"""For a process that is meant to look up a name, or to leak."""
