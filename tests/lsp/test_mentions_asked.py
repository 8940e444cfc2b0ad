"""Mentions that name a folder, nothing, or what may not be sent are asked about before sending."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from tierline import protocol as p
from tierline.workspace.mentions import is_prose
from wire.servers import WireServer


@pytest.fixture
def project(workspace: Path) -> Path:
    (workspace / ".env").write_text("COLOUR=teal\n", encoding="utf-8")
    return workspace


async def refused(editor: Any, text: str) -> str:
    with pytest.raises(JsonRpcException) as error:
        await editor.ask("chat/send", p.ChatSendParams(text))
    return str(error.value)


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("What is in @src/ ?", "@src/ is a folder."),
        ("What is in @src?", "@src is a folder."),
        ("Read @.env please", "@.env"),
        ("Explain @NoSuchName", "Nothing here is called @NoSuchName."),
        ("Explain @src/missing.py and @src/a.py", "Nothing here is called @src/missing.py."),
        ("Explain @../outside.py", "@../outside.py"),
    ],
)
async def test_nothing_is_sent_before_the_user_said_what_is_meant(
    start: Start, model: WireServer, project: Path, prompt: str, says: str
) -> None:
    editor = await start(model)
    assert says in await refused(editor, prompt)
    assert model.requests == []
    assert (await editor.ask("state/get")).messages == [], "and nothing is written down"


async def test_agreed_a_folder_is_added_and_a_file_of_secrets_is_sent(
    start: Start, model: WireServer, project: Path
) -> None:
    editor = await start(model)
    for prompt in ("What is in @src/ ?", "And in @.env ?"):
        sent = await editor.ask("chat/send", p.ChatSendParams(prompt, mentions="confirm"))
        await editor.finished(sent.turn_id)
    body = json.dumps(model.bodies[-1]["messages"])
    assert "def alpha()" in body and "BETA = 2" in body
    assert "COLOUR=teal" in body


async def test_as_mere_text_the_prompt_goes_as_it_is(
    start: Start, model: WireServer, project: Path
) -> None:
    editor = await start(model)
    params = p.ChatSendParams("What is in @src/ and @.env, @NoSuchName?", mentions="text")
    sent = await editor.ask("chat/send", params)
    await editor.finished(sent.turn_id)
    body = json.dumps(model.bodies[-1]["messages"])
    assert "def alpha()" not in body
    assert "teal" not in body
    assert (await editor.ask("files/list")).files == []


@pytest.mark.parametrize(
    "prompt",
    [
        "Use @property here, or @dataclass(frozen=True)?",
        "Add @Override to it",
        "Install @types/node and @angular/core",
        "Ask @team or me@example.org",
        "In code: `@NoSuchName` and\n```\n@src/missing.py\n```",
        "Read @src/a.py",
        "Read @src/a.py:2, then say why.",
    ],
)
async def test_what_follows_an_at_in_prose_and_code_is_not_asked_about(
    start: Start, model: WireServer, project: Path, prompt: str
) -> None:
    editor = await start(model)
    sent = await editor.ask("chat/send", p.ChatSendParams(prompt))
    await editor.finished(sent.turn_id)
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("path", "prose"),
    [("property", True), ("Override", True), ("types/node", True), ("123", True),
     ("NoSuchName", False), ("src/x.py", False), ("x.py", False), ("my/folder", False)],
)  # fmt: skip
def test_what_is_prose(path: str, prose: bool) -> None:
    assert is_prose(path) is prose
