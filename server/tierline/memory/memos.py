"""Memos: knowledge that outlives sessions.

A memo is a text with tags. Up to five that fit a prompt are sent with it, as data: labelled as
notes that may be out of date, each in a fence that it cannot close, never among the instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast, get_args

from attrs import evolve, frozen

from tierline import prompts
from tierline.context.fences import fence
from tierline.context.prompt import ToolSpec
from tierline.context.text import clip, well_formed
from tierline.memory.words import Weights, terms

Scope: TypeAlias = Literal["project", "user"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

MAX_CHARACTERS = 8_000
"""Longer memos are refused: such a text belongs in a file."""
MAX_TAGS = 12
MAX_INJECTED = 5
"""Memos that go along with a prompt, at most."""
INJECTED_CHARACTERS = 1_200
"""Characters of an injected memo; ``retrieve_memos`` returns the whole."""
MIN_COVERAGE = 0.2
"""A memo is relevant if it has at least this share of the prompt's terms, by weight."""
NEAR_BEST = 0.4
"""A relevant memo must also reach this share of the best memo's score."""
_TAG = 1.5
"""A term that is a tag counts more: somebody chose it as the memo's subject."""

_SPACE = re.compile(r"[\s,;#]+")


@frozen
class Memo:
    """One memo. ``created`` and ``changed`` are ISO 8601 UTC."""

    id: str
    scope: Scope
    content: str
    tags: tuple[str, ...] = ()
    created: str = ""
    changed: str = ""
    source: str = "user"
    """Who wrote it: ``user`` or ``model``."""
    session_id: str = ""
    """The session in which it was written; the memo does not depend on it."""


@frozen
class RankedMemo:
    """A memo, its score (its weighted share of the prompt's terms), and the reason."""

    memo: Memo
    score: float
    why: str


def clean_tags(given: Iterable[str]) -> tuple[str, ...]:
    """Tags in lower case with hyphens, each once, at most twelve."""
    found = (
        "-".join(part for part in _SPACE.split(well_formed(tag).strip().lower()) if part)[:40]
        for tag in given
    )
    return tuple(dict.fromkeys(tag for tag in found if tag))[:MAX_TAGS]


def fold(records: Iterable[Mapping[str, Any]], scope: Scope) -> tuple[Memo, ...]:
    """The memos after a log of records, oldest first. Total: invalid records are skipped.

    ``save`` makes a memo, ``edit`` changes content or tags, ``delete`` takes it away.
    """
    memos: dict[str, Memo] = {}
    for record in records:
        identifier, kind = record.get("id"), record.get("kind")
        if not isinstance(identifier, str) or not identifier:
            continue
        content, tags = record.get("content"), record.get("tags")
        words = tuple(t for t in tags if isinstance(t, str)) if isinstance(tags, list) else None
        when = str(record.get("timestamp", ""))
        known = memos.get(identifier)
        if kind == "save" and known is None and isinstance(content, str):
            memos[identifier] = Memo(
                identifier,
                scope,
                content,
                words or (),
                when,
                when,
                str(record.get("source", "user")),
                str(record.get("session_id", "")),
            )
        elif kind == "edit" and known is not None:
            memos[identifier] = evolve(
                known,
                content=content if isinstance(content, str) else known.content,
                tags=known.tags if words is None else words,
                changed=when or known.changed,
            )
        elif kind == "delete":
            memos.pop(identifier, None)
    return tuple(memos.values())


def relevant(prompt: str, memos: Sequence[Memo], limit: int = MAX_INJECTED) -> list[RankedMemo]:
    """The memos that fit a prompt, the best first. A filler prompt fits none."""
    asked = terms(prompt)
    if not asked or not memos:
        return []
    bodies = [(memo, set(terms(memo.content)), _tag_terms(memo)) for memo in memos]
    weights = Weights.over([body | tags for _, body, tags in bodies])
    total = sum(weights.weight(term) for term in asked)
    found: list[RankedMemo] = []
    for memo, body, tags in bodies:
        hits = [term for term in asked if term in body or term in tags]
        score = sum(weights.weight(t) * (_TAG if t in tags else 1.0) for t in hits) / total
        if score >= MIN_COVERAGE:
            found.append(RankedMemo(memo, score, f"shares {', '.join(hits[:4])} with the prompt"))
    found.sort(key=lambda ranked: (-ranked.score, _newest(ranked.memo)))
    best = found[0].score if found else 0.0
    return [ranked for ranked in found if ranked.score >= NEAR_BEST * best][:limit]


