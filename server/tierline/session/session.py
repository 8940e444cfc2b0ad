"""The session: one workspace with its conversation, its files, its model and its turns."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tierline import __version__, config
from tierline import protocol as p
from tierline.context.files import FileContext
from tierline.disk import ownership
from tierline.errors import TierlineError
from tierline.folder import FOLDER
from tierline.mcpservers.definitions import ServerDefinition
from tierline.providers.editor_port import EditorPort
from tierline.session.caching.changes import ChangeService
from tierline.session.caching.keepalive import KeepAliveService
from tierline.session.caching.service import CacheService
from tierline.session.compaction.service import CompactionService
from tierline.session.consents import ConsentService
from tierline.session.conversation import Conversation
from tierline.session.counting import make_counters
from tierline.session.edits.service import EditService
from tierline.session.events import EventBus
from tierline.session.files.churn import ChurnService
from tierline.session.files.instructions import InstructionService
from tierline.session.files.service import FileService
from tierline.session.files.sizes import FileSizes
from tierline.session.files.urls import UrlService
from tierline.session.history.back import BackService
from tierline.session.history.external_changes import ExternalChangesService
from tierline.session.history.import_export import ImportExport
from tierline.session.history.new_session import NewSessionService
from tierline.session.history.service import HistoryService
from tierline.session.memory.anchor import Anchor
from tierline.session.memory.levels import MemoryService
from tierline.session.memory.memos import MemoService
from tierline.session.memory.scratchpad import ScratchpadService
from tierline.session.memory.tools import note_tools
from tierline.session.mentions.completion import CompletionService
from tierline.session.mentions.resolver import MentionResolver
from tierline.session.mentions.service import MentionService
from tierline.session.model_questions import ModelQuestions
from tierline.session.models import ModelService, problems
from tierline.session.requests.candidates import Sources
from tierline.session.requests.composer import Composer
from tierline.session.requests.plans import PlanService
from tierline.session.retrieval.capsules import CapsuleService
from tierline.session.retrieval.pins import PinService
from tierline.session.retrieval.semantic import SemanticRanking
from tierline.session.retrieval.service import RetrievalService
from tierline.session.retrieval.symbols import Progress, SymbolService
from tierline.session.retrieval.tools import code_tools
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.plan import LastPlan
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue
from tierline.session.texts import redact
from tierline.session.tools.commands import CommandService
from tierline.session.tools.servers import ServerService
from tierline.session.tools.toolbox import ToolService
from tierline.session.turns.asks import AskService
from tierline.session.turns.drafts import DraftService
from tierline.session.turns.reflection import ReflectionService
from tierline.session.turns.spending import SpendingGuard
from tierline.session.turns.toolloop import RoundRunner
from tierline.session.turns.turn import TurnRunner
from tierline.session.turns.waiting_prompts import WaitingPrompts
from tierline.session.workbench import Workbench
from tierline.store.plans import PlanStore
from tierline.store.readonly_copy import ReadOnlyCopy
from tierline.store.retrieval import RetrievalStore
from tierline.store.sessions import HistoryStore
from tierline.store.usage import UsageStore
from tierline.tools import running
from tierline.workspace import git
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots

log = logging.getLogger(__name__)

BUDGET_DELAY_SECONDS = 0.15
"""Edits come in bursts: the budget is counted after a pause of this length."""


class Session:
    """Wires the parts and answers for the protocol edge. Used from the event loop's thread."""

    def __init__(  # noqa: PLR0915 (one list, top to bottom)
        self,
        folders: Sequence[tuple[str, str]],
        *,
        editor_settings: Mapping[str, Any],
        publish: Callable[[p.Event], None],
        text_documents: Callable[[], Mapping[str, Any]] = dict,
        notebook_documents: Callable[[], Mapping[str, Any]] = dict,
        editor: EditorPort | None = None,
        mcp_servers: Sequence[ServerDefinition] = (),
        progress: Progress | None = None,
        workbench: Workbench | None = None,
        read_only: bool = False,
    ) -> None:
        """``read_only``: nothing is written, no interrupted reply is recovered, nothing
        is indexed.
        """
        self._unseen = ReadOnlyCopy()
        self.roots = roots = Roots.from_uris(folders)
        self._kept = self._home(trusted=config.trusted(editor_settings), make=not read_only)
        self.home = home = self._kept.folder
        settings, self._problems = config.load(self._settings_in(editor_settings), editor_settings)
        mode = p.ContextMode(settings.context.mode)
        self.preferences = preferences = Preferences(settings, mode, read_only=read_only)
        self.bus = bus = EventBus(publish)
        bus.on_context = self._budget_soon
        self.queue = queue = TurnQueue()
        self.workbench = workbench = workbench or Workbench()
        self._budget_task: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._shown: list[p.FileInfo] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mcp_servers = mcp_servers
        store = HistoryStore(
            self.home.parent,
            redact=(lambda text: redact(text)[0])
            if self.settings.privacy.redact_persisted
            else None,
            on_notice=lambda found: self._later(found.code, found.text),
            read_only=read_only,
        )
        self.counters = counters = make_counters(home)
        self.loader = loader = Loader(
            roots,
            Buffers(text_documents, notebook_documents),
            max_bytes=self.settings.context.max_file_bytes,
        )
        self.conversation = conversation = Conversation(store, preferences)
        self.drafts = drafts = DraftService(conversation)
        self.models = models = ModelService(bus, preferences, queue, counters, editor)
        common = bus, preferences, queue, conversation, models
        usage = UsageStore(self.database("usage"))
        self.asker = asker = ModelQuestions(models, conversation, usage)
        self.consents = consents = ConsentService(bus, workbench)
        self.snapshots = snapshots = SnapshotService(bus, preferences, loader, workbench, home)
        self.tools = tools = ToolService(bus, preferences, models, loader, workbench)
        models.why_no_tools = tools.without
        conversation.title = tools.title
        self.shell = shell = CommandService(
            bus, preferences, roots, tools, consents, workbench, snapshots
        )
        self.servers = servers = ServerService(bus, preferences, roots, tools, consents, snapshots)
        context = FileContext()
        self.sizes = sizes = FileSizes(context, models, preferences)
        self.last_plan = last_plan = LastPlan()
        self.files = files = FileService(bus, conversation, loader, context, sizes, last_plan)
        snapshots.known = files.paths
        self.instructions = instructions = InstructionService(
            bus, preferences, models, files, last_plan, home
        )
        self.churn = churn = ChurnService(roots, context)
        self.urls = urls = UrlService(
            bus, preferences, conversation, models, consents, home, last_plan
        )
        self.symbols = symbols = SymbolService(
            bus, preferences, models, tools, loader, home, progress
        )
        self.capsules = capsules = CapsuleService(
            bus, conversation, models, asker, loader, context, home
        )
        retrieved = RetrievalStore(self.database("retrieval"))
        self.retrieval = retrieval = RetrievalService(
            preferences, queue, conversation, models, files, symbols, capsules, retrieved
        )
        self.pins = pins = PinService(bus, files, sizes, symbols, retrieval, last_plan)
        retrieval.on_pins = pins.publish
        self.meaning = meaning = SemanticRanking(self.settings.memory, self.database("vectors"))
        self.memory = memory = MemoryService(*common, meaning)
        self.memos = memos = MemoService(bus, conversation, home)
        self.scratchpad = scratchpad = ScratchpadService(bus, conversation)
        self.anchor = anchor = Anchor(*common, asker)
        self.edits = edits = EditService(
            bus, preferences, conversation, tools, loader, workbench, snapshots
        )
        sources = Sources(
            files,
            instructions,
            urls,
            retrieval,
            capsules,
            memory,
            memos,
            anchor,
            meaning,
            churn,
            edits,
            tools,
        )
        plan_store = PlanStore(self.database("plans"))
        self.composer = composer = Composer(
            preferences, queue, conversation, models, counters, sources, plan_store, last_plan, home
        )
        self.plans = plans = PlanService(
            composer, files, urls, plan_store, conversation, retrieval.candidates
        )
        self.cache = cache = CacheService(
            preferences, conversation, models, counters, composer, usage
        )
        self.changes = ChangeService(preferences, models, composer, cache, consents)
        self.keep_alive = keep_alive = KeepAliveService(
            preferences, queue, conversation, models, composer, cache
        )
        self.compaction = compaction = CompactionService(
            *common, asker, composer, memory, self.state
        )
        composer.compaction_failed = lambda: compaction.failed
        kinds = MentionResolver(
            conversation, models, files, urls, symbols, retrieval.reader, memos, workbench
        )
        self.mentions = mentions = MentionService(files, urls, kinds)
        self.completion = CompletionService(conversation, files, urls, symbols, memos, workbench)
        self.reflection = reflection = ReflectionService(bus, preferences, conversation, edits)
        self.waiting = waiting = WaitingPrompts(bus, queue, conversation, mentions)
        rounds = RoundRunner(
            bus,
            preferences,
            conversation,
            models,
            tools,
            servers,
            urls,
            edits,
            anchor,
            composer,
            cache,
            drafts,
            SpendingGuard(preferences, conversation, models, cache, consents),
            waiting,
        )
        self.turns = turns = TurnRunner(
            *common,
            files,
            mentions,
            compaction,
            cache,
            keep_alive,
            drafts,
            reflection,
            rounds,
            waiting,
            workbench,
            snapshots,
            self.after_turn,
        )
        self.asks = AskService(files, turns, workbench)
        self.history = history = HistoryService(
            *common, files, urls, edits, composer, plans, compaction, turns, self.state
        )
        self.new_sessions = NewSessionService(
            bus, preferences, models, files, urls, history, workbench
        )
        self.back = BackService(bus, preferences, queue, conversation, loader, snapshots, workbench)
        self.exchange = ImportExport(history, conversation, plans)
        self.following = ExternalChangesService(bus, queue, conversation)
        notes = note_tools(conversation, scratchpad, memos)
        effects = (edits.tool, shell.tool)
        for tool in (*notes, *code_tools(retrieval), *effects):
            tools.registry.add(tool)
        for kept in (plan_store, usage, retrieved):
            kept.on_damage = lambda text: self._later("damaged", text)

    # --- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Restore the newest session with its files and pins. Never raises: problems become
        notices.
        """
        read_only = self.preferences.read_only
        self._loop = asyncio.get_running_loop()
        self.counters.warn = lambda text: self._later("counting", text)
        if not read_only:
            await self.drafts.recover()
        if self.settings.history.restore:
            try:
                restored = await self.conversation.restore_newest()
                if restored is not None:
                    await self.turns.complete_earlier()
                    await asyncio.to_thread(self.files.restore, restored.files)
                    await asyncio.to_thread(self.urls.restore, restored.urls)
                    await self.edits.load()
            except (OSError, TierlineError) as error:
                unexpected = error if isinstance(error, OSError) else None
                log.warning("The last session was not restored", exc_info=unexpected)
                self.bus.notice("warning", f"The last session was not restored: {error}", "restore")
        self.bus.session_id = self.conversation.session_id
        await self.back.recover()
        await self.models.start()
        self.symbols.start()
        if not read_only:
            self.servers.start(self._mcp_servers)
            self.following.start()
        for problem in self._problems:
            self.bus.notice("warning", f"{problem.message} (from {problem.where})", "settings")
        if not read_only and await asyncio.to_thread(ownership.should_notify, self._kept):
            self.bus.notice("warning", self._kept.why, "folder")
        for text in (*problems(self.settings), *self.urls.lost()):
            self.bus.notice("warning", text, "settings")

    async def close(self) -> None:
        """Stop running work, store its state, release all resources."""
        if self._budget_task is not None:
            self._budget_task.cancel()
        self.keep_alive.stop()
        self.following.close()
        self.history.close()
        self.edits.close()
        await self.churn.close()
        await self.compaction.close()
        await self.turns.close()
        await self.servers.close()
        await self.cache.close()
        await self.symbols.close()
        await self.models.close()
        await asyncio.to_thread(self.meaning.close)
        self.memory.close()
        self.reflection.close()
        self.composer.close()
        self.retrieval.close()
        self.conversation.store.close()
        self._unseen.close()

    def abandon(self) -> None:
        """Without time for ``close``: kill child processes that would outlive this one."""
        running.end_all()
        git.end_all()

    def configure(self, editor_settings: Mapping[str, Any]) -> None:
        """Apply new settings from the editor; a running turn keeps the old ones."""
        before = self.settings
        where = self._settings_in(editor_settings)
        self.preferences.settings, found = config.load(where, editor_settings)
        for problem in found:
            self.bus.notice("warning", f"{problem.message} (from {problem.where})", "settings")
        if before.context.mode != self.settings.context.mode:
            self.preferences.mode = p.ContextMode(self.settings.context.mode)
            self.bus.publish(p.ModeChanged(self.mode))
        if before.provider != self.settings.provider:
            self.bus.publish(p.ProviderChanged(self.models.info()))
        self.symbols.configured()
        self.symbols.refresh_soon()
        self.bus.context_changed()
        self.spawn(self._forewarn(before))

    async def _forewarn(self, was: config.Settings) -> None:
        if sentence := await self.changes.after(was):
            self.bus.notice("warning", sentence, "cache")

    # --- requests --------------------------------------------------------------------------------

    async def budget(self, _params: p.NoParams) -> p.Budget:
        """The next request as it would be sent now."""
        return (await self.composer.preview()).budget

    async def state(self, _params: p.NoParams) -> p.State:
        """The whole state for a client."""
        await self.edits.refresh()
        budget = (await self.composer.preview()).budget
        files = await self.files.shown()
        turn = self.queue.current
        return p.State(
            seq=self.bus.seq,
            session_id=self.conversation.session_id,
            branch=self.conversation.branch,
            messages=self.conversation.shown(),
            files=files,
            budget=budget,
            mode=self.mode,
            provider=self.models.info(),
            busy_turn=turn.group_id if turn else "",
            partial_text="".join(turn.round.shown) if turn else "",
            version=__version__,
            root=str(self.roots.primary or self.home.parent),
            compacting=self.compaction.running,
            consents=self.consents.open(),
            queue=self.waiting.shown(),
            edits=self.edits.infos(),
        )

    async def set_mode(self, params: p.ModeParams) -> p.ModeResult:
        """Set the context mode, or cycle off, light, heavy."""
        self.preferences.mode = p.ContextMode(params.mode) if params.mode else self.mode.next
        self.bus.publish(p.ModeChanged(self.mode))
        self.symbols.refresh_soon()
        self.bus.context_changed()
        return p.ModeResult(mode=self.mode)

    # --- notifications ---------------------------------------------------------------------------

    def documents_changed(self, uris: Sequence[str]) -> None:
        """Buffers or files on disk may have changed."""
        self.keep_alive.active()
        self.symbols.documents_changed(uris)
        if self.files.touched(uris):
            self.bus.context_changed(files=True)

    def files_renamed(self, pairs: Sequence[tuple[str, str]]) -> None:
        """The editor renamed or moved files or folders."""
        self.symbols.documents_changed([uri for pair in pairs for uri in pair])
        self.spawn(self.files.renamed(pairs))

    def roots_changed(self, folders: Sequence[tuple[str, str]]) -> None:
        """The set of workspace folders changed."""
        self.spawn(self.files.roots_changed(self.roots.replace(folders)))
        self.symbols.roots_changed()

    def _later(self, code: str, text: str) -> None:
        """A notice from a worker thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.bus.notice, "warning", text, code)

    # --- for the parts ---------------------------------------------------------------------------

    def database(self, name: str) -> Path:
        """Path of a SQLite file of the workspace; a read-only session gets a copy."""
        path = self.home / f"{name}.sqlite3"
        return self._unseen.place(path) if self.preferences.read_only else path

    @property
    def left_aside(self) -> Path | None:
        """A ``.tierline`` in the workspace that is not used."""
        return self._kept.aside

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""
        return self.preferences.settings

    @property
    def mode(self) -> p.ContextMode:
        """The context mode."""
        return self.preferences.mode

    def _budget_soon(self, files: bool) -> None:
        if self._budget_task is None or self._budget_task.done():
            self._budget_task = asyncio.ensure_future(self._publish_budget(files))

    async def after_turn(self, group_id: str) -> None:
        """Called after a turn: ends its leases and publishes the budget."""
        self.files.context.end_scope(f"turn:{group_id}")
        await self.retrieval.finished(group_id)
        self.bus.context_changed(files=True)
        self.keep_alive.begin()
        self.compaction.soon()

    async def _publish_budget(self, files: bool) -> None:
        await asyncio.sleep(BUDGET_DELAY_SECONDS)
        try:
            composed = await self.composer.preview()
        except TierlineError as error:
            self.bus.notice("error", f"{error.message} {error.advice}", error.code)
            return
        except Exception:
            log.exception("The budget could not be counted")
            return
        infos = await self.files.shown()
        if files or infos != self._shown:
            self._shown = infos
            self.bus.publish(p.FilesChanged(infos))
        self.bus.publish(p.BudgetChanged(composed.budget))

    def spawn(self, work: Any) -> None:
        """Run ``work`` in a background task."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _home(self, *, trusted: bool, make: bool) -> ownership.Home:
        root = self.roots.primary
        if root is None:
            return ownership.Home(Path(tempfile.mkdtemp(prefix="tierline-")) / FOLDER)
        chosen = ownership.home(Path(root), trusted=trusted)
        return ownership.prepare(chosen) if make else chosen

    def _settings_in(self, editor_settings: Mapping[str, Any]) -> Path:
        """The workspace folder whose settings file counts; in Restricted Mode the file is only
        mentioned.
        """
        root = self.roots.primary
        if root is not None and not config.trusted(editor_settings):
            return Path(root)
        return self.home.parent
