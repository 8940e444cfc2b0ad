"""The file context as a service: adds, refuses, pins, follows changes, and remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

from attrs import define, field

from tierline import protocol as p
from tierline.context.enforce import PlanCode
from tierline.context.files import FileContext, FileEntry
from tierline.context.filetext import FileText
from tierline.context.items import Pin
from tierline.context.plan import ContextPlan
from tierline.context.refusals import Reason, Refusal, refuse
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.session.conversation import Conversation
from tierline.session.conversation.lists import SharedList
from tierline.session.conversation.ordering import after_openings
from tierline.session.events import EventBus
from tierline.session.files.sizes import FileSizes
from tierline.session.state.plan import LastPlan
from tierline.session.texts import LONG
from tierline.workspace.loader import LoadedFile, Loader
from tierline.workspace.mentions import readings
from tierline.workspace.secretfiles import secret_kind

OPEN = "open in the editor"
"""The origin of files that are listed because they were active when a prompt was sent."""
MAX_OPEN = 8
P = TypeVar("P")
FileRequest: TypeAlias = Callable[["FileService", P], Coroutine[Any, Any, p.FilesResult]]


def _in_order(request: FileRequest[P]) -> FileRequest[P]:
    """Run requests that change the list in the order of arrival: pinning reads a file first, and an
    unpin right after it must not overtake it.
    """

    @wraps(request)
    async def run(self: FileService, params: P) -> p.FilesResult:
        async with after_openings(self._conversation), self.order:
            await self._follow()
            return await request(self, params)

    return run


_MANY = 50
"""Changed documents above which all listed files are looked at again."""


@define(eq=False, repr=False, slots=False)
class FileService:
    """Keeps a FileContext in step with buffers and disk. Used from the event loop's thread."""

    _bus: EventBus
    _conversation: Conversation
    loader: Loader
    """The one way in for files."""
    context: FileContext
    _sizes: FileSizes
    _last: LastPlan
    _stale: set[str] = field(factory=set, init=False)
    _counted: dict[str, str] = field(factory=dict, init=False)
    """Hashes of texts whose tokens are counted, by key."""
    order: asyncio.Lock = field(factory=asyncio.Lock, init=False)
    _shared: SharedList = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._shared = SharedList(self._conversation, lambda now: now.files, actions.files, _key_of)

    @property
    def max_file_tokens(self) -> int:
        """Most tokens that are sent of a file; a larger one is cut."""
        return self._sizes.most

    # --- requests --------------------------------------------------------------------------------

    @_in_order
    async def add(self, params: p.FileParams) -> p.FilesResult:
        """Add a file, or the files of a folder. Refused ones come back with their reasons."""
        return await self._add(params, pin=None)

    @_in_order
    async def pin(self, params: p.FileParams) -> p.FilesResult:
        """Pin a file, adding it if it is not listed: it is shed last."""
        return await self._add(params, pin=Pin.STICKY)

    @_in_order
    async def unpin(self, params: p.FileParams) -> p.FilesResult:
        """Remove the pin; the file stays in the context."""
        entry = self._listed(_reference(params))
        self.context.set_pin(entry.key, Pin.NONE)
        return await self._changed()

    @_in_order
    async def remove(self, params: p.FileParams) -> p.FilesResult:
        """Take a file, or all listed files of a folder, out of the context.

        Raises:
            TierlineError: ``not_found``: nothing of that name is listed.
        """
        reference = _reference(params)
        key = self.key(reference)
        inside = [k for k in self.context.get_files() if k.startswith(f"{key}/")]
        if not self.context.remove_file(key) and not inside:
            raise TierlineError(
                "not_found", f"{reference} is not in the context.", "List the files to see what is."
            )
        for path in inside:
            self.context.remove_file(path)
        return await self._changed()

    async def listed(self, _params: p.NoParams) -> p.FilesResult:
        """The listed files, read again where they changed."""
        async with after_openings(self._conversation):
            await self.refresh()
            await asyncio.to_thread(self._sizes.measure, self.paths())
            return p.FilesResult(files=await self.shown())

    @_in_order
    async def clear(self, _params: p.NoParams) -> p.FilesResult:
        """Empty the context."""
        self.context.clear()
        return await self._changed()

    async def mentioned(self, files: Sequence[LoadedFile]) -> list[str]:
        """List files that a prompt mentions. Returns notices for those that are cut."""
        new = [one.key for one in files if not self.context.has_file(one.key)]
        for loaded in files:
            self._put(loaded, "mentioned by you")
        await asyncio.to_thread(self._sizes.measure, new)
        return _cut((await self._changed()).files, new) if files else []

    async def open_in_editor(self, loaded: LoadedFile) -> None:
        """List the file that is active in the editor. Only a few of such files stay: the oldest
        leaves.
        """
        self._put(loaded, OPEN)
        opened = [e.key for e in self.context.entries() if e.origin == OPEN and e.pin is Pin.NONE]
        for key in opened[:-MAX_OPEN]:
            self.context.remove_file(key)
        await asyncio.to_thread(self._sizes.measure, [loaded.key])
        await self._changed()

    async def read_mention(self, path: str) -> LoadedFile | Refusal | None:
        """The file that a mention means, or why it is not sent; None if there is none."""
        for reading in readings(path):
            entry = self.context.get(self.key(reading))
            confirm = entry is not None and entry.confirmed
            loaded = await asyncio.to_thread(self.loader.load, reading, confirm=confirm)
            # Only the path as written is refused by name, not its other readings; and on Windows no
            # name can have the colon of a line number.
            if isinstance(loaded, LoadedFile) or not (
                loaded.reason in (Reason.NOT_FOUND, Reason.INVALID_PATH)
                or (reading != path and not loaded.confirmable)
            ):
                return loaded
        return None

    async def withheld(self, uri: str) -> Refusal | None:
        """Why text selected in this document may not be sent; None if it may.

        A file of secrets is refused on this route as on every other, until the user confirms it.
        """
        entry = self.context.get(self.key(uri)) if uri else None
        if not uri or (entry is not None and entry.confirmed):
            return None
        found = await asyncio.to_thread(self.loader.load, uri)
        if not isinstance(found, Refusal):
            return None
        path = unquote(urlsplit(uri).path)
        if found.reason is not Reason.SECRET and (kind := secret_kind(path)):
            found = refuse(path, Reason.SECRET, kind)  # it is elsewhere or was never saved
        return found if found.reason is Reason.SECRET else None

    # --- reading ---------------------------------------------------------------------------------

    def paths(self) -> Sequence[str]:
        """Keys of all listed files."""
        return self.context.get_files()

    def key(self, reference: str) -> str:
        """The key that a path or URI leads to; the reference itself if it leads nowhere."""
        entry = self.context.get(reference)
        return entry.key if entry is not None else self.loader.key(reference) or reference

    def info(self, reference: str) -> p.FileInfo | None:
        """One listed file."""
        entry = self.context.get(self.key(reference))
        return self._info(entry) if entry is not None else None

    async def shown(self) -> list[p.FileInfo]:
        """All listed files. Missing counts are made in a thread; the very first one reads the
        vocabulary.
        """
        entries = self.context.entries()
        new = [e for e in entries if self._counted.get(e.key) is not e.text]
        if new and (not self._counted or sum(len(e.text) for e in new) > LONG):
            await asyncio.to_thread(lambda: [self._sizes.tokens(entry) for entry in new])
        self._counted = {e.key: e.text for e in entries}
        return [self._info(entry) for entry in self.context.entries()]

    # --- changes ---------------------------------------------------------------------------------

    def touched(self, uris: Iterable[str]) -> bool:
        """Note that documents may have changed. True if one of them may be listed."""
        keys, uris = set(self.context.get_files()), list(uris)
        if len(uris) <= _MANY:  # else to look at all that are listed takes less
            keys &= set(map(self.key, uris))
        self._stale |= keys
        return bool(keys)

    async def settled(self) -> None:
        """Wait for earlier requests that change the list, so that a client that adds a file and
        lists at once sees it.
        """
        async with self.order:
            await self._follow()

    async def refresh(self, *, everything: bool = False) -> bool:
        """Read files again that may have changed, after earlier requests that change the list. True
        if a text, a state or a token count changed. Not for callers that hold ``order``.
        """
        await self.settled()
        stale = [e for e in self.context.entries() if everything or e.key in self._stale]
        self._stale.clear()
        if not stale:
            return False
        changes = await asyncio.to_thread(self.loader.refresh, stale)
        for key, loaded in changes.changed.items():
            if self.context.has_file(key):
                self.context.update(key, loaded.content, dirty=loaded.dirty)
        for key, refusal in changes.failed.items():
            if self.context.has_file(key):
                self.context.fail(key, refusal)
        return bool(changes)

    def planned(self, plan: ContextPlan) -> None:
        """Mark the files that a plan had to leave out."""
        self.context.unshed()
        for entry in plan.excluded:
            if entry.path and entry.code == PlanCode.SHED:
                self.context.shed([entry.path])
            elif entry.path and entry.code == PlanCode.TOO_LARGE:  # neither a pin nor room helps
                self.context.shed([entry.path], sentence=entry.reason)

    async def renamed(self, pairs: Iterable[tuple[str, str]]) -> None:
        """The editor renamed files or folders: entries, pins and leases follow."""
        async with self.order:
            moved: dict[str, str] = {}
            for old, new in pairs:
                moved |= self.context.rename(self.key(old), self.loader.key(new) or new)
            if moved:
                self._stale |= set(moved.values())
                await self._changed()

    async def roots_changed(self, new_key: Callable[[str], str | None]) -> None:
        """Folders joined or left the workspace: update keys; files that are now outside say so."""
        keys = {key: new_key(key) for key in self.context.get_files()}
        self.context.rekey({old: new for old, new in keys.items() if new and new != old})
        await self.refresh(everything=True)
        await self._changed()

    def restore(self, snapshot: Sequence[object]) -> None:
        """Restore selection and pins of an earlier run; blocking, for start-up only."""
        self._shared.set_known(snapshot)
        self.context.restore(snapshot, self.loader.restore_text)

    async def take_up(self, snapshot: Sequence[object]) -> None:
        """Replace selection and pins by another session's, at once; texts are read in a thread. For
        callers that hold ``order``.
        """
        await self._hold(snapshot)
        self._shared.set_known(snapshot)

    async def _hold(self, snapshot: Sequence[object]) -> None:
        texts: dict[str, FileText | Refusal] = {}

        def read(key: str, confirmed: bool) -> FileText | Refusal:
            texts[key] = self.loader.restore_text(key, confirmed)
            return texts[key]

        await asyncio.to_thread(FileContext().restore, snapshot, read)
        self.context.clear()
        self.context.restore(snapshot, lambda key, _confirmed: texts[key])

    async def carry(self) -> None:
        """Store the current list in a session that has just begun. For callers that
        hold ``order``.
        """
        if self.paths():
            await self._conversation.act(actions.files(self.context.snapshot()))

    async def _add(self, params: p.FileParams, pin: Pin | None) -> p.FilesResult:
        reference = _reference(params)
        listed = self.context.get(self.key(reference))
        confirm = params.confirm or (listed is not None and listed.confirmed)
        found, notices = await asyncio.to_thread(self.loader.load_any, reference, confirm=confirm)
        inside = await asyncio.to_thread(self.loader.is_folder, reference)
        folder = f"{self.key(reference)}/" if inside else ""
        keys: list[str] = []
        refused: list[p.FileInfo] = []
        for loaded in found:
            if isinstance(loaded, LoadedFile):
                keys.append(self._put(loaded, "added by you", folder).key)
            else:
                refused.append(_refused(loaded, self.loader.uri(loaded.name)))
        if pin is not None:
            for key in keys:
                self.context.set_pin(key, pin)
        await asyncio.to_thread(self._sizes.measure, keys)
        result = await self._changed()
        notices = [*notices, *_cut(result.files, keys)]
        return p.FilesResult(files=result.files, refused=refused, notices=notices)

    def _put(self, loaded: LoadedFile, origin: str, folder: str = "") -> FileEntry:
        return self.context.put(
            loaded.key, loaded.content, origin=origin, folder=folder, **loaded.listing
        )

    def _listed(self, reference: str) -> FileEntry:
        entry = self.context.get(self.key(reference))
        if entry is None:
            raise TierlineError(
                "not_found", f"{reference} is not in the context.", "Add the file first."
            )
        return entry

    async def _follow(self) -> None:
        """Adopt another window's changes of the session's list, so that ours do not undo them and
        both windows count the same.
        """
        news = self._shared.changed_elsewhere()
        if news is None:
            return
        if list(news) == self.context.snapshot():
            self._shared.set_known(news)
        else:
            await self.take_up(news)
            self._bus.publish(p.FilesChanged(files=await self.shown()))

    async def _changed(self) -> p.FilesResult:
        ours = self.context.snapshot()
        listed, _problem = await self._shared.write(ours)
        if listed != ours:
            await self._hold(listed)
        infos = await self.shown()
        self._bus.publish(p.FilesChanged(files=infos))
        self._bus.context_changed()
        return p.FilesResult(files=infos)

    def _info(self, entry: FileEntry) -> p.FileInfo:
        tokens, cut = self._sizes.tokens(entry)
        return p.FileInfo(
            path=entry.key,
            uri=self.loader.uri(entry.key),
            tokens=tokens,
            pin=entry.pin,
            state=entry.state,
            reason=entry.sentence or cut,
            code="cut" if cut else "",
            tier=self._last.tier(f"file:{entry.key}"),
            aliases=list(entry.aliases),
            origin=entry.origin,
            folder=entry.folder,
            dirty=entry.dirty,
        )


def _key_of(record: Any) -> str | None:
    return record.get("key") if isinstance(record, Mapping) else None


def _reference(params: p.FileParams) -> str:
    reference = params.uri or params.path
    if not reference:
        raise TierlineError("invalid_params", "No file was named.", "Pass a path or a uri.")
    return reference


def _cut(files: Iterable[p.FileInfo], keys: Sequence[str]) -> list[str]:
    """A notice for each of these files that is not sent whole."""
    return [f"{f.path}: {f.reason}" for f in files if f.code == "cut" and f.path in keys]


def _refused(refusal: Refusal, uri: str) -> p.FileInfo:
    return p.FileInfo(
        path=refusal.name,
        uri=uri,
        tokens=0,
        pin=Pin.NONE,
        state=p.FileState.REFUSED,
        reason=refusal.sentence,
        code=str(refusal.reason),
        confirmable=refusal.confirmable,
    )
