"""What a model server on this machine reports of itself: above all the window in force.

Ollama loads models with a smaller window than they were made for, and cuts longer prompts silently;
its ``/api/ps`` and ``/api/show`` report it. LM Studio, llama.cpp and vLLM have their own endpoints.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tierline.network import is_loopback
from tierline.providers.values import figure, first, mapping, rows

OLLAMA_WINDOW = 4_096
"""Ollama's default window in tokens, below 24 GiB of graphics memory."""
_SECONDS = 2.0
_BYTES = 4_000_000
_WINDOWS = ("loaded_context_length", "max_model_len", "context_length", "n_ctx")


async def said_by(base_url: str, model: str) -> dict[str, Any]:
    """Fields of a profile, as the server at ``base_url`` reports them; empty for a server elsewhere
    or one that reports nothing. Sends no key and no text of the user.
    """
    if not is_loopback(base_url):
        return {}
    root = base_url.rstrip("/").removesuffix("/v1")
    asked = (
        ("GET", f"{root}/api/ps", None),
        ("POST", f"{root}/api/show", {"model": model}),
        ("GET", f"{root}/api/v0/models", None),
        ("GET", f"{root}/props", None),
        ("GET", f"{base_url.rstrip('/')}/models", None),
    )
    answers = await asyncio.gather(*(asyncio.to_thread(ask, *one) for one in asked))
    running, shown, studio, props, listed = map(mapping, answers)
    return read(model, running, shown, studio, props, listed)


def read(
    model: str,
    running: Mapping[str, Any],
    shown: Mapping[str, Any],
    studio: Mapping[str, Any],
    props: Mapping[str, Any],
    listed: Mapping[str, Any],
) -> dict[str, Any]:
    """Fields of a profile from all answers, the most reliable first."""
    loaded = _row(running.get("models"), model)
    settings = mapping(props.get("default_generation_settings"))
    window = (
        figure(loaded.get("context_length"))
        or _num_ctx(shown)
        or figure(_row(studio.get("data"), model).get("loaded_context_length"))
        or figure(first(settings, "n_ctx") or props.get("n_ctx"))
        or _window(_row(listed.get("data"), model))
    )
    if not window and shown.get("model_info"):
        window = OLLAMA_WINDOW
    found: dict[str, Any] = {"window": window} if window else {}
    abilities = shown.get("capabilities")
    if isinstance(abilities, list) and "completion" in abilities:
        found |= {"tools": "tools" in abilities, "pictures": "vision" in abilities}
    return found


def _num_ctx(shown: Mapping[str, Any]) -> int | None:
    """The window that the model's file sets."""
    match = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.MULTILINE)
    return int(match[1]) if match else None


def _window(row: Mapping[str, Any]) -> int | None:
    return figure(first(row, *_WINDOWS) or mapping(row.get("meta")).get("n_ctx"))


def _row(value: object, model: str) -> Mapping[str, Any]:
    """The entry of a model in a list."""
    for row in map(mapping, rows(value)):
        names = {row.get("id"), row.get("name"), row.get("model")}
        if model in names or f"{model}:latest" in names:
            return row
    return {}


def ask(method: str, url: str, body: object = None, *, seconds: float = _SECONDS) -> Any:
    """The JSON answer of a server on this machine, without proxy or key; None without one."""
    import http.client

    parts = urlsplit(url)
    plain = parts.scheme == "http"
    kind = http.client.HTTPConnection if plain else http.client.HTTPSConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, parts.path, data, {"Accept": "application/json"})
            response = connection.getresponse()
            return json.loads(response.read(_BYTES)) if response.status == 200 else None
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError):
        return None
