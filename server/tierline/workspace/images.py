"""Pictures: told by their first bytes, measured, and checked before anything is stored or sent.

A picture that a provider refuses makes every later request fail, as it stays in the history; so the
checks come first (BR-186). The limits are the strictest of the supported providers (Anthropic's
vision documentation): 5 MiB of base64, 8000 pixels a side, 2000 where a request holds over 20.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Sequence

from attrs import evolve, frozen

from tierline.context.blocks import Image
from tierline.context.refusals import Reason, Refusal, refuse

MAX_BASE64 = 5 * 1024 * 1024
"""Longest base64 text of one picture, in characters."""
MAX_BYTES = MAX_BASE64 // 4 * 3
MAX_SIDE = 8000
"""Longest side in pixels."""
MANY = 20
"""More pictures than this in one request make the stricter side limit apply."""
MAX_SIDE_MANY = 2000
MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@frozen
class LoadedImage:
    """A picture that can be sent, with what was done to it."""

    key: str
    image: Image
    notices: tuple[str, ...] = ()


def image_type(data: bytes) -> str:
    """Media type by the first bytes; empty if it is not a picture that providers take."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return ""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from the header; None if it is damaged or of unknown kind."""
    kind = image_type(data)
    try:
        if kind == "image/png":
            width, height = struct.unpack(">II", data[16:24])
            return (width, height) if data[12:16] == b"IHDR" and width and height else None
        if kind == "image/gif":
            width, height = struct.unpack("<HH", data[6:10])
            return (width, height) if width and height else None
        if kind == "image/webp":
            return _webp_size(data)
        if kind == "image/jpeg":
            return _jpeg_size(data)
    except (struct.error, IndexError):
        return None
    return None


def check_image(data: bytes, name: str = "The picture", key: str = "") -> LoadedImage | Refusal:
    """The picture as a block, or why it cannot be sent. Nothing is stored here."""
    kind = image_type(data)
    if not kind:
        return refuse(name, Reason.BAD_IMAGE, "not PNG, JPEG, GIF or WebP")
    size = image_size(data)
    if size is None:
        return refuse(name, Reason.BAD_IMAGE, "its header is damaged")
    width, height = size
    if len(data) > MAX_BYTES:
        return refuse(
            name,
            Reason.BAD_IMAGE,
            f"{len(data) / 1e6:.1f} MB; providers take at most {MAX_BYTES / 1e6:.1f} MB",
        )
    if max(width, height) > MAX_SIDE:
        return refuse(
            name, Reason.BAD_IMAGE, f"{width}×{height} pixels; at most {MAX_SIDE} on a side"
        )
    text = base64.b64encode(data).decode("ascii")
    return LoadedImage(key, Image(kind, text, width, height))


def check_base64(text: str, name: str = "The picture") -> LoadedImage | Refusal:
    """The same for base64 from a client, with or without a data-URI prefix or line breaks."""
    if text[:5].lower() == "data:":
        text = text.partition(",")[2]
    if len(text) > MAX_BASE64 * 2:
        size = len(text) * 3 / 4 / 1e6
        return refuse(name, Reason.BAD_IMAGE, f"{size:.1f} MB; at most {MAX_BYTES / 1e6:.1f} MB")
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return refuse(name, Reason.BAD_IMAGE, "its base64 text is damaged")
    return check_image(data, name)


def check(data: str, media_type: str = "") -> Image | Refusal:
    """An attached picture (base64). Its own first bytes decide the type, not ``media_type``."""
    name = f"The picture ({media_type})" if media_type else "The picture"
    checked = check_base64(data, name)
    return checked.image if isinstance(checked, LoadedImage) else checked


def many_rule(images: Sequence[Image]) -> list[str]:
    """For each picture of one request: empty if it may be sent, else the placeholder for it.

    Depends on the pictures alone, so a live session and a resumed one send the same (BR-188).
    """
    if len(images) <= MANY:
        return [""] * len(images)
    return [
        f"[picture left out: {image.width}×{image.height} pixels; with more than {MANY} pictures "
        f"at most {MAX_SIDE_MANY} on a side]"
        if max(image.width or 0, image.height or 0) > MAX_SIDE_MANY
        else ""
        for image in images
    ]


def measured(image: Image) -> Image:
    """The image with its size filled in from its own header, where it is unknown."""
    if image.width and image.height:
        return image
    try:
        size = image_size(base64.b64decode(image.data[:400_000]))
    except (binascii.Error, ValueError):
        size = None
    return evolve(image, width=size[0], height=size[1]) if size else image


def _webp_size(data: bytes) -> tuple[int, int] | None:
    chunk = data[12:16]
    if chunk == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        return width, int.from_bytes(data[27:30], "little") + 1
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if chunk == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            place += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return (width, height) if width and height else None
        elif marker in (0xD9, 0xDA):
            return None
        else:
            place += 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]
    return None
