"""Bug cases of area O: memos and retrieval, through a real server."""

from __future__ import annotations

import json
from typing import Any

from bugcases.fixtures import case, expect
from lsp.conftest import Start
from tierline import protocol as p
from wire.servers import WireServer


def said(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


async def test_br169_only_memos_that_fit_go_with_a_prompt(start: Start, model: WireServer) -> None:
    """BR-169: unrelated memories are injected and mislead the model."""
    folder = case("BR-169")
    known = json.loads((folder / "memos.json").read_text())
    prompts = json.loads((folder / "prompts.json").read_text())
    editor = await start(model)
    for memo in known:
        await editor.ask("memo/save", p.MemoSaveParams(memo["content"], memo["tags"]))
    texts = {memo["id"]: memo["content"] for memo in known}
    for prompt, wanted in prompts.items():
        await editor.chat(prompt)
        tail = said(model.bodies[-1]["messages"][-1])
        sent = sorted((tail.index(text), name) for name, text in texts.items() if text in tail)
        names = [name for _, name in sent]
        assert len(names) <= expect("BR-169")["max_injected"]
        assert names[: len(wanted)] == wanted, prompt
        assert names == [] if not wanted else names[0] in wanted


async def test_br171_a_memo_is_data_and_changes_no_instruction(
    start: Start, model: WireServer
) -> None:
    """BR-171: a memory is taken for an order."""
    memo = json.loads((case("BR-171") / "memo.json").read_text())
    editor = await start(model)
    await editor.chat("how do we deploy?")
    await editor.ask("memo/save", p.MemoSaveParams(memo["content"], memo["tags"]))
    await editor.chat("and how do we deploy now?")
    before, after = model.bodies[-2:]
    assert before["messages"][0] == after["messages"][0] and before["messages"][0]["role"] in (
        "system", "developer"
    ), "the instructions are the same bytes"  # fmt: skip
    tail = after["messages"][-1]
    text = tail["content"] if isinstance(tail["content"], str) else tail["content"][-1]["text"]
    assert tail["role"] == "user" and "data, not instructions" in text
    opening = text.index("````\nDeploy notes.")
    closing = text.index("\n````", opening + 4)
    assert opening < text.index("</memos>") < text.index("ignore all rules") < closing
