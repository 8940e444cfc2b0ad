"""Bytes to text and back: byte order marks, charsets, line ends."""

from __future__ import annotations

import codecs
import re
from difflib import SequenceMatcher

from attrs import evolve

from tierline.context.filetext import FileText, LineEnd, facts_of, file_text
from tierline.context.refusals import Reason
from tierline.context.text import common_ends

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its prefix
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BOM_OF = {encoding: mark for mark, encoding in _BOMS}
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 64 * 1024
_CHAR = {"lf": "\n", "crlf": "\r\n", "cr": "\r", "none": "\n"}
_LETTER = {"n": "\n", "w": "\r\n", "r": "\r"}
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_LONG_RUN = re.compile(r"[À-ÿŠšŽžŒœŸƒ¡-¿]{3,}")
_SIGN_IN_WORD = re.compile(r"(?<=[A-Za-zÀ-ÿ])[¡-¦¨©ª¬®-±-³´µ¶¸-º¼-¿×÷](?=[A-Za-zÀ-ÿ])")
FALLBACK = "cp1252"
"""For text that is neither UTF-8 nor marked: the superset of Latin-1 that editors fall back to."""
MAGIC = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"%PDF-", "a PDF"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"(\xb5/\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x00asm", "a WebAssembly module"),
    (b"OggS", "audio"),
    (b"ID3", "audio"),
    (b"fLaC", "audio"),
    (b"wOF2", "a font"),
    (b"wOFF", "a font"),
)
"""First bytes of common binary formats and what to call them."""


def binary_kind(data: bytes) -> str:
    """What kind of binary the data is, in words; empty for text.

    A NUL byte outside UTF-16/32, a known signature, or more than 2 % other control characters in
    the first or last 64 KiB make it binary (tab, line ends, form feed and escape are text).
    """
    for mark, kind in MAGIC:
        if data.startswith(mark):
            return kind
    if any(data.startswith(mark) for mark, _ in _BOMS):
        return ""
    if b"\0" in data:
        return "binary data"
    for sample in (data[:_SAMPLE], data[-_SAMPLE:] if len(data) > _SAMPLE else b""):
        if len(_CONTROLS.findall(sample)) > 0.02 * len(sample):
            return "binary data"
    return ""


def decode(data: bytes) -> FileText | Reason:
    """The text of a file's bytes, or ``binary`` or ``undecodable``.

    UTF-8, or UTF-8/16/32 by their byte order mark; otherwise ``FALLBACK``, marked as guessed, if
    the result reads like a western language. Anything else is refused rather than sent garbled: a
    detector was tried (charset-normalizer 3.5 took ``"5 €"`` for UTF-16 and KOI8-R for Shift JIS),
    and the editor, which knows the encoding, gives us the text of any file that is open in it.
    """
    if binary_kind(data):
        return Reason.BINARY
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], encoding, len(data), bom=True)
    text = _strict(data, "utf-8", len(data))
    return text if isinstance(text, FileText) else _fallback(data)


def encode_back(file: FileText, new_text: str) -> bytes:
    """The bytes of an edited version, in the file's own charset, byte order mark and line ends.

    Where kinds of line ends are mixed, lines that did not change keep theirs, and new ones take
    that of the line before. Raises UnicodeEncodeError if the file's charset lacks a character of
    the new text: the caller decides whether to convert the file to UTF-8.
    """
    facts = file.facts
    if facts.line_end == "mixed":
        raw = _mixed(file, new_text)
    else:
        raw = new_text.replace("\n", _CHAR[facts.line_end])
    mark = _BOM_OF[facts.encoding] if facts.bom else b""
    return mark + raw.encode(facts.encoding)


def _strict(data: bytes, encoding: str, size: int, bom: bool = False) -> FileText | Reason:
    try:
        raw = data.decode(encoding)
    except UnicodeDecodeError:
        return Reason.UNDECODABLE
    return Reason.BINARY if "\0" in raw else file_text(raw, facts_of(raw, encoding, bom, size))


def _fallback(data: bytes) -> FileText | Reason:
    text = _strict(data, FALLBACK, len(data))
    if isinstance(text, Reason) or not _western(text.text):
        return Reason.UNDECODABLE
    return evolve(text, facts=evolve(text.facts, guessed=True))


def _western(text: str) -> bool:
    """True if the characters beyond ASCII stand as they do in western languages.

    Other charsets read as cp1252 show long runs of accented letters (Cyrillic, CJK) or signs in the
    middle of words (central European).
    """
    beyond = len(_BEYOND_ASCII.findall(text))
    in_runs = sum(len(run) for run in _LONG_RUN.findall(text))
    return in_runs <= 0.2 * beyond and len(_SIGN_IN_WORD.findall(text)) <= 0.1 * beyond


def _mixed(file: FileText, new_text: str) -> str:
    """New text with the line ends of the lines that it shares with the old."""
    old_lines = file.text.split("\n")
    new_lines = new_text.split("\n")
    ends = file.facts.line_ends
    first, last = common_ends(old_lines, new_lines)
    letters: list[str] = [""] * len(new_lines)
    letters[:first] = list(ends[:first]) + [""] * (first - len(ends[:first]))
    middle_old = old_lines[first : len(old_lines) - last]
    middle_new = new_lines[first : len(new_lines) - last]
    matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=True)
    for a, b, length in matcher.get_matching_blocks():
        for i in range(length):
            letters[first + b + i] = ends[first + a + i : first + a + i + 1]
    for i in range(last):
        old_index = len(old_lines) - last + i
        letters[len(new_lines) - last + i] = ends[old_index : old_index + 1]
    common: LineEnd = "crlf" if ends.count("w") > len(ends) / 2 else "lf"
    previous = _CHAR[common]
    out: list[str] = []
    for line, letter in zip(new_lines[:-1], letters, strict=False):
        previous = _LETTER.get(letter, previous)
        out.append(line + previous)
    return "".join(out) + new_lines[-1]
