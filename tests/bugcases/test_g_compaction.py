"""Bug cases of area G: compaction and topic boundary; and others that touch it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import body, fold, load, prompt_of, text, violations
from bugcases.fixtures import case, expect
from support.compacting import Talk, talking
from support.histories import compacted, four_characters
from tierline import protocol as p
from tierline.history.boundaries import TopicBoundary
from tierline.history.boundaries.model import parse
from tierline.history.compaction import CompactionKind, CompactionSettings, outline
from tierline.history.extract import extractive_summary
from tierline.history.groups import to_prompt
from tierline.history.messages import Message
from wire.choosing import ChoosingServer, What
from wire.scripts import o_error, o_reply
from wire.servers import Pause, Reply

NOTES = "Open: parse apples and pears in src/pears.py. Finished: step one."
Serve = Callable[[Callable[[What, int, Any], "Reply | str"]], ChoosingServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[ChoosingServer] = []

    def begin(answer: Callable[[What, int, Any], Reply | str]) -> ChoosingServer:
        server = ChoosingServer("openai", answer)
        server.__enter__()
        running.append(server)
        return server

    yield begin
    for server in running:
        server.__exit__(None, None, None)


def summariser(answer: Reply | str) -> Callable[[What, int, Any], Reply | str]:
    return lambda what, number, _: answer if what == "summary" else f"Reply {number} on apples."


def long_prompt(number: int, words: int = 60) -> str:
    return f"Step {number}: parse apples and pears in src/pears.py, " + "please " * words


def low(trigger: int = 400, **more: Any) -> dict[str, Any]:
    return {"compactionTriggerTokens": trigger, "detector": "local", **more}


async def fill(talk: Talk, turns: int = 5) -> None:
    for number in range(1, turns + 1):
        await talk.send(long_prompt(number))


def size(messages: Sequence[Message]) -> int:
    return four_characters([to_prompt(m) for m in messages])


def log_of(folder: Path) -> bytes:
    return (folder / ".tierline" / "history.jsonl").read_bytes()


# --- G -------------------------------------------------------------------------------------------


def test_br075_the_cut_falls_on_a_turn_whatever_the_window() -> None:
    """BR-075: the cut falls between a call and its result; every later request is refused."""
    folder = case("BR-075")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    messages = load(folder / "history.jsonl")
    for window in config["verbatim_window_tokens"]:
        settings = CompactionSettings(
            True,
            config["compaction_trigger_tokens"],
            window,
            config["summary_budget_tokens"],
            config["min_verbatim_exchanges"],
        )
        done = outline(messages, settings, size)
        assert done.case is CompactionKind.SUMMARIZE
        after = compacted(messages, done, "Notes")
        assert {m.group_id for m in after} & set(done.covers) == set()
        for wire in ("anthropic", "openai"):
            assert violations(body(prompt_of(after, "go on"), wire), wire) == []


async def test_br077_at_most_one_attempt_a_turn_and_a_pause(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-077: fixed parts alone exceed the trigger, so compaction repeats for ever."""
    wanted = expect("BR-077")
    server = serve(summariser(NOTES))
    compaction = low(200, verbatimWindowTokens=150, minVerbatimExchanges=2)
    async with talking(tmp_path, server, monkeypatch, compaction=compaction) as talk:
        calls = 0
        for number in range(wanted["prompts"]):
            await talk.send(long_prompt(number, 130))
            made = len(server.of("summary")) - calls
            assert made <= 1
            calls += made
        assert calls <= wanted["summariser_calls_max"]
        assert not talk.session.compaction.running
        notices = [n.code for n in talk.bodies(p.Notice)]
        assert "compaction_paused" in notices
        await talk.send("short")  # no growth to speak of, no attempt
        assert len(server.of("summary")) == calls


