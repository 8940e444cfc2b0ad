"""A BERT encoder for sentence embeddings, in numpy.

Reads a model folder as sentence-transformers lays it out (``config.json``, ``vocab.txt``,
``model.safetensors``): embeddings, layers of attention and feed-forward with post-layer
normalisation, mean pooling, unit length (Devlin et al., 2019; Reimers and Gurevych, 2019).

Its text comes as WordPiece: lower case without accents, punctuation and CJK characters alone, then
for each word the longest entries of the vocabulary from left to right; what cannot be spelled is
``[UNK]``.
"""

from __future__ import annotations

import json
import math
import struct
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

MAX_TOKENS = 128
"""Tokens of a text that are read: cost grows with length, and a turn says early what it is on."""


class Bert:
    """A model, ready to embed."""

    def __init__(self, folder: Path) -> None:
        """Load it.

        Raises:
            OSError: a file is missing.
            ValueError, KeyError: it is not a BERT that this code can run.
        """
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise ValueError("The model is not a BERT with GELU.")
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self.dimension = int(config["hidden_size"])
        self._limit = min(MAX_TOKENS, int(config["max_position_embeddings"]))
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self._tokenizer = WordPiece(vocabulary)
        self._weights = read_safetensors(folder / "model.safetensors")

    def embed(self, texts: Sequence[str]) -> Array:
        """One vector of unit length per text, shape (texts, dimension)."""
        made = np.zeros((len(texts), self.dimension), dtype=np.float32)
        ids = [self._tokenizer.encode(text, self._limit) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(ids[i]))
        for start in range(0, len(order), 8):  # texts of similar length together: little padding
            batch = order[start : start + 8]
            made[batch] = self._forward([ids[i] for i in batch])
        return made

    def _forward(self, ids: Sequence[Sequence[int]]) -> Array:
        longest = max(len(row) for row in ids)
        tokens = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros((len(ids), longest), dtype=np.float32)
        for place, row in enumerate(ids):
            tokens[place, : len(row)] = row
            mask[place, : len(row)] = 1.0
        w = self._weights
        x = (
            w["embeddings.word_embeddings.weight"][tokens]
            + w["embeddings.position_embeddings.weight"][:longest]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._normalise(x, "embeddings.LayerNorm")
        hidden = (1.0 - mask)[:, None, None, :] * np.float32(-1e9)
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"
            seen = self._attend(x, hidden, f"{name}.attention.self")
            seen = self._linear(seen, f"{name}.attention.output.dense")
            x = self._normalise(x + seen, f"{name}.attention.output.LayerNorm")
            wide = gelu(self._linear(x, f"{name}.intermediate.dense"))
            narrow = self._linear(wide, f"{name}.output.dense")
            x = self._normalise(x + narrow, f"{name}.output.LayerNorm")
        total = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        length = np.linalg.norm(total, axis=1, keepdims=True)
        return np.asarray(total / np.maximum(length, 1e-12), dtype=np.float32)

    def _attend(self, x: Array, hidden: Array, name: str) -> Array:
        rows, length, width = x.shape
        size = width // self._heads

        def heads(part: str) -> Array:
            whole = self._linear(x, f"{name}.{part}")
            return whole.reshape(rows, length, self._heads, size).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / math.sqrt(size) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Array = scores.astype(np.float32) @ heads("value")
        return mixed.transpose(0, 2, 1, 3).reshape(rows, length, width)

    def _linear(self, x: Array, name: str) -> Array:
        result: Array = x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result

    def _normalise(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self._epsilon)
        result: Array = centred / spread * self._weights[f"{name}.weight"]
        return result + self._weights[f"{name}.bias"]


def gelu(x: Array) -> Array:
    """GELU with the error function by Abramowitz and Stegun 7.1.26, off by at most 1.5e-7."""
    z = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    erf = np.sign(x) * (1 - poly * np.exp(-z * z))
    return np.asarray(0.5 * x * (1 + erf), dtype=np.float32)


def read_safetensors(path: Path) -> dict[str, Array]:
    """The 32-bit tensors of a file: an 8-byte length, a JSON header with types, shapes and offsets,
    then the bytes.

    Raises:
        ValueError: the file is not of this format.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    if not 0 < length < len(data):
        raise ValueError(f"{path.name} is not a safetensors file.")
    header: dict[str, Any] = json.loads(data[8 : 8 + length].tobytes())
    body = 8 + length
    found: dict[str, Array] = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        start, end = entry["data_offsets"]
        raw = data[body + start : body + end]
        key = name.removeprefix("bert.").removeprefix("0.auto_model.")
        found[key] = raw.view("<f4").reshape(entry["shape"]).astype(np.float32)
    return found


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
