"""The conversation in the form in which it was sent.

The log has every message whole; what is sent of it may be shorter, and other texts stand between.
Bytes that were sent stay as they are until a rewrite (``context/tiers/rewrites.py``), so the form
has to be remembered: how far each tool result was cut, which messages go without their thinking,
and what was sent for one prompt alone. It is kept with ``CacheState``, across restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from tierline.context.items import Item, Note, Section


@frozen
class Transcript:
    """What the next request needs to write the conversation as it was written before."""

    limits: Mapping[str, tuple[int, ...]] = field(factory=dict)
    """Message id to the characters that each of its tool results was allowed."""
    bare: frozenset[str] = frozenset()
    """Ids of messages whose thinking was left out by a rewrite."""
    notes: tuple[Note, ...] = ()
    """In the order in which they were sent."""

    @classmethod
    def of(cls, talk: Iterable[Item]) -> Transcript:
        """What was sent of a conversation: its items in the order of their bytes. A volatile one
        stands behind the message before it from now on.
        """
        limits: dict[str, tuple[int, ...]] = {}
        bare: set[str] = set()
        notes: list[Note] = []
        after = group = ""
        for item in talk:
            if item.note is not None:
                notes.append(item.note)
            elif item.volatile:
                notes.append(Note(after, item.key, item.section, item.text, group, item.origin))
            else:
                after, group = item.key, item.group
                if item.form is not None:
                    limits.update(item.form.limits)
                    bare.update(item.form.bare)
        numbered = (evolve(note, number=n) for n, note in enumerate(notes) if note.after)
        return cls(limits, frozenset(bare), tuple(numbered))

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "limits": {name: list(limits) for name, limits in self.limits.items()},
            "bare": sorted(self.bare),
            "notes": [[n.after, n.key, n.section, n.text, n.group, n.origin] for n in self.notes],
        }

    @classmethod
    def from_json(cls, value: Any) -> Transcript:
        """The transcript again.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: if it is none.
        """
        return cls(
            limits={str(k): tuple(map(int, v)) for k, v in value["limits"].items()},
            bare=frozenset(map(str, value["bare"])),
            notes=tuple(
                Note(str(after), str(key), Section(section), str(text), str(group), str(origin), n)
                for n, (after, key, section, text, group, origin) in enumerate(value["notes"])
            ),
        )
