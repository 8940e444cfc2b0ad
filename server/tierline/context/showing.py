"""Text of others, made fit to be shown: names from a repository, replies, outputs.

A terminal carries out control sequences, a reader is misled by marks that turn text round or that
cannot be seen. Here they become escapes that anybody can read.
"""

from __future__ import annotations

import re

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_TURNING = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb"
_HALVES = "\ud800-\udfff"
_UNSEEN = (
    "\u00ad\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
_PRINTABLE = re.compile(f"[{_CONTROL}{_TURNING}{_HALVES}]")
_VISIBLE = re.compile(f"[{_CONTROL}{_TURNING}{_HALVES}{_UNSEEN}]")
_LINE = re.compile(f"[\t\n{_CONTROL}{_TURNING}{_HALVES}{_UNSEEN}]")
_MARKDOWN = re.compile(r"[\\`*\[\]<>&|]")


def printable(text: str) -> str:
    """Text for a terminal: lines and tabs stay, and what makes up emoji and scripts; controls
    (ESC, C1, BEL, …) and marks that turn text round are written as ``\\u{1b}``.
    """
    if text.isascii() and text.isprintable():
        return text
    return _PRINTABLE.sub(_escape, text.replace("\r\n", "\n"))


def visible_text(text: str) -> str:
    """The text with everything that cannot be seen, or turns other text round, as escapes: what the
    user agrees to must be what is done. Lines and tabs stay.
    """
    return _VISIBLE.sub(_escape, text)


def shown_name(name: str) -> str:
    """A name (of a file, a branch, a tool) on one line, without anything that cannot be seen."""
    return _LINE.sub(_escape, name)


def plain_markdown(sentence: str) -> str:
    """A sentence that holds names, on one line of a Markdown text: no link (``command:`` among
    them), no picture, no HTML, no heading comes out of it.
    """
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", shown_name(sentence))


def unlinked(text: str) -> str:
    """A message for an editor: some make links of ``[…](command:…)`` in any message."""
    return visible_text(text).replace("](", "] (")


def _escape(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):x}}}"
