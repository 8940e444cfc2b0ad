"""Pictures: recognised by their first bytes, measured and checked before they are stored or sent.

A picture that a provider refuses makes every later request fail, as it stays in the history; so the
checks come first. The limits are the strictest of the supported providers (Anthropic's vision
documentation): 5 MiB of base64 and 8000 pixels a side. Too large a picture is refused with a
notice, not shrunk: that would take an image library of 7 MB (Pillow) in a language server, and the
client can draw the picture smaller with what a browser has.
"""

from __future__ import annotations

import base64
import binascii

from tierline.context.blocks import Image
from tierline.context.images import header_size
from tierline.context.refusals import Reason, Refusal, refuse

MAX_BASE64 = 5 * 1024 * 1024
"""Longest base64 text of one picture, in characters."""
MAX_BYTES = MAX_BASE64 // 4 * 3
MAX_SIDE = 8000
"""Longest side in pixels."""


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


def check_image(data: bytes, name: str = "The picture") -> Image | Refusal:
    """The picture as a block, or why it cannot be sent. Nothing is stored here."""
    kind = image_type(data)
    if not kind:
        return refuse(name, Reason.BAD_IMAGE, "not PNG, JPEG, GIF or WebP")
    size = header_size(data)
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
    return Image(kind, text, width, height)


def check(text: str, name: str = "The picture") -> Image | Refusal:
    """Like ``check_image``, for a client's base64, with or without data-URI or line breaks."""
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
