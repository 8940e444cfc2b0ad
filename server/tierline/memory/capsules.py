"""Capsules: short descriptions of files, which may be wrong.

Each records its source, its confidence, when it was made and the hash of the text it was made from.
Once the file's hash differs, the capsule is stale: it is shown as such and never sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from tierline import prompts
from tierline.context.fences import fence, render_path
from tierline.context.text import clip
from tierline.history.names import identifiers
from tierline.memory.words import Weights, terms

MAX_CHARACTERS = 1_200
"""Characters of a capsule's text."""
MAX_ANCHORS = 8
ANCHOR_CHARACTERS = 200
ANCHOR_CONFIDENCE = 0.5
"""Least confidence of a capsule that is used as an anchor."""
MAX_SENT = 3
MIN_COVERAGE = 0.3
_SOURCE_CHARACTERS = 24_000
"""Characters of a file that are shown to the model that writes its capsule."""


@frozen
class Capsule:
    """One description of one file."""

    path: str
    """Workspace-relative POSIX path."""
    sha256: str
    """Hash of the text that it describes."""
    text: str
    source: str = "extract"
    """``extract``: taken from the file's own words; ``model``: written by a model."""
    model: str = ""
    confidence: float = 0.5
    """0 to 1. For an extract, how much there was to extract from; for a model's text, the share of
    the names in it that occur in the file.
    """
    created: str = ""


def fold(records: Iterable[Mapping[str, Any]]) -> dict[str, Capsule]:
    """The newest capsule of each file; invalid records are skipped."""
    found: dict[str, Capsule] = {}
    for record in records:
        path, text, digest = record.get("path"), record.get("text"), record.get("sha256")
        if not (isinstance(path, str) and isinstance(text, str) and isinstance(digest, str)):
            continue
        confidence = record.get("confidence", 0.5)
        found[path] = Capsule(
            path,
            digest,
            text,
            str(record.get("source", "extract")),
            str(record.get("model", "")),
            float(confidence) if isinstance(confidence, int | float) else 0.5,
            str(record.get("timestamp", "")),
        )
    return found


def extract(text: str) -> tuple[str, float]:
    """A description from the file's head comment and names, and its confidence."""
    head = _head(text)
    names = list(dict.fromkeys(m["name"] for m in _DEFINITION.finditer(text)))
    parts = [head] if head else []
    if names:
        parts.append(f"Defines {', '.join(names[:24])}{', …' if len(names) > 24 else ''}.")
    imports = list(dict.fromkeys((m["a"] or m["b"] or "").strip() for m in _IMPORT.finditer(text)))
    if imports:
        parts.append(f"Uses {', '.join(imports[:12])}{', …' if len(imports) > 12 else ''}.")
    if not parts:
        parts.append(f"{text.count(chr(10)) + 1} lines without a description or definitions.")
    confidence = 0.3 + (0.3 if head else 0.0) + (0.1 if names else 0.0)
    return clip("\n".join(parts), MAX_CHARACTERS), round(confidence, 2)


def question(path: str, text: str) -> str:
    """The request to the model that writes a capsule."""
    shown = clip(text, _SOURCE_CHARACTERS)
    cut = " (its beginning)" if len(shown) < len(text) else ""
    return f"{prompts.read('capsule')}\n\n{render_path(path)}{cut}\n{fence(shown)}"


def judge(answer: str, text: str) -> tuple[str, float]:
    """A model's answer, cut to ``MAX_CHARACTERS``, and its confidence: the share of the names in it
    that the file has (0.9 at most; 0.5 if it names nothing).
    """
    plain = clip(answer.strip(), MAX_CHARACTERS)
    quoted = re.findall(r"`([^`\s]{2,60})`", plain)
    named = {name.removesuffix("()") for name in (*identifiers(plain), *quoted)}
    if not named:
        return plain, 0.5
    known = sum(name in text for name in named)
    return plain, round(0.9 * known / len(named), 2)


