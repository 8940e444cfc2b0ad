"""The symbol index, retrieval, pins, lenses and actions through a real server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from benchmarks.symbols_scale import make_tree
from lsp.conftest import Start
from lsp.editor import Editor
from lsp.pipe import Pipe, children, frame
from lsp.project import ON, make_project, ready, sent
from support.owning import own
from tierline import protocol as p
from wire.scripts import o_reply
from wire.servers import WireServer


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_project(tmp_path / "work")


async def test_the_index_says_what_it_holds(start: Start, model: WireServer) -> None:
    editor = await start(model, **ON)
    status = await ready(editor)
    assert (status.state, status.files) == ("ready", 6)
    languages = {language.name: language.files for language in status.languages}
    assert languages == {"python": 5, "markdown": 1}
    assert status.symbols == 10
    assert status.memory_bytes > 0


async def test_a_prompt_brings_map_and_cards_and_says_why(start: Start, model: WireServer) -> None:
    """Seed 003:165-169, 190-195: touchpoints with path, signature, doc, excerpt, why; the line."""
    editor = await start(model, **ON)
    await ready(editor)
    end = await editor.chat("How does tokenize_query split a query into tokens?")
    assert end.outcome == "ok"
    text = sent(model)
    assert "## src/parser/" in text, "the module map"
    assert "request_code_context" in text or "@path" in text, "how to ask for more"
    assert "src/parser/tokens.py:10" in text, "the card"
    assert "made_up_thing" not in text
    assert "secret.env" not in text
    started = editor.bodies(p.TurnStarted)[-1]
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    included = [c for c in info.candidates if c.included]
    assert included[0].symbol == "tokenize_query"
    assert included[0].why.startswith("named in the prompt")
    assert started.context_line == info.line
    assert info.line.startswith(f"+{len(included)} card")
    assert info.line.endswith("CTX light")
    assert info.card_tokens == sum(c.tokens for c in included)
    assert all(c.reason for c in info.candidates)
    plan: p.PlanInfo = await editor.ask("plan/get", p.PlanParams(plan_id=""))
    assert any(e.key == "symbols:src/parser/" and e.included for e in plan.entries)
    by_turn = await editor.ask("retrieval/get", p.RetrievalParams(turn_id=info.turn_id))
    assert by_turn == info
    params = p.PlanSentParams(info.turn_id)
    cards = [e for e in (await editor.ask("plan/sent", params)).entries if e.kind == "card"]
    assert {e.key for e in cards} == {c.key for c in info.candidates if c.included}
    text = (await editor.ask("plan/sent", p.PlanSentParams(info.turn_id, cards[0].key))).text
    assert text and json.dumps(text)[1:-1] in json.dumps(model.bodies[-1])


async def test_the_budget_is_the_size_of_the_next_request(start: Start, model: WireServer) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    await editor.until(
        lambda: any(
            s.name == "symbols" and s.tokens
            for b in editor.bodies(p.BudgetChanged)
            for s in b.budget.sections
        )
    )
    await editor.chat("hm")
    budget: p.Budget = await editor.ask("budget/get")
    shown = await editor.ask("plan/get")
    assert budget.used == shown.total_tokens == sum(s.tokens for s in budget.sections)
    before = {s.name: s.tokens for s in budget.sections}["symbols"]
    assert before > 0
    await editor.chat("hm")
    stored = (await editor.ask("plan/list")).plans[0]
    plan = await editor.ask("plan/get", p.PlanParams(plan_id=stored.plan_id))
    symbols = sum(e.tokens for e in plan.entries if e.included and e.section == "symbols")
    assert symbols == before


@pytest.mark.parametrize("mode", ["off", "light", "heavy"])
async def test_modes_have_effect(start: Start, model: WireServer, mode: Any) -> None:
    """Seed 003:171-178."""
    editor = await start(model, **ON)
    await ready(editor)
    await editor.ask("mode/set", p.ModeParams(mode=mode))
    await editor.chat("How does tokenize_query split a query into tokens?")
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    text = sent(model)
    if mode == "off":
        assert info.candidates == []
        assert "src/parser" not in text
        assert info.note == "Context mode off retrieves nothing."
    else:
        assert "## src/parser/" in text
        assert any(c.included for c in info.candidates)


async def test_smalltalk_retrieves_nothing(start: Start, model: WireServer) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    await editor.chat("thanks, that is great!")
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    assert not any(c.included for c in info.candidates)
    assert "card" not in info.line


async def test_an_edit_changes_one_block_only(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """Design, section 10: an edit disturbs one directory, not the map."""
    editor = await start(model, **ON)
    await ready(editor)
    await editor.chat("hm")
    before = await plan_keys(editor)
    path = workspace / "src" / "web" / "views.py"
    path.write_text(path.read_text() + "\n\ndef brand_new_view() -> None: ...\n", encoding="utf-8")
    notify(editor, path, lsp.FileChangeType.Changed)
    await editor.until(
        lambda: any(e.status.symbols == 11 for e in editor.bodies(p.SymbolsChanged)), 10
    )
    await editor.chat("hm")
    after = await plan_keys(editor)
    changed = {k for k in before if before[k] != after.get(k)}
    assert {k for k in changed if k.startswith(("symbols:", "tree:", "scaffold:"))} == {
        "symbols:src/web/"
    }
    assert "brand_new_view" in sent(model)


async def test_a_branch_switch_is_noticed_without_a_watcher(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    (workspace / "src" / "store" / "cache.py").unlink()
    (workspace / "src" / "other.py").write_text("def from_the_other_branch(): ...\n", "utf-8")
    (workspace / ".git" / "HEAD").write_text("ref: refs/heads/other\n", encoding="utf-8")
    await editor.until(
        lambda: any(e.status.symbols == 9 for e in editor.bodies(p.SymbolsChanged)), 15
    )
    found = await editor.ask("retrieval/code", p.CodeParams(symbol="from_the_other_branch"))
    assert found.found
    assert not (await editor.ask("retrieval/code", p.CodeParams(symbol="PageCache"))).found


async def test_a_dead_index_is_started_again(start: Start, model: WireServer) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    os.kill(worker_of(editor), signal.SIGKILL)
    await editor.until(
        lambda: sum(e.status.state == "ready" for e in editor.bodies(p.SymbolsChanged)) > 1, 30
    )
    await editor.chat("How does tokenize_query split a query into tokens?")
    assert "src/parser/tokens.py:10" in sent(model)


async def test_unsaved_text_is_what_a_card_shows(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    path = workspace / "src" / "parser" / "tokens.py"
    text = "# moved\n" * 30 + path.read_text().replace("Split a query", "Divide a query")
    editor.client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(path.as_uri(), "python", 1, text))
    )
    await editor.chat("How does tokenize_query split a query into tokens?")
    assert "src/parser/tokens.py:40" in sent(model)
    assert "Divide a query" in sent(model)


async def test_a_secret_in_code_is_not_in_map_or_cards(
    start: Start, model: WireServer, workspace: Path
) -> None:
    key = "sk-ant-" + "api03-" + "A1b2C3d4" * 11 + "-AA"
    (workspace / "src" / "keys.py").write_text(
        f'SERVICE_KEY = "{key}"\n\ndef use_service_key(k: str = "{key}") -> None:\n    """K."""\n',
        encoding="utf-8",
    )
    editor = await start(model, **ON)
    await ready(editor)
    await editor.chat("What does use_service_key do with SERVICE_KEY?")
    assert "use_service_key" in sent(model)
    assert key not in json.dumps(model.bodies)
    database = workspace / ".tierline" / "symbols.sqlite3"
    assert not database.exists() or key.encode() not in database.read_bytes()


async def test_files_in_context_need_no_cards(start: Start, model: WireServer) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    await editor.ask("files/add", p.FileParams(path="src/parser/tokens.py"))
    await editor.chat("How does tokenize_query split a query into tokens?")
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    mine = [c for c in info.candidates if c.path == "src/parser/tokens.py"]
    assert mine
    assert {(c.included, c.code) for c in mine} == {(False, "in_context")}


async def test_progress_is_shown_to_clients_that_show_it(workspace: Path) -> None:
    env = {"TIERLINE_SYMBOLS_ENABLED": "true", "TIERLINE_PROVIDER_NAME": "local"}
    for number in range(400):
        (workspace / "src" / f"many_{number}.py").write_text(f"def f{number}(): ...\n", "utf-8")
    with Pipe(workspace, env) as pipe:
        pipe.request(
            "initialize",
            {
                "processId": None,
                "capabilities": {"window": {"workDoneProgress": True}},
                "rootUri": workspace.as_uri(),
            },
        )
        pipe.notify("initialized")

        def asked() -> Any:
            created = "window/workDoneProgress/create"
            return [m for m in pipe.messages if m.get("method") == created]

        request = pipe.until(asked)[0]
        pipe.write(frame({"id": request["id"], "result": None}))

        def kinds() -> list[str]:
            return [
                m["params"]["value"]["kind"]
                for m in pipe.messages
                if m.get("method") == "$/progress"
            ]

        pipe.until(lambda: "end" in kinds())
        assert kinds()[0] == "begin"
        assert kinds()[-1] == "end"


async def test_switched_off_there_is_nothing(start: Start, model: WireServer) -> None:
    editor = await start(model)
    status = await editor.ask("symbols/status")
    assert (status.state, status.files) == ("off", 0)
    assert "symbols.enabled" in status.why
    await editor.chat("How does tokenize_query split a query into tokens?")
    assert "src/parser" not in sent(model)


async def test_an_index_that_was_kept_is_taken_up(
    start: Start, model: WireServer, workspace: Path
) -> None:
    own(workspace, workspace.parent / ".state")
    first = await start(model, **ON)
    await ready(first)
    await first.stop()
    assert (workspace / ".tierline" / "symbols.sqlite3").exists()
    (workspace / "src" / "web" / "pages.py").unlink()
    again = await start(model, **ON)
    status = await ready(again)
    assert (status.files, status.symbols, status.total) == (5, 9, 0), "nothing was read again"
    await again.stop()
    (workspace / ".tierline" / "symbols.sqlite3").write_bytes(b"this is no database" * 100)
    third = await start(model, **ON)
    assert (await ready(third)).symbols == 9


def worker_of(editor: Editor) -> int:
    server = editor.client._server
    assert server is not None
    return next(
        child
        for child in children(server.pid)
        if b"symbols.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    )


def notify(editor: Editor, path: Path, kind: lsp.FileChangeType) -> None:
    editor.client.workspace_did_change_watched_files(
        lsp.DidChangeWatchedFilesParams([lsp.FileEvent(path.as_uri(), kind)])
    )


async def plan_keys(editor: Editor) -> dict[str, int]:
    stored = (await editor.ask("plan/list")).plans[0]
    plan = await editor.ask("plan/get", p.PlanParams(plan_id=stored.plan_id))
    return {e.key: e.tokens for e in plan.entries if e.included}


async def test_the_server_answers_while_the_index_is_built(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """Issue 7, must show 2, in small; at full size in tests/benchmarks/symbols_scale.py."""
    make_tree(workspace, 500)
    editor = await start(model, **ON)
    await editor.ask("budget/get")  # loads the vocabulary
    took = []
    while not any(e.status.state == "ready" for e in editor.bodies(p.SymbolsChanged)):
        began = time.monotonic()
        await editor.ask("budget/get")
        took.append(time.monotonic() - began)
        await asyncio.sleep(0.01)
    assert len(took) >= 10, "asked while it was being built"
    assert sorted(took)[len(took) // 2] < 0.05, took
    status = await editor.ask("symbols/status")
    assert status.files == 506
    assert status.memory_bytes < 300e6


async def test_the_reference_graph_seeds_the_counter_policys_tiers(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """Seed 004:388: tiers rebuild from the reference graph on the first request."""
    body = "".join(f"    total_{n} = {n} * {n + 1}\n" for n in range(400))
    (workspace / "src" / "used.py").write_text(f"def used_by_all():\n{body}", encoding="utf-8")
    (workspace / "src" / "lone.txt").write_text(body, encoding="utf-8")
    for number in range(6):
        text = "from src.used import used_by_all\n\nused_by_all()\n"
        (workspace / "src" / f"user_{number}.py").write_text(text, encoding="utf-8")
    editor = await start(model, **ON, cache={"policy": "counter"})
    await ready(editor)
    for name in ("used.py", "lone.txt", "user_3.py"):
        await editor.ask("files/add", p.FileParams(path=f"src/{name}"))
    await editor.chat("hm")
    stored = (await editor.ask("plan/list")).plans[0]
    plan = await editor.ask("plan/get", p.PlanParams(plan_id=stored.plan_id))
    tiers = {e.key: e.tier for e in plan.entries if e.included}
    order = ["L0", "L1", "L2", "L3", "active"]
    assert tiers["file:src/used.py"] == "L0"
    assert order.index(tiers["file:src/used.py"]) <= order.index(tiers["file:src/lone.txt"])
    assert tiers["file:src/lone.txt"] != "L0", "nothing refers to it"


QUIET = (
    "Please compose a poem about tomatoes and summer evenings",
    "thanks",
    "what can you do?",
    "Write a poem about an old page that answers every request",
    "Was kannst du alles?",
    "Schreibe bitte ein Gedicht über den Sommer und die Suche nach Worten",
    "Which page of the newspaper do you read first on a Sunday?",
)


async def test_another_subject_brings_nothing_of_the_one_before(
    start: Start, model: WireServer
) -> None:
    """The earlier prompts are no part of the query once the subject is another, and what was
    leased for it ends with it."""
    editor = await start(model, **ON)
    await ready(editor)
    model.script[:] = [o_reply("`parse_query` calls `tokenize_query`.")]
    await editor.chat("What does parse_query do?")
    await editor.chat("Where is parse_query called, and does parse_query use tokenize_query?")
    await editor.chat(QUIET[0])
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    assert not any(c.included for c in info.candidates)
    assert "card" not in info.line
    head = json.loads(sent(model))
    assert "[Code found" not in json.dumps(head)
    assert "names" in info.note or "named" in info.note


@pytest.mark.parametrize("prompt", QUIET)
async def test_a_prompt_without_code_brings_no_code(
    start: Start, model: WireServer, prompt: str
) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    await editor.chat(prompt)
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    assert [c.key for c in info.candidates if c.included] == []
    assert "[Code found" not in sent(model)


@pytest.mark.parametrize(
    ("prompt", "symbol"),
    [
        ("Where is the query parsed?", "parse_query"),
        ("the page cache evicts the wrong page", "PageCache"),
        ("Wie funktioniert die Suche in search_view?", "search_view"),
        ("add a test for the footer", "render_footer"),
    ],
)
async def test_a_card_says_why_in_words_of_the_prompt(
    start: Start, model: WireServer, prompt: str, symbol: str
) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    await editor.chat("Please keep to the style of the project")
    await editor.chat(prompt)
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    included = [c for c in info.candidates if c.included]
    assert symbol in [c.symbol.partition(".")[0] for c in included]
    for card in included:
        words = re.findall(r"[a-z]{4,}", card.why.lower())
        assert any(word in prompt.lower() for word in words), card


async def test_without_a_plan_the_newest_request_is_explained_cards_and_symbols_too(
    start: Start, model: WireServer
) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    await editor.chat("How does tokenize_query split a query into tokens?")
    info: p.RetrievalInfo = await editor.ask("retrieval/get")
    sent_plan = (await editor.ask("plan/list")).plans[0].plan_id
    card = next(c for c in info.candidates if c.included)
    for key in (card.key, f"{card.path}#{card.symbol}", card.symbol, f"tokens.py#{card.symbol}"):
        why = await editor.ask("plan/explain", p.PlanExplainParams(key=key))
        assert (why.key, why.included, why.plan_id) == (card.key, True, sent_plan)
        assert card.why in why.sentence
    part = await editor.ask(
        "plan/explain", p.PlanExplainParams(key=card.key, plan_id=sent_plan[8:])
    )
    assert part.plan_id == sent_plan
    for out in (c for c in info.candidates if not c.included):
        why = await editor.ask("plan/explain", p.PlanExplainParams(key=out.key))
        assert not why.included and out.reason in why.sentence
    await editor.ask("files/add", p.FileParams(path="src/web/pages.py"))
    later = await editor.ask("plan/explain", p.PlanExplainParams(key="src/web/pages.py"))
    assert later.included and "next one" in later.sentence
