"""How a command names a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierline import protocol as p
from tierline.errors import TierlineError

if TYPE_CHECKING:
    from tierline.session.session import Session


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
