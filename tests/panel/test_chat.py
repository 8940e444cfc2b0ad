"""Chat panels over the Agent Client Protocol: what a person sees and can do there."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema
from acp.helpers import (
    audio_block,
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
)

from lsp.conftest import Start
from panel.conftest import Open
from wire.agents import Use, calls, results, says
from wire.scripts import o_chunk, o_end, o_reply, o_texts
from wire.servers import Pause, Reply, WireServer, wire_server

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def sent(server: WireServer, number: int = -1) -> str:
    """The text of a request's messages."""
    return json.dumps(server.bodies[number]["messages"], ensure_ascii=False)


async def new(panel: Any, workspace: Path) -> str:
    made = await panel.agent.new_session(cwd=str(workspace), mcp_servers=[])
    return str(made.session_id)


async def test_a_prompt_streams_its_reply_and_ends_with_its_usage(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    answer = await chat.say(session, "Hello there")
    assert answer.stop_reason == "end_turn"
    assert chat.text() == "One two three."
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.cached_read_tokens) == (100, 64)
    assert len(chat.of("agent_message_chunk")) >= 3, "it streams"
    budget = await chat.until(lambda: chat.of("usage_update"))
    assert 0 < budget[-1].used < budget[-1].size
    assert [u.title for u in chat.of("session_info_update")] == ["Hello there"]


