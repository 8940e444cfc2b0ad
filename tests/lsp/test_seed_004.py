"""Seed 004's context manager and its plain prompt form, seen by a client and by the provider."""

from __future__ import annotations

import json
from pathlib import Path

from lsp.conftest import Start
from tierline import protocol as p
from tierline.context.assemble import ACKNOWLEDGEMENT
from wire.scripts import o_reply
from wire.servers import wire_server


async def test_the_working_copy_of_the_history(start: Start) -> None:
    """004:310-312 and 004:315, and the operations of 004:47-55: an exchange is added, replaced by
    loading a session, emptied by a new one; tokens and compaction are reported.
    """
    with wire_server("openai", [o_reply("Noted.")]) as model:
        editor = await start(model, compaction={"compactionTriggerTokens": 24_000})  # 004's own
        empty = await editor.ask("history/status")
        assert empty.history_tokens == 0
        await editor.chat("Remember the word heron, please")
        status = await editor.ask("history/status")
        assert status.history_tokens > 0, "004:312"
        assert status.compaction_enabled is True
        assert status.compaction_trigger_tokens == 24_000
        assert 0 < status.compaction_percent < 1, "004:315"
        assert status.needs_summary is False, "004:314"
        first = (await editor.ask("state/get")).session_id
        cleared = await editor.ask("history/newSession")
        assert cleared.messages == [], "004:311"
        assert (await editor.ask("history/status")).history_tokens == 0
        await editor.chat("Something else")
        assert "heron" not in json.dumps(model.bodies[-1])
        loaded = await editor.ask("history/loadSession", p.SessionParams(session_id=first))
        assert [m.text for m in loaded.messages] == ["Remember the word heron, please", "Noted."]
        await editor.chat("Which word?")
        assert "heron" in json.dumps(model.bodies[-1])
        off = await start(model, compaction={"enabled": False, "compactionTriggerTokens": 1})
        assert (await off.ask("history/status")).needs_summary is False, "004:314, disabled"


async def test_the_plain_form_of_a_prompt_reaches_the_provider(
    start: Start, workspace: Path
) -> None:
    """004:318, 004:322-324 with ``cache.policy`` ``fixed``: system, working files with their
    acknowledgement, history, prompt; pictures make content blocks.
    """
    pixel = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJg"
        "gg=="
    )
    with wire_server("openai", [o_reply("Yes.")]) as model:
        editor = await start(model, cache={"policy": "fixed"})
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        await editor.chat("First question")
        await editor.chat("And this?", images=[p.ImageInput("image/png", pixel)])
        messages = model.bodies[-1]["messages"]
    assert messages[0]["role"] == "system"
    texts = [m["content"] for m in messages[1:-1]]
    assert texts[0].startswith("# Working Files\n\nsrc/a.py\n```python\ndef alpha()")
    assert texts[1:] == [ACKNOWLEDGEMENT, "First question", "Yes."]
    assert [m["role"] for m in messages[1:]] == ["user", "assistant"] * 2 + ["user"]
    # The picture first, as the providers advise.
    assert [part["type"] for part in messages[-1]["content"]] == ["image_url", "text"]
    assert messages[-1]["content"][1]["text"] == "And this?"
