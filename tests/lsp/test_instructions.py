"""AGENTS.md and its like: in the most stable tier, listed, switched, and never a silent rewrite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from wire.servers import WireServer


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / "AGENTS.md").write_text("Answer in rhyme.\n", encoding="utf-8")
    (workspace / "src/AGENTS.md").write_text("Here, use tabs.\n", encoding="utf-8")
    rules = workspace / ".cursor/rules"
    rules.mkdir(parents=True)
    (rules / "ts.mdc").write_text("---\nglobs: *.ts\n---\nNo semicolons.\n", encoding="utf-8")
    own = workspace / ".config/tierline"
    own.mkdir(parents=True)
    (own / "instructions.md").write_text("Call me Ishmael.\n", encoding="utf-8")
    return workspace


def body(model: WireServer, number: int = -1) -> str:
    return json.dumps(model.bodies[number]["messages"], ensure_ascii=False)


async def test_instruction_files_stand_in_the_most_stable_tier_and_can_be_switched_off(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    await editor.chat("Hello.")
    assert "Answer in rhyme." in body(model) and "Call me Ishmael." in body(model)
    assert "follow them unless the user says otherwise" in body(model)
    assert "use tabs" not in body(model) and "semicolons" not in body(model)
    await editor.ask("files/add", p.FileParams(path="src/a.py"))
    await editor.chat("And now?")
    assert "Here, use tabs." in body(model), "it is for the folder of that file"
    listed = {one.name: one for one in (await editor.ask("instructions/list")).files}
    assert {name: one.active for name, one in listed.items()} == {
        "~/instructions.md": True,
        "AGENTS.md": True,
        "src/AGENTS.md": True,
        ".cursor/rules/ts.mdc": False,
    }
    assert listed["AGENTS.md"].tier == "L0"
    assert all(one.tokens > 5 for one in listed.values())
    assert "*.ts" in listed[".cursor/rules/ts.mdc"].why
    sections = {s.name: s.tokens for s in (await editor.ask("budget/get")).sections}
    assert sections["instructions"] == sum(one.tokens for one in listed.values() if one.active)
    key = listed["AGENTS.md"].key
    after = await editor.ask("instructions/set", p.InstructionSwitchParams(key, False))
    assert [one.why for one in after.files if one.key == key] == ["You switched it off."]
    explained = await editor.ask("plan/explain", p.PlanExplainParams("instructions:src/AGENTS.md"))
    assert "instruction" in explained.sentence
    again = await start(model)
    await again.ask("history/newSession")
    await again.chat("Hello once more.")
    assert "Answer in rhyme." not in body(model), "after a restart, too"
    assert "Call me Ishmael." in body(model)
    with pytest.raises(JsonRpcException, match="There is no instructions:nope"):
        await again.ask("instructions/set", p.InstructionSwitchParams("instructions:nope", True))


async def test_a_change_is_appended_and_rewrites_nothing(
    start: Start, model: WireServer, workspace: Path
) -> None:
    long = "".join(f"{n}. A rule that this project keeps.\n" for n in range(400))
    (workspace / "GEMINI.md").write_text(long, encoding="utf-8")  # large enough to be cached
    editor = await start(model)
    await editor.chat("Hello.")
    (workspace / "AGENTS.md").write_text("Answer in prose from now on.\n", encoding="utf-8")
    await editor.chat("And now?")
    first, second = (sent["messages"] for sent in model.bodies)
    assert second[: len(first) - 1] == first[:-1], "what was sent stays as it was"
    assert "instructions:AGENTS.md" in json.dumps(second[len(first) - 1 :])
    assert "Answer in prose from now on." in json.dumps(second[len(first) - 1 :])


async def test_a_restricted_workspace_is_not_followed_and_says_so(
    start: Start, model: WireServer
) -> None:
    editor = await start(model, tools={"workspaceTrusted": False})
    await editor.chat("Hello.")
    assert "rhyme" not in body(model)
    assert "Call me Ishmael." in body(model), "the user's own are"
    listed = {one.name: one for one in (await editor.ask("instructions/list")).files}
    assert "Restricted Mode" in listed["AGENTS.md"].why


async def test_a_switch_before_the_first_prompt_leaves_the_folder_the_users_own(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    key = (await editor.ask("instructions/list")).files[0].key
    await editor.ask("instructions/set", p.InstructionSwitchParams(key, False))
    assert (workspace / ".tierline" / "owner").is_file(), "the next start would not use it"
