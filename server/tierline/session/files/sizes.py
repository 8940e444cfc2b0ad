"""How many tokens a file takes in a request, and whether it is cut."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define

from tierline.context.fences import render_file
from tierline.context.fileentry import FileEntry
from tierline.context.filerender import cut_sentence
from tierline.context.files import FileContext, FileState
from tierline.session.models import ModelService
from tierline.session.state.preferences import Preferences


@define(eq=False, repr=False, slots=False)
class FileSizes:
    """Counts with the counter of the current model."""

    _context: FileContext
    _models: ModelService
    _preferences: Preferences

    @property
    def most(self) -> int:
        """Most tokens that are sent of a file; a larger one is cut."""
        return self._preferences.settings.context.max_file_tokens

    def tokens(self, entry: FileEntry) -> tuple[int, str]:
        """Tokens of a file as it would be sent (0 if it cannot be; the full size if it was shed),
        and a sentence if it is cut.
        """
        if not entry.readable:
            return 0, ""
        facts = self._models.facts()
        counter = self._models.counter()
        whole = counter.count(render_file(entry.key, entry.text))
        limit = self.most
        # If not even the cut fits, the file is left out, and the plan says so.
        if entry.state is FileState.SHED or not limit < whole or limit > facts.max_input_tokens:
            return whole, ""
        sent = self._context.cut_tokens(entry, counter, limit)
        return sent, cut_sentence(sent, whole, limit)

    def measure(self, keys: Iterable[str]) -> None:
        """Cut those of these files that are too long, so that ``tokens`` is exact before the first
        plan. Blocking; cuts are cached for the plan.
        """
        facts = self._models.facts()
        limit = self.most
        found = [entry for entry in map(self._context.get, keys) if entry is not None]
        found = [entry for entry in found if entry.state is FileState.OK]
        if not found or limit > facts.max_input_tokens:
            return  # without loading a vocabulary
        counter = self._models.counter()
        for entry in found:
            self._context.rendered(entry, counter, limit)
