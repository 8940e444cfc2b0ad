"""Strategies: full, window, ranked."""

from __future__ import annotations

from collections.abc import Sequence

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
    until,
    window,
)
from tierline.store.group_search import GroupSearch


def talk(count: int) -> tuple[Message, ...]:
    return tuple(m for n in range(1, count + 1) for m in turn(n))


def chosen(messages: Sequence[Message]) -> list[str]:
    return list(dict.fromkeys(m.group_id for m in messages))


def test_zero_means_full_history() -> None:
    """Seed 000: "A context_size of 0 indicates "Full History"."""
    assert window(talk(9), 0) == talk(9)
    assert select(talk(9), strategy="window", size=0) == talk(9)
    assert select(talk(9)) == talk(9)
    assert select(talk(9), strategy="unheard-of", size=3) == talk(9)


def test_ranking_without_a_search_is_a_window() -> None:
    assert select(talk(9), strategy="ranked", size=3, query="x") == window(talk(9), 3)


def test_window_keeps_the_last_groups_in_order() -> None:
    assert chosen(window(talk(9), 3, chunk=1)) == ["g7", "g8", "g9"]


def test_a_small_window_slides_every_turn() -> None:
    for size in range(1, 8):
        assert [len(chosen(window(talk(n), size))) for n in (size, size + 1, 20)] == [size] * 3


def test_window_keeps_groups_whole() -> None:
    history = (*turn(1), *tool_turn(2, ["a", "b"]), *turn(3))
    assert window(history, 2, chunk=1) == history[2:]


def test_system_messages_are_always_in() -> None:
    rules = msg(0, "system", "rules", group="g0")
    assert window((rules, *talk(9)), 2)[0] is rules


def test_window_slides_in_chunks_so_that_the_prefix_survives() -> None:
    starts = [chosen(window(talk(n), 8))[0] for n in range(8, 17)]
    assert starts == ["g1", "g3", "g3", "g5", "g5", "g7", "g7", "g9", "g9"]
    for count in range(1, 40):
        kept = chosen(window(talk(count), 8))
        assert kept[-1] == f"g{count}" and len(kept) <= 8
        assert len(kept) > 8 - 2 or count < 8


def test_window_of_one_is_the_current_group() -> None:
    assert chosen(window(talk(5), 1)) == ["g5"]


def test_what_comes_later_than_the_turn_is_not_part_of_it() -> None:
    """Queued prompts, and the turns of another window, also between a turn's own messages."""
    first, mine, theirs = turn(1), turn(2), turn(3)
    mixed = [*first, mine[0], *theirs, *mine[1:]]
    assert until(mixed, "g2") == [*first, *mine]
    assert until(mixed, "g3") == mixed
    assert until(mixed, "", ["g3"]) == [*first, *mine]
    assert until(mixed, "gone", ["g3", "gone"]) == [*first, *mine]
    assert until([*mixed, msg(90, "system", "note", group="g4")], "g2")[-1].role == "system"


def test_fusion_is_reciprocal_rank_with_bm25_weighing_more() -> None:
    """Seed 001: "k=60", "BM25 scores 1.5x higher than recency"."""
    assert fuse(["a", "b"], ["b", "a"]) == ["a", "b"]
    score_a = BM25_WEIGHT / (RRF_K + 1) + 1 / (RRF_K + 2)
    score_b = BM25_WEIGHT / (RRF_K + 2) + 1 / (RRF_K + 1)
    assert score_a > score_b
    assert fuse([], ["x", "y"]) == ["x", "y"]


@pytest.mark.parametrize(
    "query",
    ["continue", "go on", "ok next", "OK, next.", "yes please", "", "  ", "why?", "thanks!"],
)
def test_fillers_and_stop_words_never_search(query: str) -> None:
    """Seed 000, "Stop-Word Pollution"; bug case BR-169's filler prompts."""
    asked: list[Sequence[str]] = []

    def search(words: Sequence[str]) -> Sequence[str]:
        asked.append(words)
        return ["g1"]

    kept = ranked(talk(9), 3, query=query, search=search)
    assert asked == [] and chosen(kept) == ["g7", "g8", "g9"]


def test_words_that_matter_are_kept() -> None:
    query = "Why does parse_header in src/net/http.py fail on IPv6? 数据库"
    assert search_words(query) == (
        "parse_header",
        "src/net/http.py",
        "fail",
        "IPv6",
        "数据库",
    )


def test_a_single_letter_is_nothing_to_search_for_but_a_character_may_be() -> None:
    assert search_words("x y in 表 zz") == ("表", "zz")


def test_subset_rule_restricts_recency_to_what_was_found() -> None:
    """Seed 001: "the recency list is filtered to prioritize recent groups also found"."""
    kept = ranked(talk(9), 3, query="header", search=lambda _: ["g2", "g1"])
    assert chosen(kept) == ["g1", "g2", "g9"], "chronological, current group always in"


