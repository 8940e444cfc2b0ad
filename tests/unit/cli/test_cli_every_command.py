"""What holds for every command of ``tierline``, also for those that come later.

A new command fails here until it has examples, ``--json`` (or a reason why not) and a sample.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main
from typer.testing import CliRunner, Result

from cli_page import EXIT_CODES, leaves
from tierline.cli.common import EXIT_NO_PROVIDER, EXIT_PROBLEM, EXIT_USAGE
from tierline.cli.help import EXAMPLES
from tierline.cli.main import app
from wire.servers import WireServer

COMMANDS: dict[str, Any] = dict(leaves(typer.main.get_command(app)))
NO_JSON = {
    "serve": "speaks LSP",
    "mcp": "speaks MCP",
    "acp": "speaks ACP",
    "interactive": "is a conversation",
    "completion": "prints a script",
}
"""Commands that print no data, and why."""
PROTOCOLS = {"serve", "mcp", "acp"}
"""They run until their client goes."""
PAGE = "https://example.org/never-added"
SAMPLES: dict[str, list[str]] = {
    "chat": ["Hello?"],
    "budget": [],
    "replay": ["nothing"],
    "plans": [],
    "sessions": [],
    "archive": ["--days", "9000"],
    "own": [],
    "recover": ["{log}"],
    "gc": [],
    "query": ["SELECT role FROM messages"],
    "stats": [],
    "add": ["user", "A note."],
    "build": [],
    "compress": [],
    "interactive": [],
    "memory stats": [],
    "memory compress": [],
    "memo list": [],
    "memo search": ["nothing"],
    "memo save": ["A memo."],
    "memo edit": ["nobody", "Other words."],
    "memo delete": ["nobody"],
    "compact": ["--extractive"],
    "doctor": ["--quick"],
    "models": ["claude"],
    "url add": ["http://localhost/private"],
    "url list": [],
    "url show": [PAGE],
    "url refresh": [PAGE],
    "url remove": [PAGE],
    "index history": [],
    "index symbols": [],
    "index meaning": [],
    "completion": ["bash"],
}
"""Arguments with which a command runs, needs no network, and finds nothing that is not there."""
RUN = sorted(set(COMMANDS) - PROTOCOLS)
every = pytest.mark.parametrize("name", sorted(COMMANDS))
runs = pytest.mark.parametrize("name", RUN)


@pytest.fixture
def workspace(cli_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, without a provider."""
    monkeypatch.setenv("TIERLINE_PROVIDER_NAME", "openai")
    monkeypatch.setenv("TIERLINE_PROVIDER_BASE_URL", "")
    return cli_workspace


def options(name: str) -> set[str]:
    return {option for one in COMMANDS[name].params for option in one.opts}


def run(root: Path, name: str, *more: str) -> Result:
    log = root.parent / "other.jsonl"
    log.touch()
    words = [word.format(log=log) for word in SAMPLES[name]]
    place = ["--root", str(root)] if "--root" in options(name) else []
    return CliRunner().invoke(app, [*name.split(), *words, *place, *more], input="")


def ended_well(result: Result) -> None:
    """A stable exit code, no stack, no colours in a pipe; a failure says why and what to do."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in EXIT_CODES
    assert "Traceback" not in result.output
    assert "\x1b" not in result.output
    if result.exit_code in (EXIT_PROBLEM, EXIT_NO_PROVIDER):
        said = result.stderr.strip() or result.stdout.strip()
        assert said.count(". ") >= 1 or said[-1] in "]}", f"what happened, and what to do: {said}"


@every
def test_a_sample_is_here(name: str) -> None:
    assert name in SAMPLES or name in PROTOCOLS


@every
def test_data_can_be_had_as_json_and_the_workspace_can_be_named(name: str) -> None:
    assert ("--json" in options(name)) != (name in NO_JSON)
    assert "--root" in options(name) or name in ("serve", "acp", "completion")


@every
def test_help_has_examples_that_are_understood(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert COMMANDS[name].help.strip()[-1] in ".)", "a sentence"
    assert "<bool>" not in shown.output
    for example in EXAMPLES[name]:
        assert example in shown.output
        line = example.split("tierline ", 1)[1].split(" | ")[0].rstrip('")')
        words = shlex.split(line if line.count('"') % 2 == 0 else f'{line}"')
        assert words[: len(name.split())] == name.split()
        given = words[len(name.split()) :]
        try:
            COMMANDS[name].make_context(name, given)
        except typer.BadParameter as error:
            assert "does not exist" in str(error), "only a path of the example may be missing"


@every
def test_a_wrong_option_is_a_usage_error(name: str) -> None:
    result = CliRunner().invoke(app, [*name.split(), "--no-such-option"])
    assert result.exit_code == EXIT_USAGE
    assert "Traceback" not in result.output


def is_json(name: str, result: Result) -> None:
    if name in NO_JSON:
        return
    if result.stdout.strip():
        json.loads(result.stdout)
    else:
        assert result.exit_code != 0, "data, or a reason why there is none"


@runs
def test_in_an_empty_folder_without_a_provider(name: str, workspace: Path) -> None:
    result = run(workspace, name, *([] if name in NO_JSON else ["--json"]))
    ended_well(result)
    is_json(name, result)
    ended_well(run(workspace, name))


@runs
def test_in_a_folder_that_was_worked_in(name: str, workspace: Path, model: WireServer) -> None:
    assert run(workspace, "chat").exit_code == 0
    result = run(workspace, name, *([] if name in NO_JSON else ["--json"]))
    ended_well(result)
    is_json(name, result)


@pytest.mark.parametrize(
    "name", sorted({"plans", "sessions", "stats", "doctor", "url list", "query", "replay"})
)
def test_looking_leaves_nothing_behind(name: str, workspace: Path) -> None:
    run(workspace, name)
    assert list(workspace.iterdir()) == []


@runs
def test_where_the_folder_is_a_file(name: str, workspace: Path) -> None:
    (workspace / ".tierline").write_text("I am in the way.", encoding="utf-8")
    ended_well(run(workspace, name))
    assert (workspace / ".tierline").read_text(encoding="utf-8") == "I am in the way."
