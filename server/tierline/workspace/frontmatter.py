"""The head of a rule or prompt file: ``key: value`` lines between two ``---``.

It looks like YAML but often is not: ``globs: *.ts, *.tsx`` would be an alias there. So only the
forms that these files use are read: texts, booleans, lists in either form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.M | re.S)
_LINE = re.compile(r"([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*)")
MAX_HEAD = 20_000
"""Characters at the beginning in which the head must end."""


def split(text: str) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """The values by lower-case key, and the text after the head."""
    found = _HEAD.match(text[:MAX_HEAD])
    if found is None:
        return {}, text
    values: dict[str, tuple[str, ...]] = {}
    key = ""
    for line in found[1].splitlines():
        stripped = line.strip()
        if key and stripped.startswith("- "):
            values[key] = (*values[key], _plain(stripped[2:]))
        elif pair := _LINE.fullmatch(line.rstrip()):
            key = pair[1].casefold()
            values[key] = _listed(pair[2])
    return values, text[found.end() :]


def first(values: Mapping[str, tuple[str, ...]], key: str) -> str:
    """One value; empty if there is none."""
    return next(iter(values.get(key.casefold(), ())), "")


def globs(values: Mapping[str, tuple[str, ...]], *keys: str) -> tuple[str, ...]:
    """Glob patterns, from a list or a text with commas."""
    given = [value for key in keys for value in values.get(key.casefold(), ())]
    parts = [part.strip() for value in given for part in _at_commas(value)]
    return tuple(dict.fromkeys(_plain(part) for part in parts if part))


def _listed(value: str) -> tuple[str, ...]:
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        parts = (_plain(part) for part in _at_commas(value[1:-1]))
        return tuple(part for part in parts if part)
    plain = _plain(value)
    return (plain,) if plain else ()


def _at_commas(text: str) -> list[str]:
    """The text split at commas outside braces: ``*.{ts,tsx}`` is one part."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _plain(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
