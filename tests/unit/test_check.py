"""``make test`` runs small checks beside each other: none is lost, mixed up or passed over."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import check
from check import Stage, stages


def one(name: str, code: str, **more: object) -> Stage:
    return Stage(name, [sys.executable, "-c", code], beside=True, **more)  # type: ignore[arg-type]


def test_each_is_shown_whole_and_judged_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "RESULTS", tmp_path)
    slow, quick = tmp_path / "slow", tmp_path / "quick"
    some = [
        # Each waits for the other: they run at the same time, or not at all.
        one("slow", f"open({str(slow)!r}, 'w'); import time, os\nprint('one')\n"
            f"while not os.path.exists({str(quick)!r}): time.sleep(0.01)\nprint('two')"),
        one("quick", f"open({str(quick)!r}, 'w'); import time, os\n"
            f"while not os.path.exists({str(slow)!r}): time.sleep(0.01)\n"
            "import sys; print('wrong', file=sys.stderr); sys.exit(3)"),
        one("not offered", f"raise SystemExit({check.NOT_OFFERED})"),
        Stage("missing", [str(tmp_path / "no-such-program")], beside=True),
    ]  # fmt: skip
    check.run_beside(some)
    assert [s.ok for s in some] == [True, False, True, False]
    assert [s.skipped for s in some] == [0, 0, 1, 0]
    said = capsys.readouterr().out
    assert "one\ntwo\n" in said
    assert "wrong\n" in said
    assert "could not run" in said
    for stage in some:
        assert said.count(f"━━ {stage.name} ") == 1


@pytest.mark.parametrize(
    ("failing", "mended", "ok", "counts"),
    [(2, 2, True, (4, 0)), (2, 1, False, (3, 1)), (4, 4, False, (0, 4))],
)
def test_a_few_failures_get_a_second_try_alone_and_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, mended: int,
    ok: bool, counts: tuple[int, int],
) -> None:  # fmt: skip
    """``failing`` of four tests fail; ``mended`` of them pass at their second try."""
    monkeypatch.setattr(check, "RESULTS", tmp_path)
    (tmp_path / "test_some.py").write_text(
        "import pathlib, pytest\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "def test_it(number):\n"
        "    tried = pathlib.Path(__file__).with_name(f'tried-{number}')\n"
        "    first = not tried.exists()\n"
        "    tried.touch()\n"
        f"    assert number >= {failing} or (not first and number < {mended})\n",
        encoding="utf-8",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    stage = Stage("some", [sys.executable, "-m", "pytest", "-q", "."], "pytest", cwd=tmp_path)
    check.run(stage)
    assert (stage.ok, (stage.passed, stage.failed)) == (ok, counts)
    tried_again = failing <= check.MOST_AGAIN
    assert len(stage.unsteady) == (mended if tried_again else 0)
    assert all("test_some::test_it[" in name for name in stage.unsteady)


def test_only_checks_that_count_no_tests_run_beside_others() -> None:
    beside = [s for s in stages() if s.beside]
    assert len(beside) >= 8
    assert {s.kind for s in beside} == {"check"}
    names = [s.name for s in stages()]
    assert names.index("extension package") < names.index("VS Code"), "which installs it"
    assert len(set(names)) == len(names)
