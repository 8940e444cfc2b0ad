"""Bytes to text and back."""

from __future__ import annotations

import pytest

from tierline.context.filetext import FileText
from tierline.context.refusals import Reason
from tierline.workspace.decoding import binary_kind, decode, encode_back


def text_of(data: bytes) -> FileText:
    found = decode(data)
    assert isinstance(found, FileText), found
    return found


@pytest.mark.parametrize(
    ("data", "encoding", "bom"),
    [
        ("é\n".encode(), "utf-8", False),
        ("é\n".encode("utf-8-sig"), "utf-8", True),
        (b"\xff\xfe" + "é\n".encode("utf-16-le"), "utf-16-le", True),
        (b"\xfe\xff" + "é\n".encode("utf-16-be"), "utf-16-be", True),
        (b"\xff\xfe\0\0" + "é\n".encode("utf-32-le"), "utf-32-le", True),
        (b"\0\0\xfe\xff" + "é\n".encode("utf-32-be"), "utf-32-be", True),
        ("é\n".encode("latin-1"), "cp1252", False),
    ],
)
def test_charsets_are_told_and_kept(data: bytes, encoding: str, bom: bool) -> None:
    found = text_of(data)
    assert found.text == "é\n"
    assert (found.facts.encoding, found.facts.bom) == (encoding, bom)
    assert found.facts.guessed == (encoding == "cp1252")
    assert found.facts.size == len(data)
    assert encode_back(found, "é\nü\n").endswith("é\nü\n".encode(encoding))


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("# café über\nname = 'René'\n", "latin-1"),
        ("// “smart” – quotes …\n", "cp1252"),
        ('x = "5 €"\n', "cp1252"),
        ("# Größe\n" + "x = 1\n" * 100, "latin-1"),
        ("© 2024 Åsa Öström, ¿qué? ¡sí! 20 °C ± 1 µm\n", "latin-1"),
    ],
)
def test_western_text_is_read_by_the_fallback(text: str, charset: str) -> None:
    assert text_of(text.encode(charset)).text == text


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("# Привет, мир: это комментарий\nx = 1\n", "cp1251"),
        ("# Привет, мир: это комментарий\nx = 1\n", "koi8-r"),
        ("# これは日本語のコメントです\nx = 1\n", "shift_jis"),
        ("# これは日本語のコメントです\nx = 1\n", "euc-jp"),
        ("# 这是一个中文注释，用来测试\nx = 1\n", "gbk"),
        ("# 이것은 한국어 주석입니다\nx = 1\n", "euc-kr"),
        ("# Zażółć gęślą jaźń\nx=1\n", "iso8859-2"),
        ("# Příliš žluťoučký kůň\nx=1\n", "cp1250"),
    ],
)
def test_other_charsets_are_refused_rather_than_garbled(text: str, charset: str) -> None:
    assert decode(text.encode(charset)) is Reason.UNDECODABLE


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"text\0text",
        b"PK\x03\x04rest is all text",
        b"%PDF-1.7\nplain",
        b"\x7fELF",
        bytes(range(256)),
        b"#!/bin/sh\n" + bytes(range(1, 256)) * 4,
        b"x" * 100_000 + b"\x01\x02\x03" * 20_000,
        b"\xff\xfe\0\0\0\0\0\0",
    ],
)
def test_binary_data_is_told(data: bytes) -> None:
    assert decode(data) is Reason.BINARY


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\x1b[31mred\x1b[0m\n", b"page\x0cbreak\n", b"\tx\r\n", b"a\x08b\n" + b"x" * 99],
)
def test_terminal_and_page_controls_are_text(data: bytes) -> None:
    assert binary_kind(data) == ""
    assert isinstance(decode(data), FileText)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\xd8", b"\xef\xbb\xbf\xff", b"\xff\xfea"])
def test_a_mark_that_the_rest_belies_is_undecodable(data: bytes) -> None:
    assert decode(data) is Reason.UNDECODABLE


def test_a_character_that_the_charset_lacks_is_an_error_for_the_caller() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode_back(text_of(b"caf\xe9\n"), "日本\n")


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        ("a\r\nb\r\n", "a\nB\nc\n", "a\r\nB\r\nc\r\n"),
        ("a\rb\r", "a\nc\n", "a\rc\r"),
        ("a\r\nb\nc\r", "a\nb\nX\nc\n", "a\r\nb\nX\nc\r"),
        ("a\r\nb\r\nc\n", "X\na\nb\nc\n", "X\r\na\r\nb\r\nc\n"),
        ("a\r\nb\nc\n", "c\n", "c\n"),
        ("a\r\nb\n", "", ""),
    ],
)
def test_edits_keep_line_ends(old: str, new: str, written: str) -> None:
    assert encode_back(text_of(old.encode()), new) == written.encode()
