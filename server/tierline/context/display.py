"""Making foreign text safe to show: names from a repository, replies, outputs.

A terminal executes control sequences, and marks that reverse text or are invisible mislead a
reader. Here they become visible escapes.
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
    """Text for a terminal: lines, tabs, and characters that emoji and scripts need stay; controls
    (ESC, C1, BEL, …) and marks that reverse text are written as ``\\u{1b}``.
    """
    if text.isascii() and text.isprintable():
        return text
    return _PRINTABLE.sub(_escape, text.replace("\r\n", "\n"))


def visible_text(text: str) -> str:
    """The text with invisible characters and marks that reverse text as escapes, so that the user
    agrees to exactly what will be done. Lines and tabs stay.
    """
    return _VISIBLE.sub(_escape, text)


def shown_name(name: str) -> str:
    """A name (of a file, a branch, a tool) on one line, without invisible characters."""
    return _LINE.sub(_escape, name)


def plain_markdown(sentence: str) -> str:
    """A sentence with names, escaped for one line of Markdown: it cannot become a link
    (``command:`` among them), a picture, HTML or a heading.
    """
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", shown_name(sentence))


def unlinked(text: str) -> str:
    """A message for an editor, with ``[…](command:…)`` broken up: some editors make links of it."""
    return visible_text(text).replace("](", "] (")


def _escape(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):x}}}"
