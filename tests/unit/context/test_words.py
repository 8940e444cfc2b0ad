"""Words of names and questions, and files that a prompt names, for retrieval."""

from __future__ import annotations

import pytest

from tierline.context.retrieval.corpus import Corpus, document
from tierline.context.retrieval.rank import _paths_named
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
    found = dict(_paths_named(corpus("src/core/grammar.py", "src/core/other.py"), prompt))
    assert list(found.values()) == ([named] if named else [])


def test_names_that_too_many_files_have_name_none() -> None:
    many = corpus(*(f"pkg{n}/models.py" for n in range(13)))
    assert _paths_named(many, "see models.py") == []
    few = corpus(*(f"pkg{n}/models.py" for n in range(12)))
    assert len(_paths_named(few, "see models.py")) == 12
    assert _paths_named(corpus("a.b"), "a.b") == [], "so short a name is chance"
