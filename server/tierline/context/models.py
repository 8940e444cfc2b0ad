"""Facts about models: windows, limits, prices, cache rules, how their tokens are counted.

The figures are data (``tierline/data/models.toml``), each with its source; the user's own table
extends and overrides them. This module knows only their shape and how a name finds its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

from attrs import evolve, field, fields_dict, frozen

from tierline.context.images import ImageRule
from tierline.context.modellist import ListedModel, PublicList
from tierline.context.modellist import plain as plain_name

LimitSource: TypeAlias = Literal["table", "user", "provider", "default"]
"""Where a window's size comes from. ``provider``: the running server reported it."""
Family: TypeAlias = Literal["anthropic", "openai", "local", "unknown"]
ThinkingSupport: TypeAlias = Literal["no", "can", "always", "unknown"]
"""Whether the model thinks before it answers: never, if asked or by itself, always."""
CachingKind: TypeAlias = Literal["explicit", "automatic", "none"]
"""explicit: at markers in the request; automatic: every prefix by itself; none: not at all."""

DEFAULT_WINDOW = 32_000
"""Window assumed for an unknown model, in tokens, unless the settings say otherwise."""
_DEFAULT_OUTPUT = 8_192
_DEFAULT_OUTPUT_SHARE = 4
"""A reply of unknown limit gets at most a quarter of the window."""


@frozen
class Prices:
    """US dollars per million tokens; 0 where the service does not charge or nothing is known."""

    input: float = 0.0
    output: float = 0.0
    write_5m: float = 0.0
    write_1h: float = 0.0
    read: float = 0.0


@frozen
class ModelFacts:
    """What is known about one model. Sizes are in tokens."""

    name: str
    family: Family = "unknown"
    max_input_tokens: int = DEFAULT_WINDOW
    """Input alone; at most the window."""
    window: int = DEFAULT_WINDOW
    """Input and output together."""
    max_output_tokens: int = _DEFAULT_OUTPUT
    limit_source: LimitSource = "table"
    output_known: bool = True
    """False if the longest reply is unknown and ``max_output_tokens`` is our own choice."""
    encoding: str = "o200k_base"
    """The encoding that text is counted with."""
    native_encoding: bool = False
    """True if that encoding is the model's own, so that counts are exact."""
    ratio: float = 1.0
    """Starting factor on counts by a foreign encoding, until usage reports correct it."""
    margin: float = 0.30
    """Error of such counts that enforcement allows for, as a fraction."""
    image_rule: ImageRule = ImageRule.UNKNOWN
    tools_overhead_tokens: int = 0
    """Tokens that the service adds to a request with tools."""
    caching: CachingKind = "none"
    min_cacheable_tokens: int = 1_024
    """Shorter prefixes are not cached."""
    efforts: tuple[str, ...] = ()
    """The efforts that it accepts, in the service's words; ``none``: no thinking."""
    thinks: bool = False
    """It thinks by default."""
    adaptive: bool = False
    """It accepts Anthropic's ``thinking: adaptive``."""
    thinking_off: str = ""
    """The ``thinking.type`` that switches thinking off, if leaving the field out does not."""
    max_marks: int = 0
    """Markers that one request may carry."""
    lookback_blocks: int = 0
    """A marker finds an earlier cache entry at most this many blocks before it."""
    ttls: tuple[str, ...] = ()
    """Lifetimes that a marker may ask for."""
    prices: Prices = field(factory=Prices)
    long_prompt_tokens: int = 0
    """Requests with more input than this cost ``long_prices`` as a whole; 0 for none."""
    long_prices: Prices = field(factory=Prices)
    source: str = ""
    """Source of the figures: the provider's page and when it was read."""
    sees: bool = False
    """It accepts pictures by the public list; ``image_rule`` says what they cost."""
    reasoning: ThinkingSupport = "unknown"
    responses_only: bool = False
    """True for models that exist only in OpenAI's Responses API."""
    breakpoints: bool = False
    """OpenAI's own service takes explicit breakpoints for it ("Prompt caching", GPT-5.6 and later).
    """
    retention: bool = False
    """OpenAI's own service keeps its cache for a day at no extra cost."""
    compaction_percent: float = 0.0
    """History above this share of the window is compacted; 0 leaves it to the setting."""
    sure: bool = True
    """False if some figures are careful guesses; ``note`` says which."""
    note: str = ""

    @property
    def sees_images(self) -> bool:
        """True if the model can be sent pictures."""
        return self.image_rule is not ImageRule.NONE

    @property
    def explicit_markers(self) -> bool:
        """True if it caches at explicit markers; else by automatic prefix, or not at all."""
        return self.caching == "explicit"

    def prices_for(self, input_tokens: int) -> Prices:
        """The prices of a request with this many input tokens."""
        long = 0 < self.long_prompt_tokens < input_tokens
        return self.long_prices if long else self.prices

    @property
    def max_history_tokens(self) -> int:
        """Suggested tokens of history: a sixteenth of the input."""
        return self.max_input_tokens // 16


