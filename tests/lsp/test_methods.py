"""Every method and every command, over stdio and over TCP, against a model on loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from tierline.lsp.chat_documents import COMMAND as ASK_IN_DOCUMENT
from wire.scripts import a_reply, o_reply, o_texts, then
from wire.servers import Hold, WireServer, wire_server

TRANSPORTS = ["stdio", "tcp"]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_prompt_streams_and_is_remembered(
    start: Start, model: WireServer, workspace: Path, transport: str
) -> None:
    editor = await start(model, transport)
    end = await editor.chat("Count.")
    assert end.outcome == "ok"
    assert end.message.text == "One two three."
    deltas = [delta.text for delta in editor.bodies(p.TextDelta)]
    assert deltas == ["One ", "two ", "three."]
    assert [event.seq for event in editor.events] == list(range(1, len(editor.events) + 1))
    state = await editor.ask("state/get")
    assert [(m.role, m.text) for m in state.messages] == [
        ("user", "Count."),
        ("assistant", "One two three."),
    ]
    # A later event may have come since; none that it counts is still on its way.
    assert len(deltas) < state.seq <= len(editor.events)
    assert state.busy_turn == ""
    await editor.chat("Again.")
    sent = model.bodies[-1]["messages"]
    said = [(m["role"], m["content"]) for m in sent if m["role"] != "system"]
    assert said == [("user", "Count."), ("assistant", "One two three."), ("user", "Again.")]
    lines = (workspace / ".tierline" / "history.jsonl").read_bytes().splitlines()
    roles = [json.loads(line).get("role") for line in lines]
    assert [role for role in roles if role] == ["user", "assistant"] * 2


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_cancel_keeps_what_has_arrived(start: Start, transport: str) -> None:
    held = then(o_texts("Half of ", "the answer"), Hold())
    with wire_server("openai", [held, o_reply("Whole.")]) as model:
        editor = await start(model, transport)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Go."))
        await editor.until(lambda: len(editor.bodies(p.TextDelta)) == 2)
        cancelled = await editor.ask("chat/cancel", p.ChatCancelParams(turn_id=sent.turn_id))
        assert cancelled == p.ChatCancelResult(cancelled=True, turn_id=sent.turn_id)
        end = await editor.finished(sent.turn_id, seconds=2)
        assert (end.outcome, end.message.status) == ("interrupted", "interrupted")
        assert end.message.text == "Half of the answer"
        again = await editor.ask("chat/cancel")
        assert again.cancelled is False
        assert (await editor.chat("Then?")).message.text == "Whole."
        texts = [m["content"] for m in model.bodies[-1]["messages"]]
        assert "Half of the answer" in texts


async def test_a_prompt_sent_meanwhile_waits_its_turn(start: Start) -> None:
    held = then(o_texts("First"), Hold(), *o_reply(" done.").body)
    with wire_server("openai", [held, o_reply("Second done.")]) as model:
        editor = await start(model)
        first = await editor.ask("chat/send", p.ChatSendParams(text="P1"))
        await editor.until(lambda: editor.bodies(p.TextDelta))
        second = await editor.ask("chat/send", p.ChatSendParams(text="P2"))
        assert (first.queued, second.queued) == (False, True)
        model.release()
        await editor.finished(second.turn_id)
        assert len(model.requests) == 2
        assert "P2" not in json.dumps(model.bodies[0])
        state = await editor.ask("state/get")
        assert [m.text for m in state.messages] == ["P1", "First done.", "P2", "Second done."]


async def test_a_queued_prompt_can_be_cancelled(start: Start) -> None:
    held = then(o_texts("First"), Hold(), *o_reply(" done.").body)
    with wire_server("openai", [held]) as model:
        editor = await start(model)
        first = await editor.ask("chat/send", p.ChatSendParams(text="P1"))
        await editor.until(lambda: editor.bodies(p.TextDelta))
        second = await editor.ask("chat/send", p.ChatSendParams(text="P2"))
        result = await editor.ask("chat/cancel", p.ChatCancelParams(turn_id=second.turn_id))
        assert result.cancelled
        model.release()
        assert (await editor.finished(first.turn_id)).outcome == "ok"
        assert len(model.requests) == 1


async def test_retry_asks_the_last_prompt_again(start: Start) -> None:
    with wire_server("openai", [o_reply("Wrong."), o_reply("Right.")]) as model:
        editor = await start(model)
        await editor.chat("Well?")
        sent = await editor.ask("chat/retry")
        assert (await editor.finished(sent.turn_id)).message.text == "Right."
        state = await editor.ask("state/get")
        assert [m.text for m in state.messages] == ["Well?", "Right."]
        assert "Wrong." not in json.dumps(model.bodies[-1])


async def test_what_is_asked_right_behind_a_change_of_the_list_sees_it(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """Clients do not wait for one answer before they send the next request."""
    editor = await start(model)
    many = workspace / "many"
    many.mkdir()
    for number in range(150):
        (many / f"f{number}.py").write_text(f"N = {number}\n" * 200, encoding="utf-8")
    added, listed, budget, sent = await asyncio.gather(
        editor.ask("files/add", p.FileParams(path="many")),
        editor.ask("files/list"),
        editor.ask("budget/get"),
        editor.ask("chat/send", p.ChatSendParams("What is N?")),
    )
    removed, after = await asyncio.gather(
        editor.ask("files/remove", p.FileParams(path="many/f7.py")), editor.ask("state/get")
    )
    assert len(added.files) == len(listed.files) == 150
    assert budget.used > sum(f.tokens for f in added.files)
    for files in (removed.files, after.files):  # what retrieval lends for the turn aside
        assert len([f for f in files if f.origin == "added by you"]) == 149
    await editor.finished(sent.turn_id)
    assert "many/f149.py" in json.dumps(model.bodies[-1]["messages"])


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_files_are_added_pinned_listed_and_removed(
    start: Start, model: WireServer, transport: str
) -> None:
    editor = await start(model, transport)
    added = await editor.ask("files/add", p.FileParams(path="src/a.py"))
    assert [(f.path, f.pin, f.state) for f in added.files] == [("src/a.py", "none", "ok")]
    assert added.files[0].tokens > 5
    pinned = await editor.ask("files/pin", p.FileParams(uri=editor.uri("src/b.py")))
    assert {f.path: f.pin for f in pinned.files} == {"src/a.py": "none", "src/b.py": "sticky"}
    await editor.chat("What is BETA?")
    sent = json.dumps(model.bodies[-1]["messages"])
    assert "BETA = 2" in sent
    assert "def alpha" in sent

    def planned() -> bool:
        """The next request's plan is made: until then the tiers are those of the last."""
        return {f.tier for f in editor.bodies(p.FilesChanged)[-1].files} == {"L1"}

    await editor.until(planned)
    unpinned = await editor.ask("files/unpin", p.FileParams(path="src/b.py"))
    assert {f.pin for f in unpinned.files} == {"none"}
    removed = await editor.ask("files/remove", p.FileParams(path="src/a.py"))
    assert [f.path for f in removed.files] == ["src/b.py"]
    assert (await editor.ask("files/list")).files == removed.files
    cleared = await editor.ask("files/clear")
    assert cleared.files == []
    await editor.until(lambda: editor.bodies(p.FilesChanged)[-1].files == [])


