"""The texts by which a later message updates an item.

One update is one block: a first line that names the item and the versions by the beginnings of
their SHA-256, then at most one fenced block, longer than any run of backticks inside it. Base and
updates, read in order, give every current text byte for byte.
"""

from __future__ import annotations

import json
import re

from attrs import frozen

from tierline import prompts
from tierline.context.display import shown_name
from tierline.context.fences import fence, parse_fenced, render_file
from tierline.context.items import Item
from tierline.context.text import sha256
from tierline.context.tiers import delta
from tierline.context.tiers.base import PieceKind

RULES = prompts.read("updates")
"""Rules for the model, in the head of requests that may have updates."""

_HASH = 8
_START = "Update: "
_SIMPLE = re.compile(r"[^\s\"\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@frozen
class ItemContent:
    """An item's content, without its wrapper. ``plain`` is true for the exact text of a file."""

    name: str
    text: str
    plain: bool

    @property
    def version(self) -> str:
        """The name of this version: the first digits of the text's SHA-256."""
        return version(self.text)


def version(text: str) -> str:
    """The first eight digits of the text's SHA-256."""
    return sha256(text)[:_HASH]


def content_of(key: str, path: str, text: str) -> ItemContent:
    """The content of a rendered item: of a whole file its exact text, else the rendering itself."""
    if path:
        found = parse_fenced(text)
        if found and render_file(path, found[0].text) == text:
            return ItemContent(path, found[0].text, True)
    return ItemContent(path or key, text, False)


def of_item(item: Item) -> ItemContent:
    """The content of an item."""
    return content_of(item.key, item.path, item.text)


def full(now: ItemContent) -> str:
    """The update with the whole text, for an addition or if the difference is longer."""
    info = "" if now.plain else "as-given"
    return f"{_START}{_written(now.name)} ({now.version}, in full):\n{fence(now.text, info)}"


def change(before: ItemContent, now: ItemContent) -> tuple[PieceKind, str]:
    """The shorter of difference and whole text, or that a text is again what it was."""
    whole = full(now)
    if before.plain is not now.plain or before.name != now.name:
        return PieceKind.FULL, whole
    name = _written(now.name)
    if before.text == now.text:
        return PieceKind.DELTA, again(now)
    diff = delta.make(before.text, now.text)
    head = f"{_START}{name} changed from {before.version} to {now.version}:\n"
    short = head + fence(diff, "diff")
    return (PieceKind.DELTA, short) if len(short) < len(whole) else (PieceKind.FULL, whole)


def again(now: ItemContent, first: bool = False) -> str:
    """The update that a text is again what it was. ``first``: as in the base, where versions have
    no name.
    """
    shown = ", as it was first shown" if first else ""
    return f"{_START}{_written(now.name)} is {now.version} again{shown}.\n"


def gone(name: str) -> str:
    """The tombstone of an item."""
    return f"{_START}{_written(name)} is no longer part of the context.\n"


def made(now: ItemContent) -> str:
    """The update that a file which the model created, and edited perhaps, came into the context."""
    return f"{_START}{_written(now.name)} is {now.version} as you made it.\n"


def confirmed(before: ItemContent, now: ItemContent, edit: str) -> str:
    """The update that the model's own edit made the change, exactly as proposed."""
    return (
        f"{_START}{_written(now.name)} was {before.version} and is {now.version} since your edit"
        f" {edit} was applied as proposed.\n"
    )


def _written(name: str) -> str:
    """The name as it is, or as a JSON string if it could be taken for something else."""
    plain = _SIMPLE.fullmatch(name) and shown_name(name) == name
    return name if plain else json.dumps(name)
