"""The table in docs/security.md: measured on shapes that the scanner was not written from."""

from __future__ import annotations

import pytest

from support import secrettable
from support.secretshapes import KEYS, LOOKALIKES, harmless, planted
from tierline.workspace.secrets import Finding, redact


def test_recall_precision_and_the_page_agree() -> None:
    measured = secrettable.measure()
    assert measured.recall >= 0.99, measured.missed
    assert measured.precision >= 0.99, measured.wrong
    assert measured.leaks == [], "of a key that was found, a piece is left"
    page = secrettable.PAGE.read_text(encoding="utf-8")
    assert secrettable.table(measured) in page, (
        "run: PYTHONPATH=tests python -m support.secrettable --write"
    )


def test_the_corpus_is_as_large_as_it_says() -> None:
    assert len(KEYS) >= 100
    assert len({text for _, text in harmless()}) >= 500
    assert len(LOOKALIKES) >= 100
    assert list(planted()) == list(planted()), "the same on every machine"


def test_no_shape_is_missed_altogether() -> None:
    missed = secrettable.measure().missed
    assert max(missed.values(), default=0) < 3, missed


def test_redacting_twice_changes_nothing() -> None:
    for _, text, _, _ in planted():
        once = redact(text)[0]
        assert redact(once) == (once, [])


def test_the_measure_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrettable, "find", lambda _text: [])
    assert secrettable.measure().recall == 0
    monkeypatch.setattr(secrettable, "find", lambda text: [Finding("x", 0, len(text))])
    assert secrettable.measure().precision < 0.8