async def test_the_budget_adds_up_and_follows_the_files(start: Start, model: WireServer) -> None:
    editor = await start(model)
    empty = await editor.ask("budget/get")
    await editor.ask("files/add", p.FileParams(path="src/a.py"))
    full = await editor.ask("budget/get")
    for budget in (empty, full):
        assert sum(section.tokens for section in budget.sections) == budget.used
        assert budget.remaining == budget.max_input_tokens - budget.used
    sections = {s.name: s.tokens for s in full.sections}
    assert sections["files"] > 0
    assert {s.name: s.tokens for s in empty.sections}["files"] == 0
    assert (full.model, full.accuracy, full.limit_source) == ("gpt-5", "exact", "table")
    await editor.until(
        lambda: any(b.budget.used == full.used for b in editor.bodies(p.BudgetChanged))
    )


async def test_the_mode_is_set_and_cycled(start: Start, model: WireServer) -> None:
    editor = await start(model)
    assert (await editor.ask("mode/set", p.ModeParams(mode="off"))).mode == "off"
    cycled = [(await editor.ask("mode/set")).mode for _ in range(3)]
    assert cycled == ["light", "heavy", "off"]
    assert (await editor.ask("state/get")).mode == "off"


async def test_providers_are_listed_and_selected(start: Start, model: WireServer) -> None:
    editor = await start(model)
    listed = {i.name: i for i in (await editor.ask("provider/list")).providers}
    assert listed["openai"].available
    assert listed["openai"].active
    chosen = await editor.ask(
        "provider/select", p.ProviderSelectParams(name="openai", model="gpt-4.1")
    )
    assert chosen.model == "gpt-4.1"
    assert (await editor.ask("budget/get")).model == "gpt-4.1"
    back = await editor.ask("provider/select")
    assert back.model == "gpt-5"


