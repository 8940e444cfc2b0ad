"""The candidates of a request: their sources, and the snapshot that they are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from tierline import prompts
from tierline.config import CacheConfig
from tierline.context.blocks import Maker, Text
from tierline.context.counting import TokenCounter
from tierline.context.fileentry import FileEntry
from tierline.context.items import Item, Section
from tierline.context.limits import Limits
from tierline.context.mode import ContextMode
from tierline.context.models import ModelFacts
from tierline.context.plan import PlanEntry
from tierline.context.prompt import PromptBlock, Thinking, ToolSpec
from tierline.context.tiers.base import AppliedEdit, CacheState, Signals
from tierline.history.isolation import isolate
from tierline.history.messages import Message
from tierline.history.rendered_history import FormCache, write
from tierline.history.selection import Strategy, select
from tierline.session.edits.service import EditService
from tierline.session.files.churn import ChurnService
from tierline.session.files.instructions import InstructionService
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.memory.anchor import Anchor
from tierline.session.memory.levels import MemoryService, MemoryView
from tierline.session.memory.memos import MemoService
from tierline.session.retrieval.capsules import CapsuleService
from tierline.session.retrieval.semantic import SemanticRanking
from tierline.session.retrieval.service import AutomaticContext, RetrievalService
from tierline.session.state.turn import Turn
from tierline.session.tools.toolbox import ToolService, tools_items
from tierline.store.group_search import GroupSearch

HEAD = prompts.read("system")


@frozen
class RequestSnapshot:
    """Everything that a request depends on, taken at one moment on the event loop."""

    facts: ModelFacts
    strategy: str
    mode: ContextMode
    limits: Limits
    messages: tuple[Message, ...]
    files: tuple[Item, ...]
    absent: tuple[PlanEntry, ...]
    instructions: tuple[Item, ...] = ()
    """AGENTS.md and its like."""
    maker: Maker = field(factory=Maker)
    """The model that reads the request and gets its own thinking back."""
    reasoned: bool = False
    """The service refuses calls without the thinking that led to them."""
    refused: frozenset[str] = frozenset()
    """Prefixes of thinking that the service has refused."""
    thinking: Thinking = field(factory=Thinking)
    group_id: str = ""
    tail: tuple[PromptBlock, ...] = ()
    memos: tuple[Item, ...] = ()
    urls: tuple[Item, ...] = ()
    """Web pages that the user added."""
    session_id: str = ""
    branch: str = "main"
    after_overflow: bool = False
    compaction_failed: bool = False
    """The last compaction failed: old history is cut if it grows to twice the trigger."""
    selection: str = "full"
    window: int = 0
    query: str = ""
    """Query of a ranked selection."""
    search: GroupSearch | None = None
    meaning: SemanticRanking | None = None
    cache: CacheConfig = field(factory=CacheConfig)
    sent: CacheState = field(factory=CacheState)
    now: float = 0.0
    """Seconds since the epoch."""
    dirty: tuple[str, ...] = ()
    """Keys of files whose buffers are not saved."""
    churn: Mapping[str, float] = field(factory=dict)
    """Probability that a file changes by the next request, by key, from git's history."""
    notes: tuple[Item, ...] = ()
    """History guidelines, Global Anchor, scratchpad."""
    automatic: AutomaticContext = field(factory=AutomaticContext)
    """Module map, held cards, touchpoints."""
    memory: MemoryView | None = None
    """The conversation as the ``levels`` selection sends it, or pieces recalled from the summarised
    part.
    """
    tools: tuple[ToolSpec, ...] = ()
    """Tools that the model may call, in canonical order."""
    edits: tuple[AppliedEdit, ...] = ()
    """The model's edits that were applied exactly as proposed."""


@define
class ItemCache:
    """The items of the last request. Nearly all of the next one's are equal; reusing the objects
    keeps the values cached in them (``Item.memo``).
    """

    atoms: FormCache = field(factory=FormCache)
    _items: dict[str, Item] = field(factory=dict)
    _fits: tuple[object, ...] = ()

    def fit(self, counter: TokenCounter) -> None:
        """Forget everything if the counter is another one or was calibrated since."""
        now = (counter.model, counter.ratio, counter.accuracy)
        if now != self._fits:
            self.atoms.clear()
            self._items.clear()
            self._fits = now

    def same(self, items: Iterable[Item]) -> list[Item]:
        """The items, each replaced by the known object if that is equal."""
        found = []
        for item in items:
            old = self._items.get(item.key)
            if old is None or old != item:
                old = self._items[item.key] = item
            found.append(old)
        return found

    def keep(self, items: Iterable[Item]) -> None:
        """Forget items that are no longer candidates."""
        self._items = {i.key: i for i in items if i.section is not Section.HISTORY}


