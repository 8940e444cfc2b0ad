"""The command line in another language than English: help, complaints, tables, sentences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tierline.cli import memory as cli_memory
from tierline.cli import tables as cli_tables


def run(*arguments: str, root: Path, language: str = "de") -> subprocess.CompletedProcess[str]:
    """In a process of its own, as typer reads the language when it is imported."""
    kept = {k: v for k, v in os.environ.items() if k not in ("LANGUAGE", "LC_ALL", "COLUMNS")}
    env = kept | {"LANG": f"{language}_DE.UTF-8", "TIERLINE_DATA_DIR": str(root / "data")}
    command = [sys.executable, "-m", "tierline", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=root, check=False)


def test_help_and_complaints_are_in_the_users_language(tmp_path: Path) -> None:
    found = run("budget", "--help", root=tmp_path)
    for words in ("Aufruf:", "Optionen", "Diese Hilfe zeigen und beenden.", "Beispiele:"):
        assert words in found.stdout
    assert "Zeigen, wie groß die nächste Anfrage wäre" in found.stdout
    assert "$ tierline budget --json" in found.stdout
    wrong = run("budget", "--jsn", root=tmp_path)
    assert "Diese Option gibt es nicht: --jsn" in wrong.stderr and wrong.returncode == 2


def test_what_a_command_says_is_in_the_users_language_and_its_json_is_not(tmp_path: Path) -> None:
    empty = run("plans", root=tmp_path)
    assert empty.stderr.strip() == "In diesem Arbeitsbereich gibt es noch keine Pläne."
    checks = json.loads(run("doctor", "--quick", "--json", root=tmp_path).stdout)
    assert {"environment", "workspace"} <= {check["area"] for check in checks}


def test_tables_are_in_the_users_language(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    cli_tables.print_table("Models", [("Model", False), ("Reads", True)], [["requests", "1,200"]])
    said = capsys.readouterr().out
    assert "Modelle" in said and "Liest" in said and "1.200" in said
    assert "requests" in said, "a name is no word of ours"


def test_figures_stay_below_each_other() -> None:
    lines = [
        "Memory",
        "Tasks:             3",
        "Last compression:  never",
        "",
        "  Session: 1 tokens",
    ]
    assert cli_memory.figures(lines) == "\n".join(lines), "nothing changes in English"


def test_figures_stay_below_each_other_where_names_are_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    said = cli_memory.figures(["Tasks:  3", "Last compression:  never"])
    assert said == "Aufgaben:           3\nZuletzt verdichtet: nie"
