from __future__ import annotations

import pytest

from tierline.providers.choice import rerender
from tierline.providers.choose import ProviderSettings, choose, make
from wire.drive import prompt


@pytest.mark.parametrize("kind", ["anthropic", "openai", "local"])
def test_every_adapter_s_body_can_be_rendered_again_without_it(kind: str) -> None:
    keys = {"anthropic": "k", "openai": "k"}
    try:
        choice = choose(ProviderSettings(kind=kind), {}, keys, ())
    except Exception as error:
        pytest.skip(f"no {kind} model here: {error}")
    sent = make(choice).render(prompt())
    again = rerender(prompt(), sent.provider, sent.sha256)
    assert again.payload == sent.payload
    assert again.sha256 == sent.sha256
