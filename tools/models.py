"""Builds the table of models that ships with the package from a public list on the package index.

The list is in the wheel of ``litellm`` (MIT): windows, limits, prices, what a model takes. Only
facts are taken, in our own layout. Run ``python tools/models.py`` now and then, and look at the
difference and at ``server/tierline/data/models.toml``, whose rows stand above this table.
"""

from __future__ import annotations

import datetime
import json
import re
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from email import message_from_string
from pathlib import Path
from typing import Any

from tierline.context.modellist import plain, shorter

TARGET = Path(__file__).resolve().parents[1] / "server" / "tierline" / "data" / "models.json"
LIST = "litellm/model_prices_and_context_window_backup.json"
VENDORS = {
    "anthropic": "anthropic", "openai": "openai", "gemini": "gemini", "deepseek": "deepseek",
    "moonshot": "moonshot", "zai": "zai", "xai": "xai", "minimax": "minimax",
    "meta_llama": "llama", "cohere_chat": "cohere", "xiaomi_mimo": "xiaomi",
    "inception": "inception", "ai21": "ai21", "dashscope": "qwen", "mistral": "mistral",
    "codestral": "mistral",
}  # fmt: skip
"""Whose own names these are; the first one that has a name owns it."""
_NO_CHAT = re.compile(
    r"audio|tts|realtime|search|image|research|computer-use|lyria|robotics|omni|embed|moderation|"
    r"voxtral|learnlm|daybreak|transcri|^gemini-gemma|experimental|-beta|-exp"
)
HOSTS = {
    "groq": "groq", "cerebras": "cerebras", "together_ai": "together", "fireworks_ai": "fireworks",
    "deepinfra": "deepinfra", "novita": "novita", "sambanova": "sambanova", "nebius": "nebius",
    "github_copilot": "", "ollama": "", "lambda_ai": "", "hyperbolic": "", "baseten": "",
    "vercel_ai_gateway": "", "watsonx": "", "ovhcloud": "", "wandb": "", "nscale": "",
    "vertex_ai-llama_models": "", "vertex_ai-qwen_models": "", "cloudflare": "", "scaleway": "",
    "bedrock_converse": "", "perplexity": "",
}  # fmt: skip
"""Where open weights run. With a name, its prices are kept; else the sizes only."""
COLUMNS = (
    "input", "output", "price_input", "price_output", "price_read", "price_write_5m",
    "price_write_1h", "long_from", "long_input", "long_output", "long_read", "long_write",
    "min_prefix", "flags",
)  # fmt: skip
FLAGS = {
    "supports_vision": "v", "supports_reasoning": "r", "thinking_always_on": "a",
    "supports_prompt_caching": "c", "supports_function_calling": "t",
}  # fmt: skip
_LONG = re.compile(r"input_cost_per_token_above_(\d+)k_tokens$")


def row(entry: Mapping[str, Any], *, prices: bool = True) -> list[Any] | None:
    """The columns of one model; None if the list does not say how much it reads."""
    most = _whole(entry.get("max_input_tokens")) or _whole(entry.get("max_tokens"))
    if not most:
        return None
    flags = "".join(flag for key, flag in FLAGS.items() if entry.get(key) is True)
    if entry.get("mode") == "responses":
        flags += "R"
    if entry.get("cache_read_input_token_cost") and "c" not in flags:
        flags += "c"
    money: list[Any] = [None] * 10
    if prices:
        tiers = entry.get("tiered_pricing") or [entry]
        first, last = tiers[0], tiers[1] if len(tiers) > 1 else {}
        long = _long(entry)
        money = [
            _price(first, "input_cost_per_token"),
            _price(first, "output_cost_per_token"),
            _price(first, "cache_read_input_token_cost"),
            _price(first, "cache_creation_input_token_cost"),
            _price(first, "cache_creation_input_token_cost_above_1hr")
            or _price(first, "cache_creation_input_token_cost_above_12hr"),
            *(
                [long, *(_price(entry, f"{one}_above_{long // 1000}k_tokens") for one in _MONEY)]
                if long
                else [int(last["range"][0]), *(_price(last, one) for one in _MONEY)]
                if last.get("range")
                else [None] * 5
            ),
        ]
    smallest = _whole(entry.get("prompt_cache_min_tokens"))
    columns = [most, _whole(entry.get("max_output_tokens")), *money, smallest, flags or None]
    while columns and columns[-1] is None:
        columns.pop()
    return columns


