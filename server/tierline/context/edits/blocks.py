"""Search/replace blocks against a text: each must be found exactly once, none may overlap.

Nothing is guessed: a block that does not occur exactly, or occurs twice, is refused. The model is
told why, with the similar text, so that its next attempt can be right. Texts are in normalised form
(LF, no byte order mark); spans are offsets in code points.

Refused as well are comments that stand for code that a model did not write out: ``# ... rest
unchanged ...``. An edit with one would put the comment in the place of the code. Recorded chats
show it in several tools and languages, and the loss is often seen much later.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Sequence

from attrs import frozen

from tierline.context.edits.hunks import Hunk, hunks_of
from tierline.context.fences import fence
from tierline.context.text import clip, normalise

MAX_PLACES = 5
"""Line numbers that are named when a block occurs several times."""
_NEAR_LINES = 4_000
"""Lines of a text in which a similar place is searched for; more would take too long."""
_NEAR_SHOWN = 1_200
"""Characters of the similar place that are shown."""
_NEAR_RATIO = 0.6


@frozen
class SearchReplaceBlock:
    """One replacement: ``search`` is a part of the text, ``replace`` its new text."""

    search: str
    replace: str


@frozen
class Proposal:
    """Blocks that fit: the text before and after, and the changes as hunks in their order."""

    before: str
    after: str
    hunks: tuple[Hunk, ...]


@frozen
class EditMismatch:
    """Blocks that do not fit. ``code`` is stable: ``empty``, ``not_found``, ``ambiguous``,
    ``overlap``, ``elided``, ``unchanged``. ``reason`` is written for the model.
    """

    code: str
    reason: str


def propose(text: str, blocks: Sequence[SearchReplaceBlock]) -> Proposal | EditMismatch:
    """Apply blocks to a normalised text; all are searched for in the original text."""
    spans: list[tuple[int, int, str, int]] = []
    for number, raw in enumerate(blocks, 1):
        block = SearchReplaceBlock(normalise(raw.search), normalise(raw.replace))
        place = _place(text, block.search, number, len(blocks))
        if isinstance(place, EditMismatch):
            return place
        if line := elision(block.search, block.replace):
            lost = block.search.count("\n") - block.replace.count("\n")
            return EditMismatch(
                "elided",
                f"`{clip(line, 120)}` would stand in the place of code: at least {lost} lines get "
                "lost. Write them out, or replace only the part that changes.",
            )
        spans.append((place, place + len(block.search), block.replace, number))
    spans.sort(key=lambda span: span[:2])
    for one, other in itertools.pairwise(spans):
        if other[0] < one[1] or other[:2] == one[:2]:
            first, second = sorted((one[3], other[3]))
            return EditMismatch(
                "overlap",
                f"Edits {first} and {second} overlap at line {line_of(text, other[0])}. Join them "
                "into one edit.",
            )
    hunks = hunks_of(text, [span[:3] for span in spans])
    if not hunks:
        return EditMismatch(
            "unchanged", "The edits change nothing: search and replace are the same."
        )
    return Proposal(text, apply(text, hunks), hunks)


def create(content: str) -> Proposal | EditMismatch:
    """A new file."""
    text = normalise(content)
    if not text:
        return EditMismatch("empty", "A new file needs some content.")
    return Proposal("", text, hunks_of("", [(0, 0, text)]))


def apply(text: str, hunks: Iterable[Hunk]) -> str:
    """The text with some of a proposal's hunks, given in the order of the text."""
    parts: list[str] = []
    done = 0
    for hunk in hunks:
        parts += (text[done : hunk.start], hunk.text)
        done = hunk.end
    return "".join([*parts, text[done:]])


def line_of(text: str, offset: int) -> int:
    """The line, from 1, in which an offset lies."""
    return text.count("\n", 0, offset) + 1


def _place(text: str, search: str, number: int, total: int) -> int | EditMismatch:
    name = "The search text" if total == 1 else f"The search text of edit {number}"
    if not search:
        if not text:
            return 0
        return EditMismatch("empty", f"{name} is empty. Quote the lines that are to be replaced.")
    places = _occurrences(text, search)
    if len(places) == 1:
        return places[0]
    if places:
        lines = ", ".join(str(line_of(text, place)) for place in places[:MAX_PLACES])
        more = " and more" if len(places) > MAX_PLACES else ""
        return EditMismatch(
            "ambiguous",
            f"{name} stands in several places (lines {lines}{more}). Quote more lines around the "
            "one that you mean.",
        )
    return EditMismatch(
        "not_found", f"{name} is not in the file as it is now. {_near(text, search)}"
    )


def _occurrences(text: str, search: str) -> list[int]:
    """Offsets at which the text occurs, overlapping ones included; a few more than are named."""
    places: list[int] = []
    at = text.find(search)
    while at >= 0 and len(places) <= MAX_PLACES:
        places.append(at)
        at = text.find(search, at + 1)
    return places


