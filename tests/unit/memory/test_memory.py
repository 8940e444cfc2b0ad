"""Seed 002, "Context Manager": its behaviours, each with the lines that ask for it."""

from __future__ import annotations

import pytest

from support.memories import FILLER, count, remember, said
from tierline.context.blocks import ToolResult, ToolUse
from tierline.history.messages import Message, Status
from tierline.history.parser import full_text, text_of
from tierline.memory import tasks
from tierline.memory.levels import Budgets, Level
from tierline.memory.metrics import Compression, Metrics
from tierline.memory.recall import recall
from tierline.memory.situations import TABLE, MemoryAction, SituationFacts, decide
from tierline.memory.state import Memory, Score, recency, references
from tierline.memory.tasks import Task
from tierline.memory.turns import minutes
from tierline.memory.view import MemoryBuilder, messages, stats

pytestmark = pytest.mark.requirement("002")

LONG = FILLER * 20
"""350 tokens."""


def sent(memory: Memory) -> str:
    return "\n".join(full_text(m.content) for m in messages(memory))


# --- levels and configuration ---------------------------------------------------------------------


def test_the_seeds_budgets_and_thresholds_are_the_defaults() -> None:
    """002:285-292, and the ages of 002:60 and 002:65."""
    budgets = Budgets()
    assert [budgets.of(level) for level in Level] == [2000, 4000, 8000, 2000]
    assert (budgets.total, budgets.trigger_percent) == (16_000, 80)
    assert (budgets.working_minutes, budgets.session_minutes) == (5, 30)
    assert [level.value for level in Level] == [1, 2, 3, 4], "002:255, level numbers"


def test_the_sliding_window_of_working_memory_keeps_what_is_pinned() -> None:
    """002:43-47: the system prompt stays, the middle goes, the newest stays. 002:323: pin it."""
    history = [m for n in range(60) for m in said(n, n * 6, f"question {n} {LONG}", LONG)]
    rules = said(0, 0, "Never use tabs in this project.", "Agreed.")
    memory = remember([*rules, *(m for m in history if m.group_id != "g0")])
    text = sent(memory)
    assert "Never use tabs" in text, "critical constraints are permanent (002:57)"
    assert "question 59" in text and "question 58" in text
    assert memory.fill(Level.WORKING) <= 8000 and memory.used <= 16_000


def test_what_is_marked_as_important_is_permanent() -> None:
    """002:108 "Explicit = 1 if marked important"; 002:57 "critical constraints"."""
    marked = said(1, 0, "The customer's id is K-4711.", meta={"important": True})
    history = [*marked, *(m for n in range(2, 60) for m in said(n, n * 6, f"ask {n} {LONG}", LONG))]
    memory = remember(history)
    assert memory.permanent == ("The customer's id is K-4711.",)
    assert memory.permanent_sources == ("m1000",)
    assert "g1" not in memory.in_full and "K-4711" in sent(memory)


def test_permanent_memory_keeps_its_budget() -> None:
    """002:58: 2000 tokens."""
    rules = [
        m
        for n in range(1, 60)
        for m in said(n, n * 6, f"From now on rule number {n} holds: {FILLER * 3}", LONG)
    ]
    memory = remember(rules)
    assert 1000 < memory.fill(Level.PERMANENT) <= 2000


def test_tool_output_is_volatile_and_dropped_before_anything_is_compressed() -> None:
    """002:70-73: "Verbose tool output, exploration, dead ends", "dropped when space needed"."""
    history = [m for n in range(1, 9) for m in said(n, n, f"step {n}", "ok", "output " * 1500)]
    memory = remember(history)
    kept = [h for h in memory.held if h.volatile]
    assert memory.fill(Level.VOLATILE) < 8 * 2600 and memory.used <= 16_000
    assert [h.turn.id for h in kept][-2:] == ["g7", "g8"], "the newest stay"
    assert not memory.metrics.compressions, "no summary was needed"
    assert all(f"step {n}" in sent(memory) for n in range(1, 9))


def test_a_dropped_call_goes_with_its_result() -> None:
    history = [m for n in range(1, 9) for m in said(n, n, f"step {n}", "ok", "output " * 1500)]
    blocks = [b for m in messages(remember(history)) for b in m.content]
    uses = [b.id for b in blocks if isinstance(b, ToolUse)]
    results = [b.tool_use_id for b in blocks if isinstance(b, ToolResult)]
    assert uses == results


