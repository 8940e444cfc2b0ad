"""The edits of one conversation: in memory, in the history's log, and read back from there."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Mapping
from typing import Any

from tierline.context.refusals import Refusal
from tierline.history import actions
from tierline.session.conversation import Conversation
from tierline.session.edits import log as editlog
from tierline.session.edits.edit import Edit
from tierline.session.edits.feedback import refused
from tierline.workspace.loader import Loader

log = logging.getLogger(__name__)

MAX_KEPT = 200
"""Edits of a conversation that can still be looked at."""


class EditBook:
    """``edits`` by id, oldest first."""

    def __init__(self, conversation: Conversation, loader: Loader) -> None:
        self._conversation = conversation
        self._loader = loader
        self.edits: dict[str, Edit] = {}
        self._seen: dict[str, Any] = {}
        """Choices about hunks that this process has read from the log, by edit."""
        self._keeping = 0
        """Number of running writes: until they are done, the log lags behind this process."""

    def present(self) -> list[Edit]:
        """The edits of visible turns: those of an undone turn return with it."""
        shown = {message.id for message in self._conversation.visible()}
        return [edit for edit in self.edits.values() if edit.info.message_id in shown]

    async def add(self, edit: Edit) -> None:
        """Add a new edit."""
        self.edits[edit.info.id] = edit
        while len(self.edits) > MAX_KEPT:
            del self.edits[next(iter(self.edits))]
        await self.keep(edit, editlog.proposed(edit))

    async def keep(self, edit: Edit, data: Mapping[str, Any]) -> None:
        """Store an edit or its new state in the log. Without a log it exists in this run only."""
        action = actions.edit(edit.info.id, data)
        self._keeping += 1
        try:
            problem = await self._conversation.act(action)
        finally:
            self._keeping -= 1
        if "choices" in data:
            self._seen[edit.info.id] = data["choices"]
        if problem:
            log.warning("Edit %s is not in the log: %s", edit.info.id, problem)

    async def load(self) -> None:
        """Load the edits of the current conversation from the log."""
        kept = self._conversation.timeline().edits
        self.edits.clear()
        for data in itertools.islice(kept.values(), max(0, len(kept) - MAX_KEPT), None):
            edit = await asyncio.to_thread(self._recalled, data)
            if edit is None:
                continue
            self.edits[edit.info.id] = edit
            self._seen[edit.info.id] = data.get("choices")
            if edit.info.state != data.get("state"):
                edit.told = False
                await self.keep(edit, editlog.outcome(edit))

    def read_changes(self) -> list[Edit]:
        """Read other windows' decisions and choices from the log. Returns the edits concerned."""
        decided: list[Edit] = []
        if self._keeping:
            return decided
        for identifier, data in self._conversation.timeline().edits.items():
            edit = self.edits.get(identifier)
            if edit is None or not edit.undecided():
                continue
            if data.get("state") == "open":
                # Only new choices: those of this process were dropped when the file changed.
                new, seen = data.get("choices"), self._seen.get(identifier)
                self._seen[identifier] = new
                if new != seen and editlog.choose(edit, data):
                    decided.append(edit)
                continue
            decision = editlog.recalled(data, edit.place, edit.info.uri)
            if decision is not None:
                edit.take_decision(decision)
                decided.append(edit)
        return decided

    def _recalled(self, data: Mapping[str, Any]) -> Edit | None:
        """An edit from the log; the file shows whether one that was being applied was completed.
        Blocking.
        """
        loader = self._loader
        place = loader.roots.resolve(str(data.get("path", "")))
        if isinstance(place, Refusal) or refused(place.key):
            return None
        edit = editlog.recalled(data, place, loader.uri(place.key))
        begun = editlog.unfinished(data)
        if edit is None or not edit.undecided() or begun is None:
            return edit
        current = loader.current(place)
        now = "" if isinstance(current, Refusal) else current[0].sha256
        if now == edit.after:
            edit.found_applied(begun)
        elif now != edit.before and not (edit.info.create and not now):
            edit.torn()
        return edit
