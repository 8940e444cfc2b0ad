"""The limit for outdated text, whatever a rewrite costs."""

from __future__ import annotations

from attrs import evolve

from support.tierworld import FACTS, World, reconstruct, tokens
from tierline.context.tiers.base import Arrangement, PieceKind, Pricing
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.context.tiers.outdated import LIMIT, MAX_DIFFERENCES, outdated, too_much

LINES = [f"value_{i} = compute({i})\n" for i in range(250)]
BIG = "".join(LINES)
OTHER = BIG.replace("value", "other")
PRICES = Pricing.of(FACTS)


def world(**files: str) -> World:
    made = World(LogStructuredPolicy(), files={f"{name}.py": text for name, text in files.items()})
    made.ask("First?")
    made.request()
    made.reply("Yes.")
    return made


def ask(made: World, *, prompt: str = "And now?") -> Arrangement:
    made.now += 30.0
    made.ask(prompt)
    body = made.request()
    assert reconstruct(body) == made.files, "whatever is rewritten, the model knows every file"
    assert made.arranged is not None
    return made.arranged


def rewrite(arranged: Arrangement) -> str:
    return "" if arranged.rewrite is None else arranged.rewrite.sentence


def updates(arranged: Arrangement) -> list[PieceKind]:
    return [piece.kind for piece in arranged.pieces if piece.kind is not PieceKind.ITEM]


def test_a_small_change_is_appended_and_nothing_is_rewritten() -> None:
    made = world(a=BIG, b=OTHER)
    made.files["a.py"] = BIG.replace("value_7 ", "value_seven ")
    arranged = ask(made)
    assert (updates(arranged), rewrite(arranged)) == ([PieceKind.DELTA], "")


def test_a_file_that_was_mostly_replaced_is_sent_anew_whatever_it_costs() -> None:
    made = world(a=BIG, b=OTHER)
    made.files["a.py"] = OTHER.replace("other", "wholly_new")
    arranged = ask(made)
    assert "outdated" in rewrite(arranged)
    assert updates(arranged) == []


def test_files_that_leave_bring_a_rewrite_about_that_takes_them_away() -> None:
    made = world(a=BIG, b=OTHER)
    del made.files["b.py"]
    arranged = ask(made)
    assert "outdated" in rewrite(arranged)
    assert "other_1 " not in "".join(piece.text for piece in arranged.pieces)


def test_many_differences_to_one_file_are_too_many() -> None:
    made = world(a=BIG * 4)
    counts = []
    for number in range(MAX_DIFFERENCES + 3):
        made.files["a.py"] = made.files["a.py"].replace(f"value_{number} ", f"v_{number} ")
        counts.append(len(updates(ask(made))))
        made.reply("Yes.")
    assert max(counts) == MAX_DIFFERENCES
    assert counts[MAX_DIFFERENCES] < MAX_DIFFERENCES, "and then they are taken away"


def test_nothing_is_rewritten_within_a_turn() -> None:
    made = world(a=BIG, b=OTHER)
    ask(made)
    made.look("found")
    del made.files["b.py"]
    made.request()
    assert made.arranged is not None
    assert rewrite(made.arranged) == ""
    made.reply("Done.")
    assert "outdated" in rewrite(ask(made)), "but when the next one begins"


def test_what_is_outdated_is_counted_by_lines() -> None:
    made = world(a=BIG)
    made.files["a.py"] = "".join(["new = 1\n", *LINES[50:]])
    made.now += 30.0
    made.ask("And now?")
    sent = LogStructuredPolicy(limit=1).arrange(made.items(), made.sent, made.moment(), PRICES)
    state = sent.next.state.state  # type: ignore[attr-defined]
    docs = [item for item in made.items() if item.path]
    dead = outdated(state.base, [e for _, e in state.updates], docs, state.texts)
    gone = tokens("".join(LINES[:50]))
    assert 1.8 * gone < dead < 2.6 * gone, "the old lines, and the difference that takes them away"
    assert 0 < LIMIT < 0.15


def test_documents_that_are_a_small_part_of_the_request_are_not_too_much() -> None:
    made = world(a=BIG)
    sent = LogStructuredPolicy(limit=1).arrange(made.items(), made.sent, made.moment(), PRICES)
    base = sent.next.state.state.base  # type: ignore[attr-defined]
    all_of_it = sum(entry.tokens for entry in base)

    def judged(total: float) -> bool:  # as if all documents had left
        return too_much(base, (), (), {}, total=int(total), limit=LIMIT)

    assert outdated(base, (), (), {}) == all_of_it
    assert judged(all_of_it / 0.16)
    assert not judged(all_of_it / 0.12), "more cannot come of it in this turn"


def test_tools_are_a_part_of_the_request() -> None:
    made = world(a=BIG, b=OTHER)
    made.files["a.py"] = OTHER.replace("other", "wholly_new")
    made.now += 30.0
    made.ask("And now?")

    def decided(tools: int) -> str:
        moment = evolve(made.moment(), tool_tokens=tools)
        return rewrite(LogStructuredPolicy().arrange(made.items(), made.sent, moment, PRICES))

    assert "outdated" in decided(0)
    assert decided(1_000_000) == ""
