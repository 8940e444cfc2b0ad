"""Searching ends in time, whatever the pattern and however many lines there are."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tierline.tools import searching
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots


def test_a_slow_pattern_on_many_lines_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line alone is quick enough, so only the whole can be too slow; it is one file's."""
    monkeypatch.setattr(searching, "SECONDS", 0.3)
    line = "a" * 20 + "b\n"  # some milliseconds each
    (tmp_path / "many.txt").write_text(line * 20_000, encoding="utf-8")
    loader = Loader(Roots([str(tmp_path)]), Buffers(dict, dict))
    began = time.monotonic()
    found = searching.search_code(loader, {"query": "(a|aa)+$", "regex": True})
    assert found.text == searching.SLOW
    assert time.monotonic() - began < 3
