"""The request that keeps a cache alive, against a server that holds to the rules of the API."""

from __future__ import annotations

from attrs import evolve

from tierline.context.blocks import Text
from tierline.context.prompt import PromptBlock
from tierline.session.caching.keepalive import ping
from wire.drive import adapter, hear, prompt, said
from wire.enforcing import enforcing

LONG = PromptBlock(Text("word " * 2000), "file:a", "5m")


async def test_a_silent_request_reads_the_cache_and_says_nothing() -> None:
    asked = evolve(prompt(said("user", LONG, Text("And now?"))), model="claude-sonnet-5-5")
    with enforcing("anthropic") as server:
        first = adapter(server)
        await hear(first, first.render(asked))
        again = adapter(server)
        request = ping(asked, again.render, silent=True)
        assert request is not None
        heard = await hear(again, request)
        assert server.refused == []
        assert server.bodies[1]["max_tokens"] == 0
        assert heard.error is None
        assert heard.text == ""
        assert heard.usage is not None
        assert heard.usage.cache_read_tokens == 2502  # with the system text
        assert heard.usage.output_tokens == 0


async def test_elsewhere_one_token_is_asked_for() -> None:
    asked = evolve(prompt(said("user", LONG, Text("And now?"))), model="claude-sonnet-5-5")
    with enforcing("anthropic") as server:
        provider = adapter(server)
        request = ping(asked, provider.render)
        assert request is not None
        await hear(provider, request)
        assert server.refused == []
        assert (server.bodies[0]["max_tokens"], server.bodies[0]["stream"]) == (1, True)
