"""docs/reliability.md shows the rows that the tests of network faults run."""

from __future__ import annotations

from pathlib import Path

from lsp.network_faults import table

PAGE = Path(__file__).parents[3] / "docs" / "reliability.md"


def test_the_page_has_every_fault_with_its_sentence() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Network faults\n")[2]
    shown = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    assert "\n".join(shown) == table(), (
        "print it: PYTHONPATH=server:tests python -m lsp.network_faults"
    )
