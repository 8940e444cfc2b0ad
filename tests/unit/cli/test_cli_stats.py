"""``tierline stats``, on a workspace whose requests went to a provider that caches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import terminal
from tierline import protocol as p
from tierline.cli.common import format_money
from tierline.cli.stats import _notes
from wire.caching import CachingServer

LONG = "".join(f"def function_{n}() -> int:\n    return {n}\n\n\n" for n in range(300))


@pytest.fixture
def workspace(cli_workspace: Path) -> Path:
    """A project with one long file."""
    (cli_workspace / "long.py").write_text(LONG, encoding="utf-8")
    return cli_workspace


def run(workspace: Path, *arguments: str) -> tuple[int, str]:
    result = terminal.run(workspace, *arguments)
    return result.exit_code, result.stdout + result.stderr


def test_stats_of_two_sessions(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = run(workspace, "stats")
    assert (code, list(workspace.iterdir())) == (0, [workspace / "long.py"]), "nothing was written"
    assert "No requests have been recorded" in text
    with CachingServer() as model:
        terminal.lead_to(model, monkeypatch)
        file = str(workspace / "long.py")
        assert run(workspace, "chat", "What is this?", "--file", file)[0] == 0
        assert run(workspace, "chat", "And that?", "--continue")[0] == 0
        assert run(workspace, "chat", "Something else?")[0] == 0
        outcomes = list(model.outcomes)
    code, text = run(workspace, "stats", "--json")
    found = json.loads(text)
    assert code == 0
    assert [s["title"] for s in found["sessions"]] == ["Something else?", "What is this?"]
    assert [s["requests"] for s in found["sessions"]] == [1, 2]
    assert found["total"]["readTokens"] == sum(round(o.read) for o in outcomes) > 1024
    assert found["total"]["saved"] == pytest.approx(sum(s["saved"] for s in found["sessions"]))
    code, text = run(workspace, "stats")
    assert code == 0
    assert "What is this?" in text
    assert "total of 2" in text
    assert f"{found['total']['readTokens']:,}" in text
    one = found["sessions"][1]["sessionId"]
    code, text = run(workspace, "stats", "--json", "--session", one)
    assert [s["sessionId"] for s in json.loads(text)["sessions"]] == [one]
    code, text = run(workspace, "stats", "--session", "nobody")
    assert code == 1
    assert "No request of session nobody is known" in text
    _, text = run(workspace, "stats")
    end = one.rpartition("_")[2]
    assert end in text, "the advice leads to ids"
    for given in (end, one[:-1]):
        code, text = run(workspace, "stats", "--json", "--session", given)
        assert [s["sessionId"] for s in json.loads(text)["sessions"]] == [one]
        code, text = run(workspace, "stats", "--json", "--turns", "--session", given)
        assert len(json.loads(text)) == 2
        code, text = run(workspace, "plans", "--json", "--session", given)
        assert {plan["sessionId"] for plan in json.loads(text)} == {one}
    code, text = run(workspace, "stats", "--session", "sess_")
    assert code == 1
    assert "2 sessions are meant by sess_" in text
    code, text = run(workspace, "stats", "--turns", "--session", "nobody")
    assert code == 1
    assert "No turn of session nobody is known" in text


def test_figures_are_whole_at_every_width(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CachingServer() as model:
        terminal.lead_to(model, monkeypatch)
        file = str(workspace / "long.py")
        assert run(workspace, "chat", "What is this, all in all?", "--file", file)[0] == 0
    found = json.loads(run(workspace, "stats", "--json")[1])["sessions"][0]
    figures = (f"{found['inputTokens']:,}", format_money(found["cost"]), found["sessionId"][-6:])
    for width in (30, 40, 80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        text = run(workspace, "stats")[1]
        for figure in figures:
            assert text.count(figure) >= 1, f"{figure} at {width}"
        assert ("input: " in text) == (width <= 80)
        text = run(workspace, "stats", "--turns")[1]
        assert figures[0] in text, f"turns at {width}"


INPUT, OUTPUT = 3e-6, 15e-6
"""Dollars per token of Claude Sonnet 4.5."""


def test_what_is_saved_follows_from_the_providers_prices(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loopback's cache knows prices of its own: a read costs a tenth of the input, a write 1.25
    times it, or twice for an hour (context-engine.md, section 6b). First a session only writes.
    """
    losses = []
    with CachingServer() as model:
        terminal.lead_to(model, monkeypatch)
        file = str(workspace / "long.py")
        for words in (["--file", file], ["--continue"], ["--continue"]):
            assert run(workspace, "chat", f"Question {words}?", *words)[0] == 0
            paid = sum(outcome.cost for outcome in model.outcomes) * INPUT
            saved = sum(outcome.total for outcome in model.outcomes) * INPUT - paid
            total = json.loads(run(workspace, "stats", "--json")[1])["total"]
            assert total["saved"] == pytest.approx(saved, abs=1e-5)
            assert total["cost"] == pytest.approx(paid + total["outputTokens"] * OUTPUT, abs=1e-5)
            text = run(workspace, "stats")[1]
            assert "-$" not in text
            losing = "Cache writes have cost $" in text
            assert losing == ("not yet" in text) == (saved < 0)
            losses.append(losing)
    assert losses[0] and not losses[-1]


def test_what_several_sessions_lost_is_said_of_each_and_of_all() -> None:
    def of(*amounts: float) -> p.Stats:
        sessions = [p.SessionStats(str(n), saved=a, priced=1) for n, a in enumerate(amounts)]
        return p.Stats(sessions, p.SessionStats("", saved=sum(amounts), priced=len(amounts)))

    assert not [note for note in _notes(of(2, 0)) if "have cost" in note]
    (note,) = [note for note in _notes(of(2, -0.5)) if "have cost" in note]
    assert note == "Cache writes have cost $0.5000 more in 1 session than they have saved so far."
    found = of(1, -2, -3)
    found.sessions[1].keep_alive.requests = 1
    first, second = _notes(found)[:2]
    assert first.startswith("Cache writes and keep-alive have cost $5.00 more in 2 sessions")
    assert second == "In all sessions together that is $4.00 more."


@pytest.mark.parametrize(
    ("dollars", "words"), [(0, "$0.00"), (1.234, "$1.23"), (0.00123, "$0.0012"), (-2, "-$2.00")]
)
def test_money(dollars: float, words: str) -> None:
    assert format_money(dollars) == words
