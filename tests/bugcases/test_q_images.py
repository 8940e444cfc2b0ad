"""Area Q, as far as loading goes: pictures are checked before anything is stored or sent."""

from __future__ import annotations

import base64
from pathlib import Path

from bugcases.fixtures import build, case, expect
from tierline.context.blocks import Image, Text, ToolResult
from tierline.context.images import header_size, limit_images
from tierline.context.prompt import PromptBlock, PromptMessage
from tierline.context.refusals import Reason, Refusal
from tierline.workspace.images import check, check_image


def test_br_186_an_oversized_picture_is_refused_before_it_is_stored(tmp_path: Path) -> None:
    root = build("BR-186", tmp_path)
    assert expect("BR-186")["stored_image"] is False
    data = (root / "six_mb.png").read_bytes()
    for answer in (
        check_image(data, "six_mb.png"),
        check(base64.b64encode(data).decode(), "image/png"),
    ):
        assert isinstance(answer, Refusal)
        assert answer.reason is Reason.BAD_IMAGE
        assert "6.3 MB" in answer.sentence
        assert "3.9 MB" in answer.sentence


def test_br_188_over_twenty_pictures_the_wide_one_is_replaced_live_and_resumed(
    tmp_path: Path,
) -> None:
    root = build("BR-188", tmp_path)
    wanted = expect("BR-188")
    images = []
    for path in sorted(root.glob("*.png")):
        found = check_image(path.read_bytes(), path.name)
        assert isinstance(found, Image)
        images.append(found)
    assert len(images) == wanted["images"]
    live, notices = limit_images(conversation(images))
    assert len(notices) == 1
    assert "2162×322" in notices[0]
    assert [text for text in texts(live) if "left out" in text] == notices
    assert [text for text in texts(live) if "left out" not in text] == ["look"] * 21
    resumed = [Image(image.media_type, image.data) for image in images]  # sizes were not kept
    assert texts(limit_images(conversation(resumed))[0]) == texts(live)
    assert limit_images(conversation(images[1:])) == (conversation(images[1:]), [])


def conversation(images: list[Image]) -> tuple[PromptMessage, ...]:
    """Every other picture arrives inside a tool result."""
    return tuple(
        PromptMessage(
            "user",
            (
                PromptBlock(Text("look"), "history:1"),
                PromptBlock(ToolResult("t", (image,)) if n % 2 else image, "history:1"),
            ),
        )
        for n, image in enumerate(images)
    )


def texts(messages: tuple[PromptMessage, ...]) -> list[str]:
    blocks = [held.block for message in messages for held in message.blocks]
    parts = [p for b in blocks for p in (b.content if isinstance(b, ToolResult) else (b,))]
    return [part.text for part in parts if isinstance(part, Text)]


def test_br_104_and_br_007_pictures_are_told_by_their_bytes(tmp_path: Path) -> None:
    shot = (case("BR-007") / "shot_1920x1080.png").read_bytes()
    assert header_size(shot) == (1920, 1080)
    answer = check_image(b"PK\x03\x04not a picture", "a.png")
    assert isinstance(answer, Refusal)
