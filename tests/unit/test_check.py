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


def test_only_checks_that_count_no_tests_run_beside_others() -> None:
    beside = [s for s in stages() if s.beside]
    assert len(beside) >= 8
    assert {s.kind for s in beside} == {"check"}
    names = [s.name for s in stages()]
    assert names.index("extension package") < names.index("VS Code"), "which installs it"
    assert len(set(names)) == len(names)
