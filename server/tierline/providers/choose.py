"""Choosing the language model: a setting, a key, a server on this machine, the embedded one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen

from tierline.context.models import ModelFacts
from tierline.network import Network, is_loopback
from tierline.providers.base import Provider, ProviderError
from tierline.providers.choice import ProviderChoice, adapter
from tierline.providers.editor_port import EditorModel, EditorPort
from tierline.providers.gguf import INSTALL, find_model
from tierline.providers.registry import COMPATIBLE, ProviderSpec, of_origin, owner, spec, with_keys
from tierline.providers.retry import RetryPolicy
from tierline.providers.server_facts import ask
from tierline.providers.transport import Endpoint

LOOPBACK_SERVERS = (("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080))
_PROBE_SECONDS = 0.5


@frozen
class ProviderSettings:
    """The user's settings. Times in seconds; ``max_retries`` counts attempts after the first."""

    kind: str = "auto"
    """The name of a provider in the registry, or ``auto``."""
    model: str = ""
    base_url: str = ""
    model_path: str = ""
    stall_seconds: float = 60.0
    first_byte_seconds: float = 300.0
    max_retries: int = 4
    consent_loopback: bool = False
    network: Network = field(factory=Network, repr=False)


@frozen
class LocalServer:
    """A model server that runs on this machine."""

    name: str
    base_url: str
    models: tuple[str, ...] = ()


def choose(  # noqa: PLR0911 - one line per way
    settings: ProviderSettings,
    env: Mapping[str, str],
    secrets: Mapping[str, str],
    found: Sequence[LocalServer],
    offered: Sequence[EditorModel] = (),
) -> ProviderChoice:
    """The first that can be used: the explicit setting, else a key in the environment or in the
    editor's secret storage (``secrets``: provider to key), else a server in ``found`` if the user
    agreed, else the embedded model. The editor's own models (``offered``) are used only if they are
    named, since they may cost money. Pure, except that it looks for the embedded model's file.

    Raises:
        ProviderError: ``unavailable``, with the ways to get one.
    """
    keys = [
        row
        for row in with_keys()
        if (row.automatic or secrets.get(row.name)) and _key(row, env, secrets)[0]
    ]
    if (named := spec(settings.kind)) is not None:
        match named.origin:
            case "embedded":
                return _embedded(settings, "The settings name the embedded model.")
            case "editor":
                return _of_the_editor(settings, offered)
            case "service":
                return _explicit(named, settings, env, secrets, found)
    if settings.base_url:
        return _explicit(_spoken_at(settings, keys), settings, env, secrets, found)
    if keys:
        row = _matching(settings.model, keys)
        where = _key(row, env, secrets)[1]
        return _remote(row, settings, env, secrets, why=f"There is a key for it in {where}.")
    if settings.consent_loopback:
        for server in found:
            if server.models:
                why = f"{server.name} runs on this machine and you agreed to use it."
                return _on_loopback(server, settings, why)
    try:
        return _embedded(settings, "There is no key and no other server; it needs neither.")
    except ProviderError as error:
        raise _none(found, error) from error


def _none(found: Sequence[LocalServer], error: ProviderError) -> ProviderError:
    """There is no model: all ways to get one. ``error``: why the embedded one failed."""
    hint = ""
    if any(server.models for server in found):
        names = " and ".join(server.name for server in found if server.models)
        hint = f" {names} runs on this machine; select it to agree to its use."
    return ProviderError(
        "unavailable",
        "There is no language model to ask.",
        "Set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, or the command that stores one); or run "
        "Ollama, LM Studio or llama.cpp on this machine; or install the embedded model with "
        f"{INSTALL} and a GGUF file. {error.message}{hint}",
    )


def with_api(choice: ProviderChoice, facts: ModelFacts, api: str) -> ProviderChoice:
    """The choice with its model's interface. ``api``: ``auto``, ``chat`` or ``responses``."""
    if not choice.spec.newer or api == "chat":
        return choice
    reasons = facts.reasoning in ("can", "always")
    own = choice.spec.vendor == COMPATIBLE.vendor and (
        choice.official or not choice.spec.compatible
    )
    if api == "auto" and not (own and (reasons or facts.responses_only)):
        return choice
    return evolve(
        choice,
        newer=True,
        reasons=own and reasons,
        retention=own and facts.retention,
        listed=facts.breakpoints,
    )


def make(choice: ProviderChoice, editor: EditorPort | None = None) -> Provider:
    """The provider of a choice. Does not connect or load anything yet."""
    return adapter(choice.kind).make(choice, editor)


async def probe_loopback(
    servers: Sequence[tuple[str, int]] = LOOPBACK_SERVERS,
) -> list[LocalServer]:
    """Model servers that answer on 127.0.0.1 within half a second, in the order of ``servers``.

    Asks only for the list of models, directly: no proxy, no prompt, no key.
    """
    answers = await asyncio.gather(*(asyncio.to_thread(_ask, name, port) for name, port in servers))
    return [found for found in answers if found is not None]


def _ask(name: str, port: int) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    listed = ask("GET", f"{base_url}/models", seconds=_PROBE_SECONDS)
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list) and not (isinstance(listed, dict) and "data" in listed):
        return None
    names = [row.get("id") for row in rows or () if isinstance(row, dict)]
    # The list also has embedding models, which cannot chat.
    models = tuple(n for n in names if isinstance(n, str) and n and "embed" not in n.lower())
    return LocalServer(name, base_url, models)


