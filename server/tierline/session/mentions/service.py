"""The mention service: one pass over a prompt finds its mentions, their sizes, and what to ask the
user about; then all of them are added.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from attrs import frozen

from tierline import protocol as p
from tierline.context.refusals import Refusal
from tierline.errors import TierlineError
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.mentions.resolved_mention import ResolvedMention, special_mention, unresolved
from tierline.session.mentions.resolver import MentionResolver
from tierline.session.texts import in_thread_when_long
from tierline.workspace.loader import LoadedFile
from tierline.workspace.mentions import Mention, is_prose, mentions

ADVICE = "Change the prompt, or send it again and say that it is meant so."


@frozen
class MentionedContext:
    """Context that was added to a prompt because it was mentioned or attached."""

    attached: tuple[p.Attachment, ...] = ()
    notices: tuple[str, ...] = ()

    def beside(self, already: Sequence[p.Attachment]) -> tuple[p.Attachment, ...]:
        """What a prompt has already, then what is new: a file that is open and mentioned is shown
        once.
        """
        known = {one.label for one in already}
        return (*already, *(one for one in self.attached if one.label not in known))


class MentionService:
    """Finds, asks and takes."""

    def __init__(self, files: FileService, urls: UrlService, kinds: MentionResolver) -> None:
        self._files = files
        self._urls = urls
        self._kinds = kinds

    # --- requests --------------------------------------------------------------------------------

    async def resolve(self, params: p.MentionResolveParams) -> p.MentionResolveResult:
        """A prompt's mentions and attachments, with sizes. Nothing is changed."""
        named, given = await self.find(params.text, params.given)
        all_of_it = [*named, *given]
        return p.MentionResolveResult(
            [one.info for one in named],
            [one.info for one in given],
            sum(one.info.tokens or 0 for one in all_of_it if one.info.state in ("ok", "ask")),
        )

    # --- for a prompt ----------------------------------------------------------------------------

    async def find(
        self, text: str, given: Sequence[p.EditorContent] = (), *, selected: bool = False
    ) -> tuple[list[ResolvedMention], list[ResolvedMention]]:
        """A prompt's mentions, and attachments without a mention. ``selected``: the prompt contains
        the selection anyway.
        """
        found: dict[str, ResolvedMention | None] = {}
        for mention in await in_thread_when_long(text, mentions, text):
            written = text[mention.start : mention.end]
            if mention.path not in found:
                found[mention.path] = await self._one(mention, written, given, selected)
        besides = [await self._kinds.content(one) for one in given if not one.mention]
        return [one for one in found.values() if one is not None], besides

    async def take(self, params: p.ChatSendParams, text: str) -> MentionedContext:
        """Add what a prompt mentions. If something must be confirmed first, nothing is changed.

        Raises:
            TierlineError: ``unclear_mention``: the user must confirm or correct a mention.
        """
        named, given = await self.find(text, params.given, selected=bool(params.selection.strip()))
        agreed = {one.lstrip("@") for one in params.agreed}
        open_ones = [
            one
            for one in (*named, *given)
            if one.info.state != "ok" and one.info.text.lstrip("@") not in agreed
        ]
        if params.mentions == "ask" and open_ones:
            asked = dict.fromkeys(one.sentence for one in open_ones)
            raise TierlineError("unclear_mention", f"Nothing was sent. {' '.join(asked)}", ADVICE)
        skipped = open_ones if params.mentions == "text" else []
        wanted = [one for one in (*named, *given) if one not in skipped]
        notices = [
            f"{one.info.text} is not sent. {one.refusal.sentence if one.refusal else one.info.why}"
            for one in (*skipped, *wanted)
            if one.info.state == "refused" or (one in skipped and one.refusal is not None)
        ]
        notices += await self._pages(wanted, strict=params.mentions != "text")
        taken = [one for one in wanted if one.info.state in ("ok", "ask")]
        notices += await self._add(taken)
        attached = tuple(one.attached for one in taken if one.attached is not None)
        notices += [notice for one in taken for notice in one.notices]
        return MentionedContext(attached, tuple(dict.fromkeys(notices)))

    async def _one(
        self, mention: Mention, written: str, given: Sequence[p.EditorContent], selected: bool
    ) -> ResolvedMention | None:
        """What one mention means; None if it is not a mention."""
        if meant := special_mention(mention.path):
            kind, argument = meant
            if kind == "selection" and selected:
                return None
            return await self._kinds.find(kind, argument, written, given)
        return await self._named(mention.path, written)

    async def _named(self, path: str, written: str) -> ResolvedMention | None:
        """The file, folder or symbol that is named; None for prose."""
        loaded = await self._files.read_mention(path)
        reference = path.rstrip("/") or path
        found: ResolvedMention | None
        if isinstance(loaded, LoadedFile):
            found = await self._kinds.file(written, loaded)
        elif await asyncio.to_thread(self._files.loader.is_folder, reference):
            found = await self._kinds.folder(written, reference)
        elif isinstance(loaded, Refusal):
            found = self._kinds.refused(written, path, loaded)
        else:
            found = await self._kinds.symbol(path, written, bare=True)
            if found is None and not is_prose(path):
                found = unresolved(written, "file", f"Nothing here is called {written}.")
        return found

    async def _pages(self, wanted: Iterable[ResolvedMention], *, strict: bool) -> list[str]:
        """Fetch the pages first, so that a failure is reported before anything was changed."""
        notices: list[str] = []
        for one in wanted:
            if not one.url:
                continue
            try:
                notices += (await self._urls.add(p.UrlParams(one.url))).notices
            except TierlineError as error:
                if strict:
                    said = f"Nothing was sent. {error.message}"
                    raise TierlineError("unclear_mention", said, error.advice) from error
                notices.append(f"{one.info.text} is not sent. {error.message}")
                one.attached = None
        return notices

    async def _add(self, taken: Iterable[ResolvedMention]) -> list[str]:
        notices: list[str] = []
        listed: list[LoadedFile] = []
        for one in taken:
            if one.reference:
                confirm = one.refusal is not None
                added = await self._files.add(p.FileParams(path=one.reference, confirm=confirm))
                notices += added.notices
            listed += one.loaded
        return notices + await self._files.mentioned(listed)
