"""Files that are longer than one file may be: cut by tokens, with a visible mark."""

from __future__ import annotations

from typing import Protocol

from tierline.context import fences
from tierline.context.fileentry import FileEntry
from tierline.context.text import clip

_CUT_STEPS = 12


class Counts(Protocol):
    """Whatever can count the tokens of a text."""

    def count(self, text: str) -> int:
        """Tokens of the text."""


def cut_file(entry: FileEntry, counter: Counts, max_tokens: int, tokens: int) -> tuple[str, int]:
    """A file's beginning in at most ``max_tokens`` tokens, marked as cut with its full size.

    Returns the rendered text and its tokens. Cuts by tokens, not by lines, so that one endless line
    is cut as well; ends at the end of a line where that costs little.
    """
    size = len(entry.text)

    def render(length: int) -> str:
        shown = clip(entry.text, length)
        newline = shown.rfind("\n") + 1
        if newline > len(shown) * 0.9:
            shown = shown[:newline]
        note = f"cut: the first {len(shown):,} of {size:,} characters"
        return fences.render_file(entry.key, shown, note) + (
            f"[{fences.render_path(entry.key)} goes on; the whole file has {size:,} characters,"
            f" about {tokens:,} tokens]\n"
        )

    low, high = 0, size
    text = render(0)
    best = (text, counter.count(text))
    guess = size * max_tokens // max(tokens, 1)
    for _ in range(_CUT_STEPS):
        text = render(guess)
        used = counter.count(text)
        if used <= max_tokens:
            low, best = guess, (text, used)
            guess = guess * max_tokens // max(used, 1)
        else:
            high = guess
            guess = (low + high) // 2
        if best[1] >= max_tokens * 0.98 or high - low <= 1:
            break
        guess = min(max(guess, low + 1), high - 1)
    return best
