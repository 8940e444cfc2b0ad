"""Summarising by a model: the requests' texts, in pieces that fit, and the check of the answer.

Nothing here calls a model. Every summary is checked: an empty one, a skeleton of headings, a
refusal, an unrelated text, or one that is no shorter than what it would replace is rejected, and
the history stays as it is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from tierline import prompts
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.text import clip, clip_end, well_formed
from tierline.errors import CodedError
from tierline.history.boundaries.signs import stems
from tierline.history.extract import extractive_summary
from tierline.history.messages import Message

MAX_PIECES = 8
"""Most requests for one summary; a longer history is cut down first."""
MIN_CLIP_LENGTH = 200
"""Characters of a message that are always shown to the summariser, if it has them."""

INSTRUCTIONS = prompts.read("summary")


@frozen
class TranscriptPiece:
    """One request's part of the conversation, as text."""

    text: str
    number: int
    of: int


class SummaryProblem(CodedError):  # noqa: N818 - an outcome, not a failure of the program
    """An answer that cannot stand for the conversation. ``code``: ``empty``, ``skeleton``,
    ``refused``, ``unrelated``, ``longer`` or ``malformed``. ``message`` is a sentence.
    """


def instructions(budget_tokens: int, wishes: str = "") -> str:
    """The system text of a summarising request. ``wishes``: in the user's own words."""
    text = INSTRUCTIONS.format(words=max(20, int(budget_tokens * 0.6)))
    if not wishes.strip():
        return text
    return f"{text}\n\nThe user adds, and it goes before the above: {wishes.strip()}"


def request_text(piece: TranscriptPiece, so_far: str) -> str:
    """The user text of a summarising request."""
    parts = []
    if piece.of > 1:
        parts.append(f"Part {piece.number} of {piece.of}.")
    if so_far:
        parts.append(
            "The notes on what came before; write them anew, so that they cover this part too:\n"
            f"<notes>\n{so_far}\n</notes>"
        )
    parts.append(f"<conversation>\n{piece.text}\n</conversation>")
    return "\n\n".join(parts)


def pieces(
    messages: Sequence[Message], room_tokens: int, count: Callable[[str], int]
) -> list[TranscriptPiece]:
    """The conversation in at most ``MAX_PIECES`` texts of at most ``room_tokens`` tokens.

    A conversation that is too long for that has its messages clipped, then the oldest ones replaced
    by an extract.
    """
    room = max(1, room_tokens)
    for limit in (20_000, 6_000, 2_000, 600, MIN_CLIP_LENGTH):
        texts = _pack([transcript(m, limit) for m in messages], room, count)
        if len(texts) <= MAX_PIECES:
            break
    else:
        kept = texts[-(MAX_PIECES - 1) :]
        shown = sum(text.count("\n\n") + 1 for text in kept)
        older = messages[: len(messages) - shown]
        extract = extractive_summary(older, budget_tokens=room // 2, count=count)
        texts = [extract, *kept] if extract else kept
    return [TranscriptPiece(text, number, len(texts)) for number, text in enumerate(texts, start=1)]


def transcript(message: Message, limit: int) -> str:
    """A message as the summariser sees it, at most about ``limit`` characters."""
    name = "EARLIER NOTES" if message.meta.get("summary") else message.role.upper()
    parts: list[str] = []
    for block in message.content:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, ToolUse):
            arguments = json.dumps(dict(block.input), ensure_ascii=False, default=str)
            parts.append(f"(calls {block.name} {clip(arguments, 200)})")
        elif isinstance(block, ToolResult):
            said = " ".join(b.text for b in block.content if isinstance(b, Text))
            parts.append(f"({'failed' if block.is_error else 'result'}: {clip(said, 300)})")
    text = well_formed("\n".join(part for part in parts if part.strip())).strip()
    if len(text) > limit:
        text = f"{clip(text, limit * 2 // 3)}\n[…]\n{clip_end(text, limit // 3)}"
    return f"{name}: {_BLANK_LINES.sub(chr(10), text)}"


