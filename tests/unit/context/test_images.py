"""What pictures cost, and their sizes out of their first bytes."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest

from tierline.context.blocks import Image
from tierline.context.images import ImageRule, dimensions, image_tokens


def encoded(data: bytes) -> Image:
    return Image("image/any", base64.b64encode(data).decode())


def png(width: int, height: int) -> bytes:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


def jpeg(width: int, height: int, *, before: bytes = b"", marker: int = 0xC0) -> bytes:
    frame = struct.pack(">BBHBHHB", 0xFF, marker, 17, 8, height, width, 3) + b"\0" * 9
    return b"\xff\xd8" + before + frame


APP1 = b"\xff\xe1" + struct.pack(">H", 40_002) + b"\xff\xc0" * 20_000
GIF = b"GIF89a" + struct.pack("<HH", 300, 200) + b"\0" * 20
VP8 = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 799 | 599 << 14) + b"\0" * 8
VP8X = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (1023).to_bytes(3, "little") + b"\xff\x02\0"


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(1920, 1080), (1920, 1080)),
        (jpeg(4032, 3024), (4032, 3024)),
        (jpeg(40, 30, marker=0xC2), (40, 30)),
        (jpeg(40, 30, before=APP1), (40, 30)),
        (jpeg(40, 30, before=b"\xff\xff\xff\xd0"), (40, 30)),
        (GIF, (300, 200)),
        (VP8, (640, 480)),
        (VP8L, (800, 600)),
        (VP8X, (1024, 768)),
    ],
)
def test_sizes_are_read_from_the_header(data: bytes, size: tuple[int, int]) -> None:
    assert dimensions(encoded(data)) == size


@pytest.mark.parametrize(
    "image",
    [
        Image("image/png", ""),
        Image("image/png", "not base64!"),
        Image("image/png", "é"),
        Image("image/png", "", 0, -5),
        encoded(b""),
        encoded(png(0, 0)),
        encoded(png(10, 10)[:20]),
        encoded(b"\xff\xd8\xff\xe0\0\x02"),
        encoded(b"\xff\xd8" + b"\0" * 40),
        encoded(b"BM" + b"\0" * 60),
        encoded(b"RIFF\0\0\0\0WEBPnope" + b"\0" * 40),
    ],
)
@pytest.mark.parametrize("rule", list(ImageRule))
def test_an_unknown_size_costs_the_upper_bound_and_never_fails(
    image: Image, rule: ImageRule
) -> None:
    assert dimensions(image) is None
    largest = max(image_tokens(Image("", "", side, side), rule) for side in (500, 2000, 7999))
    assert image_tokens(image, rule) >= largest > 0


@pytest.mark.parametrize(
    ("rule", "size", "tokens"),
    [
        (ImageRule.ANTHROPIC, (1920, 1080), 2765),
        (ImageRule.ANTHROPIC, (200, 200), 54),
        (ImageRule.ANTHROPIC, (8000, 8000), 4784),
        (ImageRule.ANTHROPIC_STANDARD, (1092, 1092), 1590),
        (ImageRule.ANTHROPIC_STANDARD, (1920, 1080), 1600),
        (ImageRule.OPENAI_TILES, (1024, 1024), 765),
        (ImageRule.OPENAI_TILES, (2048, 4096), 1105),
        (ImageRule.OPENAI_TILES, (100, 100), 255),
        (ImageRule.OPENAI_TILES_GPT5, (1024, 1024), 630),
        (ImageRule.OPENAI_TILES_MINI, (1024, 1024), 25501),
        (ImageRule.OPENAI_PATCHES, (1024, 1024), 1229),
        (ImageRule.OPENAI_PATCHES, (1920, 1080), 2448),
        (ImageRule.OPENAI_PATCHES_ORIGINAL, (4032, 3024), 14364),
        (ImageRule.OPENAI_PATCHES_MINI, (1024, 1024), 1659),
        (ImageRule.OPENAI_PATCHES_NANO, (9000, 9000), 3779),
        (ImageRule.NONE, (1024, 1024), 20),
    ],
)
def test_costs_follow_the_providers_rules(
    rule: ImageRule, size: tuple[int, int], tokens: int
) -> None:
    """Figures that the providers' pages give, or that were measured at their services."""
    assert image_tokens(Image("", "", *size), rule) == tokens


def test_given_dimensions_win_over_the_data() -> None:
    image = Image("image/png", base64.b64encode(png(10, 10)).decode(), 750, 100)
    assert image_tokens(image, ImageRule.ANTHROPIC) == 100
