"""Chat Completions through the official SDK: OpenAI itself and every server that speaks it."""

from __future__ import annotations

from functools import partial
from typing import Any

from tierline.context.prompt import Prompt
from tierline.network import host_of
from tierline.providers import render_openai
from tierline.providers.base import RenderedRequest
from tierline.providers.choice import ProviderChoice
from tierline.providers.completion import CompletionReader
from tierline.providers.editor_port import EditorPort
from tierline.providers.sdk import SdkProvider
from tierline.providers.transport import Endpoint, Reader

# The address decides which of the two is used, and a plan does not store it.
BODIES = tuple(partial(render_openai.body, official=official) for official in (True, False))


def make(choice: ProviderChoice, _editor: EditorPort | None) -> OpenAIProvider:
    """See ``Adapter.make``."""
    title = "" if choice.spec.compatible else choice.spec.title
    return OpenAIProvider(choice.endpoint, service=choice.found or title)


def is_official(base_url: str) -> bool:
    """True for OpenAI's own service, by its address; empty means its default address."""
    host = host_of(base_url)
    return not base_url or host == "api.openai.com" or host.endswith(".api.openai.com")


class OpenAIProvider(SdkProvider):
    """Chat Completions, whose prefix cache is automatic: only order matters."""

    name = "openai"
    strategy = "openai"
    service = "OpenAI"
    sdk = ("openai", "AsyncOpenAI")
    address = "https://api.openai.com/v1"
    path = "/chat/completions"

    def __init__(self, endpoint: Endpoint, *, service: str = "") -> None:
        super().__init__(endpoint)
        if service:
            self.service = service
        elif not is_official(endpoint.base_url):
            self.service = host_of(endpoint.base_url) or "The server"

    async def count_tokens(self, request: RenderedRequest) -> int | None:  # noqa: ARG002
        """None: Chat Completions has no endpoint that counts."""
        return None

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        return render_openai.body(prompt, official=is_official(self._endpoint.base_url))

    def _reader(self) -> Reader:
        return CompletionReader(self.service, self._endpoint.key)