@pytest.mark.parametrize("count", [20_000, 2_500])
async def test_br079_a_longer_summary_is_discarded(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """BR-079: the 'compressed' history is larger than before."""
    long = (case("BR-079") / "long_summary.txt").read_text(encoding="utf-8")[:count]
    server = serve(summariser(long))
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        await fill(talk, 5)
        tried = len(server.of("summary"))
        assert tried == 1
        assert [e.code for e in talk.bodies(p.CompactionError)] == ["longer"]
        assert b'"summary"' not in log_of(tmp_path)
        await talk.send("short")
        assert len(server.of("summary")) == tried
        assert "Step 1:" in json.dumps(server.of("chat")[-1])


async def test_br079_a_short_summary_that_its_rules_make_longer_is_discarded_too(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-079: what counts is the card as it would be sent, with the rules that it must quote."""
    server = serve(summariser("Open: never touch the files of apples."))
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        for number in range(5):
            rules = [f"Never touch the file a{number}{n}.py." for n in range(30)]
            await talk.send(" ".join(rules))
        assert server.of("summary"), "a model wrote one, and it was short enough by itself"
        assert [e.code for e in talk.bodies(p.CompactionError)] == ["longer"], "told once"
        assert b'"summary"' not in log_of(tmp_path)
        assert len(talk.session.conversation.context()) == 10


@pytest.mark.parametrize("place", range(6))
async def test_br081_an_empty_summary_is_a_failure(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """BR-081: empty summariser output replaces the whole conversation."""
    answers = json.loads((case("BR-081") / "responses.json").read_text(encoding="utf-8"))
    assert len(answers) == 6
    answer = answers[place]
    server = serve(summariser(answer if isinstance(answer, str) else o_reply()))
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        await fill(talk, 5)
        context = talk.session.conversation.context()
        assert [e.code for e in talk.bodies(p.CompactionError)] in (["empty"], ["skeleton"])
        assert len(context) == 10
        assert b'"summary"' not in log_of(tmp_path)


async def test_br083_a_rate_limit_changes_nothing(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-083: the summariser hits a rate limit and the old messages are already gone."""
    server = serve(summariser(o_error("slow down", 429)))
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        await fill(talk, 4)
        before = log_of(tmp_path)
        await talk.send(long_prompt(5))
        assert talk.kinds() == ["compactionError"]
        added = log_of(tmp_path)[len(before) :].splitlines()
        assert log_of(tmp_path).startswith(before)
        roles = [record["role"] for line in added if "role" in (record := json.loads(line))]
        assert roles == ["user", "assistant"]
        assert len(talk.session.conversation.context()) == 10


async def test_br085_only_history_counts(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-085: summarising happens because fixed overhead is counted as history."""
    config = json.loads((case("BR-085") / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "big.txt").write_text("word " * config["system_and_files_tokens"], encoding="utf-8")
    server = serve(summariser(NOTES))
    compaction = low(config["compaction_trigger_tokens"])
    async with talking(tmp_path, server, monkeypatch, compaction=compaction) as talk:
        await talk.session.files.add(p.FileParams(path="big.txt"))
        await talk.send("a short question")
        budget = await talk.session.budget(p.NoParams())
        assert budget.used > config["compaction_trigger_tokens"] > budget.history_tokens
        assert talk.kinds() == [] and server.of("summary") == []


@pytest.mark.parametrize("refuses", [False, True])
async def test_br087_input_larger_than_the_summariser_goes_in_pieces(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    """BR-087: the request that should summarise is itself too large, so the chat is stuck."""
    limit = 0 if refuses else 9_000

    def answer(what: What, number: int, value: Any) -> Reply | str:
        if what == "chat":
            return f"Reply {number} on apples."
        if len(json.dumps(value)) > limit:
            return o_error("too many tokens", 400, code="context_length_exceeded")
        return NOTES

    server = serve(answer)
    compaction = low(6_000)
    async with talking(tmp_path, server, monkeypatch, compaction=compaction) as talk:
        for number in range(1, 10):
            await talk.send(long_prompt(number, 700))
        assert 1 <= len(server.of("summary")) <= 40
        if refuses:
            assert "compactionError" in talk.kinds()
            for number in range(10, 24):
                assert (await talk.send(long_prompt(number, 700))).outcome == "ok"
            sent = json.dumps(server.of("chat")[-1])
            assert "Step 23:" in sent and "Step 1:" not in sent  # layer 2
            assert len(sent) < 4 * 2.5 * 6_000 * 2
        else:
            assert "compactionComplete" in talk.kinds()
            assert any("Part 2 of" in json.dumps(v) for v in server.of("summary"))


async def test_br087_shrinks_when_the_window_is_smaller_than_believed(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def answer(what: What, number: int, value: Any) -> Reply | str:
        if what == "chat":
            return f"Reply {number} on apples."
        calls.append(len(json.dumps(value)))
        big = o_error("too many tokens", 400, code="context_length_exceeded")
        return big if len(calls) == 1 else NOTES

    server = serve(answer)
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        await fill(talk, 5)
        assert 2 <= len(calls) <= 9 and max(calls[1:]) < calls[0]
        assert talk.kinds() == ["compactionComplete"]


@pytest.mark.parametrize("fails", [False, True])
async def test_br089_prompts_meanwhile_are_delivered_once_in_order(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """BR-089: a prompt sent while compaction runs disappears."""
    end = o_error("broken", 400) if fails else o_reply(NOTES)
    slow = Reply(end.body, end.status, end.headers, before=Pause(2.0))
    server = serve(summariser(slow))
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        await fill(talk, 4)
        sent = await talk.session.turns.send(p.ChatSendParams(text=long_prompt(5)))
        await talk.finished(sent.turn_id)
        await talk.compacting()
        pair = [
            await talk.session.turns.send(p.ChatSendParams(text=word))
            for word in ("FIRST-ONE", "SECOND-ONE")
        ]
        assert all(one.queued for one in pair)
        assert b"FIRST-ONE" in log_of(tmp_path) and b"SECOND-ONE" in log_of(tmp_path)
        for one in pair:
            assert (await talk.finished(one.turn_id)).outcome == "ok"
        first, second = (json.dumps(v) for v in server.of("chat")[-2:])
        assert (first.count("FIRST-ONE"), first.count("SECOND-ONE")) == (1, 0)
        assert (second.count("FIRST-ONE"), second.count("SECOND-ONE")) == (1, 1)
        assert (NOTES in first) is not fails


async def test_a_prompt_does_not_wait_for_ever(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(summariser(Reply(before=Pause(30))))
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        talk.session.compaction.times.patience = 0.3
        await fill(talk, 4)
        sent = await talk.session.turns.send(p.ChatSendParams(text=long_prompt(5)))
        await talk.finished(sent.turn_id)
        await talk.compacting()
        late = await talk.session.turns.send(p.ChatSendParams(text="impatient"))
        assert (await asyncio.wait_for(talk.finished(late.turn_id), 10)).outcome == "ok"
        assert not talk.session.compaction.running


@pytest.mark.parametrize("error", [ValueError("x"), TimeoutError(), RuntimeError("y"), None])
async def test_br091_no_failure_of_the_summariser_escapes(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """BR-091: summariser failure surfaces as an uncaught exception and kills the command."""
    server = serve(summariser('{"summary": '))
    if error is not None:

        async def fail(*_: object) -> str:
            raise error

        monkeypatch.setattr("tierline.session.compaction.summariser.Summariser.summary", fail)
    async with talking(tmp_path, server, monkeypatch, compaction=low()) as talk:
        await fill(talk, 7)
        assert talk.kinds().count("compactionError") == 1  # told once
        assert not talk.session.compaction.running
        assert (await talk.send("still there?")).outcome == "ok"
        state = await talk.session.state(p.NoParams())
        assert not state.compacting and len(state.messages) == 16


def test_br093_every_answer_of_the_detector_maps_to_its_result() -> None:
    """BR-093: strict parsing of the boundary answer aborts the user's turn."""
    rows = json.loads((case("BR-093") / "detector_outputs.json").read_text(encoding="utf-8"))
    for row in rows:
        found = parse(row["out"], row["n"])
        got = [found.boundary_index, found.confidence]
        if isinstance(row["want"], list):
            assert got == row["want"], row
        elif "clamped" in row["want"]:
            assert got in ([6, 1.0], [None, 0.0])
        else:
            assert got in ([6, 0.0], [None, 0.0])


def test_br095_a_finished_task_is_not_planned_again() -> None:
    """BR-095: the summary presents the first task as current."""
    wanted = expect("BR-095")
    messages = load(case("BR-095") / "history.jsonl")
    settings = CompactionSettings(True, 100, 60, 50, 2)
    boundary = TopicBoundary(wanted["boundary"], "topic shift", wanted["confidence"])
    done = outline(messages, settings, size, boundary)
    assert done.case is CompactionKind.TRUNCATE
    said = text(body(prompt_of(compacted(messages, done), "go on"), "anthropic"))
    assert all(part in said for part in wanted["request_contains"])
    assert "T1 step 0" not in said
    notes = extractive_summary(
        messages[: wanted["boundary"]], budget_tokens=200, count=lambda t: len(t) // 4 + 1
    )
    assert notes.index("Finished:") < notes.index("T1 step 0")
    assert "Open tasks:" not in notes


# --- others that touch it ------------------------------------------------------------------------


async def test_br003_compaction_fires_from_estimates(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-003: endpoints that send no usage leave the counter at 0, so compaction never starts."""
    raw = (case("BR-003") / "stream_no_usage.sse").read_bytes()
    server = serve(lambda what, *_: NOTES if what == "summary" else Reply([raw]))
    async with talking(tmp_path, server, monkeypatch, compaction=low(200)) as talk:
        for number in range(12):
            await talk.send(long_prompt(number, 20))
        assert "compactionComplete" in talk.kinds()


async def test_br026_one_big_file_starts_no_compaction(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-026: one file larger than the whole window starts an endless condense loop."""
    config = json.loads((case("BR-026") / "config.json").read_text(encoding="utf-8"))
    big = (case("BR-026") / "big.log").read_bytes()
    (tmp_path / "big.log").write_bytes(big)
    server = serve(summariser(NOTES))
    context = {
        "mode": "off",
        "maxInputTokens": config["max_input_tokens"],
        "maxOutputTokens": config["max_output_tokens"],
    }
    compaction = low(config["compaction_trigger_tokens"])
    async with talking(
        tmp_path, server, monkeypatch, compaction=compaction, context=context
    ) as talk:
        await talk.session.files.add(p.FileParams(path="big.log"))
        assert (await talk.send("the user prompt text")).outcome == "ok"
        assert len(server.of("summary")) == expect("BR-026")["summariser_calls"]
        assert "the user prompt text" in json.dumps(server.of("chat")[-1])


async def test_br163_and_br167_undo_and_drop_after_a_compaction(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BR-163, BR-167: nothing stays hidden without a summary; no summary has what was dropped."""
    server = serve(summariser(NOTES))
    async with talking(
        tmp_path, server, monkeypatch, compaction=low(summariser="extractive")
    ) as talk:
        await talk.send("MAROON-12 is the code of the door, " + "please " * 60)
        await fill(talk, 5)
        assert "compactionComplete" in talk.kinds()
        first = talk.session.conversation.groups()[0]
        await talk.session.history.drop(p.GroupParams(group_id=first))
        shown = talk.session.conversation.shown()
        assert not [m for m in shown if m.compaction or m.covered]  # its summary ceased with it
        await talk.send(long_prompt(9))
        await talk.send(long_prompt(10))
        assert talk.kinds().count("compactionComplete") >= 2
        await talk.send("and now?")
        assert "MAROON-12" not in json.dumps(server.of("chat")[-1])
        cards = [m for m in talk.session.conversation.shown() if m.compaction]
        assert cards and all("MAROON-12" not in m.text for m in cards)


def test_br163_fixture_still_folds() -> None:
    assert fold(case("BR-163") / "history.jsonl").summaries
