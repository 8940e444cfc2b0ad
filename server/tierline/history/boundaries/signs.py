"""Signs of a topic in a turn: its words, its files, its kind of work, its cue phrases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum

from attrs import frozen

from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.history.groups import is_prompt
from tierline.history.messages import Message
from tierline.history.names import file_names, identifiers
from tierline.history.selection import STOP_WORDS

_PROMPT_CHARACTERS = 4000
_REPLY_CHARACTERS = 6000
_WORD = re.compile(r"[^\W\d_][^\W_]*(?:['’][^\W_]+)?", re.UNICODE)
_NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SUFFIX = re.compile(r"(?:'s|ations?|ing|edly|ies|ied|ers?|ed|es|ly|s)$")
_LONG_WORD = re.compile(r"\S{200,}")


class WorkKind(StrEnum):
    """Kinds of work."""

    DEBUG = "debugging"
    TEST = "testing"
    DOCS = "documentation"
    REFACTOR = "refactoring"
    CONFIG = "set-up"
    BUILD = "feature work"
    EXPLAIN = "explanation"


_WORKS: tuple[tuple[WorkKind, re.Pattern[str]], ...] = tuple(
    (work, re.compile(rf"\b(?:{words})", re.IGNORECASE))
    for work, words in (
        (
            WorkKind.DEBUG,
            r"error|exception|traceback|bug|crash|fail|broken|doesn't work|not work|wrong|fix|"
            r"why is"
            r"|why does|stack ?trace|debug",
        ),
        (WorkKind.TEST, r"unit ?tests?|tests? for|pytest|test case|coverage|mock"),
        (WorkKind.DOCS, r"readme|docs?\b|docstring|document|changelog|comment"),
        (
            WorkKind.REFACTOR,
            r"refactor|rename|clean ?up|simplif|extract|split|move|deduplicat|reorgani",
        ),
        (
            WorkKind.CONFIG,
            r"install|docker|deploy|ci\b|pipeline|workflow|config|environment|version|upgrade|"
            r"dependenc|release|publish",
        ),
        (
            WorkKind.EXPLAIN,
            r"explain|what (?:is|are|does)|how (?:do|does|is)|tell me|summar|describe",
        ),
        (WorkKind.BUILD, r"add|implement|create|build|write|make|new feature|support|introduce"),
    )
)

_SWITCH = re.compile(
    r"(?:^|[.!?\n]\s*|\bok(?:ay)?,?\s+|\bthanks?[,.!]?\s+)(?:now,? (?:let's|let us|i want|i'd like|"
    r"i need|for|on to|can you|we)|next,? (?:let's|up|i|we|task|topic|question|thing)|moving on|(?:"
    r"let's|let us) (?:move on|switch|turn to|work on|talk about|look at (?:something|"
    r"another)|start "
    r"(?:on|with|over)|do something)|(?:switching|changing|turning) (?:to|topics?|gears)|(?:on )?"
    r"(?:a )?(?:different|another|new|unrelated|separate|other) (?:topic|subject|question|"
    r"task|thing|"
    r"issue|note|problem|matter)|unrelated|by the way|btw|forget (?:that|it|about|all)|never ?mind|"
    r"scrap that|let's try something|something else|start(?:ing)? (?:over|fresh|afresh)|new task|"
    r"anyway|also,? (?:unrelated|separately)|separately|back to|nächstes|jetzt zu|anderes thema)\b",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    r"^\W*(?:and\b|but\b|so\b|also\b|then\b|no\b|nope|yes\b|yeah|ok(?:ay)?\b|sure|right|"
    r"it\b|it's|its\b"
    r"|that\b|that's|this\b|these|those|they|the same|same|still|hmm|why\b|wait|actually|"
    r"instead|great"
    r"|thanks|thank you|perfect|good|nice|cool|looks|try again|again|continue|go on|go ahead|do it|"
    r"please do|don't|use\b|what about|how about|what if|can you (?:also|make it|change it|"
    r"fix it|do "
    r"(?:it|that))|now it|now the|now there|better|almost|not (?:quite|yet|what)|i (?:mean|"
    r"meant|got|"
    r"get|still|see|think)|you (?:forgot|missed|should|need|can|didn't|have|removed|broke))",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:it|that|this|these|those|them|they|above|previous|earlier|again|same|former|"
    r"latter|your)\b",
    re.IGNORECASE,
)


@frozen
class TurnSigns:
    """One turn. ``place`` is the index of its prompt among the messages."""

    place: int
    prompt: Counter[str]
    """Stems of the prompt."""
    words: Counter[str]
    """Stems of the whole turn, the prompt's counted twice."""
    files: frozenset[str]
    prompt_files: frozenset[str]
    names: frozenset[str]
    prompt_names: frozenset[str]
    work: WorkKind | None
    switches: bool
    """The prompt announces a switch or reset."""
    follows: bool
    """The prompt begins as an answer or a follow-up does."""
    points_back: int
    """Pronouns and the like among the first words."""
    length: int
    """Content words of the prompt."""


