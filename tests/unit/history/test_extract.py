"""The extractive summary (design, section 8)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.histories import msg, tool_turn
from tierline.context.blocks import Text, ToolResult
from tierline.history.extract import LineKind, digest, extractive_summary, standing_rules
from tierline.history.messages import HistoryRole, Message
from tierline.history.names import file_names, identifiers

TALK: tuple[tuple[HistoryRole, str], ...] = (
    (
        "user",
        "The login page crashes with `KeyError: 'user_id'` when I open src/auth/login.py. "
        "From now on always answer in short sentences.",
    ),
    (
        "assistant",
        "The cause is that `session.get()` returns None in `load_user()`. I fixed it by checking "
        "the session first.\n```python\ndef always_use_this(): ...\n```",
    ),
    (
        "user",
        "Thanks, that works. Now let's add rate limiting in api/limits.py. "
        "We'll use Redis instead of memory.",
    ),
    (
        "assistant",
        "I decided on a token bucket, it listens on port 6390. TODO: tests for `RateLimiter`.",
    ),
)


def count(text: str) -> int:
    return (len(text) + 3) // 4


def messages() -> list[Message]:
    return [msg(i, role, text, group=f"g{i // 2}") for i, (role, text) in enumerate(TALK)]


def test_finds_each_kind() -> None:
    found = digest(messages())
    assert found.of(LineKind.RULE) == ("From now on always answer in short sentences.",)
    assert any("Redis instead of memory" in line for line in found.of(LineKind.DECISION))
    (error,) = found.of(LineKind.ERROR)
    assert "KeyError" in error
    assert "returns None" in error.split("→")[1]
    assert any("TODO" in line for line in found.of(LineKind.OPEN))
    assert any("login page crashes" in line for line in found.of(LineKind.DONE))
    assert found.files[:2] == ("api/limits.py", "src/auth/login.py")
    assert "RateLimiter" in found.names
    assert "load_user" in found.names


def test_code_is_not_prose() -> None:
    assert not any("always_use_this" in line.text for line in digest(messages()).lines)


def test_what_is_finished_is_not_open() -> None:
    found = digest(messages())
    assert not any("login page" in line for line in found.of(LineKind.OPEN))


def test_an_error_in_a_tool_result_is_found() -> None:
    trace = "Traceback (most recent call last):\n  File 'a.py'\nValueError: bad port 99999"
    assert digest(tool_turn(1, [trace])).of(LineKind.ERROR) == ("ValueError: bad port 99999",)
    failed = msg(1, "user", (ToolResult("t", (Text("no such file\nmore"),), is_error=True),))
    assert digest([failed]).of(LineKind.ERROR) == ("no such file",)


def test_an_earlier_summary_is_carried_on() -> None:
    first = extractive_summary(messages(), budget_tokens=500, count=count)
    summary = msg(9, "user", f"[History Summary]\n{first}", group="s", meta={"summary": True})
    again = extractive_summary([summary, msg(10, "user", "Hello")], budget_tokens=500, count=count)
    for word in ("short sentences", "Redis", "KeyError", "TODO", "api/limits.py", "RateLimiter"):
        assert word in again


def test_rules_come_first_when_room_is_short() -> None:
    text = extractive_summary(messages(), budget_tokens=24, count=count)
    assert "short sentences" in text
    assert count(text) <= 24


@pytest.mark.parametrize(
    ("sentence", "is_rule"),
    [
        ("Never touch the generated files.", True),
        ("From now on, write tests first.", True),
        ("Remember that the port is 6390.", True),
        ("In this project we use tabs.", True),
        ("In this repo all SQL goes through the repository layer.", True),
        ("Every new endpoint needs a test.", True),
        ("Jede neue Funktion braucht einen Test.", True),
        ("You must not call external services in tests.", True),
        ("Remember: the key lives in the vault.", True),
        ("No more emojis, please.", True),
        ("Please no comments in code.", True),
        ("No thanks, please.", False),
        ("No problem, please go on.", False),
        ("No tests, please.", False),
        ("Every request fails with 500.", False),
        ("In this file the parser never returns.", False),
        ("Should I always use tabs?", False),
        ("It never worked.", False),
        ("The cache always misses.", False),
    ],
)
def test_standing_rules(sentence: str, is_rule: bool) -> None:
    assert standing_rules(msg(1, "user", sentence)) == ((sentence,) if is_rule else ())


def test_only_the_user_makes_rules() -> None:
    assert standing_rules(msg(1, "assistant", "Always use tabs.")) == ()


def test_names_of_files_and_code() -> None:
    text = (
        "See src/a/b.py, web\\c.ts and Makefile, e.g. v1.2, self.name, example.com; foo_bar, runX"
    )
    assert file_names(text) == ["src/a/b.py", "web/c.ts", "Makefile"]
    assert identifiers("call foo_bar(x), readFile and HttpServer, not word") == [
        "foo_bar",
        "readFile",
        "HttpServer",
    ]


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=300)), max_size=8),
    st.integers(0, 120),
)
def test_never_over_the_budget(talk: list[tuple[HistoryRole, str]], budget: int) -> None:
    made = [msg(i, role, text, group=f"g{i}") for i, (role, text) in enumerate(talk)]
    text = extractive_summary(made, budget_tokens=budget, count=count)
    assert count(text) <= budget
    text.encode("utf-8")


@pytest.mark.parametrize(
    "piece", ["a", "A", "Aa", "port ", "a/", "a.", "a_", "```\n", "Error", "TODO fix x. ", "\ud83d"]
)
def test_long_and_odd_texts_take_no_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    begun = time.process_time()
    extractive_summary(
        [msg(0, "user", text), msg(1, "assistant", text)], budget_tokens=500, count=count
    )
    assert time.process_time() - begun < 3


def test_facts_of_a_short_reply_are_kept_and_those_of_a_listing_are_not() -> None:
    said = "The server listens on port 6390."
    asked = msg(0, "user", "Where does it listen?")
    newest = [msg(n, "user", "Go on.") for n in range(3, 11)]
    short = digest([asked, msg(1, "assistant", said), *newest])
    assert short.of(LineKind.FACT)[0] == said
    none = digest([asked, msg(1, "assistant", "It just listens."), *newest])
    assert none.of(LineKind.FACT) == short.of(LineKind.FACT)[1:]
    long = digest([asked, msg(1, "assistant", said + " It does so well." * 300), *newest])
    assert said not in long.of(LineKind.FACT)


def test_a_fix_belongs_to_the_error_only_for_a_few_prompts() -> None:
    broken = msg(0, "user", "It crashes with `KeyError: 'user_id'` at start.")
    fixed = "I fixed it by checking the session first."

    def errors(prompts_between: int) -> tuple[str, ...]:
        between = [msg(n, "user", "Now rename the parser.") for n in range(1, prompts_between + 1)]
        reply = msg(20, "assistant", fixed)
        newest = [msg(n, "user", "Go on.") for n in range(21, 29)]
        return digest([broken, *between, reply, *newest]).of(LineKind.ERROR)

    assert "checking the session" in str(errors(0)) and "checking the session" in str(errors(3))
    assert "KeyError" in str(errors(4)) and "checking the session" not in str(errors(4))


def test_what_was_asked_last_and_not_done_is_open() -> None:
    asked = msg(0, "user", "Please add rate limiting to the upload page.")
    newest = [msg(n, "assistant", "Looking at it.") for n in range(1, 9)]
    (line,) = digest([asked, *newest]).of(LineKind.OPEN)
    assert "rate limiting" in line
    done = msg(9, "assistant", "Done: rate limiting is added to the upload page.")
    later = [msg(n, "assistant", "Fine.") for n in range(10, 18)]
    assert digest([asked, done, *later]).of(LineKind.OPEN) == ()


def test_a_result_is_an_error_only_if_it_failed() -> None:
    newest = [msg(n, "user", "Go on.") for n in range(3, 11)]

    def errors(text: str, failed: bool) -> tuple[str, ...]:
        result = msg(1, "user", (ToolResult("c", (Text(text),), failed),))
        return digest([msg(0, "user", "Look."), result, *newest]).of(LineKind.ERROR)

    assert errors("all is well", False) == () == errors(" ", True)
    assert "all is lost" in str(errors("all is lost", True))


def test_what_an_older_extract_lists_counts_for_more_than_a_mention() -> None:
    """It was chosen among many once; what is merely named now comes behind it."""
    kept = "Files:\n- z.py, y.py\nIdentifiers:\n- old_name"
    older = msg(1, "user", f"[History Summary]\n{kept}", meta={"summary": True})
    talk = msg(2, "assistant", "See a.py and `new_name`.")
    found = digest([older, talk, *(msg(n, "user", "Go on.") for n in range(3, 11))])
    assert found.files.index("z.py") < found.files.index("a.py")
    assert found.names[0] == "old_name"
    assert "History Summary" not in str(found.of(LineKind.FACT)), "its heading is no fact"
