"""``tierline compact``: the newest session, without a model and with one, and the way back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import Result

from support import terminal
from tierline.store.sessions import HistoryStore
from tierline.store.usage import UsageStore
from wire.choosing import ChoosingServer
from wire.scripts import o_error, o_reply

NOTES = "Open: parse apples and pears in src/pears.py."


@pytest.fixture
def workspace(cli_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a session of ten messages."""
    monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")
    monkeypatch.setenv("TIERLINE_PROVIDER_MAX_RETRIES", "0")
    store = HistoryStore(cli_workspace)
    for number in range(5):
        prompt = store.make("user", f"Step {number}: parse apples in src/pears.py " + "word " * 80)
        store.append(prompt)
        reply = f"Step {number} on apples is done. " + "said " * 80
        store.append(store.make("assistant", reply, group_id=prompt.group_id))
    store.close()
    return cli_workspace


def run(root: Path, *words: str) -> Result:
    return terminal.run(root, "compact", *words)


def context(root: Path) -> list[str]:
    store = HistoryStore(root)
    now = store.restore_newest()
    assert now is not None
    found = [m.content[0].text for m in now.context()]  # type: ignore[union-attr]
    store.close()
    return found


def use(server: ChoosingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERLINE_PROVIDER_NAME", "openai")
    monkeypatch.setenv("TIERLINE_PROVIDER_BASE_URL", server.url)
    monkeypatch.setenv("TIERLINE_PROVIDER_MODEL", "gpt-5")


def test_extractive_then_undo(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChoosingServer("openai", lambda *_: "not asked") as server:
        use(server, monkeypatch)
        before = context(workspace)
        done = run(workspace, "--extractive")
        assert done.exit_code == 0, done.output
        assert "tokens" in done.output and "src/pears.py" in done.output
        after = context(workspace)
        assert "[History Summary]" in after[0] and len(after) < len(before)
        assert server.requests == []
        assert run(workspace, "--undo").exit_code == 0
        assert context(workspace) == before
        again = run(workspace, "--undo")
        assert again.exit_code == 1 and "no compaction to undo" in again.output


def test_with_the_providers_model(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChoosingServer("openai", lambda *_: NOTES) as server:
        use(server, monkeypatch)
        done = json.loads(run(workspace, "--json").stdout)
        assert (done["case"], done["summary"]) == ("summarize", NOTES)
        assert NOTES in context(workspace)[0]


def test_a_summary_is_in_the_cost_at_the_price_of_the_model_that_wrote_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``stats`` says that requests of Tierline's own are in the cost."""
    monkeypatch.setenv("TIERLINE_COMPACTION_MODEL", "gpt-4o-mini")
    with ChoosingServer("openai", lambda *_: o_reply(NOTES)) as server:
        use(server, monkeypatch)
        assert run(workspace).exit_code == 0
        bodies = [request.body for request in server.requests]
        assert {body["model"] for body in bodies} == {"gpt-4o-mini"}
    rows = UsageStore(workspace / ".tierline" / "usage.sqlite3").all()
    assert [(row.kind, row.model) for row in rows] == [("beside", "gpt-4o-mini")] * len(bodies)
    # The reply reports 100 tokens in, 64 of them from the cache, and 5 out.
    each = (36 * 0.15 + 64 * 0.075 + 5 * 0.6) / 1e6
    assert [row.cost for row in rows] == [pytest.approx(each)] * len(bodies)


def test_a_failure_is_told_and_changes_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChoosingServer("openai", lambda *_: o_error("no such model", 400)) as server:
        use(server, monkeypatch)
        before = context(workspace)
        done = run(workspace)
        assert done.exit_code == 1 and "could not be summarised" in done.output
        assert context(workspace) == before
