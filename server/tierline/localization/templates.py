"""A sentence of the source as a message with numbered places, and back from a finished sentence."""

from __future__ import annotations

import re
from string import Formatter

from attrs import frozen

_PLACE = re.compile(r"\{(\d+)\}")
_NUMBER = re.compile(r"[$~]?\d{1,3}(?:,\d{3})*(?:\.\d+)?")


def places(message: str) -> list[str]:
    """The numbers of a message's places, sorted. A translation must have the same ones."""
    return sorted(_PLACE.findall(message))


def numbered(template: str) -> str:
    """A text for ``str.format`` as a message: ``{name:,}`` becomes ``{0}``."""
    parts = []
    place = 0
    for text, name, _spec, _conversion in Formatter().parse(template):
        parts.append(text)
        if name is not None:
            parts.append(f"{{{place}}}")
            place += 1
    return "".join(parts)


@frozen
class Template:
    """One message of a catalogue and its translation."""

    message: str
    translation: str
    literals: tuple[str, ...]
    """The fixed parts of the message."""
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, message: str, translation: str) -> Template:
        """Make the pattern. A place may be empty and may hold line breaks. A place that the
        translation leaves out matches only a short ending (a plural's), so that nothing is lost.
        """
        parts = _PLACE.split(message)
        kept = set(places(translation))
        pattern = "".join(
            re.escape(part)
            if at % 2 == 0
            else f"(?P<p{part}>{'.*?' if part in kept else '[a-z]{0,3}'})"
            for at, part in enumerate(parts)
        )
        literals = tuple(part for part in parts[::2] if part)
        return cls(message, translation, literals, re.compile(pattern, re.DOTALL))

    @property
    def weight(self) -> int:
        """Characters of the fixed parts. Of several templates that fit, the heaviest is taken."""
        return sum(map(len, self.literals))

    def could_be_in(self, text: str) -> bool:
        """False if the message is certainly no part of the text."""
        return all(literal in text for literal in self.literals)

    def values(self, sentence: str) -> dict[str, str] | None:
        """The text in each place; None if the sentence does not fit."""
        if not self.could_be_in(sentence):
            return None
        found = self.pattern.fullmatch(sentence)
        return None if found is None else {k[1:]: v for k, v in found.groupdict().items()}

    def filled(self, values: dict[str, str]) -> str:
        """The translation with these values."""
        return _PLACE.sub(lambda place: values[place[1]], self.translation)


def is_number(text: str) -> bool:
    """True for a number as Tierline writes it: ``1,234.5``."""
    return _NUMBER.fullmatch(text) is not None
