"""What Tierline says in another language: catalogues, and finding a finished sentence in them."""

from __future__ import annotations

import gettext
import re

import attrs
import pytest
from babel.messages.catalog import Message

import sentences
from tierline import protocol as p
from tierline.localization.translator import FOLDER, from_environment, numbered, places, translator
from tierline.lsp.codec import make_converter
from tierline.lsp.translation import TRANSLATED_FIELDS, ClientLanguage


def german(text: str) -> str:
    found = translator("de")
    assert found is not None
    return found.say(text)


def messages(language: str) -> list[Message]:
    return [message for message in sentences.read(language) if message.id]


def filled(message: str) -> str:
    return re.sub(r"\{(\d+)\}", r"src/n\1.py", message)


@pytest.mark.parametrize("language", sentences.languages())
def test_sentences_of_the_source_are_translated(language: str) -> None:
    """``make sentences`` finds them. A few may wait for their translation."""
    known = {str(message.id): bool(message.string) for message in messages(language)}
    found = sentences.sentences()
    missing = [message for message in found if not known.get(message)]
    assert len(found) > 700
    assert len(missing) < 0.05 * len(found), f"Translate these, after make sentences: {missing}"


@pytest.mark.parametrize("language", sentences.languages())
def test_what_is_put_into_a_sentence_is_put_into_its_translation(language: str) -> None:
    for message in messages(language):
        source, translation = str(message.id), str(message.string)
        if not translation:
            continue
        lost = set(places(source)) - set(places(translation))
        # The ending of a plural need not be there in another language.
        endings = set(re.findall(r"\w\{(\d+)\}", source))
        assert set(places(translation)) <= set(places(source)), source
        assert lost <= endings, source
        assert source.endswith(".") == translation.endswith("."), source


@pytest.mark.parametrize("language", sentences.languages())
def test_the_compiled_catalogue_is_that_of_the_text(language: str) -> None:
    compiled = gettext.translation("tierline", str(FOLDER), [language])
    for message in messages(language):
        if message.string:
            assert compiled.gettext(str(message.id)) == message.string, "run make sentences"


def test_every_sentence_is_found_again_by_its_words() -> None:
    """Filled with names, each is translated by its own message, not by another's that fits, too."""
    wrong = []
    found = translator("de")
    assert found is not None
    for message in messages("de"):
        source, translation = str(message.id), str(message.string)
        if not translation or not re.search(r"[^\W\d_]{3}", re.sub(r"\{\d+\}", "", source)):
            continue
        said = found.label(filled(source))
        if said != filled(translation):
            wrong.append((source, said))
    assert len(wrong) < 12, wrong


@pytest.mark.parametrize(
    ("english", "said"),
    [
        (
            "There is no session s1. List the sessions to see what is.",
            "Es gibt keine Sitzung s1. Die Liste der Sitzungen zeigt, was es gibt.",
        ),
        (
            "The last session was not restored: The disk is full: the message was not written to "
            "x.jsonl.",
            "Die letzte Sitzung wurde nicht wiederhergestellt: Die Platte ist voll: Die Nachricht "
            "wurde nicht in x.jsonl geschrieben.",
        ),
        (
            "src/a.py is in, in tier L1, with 8,400 tokens: it is in the file context.",
            "src/a.py ist dabei, in Stufe L1, mit 8.400 Token: es steht im Dateikontext.",
        ),
        (
            "8,192 tokens · replies up to 2,048 · cache by prefix · no pictures",
            "8.192 Token · Antworten bis 2.048 · Cache nach Anfang · keine Bilder",
        ),
        ("I wrote this myself, and it is not yours.", "I wrote this myself, and it is not yours."),
        ("", ""),
    ],
)
def test_a_finished_sentence_is_translated_with_all_sentences_in_it(
    english: str, said: str
) -> None:
    assert german(english) == said


def test_a_single_word_is_translated_where_it_stands_alone_only() -> None:
    found = translator("de")
    assert found is not None
    assert found.label("messages") == "Nachrichten"
    assert german("messages") == "messages", "it may be a name"
    listed = "There is no view x. Use messages, sessions, plans."
    assert all(name in german(listed) for name in ("messages", "sessions", "plans"))


def test_hostile_texts_are_left_as_they_are_and_take_no_time() -> None:
    for text in ("{0} {1}" * 200, ". " * 1_900, "is in " * 600, "a\n" * 2_000, "x" * 100_000):
        assert german(text) == text


@pytest.mark.parametrize(
    ("locale", "speaks"),
    [("de", True), ("de-AT", True), ("de_DE.UTF-8", True), ("en", False), ("C", False)]
    + [(name, False) for name in ("", "xx", "../../etc", "de/../de", "\0")],
)
def test_a_locale_leads_to_a_catalogue_or_to_english(locale: str, speaks: bool) -> None:
    assert (translator(locale) is not None) == speaks


def test_the_environment_names_the_language_of_the_terminal() -> None:
    assert from_environment({"LANG": "de_DE.UTF-8"}) == "de_DE.UTF-8"
    assert from_environment({"LANG": "de_DE", "LC_ALL": "C"}) == "C"
    assert from_environment({"LANGUAGE": "de:en", "LANG": "en_US"}) == "de"
    assert from_environment({}) == ""


def test_fields_that_are_sentences_exist_and_leave_in_the_clients_language() -> None:
    for cls, names in TRANSLATED_FIELDS.items():
        assert set(names) <= {field.name for field in attrs.fields(cls)}, cls
    language = ClientLanguage()
    converter = make_converter(language)
    notice = p.Notice("info", "Nothing was changed.", "")
    assert converter.unstructure(notice)["text"] == "Nothing was changed."
    language.choose("de-DE")
    assert converter.unstructure(notice)["text"] == "Es wurde nichts geändert."
    files = p.FilesResult([], notices=["Nothing was changed."])
    assert converter.unstructure(files)["notices"] == ["Es wurde nichts geändert."]


def test_a_document_is_not_translated_and_a_table_is_cell_by_cell() -> None:
    language = ClientLanguage()
    language.choose("de")
    converter = make_converter(language)
    text = "## What left\n\n- There is no turn yet.\n| log | in the conversation | 1,200 |\n"
    said = converter.unstructure(p.CommandResult("Web pages", text))
    assert said["title"] == "Webseiten"
    assert said["text"] == (
        "## Was ging\n\n- Es gibt noch keine Runde.\n| log | in der Unterhaltung | 1.200 |\n"
    )
    document = converter.unstructure(p.CommandResult("Web pages", text, document=True))
    assert document["text"] == text


def test_a_text_for_format_is_a_message_with_numbered_places() -> None:
    assert numbered("{name} has {count:,} tokens{detail}.") == "{0} has {1} tokens{2}."
