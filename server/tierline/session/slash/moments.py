"""Commands about earlier moments: going back and forward, keeping and undoing applied edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierline import protocol as p
from tierline.session.slash.turns import turn_named

if TYPE_CHECKING:
    from tierline.session.session import Session

NOW = "now"


async def back(session: Session, rest: str) -> p.CommandResult:
    """Go back to a prompt."""
    words = rest.split()
    name = " ".join(word for word in words if word.lower() != NOW)
    group = await turn_named(session, name) if name else ""
    return await _move(session, p.BackParams(group), words, f"/back {name}".rstrip())


async def forward(session: Session, rest: str) -> p.CommandResult:
    """Go forward again."""
    return await _move(session, p.BackParams(forward=True), rest.split(), "/forward")


async def keep(session: Session, rest: str) -> p.CommandResult:
    """Keep applied edits."""
    done = await session.edits.review.keep(p.EditReviewParams(path=_key(session, rest)))
    return _reviewed("Keep", "kept", done)


async def take_back(session: Session, rest: str) -> p.CommandResult:
    """Undo applied edits."""
    done = await session.edits.review.undo(p.EditReviewParams(path=_key(session, rest)))
    return _reviewed("Undo", "looked at", done)


async def _move(
    session: Session, params: p.BackParams, words: list[str], usage: str
) -> p.CommandResult:
    title = "Forward" if params.forward else "Back"
    if NOW in (word.lower() for word in words):
        return p.CommandResult(title, (await session.back.go(params)).text)
    shown = await session.back.preview(params)
    return p.CommandResult(title, f"{shown.text}\n\nNothing is changed yet: {usage} now does it.")


def _key(session: Session, rest: str) -> str:
    return (session.loader.key(rest) or rest) if rest else ""


def _reviewed(title: str, word: str, done: p.EditReviewResult) -> p.CommandResult:
    count = len(done.edits)
    said = f"{count} {'edit was' if count == 1 else 'edits were'} {word}." if count else ""
    text = " ".join([said, *done.problems]).strip() or "No edit waits to be looked at."
    return p.CommandResult(title, text)
