"""Refusals about thinking, recognised by their words: services have no code for them.

Sources: Anthropic, "Fix a thinking block bound to a different conversation" and the errors of
"Thinking"; DeepSeek's and Moonshot's guides to thinking with tools; Gemini, "Thought signatures";
OpenAI, "Reasoning models".
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

ThinkingRefusal: TypeAlias = Literal["", "thinking_invalid", "thinking_missing", "thinking_unknown"]
"""invalid: thinking that was sent back is refused; missing: thinking was required and not sent;
unknown: the way of asking for thinking is not supported, or not for this model.
"""

_INVALID = re.compile(
    r"""
    bound\sto\sa\sdifferent
    | invalid\s`?signature`?\sin\s`?(?:redacted_)?thinking
    | thinking`?\sblocks?\s.{0,60}\scannot\sbe\smodified
    | encrypted\scontent\s.{0,120}(?:could\snot|cannot|can't)\sbe\s(?:verified|decrypted|parsed)
    | invalid_encrypted_content
    | thought[\s_]?signature\s(?:is\s)?(?:not\svalid|invalid)
    | (?:invalid|corrupted)\sthought[\s_]?signature
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MISSING = re.compile(
    r"""
    reasoning_content`?\s.{0,80}(?:must\sbe|is\smissing|is\srequired|passed\sback)
    | missing\s(?:a\s|an\s|the\s|`)*(?:thought_signature|reasoning_content)
    | without\sits\srequired\s'?reasoning'?\sitem
    """,
    re.IGNORECASE | re.VERBOSE,
)
_UNKNOWN = re.compile(
    r"""
    (?<![\w-])(?:thinking(?:\.\w+)*|think\svalue|output_config(?:\.\w+)*|reasoning_effort|reasoning\.effort|block_binding
        |effort\sparameter|thinking-binding-controls[\w-]*|anthropic-beta)
    \W{0,4}\s?.{0,60}
    (?:not\ssupported|unsupported|not\spermitted|unknown|unrecognized|unexpected|invalid|extra)
    | (?:not\ssupport|unsupported|unknown|unrecognized|unexpected|invalid|extra)\w*\s.{0,60}
    (?<![\w-])(?:thinking|output_config|reasoning_effort|reasoning\.effort|block_binding
        |effort\sparameter)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def about_thinking(status: int, text: str) -> ThinkingRefusal:
    """The kind of a refusal about thinking; empty if it is about something else."""
    if status not in (400, 422):
        return ""
    if _INVALID.search(text):
        return "thinking_invalid"
    if _MISSING.search(text):
        return "thinking_missing"
    return "thinking_unknown" if _UNKNOWN.search(text) else ""
