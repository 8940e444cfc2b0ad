"""Whether a prompt is about code at all."""

from __future__ import annotations

import pytest

from tierline.context.retrieval.evidence import FileTerms, PromptTerms, reason_words
from tierline.context.retrieval.words import is_german, query_terms

LIMITER = FileTerms.of("src/web/limits.py", ["RateLimiter", "refill_bucket", "time_left"])


def about(text: str, names: FileTerms = LIMITER, common: frozenset[str] = frozenset()) -> bool:
    def rarity(word: str) -> float:
        held = names.path.union(*names.symbols)
        return 0.5 if word in common else 3.0 if word in held else 0.0

    return PromptTerms.of(text).means(names, rarity)


@pytest.mark.parametrize(
    "text",
    [
        "the rate limiter lets too many through",
        "why does the bucket refill twice?",
        "fix the bug in the limits",
        "Wo wird der Bucket gefüllt?",
        "Where are the limits of the web part?",
        "what is refilled, and when?",
        "what limits our visitors?",
    ],
)
def test_what_the_names_of_a_file_say_is_evidence(text: str) -> None:
    assert about(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "thanks!",
        "write a song about the limits of time",
        "Is there time left for a walk along the river this weekend?",
        "my web of friends in the city has grown",
        "Where is the best place to refill this evening?",
        "Please recommend a novelist who limits himself",
        "sounds good, go ahead",
        "Who are you, and what can you do?",
        "Ein Gedicht über den Bucket bitte, und nicht zu lang",
    ],
)
def test_english_words_that_occur_in_names_are_none(text: str) -> None:
    assert not about(text)


def test_a_word_is_met_in_its_other_forms() -> None:
    names = FileTerms.of("worker.py", ["embedding", "refilled"])
    assert about("who embeds and refills?", names)
    assert not about("the sounds and what lies ahead", names)


def test_two_words_beside_each_other_are_the_name_that_they_make() -> None:
    assert about(
        "is the page rank right for the largest of all islands?", FileTerms.of("pagerank.py", [])
    )
    assert not about(
        "is the page of rank right for all my islands and lakes", FileTerms.of("pages.py", [])
    )


def test_reasons_are_written_as_the_prompt_writes_them() -> None:
    text = "Parsing queries: parseHTTPHeader"
    words = list(query_terms(text))
    said = reason_words(text, words)
    assert {"Parsing", "queries", "parseHTTPHeader", "http", "header"} <= set(said)


def test_the_small_words_of_german_search_nothing_in_a_german_prompt() -> None:
    text = "Wie ist die Methode und was war der Fehler?"
    assert is_german(text)
    assert set(query_terms(text)) == {"method", "fehler"}
    assert not is_german("What was the error?")
    assert "die" in query_terms("does the process die on errors")
