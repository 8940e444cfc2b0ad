"""The command line of seed 002 (002:219-236), on the store that the editor uses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.memories import FILLER
from support.terminal import run
from wire.servers import WireServer


@pytest.fixture
def workspace(cli_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("NAME", "openai"), ("MODEL", "gpt-5"), ("BASE_URL", "")):
        monkeypatch.setenv(f"TIERLINE_PROVIDER_{name}", value)
    return cli_workspace


def test_add_stats_build_and_compress(workspace: Path) -> None:
    """002:225-235, in the order of the seed."""
    first = run(workspace, "add", "user", "Fix the bug in auth.js")
    assert first.exit_code == 0, first.output
    assert run(workspace, "add", "assistant", "The cause was a missing null check.").exit_code == 0
    for n in range(1, 5):
        run(workspace, "add", "user", f"explain auth.js part {n}. {FILLER * 12}")
        run(workspace, "add", "tool", "-", text=f"output of step {n}")
        run(workspace, "add", "assistant", f"Part {n}: {FILLER * 12}")
    stats = run(workspace, "stats")
    assert "Total tokens used:" in stats.stdout and "/ 16,000" in stats.stdout
    assert "Messages stored:       18" in stats.stdout
    built = run(workspace, "build", "--strategy", "levels")
    assert "Fix the bug in auth.js" in built.stdout and "explain auth.js part 4" in built.stdout
    done = run(workspace, "compress", "--json")
    (summary,) = json.loads(done.stdout)["summaries"]
    assert "missing null check" in summary["text"] and len(summary["sources"]) == 2 + 2 * 4
    assert summary["sources"][0] == first.stdout.strip()
    assert "history strategy is not levels" in done.stderr
    short = run(workspace, "build", "--strategy", "levels").stdout
    assert "explain auth.js part 4" in short and f"Part 1: {FILLER * 2}" not in short
    assert len(short) < 0.8 * len(built.stdout)
    asked = run(workspace, "build", "--strategy", "levels", "--prompt", "the null check?").stdout
    assert "Recalled from this conversation" in asked and "the null check?" in asked
    full = run(workspace, "build").stdout
    assert "explain auth.js part 1" in full and "the null check?" not in full
    log = (workspace / ".tierline" / "history.jsonl").read_text()
    assert "explain auth.js part 1" in log and "the null check?" not in log


def test_what_is_marked_as_important_stays(workspace: Path) -> None:
    added = run(workspace, "add", "user", "The customer's id is K-4711.", "--important")
    assert len(added.stdout.splitlines()) == 1, "the id alone, for the next command"
    assert "waits in working memory" in added.stderr
    waiting = run(workspace, "memory", "stats").stdout
    assert "0 / 2,000 tokens, 1 waiting in working memory" in waiting
    for n in range(3):
        run(workspace, "add", "user", f"part {n}. {FILLER * 12}")
    run(workspace, "compress")
    assert "waiting" not in run(workspace, "memory", "stats").stdout
    built = run(workspace, "build", "--strategy", "levels").stdout
    assert "[Standing rules]" in built and "K-4711" in built


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add", "robot", "hello"], 2, "There is no role robot"),
        (["add", "user", "  "], 2, "nothing to add"),
        (["compress"], 0, "no turn to compress"),
        (["build", "--strategy", "best"], 1, "There is no strategy best"),
        (["memo", "save", " "], 1, "must not be empty"),
        (["memo", "delete", "nope"], 1, "There is no memo nope"),
        (["memo", "edit", "nope", "x"], 1, "There is no memo nope"),
    ],
)
def test_bad_input_says_what_to_do(workspace: Path, words: list[str], code: int, said: str) -> None:
    result = run(workspace, *words)
    assert result.exit_code == code and said in result.stderr
    assert "Traceback" not in result.output


def test_stats_leave_no_folder_behind(workspace: Path) -> None:
    result = run(workspace, "stats")
    assert result.exit_code == 0 and "Memory" not in result.stdout
    assert not (workspace / ".tierline").exists()


def test_memory_stats_as_json(workspace: Path) -> None:
    run(workspace, "add", "user", "hello")
    stats = json.loads(run(workspace, "memory", "stats", "--json").stdout)
    assert stats["messages"] == 1 and [level["level"] for level in stats["levels"]] == [
        "permanent", "session", "working", "volatile"
    ]  # fmt: skip


def test_memos(workspace: Path) -> None:
    one = run(workspace, "memo", "save", "The port is 5544.", "-t", "database").stdout.strip()
    run(workspace, "memo", "save", "I like tabs.", "--user")
    listed = run(workspace, "memo", "list").stdout
    assert f"{one} (project) [database]" in listed and "(user)" in listed
    assert "5544" in run(workspace, "memo", "search", "port").stdout
    assert run(workspace, "memo", "edit", one, "The port is 6000.").exit_code == 0
    (found,) = json.loads(run(workspace, "memo", "search", "port", "--json").stdout)
    assert (found["content"], found["tags"]) == ("The port is 6000.", ["database"])
    run(workspace, "memo", "delete", one)
    assert one not in run(workspace, "memo", "list").stdout


def test_interactive_mode_talks_and_takes_commands(workspace: Path, model: WireServer) -> None:
    """002:222-223."""
    lines = [
        "Hello?",
        "/memo save The port is 5544. #database",
        "",
        "/memory stats",
        "/nonsense",
        "which port has the database?",
        "/quit",
        "never read",
    ]
    result = run(workspace, "interactive", text="\n".join(lines))
    assert result.exit_code == 0, result.output
    assert result.stdout.count("One two.") == 2
    assert "Saved as memo-" in result.stdout and "Total tokens used:" in result.stdout
    assert "There is no command /nonsense" in result.stderr
    bodies = [json.dumps(body) for body in model.bodies]
    assert len(bodies) == 2 and "5544" in bodies[1] and "never read" not in "".join(bodies)


def test_interactive_mode_survives_a_model_that_cannot_be_reached(workspace: Path) -> None:
    result = run(workspace, "interactive", text="Hello?\n/memory stats\n")
    assert result.exit_code == 0
    assert "Total tokens used:" in result.stdout and "OPENAI_API_KEY" in result.stderr


def test_output_that_a_pipe_cut_inside_a_character_is_taken(workspace: Path) -> None:
    cut = run(workspace, "add", "tool", "-", text="It costs 10 €".encode()[:-1])
    assert cut.exit_code == 0, cut.output
    assert r"It costs 10 \ufffd" in (workspace / ".tierline" / "history.jsonl").read_text()