class ModelTable:
    """Rows of facts, found by name. A row of the user's overrides the package's key by key.

    A row's ``match`` is a name or a prefix ending in ``*``; an exact name beats a prefix, a longer
    prefix a shorter one. ``inherit`` names another row whose values it starts from. The public list
    overrides rows of families (``family:…``); all other rows correct it.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        user: Iterable[Mapping[str, Any]] = (),
        public: PublicList | None = None,
    ) -> None:
        self._rows = list(rows)
        self._user = list(user)
        self.public = public if public is not None else PublicList()
        # A state of the chat asks 27 times for the same model: a third of its time.
        self._cached = lru_cache(maxsize=64)(self._facts)

    def facts(
        self,
        name: str,
        *,
        provider: str = "",
        host: str = "",
        max_input_tokens: int | None = None,
        reported_window: int | None = None,
        default_window: int = DEFAULT_WINDOW,
    ) -> ModelFacts:
        """The facts of a model; every name has some.

        ``max_input_tokens`` is the user's own limit and wins over everything; ``reported_window``
        is the server's own report and wins over the table; an unknown model gets ``default_window``
        and says so (``limit_source`` is ``default``). Values of the wrong type are left out.
        """
        return self._cached(name, provider, host, max_input_tokens, reported_window, default_window)

    def _facts(
        self,
        name: str,
        provider: str,
        host: str,
        max_input_tokens: int | None,
        reported_window: int | None,
        default_window: int,
    ) -> ModelFacts:
        plain = _plain(name)
        row = _best(self._rows, plain)
        family, values = self._values(row)
        stem = str(row["match"]).rstrip("*") if row is not None else ""
        listed = self.public.find(name, host)
        values = _merged(family, listed, values, stem)
        if "family" not in values:
            # A server or proxy with its own model names: the provider's rules hold, but not its
            # limits, and the model's tokenizer is unknown.
            kind = self._all(_best(self._rows, f"provider:{provider}"))
            values = {key: value for key, value in kind.items() if key not in _LIMITS} | values
        mine = self._all(_best(self._user, plain))
        for limit, other in (("max_input_tokens", "window"), ("window", "max_input_tokens")):
            if limit in mine and other not in mine:
                values.pop(other, None)
        values |= mine
        facts = ModelFacts(name=name, **values, output_known="max_output_tokens" in values)
        if _SIZES.isdisjoint(values):
            facts = _resized(facts, default_window, "default")
        else:
            facts = _limited(facts, values, "table" if _SIZES.isdisjoint(mine) else "user")
        if reported_window and reported_window > 0 and facts.limit_source != "user":
            facts = _resized(facts, reported_window, "provider")
        if not facts.output_known:
            most = min(_DEFAULT_OUTPUT, max(1, facts.window // _DEFAULT_OUTPUT_SHARE))
            facts = evolve(facts, max_output_tokens=most)
        if max_input_tokens and max_input_tokens > 0:
            facts = _resized(facts, max_input_tokens, "user")
        return facts

    def _all(self, row: Mapping[str, Any] | None) -> dict[str, Any]:
        family, own = self._values(row)
        return family | own

    def _values(self, row: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of a row with those that it inherits: fields from families, and the rest."""
        family: dict[str, Any] = {}
        values: dict[str, Any] = {}
        seen: set[str] = set()
        while row is not None:
            if str(row.get("match", "")).startswith("family:"):
                family = {**row, **family}
            else:
                values = {**row, **values}
            parent = str(row.get("inherit", ""))
            if not parent or parent in seen:
                break
            seen.add(parent)
            rows = (*self._user, *self._rows)
            row = next((other for other in rows if other.get("match") == parent), None)
        return _typed(family), _typed(values)


_SIZES = frozenset({"max_input_tokens", "window"})
_LIMITS = _SIZES | {"max_output_tokens", "prices", "long_prices", "long_prompt_tokens"}


def _plain(name: str) -> str:
    """The model's own name inside those of routers, clouds and fine-tunes, in lower case:
    ``anthropic/claude-opus-5.5``, ``eu.anthropic.claude-…``, ``ft:gpt-4o:…``.
    """
    last = name.lower().rsplit("/", 1)[-1].removeprefix("ft:")
    place = last.find("claude-")
    return last[place:].replace(".", "-") if place >= 0 else last


