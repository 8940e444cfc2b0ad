"""Values of JSON that some server sends in another type than its format says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mapping(value: object) -> Mapping[str, Any]:
    """An object, or an empty one where something else came."""
    return value if isinstance(value, Mapping) else {}


def rows(value: object) -> list[Any]:
    """A list. One object alone is a list of it; anything else is empty."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """A text, or an empty one where something else came."""
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