def test_dead_ends_go_first() -> None:
    """002:326: "Prune dead ends"."""
    good = said(1, 0, "look into the good way", "ok", "output " * 600)
    dead = said(2, 1, "try the other way", "half", "output " * 5600, status=Status.INTERRUPTED)
    rest = [m for n in range(3, 7) for m in said(n, n, f"step {n}", "ok", "output " * 600)]
    memory = remember([*good, *dead, *rest])
    assert [h.turn.id for h in memory.held if h.cleared] == ["g2"]


# --- summaries ------------------------------------------------------------------------------------


def test_the_seeds_example_is_compressed_to_its_essence() -> None:
    """002:82-90: five sentences become two, the file, the guard and the outcome stay."""
    talk = [
        *said(1, 0, "There is a bug in parser.js line 45: TypeError: obj is undefined.",
              "I read parser.js and found the issue was a missing null check before accessing "
              f"obj.property. The fix is: if (obj && obj.property). {FILLER * 8}"),
        *said(2, 1, "approved", "I made the edit in parser.js. All tests pass."),
        *said(3, 2, "Now let's write the changelog."),
        *said(4, 3, "and sort it"),
    ]  # fmt: skip
    memory = remember(talk)
    (summary,) = memory.session
    assert "parser.js" in summary.text and "null check" in summary.text
    assert summary.ratio > 2 and summary.tokens <= summary.original_tokens // 2


def test_summaries_know_their_sources() -> None:
    """002:252-259: ``source_ids``, the messages summarised, and the level."""
    talk = [
        *said(1, 0, f"Add a retry to net/client.py {LONG}", LONG),
        *said(2, 1, "make it 5 attempts", "We'll use 5 attempts."),
        *said(3, 2, "Now let's write the changelog."),
    ]
    (summary,) = remember(talk).session
    assert summary.level is Level.SESSION
    assert summary.sources == ("m1000", "m1999", "m2000", "m2999")
    assert summary.groups == ("g1", "g2")


def test_a_task_is_summarised_on_completion_and_promoted() -> None:
    """002:324 and 002:351-352: "Summarize and promote to session level"."""
    work = [m for n in range(1, 26) for m in said(n, n * 6, f"retry client.py {n} {LONG}", LONG)]
    before = remember(work)
    assert before.working and not before.session, "the open task's summary is working memory"
    after = remember([*work, *said(90, 200, "Now let's write the changelog.")])
    assert not after.working and len(after.session) == 1
    assert set(after.session[0].groups) == {f"g{n}" for n in range(1, 26)}


def modules(count: int) -> list[Message]:
    """So many tasks, each with a decision."""
    return [
        message
        for n in range(1, count + 1)
        for message in said(
            n,
            n * 10,
            f"Now let's build module_{n}. We decided to use library_{n} because {LONG}",
            f"Done. Added module_{n}.py with make_{n}(). " + LONG,
        )
    ]


def test_session_summaries_are_compressed_after_half_an_hour() -> None:
    """002:60: "compressed after 30 min"; what they were stays retrievable (002:116)."""
    memory = remember(modules(69))
    assert memory.fill(Level.SESSION) <= 4000
    assert memory.archived and all(s.ended <= memory.now - 30 for s in memory.archived[:1])
    everything = {g for s in (*memory.session, *memory.archived) for g in s.groups}
    assert everything >= {f"g{n}" for n in range(1, 69)}, "nothing is without a summary"


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "value"), [(0, 1.0), (1, 0.5), (3, 0.25), (-5, 1.0)])
def test_recency(age: float, value: float) -> None:
    """002:106."""
    assert recency(age) == value


def test_references() -> None:
    """002:107."""
    assert references(3, 4) == 0.75 and references(0, 0) == 0.0


def test_the_weights_of_the_score() -> None:
    """002:103 and 002:111."""
    assert Score(1, 1, 1, 1).total == pytest.approx(1.0)
    assert Score(recency=1).total == pytest.approx(0.3)
    assert Score(references=1).total == pytest.approx(0.2)
    assert Score(relevance=1).total == pytest.approx(0.4)
    assert Score(explicit=1).total == pytest.approx(0.1)


