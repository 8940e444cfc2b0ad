"""Bug cases through a real server: counts, budget, history, storage.

What reached the provider is checked on the bodies that a loopback server received.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bugcases.fixtures import case, expect
from bugcases.through_lsp import KINDS, dialogue, last, place, reply, sent
from lsp.conftest import Start, environment
from lsp.pipe import Pipe
from lsp.project import records
from tierline import protocol as p
from tierline.tokenizers import encoder
from wire.scripts import a_end, a_reply, a_start, a_texts, o_reply
from wire.servers import Kind, Reply, WireServer, wire_server

# --- A, B: counts and tokenizers ------------------------------------------------------------------


async def test_br_001_the_meter_is_the_last_request_and_never_the_sum(start: Start) -> None:
    """BR-001: lifetime totals mixed with the window's use."""
    wanted = expect("BR-001")
    turns = json.loads((case("BR-001") / "usage_turns.json").read_text())
    script = [
        Reply(
            [
                a_start(input_tokens=turn["input"]),
                *a_texts(0, "Ok."),
                *a_end(output_tokens=turn["output"]),
            ]
        )
        for turn in turns
    ]
    with wire_server("anthropic", script) as model:
        editor = await start(model)
        for turn, used in zip(turns, wanted["used_after"], strict=True):
            end = await editor.chat("Next?")
            assert (end.usage.input_tokens, end.usage.output_tokens) == (
                turn["input"],
                turn["output"],
            )
            budget = await editor.ask("budget/get")
            reported = budget.last_reported
            assert reported.input_tokens + reported.output_tokens == used
            assert budget.used not in wanted["never"]
            assert 0 <= budget.percent <= 100
        assert budget.lifetime_input_tokens == wanted["lifetime_input"]
        assert budget.used < wanted["lifetime_input"]


async def test_br_005_a_new_chat_explains_every_token(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """BR-005: an empty file costs its wrapper, what is off costs nothing, all of it adds up."""
    (workspace / "empty.py").write_bytes(b"")
    editor = await start(model, tools={"enabled": "off"})
    before = await editor.ask("budget/get")
    await editor.ask("files/add", p.FileParams(path="empty.py"))
    after = await editor.ask("budget/get")
    for budget in (before, after):
        sections = {s.name: s.tokens for s in budget.sections}
        assert sum(sections.values()) == budget.used
        assert {k: v for k, v in sections.items() if k in ("tools", "history", "prompt")} == {
            "tools": 0,
            "history": 0,
            "prompt": 0,
        }
    assert 0 < after.used - before.used < 60


async def test_br_011_the_figure_before_sending_covers_all_that_is_sent(
    start: Start, workspace: Path
) -> None:
    """BR-011: the last reply's usage is shown while much more is about to be sent."""
    text = "".join(f"value_{n} = {n}\n" for n in range(600))
    (workspace / "big.py").write_text(text, encoding="utf-8")
    small = Reply([a_start(input_tokens=100), *a_texts(0, "Ok."), *a_end()])
    with wire_server("openai", [o_reply("Ok.")]) as model:
        editor = await start(model)
        await editor.chat("First?")
        await editor.ask("files/add", p.FileParams(path="big.py"))
        shown = (await editor.ask("budget/get")).used
        count = encoder("o200k_base")
        assert count is not None
        assert shown > count(text)
        await editor.chat("word " * 400)
        plan = (await editor.ask("plan/list")).plans[0]
        assert plan.total_tokens >= count("\n".join(t for _, t in dialogue(last(model))))
        assert plan.total_tokens > shown + 400
    with wire_server("anthropic", [small]) as model:
        editor = await start(
            model, context={"max_input_tokens": 3000, "max_output_tokens": 200}, history=NEW
        )
        await editor.chat("First?")
        await editor.ask("files/add", p.FileParams(path="big.py"))
        assert (await editor.chat("Second?")).outcome == "ok"
        assert "value_599" not in sent(model)
        assert "Second?" in sent(model)
        assert len(model.requests) == 2
        (file,) = (await editor.ask("files/list")).files
        assert file.state == "shed"
        assert file.reason


NEW = {"restore": False}


@pytest.mark.parametrize("kind", KINDS)
async def test_br_016_marker_strings_reach_the_model_as_text(
    start: Start, workspace: Path, kind: Kind
) -> None:
    """BR-016: a tokenizer raises on its own control words."""
    shutil.copy(case("BR-016") / "special_tokens.txt", workspace)
    with wire_server(kind, [reply(kind)]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="special_tokens.txt"))
        assert (await editor.chat("What is <|endoftext|><|im_end|>?")).outcome == "ok"
        body = sent(model)
        assert all(text in body for text in expect("BR-016")["request_contains"])
        assert "What is <|endoftext|><|im_end|>?" in body


