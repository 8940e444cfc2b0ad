"""Pins, leases, suggestions, code lenses, code actions and the code tools through a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from lsp.editor import Editor
from lsp.project import ON, make_project, ready, sent
from tierline import protocol as p
from wire.agents import Use, calls, results, says, tool_names
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

QUESTION = "How does tokenize_query split a query into tokens?"
CARD = "card:src/parser/tokens.py#tokenize_query"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_project(tmp_path / "work")


async def test_the_model_asks_for_a_body_and_suggests_pins(start: Start) -> None:
    """Seed 003:117-118 (request_code_context), 215-220 (suggested pins)."""
    script = [
        calls(
            "openai",
            Use("request_code_context", {"symbol": "TokenStream.next_token"}, "c1"),
            Use("request_code_context", {"symbol": "no_such_thing"}, "c2"),
            Use("request_code_context", {}, "c3"),
            Use(
                "suggest_pins",
                {"items": ["src/parser/grammar.py", "src/parser/tokens.py#TokenStream", "no/x.py"],
                 "why": "Everything goes through them."},
                "c4",
            ),
        ),
        says("openai", "Done."),
    ]  # fmt: skip
    with wire_server("openai", script) as model:
        editor = await start(model, **ON)
        await ready(editor)
        end = await editor.chat("hm")
        assert end.outcome == "ok"
        assert {"request_code_context", "suggest_pins"} <= set(
            tool_names(model.bodies[0], "openai")
        )
        assert "request_code_context" in json.dumps(model.bodies[0]["messages"]), "scaffold"
        told = results(model.bodies[1], "openai")
        assert "src/parser/tokens.py:6" in told["c1"]
        assert 'return ""' in told["c1"]
        assert told["c2"].startswith("Error: There is no no_such_thing in the index.")
        assert told["c3"] == "Error: Name a symbol, a path, or both."
        assert told["c4"].startswith("Suggested to the user")
        pins: p.PinsResult = await editor.ask("pins/suggested")
        assert [(s.key, s.pin, s.why) for s in pins.suggested] == [
            ("file:src/parser/grammar.py", "none", "Everything goes through them."),
            ("card:src/parser/tokens.py#TokenStream", "none", "Everything goes through them."),
        ]
        assert editor.bodies(p.PinsChanged), "the client is told; nothing waited"

        key = pins.suggested[1].key
        pins = await editor.ask("pins/accept", p.PinKeyParams(key))
        assert [(i.key, i.pin) for i in pins.pins] == [(key, "sticky")]
        assert len(pins.suggested) == 1
        pins = await editor.ask("pins/accept", p.PinKeyParams(pins.suggested[0].key))
        assert {i.key for i in pins.pins} == {key, "file:src/parser/grammar.py"}
        assert pins.suggested == []
        with pytest.raises(Exception, match="not suggested"):
            await editor.ask("pins/dismiss", p.PinKeyParams(key))


async def test_a_reply_may_suggest_pins_in_words(start: Start) -> None:
    """For models without tools: the scaffold tells them how."""
    reply = "It does.\n\nSuggested pins: `src/parser/tokens.py#TokenStream`, src/web/views.py, a.b"
    with wire_server("openai", [o_reply(reply)]) as model:
        editor = await start(model, **ON, tools={"enabled": "off"})
        await ready(editor)
        await editor.chat("hm")
        assert "Suggested pins: path" in sent(model)
        await editor.until(lambda: editor.bodies(p.PinsChanged))
        pins: p.PinsResult = await editor.ask("pins/list")
        assert [s.key for s in pins.suggested] == [
            "card:src/parser/tokens.py#TokenStream",
            "file:src/web/views.py",
        ]
        assert pins.pins == []
        pins = await editor.ask("pins/dismiss", p.PinKeyParams(pins.suggested[0].key))
        assert [s.key for s in pins.suggested] == ["file:src/web/views.py"]


async def test_a_card_that_is_used_stays(start: Start, workspace: Path) -> None:
    """Seed 003:127-128, 136-139, 151-154: leased by use, for the next turn, then for the task."""
    replies = [
        o_reply("`tokenize_query` makes a TokenStream."),
        o_reply("It returns what tokenize_query() gives."),
        o_reply("Fine."),
        o_reply("Fine."),
    ]
    with wire_server("openai", replies) as model:
        editor = await start(model, **ON)
        await ready(editor)
        await editor.chat(QUESTION)
        await editor.until(lambda: editor.bodies(p.PinsChanged))
        held: p.PinsResult = await editor.ask("pins/list")
        lease = next(i for i in held.pins if i.key == CARD)
        assert (lease.pin, lease.scope) == ("leased", "turn:2")
        info: p.RetrievalInfo = await editor.ask("retrieval/get")
        assert any("leased for the next turn" in text for text in info.changes)

        await editor.chat("and?")
        assert "src/parser/tokens.py:10" in sent(model), "in the request without being retrieved"
        await editor.until(
            lambda: any(
                i.key == CARD and i.scope.startswith("task:")
                for e in editor.bodies(p.PinsChanged)
                for i in e.pins.pins
            )
        )
        await editor.stop()

        again = await start(model, **ON)
        await ready(again)
        held = await again.ask("pins/list")
        assert [i.pin for i in held.pins if i.key == CARD] == ["leased"], "survives a restart"
        await again.chat("Render the footer with the copyright year on rendered pages instead")
        held = await again.ask("pins/list")
        assert not [i for i in held.pins if i.key == CARD], "another task, and its lease is over"


async def test_a_symbol_is_pinned_until_unpinned(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    pins: p.PinsResult = await editor.ask(
        "pins/add", p.PinItemParams(path="src/store/cache.py", symbol="PageCache")
    )
    key = "card:src/store/cache.py#PageCache"
    assert [(i.key, i.pin, i.line, i.end) for i in pins.pins] == [(key, "sticky", 1, 5)]
    await editor.chat("hm")
    assert "def evict_oldest" in sent(model)
    await editor.ask("mode/set", p.ModeParams(mode="off"))
    await editor.chat("hm")
    assert "def evict_oldest" in sent(model), "the user's pins are not automatic context"
    with pytest.raises(Exception, match=r"There is no Nothing in src/store/cache\.py"):
        await editor.ask("pins/add", p.PinItemParams(path="src/store/cache.py", symbol="Nothing"))
    with pytest.raises(JsonRpcException, match=r"no\.py does not exist") as missing:
        await editor.ask("pins/add", p.PinItemParams(path="no.py"))
    assert missing.value.data == {"code": "not_found", "advice": "Nothing was pinned."}
    pins = await editor.ask("pins/remove", p.PinKeyParams(key))
    assert pins.pins == []
    with pytest.raises(Exception, match="is not held"):
        await editor.ask("pins/remove", p.PinKeyParams(key))


async def test_a_symbol_cannot_be_pinned_without_an_index_and_it_is_said_why(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    with pytest.raises(JsonRpcException, match="symbol index is switched off") as refused:
        await editor.ask("pins/add", p.PinItemParams(path="src/store/cache.py", symbol="PageCache"))
    advice = "Switch it on (symbols.enabled), or use the whole file."
    assert refused.value.data == {"code": "conflict", "advice": advice}
    pins = await editor.ask("pins/add", p.PinItemParams(path="src/store/cache.py"))
    assert [i.key for i in pins.pins] == ["file:src/store/cache.py"]


async def lens_titles(editor: Editor, path: Path) -> dict[int, str]:
    found = await editor.client.text_document_code_lens_async(
        lsp.CodeLensParams(lsp.TextDocumentIdentifier(path.as_uri()))
    )
    return {lens.range.start.line: lens.command.title for lens in found or () if lens.command}


async def act(editor: Editor, path: Path, line: int, only: list[str] | None = None) -> Any:
    """Code actions as they come over the wire; lsprotocol takes each for a bare command."""
    place = {"line": line, "character": 0}
    found = await editor.raw(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": path.as_uri()},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": [], **({"only": only} if only else {})},
        },
    )
    return found or []


async def test_lenses_and_actions_need_no_code_in_the_client(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    path = workspace / "src" / "parser" / "tokens.py"
    assert await lens_titles(editor, path) == {}
    actions = await act(editor, path, 10, ["source"])
    assert [a["title"] for a in actions] == [
        "Add to Tierline context",
        "Pin to Tierline context",
        "Pin tokenize_query to Tierline context",
    ]
    for action in actions[1:]:
        await editor.client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(action["command"]["command"], action["command"]["arguments"])
        )
    await editor.chat("hm")
    titles = await lens_titles(editor, path)
    assert titles[0].startswith("Tierline: pinned · changes "), titles
    assert " tokens · unpin" in titles[0]
    assert titles[9].startswith("Tierline: pinned"), titles
    assert [a["title"] for a in await act(editor, path, 10, ["source"])] == [
        "Unpin from Tierline context",
        "Remove from Tierline context",
        "Unpin tokenize_query from Tierline context",
    ]
    assert await act(editor, path, 10, ["quickfix"]) == []
    assert len(await act(editor, path, 10, ["source"])) == 3
    outside = workspace.parent / "elsewhere.py"
    assert await act(editor, outside, 0) == []
