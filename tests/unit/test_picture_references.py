"""Every picture is named, small and there: documentation, README, the marketplace's page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
PAGES = [ROOT / "README.md", ROOT / "vscode-client" / "README.md", *(ROOT / "docs").rglob("*.md")]
NAMED = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
MOST = 200 * 1024
"""Bytes of a picture, so that a page is there at once."""


def references() -> list[tuple[Path, str, Path]]:
    """Page, words and file of each picture."""
    return [
        (page, words, (page.parent / target).resolve())
        for page in PAGES
        for words, target in NAMED.findall(page.read_text(encoding="utf-8"))
    ]


def test_each_picture_that_is_named_is_there_and_described() -> None:
    found = references()
    assert len(found) > 15
    for page, words, file in found:
        assert file.is_file(), f"{page.name} names {file.name}"
        assert len(words) > 15, f"{page.name} does not say what is to be seen in {file.name}"


def test_each_picture_of_the_documentation_is_named() -> None:
    named = {file for _, _, file in references()}
    assert sorted(file.name for file in IMAGES.iterdir() if file not in named) == []


@pytest.mark.parametrize(
    "file",
    [*IMAGES.glob("*.png"), *(ROOT / "vscode-client" / "media").rglob("*.png")],
    ids=lambda file: file.name,
)
def test_pictures_are_small(file: Path) -> None:
    assert file.stat().st_size <= MOST, f"{file.stat().st_size} bytes: make pictures"