@pytest.mark.parametrize("kind", KINDS)
async def test_br_022_halves_of_emojis_in_a_log_are_replaced_in_what_is_sent(
    start: Start, workspace: Path, kind: Kind
) -> None:
    """BR-022: half of an emoji makes the request invalid and the session unusable."""
    log = place(workspace, case("BR-022") / "history.jsonl")
    before = log.read_bytes()
    with wire_server(kind, [reply(kind)]) as model:
        editor = await start(model)
        assert (await editor.chat("go on")).outcome == "ok"
        body = sent(model)
        assert body.encode("utf-8")
        assert all(part in body for part in expect("BR-022")["contains"])
        assert body.count("\ufffd") == 2
        assert (await editor.chat("and on")).outcome == "ok"
    assert log.read_bytes().startswith(before)


# --- C: budget ------------------------------------------------------------------------------------


async def test_br_026_one_file_larger_than_the_window_is_left_out_by_name(
    start: Start, workspace: Path
) -> None:
    """BR-026: an endless loop of summaries."""
    settings = json.loads((case("BR-026") / "config.json").read_text())
    shutil.copy(case("BR-026") / "big.log", workspace)
    wanted = expect("BR-026")
    with wire_server("anthropic", [a_reply("Ok.")]) as model:
        editor = await start(
            model,
            context={k: settings[k] for k in ("max_input_tokens", "max_output_tokens")},
            compaction={"compaction_trigger_tokens": settings["compaction_trigger_tokens"]},
        )
        await editor.chat("hello")
        await editor.ask("files/add", p.FileParams(path="big.log"))
        (prompt,) = wanted["request_contains"]
        assert (await editor.chat(prompt)).outcome == "ok"
        assert prompt in sent(model)
        assert len(model.requests) - 2 == wanted["summariser_calls"]
        notices = [n.text for n in editor.bodies(p.Notice) if wanted["notice_names"] in n.text]
        assert notices
        assert any(letter.isdigit() for letter in notices[0]), "it says how large"


@pytest.mark.parametrize("kind", KINDS)
async def test_br_028_a_tiny_window_still_answers_a_small_prompt(start: Start, kind: Kind) -> None:
    """BR-028: default reserves larger than the window."""
    settings = json.loads((case("BR-028") / "config.json").read_text())
    with wire_server(kind, [reply(kind)]) as model:
        editor = await start(model, context=settings)
        budget = await editor.ask("budget/get")
        assert budget.remaining >= expect("BR-028")["remaining_min"]
        for _ in range(2):
            assert (await editor.chat("word " * 50)).outcome == "ok"
        body = last(model)
        asked = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        assert 1 <= asked < settings["max_input_tokens"]
        problems = [n for n in editor.bodies(p.Notice) if n.code == "settings"]
        assert len(problems) == 1
        assert "max_output_tokens" in problems[0].text


@pytest.mark.parametrize("window", [900, 1_500, 2_500, 20_000])
async def test_br_032_a_file_is_in_the_body_or_listed_with_a_reason(
    start: Start, workspace: Path, window: int
) -> None:
    """BR-032: attached on the screen, missing in the request."""
    for name in ("a", "b", "c"):
        lines = "".join(f"{name.upper()}_MARK_{n} = {n}\n" for n in range(60))
        (workspace / f"{name}.py").write_text(lines, encoding="utf-8")
    with wire_server("openai", [o_reply("Ok.")]) as model:
        editor = await start(model, context={"max_input_tokens": window, "max_output_tokens": 100})
        for name in ("a", "b", "c"):
            await editor.ask("files/add", p.FileParams(path=f"{name}.py"))
        assert (await editor.chat("Well?")).outcome == "ok"
        body = sent(model)
        states = {f.path: f for f in (await editor.ask("files/list")).files}
        assert len(states) == 3
        for path, file in states.items():
            included = f"{path[0].upper()}_MARK_59" in body
            assert included == (file.state == "ok"), path
            assert included or (file.state == "shed" and file.reason)
        if window == 900:
            assert any(file.state == "shed" for file in states.values())
        if window == 20_000:
            assert all(file.state == "ok" for file in states.values())


