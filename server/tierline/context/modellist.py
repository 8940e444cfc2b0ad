"""The public list of models that ships with the package (``data/models.json``).

It has sizes, prices and abilities of models. Rules that it lacks (encodings, pictures, cache marks)
and corrections are in ``data/models.toml``, whose rows override it. ``tools/models.py`` makes the
list. Models have many names, those of routers, clouds, local servers and fine-tunes:
``anthropic/claude-sonnet-5.5``, ``eu.anthropic.claude-opus-5-v1:0``, ``claude-opus-5@20261001``,
``models/gemini-3.5-flash``, ``qwen/qwen3-coder:free``, ``qwen3:8b-q4_K_M``, ``Qwen3-8B-AWQ.gguf``.
``plain`` gives all of them one spelling; ``shorter`` drops parts that do not tell models apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

_CLOUD = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|meta|mistral|deepseek|qwen|openai|amazon)\.")
_REVISION = re.compile(r"-v\d+:\d+$|(?<=\d{8})-v\d+$")
_QUANTISED = re.compile(
    r"[-._](?:i?q\d(?:_\w+)?|ud|gguf|ggml|awq|gptq|mlx|exl\d|[bf]p?(?:8|16|32)|fp[48]|nvfp4|mxfp4|"
    r"w\d+a\d+|int[48]|[48]-?bit|dynamic|turbo-fp8)$"
)
_TAGS = frozenset(
    {"free", "beta", "nitro", "floor", "online", "extended", "exacto", "latest", "cloud", "self"}
)
"""After a colon, these name a way of serving, not a model."""
_KIND = re.compile(
    r"-(?:latest|preview|exp|experimental|instruct|chat|it|hf|maas|tee|fast|"
    r"\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|20\d{6}|\d{4})$"
)
_NEWER = re.compile(r"\d{1,2}(?:-|$)")


def plain(name: str) -> str:
    """The model's own name: lower case, no path, no way of serving, one kind of separator."""
    last = name.strip().lower().rsplit("/", 1)[-1].partition("@")[0].removesuffix(".gguf")
    if last.startswith("ft:"):  # ft:model:organisation:name:id
        last = last.removeprefix("ft:").partition(":")[0]
    place = last.find("claude-")
    last = last[place:] if place > 0 else _CLOUD.sub("", last)
    last = _REVISION.sub("", last)
    base, _, tag = last.partition(":")
    if tag and tag not in _TAGS:
        base = f"{base}-{tag.removesuffix('-cloud')}"
    while (cut := _QUANTISED.sub("", base)) != base:
        base = cut
    base = re.sub(r"(?<=\d)p(?=\d)", "-", re.sub(r"[._\s:]+", "-", base)).strip("-")
    return re.sub(r"^([a-z]+)-(?=v?\d)", r"\1", base)


def shorter(name: str) -> Iterator[str]:
    """A plain name and shorter forms of it, without dates and words like ``latest``."""
    yield name
    while (cut := _KIND.sub("", name)) != name:
        name = cut
        yield name


def begins(name: str, start: str) -> bool:
    """True if the name begins with ``start`` at a boundary, and not as a newer version of it:
    ``glm5`` begins ``glm5-air``, not ``glm5-3``.
    """
    rest = name.removeprefix(f"{start}-")
    return rest != name and _NEWER.match(rest) is None


_PRICES = {
    "price": ("price_input", "price_output", "price_read", "price_write_5m", "price_write_1h"),
    "long_price": ("long_input", "long_output", "long_read", "long_write", ""),
}
_NAMES = ("input", "output", "read", "write_5m", "write_1h")


@frozen
class ListedModel:
    """The list's facts of a model, in the form of a row of ``models.toml``."""

    name: str
    values: Mapping[str, Any]
    exact: bool
    """False if only the beginning of the name was found."""


class PublicList:
    """Finds a model's row by any of its names. Without data it finds none."""

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        data = data or {}
        self._columns: list[str] = list(data.get("columns", ()))
        self._models: Mapping[str, list[Any]] = data.get("models", {})
        self._hosts: Mapping[str, Mapping[str, list[Any]]] = data.get("hosts", {})
        self.vendors: Mapping[str, list[str]] = data.get("vendors", {})
        """Each vendor's models under its own names, for lists to choose from."""
        self.origin = ", ".join(
            str(data[key]) for key in ("source", "date", "license") if key in data
        )
        self._own = frozenset(plain(name) for names in self.vendors.values() for name in names)
        self._also: dict[str, str] = {}
        for key in self._models:
            for short in shorter(key):
                self._also.setdefault(short, key)

    def find(self, name: str, host: str = "") -> ListedModel | None:
        """The row of a model; ``host`` is the service that runs it, whose prices then count."""
        full = plain(name)
        for short in shorter(full):
            for key in (short, self._also.get(short, "")):
                if (row := self._row(key, host, name)) is not None:
                    return ListedModel(key, row, exact=True)
        longest = max((key for key in self._models if begins(full, key)), key=len, default="")
        # ``llama3.2`` without a size: the smallest of the matching models.
        version = any(char.isdigit() for char in full)
        sizes = [key for key in self._models if begins(key, full)] if version else []
        key = longest or min(sizes, key=lambda one: (self._models[one][0], one), default="")
        row = self._row(key, host, name)
        return ListedModel(key, row, exact=False) if row is not None else None

    def _row(self, short: str, host: str, name: str) -> dict[str, Any] | None:
        hosted = self._hosts.get(host, {}).get(short)
        columns = hosted or self._models.get(short)
        if columns is None:
            return None
        known = {
            key: value
            for key, value in zip(self._columns, columns, strict=False)
            if value is not None
        }
        if hosted is None and _tagged(name):  # weights on the user's own machine
            known = {key: value for key, value in known.items() if key not in _MONEY}
        return self._values(short, known)

    def _values(self, short: str, known: Mapping[str, Any]) -> dict[str, Any]:
        flags = known.get("flags", "")
        values: dict[str, Any] = {
            "window": known["input"],
            "source": self.origin,
            "sure": True,
            "note": "",
            "reasoning": "always" if "a" in flags else "can" if "r" in flags else "no",
        }
        if "c" in flags or "price_read" in known:
            values["caching"] = "automatic"
        if "output" in known:
            values["max_output_tokens"] = min(known["output"], known["input"])
        if "min_prefix" in known:
            values["min_cacheable_tokens"] = known["min_prefix"]
        if "R" in flags:
            values["responses_only"] = True
        if "v" in flags:
            values["sees"] = True
        elif short in self._own:
            values["sees"] = False
        for field, columns in _PRICES.items():
            pairs = zip(_NAMES, columns, strict=True)
            if prices := {key: known[column] for key, column in pairs if column in known}:
                values[field] = prices
        if "long_from" in known and "long_price" in values:
            values["long_prompt_tokens"] = known["long_from"]
            values["long_price"] = values.get("price", {}) | values["long_price"]
        return values


_MONEY = frozenset(
    {"price_input", "price_output", "price_read", "price_write_5m", "price_write_1h", "long_from"}
)


def _tagged(name: str) -> bool:
    """True for names like ``qwen3:8b``, which name a file of weights."""
    tag = name.rsplit("/", 1)[-1].partition(":")[2]
    return bool(tag) and tag[0].isdigit() and not tag.isdigit()
