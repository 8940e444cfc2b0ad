"""MCP servers as editors' configuration files name them.

``.mcp.json`` and ``.cursor/mcp.json`` hold ``{"mcpServers": {name: …}}``, ``.vscode/mcp.json``
holds ``{"servers": {name: …}}``; the entries have ``command``, ``args`` and ``env``, or ``url`` and
``headers``. Sources: the MCP documentation's "Connect to local servers", VS Code's "MCP
configuration reference".
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

FILES = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")
"""Relative to a workspace folder, the first that names a server wins."""
MAX_SERVERS = 32
"""Servers of one file."""
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)\}")
_INPUT = re.compile(r"\$\{input:")


@frozen
class ServerDefinition:
    """One server: a program to start, or an address to ask."""

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    origin: str = ""
    """The file that names it; empty if the editor passed it on."""
    written: tuple[str, ...] = ()
    """The program or the address, then its variables or headers, as the file has them:
    ``${NAME}`` stands for a value of the environment.
    """

    @property
    def shown(self) -> str:
        """What would be started or asked, for a person; without values of variables."""
        return next(iter(self.written), self.url or shlex.join(self.command))

    @property
    def identity(self) -> tuple[str, ...]:
        """What the user's consent is bound to. Another program, address, variable or header, or
        another source of a value, asks again.
        """
        env = sorted(f"{k}={v}" for k, v in self.env.items())
        headers = sorted(f"{k}: {v}" for k, v in self.headers.items())
        return (self.url, *self.command, *env, *headers, *self.written)


def parse(text: str, origin: str, environment: Mapping[str, str]) -> tuple[
    list[ServerDefinition], list[str]
]:  # fmt: skip
    """The servers of one file, and sentences about what cannot be used."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], [f"{origin} is not JSON: {error}"]
    named = value.get("mcpServers", value.get("servers")) if isinstance(value, Mapping) else None
    if not isinstance(named, Mapping):
        return [], [f"{origin} has neither mcpServers nor servers."]
    found, problems = [], []
    for name, entry in list(named.items())[:MAX_SERVERS]:
        made = _definition(str(name), entry, origin, environment)
        if isinstance(made, str):
            problems.append(f"{origin}: the server {str(name)[:50]!r} {made}")
        elif made is not None:
            found.append(made)
    return found, problems


def _definition(
    name: str, entry: Any, origin: str, environment: Mapping[str, str]
) -> ServerDefinition | str | None:
    if not isinstance(entry, Mapping):
        return "is not an object."
    if entry.get("disabled") is True:
        return None
    if _INPUT.search(json.dumps(entry, default=str)):
        return "asks for an input; put the value into a variable of the environment instead."
    read = _remote if entry.get("url") else _program
    made = read(name, entry, environment)
    return made if isinstance(made, str) else evolve(made, origin=origin)


def _remote(
    name: str, entry: Mapping[str, Any], environment: Mapping[str, str]
) -> ServerDefinition | str:
    url = str(entry["url"])
    if not url.startswith(("http://", "https://")):
        return "has an address that is neither http nor https."
    headers = entry.get("headers")
    return ServerDefinition(
        name, url=url, headers=_texts(headers, environment), written=(url, *_written(headers, ": "))
    )


def _program(
    name: str, entry: Mapping[str, Any], environment: Mapping[str, str]
) -> ServerDefinition | str:
    command, args = entry.get("command"), entry.get("args", ())
    if not isinstance(command, str) or not command:
        return "has neither a command nor a url."
    if not isinstance(args, Sequence) or isinstance(args, str):
        return "has args that are no list."
    plain = (command, *map(str, args))
    line = tuple(_filled(part, environment) for part in plain)
    env = entry.get("env")
    return ServerDefinition(
        name,
        command=line,
        env=_texts(env, environment),
        written=(shlex.join(plain), *_written(env, "=")),
    )


def _written(value: Any, sign: str) -> tuple[str, ...]:
    return tuple(f"{k}{sign}{v}" for k, v in value.items()) if isinstance(value, Mapping) else ()


def _texts(value: Any, environment: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(k): _filled(str(v), environment) for k, v in value.items()}


def _filled(text: str, environment: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: environment.get(found[1], ""), text)
