"""Canonical bytes: independent of the order of registration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tierline.context.prompt import Prompt, ToolSpec, Ttl
from tierline.context.text import well_formed
from tierline.providers.base import RenderedRequest


def dumps(value: Any) -> bytes:
    """Compact UTF-8 JSON with keys in the order in which they were built.

    Half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
    """
    # Imported here: until the first request nothing needs it, nor the SDKs.
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value)
    except PydanticSerializationError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return well_formed(text).encode("utf-8")


def sort_keys(value: Any) -> Any:
    """The same JSON with every object's keys sorted; lists keep their order."""
    if isinstance(value, Mapping):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [sort_keys(item) for item in value]
    return value


def sort_tools(tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Built-in tools by name, then dynamic ones by name.

    So the cached prefix of the built-in tools stays when dynamic tools come and go.
    """
    return sorted(tools, key=lambda tool: (not tool.builtin, tool.name))


def cache_control(mark: Ttl) -> dict[str, str]:
    """The field ``cache_control`` of a breakpoint, without the default of five minutes."""
    return {"type": "ephemeral"} if mark == "5m" else {"type": "ephemeral", "ttl": mark}


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's parameters as providers take them: an object, even if it has no properties."""
    return {"type": "object", "properties": {}, **schema}


def rendered(
    provider: str, strategy: str, model: str, payload: bytes, prompt: Prompt | None = None
) -> RenderedRequest:
    """Wrap a body's exact bytes with their SHA-256 (hex)."""
    digest = hashlib.sha256(payload).hexdigest()
    return RenderedRequest(provider, strategy, model, payload, digest, prompt)
