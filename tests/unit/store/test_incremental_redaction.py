"""Redacting a reply while it grows: what is read again, and what must never be cut apart."""

from __future__ import annotations

import re

import pytest

from tierline.store.redaction import WINDOW, IncrementalRedaction

SECRET = "BEGIN\nabc\nEND"


def redact(text: str) -> str:
    return re.sub(r"BEGIN\n\w+\nEND", "[key]", text)


@pytest.mark.parametrize("line", ["word " * 9 + "\n", f"a\n{SECRET}\n", "x" * 3 * WINDOW + "\n"])
def test_a_growing_text_reads_as_one_that_is_redacted_at_once(line: str) -> None:
    text = line * (6 * WINDOW // len(line) + 2)
    running = IncrementalRedaction(redact)
    written = ""
    for end in range(0, len(text), WINDOW // 3 + 1):
        piece = running.grow(text[:end])
        assert running.whole == redact(text[:end])
        if piece is None:  # a secret that had begun is complete: all is written anew
            written = running.whole
        else:
            assert len(written) == running.written, "the place that the piece belongs to"
            written += piece
        running.keep()
        assert written == running.whole


def test_only_the_end_of_a_long_text_is_read_again() -> None:
    seen: list[int] = []

    def watched(text: str) -> str:
        seen.append(len(text))
        return redact(text)

    text = ("word " * 9 + "\n") * 3_000
    running = IncrementalRedaction(watched)
    for end in range(0, len(text), 500):
        running.grow(text[:end])
        running.keep()
    assert max(seen) < 3 * WINDOW, "else a long reply costs the square of its length"
    assert min(seen[len(seen) // 2 :]) >= WINDOW - 100, "a secret may be unfinished"
    assert len(seen) < 2 * len(text) / 500, "it is not cut, or tried to be, with every piece"


def test_a_line_that_does_not_end_is_cut_once_it_has_ended() -> None:
    seen: list[int] = []

    def watched(text: str) -> str:
        seen.append(len(text))
        return text

    running = IncrementalRedaction(watched)
    line = "x" * 5 * WINDOW
    for text in (line[: 3 * WINDOW], line, line + "\n" + line, line + "\n" + line + "."):
        running.grow(text)
        running.keep()
    assert seen[-1] == len(line) + 1, "what lies before the line is settled"
    assert running.whole == line + "\n" + line + "."


def test_nothing_is_cut_inside_a_secret() -> None:
    """The last line break before the window is one within the secret."""
    text = "BEGIN\n" + "a" * (WINDOW - 100) + "\nEND" + "b" * 3 * WINDOW
    running = IncrementalRedaction(redact)
    for end in (WINDOW - 100, WINDOW + 100, 3 * WINDOW, len(text)):
        running.grow(text[:end])
        running.keep()
    assert running.whole == "[key]" + "b" * 3 * WINDOW
