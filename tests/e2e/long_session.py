"""What the client's tests need to be realistic: a reply that streams, and a very long session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.owning import own
from wire.caching import CachingServer
from wire.servers import Pause, Reply, Request


class StreamingServer(CachingServer):
    """A provider with a prompt cache whose reply comes in pieces."""

    def __init__(self, text: str, pieces: int, pause: float) -> None:
        super().__init__(minimum=64)
        self.text, self.pieces, self.pause = text, pieces, pause

    def _next(self, request: Request) -> Reply:
        whole = super()._next(request)
        size = max(len(self.text) // self.pieces, 1)
        parts = [self.text[at : at + size] for at in range(0, len(self.text), size)]
        found: list[bytes | Pause] = []
        for chunk in whole.body:
            if isinstance(chunk, bytes) and b"text_delta" in chunk:
                for part in parts:
                    word = json.dumps(self.word).encode()
                    found += [chunk.replace(word, json.dumps(part).encode()), Pause(self.pause)]
            elif isinstance(chunk, bytes | Pause):
                found.append(chunk)
        return Reply(found, whole.status, whole.headers)


@contextmanager
def reply_server(text: str, *, pieces: int, pause: float) -> Iterator[Mapping[str, str]]:
    """The environment of a workbench whose model always answers ``text``."""
    with StreamingServer(text, pieces, pause) as server:
        yield {
            "TIERLINE_PROVIDER_NAME": "anthropic",
            "TIERLINE_PROVIDER_BASE_URL": server.url,
            "TIERLINE_PROVIDER_MODEL": "claude-sonnet-4-5",
            "ANTHROPIC_API_KEY": "test-key-of-nobody",
        }


def write_session(workspace: Path, messages: int) -> None:
    """A session of so many messages in the workspace's log: prose, lists, code and tables."""
    log = own(workspace) / "history.jsonl"
    session = "sess_1700000000000_long0000"
    with log.open("w", encoding="utf-8") as stream:
        for number in range(messages):
            day, hour, minute = 1 + number // 1440, number // 60 % 24, number % 60
            record = {
                "id": f"{1_700_000_000_000 + number}-{number:08x}",
                "session_id": session,
                "group_id": f"g{number // 2}",
                "timestamp": f"2024-01-{day:02}T{hour:02}:{minute:02}:00Z",
                "role": "assistant" if number % 2 else "user",
                "status": "completed",
                "content": _reply(number) if number % 2 else _prompt(number),
            }
            stream.write(json.dumps(record) + "\n")


def _prompt(number: int) -> str:
    return f"Question {number}: what does step {number} of the conversion do, and why is it there?"


def _reply(number: int) -> str:
    parts = [
        f"Step {number} reads a value, checks it and hands it on. " * (1 + number % 3),
        "- It rounds nothing.\n- It keeps the sign.\n- It fails loudly.",
    ]
    if number % 5 == 0:
        parts.append(f"```python\ndef step_{number}(value: float) -> float:\n    return value\n```")
    if number % 7 == 0:
        parts.append("| from | to |\n| --- | --- |\n| 0 | 32 |\n| 100 | 212 |")
    return "\n\n".join(parts)
