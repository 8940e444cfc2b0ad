"""How listed files are rendered: whole, or cut by tokens with a visible mark. Cached."""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from tierline.context import fences
from tierline.context.fileentry import FileEntry
from tierline.context.text import clip, sha256

_CUT_STEPS = 12
_MIN_FILL = 0.7


class Counts(Protocol):
    """A counter of the tokens of a text."""

    def count(self, text: str, /) -> int:
        """Tokens of the text."""


@frozen
class RenderedFile:
    """A file as it is sent. ``cut`` if only its beginning fits."""

    of: str
    """SHA-256 of the file's own text."""
    text: str
    sha256: str
    """SHA-256 of ``text``, wrapper included."""
    cut: bool = False


def cut_sentence(sent: int, whole: int, limit: int = 0) -> str:
    """A sentence for the user about a cut file. Sizes in tokens; ``limit``: for one file."""
    why = f"one file may take {limit:,}" if limit else "the rest is over the limit for one file"
    return f"Only the first {sent:,} of its {whole:,} tokens are sent: {why} (maxFileTokens)."


class RenderCache:
    """Rendered files by key: an unchanged file is neither rendered nor hashed again.

    A cut also stays where it was as long as it fits, even if the counter's calibration changes:
    moving it would change bytes that the provider has cached.
    """

    def __init__(self) -> None:
        self._whole: dict[str, RenderedFile] = {}
        self._cut: dict[str, RenderedFile] = {}

    def get(
        self, entry: FileEntry, counter: Counts, max_tokens: int
    ) -> tuple[RenderedFile, int, int]:
        """The entry as it is sent, its tokens (at most ``max_tokens``; 0: no limit), and those of
        the whole file.
        """
        whole = self._whole.get(entry.key)
        if whole is None or whole.of != entry.sha256:
            text = fences.render_file(entry.key, entry.text)
            whole = self._whole[entry.key] = RenderedFile(entry.sha256, text, sha256(text))
        tokens = counter.count(whole.text)
        if not 0 < max_tokens < tokens:
            self._cut.pop(entry.key, None)
            return whole, tokens, tokens
        cut = self._cut.get(entry.key)
        if cut is not None and cut.of == entry.sha256:
            used = counter.count(cut.text)
            if max_tokens * _MIN_FILL <= used <= max_tokens:
                return cut, used, tokens
        text, used = cut_file(entry, counter, max_tokens, tokens)
        cut = self._cut[entry.key] = RenderedFile(entry.sha256, text, sha256(text), cut=True)
        return cut, used, tokens

    def cut_tokens(self, entry: FileEntry, counter: Counts, max_tokens: int) -> int:
        """Tokens of a file that has to be cut: those of the last cut, or ``max_tokens`` if there
        was none. Quick, as it does not cut.
        """
        cut = self._cut.get(entry.key)
        if cut is None or cut.of != entry.sha256:
            return max_tokens
        return min(counter.count(cut.text), max_tokens)

    def keep_only(self, keys: frozenset[str]) -> None:
        """Forget the renderings of files that are no longer listed."""
        for held in (self._whole, self._cut):
            for key in held.keys() - keys:
                del held[key]


def cut_file(entry: FileEntry, counter: Counts, max_tokens: int, tokens: int) -> tuple[str, int]:
    """A file's beginning in at most ``max_tokens`` tokens, marked as cut with its full size.

    Returns the rendered text and its tokens. Cuts by tokens, not by lines, so that one endless line
    is cut as well; the cut moves to the end of a line if one is near.
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
