"""Bug cases of area E: message shapes that providers accept. Also BR-022 and BR-048."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from bugcases.bodies import body, load, prompt_of, text, violations
from bugcases.fixtures import case, expect, oracle
from tierline.context.blocks import Text
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.context.strict import strict
from tierline.context.text import clip
from tierline.history.messages import Message
from tierline.store.sessions import HistoryStore

PROVIDERS = ["anthropic", "openai"]


def sent(messages: tuple[Message, ...], provider: str, prompt: str = "go on") -> dict[str, Any]:
    value = body(prompt_of(messages, prompt), provider)
    assert violations(value, provider) == []
    return value


@pytest.mark.parametrize("provider", PROVIDERS)
def test_br055_reply_without_text_does_not_end_the_session(provider: str) -> None:
    """BR-055: a reply with no text is stored as an empty block; every later request is refused."""
    wanted = expect("BR-055")
    value = sent(load(case("BR-055") / "history.jsonl"), provider, wanted["prompt"])
    said = text(value)
    places = [said.index(part) for part in wanted["request_contains"]]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["history.jsonl", "history_openai.jsonl"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_br057_call_alone_is_sent_without_empty_text_beside_it(provider: str, name: str) -> None:
    """BR-057: a turn consisting only of a tool call is saved with an empty text beside it."""
    value = sent(load(case("BR-057") / name), provider)
    reply = next(m for m in value["messages"] if m["role"] == "assistant")
    if provider == "anthropic":
        assert [b["type"] for b in reply["content"]] == ["tool_use"]
    else:
        assert reply.get("content") is None and len(reply["tool_calls"]) == 1


def test_br059_messages_of_one_role_are_joined_in_order() -> None:
    """BR-059: two messages of one role in a row are refused by strict back ends."""
    path = case("BR-059") / "history.jsonl"
    before = path.read_bytes()
    wanted = expect("BR-059")
    value = body(prompt_of(load(path)), "anthropic")
    assert violations(value, "anthropic") == []
    assert [m["role"] for m in value["messages"]] == wanted["roles"]
    places = [text(value).index(part) for part in wanted["in_order"]]
    assert places == sorted(places)
    assert path.read_bytes() == before


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("cut", range(13))
def test_br061_every_cut_from_the_front_starts_with_the_user(cut: int, provider: str) -> None:
    """BR-061: after trimming, the list begins with an assistant or tool message."""
    kept = load(case("BR-061") / "history.jsonl")[cut:]
    value = sent(kept, provider)
    spoken = [m["role"] for m in value["messages"] if m["role"] not in ("system", "developer")]
    assert spoken[0] == expect("BR-061")["head_role"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_br063_missing_result_is_completed_in_the_next_message(provider: str) -> None:
    """BR-063: two calls in one turn, only one result follows."""
    value = sent(load(case("BR-063") / "history.jsonl"), provider)
    assert all(part in text(value) for part in expect("BR-063")["request_contains"])
    assert "interrupted before it finished" in text(value)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_br065_repeated_ids_are_rewritten_in_pairs(provider: str) -> None:
    """BR-065: call ids repeat across turns."""
    path = case("BR-065") / "history.jsonl"
    before = path.read_bytes()
    value = sent(load(path), provider)
    calls, answers = pairs(value, provider)
    assert [answers[c] for c in calls] == expect("BR-065")["pairs_in_order"]
    assert len(set(calls)) == len(calls) == 3
    assert path.read_bytes() == before


def pairs(value: dict[str, Any], provider: str) -> tuple[list[str], dict[str, str]]:
    calls: list[str] = []
    answers: dict[str, str] = {}
    for message in value["messages"]:
        if provider == "openai":
            calls += [c["id"] for c in message.get("tool_calls") or []]
            if message["role"] == "tool":
                answers[message["tool_call_id"]] = message["content"]
            continue
        for block in message["content"]:
            if block["type"] == "tool_use":
                calls.append(block["id"])
            elif block["type"] == "tool_result":
                answers[block["tool_use_id"]] = block["content"][0]["text"]
    return calls, answers


@pytest.mark.parametrize("provider", PROVIDERS)
def test_br067_prompt_without_reply_is_sent_once_beside_the_next(
    tmp_path: Path, provider: str
) -> None:
    """BR-067: a failed turn leaves a user message with no reply; the next prompt follows another
    user message. The store's part: restart, both prompts once, in order, in a valid body.
    """
    script = json.loads((case("BR-067") / "script.json").read_text(encoding="utf-8"))
    first, second, again = (s["prompt"] for s in script if "prompt" in s)
    store = HistoryStore(tmp_path)
    store.append(store.make("user", first), durable=True)  # and the provider fails
    store.close()
    store = HistoryStore(tmp_path)
    assert store.restore_newest() is not None
    store.append(store.make("user", second), durable=True)
    value = body(prompt_of(store.timeline().context()), provider)
    assert violations(value, provider) == []
    assert [text(value).count(p) for p in (first, second)] == [1, 1]
    assert text(value).index(first) < text(value).index(second)
    store.append(store.make("assistant", "R2"))
    store.append(store.make("user", again), durable=True)
    assert violations(body(prompt_of(store.timeline().context()), provider), provider) == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_br022_half_an_emoji_never_makes_a_body_or_a_record_invalid(
    tmp_path: Path, provider: str
) -> None:
    """BR-022: half of an emoji left by truncation makes the request invalid for good."""
    messages = load(case("BR-022") / "history.jsonl")
    value = sent(messages, provider)
    said = json.dumps(value, ensure_ascii=False)
    said.encode("utf-8")
    assert all(part in said for part in expect("BR-022")["contains"])
    assert said.count("\ufffd") == 2
    store = HistoryStore(tmp_path)
    stored = [store.append(m, durable=True) for m in messages]
    assert list(HistoryStore(tmp_path).load_session(stored[0].session_id).visible()) == stored
    assert store.search("whole").hits[0].id == messages[0].id


@pytest.mark.parametrize("length", range(1, 41))
def test_br022_cuts_never_fall_inside_a_character(length: int) -> None:
    """BR-022: "truncate emoji_run.txt at every length 1..40"."""
    run = (case("BR-022") / "emoji_run.txt").read_text(encoding="utf-8")
    piece = clip(run, length)
    assert len(piece) <= length
    assert run.startswith(piece)
    assert not piece.endswith("\u200d")
    assert not run[len(piece) :].startswith(("\u200d", "\ufe0f"))
    piece.encode("utf-8")


@pytest.mark.parametrize("name", ["image_only.jsonl", "empty_tool_result.jsonl"])
def test_br048_mark_moves_to_the_last_block_that_is_not_empty(name: str) -> None:
    """BR-048: marker put on an empty text block (picture with no text, tool with no output)."""
    prompt = prompt_of(load(case("BR-048") / name), "")
    place = max(i for i, m in enumerate(prompt.messages) if m.role == "user")
    marked = list(prompt.messages)
    blocks = list(marked[place].blocks)
    blocks[-1] = PromptBlock(blocks[-1].block, blocks[-1].key, "5m")
    marked[place] = PromptMessage("user", tuple(blocks))
    asked = PromptMessage("user", (PromptBlock(Text("and now?"), "prompt"),))
    value = body(Prompt("m", (), (*marked, asked)), "anthropic")
    assert violations(value, "anthropic") == []
    carriers = [b for m in value["messages"] for b in m["content"] if "cache_control" in b]
    assert len(carriers) == 1
    assert carriers[0]["type"] in ("image", "tool_result")
    plain = sent(load(case("BR-048") / name), "anthropic", "later prompt")
    assert '"text": ""' not in text(plain)


def test_br044_resumed_session_sends_the_same_bytes_as_the_live_one(tmp_path: Path) -> None:
    """BR-044: after reload the same history is serialised differently."""
    fixture = load(case("BR-044") / "history.jsonl")
    live = HistoryStore(tmp_path)
    session = live.new_session()
    working = [live.append(m) for m in (in_session(m, session) for m in fixture)]
    before = marked_body(tuple(working))
    live.close()
    resumed = HistoryStore(tmp_path).restore_newest()
    assert resumed is not None
    after = marked_body(resumed.context())
    assert json.dumps(after) == json.dumps(before)
    prefix = oracle().cached_prefix
    assert prefix(after) == prefix(before) != "[]"
    assert prefix(marked_body(fixture)) == prefix(before)


def in_session(message: Message, session: str) -> Message:
    return attrs.evolve(message, session_id=session)


def marked_body(messages: tuple[Message, ...]) -> dict[str, Any]:
    prompt = prompt_of(messages)
    last = prompt.messages[-1]
    end = PromptBlock(last.blocks[-1].block, last.blocks[-1].key, "5m")
    marked = PromptMessage(last.role, (*last.blocks[:-1], end))
    asked = PromptMessage("user", (PromptBlock(Text("third"), "prompt"),))
    return body(Prompt("m", prompt.system, (*prompt.messages[:-1], marked, asked)), "anthropic")


def test_br059_strict_form_is_deterministic() -> None:
    prompt = prompt_of(load(case("BR-059") / "history.jsonl"))
    rendered = [repr(strict(prompt, strategy="anthropic")) for _ in range(3)]
    assert len({hashlib.sha256(r.encode()).hexdigest() for r in rendered}) == 1
