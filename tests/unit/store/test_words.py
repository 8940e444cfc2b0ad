"""Queries as the word index is asked them."""

from __future__ import annotations

from pathlib import Path

from tierline.context.blocks import Text
from tierline.store.sessions import HistoryStore
from tierline.store.vocabulary import expression, extend, known
from tierline.store.words import MAX_WORDS, contains, index_text, match_any, match_tokens
from tierline.store.words import query_words as words


def test_a_query_is_its_words_each_once_and_not_endless() -> None:
    assert words("  Straße STRASSE foo\tfoo ") == ("strasse", "foo")
    assert len(words(" ".join(f"w{n}" for n in range(99)))) == MAX_WORDS
    assert contains("In der STRASSE", words("straße")) and not contains("street", words("straße"))


def test_each_part_of_each_word_must_be_there() -> None:
    assert match_tokens(("foo.bar", "baz"), prefix=False) == '"foo" AND "bar" AND "baz"'
    assert match_tokens(("foo.bar", "baz"), prefix=True) == '"foo" AND "bar"* AND "baz"*'
    assert match_tokens(("ab", "foo", "foo"), prefix=True) == '"ab" AND "foo"*', "too short to grow"
    assert match_tokens(("...",), prefix=True) == ""
    assert match_tokens(('"x" OR y*',), prefix=False) == '"x" AND "OR" AND "y"', "never syntax"


def test_runs_of_characters_are_pairs_and_what_is_glued_to_them_is_apart() -> None:
    assert index_text("plain") == "plain"
    assert index_text("数据库x").split() == ["数据", "据库", "库", "x"]
    assert match_tokens(("数据",), prefix=False) == '"数据" AND "据"'


def test_any_word_will_do_for_ranking() -> None:
    assert match_any(["foo", "a.b", "…"]) == '"foo" OR ("a" AND "b")'
    assert match_any([]) == ""


def test_the_vocabulary_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    words = (f"unusualword{number}x" for number in range(450))
    store.append_all([store.make("user", (Text(word),)) for word in words])
    store.index.catch_up()
    with store.index.connection() as db:
        db.execute("DELETE FROM meta WHERE key = 'vocabulary'")
        db.execute("DELETE FROM term")
        db.execute("DELETE FROM terms")
        db.commit()
        assert known(db) == 0
        turns = iter([False, True])
        assert extend(db, lambda: next(turns)) is False
        assert known(db) == 200, "a batch"
        assert expression(db, ["unusualword150"]) and expression(db, ["unusualword300"]) is None
        assert extend(db, lambda: True) is False, "told to stop before it began"
        assert known(db) == 200
        assert extend(db, lambda: False) is True
        assert known(db) == 450
        assert expression(db, ["unusualword300"])
        short = expression(db, ["is", "word300x"])
        assert short == expression(db, ["word300x"]), "too short to decide; the others do"
        assert extend(db, lambda: False) is True, "nothing is left"
    store.close()
