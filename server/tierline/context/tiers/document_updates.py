"""The updates that the log needs so that the model has every document's current text (freshness).

A changed document gets a difference or its full text, whichever is shorter. A change that is
exactly the model's own edit gets one line, unless the call's result says it already
(``model_edits.py``). A removed document gets a tombstone, a new one its full text, or one line if
the model created it. ``updates.py`` has the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import field, frozen

from tierline.context.items import Item, Section
from tierline.context.tiers import updates
from tierline.context.tiers.base import AppliedEdit, PieceKind
from tierline.context.tiers.logstate import BaseVersion, LogEntry
from tierline.context.tiers.model_edits import KnownVersions


@frozen
class DocumentUpdates:
    """The possible updates of one request."""

    docs: tuple[Item, ...]
    """Documents in their current versions."""
    texts: Mapping[str, str]
    """Rendered texts of earlier versions, by ``Item.sha256``."""
    edits: tuple[AppliedEdit, ...]
    number: int
    """Number of the request."""
    count: Callable[[str], int]
    _memo: dict[tuple[str, str, str], LogEntry] = field(factory=dict, eq=False, repr=False)
    """Updates by key and version, cached: the options of one request share most of them."""

    def since(
        self,
        known: KnownVersions,
        base: Sequence[BaseVersion],
        earlier: Sequence[LogEntry],
        talk: Sequence[Item],
    ) -> list[LogEntry]:
        """The updates from what the model knows by the base, ``earlier`` updates and results, to
        the current documents. ``talk`` is the conversation before them.
        """
        was = {b.key: (b.section, b.path) for b in base}
        was |= {e.key: (e.section, e.path) for e in earlier}
        docs = {doc.key: doc for doc in self.docs}
        first = {b.key: b.sha for b in base}
        gone = [self._gone(key, *was[key]) for key in known.now if key not in docs]
        changed = [doc for doc in docs.values() if known.now.get(doc.key) != doc.sha256]

        def update(doc: Item) -> LogEntry:
            if doc.key not in known.now and known.wrote(doc):
                return self._made(doc)
            if doc.key in known.told and first.get(doc.key) == doc.sha256:
                return self._again(doc)
            path = was.get(doc.key, ("", ""))[1]
            return self._changed(doc, known.whole.get(doc.key, ""), path, talk)

        return gone + [update(doc) for doc in changed]

    def _gone(self, key: str, section: Section, path: str) -> LogEntry:
        text = updates.gone(path or key)
        return LogEntry(key, "", self.count(text), PieceKind.GONE, text, section, path, self.number)

    def _made(self, doc: Item) -> LogEntry:
        """A file that the model created came into the context: its call has the text."""
        return self._entry(doc, PieceKind.CONFIRMED, updates.made(updates.of_item(doc)))

    def _again(self, doc: Item) -> LogEntry:
        """The model's own edits were undone: the document is again that of the base."""
        text = updates.again(updates.of_item(doc), first=True)
        return self._entry(doc, PieceKind.DELTA, text)

    def _changed(self, doc: Item, known: str, path: str, talk: Sequence[Item]) -> LogEntry:
        edit = self._applied(doc, known, talk)
        memo = (doc.key, known, edit.reference if edit is not None else "")
        if memo not in self._memo:
            self._memo[memo] = self._entry(doc, *self._said_of(doc, known, path, edit))
        return self._memo[memo]

    def _entry(self, doc: Item, kind: PieceKind, text: str) -> LogEntry:
        """An update of a document to its current version."""
        return LogEntry(
            doc.key, doc.sha256, self.count(text), kind, text, doc.section, doc.path, self.number
        )

    def _said_of(
        self, doc: Item, known: str, path: str, edit: AppliedEdit | None
    ) -> tuple[PieceKind, str]:
        """The text of an update, the same at every request as long as the document is."""
        key = f"update {type(self).__name__} {known} {path} {edit.reference if edit else ''}"
        words: tuple[PieceKind, str] | None = doc.memo.get(key)
        if words is None:
            words = self._words(doc, known, path, edit)
            if known in self.texts:
                doc.memo[key] = words
        return words

    def _words(
        self, doc: Item, known: str, path: str, edit: AppliedEdit | None
    ) -> tuple[PieceKind, str]:
        now = updates.of_item(doc)
        if known not in self.texts:
            return PieceKind.FULL, updates.full(now)
        before = updates.content_of(doc.key, path, self.texts[known])
        if edit is not None and before.name == now.name and before.plain and now.plain:
            return PieceKind.CONFIRMED, updates.confirmed(before, now, edit.reference)
        return updates.change(before, now)

    def _applied(self, doc: Item, known: str, talk: Sequence[Item]) -> AppliedEdit | None:
        """The model's own edit that leads from the version that it knows to the current one, if its
        proposal is in the conversation before.
        """
        for edit in self.edits:
            if (
                (edit.item, edit.before, edit.after) == (doc.key, known, doc.sha256)
                and edit.reference
                and not any(c.isspace() for c in edit.reference)
                and any(item.key == edit.history for item in talk)
            ):
                return edit
        return None
