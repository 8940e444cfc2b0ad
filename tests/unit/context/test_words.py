"""Words of names and questions, and files that a prompt names, for retrieval."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tierline.context.retrieval import rank
from tierline.context.retrieval.corpus import Corpus, document
from tierline.context.retrieval.graph import run_to_end
from tierline.context.retrieval.rank import RankQuery, _paths_named, rank_files
from tierline.context.retrieval.symbol import SourceFile
from tierline.context.retrieval.words import terms_of_names


def test_names_count_as_wholes_and_by_their_words() -> None:
    found = terms_of_names([("parse_header", 2), ("parseBody", 3), ("x", 9)])
    assert found["pars"] == 5 or found["parse"] == 5, "as often as the names occur together"
    assert min(found.values()) > 0
    assert all(len(word) > 1 for word in found), "a letter says nothing"
    assert "b" not in terms_of_names([("a_b", 1)])


def corpus(*paths: str) -> Corpus:
    made = Corpus()
    for path in paths:
        file = SourceFile(path, "python", 9)
        made.put(file, document(file))
    return made


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("look at src/core/grammar.py, please", "the prompt names the file"),
        ("in `grammar.py:12` it fails", "the prompt names the file"),
        ("in (core/grammar.py) it fails", "the prompt names the module"),
        ("src.core.grammar is slow", "the prompt names the module"),
        ("the grammar is slow", None),
        ("other/grammar.py", None),
    ],
)
def test_a_prompt_names_files_by_path_name_or_module(prompt: str, named: str | None) -> None:
    found = dict(
        run_to_end(_paths_named(corpus("src/core/grammar.py", "src/core/other.py"), prompt))
    )
    assert list(found.values()) == ([named] if named else [])


def test_names_that_too_many_files_have_name_none() -> None:
    many = corpus(*(f"pkg{n}/models.py" for n in range(13)))
    assert run_to_end(_paths_named(many, "see models.py")) == []
    few = corpus(*(f"pkg{n}/models.py" for n in range(12)))
    assert len(run_to_end(_paths_named(few, "see models.py"))) == 12
    assert run_to_end(_paths_named(corpus("a.b"), "a.b")) == [], "so short a name is chance"


def test_a_word_says_more_in_a_short_file_and_more_if_few_have_it() -> None:
    made = Corpus()
    files = {"short.py": "lattice", "long.py": "lattice " + "filler word " * 300,
             "often.py": "lattice lattice lattice", "none.py": "nothing"}  # fmt: skip
    for path, said in files.items():
        file = SourceFile(path, "python", 9, words=said)
        made.put(file, document(file))
    (word,) = terms_of_names([("lattice", 1)])
    scores = run_to_end(made.search({word: 1.0}))
    by_path = {path: scores.get(number, 0.0) for path, number in made.by_path.items()}
    assert by_path["often.py"] > by_path["short.py"] > by_path["long.py"] > 0 == by_path["none.py"]
    (rare,) = terms_of_names([("nothing", 1)])
    assert max(run_to_end(made.search({rare: 1.0})).values()) > by_path["short.py"]
    assert run_to_end(made.search({})) == {} and run_to_end(made.search({"absent": 1.0})) == {}
    assert run_to_end(Corpus().search({word: 1.0})) == {}


def test_a_file_in_context_counts_only_if_it_shares_a_word_with_the_prompt() -> None:
    made = Corpus()
    for path, said in (("a.py", "lattice"), ("b.py", "lattice"), ("none.py", "nothing")):
        file = SourceFile(path, "python", 9, words=said)
        made.put(file, document(file))
    held = run_to_end(rank_files(made, RankQuery("lattice", context=("b.py", "none.py"))))
    assert [file.path for file in held.files][:2] == ["b.py", "a.py"], "what is held comes first"
    assert held.files[1].score > sum(f.score for f in held.files if f.path == "none.py")
    assert [file.path for file in run_to_end(rank_files(made, RankQuery("lattice"))).files] == [
        "a.py",
        "b.py",
    ]
    assert run_to_end(rank_files(made, RankQuery(""))).files == ()


def test_what_is_kept_of_a_common_word_is_a_bit_for_each_file() -> None:
    many = 4_000
    made = corpus(*(f"pkg{n}/models.py" for n in range(many)))
    (word,) = terms_of_names([("models", 1)])
    assert made.rarity(word) > 0 and len(run_to_end(made.search({word: 1.0}))) == many
    assert all(made.holds(word, n) for n in range(many)) and not made.holds("lattice", 7)
    assert sum(map(sys.getsizeof, made._held.values())) < many / 5
    made.remove("pkg7/models.py")
    assert not made.holds(word, 7) and made.holds(word, 8)


def test_of_files_that_hold_a_common_word_the_likely_ones_are_ranked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Corpus()
    for number in range(60):
        said = "lattice " * (1 + number % 7) + "filler " * number
        file = SourceFile(f"pkg{number}/file{number}.py", "python", 9, words=said)
        made.put(file, document(file))
    query = RankQuery("lattice in file9.py", context=("pkg50/file50.py",))
    whole = run_to_end(rank_files(made, query, limit=8))
    weighed: list[int] = []
    weigh = rank._weigh

    def counted(scores: dict[int, float], *rest: Any) -> None:
        weighed.append(len(scores))
        weigh(scores, *rest)

    monkeypatch.setattr(rank, "_weigh", counted)
    monkeypatch.setattr(rank, "MAX_RANKED", 25)
    assert run_to_end(rank_files(made, query, limit=8)) == whole
    assert weighed[0] < 35