def _near(text: str, search: str) -> str:
    """Advice about a text that was not found, with the similar place if there is one."""
    lines, wanted = text.split("\n"), search.strip("\n").split("\n")
    at = _same_but_blanks(lines, wanted)
    if at is not None:
        return (
            f"Lines {at + 1} to {at + len(wanted)} differ from it only in blanks or tabs. They "
            f"are, exactly:\n{_shown(lines[at : at + len(wanted)])}"
        )
    if len(lines) > _NEAR_LINES:
        return "Read the file again."
    at = _most_similar(lines, wanted)
    if at is None:
        return "Read the file again."
    last = min(at + len(wanted), len(lines))
    return f"The most similar place is lines {at + 1} to {last}:\n{_shown(lines[at:last])}"


def _same_but_blanks(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    if not any(bare := [_bare(line) for line in wanted]):
        return None
    # As one text: comparing line by line is quadratic where lines are alike.
    whole = "\n".join(["", *map(_bare, lines), ""])
    at = whole.find("\n".join(["", *bare, ""]))
    return None if at < 0 else whole.count("\n", 0, at)


def _most_similar(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The place with most of the wanted lines in about the same order; None if hardly any."""
    index: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        if bare := _bare(line):
            index.setdefault(bare, []).append(at)
    votes: dict[int, int] = {}
    known = [_bare(line) for line in wanted]
    for offset, bare in enumerate(known):
        for at in index.get(bare, ())[:20]:
            if at >= offset:
                votes[at - offset] = votes.get(at - offset, 0) + 1
    if votes:
        return max(votes, key=lambda at: (votes[at], -at))
    close = difflib.get_close_matches(next((b for b in known if b), ""), index, 1, _NEAR_RATIO)
    return index[close[0]][0] if close else None


def _bare(line: str) -> str:
    return "".join(line.split())


def _shown(lines: Sequence[str]) -> str:
    return fence(clip("\n".join(lines), _NEAR_SHOWN))


_COMMENT = re.compile(
    r"^\s*(?:\{?/\*+|<!--|#+|//+|--|;+|%+|\"{3}|'{3}|\(\*|REM\b)\s*(?P<said>.*?)\s*"
    r"(?:\*+/\}?|-->|\"{3}|'{3}|\*\))?\s*$"
)
_DOTS = re.compile(r"\.{3,}|…|\[\.\.\.\]|\(\.\.\.\)")
_LEFT_OUT = re.compile(
    r"\b(?:rest|remain\w*|remainder|existing|unchanged|omitted|previous|same|other|others|elided|"
    r"truncated|keep|unmodified|before|above|below|here)\b"
    r"|\b(?:unverändert\w*|restliche[nrs]?|bleib\w*|inchangé\w*|reste|restant\w*|resto|restante\w*|"
    r"sin cambios|igual|omitid[oa]\w*|sem alterações|inalterad[oa]\w*|invariat[oa]|остальн\w*|"
    r"без изменений)\b"
    r"|其余|其他|保持不变|不变|省略|剩余|既存|変更なし|残り|나머지|기존|생략|그대로",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(
    r"\b(?:rest|remainder|remaining|existing|other|previous)\b.{0,60}"
    r"\b(?:unchanged|unmodified|omitted|(?:remains?|stays?|is|are) (?:the same|as)|goes here|"
    r"(?:stays?|remains?) here|same as (?:before|above))\b"
    r"|^(?:\(?unchanged\)?|same as (?:before|above)|no changes?(?: here)?)\W*$"
    r"|^(?:existing|rest of(?: the)?|remaining|previous) (?:\w+ ){0,2}?"
    r"(?:code|methods?|functions?|imports?|file|class|content|implementation|logic)\W*$"
    r"|保持不变|其余.{0,8}不变|変更なし|그대로|(?:bleibt|bleiben) (?:unverändert|gleich)|"
    r"(?:sin cambios|inchangée?s?|без изменений)\W*$",
    re.IGNORECASE,
)


def elision(before: str, after: str) -> str:
    """The first comment of ``after`` that stands for lines of ``before``; empty if there is none.

    Only where lines get fewer, and only a comment that ``before`` does not have: code that
    documents such comments can be edited.
    """
    if len(after.splitlines()) >= len(before.splitlines()):
        return ""
    known = {line.strip() for line in before.splitlines()}
    return next(
        (
            line.strip()
            for line in after.splitlines()
            if line.strip() not in known and _stands_for_code(line)
        ),
        "",
    )


def _stands_for_code(line: str) -> bool:
    comment = _COMMENT.match(line)
    if comment is None:
        return False
    said = comment["said"]
    dots = _DOTS.search(said)
    if dots is None:
        return bool(_SAYS_SO.search(said))
    bare = _DOTS.sub("", said).strip(" -–—:()[]")
    at_an_end = said.startswith((dots[0], "(", "[")) or _DOTS.search(said[-5:]) is not None
    return not bare or (at_an_end and bool(_LEFT_OUT.search(bare)))
