"""Turns, branches and moves to other moments as texts that a person reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tierline import protocol as p
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.fences import fence
from tierline.context.thinking import readable
from tierline.history.messages import Message
from tierline.history.state import anchor

_LINE = 100


def turn(group_id: str, messages: Sequence[Message], states: Mapping[str, str]) -> str:
    """Everything of a turn in Markdown: nothing is shortened."""
    lines = [f"# Turn {group_id}", ""]
    for message in messages:
        weight = f" · {message.tokens:,} tokens" if message.tokens else ""
        status = f" · {message.status}" if message.status.value != "ok" else ""
        lines += [f"## {message.role} · {message.timestamp}{weight}{status}", f"`{message.id}`", ""]
        for block in message.content:
            lines += [_block(block), ""]
        state = states.get(message.id, "")
        if state and not any(isinstance(b, Text) and state in b.text for b in message.content):
            lines += [anchor(state), ""]
        if message.files:
            lines += ["Files: " + ", ".join(message.files), ""]
        if note := message.meta.get("note"):
            lines += [f"*{note}*", ""]
    return "\n".join(lines)


def comparison(
    a: str,
    b: str,
    only_a: Sequence[p.ChatMessage],
    only_b: Sequence[p.ChatMessage],
    plan_lines: Sequence[str],
) -> str:
    """Two branches side by side, in Markdown."""
    lines = [f"# {a} and {b}", ""]
    for name, messages in ((a, only_a), (b, only_b)):
        lines += [f"## Only on {name}", ""]
        lines += [f"- {m.role}: {_first(m.text)}" for m in messages] or ["- (nothing)"]
        lines.append("")
    lines += ["## From the last request of one to that of the other", ""]
    lines += [f"- {line}" for line in plan_lines] or ["- (no plans to compare)"]
    return "\n".join(lines) + "\n"


def _block(block: object) -> str:
    match block:
        case Text(text=text):
            return text
        case Image():
            return f"*[picture, {block.media_type}]*"
        case ToolUse():
            arguments = json.dumps(dict(block.input), ensure_ascii=False, indent=2, default=str)
            return f"**Call** `{block.name}`\n\n{fence(arguments, 'json')}"
        case ToolResult():
            inner = "\n".join(_block(part) for part in block.content) or "(no output)"
            return f"**Result**{' (error)' if block.is_error else ''}\n\n{fence(inner, '')}"
        case Reasoning():
            return _folded(readable(block).strip())
    return str(block)


def _folded(thinking: str) -> str:
    if not thinking:
        return "*[the model's thinking]*"
    return f"<details><summary>Thinking</summary>\n\n{thinking}\n\n</details>"


def _first(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


_WHAT = {"restore": "changed back", "create": "made again", "delete": "deleted"}
_TAKES = {
    "old": "as it was then",
    "merge": "as it was then, with your changes",
    "mine": "left as it is",
}


def described(forward: bool, files: Sequence[p.BackFile], notes: Sequence[str]) -> str:
    """What a move would change."""
    what = "forward" if forward else "back"
    if not files:
        return "\n".join([f"No file changes; the conversation goes {what}.", *notes])
    lines = [f"Going {what} changes these files:"]
    for one in files:
        how = "left as it is" if one.take == "mine" else _WHAT[one.change]
        size = f" (+{one.added} −{one.removed})" if one.take != "mine" else ""
        yours = ""
        if one.yours and not one.why:
            offered = ", ".join(f"{take}: {_TAKES[take]}" for take in one.choices)
            yours = f" You have changed it since ({offered})."
        lines.append(f"- {one.path}: {how}{size}.{yours}{' ' + one.why if one.why else ''}")
    return "\n".join([*lines, *notes])


def told(
    forward: bool,
    branch: str,
    before: str,
    changed: Sequence[str],
    kept: Sequence[str],
    problems: Sequence[str],
) -> str:
    """What a move has changed."""
    where = (
        f"You are on the branch {branch} again, as before you went back."
        if forward
        else f"You are before that prompt, on the new branch {branch}; what followed it is on "
        f"{before}."
    )
    parts = [where]
    parts.append(
        f"Files brought back: {', '.join(changed)}." if changed else "No file was changed."
    )
    if kept:
        parts.append(f"Left as you have them: {', '.join(kept)}.")
    if not forward:
        parts.append("/forward takes you there again.")
    return " ".join([*parts, *problems])


def cut_off(complete: bool, left: Sequence[str]) -> str:
    """The outcome of a move whose process was killed. ``left``: files with neither text."""
    if complete:
        return "Tierline ended just after it had gone to another moment: files and chat are there."
    more = f" Changed since, and left as they are: {', '.join(left)}." if left else ""
    return f"Going to another moment was cut off: the files are as they were before it.{more}"
