"""Summaries of recorded sessions, written by a model that is asked over the wire."""

from __future__ import annotations

from benchmarks.compaction_loss import service
from wire.agents import says
from wire.servers import wire_server


def test_a_summary_is_what_the_model_says_of_the_very_messages() -> None:
    told = {"role": "user", "content": [{"type": "text", "text": "USER: Why?"}]}
    body = {"model": "m", "stream": True, "max_tokens": 300, "system": [], "messages": [told]}
    with wire_server("anthropic", [says("anthropic", "Finished\n- It was a typo.")]) as model:
        ask = service("claude-test", base_url=model.url, api_key="k")
        assert ask(body) == "Finished\n- It was a typo."
        (sent,) = model.bodies
    assert sent["messages"] == [told]
    assert (sent["model"], sent["max_tokens"]) == ("claude-test", 300)