_MONEY = (
    "input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)  # fmt: skip


def _long(entry: Mapping[str, Any]) -> int:
    found = [int(match.group(1)) * 1000 for key in entry if (match := _LONG.fullmatch(key))]
    return min(found, default=0)


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value > 0 else None


def _price(entry: Mapping[str, Any], key: str) -> float | None:
    """US dollars per million tokens."""
    value = entry.get(key)
    return float(f"{value * 1e6:.6g}") if isinstance(value, int | float) and value > 0 else None


def weights(copies: Iterable[Mapping[str, Any]]) -> list[Any] | None:
    """One row for a model that several hosts run: what most of them say, without prices."""
    known = [one for entry in copies if (one := row(entry, prices=False))]
    if not known:
        return None
    windows = [one[0] for one in known]
    outputs = [one[1] for one in known if len(one) > 1 and one[1]]
    shown = [str(one[-1]) if isinstance(one[-1], str) else "" for one in known]
    flags = "".join(f for f in "vrt" if 2 * sum(f in one for one in shown) > len(shown))
    window = statistics.mode(windows)
    most = min(statistics.mode(outputs), window) if outputs else 0
    # A smaller figure is a host's own limit and not the model's.
    columns = [window, most if most >= 8192 else None, *[None] * 11]
    columns.append(flags or None)
    while columns and columns[-1] is None:
        columns.pop()
    return columns


def build(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Rows by plain name, and by host and plain name where the host has its own prices."""
    models: dict[str, list[Any]] = {}
    owners: dict[str, list[str]] = defaultdict(list)
    today = datetime.date.today().isoformat()
    hosted: dict[str, dict[str, list[Any]]] = defaultdict(dict)
    copies: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    order = {name: place for place, name in enumerate(VENDORS)}
    for name, entry in sorted(
        entries.items(),
        key=lambda item: (order.get(str(item[1].get("litellm_provider")), 99), item[0]),
    ):
        if entry.get("mode") not in ("chat", "responses"):
            continue
        service = str(entry.get("litellm_provider"))
        short = plain(name)
        if service in VENDORS:
            if name.startswith("ft:") or not (columns := row(entry)):
                continue
            models.setdefault(short, columns)
            own = name.rsplit("/", 1)[-1]
            past = str(entry.get("deprecation_date") or today) < today
            if own not in owners[VENDORS[service]] and not past and not _NO_CHAT.search(own):
                owners[VENDORS[service]].append(own)
        elif service in HOSTS:
            copies[short].append(entry)
            if HOSTS[service] and (columns := row(entry)):
                hosted[HOSTS[service]][short] = columns
    for short, found in copies.items():
        if short not in models and (columns := weights(found)):
            models[short] = columns
    offered = {vendor: _without_dated(names) for vendor, names in owners.items()}
    return {"vendors": offered, "models": models, "hosts": hosted}


def _without_dated(names: list[str]) -> list[str]:
    """Without the names that only add a date or a word to another one."""
    short = {plain(name) for name in names}
    return [name for name in names if not short & set(list(shorter(plain(name)))[1:])]


def _lines(value: Any) -> str:
    """One model on a line, so that a new version of the list shows what changed."""
    if not isinstance(value, dict):
        return _json(value)
    inner = (
        f"{_json(key)}:{_lines(one) if isinstance(one, dict) else _json(one)}"
        for key, one in value.items()
    )
    return "{\n" + ",\n".join(inner) + "\n}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def download(folder: Path) -> Path:
    """The newest wheel, by the ordinary client."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "-d",
        str(folder),
        "litellm",
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("litellm-*.whl"))


def main(arguments: list[str]) -> int:
    """``models.py [WHEEL]``"""
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(arguments[0]) if arguments else download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            entries = json.loads(archive.read(LIST))
            about = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            version = message_from_string(archive.read(about).decode())["Version"]
    table = {
        "source": f"litellm {version}, {LIST}",
        "license": "MIT, Copyright (c) 2023 Berri AI",
        "date": datetime.date.today().isoformat(),
        "columns": COLUMNS,
        **build(entries),
    }
    text = "{\n" + ",\n".join(f"{_json(key)}:{_lines(table[key])}" for key in table) + "\n}\n"
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET.name}: {len(table['models'])} models, {TARGET.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