def relevant(prompt: str, capsules: Sequence[Capsule], limit: int = MAX_SENT) -> list[Capsule]:
    """Capsules that fit a prompt, the best first. A path that the prompt names counts most."""
    asked = terms(prompt)
    if not asked:
        return []
    bodies = [set(terms(f"{c.path.replace('/', ' ')} {c.text}")) for c in capsules]
    weights = Weights.over(bodies)
    total = sum(weights.weight(term) for term in asked)
    scored: list[tuple[float, str, Capsule]] = []
    for capsule, body in zip(capsules, bodies, strict=True):
        score = sum(weights.weight(t) for t in asked if t in body) / total
        if capsule.path in prompt or capsule.path.rpartition("/")[2] in prompt:
            score += 1.0
        if score >= MIN_COVERAGE:
            scored.append((-score * capsule.confidence, capsule.path, capsule))
    return [capsule for *_, capsule in sorted(scored, key=lambda entry: entry[:2])[:limit]]


def anchors(capsules: Iterable[Capsule], ranks: Mapping[str, float]) -> list[Capsule]:
    """Capsules written by a model with enough confidence, those of the most central files first.
    More than are shown, since some may be stale.
    """
    sure = [c for c in capsules if c.source == "model" and c.confidence >= ANCHOR_CONFIDENCE]
    return sorted(sure, key=lambda c: (-ranks.get(c.path, 0.0), c.path))


def render_anchors(shown: Sequence[Capsule]) -> str:
    """The anchors of the orientation scaffold: a line each. Empty for none."""
    if not shown:
        return ""
    ordered = sorted(shown, key=lambda capsule: capsule.path)
    lines = [f"{render_path(c.path)}: {_sentence(c.text)}" for c in ordered]
    return (
        "Anchors: what some files are for, as a model has described them (an aid; the files "
        f"themselves count):\n{fence(chr(10).join(lines) + chr(10))}"
    )


def _sentence(text: str) -> str:
    """The first sentence, on one line."""
    plain = " ".join(text.split())
    end = re.search(r"[.!?](?= [A-Z`])", plain)
    return clip(plain[: end.end()] if end else plain, ANCHOR_CHARACTERS)


def render(capsule: Capsule) -> str:
    """A capsule as it stands in a prompt."""
    who = f"written by {capsule.model}" if capsule.source == "model" else "extracted"
    head = (
        f"Description of {render_path(capsule.path)} ({who} {capsule.created[:10]}, confidence "
        f"{capsule.confidence:.1f}; an aid, the file itself counts):"
    )
    return f"{head}\n{fence(capsule.text.rstrip() + chr(10))}"


_DEFINITION = re.compile(
    r"^[ \t]{0,4}(?:export\s+|pub(?:\([\w:]+\))?\s+|public\s+|private\s+|protected\s+|static\s+|"
    r"final\s+|abstract\s+|default\s+|async\s+|unsafe\s+|open\s+|data\s+)*"
    r"(?:def|class|func|fn|function\*?|interface|struct|enum|trait|type|module|object|record|impl)"
    r"\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_]\w*)",
    re.MULTILINE,
)
_IMPORT = re.compile(
    r"^(?:from\s+(?P<a>[\w.]+)\s+import|(?:import|use|using|require|#include)\s+"
    r"(?:[\w{},* \t]+[ \t]+from[ \t]+)?['\"<]?(?P<b>[\w./:@-]+))",
    re.MULTILINE,
)
_COMMENT = re.compile(
    r"\A(?:#![^\n]*\n)?\s*(?:"
    r"[rRuU]?(?P<quote>\"\"\"|''')(?P<doc>.*?)(?P=quote)|/\*+(?P<block>.*?)\*/|"
    r"(?P<lines>(?:[ \t]*(?://[/!]?|#|--|;+)[^\n]*\n)+)|#\s*(?P<title>[^\n]+)\n)",
    re.DOTALL,
)
_LEGAL = re.compile(r"copyright|licen[cs]e|spdx|eslint|pylint|mypy:|-\*-", re.IGNORECASE)


def _head(text: str) -> str:
    match = _COMMENT.match(text)
    if match is None:
        return ""
    raw = match["doc"] or match["block"] or match["lines"] or match["title"] or ""
    lines = (re.sub(r"^\s*(?:/+!?|#+!?|\*+|--|;+)?\s?", "", line) for line in raw.splitlines())
    kept = [line.strip() for line in lines if line.strip() and not _LEGAL.search(line)]
    return clip(" ".join(kept), 600)
