"""docs/cli.md is what the commands say of themselves."""

from __future__ import annotations

from pathlib import Path

from tierline.cli.reference import page

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_reference_of_the_command_line_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tierline.cli.reference"
