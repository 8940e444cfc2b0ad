"""The conversation in the form in which it was sent.

The log has every message whole; the sent form may be shorter, with other texts between. Sent bytes
stay as they are until a rewrite (``context/tiers/rewrites.py``), so the form is remembered: how far
each tool result was cut, which messages go without their thinking, and the texts that were sent for
one prompt alone. It is kept with ``CacheState``, across restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from tierline.context.items import Item, PromptNote, Section


@frozen
class Transcript:
    """The data to write the conversation in the same form again."""

    limits: Mapping[str, tuple[int, ...]] = field(factory=dict)
    """Message id to the characters that each of its tool results was allowed."""
    bare: frozenset[str] = frozenset()
    """Ids of messages whose thinking was left out by a rewrite."""
    notes: tuple[PromptNote, ...] = ()
    """The notes in the order in which they were sent."""

    @classmethod
    def of(cls, talk: Iterable[Item]) -> Transcript:
        """The transcript of items in order; a volatile one is a note after the message before."""
        limits: dict[str, tuple[int, ...]] = {}
        bare: set[str] = set()
        notes: list[PromptNote] = []
        after = group = ""
        for item in talk:
            if item.note is not None:
                notes.append(item.note)
            elif item.volatile:
                notes.append(
                    PromptNote(after, item.key, item.section, item.text, group, item.origin)
                )
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
        """The transcript of JSON values.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: they are invalid.
        """
        return cls(
            limits={str(k): tuple(map(int, v)) for k, v in value["limits"].items()},
            bare=frozenset(map(str, value["bare"])),
            notes=tuple(
                PromptNote(
                    str(after), str(key), Section(section), str(text), str(group), str(origin), n
                )
                for n, (after, key, section, text, group, origin) in enumerate(value["notes"])
            ),
        )