def _best(rows: Iterable[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    best: Mapping[str, Any] | None = None
    best_rank = (False, -1)
    for row in rows:
        pattern = str(row.get("match", "")).lower()
        exact = pattern == name
        prefix = pattern.endswith("*") and name.startswith(pattern[:-1])
        if (exact or prefix) and (exact, len(pattern)) > best_rank:
            best, best_rank = row, (exact, len(pattern))
    return best


def _merged(
    family: Mapping[str, Any], listed: ListedModel | None, values: Mapping[str, Any], stem: str
) -> dict[str, Any]:
    """A family's values, those of the public list, and corrections by the row for ``stem``."""
    if listed is None:
        return {**family, **values}
    of_list = _listed(listed, family)
    merged = {**family, **of_list, **values}
    if listed.exact and stem and listed.name != plain_name(stem):
        # The list has this exact model, the row only one with the same prefix: its prices may
        # differ, and its window may be smaller.
        merged |= {key: of_list[key] for key in _TARIFF if key in of_list}
        if "price" not in listed.values or "long_price" not in listed.values:
            merged.pop("long_prompt_tokens", None)
        window = of_list["window"]
        most = min(window, merged.get("max_input_tokens", merged["window"]))
        merged["max_input_tokens"] = most
    return merged


_TARIFF = ("prices", "long_prices", "long_prompt_tokens", "min_cacheable_tokens", "responses_only")


def _listed(listed: ListedModel, family: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the public list, as far as they do not contradict the family's rules."""
    values = _typed(listed.values)
    if "family" in family:
        values.pop("caching", None)  # how the family caches is a rule, not a figure
    elif "sees" in listed.values and not listed.values["sees"]:
        values["image_rule"] = ImageRule.NONE
    if not listed.exact:
        values |= {"sure": False, "note": f"By the beginning of the name ({listed.name})."}
    return values


def _limited(facts: ModelFacts, values: Mapping[str, Any], source: LimitSource) -> ModelFacts:
    """Window and input limit, each derived from the other if only one is given."""
    window = facts.window if "window" in values else facts.max_input_tokens
    most = facts.max_input_tokens if "max_input_tokens" in values else window
    return evolve(
        facts,
        window=max(window, 1),
        max_input_tokens=max(1, min(most, window)),
        limit_source=source,
    )


def _resized(facts: ModelFacts, window: int, source: LimitSource) -> ModelFacts:
    return evolve(
        facts,
        window=window,
        max_input_tokens=window,
        limit_source=source,
        sure=facts.sure and source != "default",
    )


def _typed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row's values of the right type; a wrong one in the user's table is dropped alone."""
    values: dict[str, Any] = {}
    for name, value in row.items():
        if name in _PRICES:
            values[_PRICES[name]] = _prices(value)
        elif (convert := _CONVERTERS.get(name)) is not None:
            converted = convert(value)
            if converted is not None:
                values[name] = converted
    return values


def _whole(least: int) -> Callable[[Any], int | None]:
    return lambda value: value if type(value) is int and value >= least else None


def _fraction(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and value >= 0 else None


def _share(value: Any) -> float | None:
    found = _fraction(value)
    return found if found is not None and found <= 100 else None


def _one_of(allowed: Iterable[str]) -> Callable[[Any], str | None]:
    known = {str(word): word for word in allowed}
    return lambda value: known.get(str(value))


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _words(value: Any) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else None


_CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "family": _one_of(get_args(Family)),
    "max_input_tokens": _whole(1),
    "window": _whole(1),
    "max_output_tokens": _whole(1),
    "encoding": str,
    "native_encoding": _flag,
    "ratio": _fraction,
    "margin": _fraction,
    "image_rule": _one_of(ImageRule),
    "tools_overhead_tokens": _whole(0),
    "caching": _one_of(get_args(CachingKind)),
    "min_cacheable_tokens": _whole(0),
    "efforts": _words,
    "thinks": _flag,
    "adaptive": _flag,
    "thinking_off": str,
    "max_marks": _whole(0),
    "lookback_blocks": _whole(0),
    "ttls": _words,
    "long_prompt_tokens": _whole(0),
    "sees": _flag,
    "reasoning": _one_of(get_args(ThinkingSupport)),
    "responses_only": _flag,
    "breakpoints": _flag,
    "retention": _flag,
    "source": str,
    "compaction_percent": _share,
    "sure": _flag,
    "note": str,
}


_PRICES = {"price": "prices", "long_price": "long_prices"}


def _prices(value: Any) -> Prices:
    if not isinstance(value, Mapping):
        return Prices()
    known = fields_dict(Prices)
    prices = {name: _fraction(price) for name, price in value.items() if name in known}
    return Prices(**{name: price for name, price in prices.items() if price is not None})
