"""What the cases that run through a real server share."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from bugcases.bodies import violations
from support.owning import own
from wire.scripts import a_reply, o_reply
from wire.servers import Kind, Reply, WireServer

KINDS: list[Kind] = ["anthropic", "openai"]
SESSION = "sess_1700000000000_case01"


def reply(kind: Kind, text: str = "Yes.") -> Reply:
    return a_reply(text) if kind == "anthropic" else o_reply(text)


def place(workspace: Path, source: Path) -> Path:
    """Make a fixture the workspace's log."""
    log = own(workspace, workspace.parent / ".state") / "history.jsonl"
    shutil.copy(source, log)
    return log


def last(model: WireServer) -> dict[str, Any]:
    """The newest body; the oracle objects to nothing in it."""
    body: dict[str, Any] = model.bodies[-1]
    assert violations(body, model.kind) == []
    return body


def sent(model: WireServer) -> str:
    """The newest body as text, as the model reads it."""
    return "\n".join(strings(last(model)))


def strings(value: Any) -> list[str]:
    """All texts of a body in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        held = (inner for name, inner in value.items() if name != "cache_control")
        return [text for inner in held for text in strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    return []


def dialogue(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(role, text) of the messages after the system text."""
    return [
        (m["role"], "\n".join(strings(m["content"])))
        for m in body["messages"]
        if m["role"] not in ("system", "developer")
    ]
