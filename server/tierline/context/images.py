"""The cost of pictures in tokens, and their sizes.

Sizes are read from the first bytes of PNG, JPEG, GIF and WebP data, without decoding the picture. A
picture of unknown size counts as the most expensive one under its model's rule.
"""

from __future__ import annotations

import base64
import binascii
import math
from enum import StrEnum

from attrs import frozen

from tierline.context.blocks import Image

_HEAD = 64 * 1024
"""Base64 characters that are decoded; a JPEG's size comes after its metadata."""


class ImageRule(StrEnum):
    """How a family of models charges for pictures."""

    ANTHROPIC = "anthropic"
    """Width × height / 750 after scaling to a long edge of 2,576 pixels and 4,784 tokens
    (Anthropic, "Images and vision": Claude Opus 4.7 and later)."""
    ANTHROPIC_STANDARD = "anthropic_standard"
    """The same after scaling to 1,568 pixels and 1,600 tokens (earlier Claude models)."""
    OPENAI_TILES = "openai_tiles"
    """85 tokens and 170 per tile of 512 pixels, after scaling into 2,048 × 2,048 and to a short
    side of 768 (OpenAI, "Images and vision": gpt-4o, gpt-4.1)."""
    OPENAI_TILES_GPT5 = "openai_tiles_gpt5"
    """The same tiles at 70 and 140 tokens (gpt-5 to gpt-5.3)."""
    OPENAI_TILES_O = "openai_tiles_o"
    """The same tiles at 75 and 150 tokens (o1, o3)."""
    OPENAI_TILES_MINI = "openai_tiles_mini"
    """The same tiles at 2,833 and 5,667 tokens (gpt-4o-mini)."""
    OPENAI_PATCHES = "openai_patches"
    """1.2 tokens per patch of 32 pixels, at most 10,000 patches (gpt-5.4 to gpt-5.6)."""
    OPENAI_PATCHES_ORIGINAL = "openai_patches_original"
    """1.2 tokens per patch of 32 pixels, as many as there are (gpt-6)."""
    OPENAI_PATCHES_MINI = "openai_patches_mini"
    """1.62 tokens per patch, at most 1,536 patches (gpt-4.1-mini, gpt-5-mini, o4-mini)."""
    OPENAI_PATCHES_NANO = "openai_patches_nano"
    """2.46 tokens per patch, at most 1,536 patches (gpt-4.1-nano, gpt-5-nano)."""
    UNKNOWN = "unknown"
    """A model whose rule is not known: the dearest of the common ones."""
    NONE = "none"
    """The model takes no pictures; what is sent in their place is a line of text."""


@frozen
class _Scaled:
    """Tokens by area after scaling down."""

    edge: int
    tokens: int

    def cost(self, width: int, height: int) -> int:
        scale = min(1.0, self.edge / max(width, height))
        return min(math.ceil(width * scale * height * scale / 750), self.tokens)

    @property
    def most(self) -> int:
        return self.tokens


@frozen
class _Tiles:
    base: int
    each: int

    def cost(self, width: int, height: int) -> int:
        scale = min(1.0, 2048 / max(width, height))
        scale *= min(1.0, 768 / (min(width, height) * scale))
        across = math.ceil(max(1, round(width * scale)) / 512)
        down = math.ceil(max(1, round(height * scale)) / 512)
        return self.base + self.each * across * down

    @property
    def most(self) -> int:
        return self.base + self.each * 8


@frozen
class _Patches:
    each: float
    patches: int

    def cost(self, width: int, height: int) -> int:
        count = math.ceil(width / 32) * math.ceil(height / 32)
        return math.ceil(min(count, self.patches) * self.each)

    @property
    def most(self) -> int:
        return math.ceil(self.patches * self.each)


_MAX_PATCHES = (8000 // 32) ** 2
"""Patches of a square of 8,000 pixels, larger than any service accepts."""

_RULES: dict[ImageRule, _Scaled | _Tiles | _Patches] = {
    ImageRule.ANTHROPIC: _Scaled(edge=2576, tokens=4784),
    ImageRule.ANTHROPIC_STANDARD: _Scaled(edge=1568, tokens=1600),
    ImageRule.OPENAI_TILES: _Tiles(base=85, each=170),
    ImageRule.OPENAI_TILES_GPT5: _Tiles(base=70, each=140),
    ImageRule.OPENAI_TILES_O: _Tiles(base=75, each=150),
    ImageRule.OPENAI_TILES_MINI: _Tiles(base=2833, each=5667),
    ImageRule.OPENAI_PATCHES: _Patches(each=1.2, patches=10_000),
    ImageRule.OPENAI_PATCHES_ORIGINAL: _Patches(each=1.2, patches=_MAX_PATCHES),
    ImageRule.OPENAI_PATCHES_MINI: _Patches(each=1.62, patches=1536),
    ImageRule.OPENAI_PATCHES_NANO: _Patches(each=2.46, patches=1536),
    ImageRule.UNKNOWN: _Scaled(edge=2576, tokens=4784),
}
_PLACEHOLDER_TOKENS = 20


def image_tokens(image: Image, rule: ImageRule) -> int:
    """Tokens that a picture costs. Never 0, never raises; unknown sizes cost the upper bound."""
    costs = _RULES.get(rule)
    if costs is None:
        return _PLACEHOLDER_TOKENS
    size = dimensions(image)
    return costs.most if size is None else max(1, costs.cost(*size))


def dimensions(image: Image) -> tuple[int, int] | None:
    """Width and height in pixels: as given, else read from the data; None if neither is known."""
    width, height = image.width or 0, image.height or 0
    if width > 0 and height > 0:
        return width, height
    head = image.data[:_HEAD]
    try:
        data = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    return header_size(data)


def header_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from a picture's first bytes; None if they cannot be read."""
    size = _png(data) or _gif(data) or _webp(data) or _jpeg(data)
    return size if size and size[0] > 0 and size[1] > 0 else None


def _png(data: bytes) -> tuple[int, int] | None:
    """The IHDR chunk comes first: length, name, width, height (W3C PNG, 11.2.2)."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


def _gif(data: bytes) -> tuple[int, int] | None:
    """The logical screen's size follows the signature, little-endian (GIF89a, 18)."""
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 10:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _webp(data: bytes) -> tuple[int, int] | None:
    """Three kinds of first chunk: lossy, lossless, extended (RFC 9649, 2.5 to 2.7)."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        return (
            int.from_bytes(data[24:27], "little") + 1,
            int.from_bytes(data[27:30], "little") + 1,
        )
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return (
            int.from_bytes(data[26:28], "little") & 0x3FFF,
            int.from_bytes(data[28:30], "little") & 0x3FFF,
        )
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to a start-of-frame marker (ITU-T T.81, B.2.2)."""
    if data[:2] != b"\xff\xd8":
        return None
    place = 2
    while place + 9 <= len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
            continue
        if marker in _STANDALONE:
            place += 2
            continue
        if marker in _FRAMES:
            return int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(
                data[place + 5 : place + 7]
            )
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return None


_STANDALONE = frozenset({0x01, *range(0xD0, 0xD8)})
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
