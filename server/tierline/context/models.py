"""What is known about models: windows, limits, prices, cache rules. Data, with its sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from attrs import evolve, field, frozen

from tierline.context.images import ImageRule

LimitSource: TypeAlias = Literal["table", "user", "provider", "default"]
Family: TypeAlias = Literal["anthropic", "openai", "local", "unknown"]

CLAUDE_RATIO = 1.35
"""Claude's tokens per o200k_base token before calibration. Claude has no public tokenizer; code and
prose measured between 1.1 and 1.4 in public comparisons, newer models at the high end."""
CLAUDE_MARGIN = 0.15
FOREIGN_MARGIN = 0.30
"""For a model whose tokenizer is unknown: o200k_base is off by up to this much on code and CJK."""


@frozen
class Prices:
    """US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    write_5m: float = 0.0
    write_1h: float = 0.0
    read: float = 0.0


@frozen
class ModelFacts:
    """Everything that the engine needs to know about one model. Limits are in tokens."""

    name: str
    family: Family = "unknown"
    max_input_tokens: int = 32_000
    max_output_tokens: int = 4_096
    min_cacheable_tokens: int = 1_024
    encoding: str = "o200k_base"
    native_encoding: bool = False
    """True if ``encoding`` is the model's own tokenizer, so that counts are exact."""
    ratio: float = 1.0
    margin: float = FOREIGN_MARGIN
    image_rule: ImageRule = "openai_tiles"
    explicit_markers: bool = False
    """True if the provider caches at ``cache_control`` markers; else by automatic prefix."""
    lookback_blocks: int = 20
    """A marker finds an earlier cache entry at most this many blocks before it."""
    prices: Prices = field(factory=Prices)
    limit_source: LimitSource = "table"
    source: str = ""
    sure: bool = True
    """False if the figures are careful guesses."""

    @property
    def max_history_tokens(self) -> int:
        """A sixteenth of the window (seed 004, "Token Counting")."""
        return self.max_input_tokens // 16


class ModelTable:
    """Rows in order of strength: later tables override earlier ones row by row."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], user: Iterable[Mapping[str, Any]] = ()):
        self._rows = list(rows)
        self._user = list(user)

    def facts(
        self,
        name: str,
        *,
        provider: str = "",
        max_input_tokens: int | None = None,
        default_window: int = 32_000,
    ) -> ModelFacts:
        """The facts of a model. ``max_input_tokens`` is the user's or the server's own figure."""
        row = _best(self._rows, name)
        own = _best(self._user, name)
        merged: dict[str, Any] = {**(row or {}), **(own or {})}
        facts = _facts(name, merged, provider)
        if row is None and "max_input_tokens" not in (own or {}):
            facts = evolve(
                facts,
                max_input_tokens=default_window,
                max_output_tokens=min(facts.max_output_tokens, max(1, default_window // 4)),
                limit_source="default",
                sure=False,
            )
        elif own is not None and "max_input_tokens" in own:
            facts = evolve(facts, limit_source="user")
        if max_input_tokens:
            facts = evolve(facts, max_input_tokens=max_input_tokens, limit_source="user")
        return facts


def _best(rows: Iterable[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    best: Mapping[str, Any] | None = None
    best_length = -1
    for row in rows:
        pattern = str(row.get("match", ""))
        exact = pattern == name
        prefix = pattern.endswith("*") and name.startswith(pattern[:-1])
        length = len(pattern) + 1_000 * exact
        if (exact or prefix) and length > best_length:
            best, best_length = row, length
    return best


def _facts(name: str, row: Mapping[str, Any], provider: str) -> ModelFacts:
    family: Family = row.get("family", "unknown")
    if family == "unknown" and provider in ("anthropic", "openai", "local"):
        family = "anthropic" if provider == "anthropic" else "unknown"
    known = {
        key: int(row[key])
        for key in ("max_input_tokens", "max_output_tokens", "min_cacheable_tokens")
        if key in row
    }
    price = row.get("price", {})
    facts = ModelFacts(
        name=name,
        family=family,
        encoding=str(row.get("encoding", "o200k_base")),
        prices=Prices(**{key: float(value) for key, value in price.items()}),
        source=str(row.get("source", "")),
        sure=bool(row.get("sure", bool(row))),
        **known,
    )
    if family == "anthropic":
        return evolve(
            facts,
            ratio=float(row.get("ratio", CLAUDE_RATIO)),
            margin=float(row.get("margin", CLAUDE_MARGIN)),
            image_rule="anthropic",
            explicit_markers=True,
        )
    if family == "openai":
        return evolve(facts, native_encoding=True, margin=0.0)
    if family == "local":
        return evolve(facts, image_rule="none", min_cacheable_tokens=0)
    return facts
