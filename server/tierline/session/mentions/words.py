"""The words after an ``@`` that name something other than a file."""

from __future__ import annotations

from typing import Literal, TypeAlias

SpecialKind: TypeAlias = Literal[
    "symbol", "problems", "terminal", "selection", "git", "editors", "web", "session", "memo"
]
ALONE: tuple[SpecialKind, ...] = ("problems", "terminal", "selection", "editors")
"""Kinds that need no argument."""
WITH_ARGUMENT: tuple[SpecialKind, ...] = (
    "symbol",
    "problems",
    "terminal",
    "git",
    "web",
    "session",
    "memo",
)


def special_mention(path: str) -> tuple[SpecialKind, str] | None:
    """Kind and argument of ``problems``, ``git:staged``, ``https://…``; None for the name of a
    file. ``./problems`` names a file called ``problems``.
    """
    if path.startswith(("https://", "http://")):
        return "web", path
    head, colon, argument = path.partition(":")
    if not colon:
        return next(((kind, "") for kind in ALONE if kind == path), None)
    if not argument:
        return None
    return next(((kind, argument) for kind in WITH_ARGUMENT if kind == head), None)


def mention_text(path: str) -> str:
    """A mention as it is written: in quotes if blanks or marks of a sentence are in it."""
    plain = not any(c.isspace() or c in "\"'`" for c in path) and path[-1:] not in ".,;:!?)]}"
    if plain:
        return f"@{path}"
    return '@"{}"'.format(path.replace('"', '\\"'))
