"""The language model in force: its choice, keys, consent and facts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from attrs import evolve

from tierline import protocol as p
from tierline.config import Settings
from tierline.context import model_texts
from tierline.context.blocks import Maker
from tierline.context.counting import TokenCounter
from tierline.context.effort import Effort, choices, nearest, thinking
from tierline.context.images import ImageRule
from tierline.context.models import ModelFacts
from tierline.context.prompt import Thinking
from tierline.errors import TierlineError
from tierline.providers.base import Provider, ProviderError, RenderedRequest
from tierline.providers.choice import ProviderChoice
from tierline.providers.choose import (
    LocalServer,
    ProviderSettings,
    choose,
    make,
    probe_loopback,
    with_api,
)
from tierline.providers.editor_port import EditorModel, EditorPort
from tierline.providers.gguf import find_model
from tierline.providers.overflows import Overflow
from tierline.providers.registry import (
    COMPATIBLE,
    OWN_HOSTS,
    SPECS,
    ProviderSpec,
    of_origin,
    official,
    spec,
)
from tierline.providers.server_facts import said_by
from tierline.session.counting import Counters
from tierline.session.events import EventBus
from tierline.session.model_catalogue import ModelCatalogue, presets
from tierline.session.profiles import ServerProfiles, profiled
from tierline.session.state.preferences import Preferences
from tierline.session.state.thinking_refusals import ThinkingRefusals
from tierline.session.state.turn import TurnQueue

MAX_BODY_BYTES = 32_000_000
"""Bytes; Anthropic accepts this much, others as much or more. A refusal lowers it."""
_SMALLER_BODY = 0.6


class ModelService:
    """Nothing is connected or loaded before the first prompt."""

    def __init__(
        self,
        bus: EventBus,
        preferences: Preferences,
        queue: TurnQueue,
        counters: Counters,
        editor: EditorPort | None = None,
        profiles: ServerProfiles | None = None,
    ) -> None:
        self._profiles = profiles or ServerProfiles()
        self._bus = bus
        self._preferences = preferences
        self._queue = queue
        self._editor = editor
        self._offered: tuple[EditorModel, ...] = ()
        self._table = counters.table
        self._counters = counters
        self._secrets: dict[str, str] = {}
        self._override: p.ProviderSelectParams | None = None
        self._consent = preferences.settings.provider.use_local_server
        self._found: tuple[LocalServer, ...] | None = None
        self._provider: Provider | None = None
        self._other: tuple[ProviderChoice, Provider] | None = None
        """The provider for a model other than the chat's (compaction)."""
        self._made_for: ProviderChoice | None = None
        self.why_no_tools: Callable[[], str] = str
        """Why the model is offered no tools, for the user; set by the toolbox."""
        self._held: ProviderChoice | None = None
        self.catalogue = ModelCatalogue(counters.table, self._settings, self._secrets)
        self._asked: set[tuple[str, str]] = set()
        """Servers and models whose own facts were asked for."""
        self._asking: asyncio.Task[None] | None = None
        self._counting: asyncio.Task[None] | None = None
        self._told: set[str] = set()
        """Unknown models about which the user was told."""
        self.thinking_refusals = ThinkingRefusals()

    async def start(self) -> None:
        """Ask the editor for its models if the settings want one of them."""
        if _is_editors(self._settings().kind):
            await self._ask_editor()

    # --- requests --------------------------------------------------------------------------------

    async def listed(self, _params: p.NoParams) -> p.ProviderListResult:
        """Every provider, whether it can be used, and what to do if not."""
        await self._probe()
        active = self.choice()
        infos = []
        for row in SPECS:
            if row.origin == "editor":
                continue
            rare = row.key_variable and not row.automatic
            try:
                choice = self._choose(evolve(self._settings(), kind=row.name))
            except ProviderError as error:
                if not rare:
                    infos.append(_shown(row, why=f"{error.message} {error.advice}"))
                continue
            chosen = active is not None and active.spec == row and not active.found
            if rare and not chosen and not choice.endpoint.key:
                continue
            infos.append(
                _shown(
                    row, model=choice.model, why=choice.why, active=chosen, base_url=choice.base_url
                )
            )
        infos += self._elsewhere(active)
        return p.ProviderListResult(providers=infos, presets=presets())

    def _elsewhere(self, active: ProviderChoice | None) -> Iterator[p.ProviderInfo]:
        """The editor's models, and the servers that were found on this machine."""
        if self._offered:
            row = of_origin("editor")
            its = active.model if active is not None and active.spec == row else ""
            labels = [model.label for model in self._offered]
            yield _shown(
                row,
                model=its or labels[0],
                why="The editor offers these models.",
                models=labels,
                active=bool(its),
            )
        for found in self._found or ():
            yield p.ProviderInfo(
                found.name,
                self._consent,
                found.models[0] if found.models else "",
                f"{found.name} runs on this machine.",
                models=list(found.models),
                active=active is not None and active.found == found.name,
                needs_consent=not self._consent,
                base_url=found.base_url,
                title=found.name,
                origin="found",
            )

    async def select(self, params: p.ProviderSelectParams) -> p.ProviderInfo:
        """Choose a model for this session; an empty name returns to the settings' choice.

        Raises:
            TierlineError: ``conflict`` while a reply streams; ``no_provider`` if it cannot be used.
        """
        if self._queue.current is not None:
            raise TierlineError("conflict", "A reply is still streaming.", "Stop it first.")
        if params.consent:
            self._consent = True
            await self._probe()
        if _is_editors(params.name):
            await self._ask_editor()
        self._override = params if params.name or params.model or params.base_url else None
        try:
            self._choose(self._settings())
        except ProviderError as error:
            if self._override is not None:  # returning to the settings is always possible
                self._override = None
                raise TierlineError("no_provider", error.message, error.advice) from error
        return await self._changed()

    async def set_key(self, params: p.ProviderKeyParams) -> p.ProviderInfo:
        """Take a key from the editor's secret storage; it lives in this process's memory only.

        Raises:
            TierlineError: ``bad_request``: the provider takes none.
        """
        row = spec(params.provider)
        if row is None or not row.key_variable:
            raise TierlineError(
                "bad_request", f"There is no provider {params.provider!r} that takes a key."
            )
        if params.key:
            self._secrets[params.provider] = params.key
        else:
            self._secrets.pop(params.provider, None)
        return await self._changed()

    async def effort(self, params: p.EffortParams) -> p.EffortResult:
        """Set the effort, from the next request on.

        Raises:
            TierlineError: ``invalid_params`` if this model does not have the effort.
        """
        facts = self.facts()
        known = choices(facts)
        if params.effort and params.effort not in (*known, "auto"):
            raise TierlineError(
                "invalid_params",
                f"{facts.name} cannot be told to think with the effort {params.effort}.",
                f"Choose {', '.join(known)}." if known else "Choose a model that thinks.",
            )
        if params.effort:
            self._preferences.effort_now = params.effort
            await self._changed()
        wanted = self._preferences.effort
        return p.EffortResult(wanted, nearest(facts, wanted), list(known))

    # --- for the turn ----------------------------------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the current choice during a turn: changes take effect with the next turn."""
        self._held = self.choice()
        try:
            yield
        finally:
            self._held = None

    async def provider(self) -> Provider:
        """The provider to send to, made on first use.

        Raises:
            TierlineError: ``no_provider``, with the ways to get one.
        """
        try:
            choice = self._held or self._choose(self._settings())
        except ProviderError as error:
            raise TierlineError("no_provider", error.message, error.advice) from error
        if self._provider is None or choice != self._made_for:
            await self.close()
            self._provider, self._made_for = self._made(choice), choice
        return self._provider

    async def provider_named(self, model: str) -> tuple[Provider, ModelFacts]:
        """The provider in force, with another model of its own if ``model`` names one.

        Raises:
            TierlineError: ``no_provider``.
        """
        if not model or model == self.facts().name:
            return await self.provider(), self.facts()
        try:
            choice = self._choose(evolve(self._settings(), model=model))
        except ProviderError as error:
            raise TierlineError("no_provider", error.message, error.advice) from error
        if self._other is None or self._other[0] != choice:
            if self._other is not None:
                await self._other[1].close()
            self._other = (choice, self._made(choice))
        return self._other[1], self._facts_of(choice, own=True)

    @property
    def strategy(self) -> str:
        """The parsing strategy of the provider in force; ``text`` without one."""
        choice = self.choice()
        return choice.strategy if choice is not None else "text"

    @property
    def maker(self) -> Maker:
        """The model that answers, as its thinking is tagged."""
        choice = self.choice()
        if choice is None:
            return Maker()
        host = urlsplit(choice.base_url).netloc
        return Maker(choice.kind if host in OWN_HOSTS else host, choice.model)

    def thinking(self, facts: ModelFacts, wanted: Effort | None = None) -> Thinking:
        """How a model is asked to think: by the user's effort, unless ``wanted`` names another."""
        maker = self.maker
        if not self.thinking_refusals.accepts_thinking(maker):
            return Thinking()
        drop = official(maker.service).drops_bound_thinking and self.thinking_refusals.accepts_drop(
            maker
        )
        return thinking(facts, wanted or self._preferences.effort, drop=drop)

    def choice(self) -> ProviderChoice | None:
        """The choice in force; None if there is no provider."""
        if self._held is not None:
            return self._held
        try:
            return self._choose(self._settings())
        except ProviderError:
            return None

    def facts(self) -> ModelFacts:
        """Window, limits, prices and rules of the model in force."""
        return self._facts_of(self.choice())

    def facts_if(self, params: p.ProviderSelectParams) -> tuple[ModelFacts, bool]:
        """The facts of the model if this were selected, and whether it is already in force. If it
        cannot be used, those of the model in force.
        """
        now = self.choice()
        kept, self._override = self._override, params
        choice = now
        try:
            choice = self._choose(self._settings())
        except ProviderError:
            pass
        finally:
            self._override = kept
        same = choice is None or (
            now is not None
            and (choice.kind, choice.model, choice.base_url) == (now.kind, now.model, now.base_url)
        )
        return self._facts_of(choice), same

    def counter(self) -> TokenCounter:
        """The token counter of the model in force. The first one reads its vocabulary (0.5 s)."""
        return self._counters.counter(self.facts())

    def _facts_of(self, choice: ProviderChoice | None, *, own: bool = False) -> ModelFacts:
        """``own``: the setting for the window is about the chat's model, not about this one."""
        context = self._preferences.settings.context
        facts = self._table.facts(
            choice.model if choice is not None else "",
            provider=choice.kind if choice is not None else "",
            host=choice.host if choice is not None else "",
            max_input_tokens=None if own else context.max_input_tokens or None,
            reported_window=self._window(choice),
            default_window=context.default_window,
        )
        if choice is not None:
            facts = profiled(facts, self._profiles.of(choice.base_url, choice.model))
        if choice is not None and choice.newer and facts.breakpoints:
            facts = evolve(facts, caching="explicit", max_marks=4, ttls=("30m", "12h"))
        if choice is not None and choice.offered is not None and not choice.offered.pictures:
            facts = evolve(facts, image_rule=ImageRule.NONE)
        return facts

    @property
    def max_body_bytes(self) -> int:
        """The largest request body that is sent, in bytes."""
        choice = self.choice()
        learnt = self._profiles.of(choice.base_url, choice.model).max_body_bytes if choice else 0
        return learnt or MAX_BODY_BYTES

    def on_answer(self) -> None:
        """Called when the model has answered: ask its server once for its own facts. The model is
        loaded by then, so its reported window is in force. Returns at once.
        """
        choice = self.choice()
        if choice is None or choice.embeds or not choice.base_url:
            return
        key = (choice.base_url, choice.model)
        if key in self._asked:
            return
        self._asked.add(key)

        async def ask() -> None:
            if said := await said_by(*key):
                self._profiles.told(*key, said)
                await self._changed()

        self._asking = asyncio.ensure_future(ask())

    def count_unreported(self, request: RenderedRequest, learn: Callable[[int], object]) -> None:
        """Called after a reply without figures: ask the service for its count of the request.
        Returns at once; ``learn`` is called with the figure if there is one.
        """
        provider, busy = self._provider, self._counting is not None and not self._counting.done()
        wanted = self._preferences.settings.provider.count_tokens
        if provider is None or provider.name != request.provider or busy or not wanted:
            return

        async def ask() -> None:
            if count := await provider.count_tokens(request):
                learn(count)

        self._counting = asyncio.ensure_future(ask())

    def on_overflow(self, found: Overflow, request: RenderedRequest) -> str:
        """Called when a request was too large for the model in force: remember its limit. Returns a
        sentence for the user, empty if the limit was known.
        """
        choice = self.choice()
        if choice is None:
            return ""
        if found.size:
            size = len(request.payload)
            said = found.most_bytes
            most = said if 0 < said < size else int(size * _SMALLER_BODY)
            why = f"{choice.model} takes at most {most / 1e6:.1f} MB in a request here."
            self._note(found, choice, {"max_body_bytes": most}, why)
            return ""
        if not found.limit or found.limit >= self.facts().window:
            return ""
        why = f"{choice.model} reads at most {found.limit:,} tokens here."
        self._note(found, choice, {"window": found.limit}, why)
        return why

    def _note(
        self, found: Overflow, choice: ProviderChoice, limit: dict[str, int], why: str
    ) -> None:
        """Remember a limit: for this run if it may pass, else for good."""
        if found.passing:
            self._profiles.told(choice.base_url, choice.model, limit)
        else:
            self._profiles.learn(choice.base_url, choice.model, limit, why)

    def unknown_model_notice(self) -> str:
        """A sentence about an unknown model, once for each; else empty."""
        facts = self.facts()
        if facts.limit_source != "default" or facts.name in self._told:
            return ""
        self._told.add(facts.name)
        return (
            f"Nobody knows how much {facts.name} can read or write: {facts.max_input_tokens:,} "
            f"tokens are assumed, and {facts.max_output_tokens:,} for the reply. "
            f"{model_texts.ADVICE}"
        )

    def info(self) -> p.ProviderInfo:
        """The provider in force, as clients see it."""
        try:
            choice = self._choose(self._settings())
        except ProviderError as error:
            return p.ProviderInfo("none", False, "", f"{error.message} {error.advice}")
        waiting = bool(self._found) and not self._consent and choice.embeds
        return _shown(
            choice.spec,
            model=choice.model,
            why=f"{choice.why} {self.why_no_tools()}".strip(),
            active=True,
            base_url=choice.base_url,
            needs_consent=waiting,
        )

    @property
    def embedded(self) -> bool:
        """True if the embedded model would answer."""
        choice = self.choice()
        return choice is not None and choice.embeds

    @property
    def renders_tools(self) -> bool:
        """False for a model that refused tools, or whose chat template has no place for them."""
        if not self.embedded:
            choice = self.choice()
            return choice is None or self._profiles.of(choice.base_url, choice.model).tools
        try:
            return find_model(self._settings().model_path).tools
        except ProviderError:
            return False

    def waiting_text(self) -> str:
        """The text to show until the first token arrives."""
        if self.embedded:
            return "The embedded model reads the context…"
        return "Waiting for the model…"

    async def close(self) -> None:
        """Release the provider in use."""
        for task in filter(None, (self._asking, self._counting)):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if self._provider is not None:
            provider, self._provider = self._provider, None
            await provider.close()
        if self._other is not None:
            other, self._other = self._other, None
            await other[1].close()

    def _settings(self) -> ProviderSettings:
        config = self._preferences.settings.provider
        settings = ProviderSettings(
            kind=config.name,
            model=config.model,
            base_url=config.base_url,
            model_path=config.local_model_path,
            stall_seconds=config.stall_seconds,
            first_byte_seconds=config.first_byte_seconds,
            max_retries=config.max_retries,
            consent_loopback=self._consent,
            network=self._preferences.settings.network,
        )
        if (override := self._override) is not None:
            kind = self._kind(override)
            same = kind == config.name
            settings = evolve(
                settings,
                kind=kind,
                model=override.model or (config.model if same else ""),
                base_url=override.base_url or (config.base_url if same else ""),
            )
        return settings

    def _made(self, choice: ProviderChoice) -> Provider:
        endpoint = evolve(choice.endpoint, profiles=self._profiles)
        return make(evolve(choice, endpoint=endpoint), self._editor)

    def _window(self, choice: ProviderChoice | None) -> int | None:
        """The window that the server reports, or that was learnt from a refusal."""
        if choice is None:
            return None
        return self._profiles.of(choice.base_url, choice.model).window or choice.window

    def _kind(self, override: p.ProviderSelectParams) -> str:
        """The wire format of a choice; a server found on this machine uses OpenAI's."""
        if override.name == "auto" or spec(override.name) is not None:
            return override.name
        return COMPATIBLE.name if override.name else self._preferences.settings.provider.name

    def _choose(self, settings: ProviderSettings) -> ProviderChoice:
        found = self._found or ()
        choice = choose(settings, os.environ, self._secrets, found, self._offered)
        facts = self._table.facts(choice.model, provider=choice.kind)
        return with_api(choice, facts, self._preferences.settings.provider.api)

    async def _probe(self) -> None:
        """Look for servers on the loopback interface. No prompt is sent."""
        self._found = tuple(await probe_loopback())
        await self._ask_editor()

    async def _ask_editor(self) -> None:
        """Ask which models the editor offers now; they change with its extensions."""
        if self._editor is not None and self._editor.available:
            self._offered = tuple(await self._editor.models())

    async def _changed(self) -> p.ProviderInfo:
        info = self.info()
        self._bus.publish(p.ProviderChanged(provider=info))
        self._bus.context_changed()
        await asyncio.sleep(0)
        return info


def _is_editors(name: str) -> bool:
    row = spec(name)
    return row is not None and row.origin == "editor"


def _shown(
    row: ProviderSpec,
    *,
    why: str,
    model: str = "",
    models: Sequence[str] = (),
    active: bool = False,
    base_url: str = "",
    needs_consent: bool = False,
) -> p.ProviderInfo:
    """A provider as clients see it; one with a model can be used."""
    return p.of(
        p.ProviderInfo,
        row,
        available=bool(model),
        model=model,
        why=why,
        models=list(models),
        active=active,
        base_url=base_url,
        needs_consent=needs_consent,
        takes_key=bool(row.key_variable),
    )


def problems(settings: Settings) -> list[str]:
    """Sentences about settings that contradict each other."""
    found = []
    context = settings.context
    if 0 < context.max_input_tokens <= context.max_output_tokens:
        found.append(
            f"context.max_output_tokens ({context.max_output_tokens}) does not fit into "
            f"context.max_input_tokens ({context.max_input_tokens}); a smaller reply is asked for."
        )
    return found
