"""Completing mentions: kinds, files and folders, symbols, commits, pages, sessions, memos."""

from __future__ import annotations

import asyncio

from attrs import define, field

from tierline import protocol as p
from tierline.context.text import clip
from tierline.session.conversation import Conversation
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.memory.memos import MemoService
from tierline.session.mentions.paths import PathIndex
from tierline.session.mentions.resolved_mention import ALONE, mention_text
from tierline.session.retrieval.symbols import SymbolService
from tierline.session.workbench import Workbench
from tierline.workspace import changes

MAX_COMPLETIONS = 200
_SOON = 0.06
"""Seconds that names of symbols are waited for; then a list is incomplete."""
_KINDS: tuple[tuple[str, p.MentionKind, str], ...] = (
    ("selection", "selection", "What is selected in the editor"),
    ("problems", "problems", "What the editor reports; @problems:FILE for one file"),
    ("terminal", "terminal", "The end of the terminal's text"),
    ("editors", "editors", "All open files"),
    ("git:", "git", "Changes: uncommitted, staged, a commit, a branch"),
    ("symbol:", "symbol", "A function, class or other definition"),
    ("https://", "web", "A web page"),
    ("session:", "session", "An earlier conversation"),
    ("memo:", "memo", "A memo"),
)


@define(eq=False, repr=False, slots=False)
class CompletionService:
    """Lists names that begin with or contain the typed letters. Sizes come with
    ``mention/resolve``.
    """

    _conversation: Conversation
    _files: FileService
    _urls: UrlService
    _symbols: SymbolService
    _memos: MemoService
    _workbench: Workbench
    _paths: PathIndex = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._paths = PathIndex(self._files.loader)

    async def complete(self, params: p.MentionCompleteParams) -> p.MentionCompleteResult:
        """Completions of the letters after an ``@``."""
        query = params.query.strip().strip("\"'")
        most = max(1, min(params.limit, MAX_COMPLETIONS))
        kind, colon, rest = query.partition(":")
        late = False
        if colon and not query.startswith(("https:", "http:")):
            match kind:
                case "git":
                    items = await self._git(rest)
                case "symbol":
                    found = await self._symbol(rest, most + 1)
                    items, late = found or [], found is None
                case "session":
                    items = await self._sessions(rest, most + 2)
                case "memo":
                    items = await self._memo(rest)
                case "problems":
                    paths = await self._found(rest, most + 1)
                    late = not self._paths.complete
                    items = [_item(f"problems:{path}", "problems", path) for path in paths]
                case "terminal":
                    items = [_item("terminal:selection", "terminal", "Selected in the terminal")]
                case _:
                    items = []
            return p.MentionCompleteResult(items[:most], incomplete=len(items) > most or late)
        items = [*self._kinds(query), *self._pages(query)]
        paths, symbols = await asyncio.gather(
            self._found(query, most + 1), self._symbol(query, 10) if query else _none()
        )
        items += [_item(path, "folder" if path.endswith("/") else "file", path) for path in paths]
        items += symbols or []
        more = len(items) > most or symbols is None or not self._paths.complete
        return p.MentionCompleteResult(items[:most], incomplete=more)

    # --- each kind -------------------------------------------------------------------------------

    def _kinds(self, query: str) -> list[p.MentionInfo]:
        offered = {*self._workbench.provides, "editors"}
        return [
            p.MentionInfo(f"@{word}", kind, word, doc, expands=word[-1] in ":/")
            for word, kind, doc in _KINDS
            if word.startswith(query) and (kind not in ALONE or kind in offered)
        ]

    def _pages(self, query: str) -> list[p.MentionInfo]:
        wanted = query.casefold()
        return [
            p.MentionInfo(
                mention_text(page.url), "web", page.title or page.url, page.url, page.tokens
            )
            for page in self._urls.infos()
            if wanted and (wanted in page.url.casefold() or wanted in page.title.casefold())
        ]

    async def _git(self, rest: str) -> list[p.MentionInfo]:
        folders = [root.real for root in self._files.loader.roots]
        items = [
            _item("git:changes", "git", "Uncommitted changes"),
            _item("git:staged", "git", "Staged changes"),
            _item("git:branch", "git", "This branch against its base"),
        ]
        for folder in folders:
            names = await asyncio.to_thread(changes.branches, folder)
            items += [_item(f"git:branch:{name}", "git", f"Branch {name}") for name in names]
            newest = await asyncio.to_thread(changes.commits, folder)
            items += [_item(f"git:{name}", "git", clip(what, 100), name) for name, what in newest]
        wanted = rest.casefold()
        return [i for i in items if wanted in i.text.casefold() or wanted in i.label.casefold()]

    async def _symbol(self, letters: str, limit: int) -> list[p.MentionInfo] | None:
        """None if the index cannot say yet."""
        path, _, name = letters.rpartition("#")
        if path:
            symbols = await self._symbols.outline(self._files.key(path), _SOON)
            if symbols is None:
                return None
            return [
                _item(f"symbol:{path}#{s.qualified}", "symbol", s.qualified, f"{s.kind}, {path}")
                for s in symbols
                if name.casefold() in s.qualified.casefold()
            ]
        names = await self._symbols.names(letters, limit, _SOON)
        if names is None:
            return None
        return [
            _item(
                f"symbol:{name}" if count == 1 else f"symbol:{where}#{name}",
                "symbol",
                name,
                where if count == 1 else f"{where} and {count - 1} more",
            )
            for name, where, count in names
        ]

    async def _sessions(self, rest: str, limit: int) -> list[p.MentionInfo]:
        store = self._conversation.store
        found = await asyncio.to_thread(store.sessions, limit, rest)
        return [
            _item(f"session:{s.session_id}", "session", clip(s.title or s.preview, 80), s.timestamp)
            for s in found.sessions
            if s.session_id != store.session_id
        ]

    async def _memo(self, rest: str) -> list[p.MentionInfo]:
        wanted = rest.casefold()
        return [
            _item(f"memo:{memo.id}", "memo", clip(memo.content, 80), ", ".join(memo.tags))
            for memo in await self._memos.all()
            if wanted in f"{memo.id} {memo.content} {' '.join(memo.tags)}".casefold()
        ]

    async def _found(self, letters: str, limit: int) -> list[str]:
        """Paths that contain the letters in order: those whose name begins with them first."""
        return await self._paths.best(letters, limit, frozenset(self._files.paths()))


async def _none() -> list[p.MentionInfo]:
    return []


def _item(path: str, kind: p.MentionKind, label: str, detail: str = "") -> p.MentionInfo:
    return p.MentionInfo(mention_text(path), kind, label, detail)
