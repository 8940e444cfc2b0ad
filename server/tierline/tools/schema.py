"""Arguments against a tool's JSON schema: the part of JSON Schema that our definitions use.

Models leave out fields, invent others and write numbers as text. A value with one possible meaning
is repaired; any other problem is explained to the model, so that its next call is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

_MAX_PROBLEMS = 5
_MAX_LENGTH = 1_000_000
_EXACT = 2**53
_PLAIN = re.compile(r"-?\d+(\.\d+)?|true|false|null")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


def problems(value: Any, schema: Mapping[str, Any], limit: int = _MAX_PROBLEMS) -> list[str]:
    """What is wrong with a value, at most ``limit`` sentences; empty if it fits.

    Understood: ``type``, ``properties``, ``required``, ``additionalProperties`` (false),
    ``items``, ``enum``, ``minimum``, ``maximum``, ``minItems``, ``maxItems``, ``minLength``,
    ``maxLength``. Anything else in a schema is for the model only.
    """
    found: list[str] = []
    for problem in _problems(value, schema, ""):
        found.append(problem)
        if len(found) == limit:
            break
    return found


def misnamed(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Sentences about unknown fields that stand for a missing one: a synonym, nearly the same name,
    or the only missing field of that type. Other unknown fields are no problem.
    """
    known: Mapping[str, Any] = schema.get("properties") or {}
    free = [name for name in known if name not in arguments]
    required = [name for name in schema.get("required") or () if name in free]
    found: list[str] = []
    for name, value in arguments.items():
        if name in known:
            continue
        meant = _meant(str(name), value, required, known) or _meant(str(name), value, free, known)
        if meant:
            found.append(f"there is no {str(name)[:50]}: the field is {meant}")
            free = [other for other in free if other != meant]
            required = [other for other in required if other != meant]
    return found[:_MAX_PROBLEMS]


def _meant(name: str, value: Any, free: Sequence[str], known: Mapping[str, Any]) -> str:
    fitting = [other for other in free if _takes(value, known[other])]
    bare = name.lower().replace("-", "_").strip("_")
    for other in fitting:
        if bare in _WORDS.get(other, "").split() or bare in (f"{other}s", other.rstrip("s")):
            return other
    close = get_close_matches(bare, fitting, 1, cutoff=0.7)
    if close:
        return close[0]
    return fitting[0] if len(fitting) == 1 and isinstance(value, str) and value else ""


_WORDS: Mapping[str, str] = {
    "path": "file filename file_name filepath file_path target_file uri url folder directory dir",
    "paths": "file files filenames file_paths path",
    "content": "text body value note data message contents new_content",
    "query": "q search text pattern regex keyword keywords term string",
    "pattern": "query regex glob search",
    "command": "cmd shell script run cmdline",
    "sql": "query statement q",
    "start_line": "start from begin offset first first_line line line_start",
    "end_line": "end to until last last_line stop line_end",
    "folder": "path dir directory root file_path",
    "start": "from begin start_line line_start offset first first_line line",
    "end": "to until end_line line_end last last_line stop",
    "limit": "max count n max_results maximum top",
    "symbol": "name function class method identifier",
    "tags": "labels tag topics keywords",
    "action": "operation op command mode",
    "items": "pins list keys",
}
"""Our field names, and what models write instead."""


def repaired(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with values of a wrong type repaired where they have one meaning: JSON in a
    string where a list or an object is due, ``"20"`` for a whole number, null for a field that may
    be left out. A value that fits already, or that could mean several things, stays.
    """
    known: Mapping[str, Any] = schema.get("properties") or {}
    required = schema.get("required") or ()
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        wanted = known.get(name)
        if not isinstance(wanted, Mapping):
            found[name] = value
        elif value is None and name not in required and not _takes(None, wanted):
            continue
        else:
            found[name] = _repaired(value, wanted)
    return found


def _repaired(value: Any, schema: Mapping[str, Any]) -> Any:
    if not _takes(value, schema):
        value = _read(value, schema)
    if isinstance(value, Mapping) and "properties" in schema:
        return repaired(value, schema)
    if isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
        return [_repaired(item, items) for item in value]
    return value


def _read(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value converted to the type in the schema if its meaning is certain, else unchanged."""
    other: Any = value
    if isinstance(value, str) and len(value) <= _MAX_LENGTH:
        text = value.strip()
        if text in ("True", "False", "None"):  # as Python writes them
            other = {"True": True, "False": False, "None": None}[text]
        elif text[:1] in ("[", "{", '"') or _PLAIN.fullmatch(text):
            try:
                other = json.loads(text)
            except (ValueError, RecursionError):
                return value
        else:
            items = schema.get("items")
            if schema.get("type") == "array" and text and isinstance(items, Mapping):
                other = [value] if items.get("type") == "string" else value
    if isinstance(other, float) and other.is_integer() and abs(other) < _EXACT:
        other = other if _takes(other, schema) else int(other)
    return other if _takes(other, schema) else value


def _takes(value: Any, schema: Mapping[str, Any]) -> bool:
    """True if the value has a type that the schema allows."""
    kinds = schema.get("type")
    if kinds is None:
        return True
    kinds = kinds if isinstance(kinds, list | tuple) else (kinds,)
    return any(kind == "null" if value is None else _is(value, str(kind)) for kind in kinds)


def _problems(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    name = place or "the arguments"
    kind = schema.get("type")
    if kind is None and "properties" in schema:
        kind = "object"
    if isinstance(kind, str) and not _is(value, kind):
        yield f"{name} must be {_article(kind)}"
        return
    choices = schema.get("enum")
    if choices is not None and value not in choices:
        yield f"{name} must be one of {', '.join(map(str, choices))}"
    yield from _bounds(value, schema, name)
    if isinstance(value, Mapping):
        yield from _object(value, schema, place)
    elif isinstance(value, list | tuple) and isinstance(items := schema.get("items"), Mapping):
        for index, item in enumerate(value):
            yield from _problems(item, items, f"{place}[{index}]")


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    known: Mapping[str, Any] = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{_join(place, name)} is missing"
    for name, item in value.items():
        if name in known:
            yield from _problems(item, known[name], _join(place, name))
        elif schema.get("additionalProperties") is False:
            yield f"there is no {_join(place, str(name)[:50])}"


def _bounds(value: Any, schema: Mapping[str, Any], name: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if (least := schema.get("minimum")) is not None and value < least:
            yield f"{name} must be at least {least}"
        if (most := schema.get("maximum")) is not None and value > most:
            yield f"{name} must be at most {most}"
    for low, high, kinds, what in (
        ("minItems", "maxItems", (list, tuple), "items"),
        ("minLength", "maxLength", (str,), "characters"),
    ):
        if isinstance(value, kinds):
            if (least := schema.get(low)) is not None and len(value) < least:
                yield f"{name} must have at least {least} {what}"
            if (most := schema.get(high)) is not None and len(value) > most:
                yield f"{name} must have at most {most} {what}, not {len(value)}"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return False
    return isinstance(value, _TYPES.get(kind, (object,)))


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