def test_what_later_turns_mention_and_the_task_is_about_scores_higher() -> None:
    """002:105-109 on a conversation."""
    talk = [
        *said(1, 0, "the parser in parser.py and its parse_header()", "parse_header() it is"),
        *said(2, 0, "unrelated weather talk about clouds and sunshine", "sunny"),
        *said(3, 1, "change parse_header() in parser.py", "changed parse_header()"),
        *said(4, 2, "does parse_header() work in parser.py?", "yes"),
    ]
    memory = remember(talk)
    about, aside = (memory.score(memory.turns[g], 5.0) for g in ("g1", "g2"))
    assert about.references > 0.5 > aside.references == 0.0
    assert about.relevance > aside.relevance
    assert about.total > aside.total


# --- when to compress, when to retrieve -----------------------------------------------------------


def test_the_table_reads_like_the_seeds() -> None:
    """002:140-146, row by row."""
    assert [rule.situation for rule in TABLE] == [
        "Context > 80% full",
        "Referencing old task",
        "Error repeating",
        "New task started",
        "User mentions past topic",
    ]
    assert decide(SituationFacts(fill=0.81)) == (MemoryAction.COMPRESS_OLDEST,)
    assert decide(SituationFacts(fill=0.80)) == ()
    assert decide(SituationFacts(refers_to_old_task=True)) == (MemoryAction.RETRIEVE_SUMMARY,)
    assert decide(SituationFacts(error_repeats=True)) == (MemoryAction.RETRIEVE_ERRORS,)
    assert decide(SituationFacts(new_task=True)) == (MemoryAction.COMPRESS_TASK,)
    assert decide(SituationFacts(names_past_topic=True)) == (MemoryAction.EXPAND_TOPIC,)


def fullness(memory: Memory) -> float:
    """The fullest of the whole and of working memory, as a share of its budget."""
    budgets = memory.budgets
    return max(memory.used / budgets.total, memory.fill(Level.WORKING) / budgets.working)


def test_over_eighty_percent_the_oldest_working_memory_is_compressed() -> None:
    """002:142 and 002:348-349."""
    turns = [said(n, n * 6, f"retry client.py {n} {LONG}", LONG) for n in range(1, 30)]
    history: list[Message] = []
    keeper = MemoryBuilder(Budgets(), count)
    memory = before = keeper.memory([])
    for turn in turns:
        history += turn
        before, memory = memory, keeper.memory(history)
        if memory.metrics.compressions:
            break
    summary = memory.working[0]
    assert summary.groups == tuple(f"g{n}" for n in range(1, len(summary.groups) + 1)), "oldest"
    assert 0.7 < fullness(before) < 0.85, "the prompt made it 80 %"
    assert fullness(memory) < 0.6, "far enough down not to be due again at once"


def test_turns_younger_than_five_minutes_are_not_compressed_unless_they_must() -> None:
    """002:65, 002:291 ("Seconds before eligible for compression")."""
    old = [m for n in range(1, 6) for m in said(n, n, f"retry client.py {n} {LONG}", LONG)]
    young = [m for n in range(6, 11) for m in said(n, 20, f"retry client.py {n} {LONG}", LONG)]
    memory = remember([*old, *young])
    assert {f"g{n}" for n in range(6, 11)} <= memory.in_full
    assert "g1" not in memory.in_full
    rush = [m for n in range(1, 40) for m in said(n, 20, f"retry client.py {n} {LONG}", LONG)]
    assert remember(rush).fill(Level.WORKING) <= 8000


def test_a_new_task_compresses_the_previous_one_and_clears_volatile() -> None:
    """002:145."""
    talk = [
        *said(1, 0, "fix parser.py", "Fixed parser.py.", "listing " * 400),
        *said(2, 1, "and test_parser.py", "Fixed test_parser.py.", "listing " * 400),
    ]
    assert remember(talk).fill(Level.VOLATILE) > 1500
    memory = remember([*talk, *said(3, 2, "Now let's look at the web server.")])
    assert memory.fill(Level.VOLATILE) == 0
    assert [s.groups for s in memory.session] == [("g1", "g2")]
    assert memory.in_full == {"g2", "g3"}, "the end of a task is seldom certain"
    later = remember([*talk, *said(3, 2, "Now let's look at the web server."),
                      *said(4, 3, "Now let's look at the docs.")])  # fmt: skip
    assert later.in_full == {"g3", "g4"}


