"""A new session begins: whether the files stay is asked once, with what they cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from attrs import define, field

from tierline import protocol as p
from tierline.context.tiers.request_cost import input_cost
from tierline.session.events import EventBus
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.history.service import HistoryService
from tierline.session.models import ModelService
from tierline.session.state.preferences import Preferences
from tierline.session.workbench import QUESTIONS, Workbench

KEEP, KEEP_ALWAYS = "Keep them", "Always keep them"
DROP, DROP_ALWAYS = "Begin without them", "Always begin without"
_SETTING = "history.new_session_files"
_NAMED = 3
"""Entries that the question names; the others are counted."""


@define(eq=False, repr=False, slots=False)
class NewSessionService:
    """Answers ``tierline/history/newSession`` and ``tierline/history/newSessionFiles``."""

    _bus: EventBus
    _preferences: Preferences
    _models: ModelService
    _files: FileService
    _urls: UrlService
    _history: HistoryService
    _workbench: Workbench
    _remembered: Literal["", "keep", "drop"] = field(default="", init=False)
    """A permanent answer from a client without our settings; kept as long as the
    server runs.
    """

    async def new(self, params: p.NewSessionParams) -> p.State:
        """Begin a new session. Without ``files`` the setting decides, or the user is asked."""
        answer = params.files or await self._decided()
        return await self._history.new(p.NewSessionParams(answer))

    async def files(self, _params: p.NoParams) -> p.NewSessionFiles:
        """What a new session would keep, and what that costs with its first prompt."""
        await self._files.settled()
        entries = _entries(await self._files.shown(), self._urls.infos())
        tokens = sum(entry.tokens for entry in entries)
        ttl = self._preferences.settings.cache.ttl
        cost = round(input_cost(tokens, 0, self._models.facts(), ttl), 6)
        return p.NewSessionFiles(
            entries=entries,
            tokens=tokens,
            cost=cost,
            sentence=_sentence(entries, tokens, cost),
            ask=bool(entries) and self._setting == "ask",
        )

    @property
    def _setting(self) -> Literal["ask", "keep", "drop"]:
        return self._remembered or self._preferences.settings.history.new_session_files

    async def _decided(self) -> Literal["keep", "drop"]:
        if (setting := self._setting) != "ask":
            return setting
        offered = await self.files(p.NoParams())
        if not offered.ask or QUESTIONS not in self._workbench.features:
            return "keep"
        actions = (KEEP, DROP, KEEP_ALWAYS, DROP_ALWAYS)
        # If the question is closed, files and pages are kept.
        chosen = await self._workbench.ask(offered.sentence, actions)
        answer: Literal["keep", "drop"] = "drop" if chosen in (DROP, DROP_ALWAYS) else "keep"
        if chosen in (KEEP_ALWAYS, DROP_ALWAYS):
            self._remembered = answer
            self._bus.notice(
                "info",
                f'This is not asked again until the editor is restarted; {_SETTING} = "{answer}" '
                "in .tierline/config.toml holds for good.",
                "settings",
            )
        return answer


def _entries(files: Iterable[p.FileInfo], pages: Iterable[p.UrlInfo]) -> list[p.KeptEntry]:
    """One entry for each folder, each file that was added by itself, and each page;
    largest first.
    """
    found: dict[str, p.KeptEntry] = {}
    for file in files:
        name = file.folder or file.path
        entry = found.setdefault(name, p.KeptEntry(name=name))
        entry.files += 1
        entry.tokens += file.tokens if file.state == p.FileState.OK else 0
        entry.pinned = entry.pinned or file.pin == "sticky"
    for page in pages:
        found[page.url] = p.KeptEntry(name=page.title or page.url, tokens=page.tokens)
    return sorted(found.values(), key=lambda entry: -entry.tokens)


def _sentence(entries: list[p.KeptEntry], tokens: int, cost: float) -> str:
    if not entries:
        return "There are no files to keep."
    named = ", ".join(_named(entry) for entry in entries[:_NAMED])
    more = len(entries) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    money = f", about ${_money(cost)}" if cost else ""
    return (
        f"Do the files stay for the new session? {named}{rest}: "
        f"{tokens:,} tokens with its first prompt{money}."
    )


def _named(entry: p.KeptEntry) -> str:
    return f"{entry.name} ({entry.files} files)" if entry.files > 1 else entry.name


def _money(cost: float) -> str:
    return f"{cost:.2f}" if cost >= 0.1 else f"{cost:.4f}"
