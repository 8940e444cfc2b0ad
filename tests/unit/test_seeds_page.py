"""``docs/seeds.md``: what its tables name is there, and its lines are the seeds'."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
TESTS = {
    name
    for file in (ROOT / "tests").rglob("*.py")
    for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.M)
}
CITED = {
    name: re.findall(r"requirement\(\"003:(\d+)(?:-(\d+))?\"", marks)
    for file in (ROOT / "tests").rglob("*.py")
    for marks, name in re.findall(
        r"((?:^@.*\n)+)(?:async )?def (test_\w+)", file.read_text(encoding="utf-8"), re.M
    )
}
"""The lines that a test's own marker names."""


def rows() -> Iterator[tuple[str, str]]:
    """The lines that a row gives, and the row."""
    for line in PAGE.splitlines():
        if found := re.match(r"\| (\d[\d:, -]*) \|", line):
            yield found[1], line


def test_every_test_and_file_that_is_named_is_there() -> None:
    assert set(re.findall(r"`(test_\w+)`", PAGE)) <= TESTS
    for path in re.findall(r"`([\w/]+/[\w/]+\.py)`", PAGE):
        assert (ROOT / "server" / "tierline" / path).exists() or (ROOT / path).exists(), path


@pytest.mark.parametrize(("lines", "row"), list(rows()), ids=lambda value: value[:9])
def test_a_test_that_cites_a_line_stands_in_that_lines_row(lines: str, row: str) -> None:
    parts = lines.rpartition(":")[2].split(", ")
    ranges = [[int(n) for n in part.split("-")] for part in parts]
    assert all(one[0] <= one[-1] for one in ranges)
    for name in re.findall(r"`(test_\w+)`", row):
        for number, last in CITED.get(name, ()):
            cited = range(int(number), int(last or number) + 1)
            assert all(any(one[0] <= n <= one[-1] for one in ranges) for n in cited), row


def test_code_says_its_rules_in_plain_words_and_leaves_numbers_to_the_page() -> None:
    sources = [
        file
        for folder, kinds in (("server", {".py"}), ("vscode-client/src", {".ts", ".tsx"}))
        for file in (ROOT / folder).rglob("*")
        if file.suffix in kinds
    ]
    assert len(sources) > 400
    cited = [
        f"{file.relative_to(ROOT)}: {found[0]}"
        for file in sources
        if (
            found := re.search(
                r"\b[Ss]eeds?\s+\d{3}\b|\bBR-\d+|\b00[0-4]:\d", file.read_text("utf-8")
            )
        )
    ]
    assert cited == []
