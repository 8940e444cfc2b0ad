"""Local embeddings: the tokenizer, the model against published figures, and doing without."""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.histories import turn
from tierline.config import MemoryConfig
from tierline.embeddings.bert import WordPiece, words
from tierline.embeddings.embedder import Embedder, find_model
from tierline.history.selection import select
from tierline.session.retrieval.semantic import SemanticRanking
from tierline.store.group_search import GroupSearch

MODEL = find_model()
needs_model = pytest.mark.skipif(
    MODEL is None, reason="no sentence model is installed (pip install numpy, and the model)"
)
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "!", "parse", "数"]


def test_words_are_lower_case_without_accents_and_punctuation_stands_alone() -> None:
    assert list(words("Élan, vital!\x00\n数据 a_b")) == [
        "elan", ",", "vital", "!", "数", "据", "a", "_", "b"
    ]  # fmt: skip


def test_the_longest_entries_are_taken_from_the_left() -> None:
    piece = WordPiece(VOCABULARY)
    assert piece.encode("Unaffable! 数 xyz", 32) == [2, 4, 5, 6, 7, 9, 1, 3]
    assert piece.encode("un " * 50, 8) == [2, *[4] * 6, 3]
    assert piece.encode("a" * 5000, 8) == [2, 1, 3]
    assert piece.encode("", 8) == [2, 3]


@needs_model
def test_similarities_are_those_that_the_model_is_known_for() -> None:
    """The example on the model's page: 0.6946, 0.9429 and 0.2569 to the first sentence."""
    from tierline.embeddings.bert import Bert

    assert MODEL is not None
    vectors = Bert(MODEL).embed(
        [
            "That is a happy person",
            "That is a happy dog",
            "That is a very happy person",
            "Today is a sunny day",
        ]
    )
    near = (vectors @ vectors[0]).tolist()
    assert near == pytest.approx([1.0, 0.6946, 0.9429, 0.2569], abs=2e-4)


@needs_model
def test_padding_and_batches_change_nothing() -> None:
    import numpy as np

    from tierline.embeddings.bert import Bert

    assert MODEL is not None
    model = Bert(MODEL)
    texts = ["short", "a longer sentence about parsers and rows " * 3, "", "middle of the road"]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-5)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    from tierline.embeddings.bert import Bert, read_safetensors

    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(ValueError, match="not a BERT"):
        Bert(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(ValueError, match="not a safetensors file"):
        read_safetensors(tmp_path / "model.safetensors")
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    data = struct.pack("<Q", len(header)) + header + struct.pack("<2f", 1.5, -2.0)
    (tmp_path / "model.safetensors").write_bytes(data)
    assert read_safetensors(tmp_path / "model.safetensors")["w"].tolist() == [1.5, -2.0]


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[Embedder]:
    made = Embedder(MODEL, tmp_path / "vectors.sqlite3")
    yield made
    made.close()


TEXTS = {
    "a": "The database listens on port 5544.",
    "b": "We had noodles for lunch and it rained.",
    "c": "Postgres connection settings: host name and socket.",
}


@needs_model
@pytest.mark.model
def test_the_worker_ranks_by_meaning_and_its_vectors_outlive_it(
    embedder: Embedder, tmp_path: Path
) -> None:
    embedder.preload(TEXTS)
    assert embedder.ready(list(TEXTS), 60)
    found = embedder.rank("how do I connect to the DB server?", TEXTS, seconds=30)
    assert set(found) == {"a", "c"}
    embedder.close()
    assert embedder.rank("anything", TEXTS) == [] and not embedder.available
    again = Embedder(MODEL, tmp_path / "vectors.sqlite3")
    try:
        again.preload(TEXTS)
        assert again.ready(list(TEXTS), 30)
        assert again._process is None, "all vectors came from the disk"
    finally:
        again.close()


@needs_model
@pytest.mark.model
def test_a_prompt_never_waits_longer_than_it_is_told(embedder: Embedder) -> None:
    began = time.monotonic()
    assert embedder.rank("connect to the database", TEXTS, seconds=0.01) == []
    assert time.monotonic() - began < 0.5


def test_a_worker_that_dies_is_given_up_and_nothing_hangs(tmp_path: Path) -> None:
    broken = Embedder(tmp_path / "nothing-here")
    began = time.monotonic()
    assert broken.rank("query", TEXTS, seconds=60) == []
    assert not broken.available and time.monotonic() - began < 50
    broken.close()


def test_without_a_model_everything_goes_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_model("/no/such/folder") is None
    meaning = SemanticRanking(MemoryConfig(embeddings="off"), None)
    history = [*turn(1), *turn(2, "a zebra"), *(m for n in range(3, 9) for m in turn(n))]
    assert not meaning.available and meaning.over(history) is None
    assert meaning.rank("parser", history) == []
    meaning.preload(history)
    kept = select(
        history,
        strategy="ranked",
        size=3,
        query="zebra",
        search=GroupSearch().over(history),
        semantic=meaning.over(history),
    )
    assert "g2" in {m.group_id for m in kept}
    meaning.close()


def test_ranked_fuses_meaning_by_the_same_rule() -> None:
    """Seed 001:73: embeddings as a further ranking; weight and k as for BM25."""
    history = [m for n in range(1, 9) for m in turn(n)]
    kept = select(
        history,
        strategy="ranked",
        size=3,
        query="zebra crossing",
        search=lambda _words: ["g2"],
        semantic=lambda _query: ["g4", "g2"],
    )
    assert {m.group_id for m in kept} == {"g2", "g4", "g8"}
    asked: list[str] = []

    def meant(query: str) -> list[str]:
        asked.append(query)
        return ["g1"]

    select(
        history,
        strategy="ranked",
        size=3,
        query="continue",
        search=lambda _words: [],
        semantic=meant,
    )
    assert asked == [], "fillers mean nothing"


def test_starting_the_server_imports_no_numpy() -> None:
    import subprocess

    code = "import tierline.session.session, sys; sys.exit('numpy' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
