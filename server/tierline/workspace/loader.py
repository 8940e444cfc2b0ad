"""The one way in for files: path, boundary, secrets, ignore rules, buffer or disk, decoding."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from attrs import evolve, frozen

from tierline.context.display import shown_name
from tierline.context.files import FileContext, FileEntry
from tierline.context.filetext import FileText, file_text
from tierline.context.refusals import Reason, Refusal, refuse
from tierline.workspace import notebooks, secrets
from tierline.workspace.buffers import Buffer, Buffers, NotebookBuffer
from tierline.workspace.decoding import binary_kind, decode
from tierline.workspace.folders import walk
from tierline.workspace.ignore import IgnoreRules, RuleCache
from tierline.workspace.images import image_type
from tierline.workspace.load_results import FileChanges, FolderLoad, LoadedFile, skip_notices
from tierline.workspace.paths import ResolvedPath, Roots
from tierline.workspace.reading import DEFAULT_CAP, FileBytes, Signature, read_file, signature
from tierline.workspace.secretfiles import secret_kind

__all__ = ["FileChanges", "FolderLoad", "LoadedFile", "Loader"]

_RACY_NS = 100_000_000
"""A file that changed this shortly before it was read may change again within one clock tick."""
_CACHED = 1000
_MAX_FILES = 500
_MAX_BYTES = 20_000_000
"""Files and bytes of text that one folder may bring in."""
_FOLDER_SECONDS = 60.0
"""Longest listing of a folder."""
_Ignored: TypeAlias = Literal["refuse", "confirmed", "listed"]
"""How an ignore rule affects a load: refused, confirmed by the user, or listed already."""


@frozen
class _Disk:
    """A file as it was read last: decoded, before notebook rendering and redaction."""

    signature: Signature
    trusted: bool
    """True if an equal signature proves that nobody wrote to the file."""
    raw: FileText

    def holds(self, path: str, cap: int) -> bool:
        """True if the file cannot have changed since it was read."""
        return self.trusted and self.raw.facts.size <= cap and signature(path) == self.signature


@frozen
class _Permission:
    """Permission to read a file, with the kind of its secrets and the rule that ignores it, if the
    user confirmed them.
    """

    secret: str
    rule: str


class Loader:
    """Loads files of one workspace. May be called from several threads."""

    def __init__(
        self,
        roots: Roots,
        buffers: Buffers | None = None,
        *,
        max_bytes: int = DEFAULT_CAP,
        git_excludes: str | None = None,
    ) -> None:
        """``max_bytes`` limits the size; ``git_excludes`` replaces ``core.excludesFile``."""
        self.roots = roots
        self.buffers = buffers if buffers is not None else Buffers()
        self.max_bytes = max_bytes
        self._lock = threading.RLock()
        self._git_excludes = git_excludes
        self._ignore: dict[str, IgnoreRules] = {}
        self._disk: OrderedDict[str, _Disk] = OrderedDict()
        self._clean: OrderedDict[str, tuple[FileText, tuple[str, ...]]] = OrderedDict()

    # --- one file --------------------------------------------------------------------------------

    def load(
        self, reference: str, *, confirm: bool = False, base: str = "", cap: int = 0
    ) -> LoadedFile | Refusal:
        """The text that a path, key or URI means, or why it is refused.

        ``confirm``: the user saw the warning and wants an ignored or secret file all the same.
        ``base`` names the workspace folder that unqualified paths are tried in first; ``cap``
        overrides the size limit, in bytes.
        """
        place = self.roots.resolve(reference, base=base)
        if isinstance(place, Refusal):
            return place
        ignored: _Ignored = "confirmed" if confirm else "refuse"
        return self._load(place, ignored, confirm, cap or self.max_bytes)

    def load_any(
        self, reference: str, *, confirm: bool = False
    ) -> tuple[list[LoadedFile | Refusal], list[str]]:
        """A file, or all files of a folder; with sentences for the user about warnings and skips.

        ``confirm`` holds for a single file only, never for whatever a folder contains.
        """
        if self.is_folder(reference):
            folder = self.load_folder(reference)
            if isinstance(folder, Refusal):
                return [folder], []
            warnings = [text for loaded in folder.files for text in loaded.warnings]
            return list(folder.files), [*folder.notices, *warnings]
        loaded = self.load(reference, confirm=confirm)
        return [loaded], list(loaded.warnings) if isinstance(loaded, LoadedFile) else []

    def key(self, reference: str) -> str:
        """The key that a reference leads to, whether or not the file exists; empty if refused."""
        place = self.roots.resolve(reference)
        return place.key if isinstance(place, ResolvedPath) else ""

    def uri(self, key: str) -> str:
        """The key's URI as the editor wrote it if it is open, else the usual spelling."""
        if self.roots.path_of(key) is None:
            return ""
        return self.buffers.open_keys(self.roots).get(key) or self.roots.uri_of(key)

    def refusal(self, place: ResolvedPath, known: RuleCache | None = None) -> Refusal | None:
        """Why the model may not be shown this file, by its name and place; None if it may. Who asks
        for many files of a folder hands the same ``known`` to each question.
        """
        leave = self._leave(place, "refuse", False, known)
        return leave if isinstance(leave, Refusal) else None

    def excluded(self, folder: str) -> bool:
        """True if an ignore rule excludes a folder (a real path)."""
        return bool(self._rule(folder, folder=True))

    def current(self, place: ResolvedPath, cap: int = 0) -> tuple[FileText, bool] | Refusal:
        """The file's own text now, from the buffer or the disk, and whether the buffer is unsaved.

        Credentials are still in it: for searching and editing, never for sending.
        """
        with self._lock:
            return self.refusal(place) or self._text(place, cap or self.max_bytes)

    def is_folder(self, reference: str) -> bool:
        """True if the reference means a folder within the workspace."""
        place = self.roots.resolve(reference)
        return isinstance(place, ResolvedPath) and os.path.isdir(place.path)

    def restore_text(self, key: str, confirmed: bool) -> FileText | Refusal:
        """The text for ``FileContext.restore``; of secrets only if ``confirmed``."""
        place = self.roots.resolve(key)
        if isinstance(place, Refusal):
            return place
        loaded = self._load(place, "listed", confirmed, self.max_bytes)
        return loaded.content if isinstance(loaded, LoadedFile) else loaded

    # --- folders ---------------------------------------------------------------------------------

    def load_folder(
        self, reference: str, *, max_files: int = _MAX_FILES, max_bytes: int = _MAX_BYTES
    ) -> FolderLoad | Refusal:
        """All text files below a folder, without what is ignored, secret or binary.

        Links to folders are not followed. Files beyond ``max_files`` files or ``max_bytes`` bytes
        of text are left out and counted.
        """
        place = self.roots.resolve(reference)
        if isinstance(place, Refusal):
            return place
        if not os.path.isdir(place.path):
            return refuse(reference, Reason.NOT_A_FILE, "not a folder")
        files: dict[str, LoadedFile] = {}
        skipped: list[Refusal] = []
        size = over = 0
        until = time.monotonic() + _FOLDER_SECONDS
        late: tuple[str, ...] = ()
        try:
            for path in walk(place.path, self.excluded, skipped.append, until=until):
                if len(files) >= max_files or size >= max_bytes:
                    over += 1
                    continue
                found = self.roots.resolve(path)
                if isinstance(found, ResolvedPath) and found.key in files:
                    continue
                loaded = (
                    self._load(found, "refuse", False, self.max_bytes)
                    if isinstance(found, ResolvedPath)
                    else found
                )
                if isinstance(loaded, Refusal):
                    skipped.append(loaded)
                else:
                    files[loaded.key] = loaded
                    size += len(loaded.content.text)
        except TimeoutError:
            name = shown_name(place.key or place.root.name)
            late = (f"{name} took too long; the rest of it was left out.",)
        notices = (*skip_notices(skipped, over, len(files)), *late)
        return FolderLoad(tuple(files.values()), tuple(skipped), notices)

    # --- changes ---------------------------------------------------------------------------------

    def refresh(self, entries: Iterable[FileEntry]) -> FileChanges:
        """The listed files whose text has changed, or that can no longer be sent.

        Judged by content hash. A file whose signature on disk is unchanged is not read again.
        """
        changes = FileChanges()
        for entry in entries:
            place = self.roots.resolve(entry.key)
            loaded: LoadedFile | Refusal
            if isinstance(place, Refusal):
                loaded = place
            elif place.key != entry.key:  # a link took the file's place
                loaded = refuse(entry.key, Reason.NOT_FOUND, f"now a link to {place.key}")
            else:
                loaded = self._load(place, "listed", entry.confirmed, self.max_bytes)
            if isinstance(loaded, Refusal):
                if entry.reason != loaded.reason:
                    changes.failed[entry.key] = loaded
            elif (
                loaded.content.sha256 != entry.sha256
                or loaded.dirty != entry.dirty
                or entry.state in ("missing", "refused")
            ):
                changes.changed[entry.key] = loaded
        return changes

    def sync(self, files: FileContext) -> FileChanges:
        """Bring a file context up to date; returns what changed."""
        changes = self.refresh(files.entries())
        for key, loaded in changes.changed.items():
            files.update(key, loaded.content, dirty=loaded.dirty)
        for key, refusal in changes.failed.items():
            files.fail(key, refusal)
        return changes

    # --- the steps -------------------------------------------------------------------------------

    def _leave(
        self,
        place: ResolvedPath,
        ignored: _Ignored,
        secret_ok: bool,
        known: RuleCache | None = None,
    ) -> _Permission | Refusal:
        """Whether the file may be read at all, by its name and place."""
        if not place.key:
            return refuse(place.root.name, Reason.NOT_A_FILE, "a folder")
        kind = secret_kind(place.key) or secret_kind(place.alias)
        if kind and not secret_ok:
            return refuse(place.key, Reason.SECRET, kind)
        rule = self._rule(place.path, known=known) if ignored != "listed" else ""
        if rule and ignored == "refuse":
            return refuse(place.key, Reason.IGNORED, rule)
        return _Permission(kind, rule)

    def _load(
        self, place: ResolvedPath, ignored: _Ignored, secret_ok: bool, cap: int
    ) -> LoadedFile | Refusal:
        with self._lock:
            leave = self._leave(place, ignored, secret_ok)
            if isinstance(leave, Refusal):
                return leave
            found = self._text(place, cap)
            if isinstance(found, Refusal):
                return found
            return self._loaded(place, leave, *found)

    def _loaded(
        self, place: ResolvedPath, leave: _Permission, content: FileText, dirty: bool
    ) -> LoadedFile:
        name = shown_name(place.key)
        warnings: list[str] = []
        if content.facts.guessed:
            warnings.append(f"{name} is not UTF-8; it was read as {content.facts.encoding}.")
        if leave.secret:
            warnings.append(
                f"{name} holds {leave.secret} and is sent as it is, because you confirmed it."
            )
        else:
            content, notices = self._redacted(name, content)
            warnings += notices
        return LoadedFile(
            key=place.key,
            content=content,
            alias=place.alias,
            confirmed=bool(leave.secret or leave.rule),
            once=bool(leave.secret),
            dirty=dirty,
            warnings=tuple(warnings),
        )

    def _text(self, place: ResolvedPath, cap: int) -> tuple[FileText, bool] | Refusal:
        """The text of buffer or disk, and whether the buffer differs from the disk."""
        buffer = self.buffers.get(place.key, self.roots)
        disk = self._from_disk(place, cap)
        if buffer is None:
            return disk if isinstance(disk, Refusal) else (_rendered(place.key, disk), False)
        saved = disk if isinstance(disk, FileText) else None
        if isinstance(buffer, NotebookBuffer):
            shown = notebooks.from_buffer(buffer, saved.text if saved else "")
            text = _view(shown, saved, "notebook")
            return text, saved is None or _rendered(place.key, saved).sha256 != text.sha256
        return self._from_buffer(place, buffer, saved, cap)

    def _from_buffer(
        self, place: ResolvedPath, buffer: Buffer, saved: FileText | None, cap: int
    ) -> tuple[FileText, bool] | Refusal:
        if len(buffer.text) > cap:
            return refuse(place.key, Reason.TOO_LARGE, f"{len(buffer.text):,} characters")
        if "\0" in buffer.text:
            return refuse(place.key, Reason.BINARY)
        text = file_text(buffer.text)
        dirty = saved is None or saved.sha256 != text.sha256
        if saved is not None:
            kept = (
                saved.facts
                if not dirty
                else evolve(
                    saved.facts,
                    line_end=text.facts.line_end,
                    line_ends=text.facts.line_ends,
                    final_newline=text.facts.final_newline,
                )
            )
            text = evolve(text, facts=kept)
        return _rendered(place.key, text), dirty

    def _read(
        self, place: ResolvedPath, cap: int, enough: Callable[[bytes], bool] = lambda _head: False
    ) -> FileBytes | Refusal:
        return read_file(
            place.key, place.path, cap, lambda real: self.roots.inside(real) is not None, enough
        )

    def _from_disk(self, place: ResolvedPath, cap: int) -> FileText | Refusal:
        known = self._disk.get(place.path)
        if known is not None and known.holds(place.path, cap):
            self._disk.move_to_end(place.path)
            return known.raw
        self._disk.pop(place.path, None)
        began = time.time_ns()
        read = self._read(place, cap, lambda head: bool(image_type(head) or binary_kind(head)))
        if isinstance(read, Refusal):
            return read
        if image_type(read.data):
            return refuse(place.key, Reason.IS_IMAGE)
        raw = decode(read.data)
        if isinstance(raw, Reason):
            return refuse(place.key, raw, binary_kind(read.data))
        changed = max(read.signature[3], read.signature[4])
        trusted = os.name != "nt" and began - changed > _RACY_NS
        self._disk[place.path] = _Disk(read.signature, trusted, raw)
        if len(self._disk) > _CACHED:
            self._disk.popitem(last=False)
        return raw

    def _redacted(self, name: str, content: FileText) -> tuple[FileText, tuple[str, ...]]:
        """The text without credentials, cached by hash: scanning is slow, changes are rare."""
        known = self._clean.get(content.sha256)
        if known is None:
            text, findings = secrets.redact(content.text)
            notices: tuple[str, ...] = ()
            clean = content
            if findings:
                kinds = ", ".join(sorted({finding.kind for finding in findings}))
                notices = (f"Credentials in it were replaced by placeholders: {kinds}.",)
                clean = _view(text, content, content.facts.view or "redacted")
            known = self._clean[content.sha256] = (clean, notices)
            if len(self._clean) > _CACHED:
                self._clean.popitem(last=False)
        clean, notices = known
        if not notices:
            return content, ()
        facts = evolve(content.facts, view=content.facts.view or "redacted")
        return evolve(clean, facts=facts), tuple(f"{name}: {notice}" for notice in notices)

    def _rule(self, path: str, folder: bool = False, known: RuleCache | None = None) -> str:
        root = self.roots.inside(path)
        if root is None:
            return ""
        rules = self._ignore.get(root.real)
        if rules is None:
            rules = self._ignore[root.real] = IgnoreRules(root.real, user_file=self._git_excludes)
        return rules.ignored(path, folder=folder, known=known)


def _rendered(key: str, raw: FileText) -> FileText:
    """Notebooks as cells; any other text as it is."""
    if not notebooks.is_notebook(key):
        return raw
    cells = notebooks.from_json(raw.text)
    return raw if cells is None else _view(cells, raw, "notebook")


def _view(text: str, of: FileText | None, kind: str) -> FileText:
    made = file_text(text)
    return evolve(made, facts=evolve(of.facts if of else made.facts, view=kind))
