"""The hash of what stands before a message."""

from __future__ import annotations

from attrs import evolve

from tierline.context.blocks import Block, Reasoning, Role, Text
from tierline.context.prefix import Prefix
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec


def said(role: Role, *blocks: Block | str) -> PromptMessage:
    kept = (PromptBlock(Text(b) if isinstance(b, str) else b, "key") for b in blocks)
    return PromptMessage(role, tuple(kept))


def prompt(*messages: PromptMessage, tools: tuple[ToolSpec, ...] = ()) -> Prompt:
    return Prompt("m", (PromptBlock(Text("You help."), "system:head"),), messages, tools)


def prefixes(prompt: Prompt) -> tuple[str, ...]:
    """The hash before each message, and last that of the whole prompt."""
    prefix = Prefix(prompt)
    found = [prefix.now]
    for message in prompt.messages:
        prefix.add(message)
        found.append(prefix.now)
    return tuple(found)


THINKING = Reasoning("anthropic", {"type": "thinking", "thinking": "hm", "signature": "s"})
FIRST = prompt(said("user", "Hello"))
SECOND = prompt(said("user", "Hello"), said("assistant", THINKING, "Hi"), said("user", "More"))


def test_a_reply_that_is_sent_again_stands_behind_the_hash_of_the_prompt_it_answered() -> None:
    assert prefixes(SECOND)[1] == prefixes(FIRST)[-1]
    assert len(set(prefixes(SECOND))) == 4


def test_a_mark_may_move_without_another_hash() -> None:
    marked = evolve(SECOND.messages[0].blocks[0], mark="5m")
    moved = evolve(SECOND, messages=(PromptMessage("user", (marked,)), *SECOND.messages[1:]))
    assert prefixes(moved) == prefixes(SECOND)


def test_anything_before_a_message_changes_its_hash() -> None:
    first = prefixes(SECOND)[1]
    changed = [
        evolve(SECOND, messages=(said("user", "Hello!"), *SECOND.messages[1:])),
        evolve(SECOND, system=(PromptBlock(Text("You help a lot."), "system:head"),)),
        evolve(SECOND, tools=(ToolSpec("read_file", "Reads."),)),
        evolve(SECOND, messages=(said("user", "Hello", "card"), *SECOND.messages[1:])),
    ]
    assert all(prefixes(one)[1] != first for one in changed)
    assert prefixes(evolve(SECOND, model="other", max_output_tokens=1))[1] == first


def test_the_order_in_which_tools_were_registered_does_not_matter() -> None:
    a, b = ToolSpec("a", "A."), ToolSpec("b", "B.", builtin=False)
    assert prefixes(prompt(tools=(a, b))) == prefixes(prompt(tools=(b, a)))


def test_what_was_left_out_is_no_part_of_later_prefixes() -> None:
    prefix = Prefix(SECOND)
    prefix.add(SECOND.messages[0])
    prefix.add(said("assistant", "Hi"))
    assert prefix.now != prefixes(SECOND)[2]
