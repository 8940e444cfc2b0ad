"""Comments that stand for code that a model did not write out: ``# ... rest unchanged ...``.

An edit with one of them would put the comment in the place of the code. Recorded chats show it in
several tools and languages, and the loss is often seen much later.
"""

from __future__ import annotations

import re

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
