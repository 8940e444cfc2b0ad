"""Area A: token counts and the budget display. The wire side of BR-003 and BR-013 is in area P."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from attrs import evolve

from bugcases.fixtures import case, expect
from support.atoms import atoms
from support.planning import FourCharacters, file, limits, prompt, shipped, stub_counter, system
from tierline import tokenizers
from tierline.context.accuracy import Accuracy
from tierline.context.blocks import Image, Text, ToolResult
from tierline.context.budget import BudgetReport, UsageLedger, budget
from tierline.context.counting import TokenCounter
from tierline.context.fences import render_file
from tierline.context.items import Item, Section
from tierline.context.limits import Limits, should_compact
from tierline.context.models import ModelFacts, ModelTable
from tierline.context.plan import plan
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.history.messages import Message


def fixture(name: str, file_name: str) -> Any:
    return json.loads((case(name) / file_name).read_text(encoding="utf-8"))


def message(number: int, role: str, text: str) -> Message:
    user: Any = role
    return Message(str(number), "s", f"g{number // 2}", "t", user, (Text(text),))


def report(items: list[Item], limit: Limits, ledger: UsageLedger | None = None) -> BudgetReport:
    facts = ModelFacts("m", window=limit.window, max_input_tokens=limit.max_input_tokens)
    return budget(plan(items, limit), facts, limit, ledger=ledger)


def test_br_001_the_meter_shows_the_latest_request_and_its_reply_never_the_sum() -> None:
    want = expect("BR-001")
    ledger = UsageLedger()
    used: list[int] = []
    for turn in fixture("BR-001", "usage_turns.json"):
        ledger.record(turn["input"], turn["output"])
        assert ledger.last is not None
        used.append(ledger.last.total)
        shown = report([system(ledger.last.total)], limits(200_000), ledger)
        assert shown.used == ledger.last.total
        assert 0 <= shown.percent <= 100
    assert used == want["used_after"]
    assert not set(used) & set(want["never"])
    assert ledger.lifetime.input_tokens == want["lifetime_input"]


def test_br_003_without_usage_the_estimate_counts_and_compaction_starts_from_it() -> None:
    said = expect("BR-003")["text"]
    counter = TokenCounter(ModelFacts("mock-o", encoding="stub", margin=0.3), FourCharacters())
    ledger = UsageLedger()
    limit = limits(8_000, compaction_trigger_tokens=200)
    history: list[Message] = []
    fired_at = 0
    for turn in range(1, 13):
        history += [message(2 * turn, "user", "x" * 40), message(2 * turn + 1, "assistant", said)]
        ledger.record(None, None)
        items = atoms(history, count=counter.count)
        made = plan(items, limit)
        shown = budget(made, counter.model, limit, accuracy=counter.accuracy, ledger=ledger)
        assert shown.used > 0
        assert shown.accuracy is Accuracy.ESTIMATED
        assert shown.last is None
        if not fired_at and should_compact(shown.history_tokens, limit):
            fired_at = turn
    assert 0 < fired_at <= 12


def test_br_005_a_new_chat_explains_every_token() -> None:
    counter = stub_counter(tools_overhead_tokens=10)
    limit = limits(10_000)
    empty = render_file("empty.py", "")
    head = Item("system:head", Section.SYSTEM, "h", counter.count("Be brief."), required=True)
    wrapper = file("empty.py", counter.count(empty))
    off = report([head, wrapper], limit)
    sizes = {section.name: section.tokens for section in off.sections}
    assert sum(sizes.values()) == off.used < 100
    assert sizes[Section.TOOLS] == 0
    assert sizes[Section.FILES] == counter.count(empty) > 0
    assert {sizes[s] for s in (Section.MEMOS, Section.HISTORY, Section.PROMPT)} == {0}

    spec = ToolSpec("read_file", "Reads a file.", {"type": "object"})
    tools = Item("tools", Section.TOOLS, "t", counter.count(spec), required=True)
    on = report([tools, head, wrapper], limit)
    assert on.used == off.used + tools.tokens
    assert sum(section.tokens for section in on.sections) == on.used


@pytest.mark.parametrize("nested", [False, True])
def test_br_007_a_picture_costs_its_area_nested_or_not(nested: bool) -> None:
    want = expect("BR-007")
    data = base64.b64encode((case("BR-007") / "shot_1920x1080.png").read_bytes()).decode()
    facts = ModelTable(_rows()).facts("claude-opus-5")
    counter = TokenCounter(facts, FourCharacters())
    picture = Image("image/png", data)
    block = ToolResult("toolu_1", (picture,)) if nested else picture
    about = want["anthropic_tokens_about"]
    assert counter.count(block) == pytest.approx(about, rel=want["tolerance_percent"] / 100)
    unknown = Image("image/png", data[:12])
    cost = counter.count(ToolResult("toolu_1", (unknown,)) if nested else unknown)
    assert cost >= about


def test_br_009_limits_come_from_the_table_the_user_or_a_marked_default() -> None:
    models, want = fixture("BR-009", "models.json"), expect("BR-009")
    rows = [{"match": name, **models[name]} for name in want["limits"]]
    user = [{"match": name, **values} for name, values in models["override"].items()]
    table = ModelTable(rows, user)
    found = {name: table.facts(name, default_window=20_000) for name in models["ask"]}
    for name, size in want["limits"].items():
        assert found[name].max_input_tokens == size
    assert found["known-1m"].limit_source == "table"
    assert found["known-8k"].limit_source == "user"
    unknown = found["my-unknown"]
    assert (unknown.max_input_tokens, unknown.limit_source) == (20_000, "default")
    limit = Limits.of(unknown)
    shown = budget(plan([system(2_000)], limit), unknown, limit)
    assert (shown.limit_source, shown.percent) == ("default", 10.0)


def test_br_011_what_is_about_to_be_sent_is_in_the_figure() -> None:
    counter = stub_counter()
    ledger = UsageLedger()
    ledger.record(100, 0)
    text = render_file("new.py", "x" * 8_192)
    question = "y" * 2_048
    ask = PromptMessage("user", (PromptBlock(Text(question), "history:1"),))
    items = [
        file("new.py", counter.count(text), text=text),
        evolve(prompt(counter.count([ask])), messages=(ask,)),
    ]
    shown = report(items, limits(100_000), ledger)
    body = Prompt("m", (), (PromptMessage("user", (PromptBlock(Text(text), "file:new.py"),)), ask))
    frame = counter.count(body) - sum(item.tokens for item in items)
    assert shown.used >= 2_560
    assert shown.used >= counter.count(body) - frame
    with_frame = plan(items, limits(100_000), frame_tokens=frame)
    assert with_frame.tokens >= counter.count(body)
    assert shown.last is not None
    assert shown.last.input_tokens == 100

    tight = plan(items, limits(1_500, output=100))
    assert not tight.includes("file:new.py")
    assert tight.estimate + tight.max_output_tokens <= 1_500
    assert tight.notices


def test_br_015_a_foreign_tokenizer_is_said_to_be_an_estimate_and_gets_a_margin() -> None:
    text = (case("BR-015") / "mixed_text.txt").read_text(encoding="utf-8")
    table = ModelTable(_rows())
    encoder = shipped("o200k_base")
    foreign = TokenCounter(table.facts("some-model", provider="openai"), encoder)
    native = TokenCounter(table.facts("gpt-4o"), encoder)
    assert foreign.accuracy is Accuracy.ESTIMATED
    assert foreign.margin >= 0.25
    assert native.accuracy is Accuracy.EXACT
    assert native.margin == 0
    assert native.count(text) == encoder(text)
    claude = TokenCounter(table.facts("claude-opus-5"), encoder)
    assert claude.accuracy is Accuracy.ESTIMATED
    assert claude.count(text) > encoder(text)


def _rows() -> list[dict[str, Any]]:
    import tomllib
    from importlib import resources

    folder = resources.files(tokenizers.__name__.partition(".")[0])
    data = folder.joinpath("data", "models.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(data)["model"]
    return rows
