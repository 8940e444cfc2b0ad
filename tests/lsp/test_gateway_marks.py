"""Claude and Qwen behind gateways that speak Chat Completions: marks on the ends of the tiers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from lsp.conftest import Start
from lsp.test_overflow import fill
from lsp.test_refusals import adapted, error
from wire.scripts import o_reply
from wire.servers import wire_server


def parts(body: Any) -> list[dict[str, Any]]:
    """All parts of a body's messages, in order."""
    found: list[dict[str, Any]] = []
    for message in body["messages"]:
        content = message["content"]
        found += content if isinstance(content, list) else [{"type": "text", "text": content}]
    return found


def marked(body: Any) -> list[int]:
    return [n for n, part in enumerate(parts(body)) if "cache_control" in part]


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-5.5", "claude-sonnet-4-5"])
async def test_the_ends_of_the_tiers_are_marked_and_what_stands_before_stays(
    start: Start, name: str
) -> None:
    with wire_server("openai", [o_reply("Yes.")]) as model:
        editor = await start(model, env={"TIERLINE_PROVIDER_MODEL": name})
        await fill(editor, 0)
        for prompt in ("Is it?", "Is it so?", "Sure?"):
            assert (await editor.chat(prompt)).outcome == "ok"
        bodies = model.bodies
    for body in bodies:
        assert 1 <= len(marked(body)) <= 4
        assert all(part["cache_control"]["type"] == "ephemeral" for part in parts(body)
                   if "cache_control" in part)  # fmt: skip
    for before, after in pairwise(bodies):
        upto = marked(before)[-1] + 1
        texts = [[part["text"] for part in parts(body)[:upto]] for body in (before, after)]
        assert texts[0] == texts[1], "the prefix up to the last mark is sent again as it was"


async def test_marks_that_are_refused_are_learnt(start: Start) -> None:
    script = [
        error("messages.0.content.0.cache_control: Extra inputs are not permitted", 422),
        o_reply("Yes."),
    ]
    with wire_server("openai", script) as model:
        editor = await start(model, env={"TIERLINE_PROVIDER_MODEL": "anthropic/claude-x"})
        await fill(editor, 0)
        for prompt in ("Is it?", "Is it so?"):
            end = await editor.chat(prompt)
            assert (end.outcome, end.error) == ("ok", "")
        assert [bool(marked(body)) for body in model.bodies] == [True, False, False]
        assert isinstance(model.bodies[-1]["messages"][0]["content"], str)
    assert len(adapted(editor)) == 1


async def test_a_model_that_caches_by_itself_gets_plain_strings(start: Start) -> None:
    with wire_server("openai", [o_reply("Yes.")]) as model:
        editor = await start(model, env={"TIERLINE_PROVIDER_MODEL": "some-model"})
        await editor.chat("Is it?")
        assert all(isinstance(m["content"], str) for m in model.bodies[-1]["messages"])
