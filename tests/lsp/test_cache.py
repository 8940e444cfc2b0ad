"""The prompt cache, seen from the provider's side: what every policy sends over several turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bugcases.fixtures import oracle
from lsp.conftest import Start
from tierline.lsp import protocol as p
from wire.scripts import a_reply
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


async def test_an_edit_leaves_the_cached_prefix_as_it_was(start: Start, workspace: Path) -> None:
    """BR-050 for the log-structured policy: the change goes into the log, not into the base."""
    (workspace / "src" / "big.py").write_text(LONG, encoding="utf-8")
    with wire_server("anthropic", [a_reply("Yes.")]) as model:
        editor = await start(model)
        await editor.ask("files/add", p.FileParams(path="src/big.py"))
        await editor.chat("One?")
        changed = LONG.replace("return 7\n", "return 7777\n")
        (workspace / "src" / "big.py").write_text(changed, encoding="utf-8")
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
        changed = LONG.replace("return 7\n", "return 7777\n")
        (workspace / "src" / "big.py").write_text(changed, encoding="utf-8")
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
        changed = LONG.replace("return 7\n", "return 7777\n")
        (workspace / "src" / "big.py").write_text(changed, encoding="utf-8")
        await editor.chat("Two?")
        after = await editor.ask("budget/get")
        assert after.used > before.used
        assert sum(section.tokens for section in after.sections) == after.used
