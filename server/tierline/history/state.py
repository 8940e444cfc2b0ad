"""STATE: the block in which the model keeps the state of the work.

The model ends each reply with a ``### STATE`` block. It is taken out of the shown text, stored, and
put before the conversation of every later request as the Global Anchor.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from attrs import define, frozen

from tierline import prompts

HEADING = "### STATE"
FIELDS = ("Goal", "Context", "Resolved", "Technical Anchors")

_HEADING = re.compile(r"^[ ]{0,3}#{1,6}[ \t]*STATE[ \t]*:?[ \t]*#*[ \t]*\r?$", re.MULTILINE)
_NEXT_HEADING = re.compile(r"^[ ]{0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})", re.MULTILINE)
_FIELD = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?\**(Goal|Context|Resolved|Technical Anchors)\**[ \t]*:\**[ \t]*(.*)$"
)

STATE_GUIDELINES = prompts.read("state")
"""History guidelines: the second layer of the context."""
RETRIEVAL_GUIDELINES = prompts.read("history")
"""Guidelines for a model that may call ``query_db``."""


MEMO_GUIDELINES = prompts.read("memos")
SCRATCHPAD_GUIDELINES = prompts.read("scratchpad")
_BY_TOOL = {
    "query_db": RETRIEVAL_GUIDELINES,
    "save_memo": MEMO_GUIDELINES,
    "manage_scratchpad": SCRATCHPAD_GUIDELINES,
}


def guidelines(*, state: bool, tools: Collection[str] = ()) -> str:
    """The guidelines that hold where the model may call these tools; empty if none does."""
    parts = [STATE_GUIDELINES] * state
    parts += [words for tool, words in _BY_TOOL.items() if tool in tools]
    return "\n".join(parts)


@frozen
class ExtractedState:
    """A reply without its STATE block, and the block (heading excluded); None if there is none."""

    text: str
    state: str | None


def extract(reply: str) -> ExtractedState:
    """Take the last STATE block out of a complete reply.

    The block reaches from its heading to the next heading or the end. Headings inside code fences
    do not count, unless the fence holds nothing but the block, as models like to write it.
    """
    found: tuple[int, int] | None = None
    fences = _fenced(reply)
    for match in _HEADING.finditer(reply):
        inside = next((f for f in fences if f[0] <= match.start() < f[1]), None)
        if inside is None:
            headings = (m.start() for m in _NEXT_HEADING.finditer(reply, match.end()))
            after = (h for h in headings if not any(f[0] <= h < f[1] for f in fences))
            found = (match.start(), next(after, len(reply)))
        elif not any(x.strip() for x in reply[inside[0] : match.start()].splitlines()[1:]):
            found = inside
    if found is None:
        return ExtractedState(reply, None)
    block = reply[found[0] : found[1]]
    lines = [x for x in block.splitlines() if not _FENCE.match(x) and not _HEADING.match(x)]
    before, after_text = reply[: found[0]].rstrip(), reply[found[1] :].strip()
    text = f"{before}\n\n{after_text}" if before and after_text else before or after_text
    return ExtractedState(text, "\n".join(lines).strip())


def fields(state: str) -> dict[str, str]:
    """The four fields of a block, as far as it has them; continuation lines belong to the field."""
    found: dict[str, list[str]] = {}
    current = ""
    for line in state.splitlines():
        match = _FIELD.match(line)
        if match:
            current = match[1]
            found[current] = [match[2]]
        elif current:
            found[current].append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def anchor(state: str) -> str:
    """The Global Anchor as it is injected; empty for no state."""
    return f"{HEADING}\n{state.strip()}" if state.strip() else ""


def rebuild_request(window: str) -> str:
    """The prompt by which ``rebuild`` has the model derive a new block."""
    line = "=" * 20
    return f"{prompts.read('rebuild')}\n{line}\n{window}\n{line}"


@define
class StreamFilter:
    """Hides the STATE block while a reply streams.

    Feed pieces as they come; what is returned may be shown. The beginning of a line is held back as
    long as it could become the heading or a fence; everything else passes at once. The stored text
    is that of :func:`extract`, which sees the whole reply.
    """

    _held: str = ""
    """The line that is not yet known to be text, heading or fence."""
    _fence: str = ""
    """The opening fence line, while it is not yet known whether the block follows it."""
    _midline: bool = False
    _hiding: bool = False
    _wrapped: bool = False
    """The hidden block stands in a fence of its own and ends with it."""
    _open: str = ""
    """The mark of the code fence that is open, empty outside."""

    def feed(self, piece: str) -> str:
        """The part of the reply that may be shown now."""
        shown: list[str] = []
        for line in _lines(piece):
            self._held += line
            ended = line.endswith("\n")
            if self._midline:
                shown.append(self._pass(self._held))
                self._held = ""
            elif ended or not _undecided(self._held):
                shown.append(self._decide(self._held))
                self._held = ""
            self._midline = not ended and (self._midline or not self._held)
        return "".join(shown)

    def close(self) -> str:
        """The text that was still held back when the reply ended."""
        rest, self._held = self._held, ""
        shown = self._decide(rest) if rest else ""
        fence, self._fence = self._fence, ""
        return shown + fence

    def _decide(self, line: str) -> str:
        """What to show of a line, or of a beginning that can be neither heading nor fence."""
        bare = line.rstrip("\r\n")
        fence, self._fence = self._fence, ""
        mark = _FENCE.match(bare)
        if mark and (not self._open or closes(mark[1], self._open)):
            return fence + self._at_fence(line, mark[1])
        if _HEADING.match(bare) and (fence or not self._open):
            self._hiding, self._wrapped = True, bool(fence)
            return ""
        if self._hiding and not self._open and _NEXT_HEADING.match(bare):
            self._hiding = False
        if fence and not bare.strip():
            self._fence = fence + line
            return ""
        return fence + self._pass(line)

    def _at_fence(self, line: str, mark: str) -> str:
        opens, self._open = not self._open, "" if self._open else mark
        if self._hiding:
            self._hiding = opens or not self._wrapped
            return ""
        if opens:
            self._fence = line
            return ""
        return line

    def _pass(self, text: str) -> str:
        return "" if self._hiding else text


def _lines(text: str) -> list[str]:
    return [x for x in re.split(r"(?<=\n)", text) if x]


def _undecided(start: str) -> bool:
    """True if a line that begins like this may still be the heading or a fence."""
    stripped = start.lstrip(" ")
    return not stripped or (stripped[0] in "#`~" and len(start) <= 60)


def closes(mark: str, opened: str) -> bool:
    """True if a fence of this mark ends the one that was opened: same sign, at least as long."""
    return mark[0] == opened[0] and len(mark) >= len(opened)


def _fenced(text: str) -> list[tuple[int, int]]:
    """Spans of fenced code, fences included; an open fence reaches to the end."""
    spans: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = (match.start(), match[1])
        elif closes(match[1], opened[1]):
            end = text.find("\n", match.end())
            spans.append((opened[0], len(text) if end < 0 else end))
            opened = None
    if opened is not None:
        spans.append((opened[0], len(text)))
    return spans
