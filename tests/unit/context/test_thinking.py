"""Which thinking may be sent again: by who made it, and behind what."""

from __future__ import annotations

from attrs import evolve

from tierline.context.blocks import Block, Maker, Reasoning, Role, Text, ToolUse
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.thinking import SHOWN, Binding, keep_valid, readable

ME = Maker("anthropic", "claude-sonnet-5-5")


def said(role: Role, *blocks: Block) -> PromptMessage:
    return PromptMessage(role, tuple(PromptBlock(block, "k") for block in blocks))


def talk(*messages: PromptMessage) -> Prompt:
    return Prompt("m", (PromptBlock(Text("You help."), "system"),), messages)


def thought(number: int) -> dict[str, str]:
    return {"type": "thinking", "thinking": f"hm {number}", "signature": f"s{number}"}


def reply(prompt: Prompt, number: int, maker: Maker = ME, strategy: str = "anthropic") -> Prompt:
    """The prompt with a thoughtful reply to it, and one more question."""
    block = Binding(prompt, maker).bind(strategy, thought(number), ())
    answer = said("assistant", block, Text(f"Answer {number}."))
    return evolve(prompt, messages=(*prompt.messages, answer, said("user", Text(f"Q{number}?"))))


def numbers(prompt: Prompt) -> list[str]:
    blocks = (entry.block for message in prompt.messages for entry in message.blocks)
    return [readable(block) for block in blocks if isinstance(block, Reasoning)]


def test_thinking_behind_its_own_prefix_stays() -> None:
    prompt = reply(reply(talk(said("user", Text("Q?"))), 1), 2)
    assert keep_valid(prompt, ME) == (prompt, 0)


def test_a_change_takes_what_was_thought_behind_it_and_nothing_before_it() -> None:
    prompt = reply(reply(reply(talk(said("user", Text("Q?"))), 1), 2), 3)
    changed = list(prompt.messages)
    changed[2] = said("user", Text("Another question?"))
    kept, lost = keep_valid(evolve(prompt, messages=tuple(changed)), ME)
    assert numbers(kept) == ["hm 1"]
    assert lost == 2


def test_what_was_thought_after_something_was_left_out_stays() -> None:
    first = reply(talk(said("user", Text("Q?"))), 1)
    changed = evolve(first, system=(PromptBlock(Text("New."), "system"),))
    without, _ = keep_valid(changed, ME)
    later = reply(without, 2)
    whole = evolve(later, messages=(*changed.messages, *later.messages[3:]))
    kept, lost = keep_valid(whole, ME)
    assert (numbers(kept), lost) == (["hm 2"], 1)


def test_nobody_is_given_what_another_model_or_service_thought() -> None:
    prompt = reply(talk(said("user", Text("Q?"))), 1)
    for other in (Maker("anthropic", "claude-opus-5-5"), Maker("proxy", ME.model), None):
        kept, lost = keep_valid(prompt, other)
        assert (numbers(kept), lost) == ([], 1)
        assert kept.messages[1] == said("assistant", Text("Answer 1."))


def test_other_families_get_theirs_back_behind_any_prefix() -> None:
    prompt = reply(talk(said("user", Text("Q?"))), 1, strategy="openai")
    changed = evolve(prompt, system=())
    assert keep_valid(changed, ME) == (changed, 0)


def test_a_second_thought_is_bound_to_what_stands_before_it_in_its_reply() -> None:
    prompt = talk(said("user", Text("Q?")))
    binding = Binding(prompt, ME)
    one, text = binding.bind("anthropic", thought(1), ()), Text("So:")
    two = binding.bind("anthropic", thought(2), (one, text))
    call = ToolUse("c", "look", {})
    good = evolve(prompt, messages=(*prompt.messages, said("assistant", one, text, two, call)))
    assert keep_valid(good, ME) == (good, 0)
    for blocks in ((one, two, call), (one, Text("Otherwise:"), two, call)):
        bad = evolve(prompt, messages=(*prompt.messages, said("assistant", *blocks)))
        assert numbers(keep_valid(bad, ME)[0]) == ["hm 1"]


def test_marks_do_not_matter() -> None:
    prompt = reply(talk(said("user", Text("Q?"))), 1)
    first = PromptMessage("user", (PromptBlock(Text("Q?"), "k", "5m"),))
    marked = evolve(prompt, messages=(first, *prompt.messages[1:]))
    assert keep_valid(marked, ME) == (marked, 0)


def test_thinking_can_be_read_where_it_is_not_sealed() -> None:
    assert readable(Reasoning(SHOWN, {"text": "hm"})) == "hm"
    assert readable(Reasoning("openai", {"reasoning_content": "hm"})) == "hm"
    parts = [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]
    assert readable(Reasoning("openai", {"type": "reasoning", "summary": parts})) == "a\n\nb"
    assert readable(Reasoning("anthropic", {"type": "redacted_thinking", "data": "x"})) == ""