def accept(
    answer: Any,
    source: str,
    *,
    budget_tokens: int,
    replaced_tokens: int,
    count: Callable[[str], int],
) -> str:
    """The summary in an answer, cut to the budget at the end of a line or sentence.

    ``source`` is the text that was summarised, ``replaced_tokens`` what it costs in the history.

    Raises:
        SummaryProblem: it may not stand for the conversation.
    """
    text = _plain(answer)
    if not text.strip():
        raise SummaryProblem("empty", "The summary was empty.")
    if count(text) >= replaced_tokens:
        raise SummaryProblem("longer", "The summary was no shorter than what it should replace.")
    content = "\n".join(line for line in text.splitlines() if not _hollow(line))
    if not content.strip():
        raise SummaryProblem("skeleton", "The summary held headings and nothing else.")
    said = set(stems(content))
    shared = said & set(stems(source))
    if _REFUSAL.match(content.strip()) and len(shared) < 6:
        raise SummaryProblem("refused", "The model declined to write a summary.")
    if len(shared) < min(3, max(1, len(said) // 4)) or not shared:
        raise SummaryProblem("unrelated", "The summary had nothing to do with the conversation.")
    short = _trim(text.strip(), budget_tokens, count)
    if not short:
        raise SummaryProblem("longer", "The summary could not be cut to its budget.")
    return short


_BLANK_LINES = re.compile(r"\n{2,}")
_FENCE = re.compile(r"\A\s*```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_REFUSAL = re.compile(
    r"\W*(?:i(?:'m| am) (?:sorry|unable|not able)|sorry\b|i (?:can(?:'|no)t|cannot|won't)|"
    r"as an ai\b"
    r"|unfortunately|es tut mir leid|ich kann)",
    re.IGNORECASE,
)
_HOLLOW = re.compile(
    r"^\W*(?:n/?a|none|nothing|empty|unknown|no(?:ne)? (?:prior |previous |earlier |"
    r"relevant |open )*"
    r"(?:history|conversation|messages|content|decisions|todos?|tasks|items|information|"
    r"errors|files"
    r")(?: \w+){0,3}|not (?:available|applicable|specified)|tbd|\.\.\.|…)?\W*$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\s*(?:#{1,6}\s.*|\*\*[^*]+\*\*:?|[\w /&-]{1,40}:)\s*$")


def _plain(answer: Any) -> str:
    """The text of an answer: as it is, out of a fence, or out of a JSON object that holds it."""
    if not isinstance(answer, str):
        raise SummaryProblem("empty", "The summariser gave no text.")
    text = well_formed(answer)
    if fenced := _FENCE.match(text):
        text = fenced[1]
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Notes may begin with a bracket ("[x] done"); a cut-off JSON object is rejected.
        if text.lstrip().startswith("{"):
            raise SummaryProblem("malformed", "The summary was damaged JSON.") from None
        return text
    found = value.get("summary") if isinstance(value, dict) else None
    if not isinstance(found, str):
        raise SummaryProblem("malformed", "The summary was JSON without a summary in it.")
    return found


def _hollow(line: str) -> bool:
    """True for a line that says nothing: a heading, "none", punctuation."""
    return bool(_HEADING.match(line) or _HOLLOW.match(line))


def _trim(text: str, budget: int, count: Callable[[str], int]) -> str:
    if count(text) <= budget:
        return text
    lines = text.splitlines()
    while lines and count("\n".join(lines)) > budget:
        lines.pop()
    while lines and _HEADING.match(lines[-1]):
        lines.pop()
    if lines:
        return "\n".join(lines).strip()
    lengths = range(len(text))
    fitting = bisect_right(lengths, budget, key=lambda length: count(clip(text, length)))
    short = clip(text, fitting - 1).rsplit(None, 1)
    return short[0] if short else ""


def _pack(texts: Sequence[str], room: int, count: Callable[[str], int]) -> list[str]:
    """Texts joined by blank lines into as few as fit; one that is too long alone is cut."""
    packed: list[str] = []
    current: list[str] = []
    used = 0
    for text in texts:
        fitting = _fit(text, room, count)
        tokens = count(fitting) + 2
        if current and used + tokens > room:
            packed.append("\n\n".join(current))
            current, used = [], 0
        current.append(fitting)
        used += tokens
    return [*packed, "\n\n".join(current)] if current else packed


def _fit(text: str, room: int, count: Callable[[str], int]) -> str:
    limit = len(text)
    while text and count(text) > room:
        limit = limit * 2 // 3
        text = (
            f"{clip(text, limit * 2 // 3)} […] {clip_end(text, limit // 3)}" if limit > 20 else ""
        )
    return text
