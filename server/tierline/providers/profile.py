"""What a server accepts for a model, as data: one profile for each base URL and model.

A profile starts from a table (``data/profiles.toml``) and is corrected by what the server reports
of itself and what it refuses. ``form`` is the part that decides how a request is written; it goes
with the prompt, so that a stored plan renders to the same bytes after the profile has changed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, Protocol

from attrs import asdict, define, evolve, field, fields_dict, frozen

from tierline.network import host_of, is_loopback
from tierline.providers.refusals import ServerRefusal

MAX_SINGLE_TOOLS = 4
"""So many are left out one by one; each costs a request."""
OTHERS = "*"
"""All tools but Tierline's own."""
OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


@frozen
class Profile:
    """What one server accepts for one model; by default, everything."""

    system: str = "system"
    """The instructions' role: ``system``, ``developer``, or ``user``: before the first prompt."""
    alternate: bool = False
    """The roles must alternate: consecutive messages of one role are joined."""
    tools: bool = True
    most_tools: int = 0
    """The number of tools that may be offered; 0 if unknown."""
    without_tools: tuple[str, ...] = ()
    """Names of tools whose definitions are refused; ``*``: all but Tierline's own."""
    call_ids: int = 0
    """The ids of calls have this many letters and digits; 0: any id is accepted."""
    pictures: bool = True
    stream: bool = True
    limit_field: str = ""
    """The field that limits the reply; empty for the adapter's own, ``-`` for none."""
    marks: bool = False
    """Chat Completions: ``cache_control`` is accepted on content parts."""
    without: tuple[str, ...] = ()
    """Refused fields: ``temperature``; at any depth ``tools/strict``, ``messages/name``."""
    counts: bool = True
    """The server has an endpoint that counts a request."""
    max_output_tokens: int = 0
    """The longest reply that may be asked for, in tokens; 0 if unknown."""
    window: int = 0
    """Input and output together, in tokens; 0 if unknown."""
    max_body_bytes: int = 0
    """The largest request body, in bytes; 0 if unknown."""

    def form(self) -> dict[str, Any]:
        """The fields that decide how a request is written, as JSON; empty for the plain form."""
        return {name: value for name, value in self.to_json().items() if name in _WRITTEN}

    def to_json(self) -> dict[str, Any]:
        """The fields that differ from the defaults, as JSON."""
        plain = asdict(Profile())
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value != plain[name]
        }

    @classmethod
    def of(cls, values: Mapping[str, Any], base: Profile | None = None) -> Profile:
        """A profile from JSON, over ``base``. Invalid values are left out."""
        known, start = fields_dict(cls), base or cls()
        fitting: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                continue
            wanted = type(getattr(start, name))
            if wanted is tuple and isinstance(value, list | tuple):
                fitting[name] = tuple(str(one) for one in value)
            elif type(value) is wanted:
                fitting[name] = value
        return evolve(start, **fitting)


_WRITTEN = (
    "system", "alternate", "tools", "most_tools", "without_tools", "call_ids", "pictures", "stream",
    "limit_field", "marks", "without", "max_output_tokens",
)  # fmt: skip


class Profiles(Protocol):
    """Where profiles are looked up and stored."""

    def of(self, base_url: str, model: str) -> Profile:
        """The profile of a model at a server."""
        ...

    def learn(self, base_url: str, model: str, changed: Mapping[str, Any], why: str) -> None:
        """Remember fields of a profile with their new values. ``why``: one sentence."""
        ...


@define
class InMemoryProfiles:
    """Profiles that are forgotten with the process."""

    _learnt: dict[tuple[str, str], dict[str, Any]] = field(factory=dict)

    def of(self, base_url: str, model: str) -> Profile:
        """See ``Profiles.of``."""
        return Profile.of(self._learnt.get((base_url, model), {}), started(base_url, model))

    def learn(self, base_url: str, model: str, changed: Mapping[str, Any], why: str) -> None:  # noqa: ARG002
        """See ``Profiles.learn``."""
        self._learnt.setdefault((base_url, model), {}).update(changed)


