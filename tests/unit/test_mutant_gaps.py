"""What mutation testing found untested in context/, history/ and store/ (docs/reliability.md)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType

import pytest

from support.histories import event, msg, texts
from support.planning import file, limits, system
from tierline.context.assemble import _Builder, _totals
from tierline.context.blocks import Text
from tierline.context.calibration import Calibration
from tierline.context.counting import CountCache
from tierline.context.items import Section
from tierline.context.plan import plan
from tierline.context.plan_diff import diff
from tierline.context.prompt import PromptBlock, PromptMessage
from tierline.context.prompt_json import encode
from tierline.context.retrieval.corpus import Corpus, document
from tierline.context.retrieval.holdings import Holdings
from tierline.context.retrieval.symbol import SourceFile, Symbol
from tierline.context.tiers.base import Arrangement, CacheState, Piece, Tier
from tierline.history.actions import rename, window
from tierline.history.extract import LineKind, digest
from tierline.history.state import closes, extract
from tierline.history.summarise import _fit, _pack
from tierline.history.timeline import timeline
from tierline.store.files import inspect
from tierline.store.records import newest_session
from tierline.store.sessions import HistoryStore
from tierline.store.vocabulary import expression, extend, known


@pytest.mark.parametrize(
    ("mark", "opened", "ends"),
    [("```", "```", True), ("````", "```", True), ("```", "````", False), ("~~~", "```", False)],
)
def test_a_fence_is_closed_by_one_of_its_kind_that_is_long_enough(
    mark: str, opened: str, ends: bool
) -> None:
    assert closes(mark, opened) is ends


def test_a_state_block_behind_a_shorter_fence_within_a_longer_one_is_text() -> None:
    assert extract("````\n```\n### STATE\nGoal: x\n```\n````\nok").state is None


def test_texts_for_the_summariser_are_cut_from_the_middle_until_they_fit() -> None:
    text = "begin " + "middle " * 400 + "end"
    for room in (60, 200, 1000):
        fitted = _fit(text, room, len)
        assert 0 < len(fitted) <= room
        assert fitted.startswith("begin") and fitted.endswith("end") and " […] " in fitted
        assert len(fitted) > room // 3, "not more is cut than must be"
    assert _fit(text, 3, len) == "", "what cannot say anything is left out"
    assert _fit("short", 60, len) == _fit("short", 5, len) == "short"
    packed = _pack(["a" * 40, "b" * 40, "c" * 40], 90, len)
    assert packed == ["a" * 40 + "\n\n" + "b" * 40, "c" * 40]
    assert _pack(["a" * 40] * 4, 84, len) == ["a" * 40 + "\n\n" + "a" * 40] * 2, "exactly"


def test_uses_of_a_card_add_up() -> None:
    holdings = Holdings()
    for _ in range(2):
        holdings.observe(quoted=["k"])
    assert holdings.items["k"].uses == 2
    holdings.observe(planned=["k"])
    assert holdings.items["k"].uses == 2, "to be planned is not to be used"


def test_a_window_of_nothing_is_everything_and_a_negative_one_is_refused() -> None:
    assert window(0).data == {"size": 0}
    events = [event(1, "window", size=3), event(2, "window", size=0), event(3, "window", size=-1)]
    assert [timeline(events[:n]).window for n in range(4)] == [None, 3, 0, 0]
    with pytest.raises(Exception, match="negative"):
        window(-1)


def test_removing_by_the_store_tells_what_went(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    first = store.append(store.make("user", (Text("one"),)))
    store.append(store.make("user", (Text("two"),)))
    assert store.remove(first.group_id) == (first.group_id,)
    assert texts(store.timeline().context()) == ["two"]


def test_a_deleted_session_is_not_the_newest_and_another_event_changes_nothing(
    tmp_path: Path,
) -> None:
    store = HistoryStore(tmp_path)
    first = store.append(store.make("user", (Text("one"),)))
    store.record(window(3))
    assert newest_session(store.log) == first.session_id
    store.delete_session(first.session_id)
    assert newest_session(store.log) == ""


def test_what_an_older_extract_lists_counts_for_more_than_a_mention() -> None:
    """It was chosen among many once; what is merely named now comes behind it."""
    kept = "Files:\n- z.py, y.py\nIdentifiers:\n- old_name"
    older = msg(1, "user", f"[History Summary]\n{kept}", meta={"summary": True})
    talk = msg(2, "assistant", "See a.py and `new_name`.")
    found = digest([older, talk, *(msg(n, "user", "Go on.") for n in range(3, 11))])
    assert found.files.index("z.py") < found.files.index("a.py")
    assert found.names[0] == "old_name"
    assert "History Summary" not in str(found.of(LineKind.FACT)), "its heading is no fact"


def test_a_comparison_of_plans_gives_sizes() -> None:
    a = plan([system(), file("a.py", 1_234), file("b.py", 10)], limits())
    b = plan([system(), file("b.py", 12, sha256="new"), file("c.py", 5_678)], limits())
    lines = diff(a, b).lines
    assert f"* size: {a.tokens:,} became {b.tokens:,} tokens" in lines
    assert any(line.startswith("+ file:c.py (5,678 tokens): ") for line in lines)
    assert any(line.startswith("- file:a.py (1,234 tokens): ") for line in lines)
    assert "~ file:b.py: 10 tokens became 12 tokens" in lines
    assert not any("size" in line for line in diff(a, a).lines), "only what differs"


def test_the_vocabulary_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    words = (f"unusualword{number}x" for number in range(450))
    store.append_all([store.make("user", (Text(word),)) for word in words])
    store.index.catch_up()
    with store.index.connection() as db:
        db.execute("DELETE FROM meta WHERE key = 'vocabulary'")
        db.execute("DELETE FROM term")
        db.execute("DELETE FROM terms")
        db.commit()
        assert known(db) == 0
        turns = iter([False, True])
        assert extend(db, lambda: next(turns)) is False
        assert known(db) == 200, "a batch"
        assert expression(db, ["unusualword150"]) and expression(db, ["unusualword300"]) is None
        assert extend(db, lambda: True) is False, "told to stop before it began"
        assert known(db) == 200
        assert extend(db, lambda: False) is True
        assert known(db) == 450
        assert expression(db, ["unusualword300"])
        short = expression(db, ["is", "word300x"])
        assert short == expression(db, ["word300x"]), "too short to decide; the others do"
        assert extend(db, lambda: False) is True, "nothing is left"
    store.close()


def test_what_another_process_has_written_is_read_before_the_next_answer(tmp_path: Path) -> None:
    mine, other = HistoryStore(tmp_path), HistoryStore(tmp_path)
    first = mine.append(mine.make("user", (Text("one"),)))
    assert len(mine.timeline().messages) == 1
    other.load_session(first.session_id)
    other.append(other.make("user", (Text("two"),)))
    assert [m.content for m in mine.timeline().messages] == [(Text("one"),), (Text("two"),)]
    other.record(window(1))
    assert mine.timeline().window == 1
    mine.close()
    other.close()


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


def test_any_value_of_a_tool_call_can_be_stored_with_a_plan() -> None:
    assert encode({"a": MappingProxyType({"b": 1}), "p": Path("x")}) == b'{"a":{"b":1},"p":"x"}'


def test_a_symbol_is_found_by_its_qualified_name_before_another_of_its_bare_name() -> None:
    first, second = Symbol("run", "method", 1, 2, "A"), Symbol("run", "method", 3, 4, "B")
    source = SourceFile("a.py", "python", 4, (first, second))
    assert source.find("B.run") is second and source.find("A.run") is first
    assert source.find("run") is first and source.find("x::run") is first
    assert source.find("walk") is None


def test_a_corpus_from_which_much_went_is_like_one_that_never_had_it() -> None:
    def source(number: int) -> SourceFile:
        define = (Symbol(f"name{number}", "function", 1, 2),)
        uses = {f"name{(number + 5) % 200}": 2}
        return SourceFile(f"src/mod{number}.py", "python", 2, define, uses)

    grown, fresh = Corpus(), Corpus()
    for number in range(200):
        grown.put(source(number), document(source(number)))
    for number in range(200):
        if number % 5:
            assert grown.remove(source(number).path)
        else:
            fresh.put(source(number), document(source(number)))
    for number in range(200, 260):
        for corpus in (grown, fresh):
            corpus.put(source(number), document(source(number)))
    assert len(grown) == len(fresh) == 100 and len(grown.entries) == 200, "their numbers are used"

    def named(corpus: Corpus, numbers: Iterable[int]) -> list[str]:
        return sorted(corpus.entries[n].path for n in numbers if corpus.entries[n].alive)

    for number in range(260):
        name = f"name{number}"
        assert named(grown, grown.definers(name)) == named(fresh, fresh.definers(name))
        assert named(grown, grown.search({name: 1.0})) == named(fresh, fresh.search({name: 1.0}))
    for path, number in grown.by_path.items():
        assert named(grown, grown.near(number)) == named(fresh, fresh.near(fresh.by_path[path]))


def test_the_margin_is_two_robust_standard_deviations() -> None:
    """Of samples 0.1 apart from their median: 2 · 1.4826 · 0.1."""
    assert Calibration((0.9, 1.0, 1.1)).margin == pytest.approx(0.29652)


def test_a_count_that_is_remembered_takes_no_room_twice() -> None:
    cache = CountCache(max_characters=100)
    cache.keep("x", "a" * 40, 1)
    for _ in range(5):
        cache.keep("x", "b" * 40, 2)
    assert (cache.recent("x", "a" * 40), cache.recent("x", "b" * 40)) == (1, 2)
    cache.keep("x", "c" * 51, 3)
    assert cache.recent("x", "c" * 51) is None, "half of the room at most for one"


def test_a_log_that_was_deleted_is_written_again_from_memory(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    for text in ("one", "two"):
        store.append(store.make("user", (Text(text),)))
    store.record(window(3))
    store.log.path.unlink()
    store.append(store.make("user", (Text("three"),)))
    again = HistoryStore(tmp_path)
    told = again.timeline(store.session_id)
    assert [m.content[0] for m in told.messages] == [Text("one"), Text("two"), Text("three")]
    assert told.window == 3 and store.timeline().messages == told.messages
    store.close()
    again.close()


def test_what_is_recorded_is_given_back_as_it_was_written(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path, redact=lambda text: text.replace("hunter2", "[secret]"))
    assert store.record(rename("hunter2")).data == {"title": "[secret]"}
    store.close()


def test_a_log_is_sound_or_partly_or_not_at_all(tmp_path: Path) -> None:
    store = HistoryStore(tmp_path)
    store.append(store.make("user", (Text("one"),)))
    store.close()
    whole = store.log.path.read_bytes()
    file = tmp_path / "copy.jsonl"
    for text, health, skipped in (
        (whole, "ok", 0), (whole + b"{torn\n", "partly", 1),
        (b"{torn\n", "damaged", 1), (b"", "empty", 0),
    ):  # fmt: skip
        file.write_bytes(text)
        report = inspect(file)
        assert (report.health, report.skipped) == (health, skipped)
