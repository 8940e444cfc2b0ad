"""What docs/benchmarks.md says of figures: above all, that a missed target is called missed."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import parted
from benchmarks.discover import found
from benchmarks.quotes import quoted
from benchmarks.quotes import written as quoting
from benchmarks.report import figures_tables, grid, machine_facts, page
from benchmarks.results import Run, keep, kept
from benchmarks.targets import TARGETS, judge, show

ROOT = Path(__file__).resolve().parents[2]


def history(log_mb: int = 1000, **changes: float) -> dict[str, Any]:
    figures = {"list_50_ms": 9.0, "list_all_ms": 90.0, "load_newest_ms": 20.0}
    figures |= {"search_p95_ms": 50.0, "rebuild_mb_per_s": 30.0, **changes}
    return {"log_mb": log_mb, "sessions": 10_000, **figures}


def written(results: dict[str, Any], failures: dict[str, str] | None = None) -> str:
    runs = {name: Run(figures, machine={"cores": "2"}) for name, figures in results.items()}
    return page(runs | {name: Run({}, failure=why) for name, why in (failures or {}).items()}, {})


def test_a_missed_target_is_named_with_both_figures() -> None:
    text = written({"history_scale": history(search_p95_ms=130.0)})
    assert "4 of 5 targets were reached." in text
    assert "- **Missed**: Searching (p95): 130 ms, not at most 100 ms." in text
    assert text.count("**missed**") == 1


def test_at_least_is_not_at_most() -> None:
    slow = judge({"history_scale": history(rebuild_mb_per_s=19.9)})
    assert [v.target.text for v in slow if v.missed] == ["Building the index"]
    assert not any(v.missed for v in judge({"history_scale": history(rebuild_mb_per_s=20.0)}))


def test_a_smaller_run_does_not_pass_for_the_whole() -> None:
    text = written({"history_scale": history(log_mb=64)})
    assert text.count("reached, in a smaller run") == 5
    assert "FULL=1" in text
    assert "FULL=1" not in written({"history_scale": history()})


def test_a_figure_that_is_not_there_counts_as_missed() -> None:
    figures = history()
    del figures["load_newest_ms"]
    text = written({"history_scale": figures})
    assert "- **Not measured**: Loading the newest session." in text
    assert "4 of 5" in text


def test_a_benchmark_that_broke_is_named() -> None:
    text = written({}, {"initialize": "EOFError"})
    assert "**Did not finish**: initialize (EOFError)." in text
    assert "No target was measured." in text


def test_a_crowded_machine_is_said_to_be_crowded() -> None:
    busy, calm = (page({"history_scale": Run(history(), load=at)}, {}) for at in (99.5, 0.1))
    assert "Other programs competed" in busy
    assert "history_scale (99.5)" in busy
    assert "competed" not in calm
    assert "load at its end 0.1." in calm


def test_options_behind_two_dashes_are_the_benchmarks_own() -> None:
    told = ["retrieval_commits", "--print", "--", "--sources", "folder"]
    assert parted(told) == (told[:2], ["--sources", "folder"])
    assert parted(["load"]) == (["load"], [])


def test_every_figure_gets_into_a_table() -> None:
    figures = {"a": 1, "deep": {"b": 2.5, "ok": True}, "rows": [{"x": 1, "y": "p|q"}, {"x": 2}]}
    text = "\n".join(figures_tables({**figures, "rows": figures["rows"][:1]}))  # type: ignore[index]
    assert "| a | 1 |" in text
    assert "| deep.b | 2.50 |" in text
    assert "| deep.ok | yes |" in text
    assert "| x | y |" in text
    assert "| 1 | p\\|q |" in text


def test_numbers_stand_to_the_right() -> None:
    assert "| --- | ---: |" in grid(("name", "size"), [("a", 1), ("b", 2000)])


@pytest.mark.parametrize(
    ("value", "shown"), [(447.6, "448"), (1234.0, "1,234"), (1.085, "1.08"), (0.0213, "0.0213")]
)
def test_figures_keep_the_digits_that_matter(value: float, shown: str) -> None:
    assert show(value, "") == shown


def test_every_target_is_of_a_benchmark_that_exists() -> None:
    assert {t.benchmark for t in TARGETS} <= {*found(), "cache_cost"}
    assert all(found()[name] for name in found()), "each says at its top what it measures"


def test_the_page_names_neither_machine_nor_path() -> None:
    facts = " ".join(machine_facts().values())
    committed = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for text in (facts, committed):
        assert platform.node() not in text.split()
        assert str(Path.home()) + "/" not in text
        assert str(ROOT) not in text


def test_a_run_that_is_kept_comes_back_whole(tmp_path: Path) -> None:
    run = Run({"rows": [{"a": 1}], "x": 0.5}, "| t |", "", 0.3, True, "2026-11-28", "abc+", {})
    keep("one", Run({}, failure="EOFError"), tmp_path / "runs")
    keep("one", run, tmp_path / "runs")
    keep("two", Run({}, failure="EOFError"), tmp_path / "runs")
    assert kept(tmp_path / "runs") == {"one": run, "two": Run({}, failure="EOFError")}
    told = page({"one": run}, {"one": "What it is."})
    assert "*Measured on 2026-11-28, tree abc+, load at its end 0.3.*" in told


def test_the_page_shows_the_runs_that_are_kept() -> None:
    committed = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    about = found()
    runs = {name: run for name, run in kept().items() if name in about}
    assert runs
    assert committed == page(runs, about), "run `python -m benchmarks --page` in tests"


def test_the_command_lists_and_refuses_benchmarks() -> None:
    command = [sys.executable, "-m", "benchmarks", "none_such", "--print"]
    done = subprocess.run(
        command, cwd=ROOT / "tests", capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "none_such" in done.stderr


def test_other_pages_quote_the_runs_that_are_kept() -> None:
    figures = {name: run.figures for name, run in kept().items()}
    for place, text in quoting(figures).items():
        assert place.read_text(encoding="utf-8") == text, (
            f"{place.name}: `python -m benchmarks --page`"
        )


def test_a_quote_follows_its_run() -> None:
    figures = {name: dict(run.figures) for name, run in kept().items()}
    figures["cache_local"]["counter"] = {"cached_share": 0.125, "first_token_sum_ms": 77_400}
    text = "a\n<!-- measured: local -->\nold\n<!-- /measured -->\nb"
    told = " ".join(quoted(text, figures).split())
    assert "12 % with `counter`" in told
    assert "against 77 and " in told
    assert "old" not in told
    assert told.startswith("a <!--")
    with pytest.raises(KeyError):
        quoted(text.replace("local", "none_such"), figures)
