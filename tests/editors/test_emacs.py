"""Emacs with the documented configuration, and no code of ours in between."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench
from editors.driving import program, watch
from wire.scripts import o_reply, o_texts, then
from wire.servers import Hold, WireServer, wire_server

pytestmark = pytest.mark.e2e
CONFIG = Path(__file__).resolve().parents[2] / "docs" / "editors" / "tierline.el"
DRIVE = Path(__file__).with_name("drive.el")


def emacs() -> str:
    """The Emacs of this machine, installed if need be. ``TIERLINE_EMACS`` names another one."""
    return program("TIERLINE_EMACS", "emacs", workbench.EMACS)


def lisp(*texts: str) -> str:
    """Strings as Lisp reads them."""
    return " ".join(json.dumps(text) for text in texts)


def drive(folder: Path, model: WireServer) -> Any:
    """Run the script in an Emacs without any other configuration. Returns what it saw."""
    script = folder / "drive.el"
    names = f"(setq CONFIG {lisp(str(CONFIG))} SERVER (list {lisp(*SERVER)}))\n"
    script.write_text(names + DRIVE.read_text(encoding="utf-8"), encoding="utf-8")
    command = [emacs(), "--batch", "-Q", "--load", "drive.el"]
    return watch(command, folder, model, LANG="C.UTF-8")[0]


SERVER = (sys.executable, "-m", "tierline", "serve")


def test_the_documented_configuration_does_the_whole_job(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # a project, as Emacs sees it
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("ON_DISK = 1\n", encoding="utf-8")
    (tmp_path / ".env").write_text("PASSWORD=hunter2hunter2\n", encoding="utf-8")
    half = then(o_texts("Half of ", "it"), Hold())
    with wire_server("openai", [o_reply("It holds ", "a name.\n", "Done."), half]) as model:
        seen = drive(tmp_path, model)
        first, second = (json.dumps(body["messages"], ensure_ascii=False) for body in model.bodies)
        assert model.hung_up.wait(5), "stopping closes the connection"

    # What reached the model.
    assert "UNSAVED_NAME = 'ä'" in first, "the buffer is sent, not the disk"
    assert "ON_DISK" not in first
    assert "hunter2" not in first + second
    assert "LATER = 3" in second, "an edit after the first turn is sent"
    assert "has selected this in the editor" in second
    assert "has selected this in the editor" not in first

    # What Emacs saw.
    assert [(f["path"], f["pin"]) for f in seen["added"]] == [("src/a.py", "none")]
    assert [(f["path"], f["pin"]) for f in seen["pinned"]] == [("src/a.py", "sticky")]
    assert ".env" in seen["refusal"], "a refusal is said aloud"
    assert seen["outcome"] == "ok"
    assert seen["conversation"].endswith("> What is in the file?\n\nIt holds a name.\nDone.")
    assert seen["running"], "text arrives before the turn is over"
    assert seen["stopped"] == "interrupted"
    said = [(m["text"], m["status"]) for m in seen["before"]]
    assert said[2:] == [("Go on.", "ok"), ("Half of it", "interrupted")]
    assert [m["text"] for m in seen["after"]] == [text for text, _ in said[:2]]
    budget = seen["budget"]
    assert budget["used"] == sum(section["tokens"] for section in budget["sections"]) > 0
    assert seen["budgetSaid"] == f"Tierline: {budget['used']} of {budget['maxInputTokens']} tokens"
    assert seen["window"] == 2 and "last 2 turns" in seen["commanded"], "a slash makes a command"
    assert "no-such-turn" in seen["problem"], "an error of the server is shown"
    assert seen["ended"]