def search(
    memos: Sequence[Memo], query: str = "", tags: Iterable[str] = (), limit: int = 50
) -> list[Memo]:
    """Memos that have all the tags and fit the query, the best first; without a query the newest.

    More lenient than injection, since the user is searching: any common word, or the query as a
    part of the text, is enough.
    """
    wanted = set(clean_tags(tags))
    pool = [memo for memo in memos if wanted <= set(memo.tags)]
    text = query.strip()
    if not text:
        return sorted(pool, key=_newest)[:limit]
    asked = set(terms(text)) or {word.lower() for word in text.split()}
    bodies = [set(terms(memo.content)) | _tag_terms(memo) for memo in pool]
    weights = Weights.over(bodies)
    scored: list[tuple[float, Memo]] = []
    for memo, body in zip(pool, bodies, strict=True):
        score = sum(weights.weight(term) for term in asked & body)
        if text.lower() in memo.content.lower() or text.lower() in memo.tags:
            score += weights.unseen
        if score:
            scored.append((score, memo))
    scored.sort(key=lambda pair: (-pair[0], _newest(pair[1])))
    return [memo for _, memo in scored[:limit]]


def render_one(memo: Memo, number: int = 1) -> str:
    """One memo as it stands in a prompt, below :data:`NOTE`."""
    tags = f", tags {json.dumps(list(memo.tags))}" if memo.tags else ""
    whole = clip(memo.content, INJECTED_CHARACTERS)
    cut = " (its beginning; retrieve_memos has all)" if len(whole) < len(memo.content) else ""
    when = memo.changed[:10]
    head = f"Note {number} ({memo.scope}{tags}{f', {when}' if when else ''}){cut}:"
    body = whole.rstrip("\n") + "\n"
    return f"{head}\n{fence(body)}"


NOTE = prompts.read("recalled")
"""The text before injected memos."""

SAVE_TOOL = ToolSpec(
    name="save_memo",
    description=(
        "Keep a piece of knowledge beyond this session: a decision and its reason, a trap that "
        "cost time, how an interface is meant. Only what the code itself does not show. Tags make "
        "it findable, for example arch-decision, gotcha, api-design."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "content": {"type": "string", "description": "The memo, in whole sentences."},
            "tags": {"type": "array", "items": {"type": "string"}},
            "scope": {
                "type": "string",
                "enum": list(SCOPES),
                "description": "project (the default) or user: for all of the user's projects.",
            },
        },
        "required": ["content"],
    },
)
RETRIEVE_TOOL = ToolSpec(
    name="retrieve_memos",
    description=(
        "Look for memos of earlier sessions by tags, words or both, before you assume how "
        "something was meant. Without arguments: the newest."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}},
            "query": {"type": "string"},
        },
    },
)


@frozen
class MemoDraft:
    """The checked arguments for a new memo."""

    content: str
    tags: tuple[str, ...]
    scope: Scope


def draft(arguments: Mapping[str, Any]) -> MemoDraft | str:
    """The arguments of ``save_memo``, or a sentence that says what is wrong with them."""
    content, tags = arguments.get("content"), arguments.get("tags", [])
    scope = arguments.get("scope") or "project"
    if not isinstance(content, str) or not content.strip():
        return "Nothing was saved: `content` is the memo's text and must not be empty."
    if isinstance(tags, str):
        tags = re.split(r"[,;]", tags)
    if not isinstance(tags, list | tuple) or not all(isinstance(t, str) for t in tags):
        return "Nothing was saved: `tags` is a list of words."
    if scope not in SCOPES:
        return "Nothing was saved: `scope` is project or user."
    text = well_formed(content).strip()
    if len(text) > MAX_CHARACTERS:
        return (
            f"Nothing was saved: a memo holds {MAX_CHARACTERS:,} characters, this one has "
            f"{len(text):,}. Put it into a file, and a memo about where it is."
        )
    return MemoDraft(text, clean_tags(tags), cast(Scope, scope))


def _tag_terms(memo: Memo) -> set[str]:
    return {term for tag in memo.tags for term in terms(tag.replace("-", " "))} | {
        term for tag in memo.tags for term in terms(tag)
    }


def _newest(memo: Memo) -> tuple[int, ...]:
    """Sort key: newest first, the same on every run."""
    return tuple(-ord(c) for c in (memo.changed or memo.created) + memo.id)
