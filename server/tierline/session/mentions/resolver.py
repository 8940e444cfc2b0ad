"""Resolving each kind of mention: files, symbols, the editor's contents, git, pages, sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from attrs import define

from tierline import protocol as p
from tierline.context.active_editor import ActiveEditor, describe
from tierline.context.fences import render_file
from tierline.context.refusals import Reason, Refusal
from tierline.context.retrieval.cards import card_of
from tierline.context.text import clip
from tierline.errors import TierlineError
from tierline.memory import memos as memo_rules
from tierline.session.conversation import Conversation
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService, rendered
from tierline.session.memory.memos import MemoService
from tierline.session.mentions import texts
from tierline.session.mentions.resolved_mention import (
    MAX_CHARACTERS,
    ResolvedMention,
    SpecialKind,
    unresolved,
)
from tierline.session.models import ModelService
from tierline.session.retrieval.symbols import SymbolService
from tierline.session.retrieval.touchpoints import CardReader
from tierline.session.texts import redacted
from tierline.session.workbench import Workbench
from tierline.workspace import changes
from tierline.workspace.loader import LoadedFile
from tierline.workspace.urls.guard import UrlRefused, parse

MAX_SYMBOL_LINES = 500
MAX_EDITORS = 30
_MAX_LABEL = 200
T = TypeVar("T")


@define(eq=False, repr=False, slots=False)
class MentionResolver:
    """Finds what mentions mean. Changes nothing."""

    _conversation: Conversation
    _models: ModelService
    _files: FileService
    _urls: UrlService
    _symbols: SymbolService
    _reader: CardReader
    _memos: MemoService
    _workbench: Workbench

    async def find(
        self, kind: SpecialKind, argument: str, text: str, given: Sequence[p.EditorContent]
    ) -> ResolvedMention:
        """Resolve a mention of a special kind. ``text``: the mention as written."""
        match kind:
            case "symbol":
                missing = unresolved(text, kind, f"No symbol is called {argument}.")
                found = await self.symbol(argument, text) or missing
            case "git":
                found = await self._git(argument, text)
            case "web":
                found = await self._web(argument, text)
            case "session":
                found = await self._session(argument, text)
            case "memo":
                found = await self._memo(argument, text)
            case _:
                held = next((one for one in given if one.mention == text), None)
                wanted = p.EditorProvideParams(kind, argument, self._document(kind, argument))
                held = held or await self._provided(wanted)
                missing = unresolved(text, kind, f"This editor does not give its {kind} ({text}).")
                found = await self.content(held, text) if held is not None else missing
        return found

    # --- files -----------------------------------------------------------------------------------

    async def file(self, text: str, loaded: LoadedFile) -> ResolvedMention:
        """A file of the workspace."""
        info = p.MentionInfo(text, "file", loaded.key)
        found = ResolvedMention(info, [loaded], attached=self._file_attachment(loaded))
        if self._files.context.has_file(loaded.key):
            info.detail = "in the context already"
            info.tokens = 0
            return found
        info.tokens = await self._count_files([loaded])
        return found

    async def folder(self, text: str, reference: str) -> ResolvedMention:
        """A folder: its files as one entry. It is always asked about, with its size."""
        loaded, notices = await asyncio.to_thread(self._files.loader.load_any, reference)
        inside = [one for one in loaded if isinstance(one, LoadedFile)]
        key = self._files.key(reference)
        name = f"{key}/" if key and key not in (".", "/") else text.lstrip("@")
        tokens = await self._count_files(inside)
        many = "1 file" if len(inside) == 1 else f"{len(inside):,} files"
        said = f"{text} is a folder. It has {many} that can be sent, {tokens:,} tokens."
        info = p.MentionInfo(
            text, "folder", name, many, tokens, len(inside), "ask" if inside else "unknown", said
        )
        attached = p.Attachment("folder", f"{name} ({many})"[-_MAX_LABEL:], name, "")
        return ResolvedMention(info, reference=reference, attached=attached, notices=notices[:0])

    def refused(self, text: str, path: str, refusal: Refusal) -> ResolvedMention:
        """A file that is not sent, or only after the user confirms."""
        state: p.MentionState = "ask" if refusal.confirmable else "refused"
        why = f"{text}: {refusal.sentence}"
        info = p.MentionInfo(text, "file", refusal.name, tokens=None, state=state, why=why)
        uri = self._files.loader.uri(self._files.key(path))
        attached = p.Attachment("file", refusal.name[-_MAX_LABEL:], refusal.name, uri)
        reference = path if refusal.confirmable else ""
        return ResolvedMention(info, reference=reference, refusal=refusal, attached=attached)

    # --- symbols ---------------------------------------------------------------------------------

    async def symbol(self, name: str, text: str, *, bare: bool = False) -> ResolvedMention | None:
        """A definition: ``parse``, ``Plan.entry``, ``src/a.py#parse``. ``bare``: only the exact
        name counts, because it may be prose.
        """
        path, _, symbol = name.rpartition("#")
        if not symbol or len(symbol) > _MAX_LABEL or (bare and not self._symbols.ready):
            return None
        try:
            found = await self._symbols.find(symbol, self._files.key(path) if path else "")
        except TierlineError as error:
            return None if bare else unresolved(text, "symbol", f"{error.message} {error.advice}")
        defined = [(where, one) for where, one in found if one is not None]
        if not defined:
            return None
        where, one = defined[0]
        card = card_of(where, one)
        source = await asyncio.to_thread(self._reader.source, card, MAX_SYMBOL_LINES)
        if source is None:
            return None if bare else unresolved(text, "symbol", f"{where} cannot be read now.")
        now, body = source
        label = f"{where}#{one.qualified}"
        note = f"lines {now.line} to {now.end}, {one.kind} {one.qualified}"
        made = await self._attached(
            text, "symbol", label, render_file(where, body, note), where, now.line, now.end
        )
        made.info.detail = f"{one.kind}, {where}:{now.line}"
        others = [other for other, _ in defined[1:]]
        if others and not path:
            made.info.state = "ask"
            names = ", ".join(f"@symbol:{other}#{symbol}" for other in others[:5])
            made.info.why = f"{text} is in {where}; others of this name: {names}."
        return made

    # --- contents of the editor -------------------------------------------------------------------

    async def content(self, held: p.EditorContent, text: str = "") -> ResolvedMention:
        """Contents that the editor sent, for a mention or without one (``text`` is empty)."""
        match held.kind:
            case "problems":
                return await self._problems(held, text)
            case "editors":
                return await self._editors(held, text)
            case "terminal":
                if not held.text.strip():
                    return unresolved(text, "terminal", f"{text or 'The terminal'} shows no text.")
                shown = await asyncio.to_thread(texts.terminal, held.text, held.label)
                return await self._attached(text, "terminal", held.label or "Terminal", shown)
            case "selection":
                return await self._selection(held, text)

    async def _selection(self, held: p.EditorContent, text: str) -> ResolvedMention:
        if not held.text.strip():
            return unresolved(text, "selection", f"Nothing is selected ({text}).")
        if withheld := await self._files.withheld(held.uri):
            return unresolved(text, "selection", withheld.message, refused=True)
        key = self._files.key(held.uri) if held.uri else held.label or "selection"
        place = ActiveEditor(key, held.first_line, held.last_line, selected=True)
        shown, _ = texts.bounded(held.text)
        lines = f":{held.first_line}-{held.last_line}" if held.first_line else ""
        sent = describe(place, (), shown)
        made = await self._attached(
            text, "selection", f"{key}{lines}", sent, key, held.first_line, held.last_line
        )
        if made.attached is not None:
            made.attached.uri = held.uri
        return made

    async def _problems(self, held: p.EditorContent, text: str) -> ResolvedMention:
        names: dict[str, str] = {}
        lines: dict[str, Sequence[str]] = {}
        for uri in dict.fromkeys(one.uri for one in held.problems):
            if held.uri and self._files.key(uri) != self._files.key(held.uri):
                continue
            loaded = await asyncio.to_thread(self._files.loader.load, uri)
            if isinstance(loaded, LoadedFile):
                names[uri], lines[uri] = loaded.key, loaded.content.text.split("\n")
            elif loaded.reason is not Reason.SECRET:  # its problems may quote its text
                names[uri] = loaded.name or PurePosixPath(unquote(urlsplit(uri).path)).name
        count = sum(one.uri in names for one in held.problems)
        where = self._files.key(held.uri) if held.uri else ""
        if not count:
            of = f" for {where}" if where else ""
            return unresolved(text, "problems", f"The editor reports no problems{of}.")
        label = f"{count} problem{'s' * (count != 1)}{f' in {where}' if where else ''}"
        shown = texts.problems(held.problems, names, lines)
        return await self._attached(text, "problems", label, shown, where)

    async def _editors(self, held: p.EditorContent, text: str) -> ResolvedMention:
        loaded = [
            await asyncio.to_thread(self._files.loader.load, uri)
            for uri in list(dict.fromkeys(held.uris))[:MAX_EDITORS]
        ]
        inside = [one for one in loaded if isinstance(one, LoadedFile)]
        left_out = [one for one in loaded if isinstance(one, Refusal)]
        if not inside:
            return unresolved(text, "editors", "No open file can be sent.")
        many = "1 open file" if len(inside) == 1 else f"{len(inside)} open files"
        info = p.MentionInfo(text, "editors", many, files=len(inside))
        notices = [f"{one.name} is open, but is not sent. {one.message}" for one in left_out]
        attached = p.Attachment("editors", many, ", ".join(one.key for one in inside)[:2000], "")
        found = ResolvedMention(info, inside, attached=attached, notices=notices)
        new = [one for one in inside if not self._files.context.has_file(one.key)]
        return found.measured(await self._count_files(new))

    async def _provided(self, wanted: p.EditorProvideParams) -> p.EditorContent | None:
        held = await self._workbench.provide(wanted)
        if held is None and wanted.kind == "editors":
            loader = self._files.loader
            uris = await asyncio.to_thread(loader.buffers.open_keys, loader.roots)
            return p.EditorContent("editors", uris=list(uris.values())) if uris else None
        return held

    def _document(self, kind: str, argument: str) -> str:
        if kind != "problems" or not argument:
            return ""
        return self._files.loader.uri(self._files.key(argument)) or argument

    # --- git, pages, sessions, memos -------------------------------------------------------------

    async def _git(self, argument: str, text: str) -> ResolvedMention:
        found = await asyncio.to_thread(changes.read, self._files.loader, argument)
        if isinstance(found, str):
            return unresolved(text, "git", found)
        made = await self._attached(text, "git", found.label, found.text)
        made.info.detail = found.detail
        return made

    async def _web(self, argument: str, text: str) -> ResolvedMention:
        address = argument if "://" in argument else f"https://{argument}"
        try:
            url = parse(address).url
        except UrlRefused as refused:
            return unresolved(text, "web", f"{text}: {refused.message}", refused=True)
        label = url[-_MAX_LABEL:]
        attached = p.Attachment("web", label, url, url)
        info = p.MentionInfo(text, "web", label)
        found = ResolvedMention(info, attached=attached, url=url)
        page = await self._urls.known(url)
        if page is None:
            info.state = "ask"
            info.why = f"{text} has not been read yet; its size is not known before."
            return found
        info.detail = page.title
        if self._urls.key(url):
            info.tokens = 0
            return found
        return found.measured(await self._count(rendered(page)))

    async def _session(self, argument: str, text: str) -> ResolvedMention:
        store = self._conversation.store
        named = await asyncio.to_thread(store.session, argument)
        wanted = argument.casefold()
        fits = (
            [named]
            if named
            else [
                s
                for s in (await asyncio.to_thread(store.sessions, None, argument)).sessions
                if wanted in s.session_id or wanted in (s.title or s.preview or "").casefold()
            ]
        )
        if not fits:
            return unresolved(text, "session", f"No session is called {argument}.")
        if len(fits) > 1:
            names = ", ".join(f"@session:{s.session_id}" for s in fits[:4])
            return unresolved(text, "session", f"Several sessions fit {text}: {names}.")
        one = fits[0]
        title = one.title or one.preview or one.session_id
        now = await asyncio.to_thread(store.timeline, one.session_id)
        shown = await asyncio.to_thread(texts.session, title, now.visible())
        return await self._attached(text, "session", clip(title, 80), shown)

    async def _memo(self, argument: str, text: str) -> ResolvedMention:
        found = [
            memo
            for memo in await self._memos.all()
            if argument == memo.id or (len(argument) > 3 and memo.id.endswith(argument))
        ]
        if len(found) != 1:
            return unresolved(text, "memo", f"There is no memo {argument}.")
        shown = memo_rules.render_one(found[0])
        return await self._attached(text, "memo", clip(found[0].content, 80), shown)

    async def _attached(
        self,
        text: str,
        kind: p.MentionKind,
        label: str,
        sent: str,
        path: str = "",
        first_line: int = 0,
        last_line: int = 0,
    ) -> ResolvedMention:
        """A text to attach, without credentials, with its size."""
        clean, notices = await redacted(clip(sent, MAX_CHARACTERS + 1_000))
        attached = p.Attachment(
            kind=kind,
            label=" ".join(label.split())[:_MAX_LABEL],
            path=path,
            uri=self._files.loader.uri(path) if path else "",
            first_line=first_line,
            last_line=last_line,
            text=clean,
        )
        info = p.MentionInfo(text, kind, attached.label)
        found = ResolvedMention(info, attached=attached, notices=notices)
        tokens = await self._count(clean)
        if not text:  # the user saw its size
            info.tokens = tokens
            return found
        return found.measured(tokens)

    def _file_attachment(self, loaded: LoadedFile) -> p.Attachment:
        return p.Attachment(
            "file", loaded.key[-_MAX_LABEL:], loaded.key, self._files.loader.uri(loaded.key)
        )

    async def _count(self, text: str) -> int:
        return await self._counted(lambda count: count(text))

    async def _count_files(self, files: Sequence[LoadedFile]) -> int:
        most = self._files.max_file_tokens
        return await self._counted(
            lambda count: sum(
                min(count(render_file(one.key, one.content.text)), most) for one in files
            )
        )

    async def _counted(self, work: Callable[[Callable[[str], int]], T]) -> T:
        return await asyncio.to_thread(lambda: work(self._models.counter().count))
