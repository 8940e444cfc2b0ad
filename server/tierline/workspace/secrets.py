"""Credentials in text: found by their published shapes, replaced by typed placeholders.

``redact`` runs before anything is persisted, logged or sent. Hashes, UUIDs and lockfile integrity
strings are not credentials and stay; placeholders match no rule, so redacting twice changes
nothing. Time is linear in the text.
"""

from __future__ import annotations

import re

from attrs import frozen

from tierline.workspace.secretrules import ASSIGNMENT, KEYWORDS, NAME, SHAPES, SecretRule

_PLACEHOLDER = re.compile(
    r"redacted|example|sample|change[-_]?me|change[-_]?it|replace|placeholder|your[-_]?|dummy|todo"
    r"|x{4,}|\*{3,}|\.{3}|\$\{|\{\w*\}|\{\{|%\(|<[^>]*>|none|null|undefined|true|false|required|optional"
    r"|string|secret[-_]?here|insert|not[-_]?set|empty|^my[-_]|^test|^foo|^bar|^abc|^123|^pass(?:word)?\d?$",
    re.I,
)
_WORDS = re.compile(
    r"^[A-Za-z]+(?:[-_./:][A-Za-z]+)*$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^[a-z]+(?:[A-Z][a-z]+)*$"
)
_EXPRESSION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)+\w+$|^[@#/~.]|^\w+://|^--|^\d+(?:\.\d+)?[a-z]{0,2}$|^[\^~<>=v]{0,2}\d+(?:\.[\dx*]+)+|^[\w.]+\\|^![A-Za-z]{2,20}$|^(?:vault|ref|op|ssm|env|file|secret):[\w./#-]+$"
)
_WORD_CHAR = re.compile(r"[A-Za-z0-9_-]")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]|[0-9]+")
_NAME = re.compile(r"^[A-Za-z_]\w*$")


@frozen
class Finding:
    """Where a credential stood in the original text. Its value is never kept."""

    kind: str
    start: int
    end: int


def placeholder(kind: str) -> str:
    """The text that replaces a credential."""
    return f"[redacted:{kind}]"


def find(text: str, *, assignments: bool = True) -> list[Finding]:
    """All credentials, in order, without overlaps.

    ``assignments``: also find values that only their names show to be secret (``password=…``).
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters, such as İ, get longer
        lowered = "".join(c.lower() if c.isascii() else c for c in text)
    found: list[Finding] = []
    for rule in SHAPES:
        if any(hint in lowered for hint in rule.hints):
            found.extend(_shapes(rule, text))
    if assignments and any(word in lowered for word in KEYWORDS):
        found.extend(_assignments(text, lowered))
    if len(found) < 2:
        return found
    found.sort(key=lambda finding: (finding.start, -finding.end))
    kept = [found[0]]
    for finding in found[1:]:
        if finding.start >= kept[-1].end:
            kept.append(finding)
        elif finding.end > kept[-1].end:
            kept[-1] = Finding(kept[-1].kind, kept[-1].start, finding.end)
    return kept


def redact(text: str, *, assignments: bool = True) -> tuple[str, list[Finding]]:
    """The text with each credential replaced by its placeholder, and what was found."""
    findings = find(text, assignments=assignments)
    if not findings:
        return text, findings
    parts: list[str] = []
    place = 0
    for finding in findings:
        parts += (text[place : finding.start], placeholder(finding.kind))
        place = finding.end
    parts.append(text[place:])
    return "".join(parts), findings


def _shapes(rule: SecretRule, text: str) -> list[Finding]:
    group = "secret" if "secret" in rule.pattern.groupindex else 0
    found = []
    for match in rule.pattern.finditer(text):
        if rule.whole and not _begins(text, match.start()):
            continue
        if rule.kind in ("url-password", "authorization", "bearer-token", "npm-token"):
            value = match[group]
            if _PLACEHOLDER.search(value) or value.lower() in ("pass", "pwd", "pw", "secret"):
                continue
        found.append(Finding(rule.kind, *match.span(group)))
    return found


def _begins(text: str, place: int) -> bool:
    """True if a word can begin here, so also after an escape in JSON (``\\n``) or a URL."""
    return (
        place == 0
        or not _WORD_CHAR.match(text, place - 1)
        or text[place - 2 : place] in ("\\n", "\\r", "\\t")
        or text[place - 3 : place].lower() in ("%3d", "%20", "%26", "%2f")
    )


def _assignments(text: str, lowered: str) -> list[Finding]:
    found: list[Finding] = []
    done = 0
    for name in NAME.finditer(lowered):
        if name.start() < done or _in_placeholder(lowered, name.start()):
            continue
        match = ASSIGNMENT.match(text, name.end())
        if match is None:
            continue
        if _literal(match["quoted"]) if match["quoted"] else _bare(match):
            start, done = match.span("quoted" if match["quoted"] else "bare")
            found.append(Finding("password", start, done))
    return found


def _in_placeholder(lowered: str, place: int) -> bool:
    opened = lowered.rfind("[redacted:", max(place - 40, 0), place)
    return opened >= 0 and "]" not in lowered[opened:place]


def _literal(value: str) -> bool:
    """True if a quoted value looks like a secret and not like a name, a path or a template."""
    return not (
        _PLACEHOLDER.search(value, 0, 64)
        or _EXPRESSION.match(value)
        or (_WORDS.match(value) and not _random(value))
        or (_NAME.match(value) and NAME.search(value.lower()))
        or not (re.search(r"[0-9]|[^\w]", value) or _random(value))
    )


def _bare(match: re.Match[str]) -> bool:
    """True if an unquoted value is a literal, as in ``.env``, YAML or prose, and not code."""
    value = match["bare"].rstrip(".:!?")
    if len(value) < 6 or not _literal(value) or match["after"] in ("(", "["):
        return False
    if not _NAME.match(value) or _random(value):
        return True
    tight = match["op"] == "=" and not match["gap"] and not match["after"]
    return tight and bool(re.search(r"[0-9]", value))


def _random(value: str) -> bool:
    """True if the value's parts are too short to be words of a name."""
    words = _CAMEL.findall(value)
    return len(value) >= 8 and len(words) > 3 and sum(map(len, words)) / len(words) <= 2.6
