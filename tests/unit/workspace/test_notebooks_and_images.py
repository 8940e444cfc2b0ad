"""Notebooks as cells, pictures by their bytes."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import pytest

from tierline.context.blocks import Image, Text
from tierline.context.images import MAX_PICTURES, limit_images
from tierline.context.prompt import PromptBlock, PromptMessage
from tierline.context.refusals import Reason, Refusal
from tierline.workspace.buffers import NotebookBuffer, NotebookCell
from tierline.workspace.images import MAX_BYTES, check, check_image, image_type
from tierline.workspace.notebooks import MAX_OUTPUT_CHARS, from_buffer, from_json


def notebook(*cells: dict[str, object], **more: object) -> str:
    return json.dumps({"cells": list(cells), "nbformat": 4, **more})


def code(source: object, *outputs: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def test_cells_stand_in_order_with_type_markers() -> None:
    text = from_json(
        notebook(
            {"cell_type": "markdown", "source": "# A\n"},
            code(["x = 1\n", "y = 2"]),
            {"cell_type": "raw", "source": "r"},
        )
    )
    assert text == ("# %% [1] markdown\n# A\n\n# %% [2] code\nx = 1\ny = 2\n\n# %% [3] raw\nr\n")


def test_outputs_are_shortened_and_stripped_of_colour() -> None:
    stream = {"output_type": "stream", "text": ["\x1b[31mred\x1b[0m\n"] + ["row\n"] * 5000}
    text = from_json(notebook(code("x", stream)))
    assert text is not None
    assert "red" in text and "\x1b" not in text
    assert "characters left out]" in text
    assert len(text) < MAX_OUTPUT_CHARS + 200


def test_an_error_shows_its_end() -> None:
    error = {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "bad",
        "traceback": ["frame\n" * 1000, "ValueError: bad"],
    }
    text = from_json(notebook(code("x", error)))
    assert text is not None
    assert text.rstrip().endswith("ValueError: bad")
    bare = from_json(notebook(code("x", {"output_type": "error", "ename": "E", "evalue": "v"})))
    assert bare is not None and "E: v" in bare


def test_pictures_in_markdown_and_rich_outputs_become_placeholders() -> None:
    blob = base64.b64encode(bytes(range(256)) * 20).decode()
    text = from_json(
        notebook(
            {"cell_type": "markdown", "source": f"![x](data:image/png;base64,{blob})"},
            code(
                "p",
                {
                    "output_type": "display_data",
                    "data": {
                        "image/svg+xml": "<svg>" + "x" * 5000,
                        "application/vnd.plotly.v1+json": {"a": 1},
                        "text/html": "<b>" + "x" * 5000,
                        "text/plain": "Figure",
                    },
                },
            ),
        )
    )
    assert text is not None
    assert "[image/png, 5 kB]" in text
    assert "[image/svg+xml, " in text and "[application/vnd.plotly.v1+json, " in text
    assert "Figure" in text and "<b>" not in text
    assert len(text) < 400


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"cells": 3}', "{}", "[" * 100_000])
def test_what_is_not_a_notebook_is_said_to_be_none(text: str) -> None:
    assert from_json(text) is None


@pytest.mark.parametrize(
    "cell",
    [
        3,
        None,
        {},
        {"cell_type": None},
        code(None),
        code([1, "a", None]),
        code({"a": 1}),
        code(
            "x",
            3,
            {},
            {"data": {"text/plain": 3}},
            {"output_type": "stream"},
            {"output_type": "error"},
            {"data": 3},
            {"output_type": "error", "traceback": [1]},
        ),
    ],
)
def test_damaged_cells_do_not_hide_the_others(cell: object) -> None:
    text = from_json(json.dumps({"cells": [cell, code("print('STILL HERE')")]}))
    assert text is not None and "STILL HERE" in text


def test_notebooks_of_format_3_are_read() -> None:
    old = {
        "worksheets": [
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "input": ["x = 1\n"],
                        "outputs": [{"output_type": "pyout", "text": ["7"]}],
                    },
                ]
            }
        ],
        "nbformat": 3,
    }
    assert from_json(json.dumps(old)) == "# %% [1] code\nx = 1\n# -> output\n7\n"


def test_an_open_notebook_takes_saved_outputs_of_unchanged_cells_only() -> None:
    disk = notebook(
        code("a = 1\n", {"output_type": "stream", "text": "ONE"}),
        code("b = 2", {"output_type": "stream", "text": "TWO"}),
    )
    cells = (NotebookCell("code", "a = 1\r\n"), NotebookCell("code", "b = 3"))
    text = from_buffer(NotebookBuffer("file:///n.ipynb", cells), disk)
    assert "ONE" in text and "TWO" not in text and "b = 3" in text
    assert from_buffer(NotebookBuffer("file:///n.ipynb", cells), "damaged").count("# %%") == 2


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def test_types_are_told_by_bytes_not_by_name() -> None:
    assert image_type(png(1, 1)) == "image/png"
    assert image_type(b"\xff\xd8\xff\xe0") == "image/jpeg"
    assert image_type(b"GIF89a") == "image/gif"
    assert image_type(b"RIFF\0\0\0\0WEBPVP8 ") == "image/webp"
    assert image_type(b"BM") == image_type(b"<svg") == image_type(b"") == ""


def test_a_jpeg_with_much_metadata_is_measured() -> None:
    """The size stands behind the metadata, which may be longer than any fixed head."""
    segment = b"\xff\xe2" + struct.pack(">H", 65_000) + b"\0" * 64_998
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, 480, 640, 1) + b"\0" * 8
    answer = check_image(b"\xff\xd8" + segment * 3 + frame)
    assert isinstance(answer, Image)
    assert (answer.width, answer.height) == (640, 480)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"BM123", "not PNG"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (png(8001, 10), "8001×10"),
        (png(10, 10) + b"\0" * MAX_BYTES, "3.9 MB"),
    ],
)
def test_pictures_that_providers_refuse_are_refused_first(data: bytes, words: str) -> None:
    for answer in (check_image(data), check(base64.b64encode(data).decode(), "image/png")):
        assert isinstance(answer, Refusal)
        assert answer.reason is Reason.BAD_IMAGE
        assert words in answer.message


def test_attached_pictures_may_be_data_uris_and_lie_about_their_type() -> None:
    text = base64.encodebytes(png(3, 4)).decode()
    for given in (text, f"data:image/jpeg;base64,{text}"):
        image = check(given, "image/jpeg")
        assert isinstance(image, Image)
        assert (image.media_type, image.width, image.height) == ("image/png", 3, 4)
        assert base64.b64decode(image.data, validate=True) == png(3, 4)
    for damaged in ("%%%", "abc", ""):
        assert isinstance(check(damaged, "image/png"), Refusal)


def test_beyond_a_hundred_pictures_the_oldest_go() -> None:
    blocks = tuple(
        PromptBlock(Image("image/png", str(n), 10, 10), "history:1")
        for n in range(MAX_PICTURES + 2)
    )
    (message,), notices = limit_images([PromptMessage("user", blocks)])
    kinds = [isinstance(held.block, Text) for held in message.blocks]
    assert kinds == [True, True] + [False] * MAX_PICTURES
    assert len(notices) == 2
