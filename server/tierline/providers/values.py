"""Reading JSON values that some servers send in another type than the format requires."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def rows(value: object) -> list[Any]:
    """The value if it is a list; a single object as a list of one; else an empty list."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def figure(value: object) -> int | None:
    """A count of at least 0, also written as text or with a fraction; None for anything else."""
    found = _number(value, 10**12)
    return None if found is None else int(found)


def amount(value: object) -> float | None:
    """An amount of money of at least 0, also written as text; None for anything else."""
    found = _number(value, 10**6)
    return None if found is None else float(found)


def first(place: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that has a value; None if none has."""
    return next((found for name in names if (found := place.get(name)) not in (None, "")), None)


def _number(value: object, below: int) -> int | float | None:
    """A number from 0 to less than ``below``, also written as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return value if isinstance(value, int | float) and 0 <= value < below else None
