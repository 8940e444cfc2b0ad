"""Commands that stand for a prompt: explain, fix, write tests, and prompt files."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tierline import protocol as p
from tierline.config import default_user_file
from tierline.errors import TierlineError
from tierline.session.turns.asks import WORDS
from tierline.workspace import promptfiles
from tierline.workspace.promptfiles import MissingInputError, PromptFile

if TYPE_CHECKING:
    from tierline.session.session import Session

_HERE = "the selected code, or the code at the cursor"


async def explain(_session: Session, rest: str) -> p.CommandResult:
    """The prompt that asks what code does."""
    return _prompt("Explain", WORDS["explain"].format(what=rest or _HERE))


async def fix(session: Session, rest: str) -> p.CommandResult:
    """The prompt that asks for a fix, with the problems that the editor reports."""
    text = WORDS["fix"].format(what=rest or f"what is wrong in {_HERE}")
    held = await session.workbench.provide(p.EditorProvideParams("problems"))
    if held is not None and held.problems and "@problems" not in rest:
        text += " The editor reports: @problems"
    return _prompt("Fix", text)


async def tests(_session: Session, rest: str) -> p.CommandResult:
    """The prompt that asks for tests of code."""
    return _prompt("Tests", WORDS["tests"].format(what=rest or _HERE))


async def document(_session: Session, rest: str) -> p.CommandResult:
    """The prompt that asks for documentation comments."""
    return _prompt("Document", WORDS["document"].format(what=rest or _HERE))


async def files(session: Session) -> list[PromptFile]:
    """The current prompt files."""
    trusted = session.settings.tools.workspace_trusted
    own = default_user_file().parent
    return await asyncio.to_thread(promptfiles.find, session.loader, own, trusted=trusted)


async def run(session: Session, name: str, rest: str) -> p.CommandResult | None:
    """The prompt of a prompt file with these arguments; None if there is no such file.

    Raises:
        TierlineError: ``invalid_params``: it needs a value that was not given.
    """
    found = next((one for one in await files(session) if one.name.lower() == name.lower()), None)
    if found is None:
        return None
    try:
        return _prompt(found.name, promptfiles.expand(found, rest))
    except MissingInputError as error:
        raise TierlineError(
            "invalid_params", f"/{found.name} needs {error}.", f"Write /{found.name} {found.hint}."
        ) from error


def _prompt(title: str, text: str) -> p.CommandResult:
    return p.CommandResult(title, "", prompt=text)
