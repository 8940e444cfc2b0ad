"""Area B: what makes tokenizers fail, freeze or phone home. BR-022's shapes are in area E."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bugcases.fixtures import case, expect
from support.planning import shipped
from tierline.context.blocks import Text
from tierline.context.counting import CountCache, TokenCounter
from tierline.context.fences import render_file
from tierline.context.models import ModelFacts
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import Provider
from tierline.providers.openai import OpenAIProvider
from tierline.providers.transport import Endpoint

EXACT = ModelFacts("m", native_encoding=True)
ENDPOINT = Endpoint("http://127.0.0.1:1", key="k")


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_br_016_marker_strings_are_counted_as_text(name: str) -> None:
    want = expect("BR-016")
    text = (case("BR-016") / "special_tokens.txt").read_text(encoding="utf-8")
    warnings: list[str] = []
    model = ModelFacts("m", encoding=name, native_encoding=True)
    counter = TokenCounter(model, shipped(name), warn=warnings.append)
    assert counter.count(text) > len(text) // 8
    assert len(warnings) == want["exceptions"]
    assert counter.count("<|endoftext|>") > 1


@pytest.mark.parametrize("provider", [AnthropicProvider(ENDPOINT), OpenAIProvider(ENDPOINT)])
def test_br_016_marker_strings_reach_the_request_unchanged(provider: Provider) -> None:
    text = (case("BR-016") / "special_tokens.txt").read_text(encoding="utf-8")
    block = PromptBlock(Text(render_file("special_tokens.txt", text)), "file:special_tokens.txt")
    prompt = strict(Prompt("m", (), (PromptMessage("user", (block,)),)), strategy=provider.strategy)
    sent = provider.render(prompt).payload.decode()
    for part in expect("BR-016")["request_contains"]:
        assert part in sent


OFFLINE = """
import logging, sys, time
records = []
class Keep(logging.Handler):
    def emit(self, record): records.append(record)
logging.getLogger().addHandler(Keep())
from tierline import tokenizers
from tierline.context.counting import TokenCounter
from tierline.context.models import ModelFacts
if sys.argv[1] == "without":
    tokenizers._ranks = lambda url, expected_hash: (_ for _ in ()).throw(OSError("gone"))
began = time.monotonic()
counter = TokenCounter(ModelFacts("m", native_encoding=True), tokenizers.encoder("o200k_base"))
counts = [counter.count("x" * 401 + str(n)) for n in range(200)]
for _ in range(200):
    tokenizers.encoder("o200k_base")
warnings = [r for r in records if r.levelno >= logging.WARNING]
print(counter.accuracy.value, counts[0], len(warnings), time.monotonic() - began)
"""


@pytest.mark.parametrize("vocabulary", ["with", "without"])
def test_br_018_no_network_is_needed_and_a_missing_vocabulary_warns_once(
    vocabulary: str, tmp_path: Path
) -> None:
    want = expect("BR-018")
    shipped("o200k_base")
    env = dict(os.environ)
    for line in (case("BR-018") / "env.txt").read_text().splitlines():
        name, _, value = line.partition("=")
        if name:
            env[name] = str(tmp_path) if name == "TIKTOKEN_CACHE_DIR" else value
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, vocabulary],
        env=env, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    accuracy, first, warnings, seconds = done.stdout.split()
    assert float(seconds) < want["initialize_seconds_max"] + 3  # the machine may be busy
    if vocabulary == "with":
        assert (accuracy, warnings) == ("exact", "0")
    else:
        assert (accuracy, first) == ("estimated", str(-(-402 // 4)))
        assert int(warnings) <= want["warnings_max"]
    assert list(tmp_path.iterdir()) == [], "nothing was downloaded or cached"


def test_br_020_one_endless_word_neither_takes_long_nor_is_counted_twice() -> None:
    want = expect("BR-020")
    text = (case("BR-020") / "long_run_a.txt").read_text(encoding="utf-8")
    counter = TokenCounter(EXACT, shipped("o200k_base"))
    began = time.process_time()
    tokens = counter.count(text)
    assert time.process_time() - began < want["count_seconds_max"]
    began = time.process_time()
    assert counter.count(text) == tokens
    assert time.process_time() - began < 0.05


def test_br_020_other_threads_are_answered_meanwhile() -> None:
    """Counting runs in a thread; the encoder lets go of the interpreter's lock."""
    want = expect("BR-020")
    text = (case("BR-020") / "long_run_a.txt").read_text(encoding="utf-8") * 8
    counter = TokenCounter(EXACT, shipped("o200k_base"), cache=CountCache())
    worker = threading.Thread(target=counter.count, args=(text,))
    longest = 0.0
    last = time.perf_counter()
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    worker.join()
    assert longest * 1000 < want["other_request_ms_max"]


def test_br_022_halves_of_emojis_are_counted_as_what_replaces_them() -> None:
    text = (case("BR-022") / "emoji_run.txt").read_text(encoding="utf-8")
    counter = TokenCounter(EXACT, shipped("o200k_base"))
    units = text.encode("utf-16-le")
    for length in range(1, 41):
        cut = units[: 2 * length].decode("utf-16-le", "surrogatepass")
        assert counter.count(cut) == counter.count(
            units[: 2 * length].decode("utf-16-le", "replace")
        )
