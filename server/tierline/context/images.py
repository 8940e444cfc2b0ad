"""What a picture costs, in tokens.

Anthropic ("Vision", evaluating image size): width x height / 750, after the picture has been shrunk
to at most 1568 pixels on its long edge and about 1.15 megapixels ... unless the API keeps more; we
do not shrink in the estimate, so that it errs upwards. OpenAI ("Images and vision", calculating
costs): tiles of 512 pixels after shrinking into 2048 x 2048 and to 768 on the short side, at 170
tokens a tile plus 85.
"""

from __future__ import annotations

import base64
import binascii
from typing import Literal, TypeAlias

from tierline.context.blocks import Image

ImageRule: TypeAlias = Literal["anthropic", "openai_tiles", "none"]

UNKNOWN_ANTHROPIC = 5_000
"""Upper bound for a picture of unknown size."""
UNKNOWN_OPENAI = 85 + 170 * 16


def image_tokens(image: Image, rule: ImageRule) -> int:
    """Tokens of one picture; an upper bound if its size is unknown, never 0 for a real rule."""
    size = (image.width, image.height) if image.width and image.height else None
    if size is None:
        size = image_size(image.data)
    if rule == "openai_tiles":
        return UNKNOWN_OPENAI if size is None else _tiles(*size)
    if rule == "none":
        return 0
    return UNKNOWN_ANTHROPIC if size is None else max(1, -(-size[0] * size[1] // 750))


def _tiles(width: int, height: int) -> int:
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / max(1.0, min(width, height) * scale) * scale)
    columns, rows = (-(-int(side * scale) // 512) for side in (width, height))
    return 85 + 170 * max(1, columns) * max(1, rows)


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels from the file's header (PNG, GIF, JPEG, WebP), given as base64."""
    try:
        head = base64.b64decode(data[: 4 * 65_536], validate=False)
    except (binascii.Error, ValueError):
        return None
    return size_of(head)


def size_of(head: bytes) -> tuple[int, int] | None:
    """Width and height from the first bytes of a picture file; None if they do not say."""
    if head[:8] == b"\x89PNG\r\n\x1a\n" and head[12:16] == b"IHDR" and len(head) >= 24:
        return _positive(int.from_bytes(head[16:20]), int.from_bytes(head[20:24]))
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return _positive(int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little"))
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp(head)
    if head[:2] == b"\xff\xd8":
        return _jpeg(head)
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return _positive(
            1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        )
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return _positive(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 ":
        return _positive(
            int.from_bytes(head[26:28], "little") & 0x3FFF,
            int.from_bytes(head[28:30], "little") & 0x3FFF,
        )
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(head):
        if head[place] != 0xFF:
            return None
        marker = head[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _positive(
                int.from_bytes(head[place + 7 : place + 9]),
                int.from_bytes(head[place + 5 : place + 7]),
            )
        place += 2 + int.from_bytes(head[place + 2 : place + 4])
    return None


def _positive(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if width > 0 and height > 0 else None