async def test_a_linked_file_is_sent_as_the_editor_has_it_saved_or_not(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    path = workspace / "src" / "a.py"
    chat.unsaved[str(path)] = "def alpha() -> int:\n    return 41  # unsaved\n"
    link = resource_link_block("a.py", f"{path.as_uri()}#L1:2")
    await chat.say(session, "What does ", link, " return?")
    assert "return 41  # unsaved" in sent(model)
    assert "What does `a.py` (lines 1 to 2) return?" in sent(model)
    del chat.unsaved[str(path)]  # saved elsewhere, or undone
    await chat.say(session, "And now?")
    assert "return 1" in sent(model)


async def test_embedded_text_and_pictures_go_along(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    selection = embedded_text_resource("file:///elsewhere/notes.txt#L3:4", "the selected words")
    await chat.say(session, "Look.", resource_block(selection), image_block(PIXEL, "image/png"))
    assert "the selected words" in sent(model)
    assert "notes.txt (lines 3 to 4)" in sent(model)
    assert PIXEL in sent(model)


async def test_what_cannot_be_sent_is_said_and_nothing_is(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    with pytest.raises(RequestError, match="does not read audio"):
        await chat.say(session, "Listen.", audio_block("AAAA", "audio/wav"))
    with pytest.raises(RequestError, match="nothing to send"):
        await chat.say(session, "  ")
    outside = resource_link_block("passwd", "file:///etc/passwd")
    with pytest.raises(RequestError, match="Nothing was sent"):
        await chat.say(session, "Read ", outside)
    assert model.bodies == []


@pytest.mark.parametrize(("answer", "goes"), [("once", True), ("deny", False), (None, False)])
async def test_a_linked_file_of_secrets_is_asked_about_before_anything_is_sent(
    panel: Open, model: WireServer, workspace: Path, answer: str | None, goes: bool
) -> None:
    (workspace / ".env").write_text("COLOUR=blue\n", encoding="utf-8")
    chat = await panel(model)
    session = await new(chat, workspace)
    chat.answers = [answer]
    link = resource_link_block(".env", (workspace / ".env").as_uri())
    if goes:
        await chat.say(session, "Which colour is in ", link)
        assert "COLOUR=blue" in sent(model)
    else:
        with pytest.raises(RequestError, match="Nothing was sent"):
            await chat.say(session, "Which colour is in ", link)
        assert model.bodies == []
    assert ".env" in str(chat.asked[0][0].title)


async def test_a_tool_call_is_shown_with_its_kind_place_and_result(
    panel: Open, workspace: Path
) -> None:
    reading = Use("read_file", {"path": "src/a.py", "start_line": 2}, "c1")
    with wire_server("openai", [calls("openai", reading), says("openai", "Done.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        path = str(workspace / "src" / "a.py")
        chat.unsaved[path] = "def alpha() -> int:\n    return 77\n"
        await chat.say(session, "Read it.")
        (row,) = chat.of("tool_call")
        assert (row.kind, row.status) == ("read", "in_progress")
        assert [(place.path, place.line) for place in row.locations] == [(path, 2)]
        end = chat.of("tool_call_update")[-1]
        assert (end.tool_call_id, end.status) == (row.tool_call_id, "completed")
        assert "return 77" in end.content[0].content.text
        assert "return 77" in results(model.bodies[1], "openai")["c1"]


EDIT = Use(
    "propose_edit",
    {"path": "src/a.py", "edits": [{"search": "return 1", "replace": "return 2"}]},
    "e1",
)


@pytest.mark.parametrize("unsaved", [False, True])
async def test_an_accepted_edit_is_written_through_the_client(
    panel: Open, workspace: Path, unsaved: bool
) -> None:
    with wire_server("openai", [calls("openai", EDIT), says("openai", "Done.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        path = workspace / "src" / "a.py"
        more = "# mine, not saved\n" if unsaved else ""
        if unsaved:
            chat.unsaved[str(path)] = more + path.read_text(encoding="utf-8")
        chat.answers = ["once"]
        await chat.say(session, "Change it.")
        assert chat.written == {str(path): f"{more}def alpha() -> int:\n    return 2\n"}
        (asked, options) = chat.asked[0]
        assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once"]
        (diff,) = list(asked.content or [])
        assert isinstance(diff, schema.FileEditToolCallContent)
        assert diff.path == str(path)
        assert "return 1" in str(diff.old_text)
        assert "return 2" in diff.new_text
        assert "applied" in results(model.bodies[1], "openai")["e1"].lower()
        assert chat.of("tool_call_update")[-1].status == "completed"


async def test_a_rejected_edit_changes_nothing_and_the_model_hears_of_it(
    panel: Open, workspace: Path
) -> None:
    with wire_server("openai", [calls("openai", EDIT), says("openai", "Pity.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        chat.answers = ["deny"]
        await chat.say(session, "Change it.")
        assert chat.written == {}
        assert "rejected" in results(model.bodies[1], "openai")["e1"].lower()


async def test_all_edits_of_the_session_can_be_accepted_at_once(
    panel: Open, workspace: Path
) -> None:
    again = Use(
        "propose_edit",
        {"path": "src/b.py", "edits": [{"search": "BETA = 2", "replace": "BETA = 3"}]},
        "e2",
    )
    script = [calls("openai", EDIT), calls("openai", again), says("openai", "Done.")]
    with wire_server("openai", script) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        chat.answers = ["all"]
        await chat.say(session, "Change both.")
        assert len(chat.asked) == 1
        assert (workspace / "src" / "b.py").read_text(encoding="utf-8") == "BETA = 3\n"
        changed = chat.of("config_option_update")[-1].config_options
        assert {option.id: option.current_value for option in changed}["edits"] == "apply"


async def test_without_the_clients_files_an_edit_is_written_to_the_disk_in_its_own_form(
    panel: Open, workspace: Path
) -> None:
    path = workspace / "src" / "a.py"
    path.write_bytes(b"\xef\xbb\xbfdef alpha() -> int:\r\n    return 1\r\n")
    path.chmod(0o640)
    making = Use("propose_edit", {"path": "new/c.py", "content": "C = 3\n"}, "e2")
    script = [calls("openai", EDIT), calls("openai", making), says("openai", "Done.")]
    with wire_server("openai", script) as model:
        chat = await panel(model, capabilities=None)
        session = await new(chat, workspace)
        chat.answers = ["once", "once"]
        await chat.say(session, "Change it.")
        assert path.read_bytes() == b"\xef\xbb\xbfdef alpha() -> int:\r\n    return 2\r\n"
        assert path.stat().st_mode & 0o777 == 0o640
        assert (workspace / "new" / "c.py").read_text(encoding="utf-8") == "C = 3\n"
        assert chat.read == []


async def test_a_client_that_refuses_to_write_is_told_of_and_the_edit_stays_open(
    panel: Open, workspace: Path
) -> None:
    with wire_server("openai", [calls("openai", EDIT), says("openai", "So be it.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        chat.refuse_writes = True
        chat.answers = ["once"]
        asking = asyncio.ensure_future(chat.say(session, "Change it."))
        await chat.until(lambda: "the client refused" in chat.text())
        await chat.agent.cancel(session_id=session)
        assert (await asking).stop_reason == "cancelled"
        assert "return 1" in (workspace / "src" / "a.py").read_text(encoding="utf-8")


def run(code: str, call: str = "r1") -> Use:
    return Use("run_command", {"argv": [sys.executable, "-c", code]}, call)


async def test_a_command_runs_in_the_clients_terminal_once_it_is_allowed(
    panel: Open, workspace: Path
) -> None:
    script = [calls("openai", run("print('from the terminal'); raise SystemExit(3)"))]
    with wire_server("openai", [*script, says("openai", "Done.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        chat.answers = ["once"]
        await chat.say(session, "Run it.")
        asked, options = chat.asked[0]
        assert asked.kind == "execute"
        assert "from the terminal" in str(asked.title), "the very command is shown"
        assert [option.option_id for option in options] == ["once", "always", "deny"]
        shown = [
            part.terminal_id
            for update in chat.of("tool_call_update")
            for part in update.content or ()
            if isinstance(part, schema.TerminalToolCallContent)
        ]
        assert shown == ["terminal-0"]
        assert chat.released == ["terminal-0"]
        assert "Exit code 3.\nfrom the terminal" in results(model.bodies[1], "openai")["r1"]


async def test_a_command_that_was_denied_does_not_run(panel: Open, workspace: Path) -> None:
    mark = workspace / "ran"
    script = [calls("openai", run(f"open({str(mark)!r}, 'w')")), says("openai", "Well.")]
    with wire_server("openai", script) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        chat.answers = ["deny"]
        await chat.say(session, "Run it.")
        assert not mark.exists()
        assert chat.terminals == {}
        assert "did not allow" in results(model.bodies[1], "openai")["r1"]


async def test_without_terminals_the_command_runs_here(panel: Open, workspace: Path) -> None:
    script = [calls("openai", run("print('here')")), says("openai", "Done.")]
    with wire_server("openai", script) as model:
        chat = await panel(model, capabilities=None)
        session = await new(chat, workspace)
        chat.answers = ["once"]
        await chat.say(session, "Run it.")
        assert "Exit code 0.\nhere" in results(model.bodies[1], "openai")["r1"]


async def test_thinking_comes_as_thought(panel: Open, workspace: Path) -> None:
    thinking = [o_chunk({"role": "assistant", "reasoning_content": "Let me see."})]
    with wire_server("openai", [Reply([*thinking, *o_texts("Yes."), *o_end()])]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        await chat.say(session, "Is it?")
        assert "Let me see." in chat.text("agent_thought_chunk")
        assert chat.text() == "Yes."


async def test_cancelling_answers_the_prompt_and_keeps_what_came(
    panel: Open, workspace: Path
) -> None:

    slow = Reply([*o_texts("Once upon "), Pause(30), *o_end()])
    with wire_server("openai", [slow, o_reply("Again.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        asking = asyncio.ensure_future(chat.say(session, "Tell me."))
        await chat.until(lambda: "Once upon" in chat.text())
        await chat.agent.cancel(session_id=session)
        assert (await asking).stop_reason == "cancelled"
        assert (await chat.say(session, "Go on.")).stop_reason == "end_turn"
        assert "Once upon" in sent(model)


async def test_a_reply_that_was_cut_says_so_in_its_reason(panel: Open, workspace: Path) -> None:
    with wire_server("openai", [o_reply("Too lo", finish="length")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        assert (await chat.say(session, "Write.")).stop_reason == "max_tokens"


async def test_errors_commands_and_buttons_are_in_the_environments_language(
    panel: Open, workspace: Path
) -> None:
    from wire.scripts import o_error

    script = [o_error("bad key", 401), calls("openai", EDIT), says("openai", "Pity.")]
    with wire_server("openai", script) as model:
        chat = await panel(model, env={"LANGUAGE": "de"})
        made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=[])
        session = made.session_id
        assert made.modes is not None
        assert [one.name for one in made.modes.available_modes] == ["Fragen", "Anwenden"]
        assert "Modell" in [option.name for option in made.config_options or ()]
        with pytest.raises(RequestError, match="hat den Schlüssel nicht angenommen") as failed:
            await chat.say(session, "Hello there")
        assert "Prüfen Sie den Schlüssel" in str(failed.value)
        await chat.say(session, "/files")
        assert "Im Kontext sind keine Dateien." in chat.text()
        chat.answers = ["deny"]
        await chat.say(session, "Change it.")
        ((call, buttons),) = chat.asked
        assert str(call.title).endswith(" ändern")
        assert [one.name for one in buttons] == [
            "Anwenden",
            "Diese und alle anderen dieser Sitzung anwenden",
            "Ablehnen",
        ]
        assert "Schlüssel" not in sent(model)


async def test_a_failed_turn_is_an_error_with_advice_and_the_next_one_works(
    panel: Open, workspace: Path
) -> None:
    from wire.scripts import o_error

    with wire_server("openai", [o_error("bad key", 401), o_reply("Fine.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        with pytest.raises(RequestError) as failed:
            await chat.say(session, "Hello")
        assert isinstance(failed.value.data, dict)
        assert failed.value.data["advice"]
        assert (await chat.say(session, "Once more")).stop_reason == "end_turn"


# --- sessions -------------------------------------------------------------------------------------


async def test_sessions_are_listed_and_loaded_with_all_that_was_said_and_done(
    panel: Open, workspace: Path
) -> None:
    reading = Use("read_file", {"path": "src/a.py"}, "c1")
    script = [calls("openai", reading, text="I look."), says("openai", "It returns 1.")]
    with wire_server("openai", [*script, o_reply("Still 1.")]) as model:
        first = await panel(model)
        session = await new(first, workspace)
        await first.say(session, "What does alpha return?")
        second = await panel(model)
        listed = await second.agent.list_sessions(cwd=str(workspace))
        assert [one.session_id for one in listed.sessions] == [session]
        assert "alpha" in str(listed.sessions[0].title)
        await first.agent.close_session(session_id=session)
        await second.agent.load_session(cwd=str(workspace), session_id=session, mcp_servers=[])
        shown = [update.session_update for _, update in second.updates]
        told = [kind for kind in shown if kind != "usage_update"]  # comes when it is known
        assert told[:4] == [
            "user_message_chunk",
            "agent_message_chunk",
            "tool_call",
            "agent_message_chunk",
        ]
        assert second.text("user_message_chunk") == "What does alpha return?"
        assert second.text() == "I look.It returns 1."
        (row,) = second.of("tool_call")
        assert (row.kind, row.status) == ("read", "completed")
        await second.say(session, "And now?")
        assert "What does alpha return?" in sent(model)


async def test_a_session_can_be_resumed_without_being_shown_again(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    await chat.say(session, "The word is marmalade.")
    await chat.agent.close_session(session_id=session)
    chat.updates.clear()
    await chat.agent.resume_session(session_id=session, cwd=str(workspace))
    assert chat.of("user_message_chunk") == []
    await chat.say(session, "Which word?")
    assert "marmalade" in sent(model)


async def test_two_sessions_of_one_workspace_do_not_mix(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    one, two = await new(chat, workspace), await new(chat, workspace)
    assert one != two
    await asyncio.gather(chat.say(one, "apples"), chat.say(two, "pears"))
    first, second = sorted((sent(model, 0), sent(model, 1)))
    assert ("apples" in first, "pears" in first) == (True, False)
    assert ("apples" in second, "pears" in second) == (False, True)
    assert chat.of("agent_message_chunk", one)
    assert chat.of("agent_message_chunk", two)


async def test_one_history_with_an_editor_that_speaks_lsp(
    panel: Open, start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    await editor.chat("Asked in the editor.")
    chat = await panel(model)
    session = await new(chat, workspace)
    await chat.say(session, "Asked in the panel.")
    await editor.chat("Asked in the editor again.")
    assert "Asked in the panel." not in sent(model), "another conversation"
    found = await editor.ask("history/listSessions")
    assert {one.session_id for one in found.sessions} >= {session}
    assert len(model.bodies) == 3, "no turn ran twice"
    lines = (workspace / ".tierline" / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line) for line in lines)


@pytest.mark.parametrize(
    ("request_", "says_"),
    [
        (lambda a, w: a.new_session(cwd="relative", mcp_servers=[]), "absolute path"),
        (lambda a, w: a.new_session(cwd=str(w / "none"), mcp_servers=[]), "absolute path"),
        (lambda a, w: a.load_session(cwd=str(w), session_id="no", mcp_servers=[]), "no"),
        (lambda a, w: a.prompt(session_id="no", prompt=[]), "not found"),
        (lambda a, w: a.set_session_mode(session_id="no", mode_id="ask"), "not found"),
        (lambda a, w: a.authenticate(method_id="magic"), "Invalid params"),
        (lambda a, w: a.ext_method("x", {}), "not found"),
    ],
)
async def test_bad_requests_are_answered_and_the_agent_goes_on(
    panel: Open, model: WireServer, workspace: Path, request_: Any, says_: str
) -> None:
    chat = await panel(model)
    with pytest.raises(RequestError, match=says_):
        await request_(chat.agent, workspace)
    session = await new(chat, workspace)
    assert (await chat.say(session, "Hello")).stop_reason == "end_turn"


# --- choices and commands -------------------------------------------------------------------------


async def test_model_context_and_edits_are_options(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=[])
    found = {option.id: option for option in made.config_options or ()}
    assert found["model"].current_value == "openai:gpt-5"
    assert found["context"].current_value == "light"
    assert made.modes is not None
    assert made.modes.current_mode_id == "ask"

    async def choose(option: str, value: str) -> dict[str, Any]:
        answer = await chat.agent.set_config_option(
            session_id=made.session_id, config_id=option, value=value
        )
        assert answer is not None
        return {one.id: one.current_value for one in answer.config_options}

    assert (await choose("context", "off"))["context"] == "off"
    assert (await choose("edits", "apply"))["edits"] == "apply"
    assert (await choose("model", "openai:gpt-5-mini"))["model"] == "openai:gpt-5-mini"
    await chat.say(made.session_id, "Hello")
    assert model.bodies[-1]["model"] == "gpt-5-mini"
    await chat.agent.set_session_mode(session_id=made.session_id, mode_id="ask")
    with pytest.raises(RequestError, match="no context 'much'"):
        await choose("context", "much")
    with pytest.raises(RequestError):
        await chat.agent.set_session_mode(session_id=made.session_id, mode_id="never")


async def test_slash_commands_are_offered_and_answered_without_a_model(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    offered = await chat.until(lambda: chat.of("available_commands_update"))
    names = [command.name for command in offered[0].available_commands]
    assert {"undo", "context", "memo", "help"} <= set(names)
    assert len(names) == len(set(names))
    assert all(" " not in name for name in names)
    await chat.say(session, "/help")
    assert "/context show" in chat.text()
    assert model.bodies == []
    with pytest.raises(RequestError, match="not complete"):
        await chat.say(session, "/context window many")
    await chat.say(session, "/usr/bin is a folder, not a command")
    assert "/usr/bin is a folder" in sent(model)


async def test_what_the_protocol_cannot_show_is_answered_by_commands(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)

    async def ask(line: str) -> str:
        chat.updates.clear()
        await chat.say(session, line)
        return str(chat.text())

    assert "Nothing was sent yet." in await ask("/cost")
    assert "src/a.py: " in await ask("/add src/a.py")
    assert "pinned (sticky)" in await ask("/pin src/a.py")
    assert "tokens (" in await ask("/context")
    assert "system prompt and tools" in await ask("/tiers")
    await chat.say(session, "Hello")
    assert "64 tokens were read" in await ask("/cache")
    assert "src/a.py" in await ask("/why src/a.py")
    assert "1 requests, 100 tokens in, 5 out" in await ask("/cost")
    assert "gpt-5" in await ask("/model")
    assert "gpt-5-mini answers" in await ask("/model gpt-5-mini")
    assert "No files" in await ask("/remove src/a.py")
    assert "Nothing was compacted" in await ask("/compact")
    (workspace / ".env").write_text("COLOUR=blue\n", encoding="utf-8")
    for line, why in {
        "/add .env": "Not added",
        "/why": "not complete",
        "/context x": "/help",
    }.items():
        with pytest.raises(RequestError, match=why):
            await chat.say(session, line)
    assert len(model.bodies) == 1


async def test_the_models_list_of_tasks_is_shown_as_its_plan(panel: Open, workspace: Path) -> None:
    note = Use(
        "manage_scratchpad",
        {"action": "update", "content": "# Plan\n- [x] look\n- [ ] change\n- [ ] test\n"},
        "s1",
    )
    with wire_server("openai", [calls("openai", note), says("openai", "So far.")]) as model:
        chat = await panel(model)
        session = await new(chat, workspace)
        await chat.say(session, "Plan it.")
        (plan,) = await chat.until(lambda: chat.of("plan"))
        assert [(entry.content, entry.status) for entry in plan.entries] == [
            ("look", "completed"),
            ("change", "in_progress"),
            ("test", "pending"),
        ]


async def test_how_much_the_model_thinks_is_an_option_where_it_can_be_told(
    panel: Open, model: WireServer, workspace: Path
) -> None:
    chat = await panel(model)
    made = await chat.agent.new_session(cwd=str(workspace), mcp_servers=[])
    (effort,) = [option for option in made.config_options or () if option.id == "effort"]
    assert effort.category == "thought_level"
    await chat.agent.set_config_option(session_id=made.session_id, config_id="effort", value="high")
    await chat.say(made.session_id, "Hello")
    assert model.bodies[-1]["reasoning_effort"] == "high"
    with pytest.raises(RequestError, match="effort"):
        await chat.agent.set_config_option(
            session_id=made.session_id, config_id="effort", value="boundless"
        )


@pytest.mark.parametrize(("answer", "goes"), [("text", True), ("confirm", True), ("deny", False)])
async def test_a_mention_that_is_not_clear_is_asked_about(
    panel: Open, model: WireServer, workspace: Path, answer: str, goes: bool
) -> None:
    chat = await panel(model)
    session = await new(chat, workspace)
    chat.answers = [answer]
    if goes:
        await chat.say(session, "What is in @src/ ?")
        assert ("def alpha()" in sent(model)) is (answer == "confirm")
    else:
        with pytest.raises(RequestError, match="is a folder"):
            await chat.say(session, "What is in @src/ ?")
        assert model.bodies == []
    assert "@src/ is a folder" in str(chat.asked[0][0].title)
