"""Tool definitions: one order, checked arguments, titles that cannot fail."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierline.context.prompt import ToolSpec
from tierline.tools.registry import Call, Consent, Registry, Tool, ToolOutput
from tierline.tools.running import HeadAndTail, environment
from tierline.tools.schema import problems


async def nothing(_call: Call) -> ToolOutput:
    return ToolOutput("")


def tool(name: str, builtin: bool = True, **more: Any) -> Tool:
    return Tool(ToolSpec(name, name, {"type": "object"}, builtin), nothing, **more)


def test_the_order_does_not_depend_on_registration() -> None:
    tools = [tool("b"), tool("a"), tool("x", builtin=False), tool("c", builtin=False)]
    for order in itertools.permutations(tools):
        registry = Registry()
        for one in order:
            registry.add(one)
        assert [spec.name for spec in registry.specs()] == ["a", "b", "c", "x"]
    assert [s.name for s in registry.specs(lambda t: t.spec.builtin)] == ["a", "b"]


@pytest.mark.parametrize("name", ["", "with space", "a.b", "ä", "x" * 65])
def test_names_that_a_provider_refuses_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a usable name"):
        Registry().add(tool(name))


def test_only_tools_that_read_run_side_by_side() -> None:
    assert not tool("a").alone
    assert tool("a", parallel=False).alone
    assert tool("a", consent=Consent.COMMAND).alone


@given(st.recursive(st.none() | st.booleans() | st.text() | st.integers(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_a_title_is_a_short_line_whatever_the_arguments(value: Any) -> None:
    made = tool("a", title=lambda arguments: str(arguments["path"])[:1000])
    words = made.titled({"path": value})
    assert len(words) <= 200
    assert len(words.splitlines()) <= 1
    assert made.titled(value) == "" or isinstance(value, dict)


SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "line": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"enum": ["a", "b"]},
        "items": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"path": "x", "line": 3, "mode": "a", "items": ["y"]}, []),
        ({}, ["path is missing"]),
        ({"path": ""}, ["path must have at least 1 characters"]),
        ({"path": "x", "line": "3"}, ["line must be an integer"]),
        ({"path": "x", "line": True}, ["line must be an integer"]),
        ({"path": "x", "line": 3.0}, ["line must be an integer"]),
        ({"path": "x", "line": 0}, ["line must be at least 1"]),
        ({"path": "x", "mode": "c"}, ["mode must be one of a, b"]),
        ({"path": "x", "items": ["y", 1]}, ["items[1] must be a string"]),
        ({"path": "x", "items": ["y"] * 3}, ["items must have at most 2 items, not 3"]),
        ({"path": "x", "other": 1}, ["there is no other"]),
        (["x"], ["the arguments must be an object"]),
    ],
)
def test_arguments_are_checked_in_words(value: Any, said: list[str]) -> None:
    assert problems(value, SCHEMA) == said


def keep(data: bytes, most: int, cuts: Iterable[int]) -> tuple[str, int]:
    kept = HeadAndTail(most)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        kept.add(data[start:end])
    return kept.end()


_TEXTS = st.one_of(
    st.binary(max_size=300),
    st.text("aé€😀👍🏽e\u0301\n", max_size=120).map(str.encode),
)


@given(_TEXTS, st.integers(1, 60), st.lists(st.integers(0, 300), max_size=8))
def test_of_a_flood_the_beginning_and_the_end_are_kept(
    data: bytes, most: int, cuts: list[int]
) -> None:
    whole = data.decode("utf-8", "replace")
    text, left_out = keep(data, most, cuts)
    if len(whole) <= most:
        assert (text, left_out) == (whole, 0)
        return
    head, said, tail = text.partition(f"\n[… {left_out:,} characters left out …]\n")
    assert said and whole.startswith(head) and whole.endswith(tail)
    assert len(head) <= most // 2 and len(tail) <= most - most // 2
    assert left_out == len(whole) - len(head) - len(tail)
    assert (text, left_out) == keep(data, most, []), "however the stream comes"
    assert len(head) >= most // 2 - 32 and len(tail) >= most - most // 2 - 32


@pytest.mark.parametrize("character", ["é", "€", "語", "😀", "👍🏽", "e\u0301"])
@pytest.mark.parametrize("most", [9, 10, 11, 64, 1000])
def test_no_half_characters_and_the_limit_counts_characters(character: str, most: int) -> None:
    """Two, three and four bytes, and what several code points make up."""
    text, left_out = keep((character * 5000).encode(), most, range(1, 20_000, 7))
    head, _, tail = text.partition(f"\n[… {left_out:,} characters left out …]\n")
    assert "\ufffd" not in text
    assert head == character * (len(head) // len(character))
    assert tail == character * (len(tail) // len(character))
    assert most - 2 * len(character) < len(head) + len(tail) <= most


def test_a_commands_environment_has_no_credentials() -> None:
    given_env = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "AWS_SECRET_ACCESS_KEY": "k",
        "GITHUB_TOKEN": "t",
        "DB_PASSWORD": "p",
        "TIERLINE_PROVIDER_NAME": "x",
        "KEYBOARD": "de",
        "MONKEYS": "3",
    }
    made = environment(given_env)
    assert {"PATH", "KEYBOARD", "MONKEYS"} <= set(made)
    assert not {k for k in given_env if k not in ("PATH", "KEYBOARD", "MONKEYS")} & set(made)
