"""Commands about turns and earlier moments: naming a turn, going back, keeping applied edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierline import protocol as p
from tierline.errors import TierlineError

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


async def turn_named(session: Session, given: str, *, hidden: bool = False) -> str:
    """A turn by its number, as the list counts, by its id, or by a part of the id that no other
    turn's has.

    Raises:
        TierlineError: ``invalid_params`` without a name; ``not_found``.
    """
    if not given:
        raise TierlineError(
            "invalid_params", "Which turn?", "Give its number; /message list shows them."
        )
    turns = (await session.history.turns(p.GroupListParams(0, hidden=hidden))).groups
    ids = [t.group_id for t in turns]
    everything = (await session.history.turns(p.GroupListParams(0, hidden=True))).groups
    place = given.removeprefix("#")
    if place.isdecimal() and 0 < int(place) <= len(everything):
        numbered = everything[int(place) - 1].group_id
        if numbered in ids:
            return numbered
        raise TierlineError("not_found", f"Turn {place} is hidden.", "/context restore, first.")
    found = [given] if given in ids else [i for i in ids if given in i]
    if len(found) == 1:
        return found[0]
    raise TierlineError(
        "not_found",
        f"{len(found) or 'No'} turns have {given} in their id."
        if len(found) != 1 and found
        else f"There is no turn {given}.",
        "/message list shows the turns.",
    )


def incomplete(usage: str) -> TierlineError:
    """The error for a command without its arguments."""
    return TierlineError("invalid_params", "The command is not complete.", f"Write {usage}.")