async def test_a_key_of_the_editor_is_used_and_forgotten(start: Start, workspace: Path) -> None:
    with wire_server("anthropic", [a_reply("Hello from Claude.")]) as model:
        editor = await start(None, provider={"name": "anthropic"})
        without = await editor.ask("state/get")
        assert not without.provider.available
        assert "key" in without.provider.why.lower()
        failed = await editor.chat("Hello?")
        assert (failed.outcome, failed.code) == ("error", "no_provider")
        key = p.ProviderKeyParams(provider="anthropic", key="secret-of-the-editor-1234")
        assert (await editor.ask("provider/setKey", key)).available
        await editor.ask("provider/select", p.ProviderSelectParams(base_url=model.url))
        assert (await editor.chat("Hello again?")).message.text == "Hello from Claude."
        assert "secret-of-the-editor-1234" in str(model.requests[-1].headers)
        await editor.ask("provider/setKey", p.ProviderKeyParams(provider="anthropic", key=""))
        await editor.ask("provider/select")
        assert not (await editor.ask("state/get")).provider.available
    for file in (workspace / ".tierline").rglob("*"):
        if file.is_file():
            assert b"secret-of-the-editor" not in file.read_bytes()


async def test_plans_are_stored_explained_compared_and_shown(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    await editor.ask("files/add", p.FileParams(path="src/a.py"))
    await editor.chat("One")
    await editor.ask("files/remove", p.FileParams(path="src/a.py"))
    await editor.chat("Two")
    plans = (await editor.ask("plan/list")).plans
    assert len(plans) == 2
    newer, older = (plan.plan_id for plan in plans)
    detail = await editor.ask("plan/get", p.PlanParams(plan_id=older))
    assert sum(e.tokens for e in detail.entries if e.included) == detail.total_tokens
    assert "file:src/a.py" in [e.key for e in detail.entries if e.included]
    why = await editor.ask("plan/explain", p.PlanExplainParams(key="src/a.py", plan_id=older))
    assert why.included
    assert "src/a.py" in why.sentence
    difference = await editor.ask("plan/diff", p.PlanDiffParams(a=older, b=newer))
    assert any("file:src/a.py" in line for line in difference.lines)
    assert difference.first_break
    shown = await editor.ask("plan/show", p.PlanParams(plan_id=older))
    assert "def alpha" in shown.text
    assert "One" in shown.text
    coming = await editor.ask("plan/show")
    assert "def alpha" not in coming.text


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_every_capability_is_a_command_too(
    start: Start, model: WireServer, transport: str
) -> None:
    editor = await start(model, transport)
    offered = editor.capabilities.execute_command_provider.commands
    # Asking in a chat document is a command only: it is for editors that know nothing of ours.
    assert sorted(offered) == sorted([*(method.command for method in p.METHODS), ASK_IN_DOCUMENT])
    done: dict[str, Any] = {}
    calls: list[tuple[str, dict[str, Any] | None]] = [
        ("files.add", {"path": "src/a.py"}),
        ("files.pin", {"path": "src/a.py"}),
        ("files.list", None),
        ("files.unpin", {"path": "src/a.py"}),
        ("budget.get", None),
        ("mode.set", {"mode": "heavy"}),
        ("provider.list", None),
        ("provider.select", {"name": "openai"}),
        ("provider.setKey", {"provider": "openai", "key": "k"}),
        ("chat.send", {"text": "Hello"}),
    ]
    for name, params in calls:
        done[name] = await editor.command(name, params)
    await editor.finished(done["chat.send"]["turnId"])
    plan_id = (await editor.command("plan.list"))["plans"][0]["planId"]
    for name, params in [
        ("state.get", None),
        ("chat.cancel", None),
        ("plan.get", {"planId": plan_id}),
        ("plan.explain", {"key": "src/a.py"}),
        ("plan.diff", {"a": plan_id, "b": plan_id}),
        ("plan.show", None),
        ("chat.retry", None),
    ]:
        done[name] = await editor.command(name, params)
    await editor.finished(done["chat.retry"]["turnId"])
    more = await editor.command("chat.send", {"text": "More"})
    await editor.finished(more["turnId"])
    state = await editor.command("state.get")
    (editor.workspace / ".tierline" / "old.jsonl").write_text("{damaged\n")
    here, last = state["sessionId"], state["messages"][-1]["id"]
    for name, params in [
        ("files.remove", {"path": "src/a.py"}),
        ("files.clear", None),
        ("history.listSessions", None),
        ("history.getSession", None),
        ("history.renameSession", {"title": "T"}),
        ("history.search", {"query": "Hello"}),
        ("history.status", None),
        ("history.list", None),
        ("history.drop", None),
        ("history.restore", None),
        ("history.window", {"size": 3}),
        ("history.strategy", {"name": "full"}),
        ("history.anchor", None),
        ("history.recover", {"file": "old.jsonl"}),
        ("history.show", None),
        ("history.query", {"sql": "SELECT count(*) FROM messages"}),
        ("chat.command", {"text": "/message list 1"}),
        ("chat.commands", None),
        ("scratchpad.get", None),
        ("scratchpad.set", {"text": "- plan"}),
        ("scratchpad.append", {"text": "- more"}),
        ("compaction.run", None),
        ("branch.fork", {"messageId": last}),
        ("branch.list", None),
        ("branch.compare", {"a": "main"}),
        ("branch.switch", {"branch": "main"}),
        ("history.undo", None),
        ("history.restore", None),
        ("history.remove", None),
        ("history.newSession", None),
        ("history.loadSession", {"sessionId": here}),
        ("history.archiveSession", {"sessionId": here, "away": False}),
        ("history.deleteSession", {"sessionId": here}),
    ]:
        done[name] = await editor.command(name, params)
    memo = await editor.command("memo.save", {"content": "Use tabs"})
    for name, params in [
        ("memo.save", {"content": "Use tabs"}),
        ("memo.edit", {"id": memo["id"], "content": "Use spaces"}),
        ("memo.search", {"query": "spaces"}),
        ("memo.list", None),
        ("memo.delete", {"id": memo["id"]}),
    ]:
        done[name] = await editor.command(name, params)
    done["plan.list"] = done["history.rebuild"] = True  # the latter: test_notes.py
    done["model.effort"] = await editor.command("model.effort", {})
    done |= dict.fromkeys(("provider.models", "provider.checkKey"), True)  # test_picker.py
    done["compaction.undo"] = True  # test_compaction.py
    # Only while an edit or a question is open: test_edit_application.py, test_commands_….py
    for name in ("consent.answer", "edit.accept", "edit.reject", "edit.choose", "edit.preview"):
        done[name] = True
    # They need a web server: test_urls.py
    done |= dict.fromkeys(("urls.add", "urls.remove", "urls.refresh", "urls.show"), True)
    for name in ("edit.list", "command.allowed", "command.forget", "stats.turns", "urls.list"):
        done[name] = await editor.command(name)
    for name, params in [
        ("symbols.status", None),
        ("symbols.reindex", None),
        ("pins.list", None),
        ("pins.suggested", None),
        ("cache.explain", None),
        ("cache.tiers", None),
        ("stats.get", None),
        ("stats.requests", None),
        ("capsule.make", {"path": "src/a.py"}),
        ("capsule.list", None),
        ("memory.stats", None),
        ("mention.complete", {"query": "a"}),
        ("mention.resolve", {"text": "See @src/a.py"}),
        ("instructions.list", None),
    ]:
        done[name] = await editor.command(name, params)
    done["memory.compress"] = True  # it needs turns: test_memory.py
    done |= dict.fromkeys(
        ("chat.ask", "instructions.set"), True
    )  # test_code_actions.py, test_in….py
    # test_what_was_sent.py, test_waiting_prompts.py, test_exchange.py, test_edit_application.py
    waiting = ("plan.sent", "chat.edit", "queue.list", "queue.change", "queue.move", "queue.remove")
    kept = ("queue.steer", "history.export", "history.import", "compaction.show")
    done |= dict.fromkeys((*waiting, *kept, "cache.forecast", "edit.propose"), True)
    # test_new_session_files.py, test_back.py
    done["history.newSessionFiles"] = True
    done |= dict.fromkeys(("back.preview", "back.go", "edit.keep", "edit.undo"), True)
    # They need an index, or something held: test_retrieval.py, test_pins.py
    held = ("retrieval.get", "retrieval.code", "pins.add", "pins.remove", "pins.accept")
    done |= dict.fromkeys((*held, "pins.dismiss"), True)
    assert sorted(done) == sorted(m.command.removeprefix("tierline.") for m in p.METHODS)
    assert done["budget.get"]["used"] > 0
    assert done["state.get"]["messages"][-1]["text"] == "One two three."


@pytest.mark.parametrize(
    ("name", "params", "code"),
    [
        ("chat/send", p.ChatSendParams(text=" \n\u200b"), "empty_prompt"),
        (
            "chat/send",
            p.ChatSendParams(text="What is it?", images=[p.ImageInput("image/png", "AAAA")]),
            "not_sendable",
        ),
        ("files/remove", p.FileParams(path="nowhere.py"), "not_found"),
        ("files/unpin", p.FileParams(path="nowhere.py"), "not_found"),
        ("files/add", p.FileParams(), "invalid_params"),
        ("plan/get", p.PlanParams(plan_id="plan_0"), "not_found"),
        ("chat/retry", p.ChatRetryParams(), "not_found"),
    ],
)
async def test_errors_have_a_code_and_say_what_to_do(
    start: Start, model: WireServer, name: str, params: Any, code: str
) -> None:
    editor = await start(model)
    with pytest.raises(JsonRpcException) as caught:
        await editor.ask(name, params)
    numbers = {error.code: error.number for error in p.ERRORS}
    assert caught.value.code == numbers[code]
    assert caught.value.message.endswith(".")
    assert (await editor.ask("state/get")).messages == []


async def test_malformed_requests_are_answered_and_harm_nothing(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    for params in ({"text": 5}, {"wrong": True}, [1], "text"):
        with pytest.raises(JsonRpcException) as caught:
            await editor.raw("tierline/chat/send", params)
        assert caught.value.code == -32602
    with pytest.raises(JsonRpcException) as caught:
        await editor.raw("tierline/no/such", {})
    assert caught.value.code == -32601
    assert (await editor.chat("Still there?")).outcome == "ok"
