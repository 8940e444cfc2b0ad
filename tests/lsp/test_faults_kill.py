"""SIGKILL at random moments: nothing acknowledged is lost, and nothing is sent twice.

Issue 10, item 2. A server is killed while a prompt arrives, a reply streams, tools run, the history
is compacted, memory is consolidated or the indexes are built; the next server on the same folder
then has to answer a prompt. ``TIERLINE_FAULTS`` is the number of kills (300 with ``make fuzz``),
``TIERLINE_FUZZ_SEED`` decides about their moments.

"Sent twice" is what the product does by itself. A prompt without a reply that the user sends again
goes to the provider again, and stands in the conversation once.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bugcases.bodies import violations
from lsp.conftest import environment
from lsp.pipe import ForkedPipe as Pipe
from lsp.project import make_project
from support.newest import newest_text
from tierline.store.drafts import read
from tierline.store.log import HistoryLog
from wire.agents import Use, calls
from wire.choosing import ChoosingServer, What
from wire.scripts import o_end, o_reply, o_texts
from wire.servers import Pause, Reply

MOMENTS = ("send", "stream", "tools", "compaction", "consolidation", "index")
KILLS = max(1, int(os.environ.get("TIERLINE_FAULTS", "18")) // len(MOMENTS))
SEED = int(os.environ.get("TIERLINE_FUZZ_SEED", "0"))
NOTES = "Finished: the parser reads apples. Open: the writer for pears in src/pears.py."
SETTINGS: dict[str, dict[str, Any]] = {
    "compaction": {"compaction": {"detector": "local"}, "history": {"stateAnchor": "off"}},
    "consolidation": {"history": {"strategy": "levels"}},
}


def said(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in content or ())


def newest(body: Any) -> str:
    """The newest prompt of a request: behind earlier ones without a reply."""
    text = newest_text(body)
    return text[text.rfind("Question-") :]


def answer(what: What, number: int, body: Any) -> Reply:
    """Slow enough to be killed in, and of the kind that the prompt asks for."""
    if what == "boundary":
        return o_reply("[]")
    if what == "summary":
        return Reply([*o_texts(NOTES[:30]), Pause(0.03), *o_texts(NOTES[30:])[1:], *o_end()])
    last = body["messages"][-1]
    if last["role"] == "user" and "use tools" in newest(body):
        uses = (Use("list_files", {"pattern": "*.py"}), Use("read_file", {"path": "src/a.py"}))
        return calls("openai", *(Use(u.name, u.arguments, f"c{number}{u.name}") for u in uses))
    slowly = "slowly" in newest(body)
    words = [f"word{i} " for i in range(60 if slowly else 12)]
    pieces: list[bytes | Pause] = []
    for piece in o_texts(f"reply-{number} ", *words):
        pieces += [piece, Pause(0.012 if slowly else 0)]
    return Reply([*pieces, *o_texts(f"reply-{number}-end")[1:], *o_end()])


def name_of(text: str) -> str:
    found = re.search(r"Question-\d+-end", text)
    assert found is not None, text
    return found[0]


class Ordeal:
    """One workspace and what its servers acknowledged before they were killed."""

    def __init__(self, root: Path, model: ChoosingServer, moment: str, seed: int) -> None:
        self.root, self.model, self.moment = root, model, moment
        self.dice = random.Random(seed)
        self.acknowledged: list[str] = []
        """Texts of prompts that were accepted, and of replies that were announced as complete."""
        self.sends: dict[str, int] = {}
        self.unsure = ""
        """A prompt that was sent and whose turn nobody saw end."""
        self.streamed: dict[str, str] = {}
        """What the killed server had of its reply on the disk, by the id that the reply gets."""
        self.unfinished = 0
        self.number = 0

    def drafts(self) -> dict[str, str]:
        found = [read(p) for p in (self.root / ".tierline" / "drafts").glob("*.jsonl")]
        return {d.origin.message_id: d.text for d in found if d.origin is not None}

    def serve(self) -> Pipe:
        env = environment(self.model)
        if self.moment == "index":
            env["TIERLINE_SYMBOLS_ENABLED"] = "true"
        return Pipe(self.root, env=env)

    def send(self, pipe: Pipe, text: str) -> tuple[int, str]:
        self.sends[text] = self.sends.get(text, 0) + 1
        return pipe.post("tierline/chat/send", {"text": text}), text

    def heard(self, pipe: Pipe, sent: tuple[int, str]) -> None:
        """What the server acknowledged of a prompt before it was killed."""
        number, text = sent
        if any(m.get("id") == number and "result" in m for m in pipe.messages):
            self.acknowledged.append(text)
        self.unsure = text
        for end in pipe.events("turnFinished"):
            if end["outcome"] == "ok" and end["message"]["text"] not in self.acknowledged:
                self.acknowledged.append(end["message"]["text"])
                self.unsure = ""

    def prompt(self, how: str = "") -> str:
        self.number += 1
        filler = "please " * 60 if self.moment in ("compaction", "consolidation") else ""
        start = "Next task: " if self.moment == "consolidation" else ""
        return f"{start}Question-{self.number}-end {how} about src/a.py {filler}".strip()

    def turn(self, pipe: Pipe, text: str) -> Any:
        """A whole turn that has to work. Returns the body of its first request."""
        before = len(self.model.of("chat"))
        self.send(pipe, text)
        count = len(pipe.events("turnFinished"))
        pipe.until(lambda: len(pipe.events("turnFinished")) > count)
        end = pipe.events("turnFinished")[-1]
        assert end["outcome"] == "ok", end
        self.acknowledged += [
            t for t in (text, end["message"]["text"]) if t not in self.acknowledged
        ]
        return self.model.of("chat")[before]

    def revive(self) -> Pipe:
        """The next server on the folder: everything is there, and the next prompt is answered."""
        asked = len(self.model.requests)
        pipe = self.serve()
        pipe.initialize(**SETTINGS.get(self.moment, {}))
        state = pipe.request("tierline/state/get")
        assert len(self.model.requests) == asked, "nothing is sent unasked"
        self.check_log()
        shown = [m["text"] for m in state["messages"]]
        for text in dict.fromkeys(self.acknowledged):
            # Sent again after tools had run for it, a prompt stands there twice.
            most = max(1, self.sends.get(text, 1))
            assert 1 <= shown.count(text) <= most, f"{shown.count(text)} times: {text[:60]}"
        for identifier, text in self.streamed.items():
            (reply,) = (m for m in state["messages"] if m["id"] == identifier)
            assert reply["text"].startswith(text.strip()), "as an interrupted reply, or the whole"
        assert self.drafts() == {}
        again = self.unsure if self.dice.random() < 0.5 else ""
        chats = len(self.model.of("chat"))
        text = again or self.prompt()
        body = self.turn(pipe, text)
        if "use tools" not in text:
            assert len(self.model.of("chat")) == chats + 1, "one prompt, one request"
        assert violations(body, "openai") == []
        if self.moment not in ("compaction", "consolidation"):  # there some are summed up
            users = " ".join(said(m) for m in body["messages"] if m["role"] == "user")
            for number in range(1, self.number + 1):
                wanted = f"Question-{number}-end"
                # Tools may have run for a prompt before the kill: sent again, it is a turn anew.
                sent = [times for text, times in self.sends.items() if wanted in text]
                assert users.count(wanted) <= max(sent, default=0), "as often as it was sent"
            for text in self.acknowledged:
                if name := re.search(r"Question-\d+-end", text):
                    assert users.count(name[0]) >= 1, text
        self.unsure = ""
        return pipe

    def check_log(self) -> None:
        """Every whole line is a record, and no message stands there twice."""
        ids = [
            line.record["id"]
            for line in HistoryLog(self.root / ".tierline" / "history.jsonl").read()
            if line.record is not None and line.record.get("type") == "message"
        ]
        assert len(ids) == len(set(ids))

    def check_sends(self) -> None:
        """The provider got each prompt as the newest thing at most as often as the user sent it."""
        counts: dict[str, int] = {}
        for body in self.model.of("chat"):
            last = body["messages"][-1]
            if last["role"] == "user":  # else it goes on after tools
                name = name_of(newest(body))
                counts[name] = counts.get(name, 0) + 1
        allowed = {name_of(text): times for text, times in self.sends.items()}
        assert {name: n for name, n in counts.items() if n > allowed.get(name, 0)} == {}
        assert sum(counts.values()) <= sum(allowed.values()), "whoever is asked what"

    def strike(self, pipe: Pipe) -> None:
        """Begin what the moment is about and kill the server in the middle of it."""
        with pipe:
            sent = None
            if self.moment == "send":
                sent = self.send(pipe, self.prompt())
                self.wait(0.08)
            elif self.moment == "stream":
                before = len(pipe.events("textDelta"))
                sent = self.send(pipe, self.prompt("slowly"))
                pipe.until(lambda: len(pipe.events("textDelta")) > before)
                self.wait(0.7)
            elif self.moment == "tools":
                asked = len(self.model.requests)
                sent = self.send(pipe, self.prompt("use tools slowly"))
                while len(self.model.requests) == asked:
                    time.sleep(0.002)
                self.wait(0.15)
            elif self.moment == "compaction":
                pipe.post("tierline/compaction/run")
                self.wait(0.2)
            elif self.moment == "consolidation":
                pipe.post("tierline/memory/compress")
                sent = self.send(pipe, self.prompt("slowly"))
                self.wait(0.2)
            else:
                pipe.post("tierline/symbols/reindex")
                pipe.post("tierline/history/search", {"query": "Question"})
                self.wait(0.1)
            pipe.kill()
            if sent is not None:
                self.heard(pipe, sent)
        self.streamed = self.drafts()
        if self.moment == "stream":
            self.unfinished += len(self.streamed)
        if self.moment == "index":
            self.strike_at_start()

    def strike_at_start(self) -> None:
        """Without the derived files, the start builds them; it is killed there."""
        for path in (self.root / ".tierline").glob("*.sqlite3*"):
            if self.dice.random() < 0.7:
                path.unlink()
        with self.serve() as pipe:
            pipe.post("initialize", {"processId": None, "capabilities": {},
                                     "rootUri": self.root.as_uri()})  # fmt: skip
            pipe.notify("initialized")
            pipe.post("tierline/history/search", {"query": "Question"})
            self.wait(0.9)
            pipe.kill()

    def wait(self, most: float) -> None:
        time.sleep(most * self.dice.random())


@pytest.fixture
def slow_model() -> Iterator[ChoosingServer]:
    with ChoosingServer("openai", answer) as server:
        yield server


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_random_moments(workspace: Path, slow_model: Any, moment: str) -> None:
    """Issue 10, item 2: "history valid, next turn works, no duplicate sends, no lost text"."""
    if moment == "index":
        make_project(workspace)
    ordeal = Ordeal(workspace, slow_model, moment, seed=SEED + MOMENTS.index(moment))
    pipe = ordeal.revive()
    for _ in range(4 if moment in ("compaction", "consolidation") else 0):
        ordeal.turn(pipe, ordeal.prompt())
    for _ in range(KILLS):
        ordeal.strike(pipe)
        pipe = ordeal.revive()
    with pipe:
        ordeal.check_sends()
        if moment == "stream":
            assert ordeal.unfinished >= KILLS // 2, "most were killed in the middle of a reply"
        if moment == "compaction":
            assert slow_model.of("summary"), "some compactions had begun"
        if moment == "tools":
            assert any(m["role"] == "tool" for b in slow_model.bodies for m in b["messages"])
        pipe.request("shutdown")
        pipe.notify("exit")
        pipe.gone(5)
