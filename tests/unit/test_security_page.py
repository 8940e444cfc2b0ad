"""docs/security.md names a test for each threat: each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMES = re.findall(r"`([^`\n]+)`", PAGE)


def _found(name: str) -> Path | None:
    places = (ROOT / "tests" / name, ROOT / name, ROOT / "vscode-client" / "test" / name)
    return next((place for place in places if place.is_file()), None)


def test_every_test_file_that_the_page_names_is_there() -> None:
    named = {n for n in NAMES if re.fullmatch(r"[\w/.-]*test[\w.-]*\.(?:py|ts)", n)}
    assert len(named) > 20
    assert [name for name in sorted(named) if _found(name) is None] == []


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    there = {name for path in (ROOT / "tests").rglob("test_*.py") for name in _tests(path)}
    assert len(named) > 30
    assert sorted(named - there) == []


def test_every_row_of_a_table_of_attacks_names_a_test_and_code_that_is_there() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.splitlines()
        if line.startswith("| ") and line.count(" | ") == 3
    ]
    rows = [row for row in rows if row[0] != "attack" and not row[0].startswith("---")]
    assert len(rows) >= 25
    for row in rows:
        assert "test" in row[3], row[0]
        for name in re.findall(r"`([\w/-]+/[\w-]+\.py)`", row[2]):
            assert (ROOT / "server" / "tierline" / name).is_file(), name


def _tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
