"""Encoders come from the package's own files, checked, and never from the network."""

from __future__ import annotations

import hashlib
import importlib
import logging
import operator
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.planning import shipped
from tierline import tokenizers


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is loaded yet, and no connection can be made."""
    monkeypatch.setattr(tokenizers, "_loaded", {})

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_first_count_needs_no_network(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    encode = shipped(name)
    assert encode("hello world") == 2
    assert encode.additive
    assert encode.name == name


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_shipped_files_have_the_hash_that_tiktoken_lists(name: str) -> None:
    shipped(name)
    public = importlib.import_module("tiktoken_ext.openai_public")
    seen: list[tuple[str, str]] = []

    def spy(url: str, expected_hash: str) -> dict[bytes, int]:
        seen.append((url.rsplit("/", 1)[-1], expected_hash))
        return {}

    constructor = public.ENCODING_CONSTRUCTORS[name]
    types.FunctionType(
        constructor.__code__, {**constructor.__globals__, "load_tiktoken_bpe": spy}
    )()
    ((file_name, expected),) = seen
    folder = Path(tokenizers.__file__).parents[1] / "data" / "vocabulary"
    assert hashlib.sha256((folder / file_name).read_bytes()).hexdigest() == expected


@pytest.mark.usefixtures("fresh")
def test_a_failing_load_warns_once_and_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[str] = []

    def broken(url: str, expected_hash: str) -> dict[bytes, int]:
        tries.append(url)
        raise tokenizers.VocabularyError("It is not there.")

    monkeypatch.setattr(tokenizers, "_ranks", broken)
    with caplog.at_level(logging.WARNING):
        assert [tokenizers.encoder("o200k_base") for _ in range(20)] == [None] * 20
    assert len(tries) == 1
    assert len(caplog.records) == 1
    assert "4 characters" in caplog.text


@pytest.mark.usefixtures("fresh")
def test_after_a_failure_it_can_be_tried_again_without_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = tokenizers._ranks
    monkeypatch.setattr(tokenizers, "_ranks", lambda url, expected_hash: 1 / 0)
    assert tokenizers.encoder("cl100k_base") is None
    assert tokenizers.ready("cl100k_base")
    monkeypatch.setattr(tokenizers, "_ranks", real)
    assert tokenizers.encoder("cl100k_base") is None
    tokenizers.forget()
    assert shipped("cl100k_base")("hello world") == 2


@pytest.mark.usefixtures("fresh")
def test_an_unknown_encoding_is_none() -> None:
    assert tokenizers.encoder("no_such_base") is None


def test_a_vocabulary_with_another_hash_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tokenizers.VocabularyError, match="hash"):
        shipped("o200k_base")
        tokenizers._ranks("https://host/o200k_base.tiktoken", "0" * 64)
    with pytest.raises(tokenizers.VocabularyError, match="not in the package"):
        tokenizers._ranks("https://host/none.tiktoken", "0" * 64)


def test_text_that_looks_like_special_tokens_is_text() -> None:
    encode = shipped("o200k_base")
    assert encode("<|endoftext|>") > 1


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, tierline.tokenizers; print('tiktoken' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_counts_are_those_of_tiktoken_itself(name: str) -> None:
    """Our way to build the encoder lets its input go half-way; nothing may be lost by that."""
    tiktoken = pytest.importorskip("tiktoken")
    ours = shipped(name)
    public = importlib.import_module("tiktoken_ext.openai_public")
    constructor = public.ENCODING_CONSTRUCTORS[name]
    facts = types.FunctionType(
        constructor.__code__, {**constructor.__globals__, "load_tiktoken_bpe": tokenizers._ranks}
    )()
    theirs = tiktoken.Encoding(**facts)
    rare = [theirs.decode_single_token_bytes(rank) for rank in range(256, theirs.n_vocab - 30, 997)]
    texts = [token.decode("utf-8", "replace") for token in rare]
    texts += ["def f(x):\n\treturn x  # naïve 你好 🙂\n" * 9, "<|endoftext|>", "\ud83d"]
    for text in texts:
        assert ours(text) == len(theirs.encode_ordinary(text))


def test_an_encoder_that_did_not_take_the_whole_vocabulary_is_not_used() -> None:
    class Early:
        """Reads the special tokens before the ranks."""

        def __init__(self, ranks: dict[bytes, int], special: dict[str, Any], _pattern: str) -> None:
            assert [int(operator.index(number)) for number in special.values()] == [2]
            self.known = {rank: token for token, rank in ranks.items()}

        def decode_single_token_bytes(self, rank: int) -> bytes:
            return self.known[rank]

    facts = {"mergeable_ranks": {b"a": 0, b"b": 1}, "special_tokens": {"<|x|>": 2}, "pat_str": "."}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiktoken._tiktoken.CoreBPE", Early)
        with pytest.raises(tokenizers.VocabularyError, match="all of it"):
            tokenizers._core(facts)
