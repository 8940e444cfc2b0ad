"""Requests about one session of many do not list the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.years import write
from tierline import protocol as p
from tierline.folder import FOLDER
from tierline.session.handlers import HANDLERS
from tierline.session.history import service
from tierline.session.session import Session
from tierline.store.index import Index


async def test_of_many_sessions_one_is_looked_up_and_a_list_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")
    session = Session(
        [("work", tmp_path.as_uri())], editor_settings={}, publish=lambda _event: None
    )
    await session.start()
    (tmp_path / FOLDER).mkdir(exist_ok=True)
    made = write(tmp_path / FOLDER / "history.jsonl", sessions=60, megabytes=0.2)

    async def ask(method: str, params: object) -> object:
        return await HANDLERS[f"tierline/{method}"](session, params)

    try:
        monkeypatch.setattr(service, "_MAX_SESSIONS", 20)
        cut = await ask("history/listSessions", p.SessionListParams(0))
        assert isinstance(cut, p.SessionListResult)
        assert (len(cut.sessions), cut.more, cut.partial) == (20, True, False)
        named = await ask("history/listSessions", p.SessionListParams(query="renamed"))
        assert isinstance(named, p.SessionListResult)
        assert {one.session_id for one in named.sessions} == made.renamed and not named.more

        monkeypatch.setattr(Index, "sessions", lambda *_: pytest.fail("all are listed"))
        (wanted,) = list(made.renamed)[:1]
        text = await ask("history/export", p.ExportParams(session_id=wanted))
        assert isinstance(text, p.ExportResult) and text.text.startswith("# Renamed")
        stats = await ask("stats/get", p.StatsParams(session_id=wanted))
        assert isinstance(stats, p.Stats) and stats.sessions[0].title.startswith("Renamed")
        state = await ask("history/loadSession", p.SessionParams(wanted))
        assert isinstance(state, p.State) and state.messages
        resolved = await ask("mention/resolve", p.MentionResolveParams(f"@session:{wanted}"))
        assert isinstance(resolved, p.MentionResolveResult)
        assert [(one.kind, one.state) for one in resolved.mentions] == [("session", "ok")]
    finally:
        await session.close()
