"""The lines of a text that are most like another text."""

from __future__ import annotations

import difflib


def closest(text: str, wanted: str) -> tuple[int, int]:
    """Start and end (characters) of the lines of ``text`` that ``wanted`` is most like; the end of
    the text twice if nothing in it is alike.
    """
    lines, rows = text.splitlines(keepends=True), wanted.splitlines(keepends=True)
    bare = [line.strip() for line in rows]
    matcher = difflib.SequenceMatcher(None, [line.strip() for line in lines], bare, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    blocks = [b for b in blocks if any(bare[b.b : b.b + b.size])]
    if not blocks:
        return len(text), len(text)
    longest = max(blocks, key=lambda block: block.size)
    first = max(0, longest.a - longest.b)
    last = min(len(lines), longest.a + len(rows) - longest.b)
    return len("".join(lines[:first])), len("".join(lines[:last]))
