"""Neovim's own LSP client with the documented configuration, and no code of ours in between."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench
from editors.driving import program, watch
from lsp.editing import edit, script
from wire.agents import results
from wire.scripts import o_reply, o_texts, then
from wire.servers import Hold, WireServer, wire_server

pytestmark = pytest.mark.e2e
CONFIG = Path(__file__).resolve().parents[2] / "docs" / "editors" / "tierline.lua"
CONFIGURED = Path(__file__).with_name("configured.lua")
"""What the scripts that use that configuration begin with."""
DRIVE = Path(__file__).with_name("drive.lua")
PLAIN = Path(__file__).with_name("plain.lua")
SELECT_PARTS = Path(__file__).with_name("parts.lua")
LOOKING = Path(__file__).with_name("looking.lua")
PANEL = Path(__file__).with_name("panel.lua")


def neovim() -> str:
    """The Neovim of this machine, installed if need be. ``TIERLINE_NVIM`` names another one."""
    return program("TIERLINE_NVIM", "nvim", workbench.NEOVIM)


def drive(folder: Path, model: WireServer, source: Path = DRIVE) -> Any:
    """Run a script in a Neovim without any other configuration. Returns what it saw."""
    command = ", ".join(json.dumps(part) for part in (sys.executable, "-m", "tierline", "serve"))
    script = folder / "drive.lua"
    agent = command.replace('"serve"', '"acp"')
    names = f"CONFIG = {json.dumps(str(CONFIG))}\nSERVER = {{ {command} }}\nAGENT = {{ {agent} }}\n"
    parts = [CONFIGURED, source] if source in (DRIVE, LOOKING) else [source]
    texts = [names, *(part.read_text(encoding="utf-8") for part in parts)]
    script.write_text("\n".join(texts), encoding="utf-8")
    homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "STATE")}
    command_line = [neovim(), "--headless", "-u", "NONE", "-i", "NONE", "+luafile drive.lua"]
    seen, said = watch(command_line, folder, model, **homes)
    assert "Error" not in said, said
    assert "deprecated" not in said, said
    return seen


def test_the_documented_configuration_does_the_whole_job(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("ON_DISK = 1\n", encoding="utf-8")
    (tmp_path / ".env").write_text("PASSWORD=hunter2hunter2\n", encoding="utf-8")
    half = then(o_texts("Half of ", "it"), Hold())
    with wire_server("openai", [o_reply("It holds ", "a name.\n", "Done."), half]) as model:
        seen = drive(tmp_path, model)
        first, second = (json.dumps(body["messages"]) for body in model.bodies)
        assert model.hung_up.wait(5), "stopping closes the connection"

    # What reached the model.
    assert "UNSAVED_NAME = 41" in first, "the buffer is sent, not the disk"
    assert "ON_DISK" not in first
    assert "hunter2" not in first + second
    assert "What is in the file?" in first
    assert "It holds a name." in second
    assert "has selected this in the editor" in second
    assert "has selected this in the editor" not in first

    # What Neovim saw.
    assert [(f["path"], f["pin"]) for f in seen["added"]] == [("src/a.py", "none")]
    assert [(f["path"], f["pin"]) for f in seen["pinned"]] == [("src/a.py", "sticky")]
    assert ".env" in seen["said"][0], "a refusal is said aloud"
    assert (seen["outcome"], seen["reply"]) == ("ok", "It holds a name.\nDone.")
    assert "> What is in the file?" in seen["buffer"]
    assert seen["buffer"][-2:] == ["It holds a name.", "Done."]
    assert (seen["windows"], seen["current"]) == (2, "a.py")
    assert seen["running"], "text arrives before the turn is over"
    assert seen["streamed"][-1] == "Half of it"
    assert seen["stopped"] == "interrupted"
    assert seen["commanded"] == 2, "a line with a slash is a command"
    said = [(m["text"], m["status"]) for m in seen["before"]]
    assert said[2:] == [("Go on.", "ok"), ("Half of it", "interrupted")]
    assert [m["text"] for m in seen["after"]] == [text for text, _ in said[:2]]
    budget = seen["budget"]
    assert budget["used"] == sum(section["tokens"] for section in budget["sections"]) > 0
    told = f"Tierline: {budget['used']} of {budget['maxInputTokens']} tokens"
    assert told in seen["said"]
    assert "no-such-turn" in seen["said"][-1], "an error of the server is shown"


def test_plain_lsp_is_enough_to_pin_and_to_chat(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("ON_DISK = 1\n", encoding="utf-8")
    with wire_server("openai", [o_reply("It holds ", "a name.")]) as model:
        seen = drive(tmp_path, model, PLAIN)
        (body,) = model.bodies
    assert "Pin to Tierline context" in seen["file"]
    assert "Unpin from Tierline context" in seen["pinned"]
    assert seen["chat"][0] == "Ask Tierline"
    assert seen["text"].startswith(
        "What is in the file?\n\n## Tierline\n\nIt holds a name.\n\n## You\n"
    )
    assert "ON_DISK = 1" in json.dumps(body["messages"])


def test_what_the_user_looks_at_goes_along_by_action_and_by_mention(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    code = "def one() -> int:\n    return 1\n\n\ndef two() -> int:\n    return gone\n"
    (tmp_path / "src" / "a.py").write_text(code, encoding="utf-8")
    (tmp_path / "AGENTS.md").write_text("Answer in rhyme.\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    with wire_server("openai", [o_reply("Yes.")]) as model:
        seen = drive(tmp_path, model, LOOKING)
        fix, explain, ask, mention = (json.dumps(body["messages"]) for body in model.bodies)
    assert seen["completed"][0] == "@src/a.py"
    assert seen["on_problem"][0] == "Fix with Tierline: Undefined name `gone`"
    assert "Fix with Tierline" not in " ".join(seen["on_code"]), "there is no problem"
    assert "src/a.py:6: error: Undefined name `gone` (lint F821)" in fix
    assert "lines 5 to 6, in `two`" in fix
    assert "Explain `one` in src/a.py" in explain
    assert "Why is it one?" in ask
    assert "--- /dev/null\\n+++ b/src/a.py" in mention, "git's changes"
    assert "Problems that the editor reports" in mention
    assert "Answer in rhyme." in fix, "the instruction file"
    prompts = [m for m in seen["messages"] if m["role"] == "user"]
    kinds = [[a["kind"] for a in m["attached"]] for m in prompts]
    assert kinds[0] == ["selection", "problems"]
    assert kinds[3] == ["problems", "git"]


def test_an_edit_is_decided_part_by_part_with_plain_lsp(tmp_path: Path) -> None:
    before = [str(n) for n in range(20)]
    (tmp_path / "n.txt").write_text("\n".join(before) + "\n", encoding="utf-8")
    use = edit("n.txt", ("2\n3\n", "two\n3\n"), ("10\n", "ten\n"))
    with wire_server("openai", script("openai", use)) as model:
        seen = drive(tmp_path, model, SELECT_PARTS)
        told = results(model.bodies[1], "openai")["c1"]
    assert any("Choose parts in the file" in line for line in seen["asked"])
    assert seen["marks"] == [
        [2, "Tierline proposes, part 1 of 2:\n- 2\n+ two"],
        [10, "Tierline proposes, part 2 of 2:\n- 10\n+ ten"],
    ]
    assert seen["taken"] and seen["left"]
    assert seen["untouched"] == "2", "nothing is applied before all is decided"
    assert seen["text"] == [*before[:2], "two", *before[3:]]
    assert seen["undone"] == before
    assert told.startswith("The user accepted 1 of 2 parts of the edit to n.txt")


def test_a_chat_panel_has_an_edit_accepted_in_the_editors_own_buffer(tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("1\n2\n3\n", encoding="utf-8")
    use = edit("n.txt", ("2\n", "two\n"))
    with wire_server("openai", script("openai", use)) as model:
        seen = drive(tmp_path, model, PANEL)
        first = json.dumps(model.bodies[0]["messages"])
        told = results(model.bodies[1], "openai")["c1"]
    assert (seen["agent"], seen["stopped"]) == ("tierline", "end_turn")
    assert "mine, not saved" in first, "the buffer is sent, not the disk"
    (asked,) = seen["asked"]
    assert asked["options"][0] == "Apply"
    (diff,) = asked["content"]
    assert (diff["type"], diff["path"]) == ("diff", str(tmp_path / "n.txt"))
    assert "mine, not saved\n1\ntwo\n3" in diff["newText"]
    assert seen["buffer"] == ["mine, not saved", "1", "two", "3"]
    assert not seen["modified"], "it was written"
    assert (tmp_path / "n.txt").read_text(encoding="utf-8") == "mine, not saved\n1\ntwo\n3\n"
    assert "tool_call" in seen["kinds"] and "usage_update" in seen["kinds"]
    assert seen["sessions"] == 1
    assert told.startswith("Applied as proposed (")