def test_too_few_matches_are_filled_up_with_the_most_recent() -> None:
    kept = ranked(talk(9), 4, query="header", search=lambda _: ["g1"])
    assert chosen(kept) == ["g1", "g7", "g8", "g9"]


def test_no_match_falls_back_to_recency() -> None:
    """Seed 001: "If no search matches are found, it falls back to standard global recency"."""
    assert chosen(ranked(talk(9), 3, query="header", search=lambda _: [])) == ["g7", "g8", "g9"]


def test_unknown_groups_and_the_current_one_in_the_search_result_do_no_harm() -> None:
    kept = ranked(talk(9), 3, query="header", search=lambda _: ["gone", "g9", "g2"])
    assert chosen(kept) == ["g2", "g8", "g9"]


def test_small_history_is_sent_whole() -> None:
    assert ranked(talk(3), 3, query="header", search=lambda _: ["g1"]) == talk(3)


def test_real_full_text_search_recalls_an_early_turn() -> None:
    """Seed 001: "recalling a specific file path mentioned 50 turns ago"."""
    early = turn(1, prompt="the parser lives in src/deep/lexer_table.py")
    history = (*early, *(m for n in range(2, 52) for m in turn(n)))
    prompt = msg(9999, "user", "what was in lexer_table.py again?", group="g99")
    search = GroupSearch()
    kept = select(
        (*history, prompt),
        strategy="ranked",
        size=4,
        query="what was in lexer_table.py again?",
        search=search.over((*history, prompt)),
    )
    assert chosen(kept)[0] == "g1" and chosen(kept)[-1] == "g99" and len(chosen(kept)) == 4


def test_group_search_follows_changes_of_the_history() -> None:
    search = GroupSearch()
    before = search.over(talk(3))(["question"])
    assert set(before) == {"g1", "g2", "g3"}
    assert set(search.over(talk(2))(["question"])) == {"g1", "g2"}
    changed = (*turn(1, prompt="zebra"), *turn(2))
    assert search.over(changed)(["zebra"]) == ["g1"]
    assert search.over(changed)(['"NEAR(', "*", "zebra", "OR"]) == ["g1"]


def test_fusion_by_hand() -> None:
    """Seed 001: k = 60, BM25 weighs 1.5, ranks count from 1. So the newest group, 1/61, stands
    behind what BM25 ranks 31st, 1.5/91, and before its 32nd, 1.5/92. Meaning weighs as much.
    """
    found = [f"b{rank}" for rank in range(1, 41)]
    for order in (fuse(found, ["newest"]), fuse([], ["newest"], found)):
        assert order.index("newest") == 31 and [g for g in order if g != "newest"] == found
    assert fuse(["a"], [], ["b"]) == ["a", "b"] and fuse(["b"], [], ["a"]) == ["b", "a"]


def test_recency_counts_among_what_was_found_only() -> None:
    """Seed 001, the subset rule: an answer is not outweighed by its age, and what was not found
    stands behind all that was.
    """
    groups = [f"g{n}" for n in range(60)]
    assert ranking(groups, "header", lambda _: ["g0", "g59"])[:2] == ["g0", "g59"]
    many = groups[:40]
    order = ranking(groups, "header", lambda _: many)
    assert set(order[:40]) == set(many) and order[40:] == groups[:39:-1]


def test_what_is_close_in_meaning_is_chosen_too() -> None:
    def meant(prompt: str) -> Sequence[str]:
        assert prompt == "header files"
        return ["gone", "g3"]

    kept = ranked(talk(9), 3, query="header files", search=lambda _: ["g1"], semantic=meant)
    assert chosen(kept) == ["g1", "g3", "g9"]
    alone = ranked(talk(9), 2, query="header files", search=lambda _: [], semantic=meant)
    assert chosen(alone) == ["g3", "g9"]


def test_a_window_asks_no_search_and_a_size_of_nothing_is_all() -> None:
    def never(_words: Sequence[str]) -> Sequence[str]:
        raise AssertionError("asked")

    history = talk(9)
    kept = select(history, strategy="window", size=3, query="header", search=never)
    assert kept == window(history, 3)
    assert select(history, strategy="window") == history
    assert select(history, strategy="ranked", size=3, query="header") == window(history, 3)
    for size in (0, -1):
        assert ranked(history, size, query="header", search=never) == history
    assert ranked(history, 9, query="header", search=never) == history, "all of it fits"
    assert chosen(ranked(history, 1, query="header", search=lambda _: ["g1"])) == ["g9"]
    assert window((), 3) == ranked((), 3, query="header", search=never) == ()


def test_the_current_turn_is_sent_whatever_the_chunk() -> None:
    for size in range(1, 5):
        for chunk in range(0, 12):
            kept = chosen(window(talk(5), size, chunk=chunk))
            assert kept[-1:] == ["g5"] and len(kept) <= size


def test_each_word_comes_once_or_as_often_as_it_was_said() -> None:
    assert search_words("header of header files") == ("header", "files")
    assert search_words("header of header files", every=True) == ("header", "header", "files")
    assert search_words("don’t carry on with the header") == ("header",)
