"""Thinking between tags is found however a reply is cut into pieces, and nothing is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.providers.think_tags import ThinkTagParser

TAGS = ("<think>", "</think>", "<thi", "nk>", "</", "[THINK]", "[/THINK]", "◁/think▷")
HARMONY = (
    "<|channel|>", "analysis", "final", "<|message|>", "<|end|>", "<|start|>", "assistant",
    "<|return|>", "<|channel>thought", "<channel|>", "<|", "assistantfinal",
)  # fmt: skip
END, FINAL = "<|end|>", "<|channel|>final<|message|>"
WORDS = ("```", "a", "<", "[", "~~~", "\n", " ", "so it is", "```py\n", "~~~\n")
PIECES = st.lists(st.sampled_from(TAGS + WORDS + HARMONY), max_size=14).map("".join)


def read(pieces: list[str]) -> tuple[str, str]:
    """Text and thinking of a reply that came in these pieces."""
    tags, text, thinking = ThinkTagParser(), "", ""
    for told in [*(t for piece in pieces for t in tags.feed(piece)), *tags.rest()]:
        match told:
            case ("text", words):
                text += words
            case ("thinking", words):
                thinking += words
            case _:
                text, thinking = "", thinking + text
    return text, thinking


@given(PIECES, st.randoms())
def test_however_it_is_cut(reply: str, random: st.DataObject) -> None:
    cuts = sorted(random.randrange(len(reply) + 1) for _ in range(5))  # type: ignore[attr-defined]
    parts = [reply[a:b] for a, b in zip([0, *cuts], [*cuts, len(reply)], strict=True)]
    assert read(parts) == read([reply]) == read(list(reply))


@given(PIECES)
def test_nothing_but_tags_and_white_space_is_lost(reply: str) -> None:
    text, thinking = read([reply])

    def letters(said: str) -> list[str]:
        return re.findall(r"[a-z]", said)

    marks = set("thinkassistantfinal")
    assert "|" in reply or set(letters(reply)) <= set(letters(text + thinking)) | marks


@given(st.lists(st.tuples(st.sampled_from(["analysis", "final"]), st.text("ab7 <|\n")), min_size=1))
def test_of_harmony_each_message_goes_where_its_channel_says(said: list[tuple[str, str]]) -> None:
    parts = [f"<|channel|>{channel}<|message|>{words}" for channel, words in said]
    text, thinking = read([f"{END}<|start|>assistant".join(parts)])
    assert text == "".join(words for channel, words in said if channel == "final").lstrip()
    assert thinking == "".join(words for channel, words in said if channel == "analysis")


@pytest.mark.parametrize(
    ("reply", "text", "thinking"),
    [
        ("I look.\n</think>\n\nYes.", "Yes.", "I look.\n"),
        ("</think>Yes.", "Yes.", ""),
        ("I look.\n  [/THINK]\nYes.\n</think>", "Yes.\n</think>", "I look.\n  "),
        ("It ends with </think>, here.", "It ends with </think>, here.", ""),
        ("```\n</think>\n```\nSo.", "```\n</think>\n```\nSo.", ""),
        ("```\na\n```\nSo.\n</think>\nYes.", "Yes.", "```\na\n```\nSo.\n"),
        ("<think>hm</think>\nYes.\n</think>", "Yes.\n</think>", "hm"),
        ("<|channel>thought\nhm<channel|>Yes.", "Yes.", "\nhm"),
        ("It goes on.<channel|>Yes.", "Yes.", "It goes on."),
        (f"<|channel|>analysis<|message|>hm{END}<|start|>assistant{FINAL}Yes.", "Yes.", "hm"),
        (f"<|start|>assistant<|channel|>analysis<|message|>hm{END}Yes.<|return|>", "Yes.", "hm"),
        (f"{FINAL}if a <|b|> c < d{END}", "if a <|b|> c < d", ""),
        ('<|channel|>commentary<|message|>{"a": 1}<|end|>', '{"a": 1}', ""),
        ("analysisWe look.assistantfinalYes.", "Yes.", "analysisWe look."),
        ("analysis is what assistantfinal means.", "analysis is what assistantfinal means.", ""),
        ("analysisX is a name.", "analysisX is a name.", ""),
    ],
)
def test_the_closing_tag_alone(reply: str, text: str, thinking: str) -> None:
    assert read([reply]) == (text, thinking) == read(list(reply))
