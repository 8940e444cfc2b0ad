"""A picture that the user attached is sent, or nothing is; also with a model that takes none."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from lsp.project import messages
from lsp.test_editor_models import CAPABLE, Host
from tierline import protocol as p
from wire.servers import WireServer

BLIND = "gpt-3.5-turbo"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(side: int = 1) -> str:
    """A picture of one colour, as base64."""
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\x00" * (side + 1) * side)
    whole = chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + whole).decode()


GOOD = p.ImageInput("image/png", png())
DAMAGED: dict[str, Any] = {
    "no picture": base64.b64encode(b"%PDF-1.7").decode(),
    "header": base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\x00" * 40).decode(),
    "base64": png()[:-1] + "*",
    "empty": "",
    "side": png(8001),
}


async def refusal(editor: Any, *images: p.ImageInput) -> str:
    with pytest.raises(JsonRpcException) as caught:
        await editor.ask("chat/send", p.ChatSendParams(text="What is it?", images=list(images)))
    numbers = {error.code: error.number for error in p.ERRORS}
    assert caught.value.code == numbers["not_sendable"]
    return str(caught.value.message)


@pytest.mark.parametrize("fault", DAMAGED)
async def test_a_damaged_picture_stops_the_prompt(
    start: Start, model: WireServer, workspace: Path, fault: str
) -> None:
    editor = await start(model)
    said = await refusal(editor, GOOD, p.ImageInput("image/png", DAMAGED[fault]))
    assert said.startswith("Nothing was sent. Picture 2 (image/png) cannot be sent as a picture")
    assert model.requests == [] and (await editor.ask("state/get")).messages == []
    assert not (workspace / ".tierline" / "images").exists() or not list(
        (workspace / ".tierline" / "images").iterdir()
    )
    await editor.chat("What is it?", images=[GOOD])
    assert png() in model.requests[-1].raw.decode()


async def test_a_model_that_takes_no_pictures_is_not_asked_about_one(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    await editor.chat("What is it?", images=[GOOD])
    assert png() in model.requests[-1].raw.decode()
    await editor.ask("provider/select", p.ProviderSelectParams(model=BLIND))
    assert BLIND in await refusal(editor, GOOD)
    assert len(model.requests) == 1
    await editor.chat("And what was it?")
    body = model.requests[-1].raw.decode()
    assert png() not in body and "image_url" not in body
    assert body.count("[picture left out: this model takes no pictures]") == 1
    await editor.ask("provider/select", p.ProviderSelectParams())
    await editor.chat("And now?")
    assert png() in model.requests[-1].raw.decode(), "the log still has it"
    assert len([m for m in messages(workspace) if m["role"] == "user"]) == 3


async def test_the_editors_models_get_no_pictures(workspace: Path) -> None:
    """VS Code's language model API, as we use it, passes on text and calls."""
    host = Host(workspace)
    await host.editor.start(capabilities=CAPABLE)
    try:
        await host.editor.ask("provider/select", p.ProviderSelectParams(name="editor"))
        assert "takes no pictures" in await refusal(host.editor, GOOD)
        assert host.asked == []
    finally:
        await host.editor.stop()


async def test_the_editors_model_is_shown_a_picture_if_it_takes_them(workspace: Path) -> None:
    host = Host(workspace)
    host.offered = [p.EditorModelInfo("mini", "Mini", "acme", "m", 20_000, pictures=True)]
    await host.editor.start(settings={"provider": {"name": "editor"}}, capabilities=CAPABLE)
    try:
        params = p.ChatSendParams("What is it?", images=[GOOD])
        sent = await host.editor.ask("chat/send", params)
        assert (await host.editor.finished(sent.turn_id)).outcome == "ok"
        assert GOOD.data in json.dumps(host.asked[-1].body)
    finally:
        await host.editor.stop()
