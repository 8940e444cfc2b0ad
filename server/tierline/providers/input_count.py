"""A service's own count of a request's input: Anthropic's ``count_tokens``, OpenAI's
``input_tokens``. Both are free, and are sent only requests that the service has just been sent.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from tierline.providers.base import RenderedRequest
from tierline.providers.canonical import dumps
from tierline.providers.transport import Endpoint
from tierline.providers.values import figure, mapping

log = logging.getLogger(__name__)

_SECONDS = 30.0


async def count_input(
    client: Any, path: str, request: RenderedRequest, fields: Sequence[str], endpoint: Endpoint
) -> int | None:
    """The input tokens of a request, by sending ``fields`` of its body; None without an answer.

    Tried once, without waiting long. A server that does not count is not asked again for this
    model.
    """
    profiles, address = endpoint.profiles, endpoint.base_url
    if not profiles.of(address, request.model).counts:
        return None
    body = {name: request.body[name] for name in fields if name in request.body}
    try:
        answer = await client.post(
            path,
            cast_to=object,
            content=dumps(body),
            options={"headers": {"Content-Type": "application/json"}, "timeout": _SECONDS},
        )
    except Exception:
        log.debug("%s gave no count", path, exc_info=True)
        answer = None
    count = figure(mapping(answer).get("input_tokens")) or None
    if count is None:
        why = f"{request.model or 'The model'} is not counted here: only replies tell figures."
        profiles.learn(address, request.model, {"counts": False}, why)
    return count
