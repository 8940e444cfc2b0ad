"""Commands of the memory that are typed into the chat: levels and memos."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tierline import protocol as p

if TYPE_CHECKING:
    from tierline.session.session import Session

_TAG = re.compile(r"(?:^|\s)#([\w-]+)")


async def stats(session: Session, _rest: str) -> p.CommandResult:
    """Levels, summaries and the ratio."""
    found = await session.memory.stats(p.NoParams())
    lines = ["```text", *found.lines, "```"]
    for summary in found.summaries:
        head = f"## {summary.title or summary.id} ({summary.level})"
        size = f"{summary.tokens:,} tokens for {summary.original_tokens:,}"
        state = ", no longer sent" if summary.archived else ""
        lines += ["", head, "", f"{size}, from {len(summary.sources)} messages{state}"]
        lines += ["", summary.text]
    return p.CommandResult("Memory", "\n".join(lines), document=True)


async def compress(session: Session, _rest: str) -> p.CommandResult:
    """Compress working memory now."""
    found = await session.memory.compress(p.NoParams())
    note = "" if found.active else " The history strategy is not levels: /memory on changes that."
    return p.CommandResult(
        "Memory",
        f"Working memory was compressed: {found.used:,} of {found.total:,} tokens are used.{note}",
    )


async def switch_on(session: Session, _rest: str) -> p.CommandResult:
    """Send the conversation as levels."""
    await session.history.strategy(p.StrategyParams("levels"))
    return p.CommandResult("Memory", "This conversation is sent as memory levels from now on.")


async def switch_off(session: Session, _rest: str) -> p.CommandResult:
    """Send the conversation in full."""
    await session.history.strategy(p.StrategyParams("full"))
    return p.CommandResult("Memory", "This conversation is sent in full from now on.")


async def save_memo(session: Session, rest: str) -> p.CommandResult:
    """Save a memo; words with # are its tags."""
    return await _save(session, rest, "project")


async def save_user_memo(session: Session, rest: str) -> p.CommandResult:
    """Save a memo for all projects."""
    return await _save(session, rest, "user")


async def list_memos(session: Session, rest: str) -> p.CommandResult:
    """Memos, the newest first, or those that fit the words."""
    found = await session.memos.search(p.MemoSearchParams(_TAG.sub(" ", rest), _TAG.findall(rest)))
    lines = [
        f"- `{memo.id}` ({memo.scope}{''.join(f' #{tag}' for tag in memo.tags)}): {memo.content}"
        for memo in found.memos
    ]
    return p.CommandResult("Memos", "\n".join(lines) or "There are no memos.", document=True)


async def delete_memo(session: Session, rest: str) -> p.CommandResult:
    """Delete a memo by its id."""
    await session.memos.delete(p.MemoParams(rest.strip().strip("`")))
    return p.CommandResult("Memos", "The memo was deleted.")


async def _save(session: Session, rest: str, scope: p.MemoScope) -> p.CommandResult:
    content = _TAG.sub(" ", rest).strip()
    memo = await session.memos.save(p.MemoSaveParams(content, _TAG.findall(rest), scope))
    return p.CommandResult("Memos", f"Saved as {memo.id} ({memo.scope}).")


async def list_capsules(session: Session, _rest: str) -> p.CommandResult:
    """Descriptions of files, with what is stale."""
    found = (await session.capsules.listed(p.NoParams())).capsules
    lines = ["# Descriptions of files"]
    for capsule in found:
        who = capsule.model if capsule.source == "model" else "extracted"
        state = "stale: the file has changed" if capsule.stale else "fresh"
        facts = f"{state} · {who} · confidence {capsule.confidence:.2f} · {capsule.created[:16]}"
        lines += ["", f"## {capsule.path}", "", facts, "", capsule.text]
    text = "\n".join(lines) if found else "There are none; /capsule make <path> makes one."
    return p.CommandResult("Capsules", text, document=True)


async def make_capsule(session: Session, rest: str) -> p.CommandResult:
    """Describe a file by its own words."""
    return await _make(session, rest, use_model=False)


async def ask_capsule(session: Session, rest: str) -> p.CommandResult:
    """Have the model describe a file."""
    return await _make(session, rest, use_model=True)


async def _make(session: Session, rest: str, *, use_model: bool) -> p.CommandResult:
    made = await session.capsules.make(p.CapsuleMakeParams(rest.strip(), use_model))
    return p.CommandResult(
        "Capsules", f"{made.path} (confidence {made.confidence:.2f})\n{made.text}"
    )
