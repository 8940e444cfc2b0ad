"""The tool behind ``make mutants``: which faults it makes, and whom it asks about them."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from mutation.mutants import difference, mutants, mutate
from mutation.reach import portions, witnesses

SOURCE = textwrap.dedent(
    '''
    """Words."""
    from __future__ import annotations
    import logging
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        import os
    log = logging.getLogger("x")
    LIMIT = 3

    class A:
        __slots__ = ("a",)
        size: int | None = None

        def f(self, n: int | str = 1) -> int | None:
            """Doc."""
            assert n
            log.info("line %s", 7)
            if not isinstance(n, int | float):
                raise ValueError("no %d" % 7)
            while n < 10 and (
                n != LIMIT
            ):
                self.g(n)
                n += 1
            return n

        def g(self, n: int) -> None:
            return None
    '''
)


def test_faults_are_what_a_test_should_notice_and_each_comes_once() -> None:
    found = [(m.line - SOURCE.count("\n", 0, SOURCE.index("LIMIT")), m.change, m.lines != (0, 0))
             for m in mutants("context/a.py", SOURCE)]  # fmt: skip
    assert [(change, inside) for _, change, inside in found] == [
        ("3 -> 4", False),
        ("1 -> 2", False),
        ("not isinstance(n, int | float) without not", True),
        ("n < 10 and n != LIMIT negated", True),
        ("n < 10 and n != LIMIT with Or", True),
        ("n < 10 with LtE", True),
        ("10 -> 11", True),
        ("n != LIMIT with Eq", True),
        ("self.g(n) lost", True),
        ("n += 1 with Sub", True),
        ("1 -> 2", True),
        ("return n -> None", True),
    ]


def test_one_fault_changes_one_thing() -> None:
    sources = {ast.unparse(mutate(SOURCE, m.index)) for m in mutants("a.py", SOURCE)}
    assert len(sources) == len(mutants("a.py", SOURCE)) and ast.unparse(ast.parse(SOURCE)) not in (
        sources
    )
    lost = next(m for m in mutants("a.py", SOURCE) if m.change.endswith("lost"))
    assert difference(SOURCE, lost) == "-            self.g(n)\n+            pass"


def test_the_head_of_a_loop_belongs_together() -> None:
    by_change = {m.change: m for m in mutants("a.py", SOURCE)}
    head = by_change["n != LIMIT with Eq"]
    assert head.lines[0] < head.line <= head.lines[1]
    assert head.lines == by_change["n < 10 with LtE"].lines


def test_those_who_pass_the_line_are_asked_first_and_servers_last() -> None:
    head = next(m for m in mutants("context/a.py", SOURCE) if m.change == "n < 10 with LtE")
    names = ["tests/lsp/l.py::t", "tests/unit/context/slow.py::t", "tests/unit/context/q.py::t",
             "tests/unit/store/s.py::t", "tests/unit/context/else.py::t"]  # fmt: skip
    known: dict[str, Any] = {
        "tests": names,
        "seconds": [1.0, 3.0, 0.1, 0.01, 0.02],
        "lines": {"context/a.py": {str(head.lines[1]): [0, 1, 2, 3], "1": [4]}},
    }
    asked = witnesses(head, known)
    assert [name for name, _ in asked] == [names[2], names[1], names[3], names[0]]
    assert [[name for name, _ in part] for part in portions(asked, 15)] == [
        [names[2]],
        [names[1], names[3]],
        [names[0]],
    ]
    constant = mutants("context/a.py", SOURCE)[0]
    assert {name for name, _ in witnesses(constant, known)} == set(names), "it runs on import"
