"""Whether a request body is one that every back end takes. Written from the providers' references.

Used where the oracle of the bug cases (``bugcases.fixtures.oracle``) is absent;
``tests/property/test_wellformed.py`` holds the two against each other where it is there.

Anthropic, "Messages": the first message is the user's, roles alternate, the last is the user's, no
message or text block is empty, a call's id is unique and legal, its results open the next message,
at most four cache breakpoints. OpenAI, "Chat completions": tool messages follow the call that they
answer, arguments are JSON, content beside calls is null and not empty.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BLANK = re.compile(r"[\s\u00a0\u200b\u200c\u200d\u2060\ufeff]*")
MAX_MARKS = 4


def violations(body: dict[str, Any], provider: str) -> list[str]:
    """What is wrong with a body; empty if nothing is."""
    found = [f"lone surrogate in {where}" for where in _surrogates(body, "body")]
    messages = body.get("messages") or []
    if not messages:
        found.append("there are no messages")
    found += _anthropic(body, messages) if provider == "anthropic" else _openai(messages)
    return found


def blank(text: object) -> bool:
    """True for text in which there is nothing to see."""
    return not isinstance(text, str) or _BLANK.fullmatch(text) is not None


def _surrogates(value: Any, where: str) -> Iterator[str]:
    if isinstance(value, str):
        if re.search("[\ud800-\udfff]", value):
            yield where
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _surrogates(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _surrogates(inner, f"{where}[{place}]")


def _marks(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_marks, value))
    if not isinstance(value, dict):
        return 0
    own = 1 if value.get("cache_control") else 0
    return own + sum(_marks(v) for k, v in value.items() if k != "cache_control")


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


# --- Anthropic -----------------------------------------------------------------------------------


def _anthropic(body: dict[str, Any], messages: list[dict[str, Any]]) -> list[str]:
    found = []
    if (marks := _marks(body)) > MAX_MARKS:
        found.append(f"{marks} cache breakpoints")
    system = _parts(body.get("system"))
    found += ["blank system text" for b in system if b.get("type") == "text" and blank(b["text"])]
    roles = [m.get("role") for m in messages]
    found += [f"role {role!r}" for role in roles if role not in ("user", "assistant")]
    found += ["the first message is not the user's"] * bool(roles and roles[0] != "user")
    found += ["the last message is not the user's"] * bool(roles and roles[-1] != "user")
    pairs = itertools.pairwise(roles)
    found += [f"two messages of {a} in a row" for a, b in pairs if a == b]
    called: set[str] = set()
    waiting: set[str] = set()
    for place, message in enumerate(messages):
        wrong, waiting = _message(message, called, waiting)
        found += [f"message {place}: {w}" for w in wrong]
    return found + [f"no result for {name}" for name in sorted(waiting)]


def _message(
    message: dict[str, Any], called: set[str], waiting: set[str]
) -> tuple[list[str], set[str]]:
    """What is wrong with one message, and the calls that wait for results after it."""
    parts = _parts(message.get("content"))
    kinds = [b.get("type") for b in parts]
    texts = [p for p, kind in enumerate(kinds) if kind == "text"]
    found = [] if parts else ["empty"]
    found += ["blank text"] * any(blank(parts[p].get("text")) for p in texts)
    answers = [p for p, kind in enumerate(kinds) if kind == "tool_result"]
    given = [str(parts[p].get("tool_use_id")) for p in answers]
    if answers and message.get("role") != "user":
        found.append("a result from the assistant")
    if answers and texts and max(answers) > min(texts):
        found.append("a result after text")
    if len(set(given)) < len(given):
        found.append("two results for one call")
    found += [f"a result without a call: {name}" for name in given if name not in waiting]
    found += [f"a call without a result: {name}" for name in sorted(waiting - set(given))]
    asked: set[str] = set()
    for part in parts:
        if part.get("type") != "tool_use":
            continue
        name = str(part.get("id"))
        found += ["a call from the user"] * (message.get("role") != "assistant")
        found += [f"illegal id {name!r}"] * (not _ID.fullmatch(name))
        found += [f"id {name} used twice"] * (name in called)
        found += ["input that is no object"] * (not isinstance(part.get("input"), dict))
        called.add(name)
        asked.add(name)
    return found, asked


# --- OpenAI --------------------------------------------------------------------------------------


def _openai(messages: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    called: set[str] = set()
    talk = [m for m in messages if m.get("role") not in ("system", "developer")]
    if talk and talk[0].get("role") != "user":
        found.append("the first message is not the user's")
    before = ""
    for place, message in enumerate(messages):
        role = str(message.get("role"))
        if role == "tool":
            name = message.get("tool_call_id")
            if name in waiting:
                waiting.remove(name)
            else:
                found.append(f"message {place}: a result without a call: {name}")
            before = role
            continue
        found += [f"message {place}: a call without a result: {name}" for name in waiting]
        waiting = []
        calls = message.get("tool_calls") or []
        if role == "assistant" and calls:
            found += [f"message {place}: empty content beside calls"] * (message["content"] == "")
            for call in calls:
                found += [f"message {place}: id used twice"] * (call.get("id") in called)
                called.add(call.get("id"))
                waiting.append(call.get("id"))
                found += [f"message {place}: bad arguments"] * (not _is_json(call))
        else:
            content = _parts(message.get("content"))
            seen = "".join(b.get("text", "") if b.get("type") == "text" else "x" for b in content)
            found += [f"message {place}: nothing to see"] * blank(seen)
        if role == before and role in ("user", "assistant"):
            found.append(f"message {place}: two messages of {role} in a row")
        before = role
    return found + [f"no result for {name}" for name in waiting]


def _is_json(call: dict[str, Any]) -> bool:
    try:
        json.loads(call["function"]["arguments"])
    except (KeyError, TypeError, ValueError):
        return False
    return True