@frozen
class Candidates:
    """The candidates of a request."""

    items: tuple[Item, ...]
    """Sent items in the form in which they were sent, and new ones."""
    anew: Mapping[str, Item | None] = field(factory=dict)
    """For items that a rewrite would change, by key: the rewritten item, or None if it
    would leave.
    """

    def rewritten(self) -> tuple[Item, ...]:
        """The candidates if everything is written anew."""
        found = (self.anew.get(item.key, item) for item in self.items)
        return tuple(item for item in found if item is not None)


def gather(snapshot: RequestSnapshot, counter: TokenCounter, known: ItemCache) -> Candidates:
    """Everything that may go into the request. Items that have not changed since the last request
    are the same objects.
    """
    known.fit(counter)
    head = Item.of_text(
        "system:head", Section.SYSTEM, HEAD, counter.count(HEAD), priority=100, required=True
    )
    selected = [
        Item.of_text(
            block.key,
            Section.PROMPT,
            block.block.text,
            counter.count(block.block),
            volatile=True,
            priority=70,
            origin="named by you" if block.key.startswith(NAMED) else "selected in the editor",
        )
        for block in snapshot.tail
        if isinstance(block.block, Text)
    ]
    recalled = snapshot.memory.items(counter.count) if snapshot.memory is not None else ()
    definitions = tools_items(snapshot.tools, counter)
    documents = (*snapshot.instructions, *snapshot.notes, *snapshot.urls, *snapshot.files)
    # What the prompt refers to comes first, since the mode limits automatic context.
    found = (*recalled, *snapshot.automatic.items, *snapshot.memos)
    conversation = write(
        _history(snapshot),
        (*found, *selected),
        snapshot.sent.transcript,
        group_id=snapshot.group_id,
        count=counter.count,
        known=known.atoms,
    )
    before = known.same((head, *definitions, *documents))
    items = (*before, *conversation.items, *known.same(conversation.tail))
    return Candidates(items, conversation.anew)


def _history(snapshot: RequestSnapshot) -> Sequence[Message]:
    """The messages that are sent: those of the memory if it selects, else by the strategy."""
    # Without tools their calls cannot be sent either: Anthropic refuses the one without the other.
    strategy = snapshot.strategy if snapshot.tools else "text"
    levels = snapshot.memory.messages if snapshot.memory is not None else None
    chosen = snapshot.messages if levels is None else levels
    messages = isolate(chosen, strategy, snapshot.maker, reasoned=snapshot.reasoned)
    if snapshot.meaning is not None and snapshot.selection == Strategy.RANKED:
        snapshot.meaning.preload(messages)
    return select(
        messages,
        strategy=snapshot.selection,
        size=snapshot.window,
        query=snapshot.query,
        search=snapshot.search.over(messages) if snapshot.search else None,
        semantic=snapshot.meaning.over(messages) if snapshot.meaning else None,
    )


def signals_of(snapshot: RequestSnapshot) -> dict[str, Signals]:
    """Signals of items: rank in the reference graph, unsaved buffers, churn."""
    signals = dict(snapshot.automatic.signals)
    for key in snapshot.dirty:
        signals[key] = evolve(signals.get(key, Signals()), dirty=True)
    for key, chance in snapshot.churn.items():
        signals[key] = evolve(signals.get(key, Signals()), churn=chance)
    return signals


def selection_of(strategy: str, window: int) -> str:
    """The selection: ``window`` if a window is set, although the strategy is ``full``."""
    return "window" if strategy == "full" and window > 0 else strategy


NAMED = "prompt:named:"
"""Key prefix of items that the prompt mentions."""


def tail_of(turn: Turn | None) -> tuple[PromptBlock, ...]:
    """Items for this prompt alone, which go last: its mentions, and what the user looks at. A text
    that is part of the latter is not sent twice.
    """
    if turn is None:
        return ()
    named = [
        PromptBlock(Text(one.text), f"{NAMED}{number}")
        for number, one in enumerate(turn.attached)
        if one.text and one.text not in turn.editor_text
    ]
    if turn.editor_text:
        return (*named, PromptBlock(Text(turn.editor_text), "prompt:editor"))
    return tuple(named)


def absent_of(entry: FileEntry) -> PlanEntry:
    """A listed file that cannot be sent, with the reason."""
    return PlanEntry(
        key=f"file:{entry.key}",
        section=Section.FILES,
        tokens=0,
        code=entry.reason,
        reason=entry.sentence,
        path=entry.key,
    )


@frozen
class Sources:
    """The services that are asked, each once for every request."""

    files: FileService
    instructions: InstructionService
    urls: UrlService
    retrieval: RetrievalService
    capsules: CapsuleService
    memory: MemoryService
    memos: MemoService
    anchor: Anchor
    meaning: SemanticRanking
    churn: ChurnService
    edits: EditService
    tools: ToolService
