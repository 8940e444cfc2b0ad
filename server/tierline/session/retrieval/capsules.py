"""The capsule service: makes capsules on request, lists them, and sends fresh ones."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from tierline import protocol as p
from tierline.context.files import FileContext
from tierline.context.items import Item, Section
from tierline.context.text import sha256
from tierline.errors import TierlineError
from tierline.memory import capsules as rules
from tierline.memory.capsules import Capsule
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus
from tierline.session.model_questions import ModelQuestions
from tierline.session.models import ModelService
from tierline.session.texts import redact
from tierline.store.errors import StorageError
from tierline.store.log import HistoryLog
from tierline.workspace.load_results import LoadedFile
from tierline.workspace.loader import Loader

log = logging.getLogger(__name__)

FILE = "capsules.jsonl"
_OUTPUT_TOKENS = 400


@define(eq=False, repr=False, slots=False)
class CapsuleService:
    """The log is only ever appended to; the newest capsule of a file counts."""

    _bus: EventBus
    _conversation: Conversation
    _models: ModelService
    _asker: ModelQuestions
    _loader: Loader
    _context: FileContext
    _home: Path
    _log: HistoryLog = field(init=False)
    _known: tuple[tuple[int, int], dict[str, Capsule]] = field(
        factory=lambda: ((-1, -1), {}), init=False
    )

    def __attrs_post_init__(self) -> None:
        self._log = HistoryLog(self._home / FILE)

    async def listed(self, _params: p.NoParams) -> p.CapsuleListResult:
        """All capsules by path, with whether their files have changed since."""
        found = await asyncio.to_thread(self._all)
        shown = [
            self._shown(capsule, stale=await asyncio.to_thread(self._stale, capsule))
            for capsule in found.values()
        ]
        return p.CapsuleListResult(sorted(shown, key=lambda info: info.path))

    async def make(self, params: p.CapsuleMakeParams) -> p.CapsuleInfo:
        """Describe a file, by its own words or by the model.

        Raises:
            TierlineError: ``invalid_params`` if the file cannot be read or must not be sent;
                ``no_provider`` and the like if the model is wanted and cannot be reached.
        """
        key, text = await asyncio.to_thread(self._read, params.path)
        if params.use_model:
            answer = await self._asker.ask(
                rules.question(key, text), max_output_tokens=_OUTPUT_TOKENS
            )
            if not answer.strip():
                raise TierlineError(
                    "empty_reply", "The model gave no description.", "Make it without the model."
                )
            said, confidence = rules.judge(answer, text)
        else:
            said, confidence = rules.extract(text)
        clean, _ = redact(said)
        record: Mapping[str, Any] = {
            "path": key,
            "sha256": sha256(text),
            "text": clean,
            "source": "model" if params.use_model else "extract",
            "model": self._models.facts().name if params.use_model else "",
            "confidence": confidence,
            "timestamp": self._conversation.store.timestamp(),
        }
        await asyncio.to_thread(self._log.append, record, durable=True)
        self._bus.context_changed()
        return self._shown(rules.fold([record])[key], stale=False)

    def items(self, prompt: str, count: Callable[[str], int]) -> tuple[Item, ...]:
        """Fresh capsules that fit a prompt and whose files are not in the context. Blocking. Never
        raises.
        """
        try:
            known = self._all()
        except StorageError as error:
            log.warning("Capsules cannot be read: %s", error)
            return ()
        there = {entry.key for entry in self._context.entries()}
        pool = [capsule for path, capsule in known.items() if path not in there]
        made: list[Item] = []
        for capsule in rules.relevant(prompt, pool):
            if self._stale(capsule):
                continue
            text = rules.render(capsule)
            made.append(
                Item.of_text(
                    f"capsule:{capsule.path}",
                    Section.RETRIEVED,
                    text,
                    count(text),
                    volatile=True,
                    priority=35,
                    origin=f"description of {capsule.path}, {capsule.source}",
                )
            )
        return tuple(made)

    def anchors(self, ranks: Mapping[str, float]) -> str:
        """The fresh capsules that are shown with the module map. Blocking. Never raises."""
        try:
            known = self._all()
        except StorageError as error:
            log.warning("Capsules cannot be read: %s", error)
            return ""
        fresh = (c for c in rules.anchors(known.values(), ranks) if not self._stale(c))
        return rules.render_anchors(list(itertools.islice(fresh, rules.MAX_ANCHORS)))

    def _all(self) -> dict[str, Capsule]:
        state = self._log.state() or (0, 0)
        if state != self._known[0]:
            records = (line.record for line in self._log.read() if line.record is not None)
            self._known = (state, rules.fold(records))
        return self._known[1]

    def _read(self, reference: str) -> tuple[str, str]:
        loaded = self._loader.load(reference)
        if not isinstance(loaded, LoadedFile):
            raise TierlineError("invalid_params", loaded.sentence, "Name another file.")
        return loaded.key, loaded.content.text

    def _stale(self, capsule: Capsule) -> bool:
        try:
            _, text = self._read(capsule.path)
        except (TierlineError, OSError):
            return True
        return sha256(text) != capsule.sha256

    def _shown(self, capsule: Capsule, *, stale: bool) -> p.CapsuleInfo:
        source = "model" if capsule.source == "model" else "extract"
        return p.of(p.CapsuleInfo, capsule, source=source, stale=stale)
