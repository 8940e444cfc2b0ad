"""The models that a service lists, with their reported windows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tierline.providers.base import OfferedModel
from tierline.providers.errors import from_exception
from tierline.providers.transport import Endpoint

_SECONDS = 15.0
_WINDOWS = ("context_length", "max_input_tokens", "max_model_len", "context_window",
            "max_context_length", "inputTokenLimit")  # fmt: skip
_NO_CHAT = re.compile(
    r"embed|whisper|tts|dall-e|image|moderation|realtime|audio|transcri|sora|davinci|babbage|rerank|"
    r"imagen|veo|guard"
)


async def fetch(client: Any, path: str, service: str, endpoint: Endpoint) -> object:
    """The JSON at a path. One cheap request, tried once.

    Raises:
        RequestFailed: the service refused or was not reached.
    """
    try:
        answer: object = await client.get(
            path, cast_to=object, options={"timeout": _SECONDS, "max_retries": 0}
        )
    except Exception as error:
        url = endpoint.base_url or str(client.base_url)
        raise from_exception(
            service, error, secret=endpoint.key, url=url, network=endpoint.network
        ) from error
    return answer


def offered(answer: object) -> list[OfferedModel]:
    """The models of a list that can chat, in the order of the list."""
    rows = answer.get("data", answer.get("models")) if isinstance(answer, Mapping) else answer
    return list(_offered(rows)) if isinstance(rows, list) else []


def _offered(rows: list[Any]) -> Iterator[OfferedModel]:
    seen: set[str] = set()
    for row in rows:
        name = row.get("id") or row.get("name") if isinstance(row, Mapping) else row
        if not isinstance(name, str) or not name or name in seen or _NO_CHAT.search(name.lower()):
            continue
        seen.add(name)
        said = [row.get(key) for key in _WINDOWS] if isinstance(row, Mapping) else []
        yield OfferedModel(name, next((n for n in said if type(n) is int and n > 0), None))