# --- E: shape -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["BR-055", "BR-059", "BR-063", "BR-065", "BR-071"])
async def test_logs_that_broke_others_are_sent_in_a_valid_form(
    start: Start, workspace: Path, kind: Kind, name: str
) -> None:
    """BR-055, BR-059, BR-063, BR-065, BR-071: loaded at start, then a prompt."""
    log = place(workspace, case(name) / "history.jsonl")
    before = log.read_bytes()
    wanted = expect(name)
    with wire_server(kind, [reply(kind)]) as model:
        editor = await start(model)
        prompt = wanted.get("prompt", "go on")
        assert (await editor.chat(prompt)).outcome == "ok"
        body = sent(model)
        said = dialogue(last(model))
        assert said[-1][0] == "user"
        assert said[-1][1].endswith(prompt)
        if kind == "anthropic" or name == "BR-055":
            assert all(text in body for text in wanted.get("request_contains", ()))
        if name == "BR-059":
            assert [role for role, _ in said] == wanted["roles"]
            places = [body.index(text) for text in wanted["in_order"]]
            assert places == sorted(places)
    assert log.read_bytes().startswith(before)


@pytest.mark.parametrize("kind", KINDS)
async def test_br_061_every_window_begins_with_the_user(
    start: Start, workspace: Path, kind: Kind
) -> None:
    """BR-061: the list begins with a reply or a result once the front is cut."""
    place(workspace, case("BR-061") / "history.jsonl")
    with wire_server(kind, [reply(kind)]) as model:
        editor = await start(model)
        for size in (1, 2, 3, 4, 0):
            await editor.ask("history/window", p.WindowParams(size=size))
            assert (await editor.chat(f"go on {size}")).outcome == "ok"
            said = dialogue(last(model))
            assert said[0][0] == expect("BR-061")["head_role"]
            assert f"go on {size}" in said[-1][1]


@pytest.mark.parametrize("kind", KINDS)
async def test_br_067_a_prompt_without_reply_survives_a_restart_once(
    start: Start, workspace: Path, kind: Kind
) -> None:
    """BR-067: a failed turn, a restart, another prompt, then the first one again."""
    steps = json.loads((case("BR-067") / "script.json").read_text())
    first, second, again = (step["prompt"] for step in steps if "prompt" in step)
    broken = Reply([b"{}"], 500, {"content-type": "application/json"})
    once = {"TIERLINE_PROVIDER_MAX_RETRIES": "0"}
    with wire_server(kind, [broken, broken, reply(kind, "R2"), reply(kind, "R3")]) as model:
        editor = await start(model, env=once)
        failed = await editor.chat(first)
        assert (failed.outcome, bool(failed.advice)) == ("error", True)
        repeated = await editor.ask("chat/send", p.ChatSendParams(text=first))
        await editor.finished(repeated.turn_id)
        assert repeated.notices, "it is not written twice, and says so"
        assert sent(model).count(first) == 1
        editor = await start(model, env=once)
        assert (await editor.chat(second)).message.text == "R2"
        body = sent(model)
        assert all(text in body for text in expect("BR-067")["second_body_contains"])
        assert [body.count(first), body.count(second)] == [1, 1]
        assert (await editor.chat(again)).message.text == "R3"
        assert sent(model).count(first) == 2, "after a reply it is a new prompt"
    prompts = [r for r in records(workspace) if r.get("role") == "user"]
    assert len(prompts) == 3


# --- K, L, M: what is kept ------------------------------------------------------------------------


