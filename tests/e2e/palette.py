"""Pictures of screens as PNG with a palette: less than half the size, the same to look at."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

COLOURS = 256
ROUNDS = 6
"""How often the palette is fitted to the picture's colours."""
PIXELS = """async (url) => {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const pen = canvas.getContext('2d');
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height);
  const reader = new FileReader();
  const read = new Promise((done) => { reader.onload = () => done(reader.result); });
  reader.readAsDataURL(new Blob([data]));
  return [image.width, image.height, (await read).split(',')[1]];
}"""
"""A PNG's pixels; the browser has the decoder."""


def with_palette(page: Page, png: bytes) -> bytes:
    """``page`` is any page of the browser; another one is opened beside it for a moment."""
    browser = page.context.browser
    assert browser is not None
    helper = browser.new_page()
    try:
        url = "data:image/png;base64," + base64.b64encode(png).decode()
        width, height, data = helper.evaluate(PIXELS, url)
    finally:
        helper.close()
    pixels = np.frombuffer(base64.b64decode(data), np.uint8).reshape(-1, 4)[:, :3].astype(np.int64)
    packed = (pixels[:, 0] << 16) | (pixels[:, 1] << 8) | pixels[:, 2]
    known, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = np.stack([known >> 16, (known >> 8) & 255, known & 255], axis=1).astype(np.float64)
    palette, chosen = fitted(colours, counts.astype(np.float64))
    return encoded(palette, chosen[places].reshape(height, width))


def fitted(
    colours: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """At most 256 colours for those of a picture, and which of them stands for each.

    Large areas keep exactly their colour: what is seldom is moved to what is near.
    """
    # Square roots, so that the few pixels of a small icon count beside a large area.
    weights = np.sqrt(counts)
    palette = colours[np.argsort(-weights, kind="stable")[:COLOURS]].copy()
    fixed = min(16, len(palette))
    chosen = nearest(colours, palette)
    for _ in range(ROUNDS if len(colours) > COLOURS else 0):
        for place in range(fixed, len(palette)):
            mine = chosen == place
            if mine.any():
                palette[place] = np.average(colours[mine], axis=0, weights=weights[mine])
            else:  # of no use: to the colour that is farthest from its own
                away = ((colours - palette[chosen]) ** 2).sum(axis=1) * weights
                palette[place] = colours[int(away.argmax())]
                chosen[int(away.argmax())] = place
        chosen = nearest(colours, palette)
    return palette.round().astype(np.uint8), chosen.astype(np.uint8)


def nearest(colours: NDArray[np.float64], palette: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each colour the palette's place that is nearest."""
    found = np.empty(len(colours), np.int64)
    for start in range(0, len(colours), 4096):
        part = colours[start : start + 4096, None, :] - palette[None, :, :]
        found[start : start + 4096] = (part**2).sum(axis=2).argmin(axis=1)
    return found


def encoded(palette: NDArray[np.uint8], rows: NDArray[np.uint8]) -> bytes:
    """A PNG of colour type 3 with eight bits; rows are not filtered, which suits palettes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    height, width = rows.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
    body = packer.compress(lines.tobytes()) + packer.flush()
    parts = (
        chunk(b"IHDR", head),
        chunk(b"PLTE", palette.tobytes()),
        chunk(b"IDAT", body),
        chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
