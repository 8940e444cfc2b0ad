"""A scripted agent that mends the bug in ``examples/temperature``.

It looks, tests, proposes a wrong edit, hears why it is rejected, proposes the right one, and tests
again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from wire.agents import Use, calls, says
from wire.servers import Kind, Reply

TESTS = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
PATH = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
"""So that ``python`` is the one that has pytest."""
PROMPT = "The Fahrenheit values are wrong. Find the bug, mend it, and run the tests."
REASON = "Water freezes at 32 degrees."
DONE = "Mended: `fahrenheit` in `convert.py` added 30 instead of 32. The tests pass."


def _edit(call: str, number: int) -> Use:
    edits = [{"search": "9 / 5 + 30", "replace": f"9 / 5 + {number}"}]
    return Use("propose_edit", {"path": "convert.py", "edits": edits}, call)


def script(kind: Kind) -> list[Reply]:
    return [
        calls(
            kind,
            Use("list_files", {"pattern": "*.py"}, "look"),
            Use("search_code", {"query": "def fahrenheit"}, "find"),
            text="I look for the conversion.",
        ),
        calls(kind, Use("read_file", {"path": "convert.py"}, "read")),
        calls(kind, Use("run_command", {"argv": TESTS}, "test1"), text="I run the tests."),
        calls(kind, _edit("edit1", 31), text="The offset is wrong."),
        calls(kind, _edit("edit2", 32), text="Right, it is 32."),
        calls(kind, Use("run_command", {"argv": TESTS}, "test2")),
        says(kind, DONE),
    ]
