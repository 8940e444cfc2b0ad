"""A file's normalised text, with the facts needed to write it back in its own form."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import field, frozen

from tierline.context.text import normalise, sha256

LineEnd: TypeAlias = Literal["lf", "crlf", "cr", "mixed", "none"]


@frozen
class FileFacts:
    """How the text was stored: enough to write an edited version in the same form."""

    encoding: str = "utf-8"
    """Python codec name, without a byte order mark in it."""
    bom: bool = False
    """True if the file begins with a byte order mark."""
    line_end: LineEnd = "lf"
    """``none`` for a file without a line end; ``mixed`` for more than one kind."""
    final_newline: bool = True
    size: int = 0
    """Bytes on disk; for a buffer, of its text as UTF-8."""
    guessed: bool = False
    """True if the file is not UTF-8 and names no encoding, so that ``encoding`` is a fallback."""
    view: str = ""
    """Empty if the text is the file's own; otherwise how it was derived (``notebook``,
    ``redacted``): such a text must never be written back."""
    line_ends: str = ""
    """Only for ``mixed``: one letter per line, ``n`` (LF), ``w`` (CRLF) or ``r`` (CR)."""


@frozen
class FileText:
    """Normalised text (LF, no byte order mark, no lone surrogates) and its facts."""

    text: str
    facts: FileFacts = field(factory=FileFacts)
    sha256: str = ""
    """SHA-256 of ``text`` as UTF-8; equal for disk and buffer when their texts are."""


def facts_of(raw: str, encoding: str = "utf-8", bom: bool = False, size: int = -1) -> FileFacts:
    """The facts of decoded but not yet normalised text. ``size`` in bytes, computed if negative."""
    crlf = raw.count("\r\n")
    cr = raw.count("\r") - crlf
    lf = raw.count("\n") - crlf
    counts: dict[LineEnd, int] = {"lf": lf, "crlf": crlf, "cr": cr}
    kinds = [kind for kind, count in counts.items() if count]
    line_end: LineEnd = "none" if not kinds else kinds[0] if len(kinds) == 1 else "mixed"
    return FileFacts(
        encoding=encoding,
        bom=bom,
        line_end=line_end,
        final_newline=raw.endswith(("\n", "\r")),
        size=size if size >= 0 else len(raw.encode("utf-8", "replace")),
        line_ends=_letters(raw) if line_end == "mixed" else "",
    )


def file_text(raw: str, facts: FileFacts | None = None) -> FileText:
    """Normalise ``raw`` and hash it; its facts are computed unless they are given."""
    text = normalise(raw)
    if facts is None:
        facts = facts_of(raw, bom=raw.startswith("\ufeff"))
    return FileText(text, facts, sha256(text))


def _letters(raw: str) -> str:
    letters: list[str] = []
    for index, piece in enumerate(raw.split("\r")):
        newlines = piece.count("\n")
        if index and piece.startswith("\n"):
            letters.append("w")
            newlines -= 1
        elif index:
            letters.append("r")
        letters.append("n" * newlines)
    return "".join(letters)
