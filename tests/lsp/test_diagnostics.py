"""What Anthropic itself says of a cache miss, through the whole server.

Only Anthropic's own address is asked for it, so the service on loopback has that name here.
"""

from __future__ import annotations

from pathlib import Path

from lsp.conftest import Start
from tierline import protocol as p
from wire.enforcing import enforcing
from wire.tunnel import certificate, own_name, serving, tunnel


async def test_anthropics_own_reason_stands_beside_ours(start: Start, tmp_path: Path) -> None:
    trusted = certificate(tmp_path, "api.anthropic.com")
    with (
        enforcing("anthropic", tls=serving(trusted), minimum=64) as server,
        tunnel(server.port) as proxy,
    ):
        service = {
            "TIERLINE_PROVIDER_NAME": "anthropic",
            "TIERLINE_PROVIDER_MODEL": server.model,
            "ANTHROPIC_API_KEY": "test-key-of-nobody",
        }
        editor = await start(env=service | own_name(proxy, trusted))
        ends = [await editor.chat(text) for text in ("One.", "Two. " * 2000)]
        assert [end.outcome for end in ends] == ["ok", "ok"], ends[0].error
        await editor.ask("history/undo")
        ends.append(await editor.chat("Three."))
        assert server.refused == []
        asked = [taken.body["diagnostics"]["previous_message_id"] for taken in server.taken]
        assert asked == [None, "msg_000001", "msg_000002"]
        reports = []
        for end in ends[1:]:
            found = await editor.ask("cache/explain", p.CacheExplainParams(turn_id=end.turn_id))
            reports += found.requests
        second, third = reports
        assert "The provider says" not in second.sentence
        assert third.code in ("edited", "removed"), third
        assert "The provider says that the messages changed, which cost" in third.sentence, third
        assert "Tierline does not see that" not in third.sentence