PAST = [
    *said(1, 0, "Fix the crash in parser.py: IndexError: list index out of range in split_row()",
          "The cause was an empty row. I fixed split_row() in parser.py: it returns early now."),
    *said(2, 2, "Now let's add caching to fetch.py",
          "We'll use an LRU cache of 512 entries instead of a dictionary, in fetch.py."),
    *said(3, 4, "Now let's write the docs for deployment in deploy.md", "Wrote deploy.md."),
    *said(4, 6, "Next task: draw a picture of the pipeline", "Added it."),
    *said(5, 8, "and a caption", "Added it."),
]  # fmt: skip


def test_an_error_that_repeats_brings_its_history() -> None:
    """002:144 and 002:325 ("Track error resolutions")."""
    memory = remember(PAST)
    prompt = "I get this again: IndexError: list index out of range"
    found = [piece for piece in recall(memory, prompt) if piece.kind == "error"]
    assert [piece.name for piece in found] == ["error-1"], "002:318"
    assert "empty row" in found[0].text and found[0].sources == ("m1000", "m1999")
    other = recall(memory, "I get KeyError: 'name' in the server")
    assert not [piece for piece in other if piece.kind == "error"]
    in_a_result = recall(memory, "run it", result="IndexError: list index out of range")
    assert [piece.kind for piece in in_a_result] == ["error"]


def test_a_past_topic_is_retrieved_and_expanded() -> None:
    """002:146 and 002:327 ("Retrieve proactively")."""
    memory = remember(PAST)
    (piece,) = recall(memory, "how large is the LRU cache?")
    assert piece.kind == "topic" and piece.name == "turn-2"
    assert "512 entries" in piece.text, "the turn itself, not its summary"
    assert recall(memory, "what is the capital of France?") == ()


@pytest.mark.parametrize("prompt", ["continue", "go on", "ok next", "yes", "and a second caption"])
def test_fillers_and_the_present_topic_retrieve_nothing(prompt: str) -> None:
    """Seed 000:171, "Stop-Word Pollution"."""
    assert recall(remember(PAST), prompt) == ()


def test_a_reference_to_an_old_task_brings_its_summary() -> None:
    """002:143."""
    memory = remember(modules(59))
    assert any("g2" in s.groups for s in memory.archived)
    found = recall(memory, "which library did we choose for module_2 back then?")
    (summary,) = [piece for piece in found if piece.kind == "summary"]
    assert summary.name == "task-2", "002:318: (task-42, ...)"
    assert "library_2" in summary.text and summary.sources == ("m2000", "m2999")


# --- tasks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "new"),
    [
        ("Now let's add a retry to the HTTP client", True),
        ("Forget that. How do I write a Makefile?", True),
        ("ok thanks! Next task: the release notes", True),
        ("By the way, unrelated: what is a monad?", True),
        ("continue", False),
        ("why?", False),
        ("the parser still fails on empty rows", False),
        ("rename split_row in parser.py to split_cells", False),
        ("Write a Dockerfile for the billing service in billing/Dockerfile", True),
    ],
)
def test_task_detection(prompt: str, new: bool) -> None:
    """002:145 and 002:151: what begins a new task."""
    task = Task().with_turn(
        "fix the parser in parser.py, it fails on empty rows",
        "fix the parser in parser.py, it fails on empty rows. split_row() raised IndexError.",
        frozenset({"parser.py"}),
        10.0,
    )
    assert tasks.change(task, prompt, 11.0).new is new


def test_another_subject_after_the_end_of_a_task_begins_a_new_one() -> None:
    talk = [
        *said(1, 0, "fix the parser, it fails on empty rows", "Fixed."),
        *said(2, 1, "thanks, that works", "You are welcome."),
        *said(3, 2, "How should invoices be numbered for billing in Austria?", "In sequence."),
    ]
    assert len(remember(talk).members) == 2


