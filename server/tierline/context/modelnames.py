"""Normalising a model's many names: those of routers, clouds, local servers and fine-tunes.

``anthropic/claude-sonnet-5.5``, ``eu.anthropic.claude-opus-5-v1:0``, ``claude-opus-5@20261001``,
``models/gemini-3.5-flash``, ``qwen/qwen3-coder:free``, ``qwen3:8b-q4_K_M``, ``Qwen3-8B-AWQ.gguf``.
``plain`` gives all of them one spelling; ``shorter`` drops parts that do not tell models apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_VERSION = re.compile(r"\d{1,2}(?:-|$)")


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
    return rest != name and _VERSION.match(rest) is None