def test_br_136_pasted_keys_are_in_no_file_no_log_and_no_request(workspace: Path) -> None:
    """BR-136: keys live on in transcripts, in the index, in logs."""
    message = (case("BR-136") / "message.txt").read_text()
    keys = ("sk-test-FAKE0000", "AAFAKEFAKE", "hunter2-FAKE")
    assert all(key in message for key in keys)
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    with wire_server("openai", [o_reply("Your key is ", "sk-test-FAKE" + "0" * 28)]) as model:
        env = {**environment(model), "TIERLINE_LOG": "DEBUG"}
        with Pipe(workspace, env=env) as pipe:
            pipe.initialize()
            result = pipe.request("tierline/chat/send", {"text": message})
            assert result["notices"]
            pipe.until(lambda: pipe.events("turnFinished"))
            pipe.request("tierline/history/search", {"query": "please use"})
            pipe.request("shutdown")
            pipe.notify("exit")
            pipe.gone(5)
            assert not [key for key in keys if key in pipe.stderr]
        assert not [key for key in keys if key in sent(model)]
    home = workspace / ".tierline"
    files = [f for f in home.rglob("*") if f.is_file()]
    assert {"history.jsonl", "index.sqlite3", "plans.sqlite3"} <= {f.name for f in files}
    for file in files:
        data = file.read_bytes()
        assert not [key for key in keys if key.encode() in data], file
        if file.name != ".gitignore" and os.name != "nt":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    status = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=workspace, capture_output=True, check=True
    )
    assert b".tierline" not in status.stdout


@pytest.mark.parametrize("what", ["folder", "index"])
async def test_br_150_a_store_deleted_during_a_chat_comes_back(
    start: Start, workspace: Path, model: WireServer, what: str
) -> None:
    """BR-150: the next message crashes."""
    home = workspace / ".tierline"
    editor = await start(model)
    await editor.chat("Before")
    if what == "folder":
        while home.exists():  # the server may be writing while somebody deletes
            shutil.rmtree(home, ignore_errors=True)
    else:
        for file in home.glob("index.sqlite3*"):
            file.unlink()
    end = await editor.chat("After")
    assert (end.outcome, end.message.text) == ("ok", "One two three.")
    saved = [r["role"] for r in records(workspace) if "role" in r]
    assert saved[-2:] == ["user", "assistant"]
    hits = (await editor.ask("history/search", p.SearchParams(query="After"))).hits
    assert [hit.role for hit in hits] == ["user"]
    assert "After" in [m.text for m in (await editor.ask("state/get")).messages]
    assert (await editor.chat("Once more")).outcome == "ok"


async def test_br_157_a_locked_index_ends_no_chat(
    start: Start, workspace: Path, model: WireServer
) -> None:
    """BR-157: another process holds the database for eight seconds, with the report's script."""
    editor = await start(model)
    await editor.chat("Before")
    await editor.ask("history/search", p.SearchParams(query="Before"))
    locks = []
    for name in ("index.sqlite3", "plans.sqlite3"):
        command = [sys.executable, str(case("BR-157") / "lock_db.py")]
        lock = await asyncio.create_subprocess_exec(
            *command, str(workspace / ".tierline" / name), "8", stdout=asyncio.subprocess.PIPE
        )
        assert lock.stdout is not None
        assert (await lock.stdout.readline()).strip() == b"locked"
        locks.append(lock)
    before = time.monotonic()
    end = await editor.chat("During")
    assert end.outcome == "ok"
    hits = (await editor.ask("history/search", p.SearchParams(query="During"))).hits
    assert len(hits) == 1
    assert time.monotonic() - before < 7, "it did not wait for the lock's end"
    for lock in locks:
        await lock.wait()
    assert (await editor.chat("Later")).outcome == "ok"
    found = await editor.ask("history/search", p.SearchParams(query="During"))
    assert len(found.hits) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted the Linux way")
async def test_br_157_open_files_stay_constant(start: Start, model: WireServer) -> None:
    """BR-157: handles leak. (Two hundred turns of the store alone are in ``test_m_search.py``.)"""
    editor = await start(model)
    folder = f"/proc/{editor.client._server.pid}/fd"
    counts = []
    for turn in range(30):
        await editor.chat(f"Turn {turn}")
        await editor.ask("history/search", p.SearchParams(query="Turn"))
        counts.append(len(os.listdir(folder)))  # noqa: PTH208
    # A file that is open while something is written is no leak: it is gone the next time.
    assert min(counts[20:]) <= max(counts[:10]), counts
