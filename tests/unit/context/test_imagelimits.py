"""The rule for requests with many pictures, and models that take none."""

from __future__ import annotations

import base64
import struct
import zlib

from tierline.context.blocks import Block, Image, Text, ToolResult
from tierline.context.images import MANY, MAX_PICTURES, MAX_SIDE, UNSEEN, limit_images
from tierline.context.prompt import PromptBlock, PromptMessage


def png(width: int, height: int) -> Image:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head
    return Image("image/png", base64.b64encode(data + struct.pack(">I", zlib.crc32(head))).decode())


SMALL, WIDE = png(MAX_SIDE, 10), png(MAX_SIDE + 1, 10)
ODD = Image("image/png", "aGk=")


def messages(*blocks: Block) -> list[PromptMessage]:
    return [PromptMessage("user", (PromptBlock(block, "k"),)) for block in blocks]


def sent(found: tuple[PromptMessage, ...]) -> list[Block]:
    return [held.block for message in found for held in message.blocks]


def test_few_pictures_of_any_size_are_left_alone() -> None:
    given = messages(*[WIDE] * MANY)
    assert limit_images(given) == (tuple(given), [])
    assert limit_images(messages(Text("hi"))) == (tuple(messages(Text("hi"))), [])


def test_of_many_those_that_are_too_large_or_unknown_are_replaced_by_a_line() -> None:
    shot = ToolResult("c", (Text("see"), WIDE, SMALL))
    given = messages(*[SMALL] * (MANY - 2), shot, ODD, Text("end"))
    found, notices = limit_images(given)
    blocks = sent(found)
    assert blocks[: MANY - 2] == [SMALL] * (MANY - 2) and blocks[-1] == Text("end")
    result = blocks[MANY - 2]
    assert isinstance(result, ToolResult)
    assert result.content[0] == Text("see") and result.content[2] == SMALL
    assert result.content[1] == Text(notices[0]) and blocks[MANY - 1] == Text(notices[1])
    assert len(notices) == 2
    assert f"{MAX_SIDE + 1}×10 pixels" in notices[0] and "unknown size" in notices[1]


def test_beyond_the_most_the_oldest_are_left_out() -> None:
    found, notices = limit_images(messages(*[SMALL] * (MAX_PICTURES + 2)))
    blocks = sent(found)
    assert all(isinstance(block, Text) for block in blocks[:2])
    assert blocks[2:] == [SMALL] * MAX_PICTURES
    assert len(notices) == 2 and str(MAX_PICTURES) in notices[0]
    assert limit_images(messages(*[SMALL] * MAX_PICTURES))[1] == []


def test_a_model_without_eyes_gets_no_picture_and_one_notice() -> None:
    found, notices = limit_images(messages(SMALL, ToolResult("c", (WIDE,))), sees=False)
    assert sent(found) == [Text(UNSEEN), ToolResult("c", (Text(UNSEEN),))]
    assert notices == [UNSEEN]
