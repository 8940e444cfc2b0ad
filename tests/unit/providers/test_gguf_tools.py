"""Whether a model's chat template has a place for tools."""

from __future__ import annotations

import io
import struct

import pytest

from tierline.providers.gguf import described, find_model


def gguf(**strings: str) -> io.BytesIO:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    body = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(strings) + 1)
    body += text("a.list") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 1, 2)
    for name, value in strings.items():
        body += text(name.replace("__", ".")) + struct.pack("<I", 8) + text(value)
    return io.BytesIO(body)


@pytest.mark.parametrize(
    ("file", "known"),
    [
        (gguf(general__name="x", tokenizer__chat_template="{% if tools %}…{% endif %}"), True),
        (gguf(tokenizer__chat_template="{% for message in messages %}…"), False),
        (gguf(tokenizer__chat_template="{{ my_toolset }}"), False),
        (gguf(general__name="tools"), False),
        (io.BytesIO(b"GGUF"), False),
        (io.BytesIO(b"not a model at all, but long enough"), False),
    ],
)
def test_the_template_decides(file: io.BytesIO, known: bool) -> None:
    assert described(file)[1] is known


def test_the_packaged_model_is_offered_none() -> None:
    assert find_model().tools is False
