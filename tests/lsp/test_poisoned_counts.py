"""Counts stay right whatever a server reports, and whatever becomes of the encoder."""

from __future__ import annotations

import json

from lsp.conftest import Start
from lsp.test_overflow import fill
from tierline import protocol as p
from wire.scripts import o_reply
from wire.servers import wire_server

CUT = {"prompt_tokens": 4096, "completion_tokens": 5, "total_tokens": 4101}


async def test_a_figure_that_is_the_same_for_every_prompt_is_told_and_not_believed(
    start: Start,
) -> None:
    with wire_server("openai", [o_reply("Yes.", usage=CUT)]) as model:
        env = {"TIERLINE_PROVIDER_MODEL": "some-model"}
        editor = await start(model, env=env, tools={"enabled": "off"})
        await fill(editor, 0)
        before = (await editor.ask("budget/get")).used
        for number in range(5):
            end = await editor.chat(f"Is it {number}?")
            assert end.usage is not None
            assert end.usage.input_tokens == 4096, "what it reported is shown, and told to be odd"
        after = await editor.ask("budget/get")
        assert 0 <= after.used - before < 1_000
        assert after.accuracy == "estimated"
        told = [n.text for n in editor.bodies(p.Notice) if "4,096" in n.text]
        assert len(told) == 1 and "num_ctx" in told[0]
    kept = editor.workspace / ".tierline" / "calibration.json"
    assert not kept.exists() or not any(
        value["log_ratios"] for value in json.loads(kept.read_text()).values()
    )
