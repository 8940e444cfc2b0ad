"""Area C: budget enforcement and overflow, from history to the body that is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bugcases.bodies import load, violations
from bugcases.fixtures import case, expect
from support.atoms import atoms
from support.planning import file, limits, stub_counter
from tierline.context.assemble import assemble
from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.enforce import FixedPartTooLarge, Selection, emergency_truncate
from tierline.context.fences import render_file
from tierline.context.items import Item, Section
from tierline.context.limits import Limits, compaction_trigger, should_compact
from tierline.context.plan import ContextPlan, PlanEntry, explain, plan
from tierline.context.strict import strict
from tierline.context.tiers.base import CacheState, Pricing, RequestContext
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.history.messages import Message
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import RenderedRequest
from tierline.providers.transport import Endpoint

COUNTER = stub_counter()
ADAPTER = AnthropicProvider(Endpoint("http://127.0.0.1:1", key="k"))


def fixture(name: str, file_name: str) -> Any:
    return json.loads((case(name) / file_name).read_text(encoding="utf-8"))


def of(config: dict[str, int]) -> Limits:
    return Limits(
        window=config["max_input_tokens"],
        max_input_tokens=config["max_input_tokens"],
        max_output_tokens=config["max_output_tokens"],
        compaction_trigger_tokens=config.get("compaction_trigger_tokens", 24_000),
    )


def message(number: int, role: Any, *blocks: Any, group: str = "g") -> Message:
    return Message(str(number), "s", group, "t", role, blocks)


def send(made: ContextPlan, items: list[Item], group: str) -> RenderedRequest:
    items = list(made.select(items))
    facts = COUNTER.model
    moment = RequestContext(now=1_700_000_000.0, model=facts.name, group_id=group)
    policy = LogStructuredPolicy(count=COUNTER.count)
    arranged = policy.arrange(items, CacheState(), moment, Pricing.of(facts))
    prompt = assemble(
        arranged, facts=facts, count=COUNTER.count, max_output_tokens=made.max_output_tokens
    )
    return ADAPTER.render(strict(prompt, strategy="anthropic"))


@pytest.mark.parametrize("row", range(5))
def test_br_024_input_and_output_together_stay_within_the_window(row: int) -> None:
    given = fixture("BR-024", "boundary.json")[row]
    limit = Limits(
        window=given["window"],
        max_input_tokens=given["window"],
        max_output_tokens=given["max_out"],
    )
    fixed = given["input"] // 2
    items = [
        Item("history:1", Section.HISTORY, "p", fixed, required=True, group="g"),
        file("rest.py", given["input"] - fixed),
    ]
    made = plan(items, limit)
    assert made.estimate + made.max_output_tokens <= given["window"]
    assert made.max_output_tokens >= limit.output_floor
    if given["ok"] is True:
        assert (made.max_output_tokens, made.notices) == (given["max_out"], ())
    if str(given["ok"]).startswith("after lowering by 1"):
        assert (made.max_output_tokens, made.notices) == (given["max_out"] - 1, ())
    if str(given["ok"]).startswith("after lowering max_tokens"):
        assert (made.max_output_tokens, made.notices) == (199, ())
    if "only after shedding" in str(given["ok"]):
        assert not made.includes("file:rest.py")
        assert made.max_output_tokens == given["max_out"]


def test_br_026_one_file_larger_than_the_window_is_named_and_the_prompt_goes_out() -> None:
    want = expect("BR-026")
    limit = of(fixture("BR-026", "config.json"))
    text = render_file("big.log", (case("BR-026") / "big.log").read_text(encoding="utf-8"))
    said = want["request_contains"][0]
    history = [
        message(1, "user", Text("earlier"), group="g1"),
        message(2, "assistant", Text("yes"), group="g1"),
        message(3, "user", Text(said), group="g2"),
    ]
    items = [
        file("big.log", COUNTER.count(text), text=text),
        *atoms(history, count=COUNTER.count, group_id="g2"),
    ]
    made = plan(items, limit)
    assert any(want["notice_names"] in notice and "2," in notice for notice in made.notices)
    talk = sum(item.tokens for item in items if item.section is Section.HISTORY)
    assert bool(should_compact(talk, limit)) == bool(want["summariser_calls"])
    body = send(made, items, "g2")
    assert said in body.payload.decode()
    assert "worker 0" not in body.payload.decode()
    assert violations(dict(body.body), "anthropic") == []
    assert plan(items, limit) == made, "asking again changes nothing: no loop"


def test_br_028_a_tiny_window_still_answers_a_small_prompt() -> None:
    want = expect("BR-028")
    limit = of(fixture("BR-028", "config.json"))
    prompt = Item("history:1", Section.HISTORY, "p", 50, required=True, group="g")
    made = plan([prompt], limit)
    assert made.includes("history:1") == want["prompt_50_tokens_ok"]
    assert made.max_output_tokens >= 1
    assert made.estimate + made.max_output_tokens <= limit.window
    assert limit.window - made.tokens - made.max_output_tokens >= want["remaining_min"]
    assert limit.problem
    assert compaction_trigger(limit) >= 1


@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_br_030_a_tool_loop_is_checked_before_every_call(margin: float) -> None:
    want = expect("BR-030")
    limit = limits(want["window"], output=200, margin=margin)
    talk = [message(0, "user", Text("Find the fault."))]
    for number, step in enumerate(fixture("BR-030", "tool_loop.json")):
        call = ToolUse(step["tool_use"], "read_file", {"path": "a.py"})
        result = ToolResult(step["tool_use"], (Text(step["result"]),))
        talk += [
            message(2 * number + 1, "assistant", call),
            message(2 * number + 2, "tool", result),
        ]
        items = list(atoms(talk, count=COUNTER.count, group_id="g"))
        made = plan(items, limit)
        assert made.estimate + made.max_output_tokens <= want["max_body_tokens"]
        body = send(made, items, "g")
        assert "Find the fault." in body.payload.decode()
        assert step["result"] in body.payload.decode(), "the newest result is what it is about"
        assert violations(dict(body.body), "anthropic") == []


def test_br_032_a_file_is_in_the_body_or_listed_with_a_reason() -> None:
    texts = {f"{name}.py": f"# {name}\n" + "x = 1\n" * size for name, size in
             (("a", 10), ("b", 400), ("c", 20))}  # fmt: skip
    items = [
        file(path, COUNTER.count(render_file(path, text)), text=render_file(path, text))
        for path, text in texts.items()
    ]
    talk = [message(1, "user", Text("What is x?"))]
    items += atoms(talk, count=COUNTER.count, group_id="g")
    gone = PlanEntry("file:d.py", Section.FILES, 0, "missing", "It was deleted.", path="d.py")
    made = plan(items, limits(600, output=50), absent=[gone])
    body = send(made, items, "g").payload.decode()
    listed = {entry.key: entry.reason for entry in made.excluded}
    for path in (*texts, "d.py"):
        key = f"file:{path}"
        assert (f"# {path[0]}\\n" in body) == made.includes(key)
        assert made.includes(key) != bool(listed.get(key))
        assert path in explain(made, key)
    assert not made.includes("file:b.py")


def test_br_034_emergency_truncation_keeps_the_only_request_word_for_word() -> None:
    want = expect("BR-034")
    history = load(case("BR-034") / "history.jsonl")
    group = history[0].group_id
    items = list(atoms(history, count=COUNTER.count, group_id=group))
    selection = Selection(items)
    limit = limits(100_000, output=100)
    notices = emergency_truncate(selection, limit, target_tokens=want["target_tokens"])
    assert notices
    kept = list(selection.kept.values())
    assert sum(item.tokens for item in kept) <= want["target_tokens"]
    assert len(kept) > 1, "the newest rounds stay"
    made = plan(kept, limit)
    body = send(made, kept, group)
    for part in want["request_contains"]:
        assert part in body.payload.decode()
    assert violations(dict(body.body), "anthropic") == []


def test_br_034_shedding_keeps_it_too() -> None:
    history = load(case("BR-034") / "history.jsonl")
    items = list(atoms(history, count=COUNTER.count, group_id=history[0].group_id))
    made = plan(items, limits(400, output=50))
    assert made.includes(f"history:{history[0].id}")
    assert len(made.included) > 1


def test_br_036_the_trigger_lies_below_what_the_window_leaves() -> None:
    config = fixture("BR-036", "config.json")
    limit = of(config)
    trigger = compaction_trigger(limit)
    assert trigger + limit.output_reserve < config["max_input_tokens"]
    assert trigger < config["mock_rejects_above"]
    assert should_compact(config["mock_rejects_above"], limit)


def test_what_cannot_be_shed_is_an_error_and_not_a_loop() -> None:
    prompt = Item("history:1", Section.HISTORY, "p", 2_000, required=True, group="g")
    with pytest.raises(FixedPartTooLarge) as caught:
        plan([prompt, file("a.py", 10)], limits(1_000, output=100))
    assert caught.value.code == "fixed_part_too_large"
    assert "your prompt (2,000)" in caught.value.message
