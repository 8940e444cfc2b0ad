"""docs/reliability.md lists every reported case, and every test that it names exists and runs.

Issue 10, item 1.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from attrs import frozen

from bugcases.fixtures import CASES

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reliability.md"
NAME = re.compile(r"`(test_\w+)`")
FILE = re.compile(r"`((?:tests/)?[\w/]*test_\w+\.py)`")
REASONS = ("needs /proc", "POSIX", "links", "the Linux way", "no FIFOs", "Windows")
"""What a test of a case may be skipped for: the system cannot show the fault."""


@frozen
class Row:
    """One case as the page lists it."""

    cases: tuple[str, ...]
    severity: str
    area: str
    tests: tuple[str, ...]
    files: tuple[str, ...]
    default_files: tuple[str, ...]

    def __str__(self) -> str:
        return "+".join(self.cases) + f"-{self.area}"


def rows(text: str) -> list[Row]:
    """The tables' rows with what their area says about files."""
    found: list[Row] = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        area = section[0]
        intro = section.partition("\n|")[0]
        for line in section.splitlines():
            if not line.startswith("| BR-"):
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            assert len(cells) == 5, f"a row has five cells: {line}"
            found.append(
                Row(
                    tuple(re.findall(r"BR-\d+", cells[0])),
                    cells[1],
                    area,
                    tuple(NAME.findall(cells[4])),
                    tuple(FILE.findall(cells[4])),
                    tuple(FILE.findall(intro)),
                )
            )
    return found


ROWS = rows(PAGE.read_text(encoding="utf-8"))


def path_of(name: str) -> Path:
    """The page shortens ``tests/bugcases/test_x.py`` to ``test_x.py``."""
    return TESTS.parent / name if name.startswith("tests/") else TESTS / "bugcases" / name


@cache
def functions(path: Path) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The test functions of a file, those in classes included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    }


def mentions(path: Path, case: str) -> bool:
    """True if a file speaks of a case: ``BR-001``, ``br_001`` or ``br001``."""
    number = case.removeprefix("BR-")
    return bool(re.search(rf"br[-_]?{number}(?!\d)", path.read_text(encoding="utf-8"), re.I))


def problems(row: Row) -> list[str]:
    """What is wrong with a row: names of tests or files that do not exist or are not about it."""
    named = [path_of(name) for name in row.files]
    found = [f"there is no file {p.relative_to(TESTS.parent)}" for p in named if not p.is_file()]
    named = [path for path in named if path.is_file()]
    places = [path_of(name) for name in row.default_files] + named
    found += [
        f"there is no test {name} in {', '.join(p.name for p in places)}"
        for name in row.tests
        if not any(name in functions(path) for path in places if path.is_file())
    ]
    if not row.tests and not row.files:
        found.append("no test is listed")
    for case in row.cases:
        if not any(path.is_file() and mentions(path, case) for path in places):
            found.append(f"none of its files speaks of {case}")
        found += [
            f"{path.name} does not speak of {case}"
            for path in named
            if path.name.startswith("test_lsp_") and not mentions(path, case)
        ]
    return found


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_listed_test_exists(row: Row) -> None:
    assert problems(row) == []


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_no_listed_test_is_skipped_without_a_reason_a_user_would_accept(row: Row) -> None:
    """No ``skip``, no ``xfail``; ``skipif`` only where the system lacks what the fault needs."""
    places = [path_of(name) for name in (*row.default_files, *row.files)]
    for name in row.tests:
        for path in places:
            node = functions(path).get(name)
            for decorator in node.decorator_list if node is not None else []:
                said = ast.unparse(decorator)
                assert "mark.skip(" not in said and not said.endswith("mark.skip"), name
                assert "xfail" not in said, name
                if "skipif" in said:
                    assert any(reason in said for reason in REASONS), (name, said)


def reported() -> dict[str, tuple[str, str]]:
    """(area, severity) of every case in the reports."""
    path = CASES / "reports.md"
    if not path.is_file():
        pytest.skip(f"the reports are not at {path} (set TIERLINE_BUGCASES)")
    area, found = "", {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            area = line[3]
        elif line.startswith("| BR-"):
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            found[cells[0]] = (area, cells[2])
    return found


def test_every_reported_case_is_listed_in_its_area() -> None:
    wanted = reported()
    assert len(wanted) > 100, "the reports were read"
    listed = {case: (row.area, row.severity) for row in reversed(ROWS) for case in row.cases}
    own = {
        case: (row.area, row.severity)
        for row in ROWS
        for case in row.cases
        if case in wanted and row.area == wanted[case][0]
    }
    assert sorted(set(wanted) - set(own)) == [], "cases that the page does not list in their area"
    assert sorted(set(listed) - set(wanted)) == [], "rows about cases that nobody reported"
    assert {case: said for case, said in own.items() if said != wanted[case]} == {}


def test_every_folder_of_fixtures_is_read_by_a_test() -> None:
    """A case is tested with its own fixture, not only with words like it."""
    folder = CASES / "dev"
    if not folder.is_dir():
        pytest.skip(f"the bug cases are not at {CASES} (set TIERLINE_BUGCASES)")
    read = set()
    for path in TESTS.rglob("test_*.py"):
        read |= set(re.findall(r"\"(BR-\d+)[\w-]*\"", path.read_text(encoding="utf-8")))
    folders = {p.name[:6] for p in folder.iterdir() if p.is_dir() and p.name.startswith("BR-")}
    assert sorted(folders - read) == []


def test_a_wrong_page_is_noticed() -> None:
    """The checks above can fail."""
    text = """# R

## A. Counts

Tests in `test_a_counts.py`.

| case | | went wrong | does | test |
| --- | --- | --- | --- | --- |
| BR-001 | S2 | x | y | `test_that_nobody_wrote` |
| BR-999 | S1 | x | y | `test_lsp_cases.py` |
| BR-001 | S1 | x | y | soon |
"""
    said = [problems(row) for row in rows(text)]
    assert "there is no test test_that_nobody_wrote" in said[0][0]
    assert "none of its files speaks of BR-999" in said[1]
    assert "no test is listed" in said[2]
