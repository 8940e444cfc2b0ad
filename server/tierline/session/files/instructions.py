"""The service for instruction files: listing them, choosing those that are sent, and the user's
switches.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from pathlib import Path

from tierline import disk
from tierline import protocol as p
from tierline.config import default_user_file
from tierline.context.counting import TokenCounter
from tierline.context.fences import render_file
from tierline.context.items import Item, Section
from tierline.disk.folder import make
from tierline.errors import TierlineError
from tierline.session.events import EventBus
from tierline.session.files.service import FileService
from tierline.session.models import ModelService
from tierline.session.state.plan import LastPlan
from tierline.session.state.preferences import Preferences
from tierline.workspace.instructions import Instruction, find, find_own

log = logging.getLogger(__name__)

FILE = "instructions.json"
_MAX_BYTES = 100_000
_PRIORITY = 88
"""Priority: above every file that is not pinned."""
_NOTE = "instructions of the {whose} for you: follow them unless the user says otherwise"
RESTRICTED = "Files of a workspace in Restricted Mode are not followed."


class InstructionService:
    """Searches for every request; unchanged texts are not read again."""

    def __init__(
        self,
        bus: EventBus,
        preferences: Preferences,
        models: ModelService,
        files: FileService,
        last: LastPlan,
        home: Path,
    ) -> None:
        self._bus = bus
        self._preferences = preferences
        self._models = models
        self._files = files
        self._last = last
        self._place = home / FILE
        self._off: set[str] | None = None

    # --- requests --------------------------------------------------------------------------------

    async def listed(self, _params: p.NoParams) -> p.InstructionsResult:
        """All instruction files; those that are not sent with the reason."""
        return await asyncio.to_thread(self._listed)

    async def switch(self, params: p.InstructionSwitchParams) -> p.InstructionsResult:
        """Use a file, or leave it out from now on. The choice is kept with the workspace.

        Raises:
            TierlineError: ``not_found``: there is no such file; ``storage``: it could not be saved.
        """
        known = await self.listed(p.NoParams())
        if params.key not in [one.key for one in known.files]:
            raise TierlineError(
                "not_found", f"There is no {params.key}.", "List the instruction files."
            )
        off = self._switched_off() - {params.key}
        if not params.enabled:
            off = off | {params.key}
        try:
            await asyncio.to_thread(self._keep, off)
        except OSError as error:
            raise TierlineError(
                "storage", f"The choice was not kept: {error}.", "Look at the folder .tierline."
            ) from error
        self._off = off
        self._bus.context_changed()
        return await self.listed(p.NoParams())

    # --- for a request ---------------------------------------------------------------------------

    def items(self, active: str, counter: TokenCounter) -> tuple[Item, ...]:
        """The files that are sent, as items; blocking. ``active``: key of the file that the user
        looks at, empty if there is none.
        """
        files = [*self._files.paths(), *([active] if active else [])]
        made = []
        for one in self._found(files):
            if self._why_not(one, files):
                continue
            text = rendered(one)
            made.append(
                Item.of_text(
                    one.key,
                    Section.INSTRUCTIONS,
                    text,
                    counter.count(text),
                    priority=_PRIORITY,
                    origin=f"instruction file {one.name}",
                )
            )
        return tuple(made)

    def _listed(self) -> p.InstructionsResult:
        files = self._files.paths()
        counter = self._models.counter()
        return p.InstructionsResult(
            [
                p.of(
                    p.InstructionInfo,
                    one,
                    uri=self._files.loader.uri(one.workspace_key)
                    if one.workspace_key
                    else Path(one.path).as_uri(),
                    tokens=counter.count(rendered(one)),
                    enabled=one.key not in self._switched_off(),
                    active=not (why := self._why_not(one, files)),
                    why=why,
                    tier=self._last.tier(one.key),
                )
                for one in self._found(files)
            ]
        )

    def _found(self, files: Sequence[str]) -> list[Instruction]:
        own = find_own(default_user_file().parent)
        return [*own, *find(self._files.loader, files)]

    def _why_not(self, one: Instruction, files: Sequence[str]) -> str:
        """Why a file is not sent; empty if it is."""
        if one.key in self._switched_off():
            return "You switched it off."
        if one.workspace_key and not self._preferences.settings.tools.workspace_trusted:
            return RESTRICTED
        if one.asked_for:
            return "It says of no file that it is for it; name it with @ to use it."
        if not one.fits(files):
            what = ", ".join(one.globs) or one.folder
            return f"It is for {what}, and no such file is in the context."
        return ""

    def _switched_off(self) -> set[str]:
        if self._off is None:
            try:
                kept = json.loads(disk.read_text(self._place, _MAX_BYTES))
                self._off = {str(key) for key in kept["off"]}
            except FileNotFoundError:
                self._off = set()
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("The switches of instruction files are not read: %s", error)
                self._off = set()
        return self._off

    def _keep(self, off: set[str]) -> None:
        make(self._place.parent)
        disk.replace(self._place, json.dumps({"off": sorted(off)}).encode())


def rendered(one: Instruction) -> str:
    """A file in its form in the prompt, under its key, which later updates refer to."""
    whose = "user" if one.kind == "user" else "project"
    scope = f", for files of {one.folder}" if one.folder else ""
    scope += f", for files like {', '.join(one.globs)}" if one.globs else ""
    return render_file(one.key, f"{one.text}\n", f"{_NOTE.format(whose=whose)}{scope}")
