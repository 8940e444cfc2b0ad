"""Says a finished English sentence in another language, as far as the catalogue knows it."""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from string import Formatter

from attrs import frozen

FOLDER = Path(__file__).parent
DOMAIN = "tierline"
_ENDS = re.compile(r"(?<=[.!?:;”)]) (?=\S)|(?<=,) (?=\S)| (?=[(·])|\n+")
"""Where one sentence may end and the next begin."""
_PIECES = 24
"""Pieces of a text; with more, it is translated line by line only."""
_LONG = 4_000
"""Characters; longer texts are no sentences."""
_DEPTH = 4
_COMMA_DECIMALS = str.maketrans(",.", ".,")


class Translator:
    """One language. What the catalogue does not know stays as it is."""

    def __init__(self, messages: Mapping[str, str]) -> None:
        """``messages``: message → translation."""
        self._words = {m: t for m, t in messages.items() if _is_word(m)}
        self._whole = {m: t for m, t in messages.items() if "{" not in m and not _is_word(m)}
        templates = [Template.of(m, t) for m, t in messages.items() if "{" in m]
        # A template without fixed words would fit everything.
        self._templates = [t for t in templates if any(map(str.isalpha, "".join(t.literals)))]
        self._templates.sort(key=lambda template: -template.weight)
        self.say = lru_cache(2_000)(self._say)

    def label(self, text: str) -> str:
        """A word that stands alone, like a column's name, or a sentence. In sentences single words
        are left: they may be names.
        """
        return self._words.get(text) or self.say(text)

    def translate_lines(self, text: str) -> str:
        """A short text of lists and tables: each line, item and cell by itself."""
        return "\n".join(self._line(line) for line in text.split("\n"))

    def _line(self, line: str) -> str:
        if line in self._whole:
            return self._whole[line]
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            return f"| {' | '.join(map(self.say, cells))} |" if any(cells) else line
        found = re.match(r"\s*(?:[-*#]+|\d+\.)?\s*", line)
        mark = found[0] if found else ""
        return mark + self.say(line[len(mark) :])

    def _say(self, text: str, depth: int = 0) -> str:
        if not text.strip() or len(text) > _LONG or depth > _DEPTH:
            return text
        if is_number(text):
            return text.translate(_COMMA_DECIMALS)
        stripped = text.strip()
        before, after = text.split(stripped, 1)
        if (known := self._whole.get(text)) is not None:
            return known
        if (known := self._whole.get(stripped)) is not None:
            return before + known + after
        return self._best(text, depth)

    def _best(self, text: str, depth: int) -> str:
        """The division into sentences that the catalogue knows most of."""
        cuts = [0, *(m.end() for m in _ENDS.finditer(text)), len(text)]
        templates = [t for t in self._templates if t.could_be_in(text)]
        if len(cuts) > _PIECES:
            return "\n".join(self._say(line, depth + 1) for line in text.split("\n"))
        best: list[tuple[int, str]] = [(0, "")]
        for end in range(1, len(cuts)):
            options = []
            for begin in range(end):
                weight, said = self._piece(text[cuts[begin] : cuts[end]], templates, depth)
                # A sentence that was divided weighs a little less than one that was not.
                options.append((best[begin][0] + weight - 1, begin, best[begin][1] + said))
            weight, _, said = max(options, key=lambda option: (option[0], option[1]))
            best.append((weight, said))
        return best[-1][1]

    def _piece(self, piece: str, templates: Iterable[Template], depth: int) -> tuple[int, str]:
        """The number of known characters in a piece, and the piece translated."""
        core = piece.strip(" \n\t·")  # the dot stands between parts and belongs to none
        if not core:
            return 0, piece
        before, after = piece.split(core, 1)
        ways = ((core, before, after), (piece, "", ""))
        for text, head, tail in ways:
            if (known := self._whole.get(text)) is not None:
                return len(core), head + known + tail
        for template in templates:
            for text, head, tail in ways:
                if (values := template.values(text)) is not None:
                    said = {k: self._value(v, depth) for k, v in values.items()}
                    return template.weight, head + template.filled(said) + tail
        return 0, piece

    def _value(self, value: str, depth: int) -> str:
        """What was put into a sentence: a number, other words of ours, or a name."""
        if " " in value or is_number(value):
            return self._say(value, depth + 1)
        return value


@lru_cache
def translator(locale: str) -> Translator | None:
    """The translator for a locale (``de``, ``de_DE.UTF-8``); None without a catalogue for it."""
    if not (names := _names(locale)):
        return None
    found = gettext.translation(DOMAIN, str(FOLDER), names, fallback=True)
    if not isinstance(found, gettext.GNUTranslations):
        return None
    return Translator(dict(_messages(found)))


def from_environment(environment: Mapping[str, str]) -> str:
    """The locale that the environment names, as gettext reads it."""
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environment.get(name):
            return value.split(":")[0]
    return ""


def translate(text: str) -> str:
    """A sentence in the language that this process's environment names."""
    found = translator(from_environment(os.environ))
    return text if found is None else found.say(text)


def translate_label(text: str) -> str:
    """A word that stands alone, like a column's name, in that language."""
    found = translator(from_environment(os.environ))
    return text if found is None else found.label(text)


def translate_lines(text: str) -> str:
    """Lists and tables in that language, each line, item and cell by itself."""
    found = translator(from_environment(os.environ))
    return text if found is None else found.translate_lines(text)


def _is_word(message: str) -> bool:
    return re.fullmatch(r"[^\W\d_][\w-]*:?", message) is not None


def _names(locale: str) -> list[str]:
    plain = re.split(r"[.@]", locale.strip())[0].replace("-", "_")
    return [plain, plain.split("_")[0]] if re.fullmatch(r"[A-Za-z_]{2,20}", plain) else []


def _messages(catalogue: gettext.GNUTranslations) -> Iterable[tuple[str, str]]:
    for message in catalogue._catalog:  # type: ignore[attr-defined]
        if isinstance(message, str) and message:
            yield message, catalogue.gettext(message)


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
