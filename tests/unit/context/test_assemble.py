"""Seed 004, Testing / Prompt Assembly, non-tiered (004:318-325), from real request bodies.

The non-tiered form is the policy ``fixed``; the tiered one (004:327-337) is tested in
``tests/unit/tiers``. One deviation: where the seed writes an "Ok." of the assistant's after each
document, we write one short acknowledgement, the same everywhere; headings are Markdown.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.planning import stub_counter
from support.tierworld import FACTS, file_item, say, talk_item, text_item
from tierline.context.assemble import ACKNOWLEDGEMENT, _Builder, _totals, assemble
from tierline.context.blocks import Image, Text
from tierline.context.counting import TokenCounter
from tierline.context.items import Item, Section
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.context.tiers.base import (
    Arrangement,
    CacheState,
    Piece,
    Pricing,
    RequestContext,
    Tier,
)
from tierline.context.tiers.fixed import FixedPolicy
from tierline.providers import render_anthropic, render_openai

pytestmark = pytest.mark.requirement("004:318-325")

PNG = Image("image/png", "aGVsbG8=", 2, 2)
SYSTEM = "You are a programming assistant."
MAP = "src/a.py: alpha, beta"
TREE = "README.md\nsrc/a.py"
PAGE = "The page says hello."


def items(*, image: bool = False) -> list[Item]:
    asked = say("user", "What now?", *([PNG] if image else []))
    return [
        talk_item("history:1", "g1", (say("user", "First question"),), required=False),
        talk_item("history:2", "g1", (say("assistant", "First answer"),), required=False),
        talk_item("history:3", "g2", (asked,), required=True),
        file_item("src/a.py", "ALPHA = 1\n"),
        text_item("url:1", Section.URLS, PAGE),
        text_item("tree:", Section.FILES, TREE),
        text_item("symbols:src", Section.SYMBOLS, MAP),
        text_item("system:head", Section.SYSTEM, SYSTEM, required=True),
    ]


def prompt(given: list[Item]) -> Prompt:
    arranged = FixedPolicy().arrange(
        given, CacheState(), RequestContext(1.0, FACTS.name), Pricing.of(FACTS)
    )
    return assemble(arranged, facts=FACTS)


def anthropic(given: list[Item]) -> dict[str, Any]:
    return render_anthropic.body(strict(prompt(given), strategy="anthropic"))


def openai(given: list[Item]) -> list[dict[str, Any]]:
    shaped = strict(prompt(given), strategy="openai")
    found: list[dict[str, Any]] = render_openai.body(shaped, official=True)["messages"]
    return found


def said(body: dict[str, Any]) -> list[tuple[str, str]]:
    """Roles and texts of all messages, block by block."""
    return [(m["role"], b["text"]) for m in body["messages"] for b in m["content"] if "text" in b]


def test_system_message_comes_first_with_the_system_prompt() -> None:
    """004:318, "System message first with system prompt content"."""
    assert anthropic(items())["system"][0]["text"] == SYSTEM
    first = openai(items())[0]
    assert first["role"] == "system"
    assert first["content"].startswith(SYSTEM)


def test_symbol_map_is_in_the_system_message_under_its_header() -> None:
    """004:319, "Symbol map appended to system message under Repository Structure header"."""
    system = [block["text"] for block in anthropic(items())["system"]]
    assert system == [SYSTEM, "# Repository Structure", MAP]
    content = openai(items())[0]["content"]
    assert content.index("Repository Structure") < content.index(MAP)


@pytest.mark.parametrize(
    ("line", "header", "text"),
    [
        ("004:320", "Repository Files", TREE),
        ("004:321", "URL Context", PAGE),
        ("004:322", "Working Files", "ALPHA = 1"),
    ],
)
def test_documents_are_pairs_under_their_headers(line: str, header: str, text: str) -> None:
    """004:320, "File tree as user/assistant pair with Repository Files header"; 004:321, "URL
    context as user/assistant pair with acknowledgement"; 004:322, "Active files as user/assistant
    pair with Working Files header".
    """
    talk = said(anthropic(items()))
    place = talk.index(("user", f"# {header}"))
    role, content = talk[place + 1]
    assert role == "user" and text in content, line
    assert talk[place + 2] == ("assistant", ACKNOWLEDGEMENT), line


def test_documents_stand_in_the_seeds_order() -> None:
    """004:320-322: tree, pages, files."""
    headers = [text for _, text in said(anthropic(items())) if text.startswith("# ")]
    assert headers == ["# Repository Files", "# URL Context", "# Working Files"]


def test_what_is_absent_leaves_no_header() -> None:
    given = [i for i in items() if i.section in (Section.SYSTEM, Section.HISTORY)]
    assert len(anthropic(given)["system"]) == 1
    assert [role for role, _ in said(anthropic(given))] == ["user", "assistant", "user"]


def test_history_stands_before_the_prompt() -> None:
    """004:323, "History messages appear before current user prompt"; and after the documents."""
    talk = said(anthropic(items()))
    assert talk[-3:] == [
        ("user", "First question"),
        ("assistant", "First answer"),
        ("user", "What now?"),
    ]


def test_pictures_make_content_blocks_and_their_absence_a_string() -> None:
    """004:324, "Images produce multimodal content blocks; no images produces string".

    So it is on OpenAI's wire. On Anthropic's all content is blocks, because a breakpoint can only
    stand on a block.
    """
    last = openai(items(image=True))[-1]["content"]
    assert [part["type"] for part in last] == ["text", "image_url"]
    assert openai(items())[-1]["content"] == "What now?"
    blocks = anthropic(items(image=True))["messages"][-1]["content"]
    assert [block["type"] for block in blocks] == ["text", "image"]


def test_estimated_tokens_of_a_prompt_are_positive() -> None:
    """004:325, "estimate_prompt_tokens > 0"; without an encoder too."""
    assert stub_counter().count(prompt(items())) > 0
    assert TokenCounter(FACTS, None).count(prompt(items())) > 0
    bare = [text_item("system:head", Section.SYSTEM, SYSTEM, required=True)]
    assert stub_counter().count(prompt(bare)) > 0


def test_breakpoints_are_counted_once_each_and_stop_at_the_room() -> None:
    builder = _Builder(frozenset(range(5)))
    for place in range(5):
        text = f"text {place}"
        builder.add(place, Piece(f"p{place}", Tier.HEAD, Section.SYSTEM, 10, text))
    assert builder.mark([0, 0, 1], 4, "5m") == 2, "the same place twice is one breakpoint"
    assert builder.mark([2, 3, 4], 2, "5m") == 2
    assert [block.mark for block in builder.system] == ["5m", "5m", "5m", "5m", None]


def test_a_breakpoint_stands_behind_all_tokens_up_to_it() -> None:
    """``min_cacheable_tokens`` is of the whole prefix, tools included, and of nothing behind it."""
    pieces = tuple(
        Piece(f"p{n}", Tier.HEAD, Section.SYSTEM, tokens, f"text {n}")
        for n, tokens in enumerate((100, 200, 400, 800))
    )
    arrangement = Arrangement("x", pieces, (3, 0, 1), "5m", CacheState())
    assert _totals(50, arrangement) == {0: 150, 1: 350, 3: 1550}


def test_what_comes_in_a_row_from_one_side_is_one_message() -> None:
    builder = _Builder(frozenset({1}))
    for place, text in enumerate(("one", "two")):
        block = PromptBlock(Text(text), f"history:{place}")
        message = PromptMessage("user", (block,))
        piece = Piece(f"p{place}", Tier.ACTIVE, Section.HISTORY, 10, messages=(message,))
        builder.add(place, piece)
    (only,) = builder.messages
    assert [b.block for b in only.blocks] == [Text("one"), Text("two")]
