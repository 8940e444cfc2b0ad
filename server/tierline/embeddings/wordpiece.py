"""WordPiece: how BERT models cut text into the entries of their vocabulary (Devlin et al., 2019).

Lower case without accents, punctuation and CJK characters alone, then for each word the longest
entries from left to right; what cannot be spelled is ``[UNK]``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

_MAX_WORD_LENGTH = 100
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """A tokenizer over one vocabulary (the lines of ``vocab.txt``)."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {entry: number for number, entry in enumerate(vocabulary)}
        self._unknown = self._ids["[UNK]"]
        self._start, self._end = self._ids["[CLS]"], self._ids["[SEP]"]
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, limit: int) -> list[int]:
        """Ids with start and end, at most ``limit`` of them."""
        ids = [self._start]
        for word in words(text[: limit * 12]):
            ids += self._word(word)
            if len(ids) >= limit:
                break
        return [*ids[: limit - 1], self._end]

    def _word(self, word: str) -> tuple[int, ...]:
        known = self._words.get(word)
        if known is None:
            known = self._cut(word)
            if len(self._words) < 50_000:
                self._words[word] = known
        return known

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD_LENGTH:
            return (self._unknown,)
        pieces: list[int] = []
        place = 0
        while place < len(word):
            for end in range(len(word), place, -1):
                entry = word[place:end] if place == 0 else "##" + word[place:end]
                if entry in self._ids:
                    pieces.append(self._ids[entry])
                    place = end
                    break
            else:
                return (self._unknown,)
        return tuple(pieces)


def words(text: str) -> Iterator[str]:
    """The words of a text as the vocabulary spells them."""
    plain = unicodedata.normalize("NFD", text.lower())
    word: list[str] = []
    for char in plain:
        category = unicodedata.category(char)
        if category == "Mn" or char in "\0\ufffd" or (category[0] == "C" and char not in "\t\n\r"):
            continue
        alone = _punctuation(char, category) or _is_cjk(ord(char))
        if (alone or char.isspace()) and word:
            yield "".join(word)
            word = []
        if alone:
            yield char
        elif not char.isspace():
            word.append(char)
    if word:
        yield "".join(word)


def _punctuation(char: str, category: str) -> bool:
    if char.isascii():
        return not char.isalnum() and not char.isspace() and char.isprintable()
    return category.startswith("P")


def _is_cjk(code: int) -> bool:
    return any(low <= code <= high for low, high in _CJK)
