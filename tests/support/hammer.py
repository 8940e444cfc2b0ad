"""Several windows and tools on one workspace at once, and what must hold whatever they do.

Language servers send prompts, save memos, pin files and ask for the budget; command lines add
messages and memos. Nobody waits for anybody.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from attrs import define, field

from lsp.conftest import environment
from lsp.editor import Editor
from tierline import protocol as p
from tierline.store.log import HistoryLog
from wire.servers import WireServer


@define
class Tally:
    """What was acknowledged, and how long it took."""

    prompts: list[str] = field(factory=list)
    added: list[str] = field(factory=list)
    memos: list[str] = field(factory=list)
    looked: int = 0
    failed: list[str] = field(factory=list)
    milliseconds: list[float] = field(factory=list)


async def hammer(
    workspace: Path,
    model: WireServer,
    *,
    servers: int,
    commands: int,
    seconds: float,
    seed: int = 0,
) -> tuple[Tally, dict[str, Any]]:
    """Let them all work, and check what is left. Returns what was done, and figures.

    Raises:
        AssertionError: something was lost, doubled, torn or told differently.
    """
    tally = Tally()
    editors = [Editor(workspace) for _ in range(servers)]
    for who in range(servers):  # nobody else takes it out again
        (workspace / "src" / f"of_window_{who}.py").write_text(f"OWNER = {who}\n")
    began = time.monotonic()
    env, settings = environment(model), {"tools": {"enabled": "off"}}
    await editors[0].start(env=env, settings=settings)
    await editors[0].chat("window-0-prompt-0")
    await asyncio.gather(*(e.start(env=env, settings=settings) for e in editors[1:]))
    try:
        end = time.monotonic() + seconds
        await asyncio.gather(
            *(_window(e, n, end, tally, random.Random(seed + n)) for n, e in enumerate(editors)),
            *(_command(workspace, n, end, tally) for n in range(commands)),
        )
        await _check_told(editors, tally)
        shown = {await _would_send(editor) for editor in editors}
        assert len(shown) == 1, "two windows would send different things"
    finally:
        await asyncio.gather(*(e.stop() for e in editors), return_exceptions=True)
    _check_kept(workspace, tally)
    times = sorted(tally.milliseconds)
    return tally, {
        "processes": servers + commands,
        "seconds": round(time.monotonic() - began, 1),
        "prompts": len(tally.prompts),
        "messages_by_command": len(tally.added),
        "memos": len(tally.memos),
        "looks": tally.looked,
        "refused": len(tally.failed),
        "lost": 0,
        "turn_ms_median": round(times[len(times) // 2]) if times else 0,
        "turn_ms_worst": round(times[-1]) if times else 0,
    }


async def _window(
    editor: Editor, who: int, end: float, tally: Tally, chance: random.Random
) -> None:
    number = 0
    while time.monotonic() < end:
        number += 1
        text = f"window-{who}-prompt-{number}"
        match chance.randrange(8):
            case 0:
                memo = f"memo {who} {number}: parser number {number} of window {who} is green"
                await editor.ask("memo/save", p.MemoSaveParams(memo, []))
                tally.memos.append(memo)
            case 1:
                own = p.FileParams(path=f"src/of_window_{who}.py")
                await editor.ask("files/pin", own)
                await editor.ask("files/remove", own)
            case 2 | 3:
                await editor.ask("budget/get")
                await editor.ask("history/search", p.SearchParams(query="prompt"))
                tally.looked += 1
            case _:
                began = time.monotonic()
                finished = await editor.chat(text)
                if finished.outcome == "ok":
                    tally.prompts.append(text)
                    tally.milliseconds.append(1000 * (time.monotonic() - began))
                else:
                    tally.failed.append(f"{finished.code}: {finished.error}")


async def _command(workspace: Path, who: int, end: float, tally: Tally) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")} | {
        "XDG_CONFIG_HOME": str(workspace / ".config"),
        "TIERLINE_DATA_DIR": str(workspace / ".data"),
        "TIERLINE_STATE_DIR": str(workspace.parent / ".state"),
    }
    number = 0
    while time.monotonic() < end:
        number += 1
        kind = (number + who) % 3
        text = f"command {who} number {number}: the lexer reads pears"
        words = (["add", "user", text], ["memo", "save", text], ["sessions", "--json"])[kind]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tierline", *words, "--root", str(workspace), env=clean,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await process.communicate()
        if process.returncode:
            tally.failed.append(said.decode("utf-8", "replace")[-300:])
        elif kind == 0:
            tally.added.append(text)
        elif kind == 1:
            tally.memos.append(text)
        else:
            json.loads(said[said.find(b"[") :])
            tally.looked += 1


async def _check_told(editors: list[Editor], tally: Tally) -> None:
    """Every window tells the same conversation, with everything that was acknowledged."""
    told = []
    for editor in editors:
        state = await editor.ask("state/get")
        told.append([(m.id, m.text) for m in state.messages])
    for other in told[1:]:
        assert other == told[0], "two windows tell different conversations"
    once = Counter(text for _, text in told[0])
    for text in (*tally.prompts, *tally.added):
        assert once[text] == 1, f"{text!r} is told {once[text]} times"
    memos = {m.content for m in (await editors[-1].ask("memo/list")).memos}
    assert set(tally.memos) <= memos, "a memo was lost"


async def _would_send(editor: Editor) -> tuple[Any, ...]:
    """The conversation, the files and the instructions of the next request. What a window has sent
    beside its prompts (files that came and went, memos) stands where it sent it, for its cache.
    """
    text = (await editor.ask("plan/show", p.PlanParams())).text
    blocks = [block.partition("\n") for block in text.split("\n## ")]
    said = [
        (key, block.strip())
        for key, _, block in blocks
        if "+" not in key and ("· system:" in key or "· history:" in key)
    ]
    budget = await editor.ask("budget/get")
    others = [
        (one.name, one.tokens)
        for one in budget.sections
        if one.name not in ("system", "history", "memos")
    ]
    return (*said, *others)


def _check_kept(workspace: Path, tally: Tally) -> None:
    """The log is whole, and each prompt has its own reply."""
    scan = HistoryLog(workspace / ".tierline" / "history.jsonl").scan()
    assert scan.skipped == 0, scan.problems
    messages = [r for r in scan.records if r.get("type") == "message"]
    ids = Counter(r["id"] for r in messages)
    assert max(ids.values()) == 1, "an id was given twice"
    groups: dict[str, list[Any]] = {}
    for record in messages:
        groups.setdefault(record["group_id"], []).append(record)
    asked = dict.fromkeys(tally.prompts)
    for group in groups.values():
        text = _text(group[0])
        if text in asked:
            roles = [r["role"] for r in group]
            assert roles == ["user", "assistant"], (text, roles)
            assert _text(group[1]) == f"Reply to {text}", "the reply of another prompt"


def _text(record: Any) -> str:
    content = record["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
