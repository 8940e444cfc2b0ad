"""The prompt cache, seen from the provider's side: what every policy sends over several turns."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from bugcases.fixtures import oracle
from lsp.conftest import Start
from tierline import protocol as p
from tierline.context.assemble import ACKNOWLEDGEMENT
from tierline.providers import render_openai
from tierline.store.plans import PlanStore
from wire.scripts import a_reply, o_reply
from wire.servers import wire_server

POLICIES = ["log_structured", "counter", "fixed"]
LONG = "".join(f"def function_{n}() -> int:\n    return {n}\n\n\n" for n in range(400))


def blocks(body: dict[str, Any]) -> list[str]:
    """Everything that counts for the cache, in order, as canonical text without the markers."""
    found = [json.dumps(tool) for tool in body.get("tools") or []]
    system = body.get("system") or []
    found += [_plain("system", block) for block in system]
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [_plain(message["role"], part) for part in parts]
    return found


def _plain(role: str, block: dict[str, Any]) -> str:
    return json.dumps([role, {k: v for k, v in block.items() if k != "cache_control"}])


def marked(body: dict[str, Any]) -> int:
    """How many blocks the last breakpoint covers."""
    text = json.dumps(body)
    assert text.count('"cache_control"') <= 4
    system = body.get("system") or []
    parts = list(system) + [
        part
        for message in body["messages"]
        for part in (message["content"] if isinstance(message["content"], list) else [{}])
    ]
    return max((n + 1 for n, part in enumerate(parts) if part.get("cache_control")), default=0)


@pytest.mark.parametrize("policy", POLICIES)
async def test_every_body_is_valid_and_shows_current_text(
    start: Start, workspace: Path, policy: str
) -> None:
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model, cache={"policy": policy})
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        for turn in range(4):
            new = f"def alpha() -> int:\n    return {turn + 100}\n"
            (workspace / "src" / "a.py").write_text(new, encoding="utf-8")
            assert (await editor.chat(f"Question {turn}?")).outcome == "ok"
            body = model.bodies[-1]
            assert oracle().check_anthropic(body) == []
            assert f"return {turn + 100}" in json.dumps(body)


def edited(workspace: Path) -> None:
    """The user changes one line of the large file."""
    changed = LONG.replace("return 7\n", "return 7777\n")
    (workspace / "src" / "big.py").write_text(changed, encoding="utf-8")


async def test_an_edit_leaves_the_cached_prefix_as_it_was(start: Start, workspace: Path) -> None:
    """BR-050 for the log-structured policy: the change goes into the log, not into the base."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.chat("One?")
        edited(workspace)
        await editor.chat("Two?")
        first, second = (blocks(body) for body in model.bodies)
        covered = marked(model.bodies[0])
        assert covered > 0
        assert second[:covered] == first[:covered]
        assert "return 7777" in json.dumps(second[covered:])
        assert len(json.dumps(second)) < len(json.dumps(first)) + 2_000, "sent as a difference"


async def test_a_restart_sends_the_same_prefix(start: Start, workspace: Path) -> None:
    """BR-044: what a resumed session sends begins with the bytes of the live one."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.chat("One?")
        edited(workspace)
        await editor.chat("Two?")
        again = await start(model)
        await again.chat("Three?")
        second, third = (blocks(body) for body in model.bodies[1:])
        covered = marked(model.bodies[1])
        assert third[:covered] == second[:covered]


async def test_the_budget_counts_the_differences_too(start: Start, workspace: Path) -> None:
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.chat("One?")
        before = await editor.ask("budget/get")
        edited(workspace)
        await editor.chat("Two?")
        after = await editor.ask("budget/get")
        assert after.used > before.used
        assert sum(section.tokens for section in after.sections) == after.used


@pytest.mark.parametrize("policy", POLICIES)
async def test_nothing_of_the_machine_is_cached_and_a_selection_stays(
    start: Start, workspace: Path, policy: str
) -> None:
    """Times, paths and ids of this machine are in no request. A selection stands behind its prompt
    and stays there: a request is the one before and an end.
    """
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model, cache={"policy": policy})
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        for turn in range(2):
            await editor.chat(f"Question {turn}?", selection=f"chosen_{turn} = 1")
        session = (await editor.ask("state/get")).session_id
    for turn, body in enumerate(model.bodies):
        covered = marked(body)
        found = blocks(body)
        assert 0 < covered <= len(found)
        before = "".join(found[:covered])
        assert f"chosen_{turn}" in found[-1]
        for volatile in (session, str(workspace), time.strftime("%Y-%m-%d")):
            assert volatile not in before
    first, second = (blocks(body) for body in model.bodies)
    assert second[: len(first)] == first


@pytest.mark.parametrize("ttl", ["5m", "1h"])
async def test_the_lifetime_that_the_user_chose_is_asked_for(
    start: Start, workspace: Path, ttl: str
) -> None:
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model, cache={"ttl": ttl})
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.chat("One?")
        await editor.chat("Two?")
        shown = await editor.ask("cache/tiers", p.CacheTiersParams(which="last"))
    assert shown.ttl == ttl
    for body in model.bodies:
        text = json.dumps(body)
        assert text.count('"ttl": "1h"') == (text.count('"cache_control"') if ttl == "1h" else 0)
        assert text.count('"cache_control"') >= 1


async def test_the_routing_key_is_the_sessions_and_outlives_a_restart(
    start: Start, workspace: Path
) -> None:
    """OpenAI's ``prompt_cache_key``. The loopback server is not OpenAI's own and gets none, so the
    stored requests are rendered as for OpenAI.
    """
    with wire_server("openai", [o_reply("Yes.")]) as model:
        editor = await start(model)
        await editor.chat("One?")
        await editor.chat("Two?")
        session = (await editor.ask("state/get")).session_id
        await editor.stop()
        again = await start(model)
        await again.chat("Three?")
        other = (await again.ask("history/newSession")).session_id
        await again.chat("Elsewhere?")
    assert all("prompt_cache_key" not in body for body in model.bodies)
    store = PlanStore(workspace / ".tierline" / "plans.sqlite3")
    stored = store.list(10)[::-1]
    keys = [
        render_openai.body(store.load_prompt(one.plan.plan_id), official=True)["prompt_cache_key"]
        for one in stored
    ]
    store.close()
    assert keys == [session, session, session, other]


@pytest.mark.requirement("004:318", "004:322-324")
async def test_the_plain_form_of_a_prompt_reaches_the_provider(
    start: Start, workspace: Path
) -> None:
    """With the policy ``fixed``: system, working files with their acknowledgement, history, prompt;
    pictures make content blocks.
    """
    pixel = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJg"
        "gg=="
    )
    with wire_server("openai", [o_reply("Yes.")]) as model:
        editor = await start(model, cache={"policy": "fixed"})
        await editor.ask("files/add", p.FileParams(path="src/a.py"))
        await editor.chat("First question")
        await editor.chat("And this?", images=[p.ImageInput("image/png", pixel)])
        messages = model.bodies[-1]["messages"]
    assert messages[0]["role"] == "system"
    said = [m["content"] for m in messages[1:-1]]
    assert said[0].startswith("# Working Files\n\nsrc/a.py\n```python\ndef alpha()")
    assert said[1:] == [ACKNOWLEDGEMENT, "First question", "Yes."]
    assert [m["role"] for m in messages[1:]] == ["user", "assistant"] * 2 + ["user"]
    # The picture first, as the providers advise.
    assert [part["type"] for part in messages[-1]["content"]] == ["image_url", "text"]
    assert messages[-1]["content"][1]["text"] == "And this?"