def started(base_url: str, model: str) -> Profile:
    """The profile from the table. Later rows add to earlier ones."""
    host = host_of(base_url)
    values: dict[str, Any] = {}
    for row in _table():
        hosts, models = row.get("hosts", ["*"]), row.get("models", ["*"])
        here = any(fnmatchcase(host, pattern) for pattern in hosts)
        if row.get("remote") and is_loopback(base_url):
            here = False
        if here and any(fnmatchcase(model, pattern) for pattern in models):
            values |= row
    return Profile.of(values)


@cache
def _table() -> list[dict[str, Any]]:
    file = resources.files("tierline").joinpath("data", "profiles.toml")
    rows: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["profile"]
    return rows


def corrected(profile: Profile, refusal: ServerRefusal) -> dict[str, Any]:
    """The fields of a profile that a refusal changes; empty if it changes none."""
    match refusal.kind:
        case "tools":
            changed: dict[str, Any] = {"tools": False}
        case "tool":
            names = profile.without_tools
            more = refusal.field if len(names) < MAX_SINGLE_TOOLS else OTHERS
            changed = {"without_tools": tuple(dict.fromkeys((*names, more)))}
        case "many":
            changed = {"most_tools": refusal.most}
        case "ids":
            changed = {"call_ids": refusal.most}
        case "pictures":
            changed = {"pictures": False}
        case "marks":
            changed = {"marks": False}
            if not profile.marks:  # the Messages API always has them
                names = ("messages/cache_control", "tools/cache_control")
                changed = {"without": tuple(dict.fromkeys((*profile.without, *names)))}
        case "stream":
            changed = {"stream": False}
        case "system":
            changed = {"system": refusal.instead if refusal.instead == "developer" else "user"}
        case "roles":
            again = profile.alternate and profile.system == "user"
            changed = {"tools": False} if again else {"alternate": True, "system": "user"}
        case "limit":
            changed = {"max_output_tokens": refusal.most}
        case "field":
            changed = _without(profile, refusal.field)
    return {name: value for name, value in changed.items() if getattr(profile, name) != value}


def _without(profile: Profile, name: str) -> dict[str, Any]:
    if name in OTHER_LIMIT:
        return {"limit_field": "-" if profile.limit_field else OTHER_LIMIT[name]}
    return {"without": tuple(dict.fromkeys((*profile.without, name)))}


def sentence(model: str, changed: Mapping[str, Any], refusal: ServerRefusal) -> str:
    """A sentence for the user that says what was learnt."""
    name = refusal.field.rpartition("/")[2]
    instead = str(changed.get("limit_field", "")).strip("-")
    kind = "turn" if refusal.kind == "roles" and "tools" in changed else refusal.kind
    said = {
        "tools": "takes no tools here: it answers from the context alone",
        "tool": f"does not take the tool {refusal.field} here: it is left out"
        if OTHERS not in changed.get("without_tools", ())
        else "refuses many tools of servers here: only Tierline's own are offered",
        "many": f"is offered at most {refusal.most} tools here: the rest are left out",
        "ids": f"wants {refusal.most} letters and digits as a call's id here",
        "pictures": "takes no pictures here: they are left out",
        "marks": "takes no cache marks here: they are left out",
        "stream": "does not stream here: replies come at once",
        "system": "takes no system message here: the instructions stand before the prompt",
        "roles": "wants prompts and replies in turn here: messages in a row are joined",
        "turn": "wants prompts and replies in turn here: it is offered no tools",
        "limit": f"replies with at most {refusal.most:,} tokens here",
        "field": f"wants {instead} instead of {name} here"
        if instead
        else f"does not take {name} here: it is left out",
    }[kind]
    return f"{model or 'The model'} {said}."
