"""The symbol index, retrieval, pins, lenses and actions through a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Start
from lsp.editor import Editor
from tierline.lsp import protocol as p
from wire.servers import WireServer

ON = {"env": {"TIERLINE_SYMBOLS_ENABLED": "true"}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A project with a structure: a parser that everything uses, its users, and distractions."""
    root = tmp_path / "work"
    files = {
        "src/parser/tokens.py": '''"""Tokens of the query language."""

class TokenStream:
    """Reads tokens one at a time."""

    def next_token(self) -> str:
        """The next token, or an empty text at the end."""
        return ""

def tokenize_query(text: str) -> TokenStream:
    """Split a query into tokens."""
    return TokenStream()
''',
        "src/parser/grammar.py": '''from src.parser.tokens import TokenStream, tokenize_query

def parse_query(text: str) -> list[str]:
    """Parse a query."""
    stream = tokenize_query(text)
    return [stream.next_token()]
''',
        "src/web/views.py": '''from src.parser.grammar import parse_query

def search_view(request: dict[str, str]) -> list[str]:
    """Answer a search request."""
    return parse_query(request["q"])
''',
        "src/web/pages.py": '''def render_footer(year: int) -> str:
    """The page footer with the copyright."""
    return f"(c) {year}"
''',
        "src/store/cache.py": '''class PageCache:
    """Keeps rendered pages."""

    def evict_oldest(self) -> None:
        """Drop the page that was used longest ago."""
''',
        "docs/guide.md": "# Guide\n\n## Searching\n\nUse the search box.\n",
        "secret.env": "TOKEN=1\n",
        "ignored/made.py": "def made_up_thing() -> None: ...\n",
        ".gitignore": "ignored/\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return root


async def ready(editor: Editor) -> p.SymbolsStatus:
    """Wait until the index is."""
    await editor.until(
        lambda: any(e.status.state == "ready" for e in editor.bodies(p.SymbolsChanged)), 30
    )
    status: p.SymbolsStatus = await editor.ask("symbols/status")
    return status


def sent(model: WireServer) -> str:
    return json.dumps(model.bodies[-1]["messages"])


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