# --- metrics --------------------------------------------------------------------------------------


def test_stats_have_the_seeds_layout() -> None:
    """002:303-319."""
    history = [m for n in range(1, 30) for m in said(n, n * 6, f"client.py {n} {LONG}", LONG)]
    memory = remember(history)
    lines = stats(memory, ["task-42", "error-17", "decision-8"], memory.now + 2).lines()
    text = "\n".join(lines)
    used = memory.used
    assert f"Total tokens used:     {used:,} / 16,000 ({round(used / 160)}%)" in text
    assert "Messages stored:       58" in text and "x average" in text
    for row in ("  Permanent:   0 / 2,000", "  Session:     0 / 4,000", "  Working:     "):
        assert row in text
    assert "Volatile:    0 tokens" in text
    assert "Last compression:  " in text
    assert "Retrieved items:   3 (task-42, error-17, decision-8)" in text


def test_poor_compression_is_pointed_out() -> None:
    """002:328: "Monitor compression ratio - If < 2x, summaries may be too detailed"."""
    metrics = Metrics([Compression(100, 60, 0.0, "a"), Compression(100, 70, 0.0, "b")])
    assert metrics.average_ratio == pytest.approx((100 / 60 + 100 / 70) / 2)
    assert "1.5x on average, under 2x" in metrics.warning
    metrics.record(Compression(1000, 100, 0.0, "c"))
    assert metrics.warning == "" and (metrics.original_tokens, metrics.compressed_tokens) == (
        1200, 230
    )  # fmt: skip
    assert Metrics().warning == "" and Metrics().average_ratio == 0.0


def test_compression_of_real_talk_is_at_least_twofold() -> None:
    history = [m for n in range(1, 60) for m in said(n, n * 6, f"client.py {n} {LONG}", LONG)]
    assert remember(history).metrics.average_ratio > 2


# --- compress by hand, rebuild, stability ---------------------------------------------------------


def test_compression_can_be_forced() -> None:
    """002:234 "Force compression"."""
    history = [m for n in range(1, 6) for m in said(n, n, f"client.py {n} {LONG}", LONG, "out")]
    memory = remember(history, forced=["g5"])
    assert memory.in_full == {"g4", "g5"}
    assert memory.working[0].groups == ("g1", "g2", "g3")
    assert remember(history).in_full == {f"g{n}" for n in range(1, 6)}


def test_the_memory_can_be_rebuilt_from_the_log_at_any_time() -> None:
    """002:116: the full history stays; levels follow from it, turn by turn or at one go."""
    history = [
        m
        for n in range(1, 80)
        for m in said(n, n * 3, f"{'Now let us see. ' * (n % 9 == 0)}ask {n} {LONG}", LONG, "out")
    ]
    keeper = MemoryBuilder(Budgets(), count)
    for end in range(4, len(history) + 1, 4):
        grown = keeper.memory(history[:end])
    fresh = remember(history)
    assert messages(grown) == messages(fresh)
    assert stats(grown) == stats(fresh)
    shorter = keeper.memory(history[:40])
    assert messages(shorter) == messages(remember(history[:40])), "after an undo"


def test_between_compressions_the_context_only_grows_at_its_end() -> None:
    """Design, section 6: what was sent stays as it is until there is a reason."""
    history = [m for n in range(1, 100) for m in said(n, n * 3, f"client.py {n} {LONG}", LONG)]
    before: list[str] = []
    rewrites = 0
    keeper = MemoryBuilder(Budgets(), count)
    for end in range(1, len(history) + 1, 2):
        now = [text_of(m.content) for m in messages(keeper.memory(history[:end]))]
        if now[: len(before)] != before:
            rewrites += 1
        before = now
    grown = count("x" * sum(len(text_of(m.content)) for m in history))
    assert 3 <= rewrites <= grown / 3000, "3,000 tokens pass between two of them"


def test_times() -> None:
    assert minutes("1970-01-02T00:00:00Z") == 1440
    assert minutes("2026-03-01T12:30:30.250+01:00") == minutes("2026-03-01T11:30:30Z")
    assert minutes("2000-02-29T00:00Z") == 951_782_400 / 60
    assert minutes("yesterday") is None and minutes("2026-13-01T00:00Z") is None
