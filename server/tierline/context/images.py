"""The cost of pictures in tokens, and their sizes.

Sizes are read from the first bytes of PNG, JPEG, GIF and WebP data, without decoding the picture. A
picture of unknown size counts as the most expensive one under its model's rule.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import TypeAlias

from attrs import evolve

from tierline.context.blocks import Image, Text, pictures, with_pictures
from tierline.context.prompt import PromptMessage

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


_Size: TypeAlias = tuple[int, int] | None


def _scaled(edge: int, most: int, size: _Size) -> int:
    """Tokens by area after scaling down."""
    if size is None:
        return most
    scale = min(1.0, edge / max(size))
    return min(math.ceil(size[0] * scale * size[1] * scale / 750), most)


def _tiles(base: int, each: int, size: _Size) -> int:
    if size is None:
        return base + each * 8
    scale = min(1.0, 2048 / max(size))
    scale *= min(1.0, 768 / (min(size) * scale))
    across, down = (math.ceil(max(1, round(side * scale)) / 512) for side in size)
    return base + each * across * down


def _patches(each: float, most: int, size: _Size) -> int:
    count = most if size is None else math.ceil(size[0] / 32) * math.ceil(size[1] / 32)
    return math.ceil(min(count, most) * each)


_MAX_PATCHES = (8000 // 32) ** 2
"""Patches of a square of 8,000 pixels, larger than any service accepts."""

_RULES: dict[ImageRule, Callable[[_Size], int]] = {
    ImageRule.ANTHROPIC: partial(_scaled, 2576, 4784),
    ImageRule.ANTHROPIC_STANDARD: partial(_scaled, 1568, 1600),
    ImageRule.OPENAI_TILES: partial(_tiles, 85, 170),
    ImageRule.OPENAI_TILES_GPT5: partial(_tiles, 70, 140),
    ImageRule.OPENAI_TILES_O: partial(_tiles, 75, 150),
    ImageRule.OPENAI_TILES_MINI: partial(_tiles, 2833, 5667),
    ImageRule.OPENAI_PATCHES: partial(_patches, 1.2, 10_000),
    ImageRule.OPENAI_PATCHES_ORIGINAL: partial(_patches, 1.2, _MAX_PATCHES),
    ImageRule.OPENAI_PATCHES_MINI: partial(_patches, 1.62, 1536),
    ImageRule.OPENAI_PATCHES_NANO: partial(_patches, 2.46, 1536),
    ImageRule.UNKNOWN: partial(_scaled, 2576, 4784),
}
_PLACEHOLDER_TOKENS = 20


def image_tokens(image: Image, rule: ImageRule) -> int:
    """Tokens that a picture costs. Never 0, never raises; unknown sizes cost the upper bound."""
    costs = _RULES.get(rule)
    if costs is None:
        return _PLACEHOLDER_TOKENS
    return max(1, costs(dimensions(image)))


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


MANY = 20
"""With more pictures than this in one request, Anthropic limits the side of each to ``MAX_SIDE``
pixels ("Vision": image size); one picture over it makes the whole request fail."""
MAX_SIDE = 2000
UNSEEN = "[picture left out: this model takes no pictures]"
MAX_PICTURES = 100
"""Pictures that one request may hold; the oldest beyond it are left out."""


def limit_images(
    messages: Sequence[PromptMessage], *, sees: bool = True
) -> tuple[tuple[PromptMessage, ...], list[str]]:
    """The messages with each picture that may not be sent replaced by a line that says so.

    Also returns the notices. ``sees``: the model accepts pictures. Depends only on the messages and
    the model, so that a resumed session sends the same; pictures inside tool results count as well.
    """
    found = pictures(held.block for message in messages for held in message.blocks)
    if not found or (sees and len(found) <= MANY):
        return tuple(messages), []
    oldest = len(found) - MAX_PICTURES
    verdicts = [
        _verdict(image, number < oldest) if sees else UNSEEN for number, image in enumerate(found)
    ]
    # One notice for all pictures that the model cannot see: there may be many in every request.
    notices = [text for text in verdicts if text] if sees else [UNSEEN]
    if not notices:
        return tuple(messages), []
    rest = iter(verdicts)

    def limited(image: Image) -> Text | Image:
        return Text(text) if (text := next(rest)) else image

    return tuple(
        evolve(m, blocks=tuple(evolve(b, block=with_pictures(b.block, limited)) for b in m.blocks))
        for m in messages
    ), notices


def _verdict(image: Image, beyond: bool) -> str:
    """The text that replaces a picture; empty if it may stay."""
    if beyond:
        return f"[picture left out: a request may hold at most {MAX_PICTURES}]"
    size = dimensions(image)
    if size is not None and max(size) <= MAX_SIDE:
        return ""
    shown = f"{size[0]}×{size[1]} pixels" if size else "of unknown size"
    return (
        f"[picture left out: {shown}; a request with more than {MANY} pictures takes at most "
        f"{MAX_SIDE} on a side]"
    )