def _key(row: ProviderSpec, env: Mapping[str, str], secrets: Mapping[str, str]) -> tuple[str, str]:
    """The key and its origin. A key entered in the editor wins: it is the more deliberate one."""
    if key := secrets.get(row.name, "").strip():
        return key, "the editor's secret storage"
    if key := env.get(row.key_variable, "").strip():
        return key, f"the environment ({row.key_variable})"
    return "", ""


def _matching(model: str, keys: Sequence[ProviderSpec]) -> ProviderSpec:
    """The provider of the named model if there is its key; else the first with a key."""
    if not model:
        return keys[0]
    wanted = owner(model) or COMPATIBLE
    return wanted if wanted in keys else keys[0]


def _spoken_at(settings: ProviderSettings, keys: Sequence[ProviderSpec]) -> ProviderSpec:
    """The wire format of an address that the user gave without naming a provider."""
    hints = f"{settings.base_url} {settings.model}".lower()
    for row in with_keys():
        if row.compatible or not row.model_prefix:
            continue
        if row.name in hints or row.model_prefix in hints or list(keys) == [row]:
            return row
    return COMPATIBLE


def _explicit(
    row: ProviderSpec,
    settings: ProviderSettings,
    env: Mapping[str, str],
    secrets: Mapping[str, str],
    found: Sequence[LocalServer],
) -> ProviderChoice:
    url = _address(row, settings, env)
    if url and row.adapter == COMPATIBLE.adapter:
        for server in found:
            if server.base_url.rstrip("/") == url.rstrip("/"):
                return _on_loopback(server, settings, f"You chose {server.name}.")
    if "{" in url:
        raise ProviderError(
            "unavailable",
            f"The address of {row.title} is not complete.",
            f"Set the base URL (provider.base_url); it looks like {url}.",
        )
    key, where = _key(row, env, secrets)
    # Users' own servers often need no key; the providers' services always do.
    elsewhere = url and url != row.base_url
    own = row.own or (elsewhere and (row.compatible or is_loopback(url)))
    if not key and not own:
        raise ProviderError(
            "unavailable",
            f"There is no key for {row.title}.",
            f"Set {row.key_variable} in the environment, or store a key in the editor.",
        )
    why = f"The settings name {settings.base_url or row.title}"
    return _remote(
        row, settings, env, secrets, why=f"{why}; the key is in {where}." if where else f"{why}."
    )


def _address(row: ProviderSpec, settings: ProviderSettings, env: Mapping[str, str]) -> str:
    return settings.base_url or env.get(row.url_variable, "") or row.base_url


def _remote(
    row: ProviderSpec,
    settings: ProviderSettings,
    env: Mapping[str, str],
    secrets: Mapping[str, str],
    *,
    why: str,
) -> ProviderChoice:
    url = _address(row, settings, env)
    if url and "://" not in url:
        url = f"http://{url}"
    model = settings.model or ("" if url and row.compatible else row.default_model) or "default"
    endpoint = _endpoint(settings, url, _key(row, env, secrets)[0])
    return ProviderChoice(row, model, url, why, endpoint=endpoint)


def _on_loopback(server: LocalServer, settings: ProviderSettings, why: str) -> ProviderChoice:
    """The choice of a server found on this machine. It is never sent a key."""
    first = server.models[0] if server.models else "default"
    model = settings.model if settings.model in server.models or not server.models else first
    return ProviderChoice(
        COMPATIBLE,
        model or first,
        server.base_url,
        why,
        found=server.name,
        endpoint=_endpoint(settings, server.base_url, ""),
    )


def _of_the_editor(settings: ProviderSettings, offered: Sequence[EditorModel]) -> ProviderChoice:
    wanted = [m for m in offered if settings.model in ("", m.id, m.label, m.family)]
    if not wanted:
        names = ", ".join(m.label for m in offered)
        raise ProviderError(
            "unavailable",
            f"The editor offers no model called {settings.model}."
            if offered
            else "The editor offers no language model.",
            f"Choose one of these: {names}."
            if offered
            else "Install an extension that brings one "
            "into the editor, or choose another provider.",
        )
    model = wanted[0]
    return ProviderChoice(
        of_origin("editor"),
        model.label,
        "",
        f"You chose {model.name or model.id}, which the editor offers.",
        window=model.max_input_tokens or None,
        endpoint=_endpoint(settings, "", ""),
        offered=model,
    )


def _embedded(settings: ProviderSettings, why: str) -> ProviderChoice:
    model = find_model(settings.model_path)
    return ProviderChoice(
        of_origin("embedded"),
        model.name,
        "",
        why,
        window=model.context,
        endpoint=_endpoint(settings, "", ""),
        embedded=model,
    )


def _endpoint(settings: ProviderSettings, url: str, key: str) -> Endpoint:
    return Endpoint(
        url,
        key,
        stall_seconds=settings.stall_seconds,
        first_byte_seconds=settings.first_byte_seconds,
        retry=RetryPolicy(settings.max_retries),
        network=settings.network,
    )
