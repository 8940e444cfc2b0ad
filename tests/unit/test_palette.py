"""Pictures with a palette: what is stored is what was seen."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

palette = pytest.importorskip("e2e.palette")


def decoded(png: bytes) -> np.ndarray:
    """The pixels of a PNG with a palette whose rows are not filtered."""
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(
            kind + data
        )
        chunks[kind] = data
        at += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[rows[:, 1:]]


def test_few_colours_stay_exactly_what_they_are() -> None:
    colours = np.array([[0, 0, 0], [255, 255, 255], [1, 2, 3]], float)
    found, chosen = palette.fitted(colours, np.array([5.0, 1.0, 9.0]))
    places = np.array([[0, 1, 2], [2, 2, 0]])
    pixels = decoded(palette.encoded(found, chosen[places]))
    assert (pixels == colours.astype(np.uint8)[places]).all()


def test_many_colours_are_near_and_large_areas_exact() -> None:
    numbers = np.random.default_rng(7)
    colours = np.unique(numbers.integers(0, 256, (3000, 3)), axis=0).astype(float)
    counts = np.ones(len(colours))
    counts[:4] = 100_000
    found, chosen = palette.fitted(colours, counts)
    assert len(found) == 256
    away = np.abs(found[chosen].astype(float) - colours).max(axis=1)
    assert (away[:4] == 0).all()
    assert away.max() < 64 and np.median(away) < 24
