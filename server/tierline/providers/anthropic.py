"""Anthropic's Messages API through the official SDK (platform documentation, "Streaming")."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from tierline.context.prompt import Prompt
from tierline.providers import render_anthropic
from tierline.providers.base import RenderedRequest
from tierline.providers.choice import ProviderChoice
from tierline.providers.editor_port import EditorPort
from tierline.providers.messages import MessageReader
from tierline.providers.profile import Profile
from tierline.providers.sdk import SdkProvider
from tierline.providers.transport import Endpoint

_COUNTED = ("model", "tools", "system", "messages", "thinking", "output_config")
_BINDING_BETA = "thinking-binding-controls-2026-08-01"

BODIES = (render_anthropic.body,)


def make(choice: ProviderChoice, _editor: EditorPort | None) -> AnthropicProvider:
    """See ``Adapter.make``."""
    return AnthropicProvider(choice.endpoint)


class AnthropicProvider(SdkProvider):
    """Messages with explicit cache breakpoints."""

    name = "anthropic"
    strategy = render_anthropic.STRATEGY
    service = "Anthropic"
    sdk = ("anthropic", "AsyncAnthropic")
    address = "https://api.anthropic.com"
    path = "/v1/messages"
    models_path = "/v1/models?limit=1000"

    async def count_tokens(self, request: RenderedRequest) -> int | None:
        """See ``Provider.count_tokens``."""
        return await self._count(f"{self.path}/count_tokens", request, _COUNTED)

    def _rendered(self, prompt: Prompt, profile: Profile) -> RenderedRequest:
        return super()._rendered(prompt, evolve(profile, marks=False))  # it always has them

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        return render_anthropic.body(prompt)

    def _reader(self) -> MessageReader:
        return MessageReader(self._endpoint.key)

    async def _client_for(self, request: RenderedRequest) -> Any:
        """The client with the beta header that the request's fields need."""
        client = await self._connected()
        if not request.body.get("thinking", {}).get("block_binding"):
            return client
        return client.with_options(default_headers={"anthropic-beta": _BINDING_BETA})

    def _connect(self, endpoint: Endpoint) -> Any:
        base_url = (endpoint.base_url or self.address).rstrip("/").removesuffix("/v1")
        return super()._connect(evolve(endpoint, base_url=base_url))