def turns(messages: Sequence[Message]) -> list[TurnSigns]:
    """The turns of a conversation: each prompt with all that follows until the next one. Messages
    before the first prompt belong to the first turn; a summary is no turn.
    """
    starts = [i for i, m in enumerate(messages) if is_prompt(m) and not m.meta.get("summary")]
    ends = [*starts[1:], len(messages)] if starts else []
    return [_signs(messages, a, b) for a, b in zip(starts, ends, strict=True)]


def work_of(text: str) -> WorkKind | None:
    """The kind of work that a prompt asks for, by its first cue."""
    found = [(m.start(), rank, w) for rank, (w, p) in enumerate(_WORKS) if (m := p.search(text))]
    return min(found)[2] if found else None


def stems(text: str) -> Counter[str]:
    """Content words of a text, crudely stemmed. Scripts without spaces give character pairs."""
    found: Counter[str] = Counter()
    for word in _WORD.findall(text):
        if not word.isascii() and _NO_SPACES.search(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
            continue
        plain = word.replace("’", "'").lower()
        if len(plain) > 2 and plain not in STOP_WORDS:
            found[_SUFFIX.sub("", plain) if len(plain) > 4 else plain] += 1
    return found


def _signs(messages: Sequence[Message], start: int, end: int) -> TurnSigns:
    prompt = _short(_text([messages[start]]), _PROMPT_CHARACTERS)
    reply = _short(_text(messages[start + 1 : end]), _REPLY_CHARACTERS)
    asked = stems(prompt)
    prompt_files = frozenset(_base(f) for f in file_names(prompt))
    changed = (f for m in messages[start:end] for f in m.files_modified)
    files = prompt_files | {_base(f) for f in (*file_names(reply), *changed)}
    prompt_names = frozenset(identifiers(prompt))
    head = " ".join(prompt.split()[:12])
    return TurnSigns(
        place=start,
        prompt=asked,
        words=asked + asked + stems(reply),
        files=frozenset(files),
        prompt_files=prompt_files,
        names=prompt_names | frozenset(identifiers(reply)),
        prompt_names=prompt_names,
        work=work_of(prompt[:400]),
        switches=bool(_SWITCH.search(prompt[:400])),
        follows=bool(_FOLLOWS.match(prompt)),
        points_back=len(_POINTS_BACK.findall(head)),
        length=sum(asked.values()),
    )


def _text(messages: Iterable[Message]) -> str:
    parts: list[str] = []
    for message in messages:
        for block in message.content:
            if isinstance(block, Text):
                parts.append(block.text)
            elif isinstance(block, ToolUse):
                parts += [v for v in block.input.values() if isinstance(v, str) and len(v) < 300]
            elif isinstance(block, ToolResult):
                parts += [b.text[:300] for b in block.content if isinstance(b, Text)]
    return "\n".join(parts)


def _short(text: str, limit: int) -> str:
    if len(text) > limit:
        text = f"{text[: limit * 2 // 3]}\n{text[-limit // 3 :]}"
    return _LONG_WORD.sub(" ", text)


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]
