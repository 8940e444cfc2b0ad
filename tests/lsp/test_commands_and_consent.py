"""Commands that the model wants to run: asked about, bounded, and never run by themselves."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import violations
from lsp.conftest import Open
from lsp.editing import ALL, EditingEditor
from support.owning import own
from tierline import protocol as p
from wire.agents import Use, calls, results, says, tool_names
from wire.servers import Kind, wire_server

PYTHON = sys.executable
both = pytest.mark.parametrize("kind", ["anthropic", "openai"])
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")


def command(code: str, call: str = "c1") -> Use:
    return Use("run_command", {"argv": [PYTHON, "-c", code]}, call)


async def question(editor: EditingEditor, number: int = 1) -> p.ConsentInfo:
    def found() -> Any:
        asked = editor.bodies(p.ConsentAsked)
        return asked[number - 1].consent if len(asked) >= number else None

    return await editor.until(found)  # type: ignore[no-any-return]


async def run(editor: EditingEditor, *answers: str, text: str = "Run it.") -> p.TurnFinished:
    """Send a prompt and answer the questions that come."""
    known = len(editor.bodies(p.ConsentAsked))
    sent = await editor.ask("chat/send", p.ChatSendParams(text=text))
    for number, answer in enumerate(answers, known + 1):
        asked = await question(editor, number)
        await editor.ask("consent/answer", p.ConsentAnswerParams(asked.id, answer, "No need."))  # type: ignore[arg-type]
    return await editor.finished(sent.turn_id)


@both
async def test_the_user_sees_the_very_command_and_decides(
    open_editor: Open, workspace: Path, kind: Kind
) -> None:
    script = [
        calls(kind, command("import os; print(os.getcwd()); raise SystemExit(3)")),
        calls(kind, command("print('again')", "c2")),
        says(kind, "Done."),
    ]
    with wire_server(kind, script) as model:
        editor = await open_editor(model, ALL)
        assert (await run(editor, "once", "deny")).outcome == "ok"
        first = editor.bodies(p.ConsentAsked)[0].consent
        assert first.text.startswith(PYTHON)
        assert "SystemExit(3)" in first.text
        assert first.can_remember
        told = results(model.bodies[2], kind)
        assert f"Exit code 3.\n{real(workspace)}" in told["c1"]
        assert told["c2"].endswith("did not allow this command. Reason: No need.")
        assert all(violations(body, kind) == [] for body in model.bodies)
        assert [b.answer for b in editor.bodies(p.ConsentClosed)] == ["once", "deny"]
        assert (await editor.ask("state/get")).consents == []


async def test_always_means_this_very_command_here_and_can_be_taken_back(
    open_editor: Open, workspace: Path, tmp_path: Path
) -> None:
    script = [
        calls("openai", command("print(1)")),
        says("openai", "Done."),
        calls("openai", command("print(1)"), command("print(2)", "c2")),
        says("openai", "Done."),
        calls("openai", command("print(1)")),
        says("openai", "Done."),
    ]
    data = tmp_path / "user-data"
    with wire_server("openai", script) as model:
        editor = await open_editor(model, ALL, env={"TIERLINE_DATA_DIR": str(data)})
        await run(editor, "always")
        allowed = await editor.ask("command/allowed")
        assert allowed.commands == [[PYTHON, "-c", "print(1)"]]
        await run(editor, "deny", text="Again.")  # only the other one is asked about
        assert "print(2)" in editor.bodies(p.ConsentAsked)[-1].consent.text
        assert "Exit code 0.\n1" in results(model.bodies[3], "openai")["c1"]
        left = await editor.ask("command/forget", p.ForgetCommandParams([PYTHON, "-c", "print(1)"]))
        assert left.commands == []
        await run(editor, "deny", text="And again.")
    assert real(workspace) in (data / "allowed-commands.json").read_text()
    assert not [f for f in (workspace / ".tierline").rglob("*") if "allowed" in f.name]


async def test_a_workspace_cannot_allow_itself_anything(open_editor: Open, workspace: Path) -> None:
    """Settings and lists inside the repository count for nothing."""
    home = own(workspace, workspace.parent / ".state")
    (home / "config.toml").write_text(
        '[tools]\nedits = "apply"\nworkspace_trusted = true\ncommand_seconds = 9999\n'
    )
    listed = {real(workspace): [[PYTHON, "-c", "print(1)"]]}
    (home / "allowed-commands.json").write_text(json.dumps(listed))
    script = [
        calls("openai", command("print(1)")),
        calls(
            "openai",
            Use(
                "propose_edit",
                {"path": "src/b.py", "edits": [{"search": "2", "replace": "3"}]},
                "c2",
            ),
        ),
        says("openai", "Done."),
    ]
    with wire_server("openai", script) as model:
        editor = await open_editor(model)
        editor.answers = lambda _text, _actions: ""
        await editor.chat("Run it.")
        assert len(editor.questions) == 2
        assert "did not allow" in results(model.bodies[2], "openai")["c1"]
        notices = " ".join(n.text for n in editor.bodies(p.Notice))
        assert "a workspace may not give itself leave to act" in notices
    assert (workspace / "src/b.py").read_text() == "BETA = 2\n"


async def test_plain_lsp_asks_with_a_message(open_editor: Open) -> None:
    script = [
        calls("openai", command("print('yes')")),
        calls("openai", Use("run_command", {"shell": "echo a | cat"}, "c2")),
        says("openai", "Done."),
    ]
    with wire_server("openai", script) as model:
        editor = await open_editor(model)
        offered: list[list[str]] = []

        def answer(text: str, actions: list[str]) -> str:
            offered.append(actions)
            return "Run once"

        editor.answers = answer
        await editor.chat("Run it.")
        told = results(model.bodies[2], "openai")
        assert "yes" in told["c1"]
        assert told["c2"] == "Exit code 0.\na"
    assert offered == [
        ["Run once", "Always run this", "Do not run"],
        ["Run once", "Do not run"],
    ], "what a shell gets cannot be allowed for good"
    assert "echo a | cat" in editor.questions[1]
    assert "by the shell" in editor.questions[1]


async def test_what_cannot_be_seen_is_shown(open_editor: Open) -> None:
    """Bidirectional marks and control characters could make a command look like another."""
    code = "print('\u202etac\u202c')\x1b[2K\r# \u200bharmless"
    script = [calls("openai", Use("run_command", {"argv": ["echo", code]})), says("openai", "No.")]
    with wire_server("openai", script) as model:
        editor = await open_editor(model, ALL)
        await run(editor, "deny")
        text = editor.bodies(p.ConsentAsked)[0].consent.text
    assert "\\u{202e}tac\\u{202c}" in text
    assert "\\u{1b}" in text
    assert not {"\u202e", "\x1b", "\r", "\u200b"} & set(text)


@posix
async def test_time_output_and_children_are_bounded(open_editor: Open, workspace: Path) -> None:
    flood = "import sys\nfor n in range(40000): print('flood', n)"
    child = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time;"
        " time.sleep(600)']); print(p.pid, flush=True); import time; time.sleep(600)"
    )
    quick = child.rsplit(";", 1)[0]
    script = [
        calls("openai", command(flood), command(child, "c2"), command(quick, "c3")),
        says("openai", "Done."),
    ]
    with wire_server("openai", script) as model:
        editor = await open_editor(
            model, ALL, tools={"commandSeconds": 5, "commandOutputChars": 20_000}
        )
        began = time.monotonic()
        await run(editor, "once", "once", "once")
        assert time.monotonic() - began < 60
        told = results(model.bodies[1], "openai")
        assert "flood 0" in told["c1"]
        assert "TRUNCATED. Use query_db" in told["c1"], "what is sent is cut (seed 000)"
        kept = [
            json.loads(line)
            for line in (workspace / ".tierline/history.jsonl").read_text().splitlines()
        ]
        whole = next(r for r in kept if r.get("role") == "tool")["content"][0]["content"]
        assert len(whole) < 21_000
        assert "characters left out" in whole
        assert "flood 39999" in whole
        assert told["c2"].startswith("Error: Stopped after 5 s")
        for call in ("c2", "c3"):
            pid = int(told[call].split("\n")[1])
            for _ in range(100):
                if not _alive(pid):
                    break
                await asyncio.sleep(0.05)
            assert not _alive(pid), "what the command started is gone"


@posix
async def test_stopping_the_turn_ends_the_command(open_editor: Open, workspace: Path) -> None:
    code = "import time, os; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    script = [calls("anthropic", command(code)), says("anthropic", "Well.")]
    with wire_server("anthropic", script) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Run it."))
        asked = await question(editor)
        await editor.ask("consent/answer", p.ConsentAnswerParams(asked.id, "once"))
        file = workspace / "pid"
        for _ in range(200):
            if file.exists() and file.read_text():
                break
            await asyncio.sleep(0.05)
        await editor.ask("chat/cancel", p.ChatCancelParams(sent.turn_id))
        assert (await editor.finished(sent.turn_id)).outcome == "interrupted"
        assert not _alive(int(file.read_text()))
        await editor.chat("And?")
        assert violations(model.bodies[-1], "anthropic") == []
        assert "Interrupted" in results(model.bodies[-1], "anthropic")["c1"]


async def test_a_question_that_is_no_longer_asked(open_editor: Open) -> None:
    script = [calls("openai", command("print(1)")), says("openai", "Done.")]
    with wire_server("openai", script) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Run it."))
        asked = await question(editor)
        assert [c.id for c in (await editor.ask("state/get")).consents] == [asked.id]
        await editor.ask("chat/cancel", p.ChatCancelParams(sent.turn_id))
        await editor.finished(sent.turn_id)
        assert editor.bodies(p.ConsentClosed)[0].answer == "withdrawn"
        with pytest.raises(Exception, match="no longer asked"):
            await editor.ask("consent/answer", p.ConsentAnswerParams(asked.id, "once"))


async def test_keys_are_not_in_the_commands_environment(open_editor: Open) -> None:
    code = "import os; print(sorted(k for k in os.environ if 'KEY' in k or 'TIERLINE' in k))"
    script = [calls("openai", command(code)), says("openai", "Done.")]
    with wire_server("openai", script) as model:
        editor = await open_editor(model, ALL, env={"MY_SERVICE_TOKEN": "t"})
        await run(editor, "once")
        assert "Exit code 0.\n[]" in results(model.bodies[1], "openai")["c1"]


async def test_bad_calls_and_programs_that_are_not_there(open_editor: Open) -> None:
    uses = [
        Use("run_command", {}, "c1"),
        Use("run_command", {"argv": ["a"], "shell": "b"}, "c2"),
        Use("run_command", {"argv": []}, "c3"),
        Use("run_command", {"argv": ["no-such-program-anywhere"]}, "c4"),
        Use("run_command", {"argv": ["a\0b"]}, "c5"),
    ]
    with wire_server("openai", [calls("openai", *uses), says("openai", "Done.")]) as model:
        editor = await open_editor(model, ALL)
        await run(editor, "once")
        told = results(model.bodies[1], "openai")
    assert "either `argv` or `shell`" in told["c1"]
    assert "either `argv` or `shell`" in told["c2"]
    assert "at least 1 items" in told["c3"]
    assert "could not be started: No such file" in told["c4"]
    assert "NUL" in told["c5"]
    assert len(editor.bodies(p.ConsentAsked)) == 1


async def test_commands_can_be_switched_off(open_editor: Open) -> None:
    script = [calls("openai", command("print(1)")), says("openai", "Done.")]
    with wire_server("openai", script) as model:
        editor = await open_editor(model, ALL, tools={"commands": "off"})
        await editor.chat("Run it.")
        assert "run_command" not in tool_names(model.bodies[0], "openai")
        assert "switched off" in results(model.bodies[1], "openai")["c1"]
    assert not editor.bodies(p.ConsentAsked)
    assert shutil.which(PYTHON)


def real(folder: Path) -> str:
    return str(folder.resolve())


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@posix
@pytest.mark.parametrize("what", ["text", "link", "nothing"])
async def test_a_program_that_is_another_when_the_answer_comes_is_not_run(
    open_editor: Open, workspace: Path, what: str
) -> None:
    """The user looked at it, said yes, and meanwhile it was replaced: with times set back, too."""
    program, other = workspace / "check.sh", workspace / "other.sh"
    for path, said in ((program, "one"), (other, "two")):
        path.write_text(f"#!/bin/sh\necho {said}\n")
        path.chmod(0o755)
    before = program.stat()
    script = [
        calls("openai", Use("run_command", {"argv": ["./check.sh"]}, "c1")),
        says("openai", "Done."),
    ]
    with wire_server("openai", script) as model:
        editor = await open_editor(model, ALL)
        sent = await editor.ask("chat/send", p.ChatSendParams(text="Run it."))
        asked = await question(editor)
        if what == "text":
            program.write_text("#!/bin/sh\necho two\n")
            os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif what == "link":
            program.unlink()
            program.symlink_to(other)
        await editor.ask("consent/answer", p.ConsentAnswerParams(asked.id, "once", ""))
        await editor.finished(sent.turn_id)
        told = results(model.bodies[1], "openai")["c1"]
        if what == "nothing":
            assert "Exit code 0.\none" in told
        else:
            assert "Not run: ./check.sh is not what it was when the user was asked." in told
            assert "two" not in told


@posix
async def test_what_runs_is_byte_for_byte_what_was_agreed_to(
    open_editor: Open, workspace: Path
) -> None:
    """Blanks, quotes, line ends, options, hidden marks: each argument arrives whole."""
    odd = [
        "a b",
        "",
        "'q'",
        '"d"',
        "$HOME `id` ;|&",
        "-x",
        "l\ne",
        "t\tb",
        "\u202eabc",
        "é€😀",
        "*",
        "\\",
    ]
    code = "import sys, json; print(json.dumps(sys.argv[1:]))"
    script = [
        calls("openai", Use("run_command", {"argv": [PYTHON, "-c", code, *odd]}, "c1")),
        says("openai", "Done."),
    ]
    with wire_server("openai", script) as model:
        editor = await open_editor(model, ALL)
        await run(editor, "once")
        told = results(model.bodies[1], "openai")["c1"]
        assert json.loads(told.split("\n")[1]) == odd
