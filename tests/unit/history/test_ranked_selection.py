"""Seed 001, "FTS_RANKED Mode", on real full-text search; seed 000's reasons against it solved."""

from __future__ import annotations

import pytest

from support.histories import msg, tool_turn, turn
from tierline.history.messages import Message
from tierline.history.selection import (
    BM25_WEIGHT,
    RRF_K,
    fuse,
    ranked,
    ranking,
    search_words,
    select,
)
from tierline.store.group_search import GroupSearch

pytestmark = pytest.mark.requirement("001")


def talk() -> list[Message]:
    """Sixty turns. Turn 3 is about the lexer; the words of "continue" and the like are all over."""
    history: list[Message] = []
    for n in range(1, 61):
        if n == 3:
            history += turn(n, "The lexer's table is in src/deep/lexer_table.py", "Noted.")
        elif n % 7 == 0:
            history += turn(n, "continue, go on with the next one", "I go on and continue next.")
        else:
            history += turn(n, f"show me module_{n}", f"module_{n} is short")
    return history


def chosen(messages: tuple[Message, ...]) -> list[str]:
    return list(dict.fromkeys(m.group_id for m in messages))


def ask(prompt: str, size: int = 5) -> list[str]:
    history = [*talk(), msg(9000, "user", prompt, group="now")]
    return chosen(
        select(
            history,
            strategy="ranked",
            size=size,
            query=prompt,
            search=GroupSearch().over(history),
        )
    )


def test_search_goes_over_groups_with_the_latest_prompt() -> None:
    """001:33-36, and 001:61: "recalling a specific file path mentioned 50 turns ago"."""
    assert ask("what was in lexer_table.py?")[0] == "g3"
    assert ask("what about the lexer?")[0] == "g3"


def test_a_tool_result_belongs_to_its_group_and_is_found() -> None:
    """001:5: "a user prompt and its resulting tool calls and assistant response form a group"."""
    history = [*tool_turn(1, ["the answer is quokka"]), *talk()]
    history.append(msg(9000, "user", "quokka?", group="now"))
    kept = ranked(history, 3, query="quokka?", search=GroupSearch().over(history))
    assert "g1" in chosen(kept) and all(m in kept for m in history[:4])


def test_recency_ranks_only_what_was_found() -> None:
    """001:40, the subset rule; and without a match global recency."""
    found = ranking(["a", "b", "c", "d"], "lexer", lambda _words: ["a", "b"])
    assert found == ["a", "b", "d", "c"], "what was not found follows, the newest first"
    assert ranking(["a", "b", "c"], "lexer", lambda _words: []) == ["c", "b", "a"]


def test_the_formula() -> None:
    """001:42-46: k = 60, BM25 weighs 1.5 times recency."""
    assert (RRF_K, BM25_WEIGHT) == (60, 1.5)
    order = fuse(["x", "y", "z"], ["z", "y", "x"])
    scores = {
        "x": 1.5 / 61 + 1 / 63,
        "y": 1.5 / 62 + 1 / 62,
        "z": 1.5 / 63 + 1 / 61,
    }
    assert order == sorted(scores, key=lambda g: -scores[g]) == ["x", "y", "z"]
    assert fuse(["x", "y"], ["y", "x"])[0] == "x" and fuse(["a", "b"], ["b"])[0] == "b"


def test_the_current_group_and_system_messages_are_always_in_and_order_is_chronological() -> None:
    """001:48-57: selection, mandatory inclusions, re-ordering."""
    history = [msg(1, "system", "rules", group="g0"), *talk()]
    history.append(msg(9000, "user", "the lexer?", group="now"))
    kept = ranked(history, 4, query="the lexer?", search=GroupSearch().over(history))
    groups = chosen(kept)
    assert groups[0] == "g0" and groups[-1] == "now" and "g3" in groups
    assert [m.id for m in kept] == [m.id for m in history if m.group_id in groups]
    assert len(groups) == 4 + 1, "the system message does not count"


def plain(prompt: str, size: int = 5) -> list[str]:
    """The older system: every word of the prompt searches."""
    history = talk()
    found = GroupSearch().over(history)(prompt.split())
    return list(found[: size - 1])


@pytest.mark.parametrize(
    "prompt",
    ["continue", "next", "go on", "ok, continue", "go on with the next one", "carry on",
     "next step please", "yes", "looks good, go ahead", "keep going", "weiter", "继续"],
)  # fmt: skip
def test_fillers_bring_the_newest_turns_and_no_noise(prompt: str) -> None:
    """000:171: "continue", "next" or "go on" acted as high-relevance search terms."""
    assert ask(prompt) == ["g57", "g58", "g59", "g60", "now"]
    assert search_words(prompt) == ()


def test_the_older_system_did_bring_noise() -> None:
    """The same prompt without the remedy finds fragments from all over (000:171)."""
    assert set(plain("go on with the next one")) <= {f"g{n}" for n in range(7, 61, 7)}
    assert plain("continue"), "so the case above can fail"


def test_a_filler_with_a_topic_searches_for_the_topic() -> None:
    assert ask("ok, continue with the lexer")[0] == "g3"
    assert search_words("ok, continue with the lexer") == ("lexer",)


def test_what_shares_only_a_common_word_is_not_found() -> None:
    """001:72: the subset rule must not starve what matters because everything matches a little."""
    history = talk()
    found = GroupSearch().over(history)(["module_9", "short", "lexer", "table"])
    assert found[0] == "g3" and len(found) < 10
    assert len(GroupSearch(share_of_best=0).over(history)(["short", "lexer"])) > 40


def test_hostile_queries_do_no_harm() -> None:
    for prompt in ('"', "NEAR(lexer", "lexer AND", "*", "a" * 50_000, "lexer " * 5_000, "\ud800"):
        assert ask(prompt)[-1] == "now"
