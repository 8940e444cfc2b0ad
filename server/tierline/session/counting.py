"""Token counters by model: the table, the shipped encoders, and what calibration has learnt."""

from __future__ import annotations

import asyncio
import json
import logging
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from tierline import disk
from tierline.config import default_user_file
from tierline.context.calibration import Calibration, Plausibility
from tierline.context.counting import CountCache, TokenCounter
from tierline.context.modellist import PublicList
from tierline.context.models import ModelFacts, ModelTable
from tierline.disk.folder import make
from tierline.tokenizers import encoder

log = logging.getLogger(__name__)

_MAX_BYTES = 10_000_000


DOUBT = (
    "The server says that {name} read {reported:,} tokens, but about {estimated:,} were sent: it "
    "seems to cut prompts without a word. Give the model a larger context (in Ollama num_ctx or "
    "OLLAMA_CONTEXT_LENGTH), or set context.max_input_tokens to what it has. The figure is not "
    "used."
)


class Counters:
    """One counter per model, with a calibration that outlives the process."""

    def __init__(self, table: ModelTable, state_file: Path) -> None:
        self.table = table
        self.warn: Callable[[str], None] = log.warning
        self._file = state_file
        self._cache = CountCache()
        self._counters: dict[ModelFacts, TokenCounter] = {}
        self._judges: dict[str, Plausibility] = {}
        self._last: dict[str, int] = {}
        """The last reported figure by model."""
        self._doubted: set[str] = set()
        self._calibrations = {
            str(name): Calibration.from_json(value) for name, value in _read(state_file).items()
        }

    def counter(self, facts: ModelFacts) -> TokenCounter:
        """The counter of a model. The first one of an encoding reads its vocabulary (0.5 s)."""
        counter = self._counters.get(facts)
        if counter is None:
            counter = self._counters[facts] = TokenCounter(
                facts,
                encoder(facts.encoding),
                cache=self._cache,
                calibration=self._calibrations.get(facts.name),
                warn=self._say,
            )
        return counter

    async def loaded(self, facts: ModelFacts) -> TokenCounter:
        """Like ``counter``, but reads the vocabulary in a thread if it must."""
        found = self._counters.get(facts)
        return found if found is not None else await asyncio.to_thread(self.counter, facts)

    def observe(self, facts: ModelFacts, estimated: int, reported: int) -> bool:
        """Learn from one request: our count and the provider's figure. False if the figure is
        implausible: then the user is told, and nothing is learnt.
        """
        counter = self.counter(facts)
        judge = self._judges.setdefault(facts.name, Plausibility())
        verdict = judge.judge(estimated, reported)
        if verdict in ("cut", "constant"):
            self._doubt(facts, estimated, reported)
            if verdict == "constant" and self._last.get(facts.name) == reported:
                self._learn(facts, counter.calibration.without_last())
            self._last.pop(facts.name, None)
            return False
        if verdict == "odd":
            logs = judge.agreed(estimated / counter.ratio, reported)
            if logs and not facts.native_encoding:
                self._learn(facts, Calibration.from_json({"log_ratios": list(logs)}))
            return True
        if counter.observe(estimated, reported):
            self._last[facts.name] = reported
            self._learn(facts, counter.calibration)
        return True

    def _learn(self, facts: ModelFacts, calibration: Calibration) -> None:
        self.counter(facts).calibration = calibration
        self._calibrations[facts.name] = calibration
        self._write(facts.name)

    def _doubt(self, facts: ModelFacts, estimated: int, reported: int) -> None:
        """Tell the user, once for each model, that its server seems to cut prompts or to report
        wrong figures.
        """
        if facts.name in self._doubted:
            return
        self._doubted.add(facts.name)
        self._say(DOUBT.format(name=facts.name, reported=reported, estimated=estimated))

    def _say(self, text: str) -> None:
        self.warn(text)

    def _write(self, name: str) -> None:
        """Replace the state file, keeping what other windows have learnt of other models. Losing it
        costs only some accuracy.
        """
        ours = {known: value.to_json() for known, value in self._calibrations.items()}
        state = {**ours, **_read(self._file), name: ours[name]}
        try:
            make(self._file.parent)
            disk.replace(self._file, json.dumps(state).encode(), mode=0o600, sync=False)
        except OSError as error:
            log.info("Calibration is not kept: %s", error)


def make_counters(home: Path) -> Counters:
    """Counters with the package's model table and the user's own ``models.toml`` over it."""
    data = resources.files("tierline").joinpath("data")
    text = data.joinpath("models.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["model"]
    user_file = default_user_file().with_name("models.toml")
    user: list[dict[str, Any]] = []
    try:
        user = tomllib.loads(disk.read_text(disk.resolved(user_file), _MAX_BYTES)).get("model", [])
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        log.warning("%s is not used: %s", user_file, error)
    listed = data.joinpath("models.json").read_bytes()
    table = ModelTable(rows, user, PublicList(json.loads(listed)))
    return Counters(table, home / "calibration.json")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(disk.read_text(path, _MAX_BYTES))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
