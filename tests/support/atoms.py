"""History items made of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierline.context.items import Item
from tierline.history.groups import atomic, atoms_of
from tierline.history.messages import Message


def atoms(messages: Sequence[Message], **options: Any) -> tuple[Item, ...]:
    return atoms_of(atomic(messages), **options)
