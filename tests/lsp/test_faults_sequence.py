"""All faults in any order: sleep, a clock that jumps, a full disk, no memory, SIGKILL in any byte.

One workspace, one server after the other. Each episode sends a prompt under some faults at once and
then lifts them, leaves, or kills the server in the middle. What must hold is looked at from
outside: in the log's bytes, in what a server shows, in what the provider was asked.

``TIERLINE_SEQUENCE_SECONDS`` is how long (an hour with ``make fuzz``; a few episodes without),
``TIERLINE_FUZZ_SEED`` decides about everything that is random.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from bugcases.bodies import violations
from lsp.conftest import environment
from lsp.pipe import ForkedPipe as Pipe
from support.clock import Clock
from support.newest import newest_text
from tierline.store.log import HistoryLog
from wire.choosing import ChoosingServer, What
from wire.scripts import o_end, o_texts
from wire.servers import Pause, Reply

SECONDS = float(os.environ.get("TIERLINE_SEQUENCE_SECONDS", "0"))
SEED = int(os.environ.get("TIERLINE_FUZZ_SEED", "0"))
EPISODES = 2
FAULTS = ("clock", "sleep", "disk", "memory")
ENDS = ("lift", "lift", "leave", "kill")
UNWRITTEN = ("not written", "could not be")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are Linux's")


def answer(_what: What, _number: int, body: Any) -> Reply:
    """Names the newest prompt, in some pieces."""
    name = asked_for(body)
    words = [f"{name} " for _ in range(6)]
    pieces: list[bytes | Pause] = []
    for piece in o_texts(f"Reply to {name}: ", *words):
        pieces += [piece, Pause(0.02)]
    return Reply([*pieces, *o_end()])


def asked_for(body: Any) -> str:
    """The prompt that a request is about."""
    found = [word for word in newest_text(body).split() if word.startswith("prompt-")]
    return found[-1] if found else "nothing"


@frozen
class Sent:
    """A prompt, and the number of its request."""

    text: str
    number: int
    told: int
    """How many notices came before it."""

    def answer(self, pipe: Pipe) -> dict[str, Any] | None:
        """The server's, as far as it has come."""
        return next((m for m in list(pipe.messages) if m.get("id") == self.number), None)

    def end(self, pipe: Pipe) -> dict[str, Any] | None:
        """Of its turn."""
        given = self.answer(pipe)
        turn = given["result"]["turnId"] if given is not None and "result" in given else ""
        ends = pipe.events("turnFinished")
        return next((e for e in ends if e["turnId"] == turn), None)


class Sequence:
    """A workspace, its servers, and what they have acknowledged."""

    def __init__(self, workspace: Path, model: ChoosingServer, clock: Clock, seed: int) -> None:
        self.workspace, self.model, self.clock = workspace, model, clock
        self.log = workspace / ".tierline" / "history.jsonl"
        self.dice = random.Random(seed)
        self.env = environment(model) | clock.env
        self.env["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
        self.sent: list[str] = []
        self.kept: list[str] = []
        """Prompts that were acknowledged, whose turn was answered, and of which nothing was said to
        be unwritten."""
        self.waiting: list[str] = []
        """The same, but said to be in memory only: with the next message they are written."""
        self.memos: list[str] = []
        self.bytes = b""
        self.did: list[str] = []
        self.starved: set[str] = set()
        """Prompts that were sent where there was no memory: a reply that did not get in is asked
        for once more."""
        self.deaths = self.refused = self.unwritten = 0

    # --- what is done ----------------------------------------------------------------------------

    def revive(self) -> Pipe:
        """The next server shows everything that was acknowledged."""
        asked = len(self.model.requests)
        pipe = Pipe(self.workspace, env=self.env)
        pipe.initialize()
        self.waiting.clear()  # what was in memory only went with the process, as was said
        self.check_shown(pipe)
        assert len(self.model.requests) == asked, "nothing is sent unasked"
        return pipe

    def episode(self, pipe: Pipe) -> Pipe:
        """Some faults, a prompt, an end; then all is well again."""
        faults = [fault for fault in FAULTS if self.dice.random() < 0.45]
        end = self.dice.choice(ENDS)
        self.did.append(f"{'+'.join(faults) or 'nothing'}, {end}")
        with self.limited(pipe, faults):
            sent = self.send(pipe)
            if "memory" in faults:
                self.starved.add(sent.text.split(maxsplit=1)[0])
            if self.dice.random() < 0.3:
                self.remember(pipe)
            if end == "kill":
                time.sleep(self.dice.random() * 0.4)
            elif "sleep" in faults:
                time.sleep(self.dice.random() * 0.2)
                self.sleep(pipe)
            if end == "kill":
                pipe.kill()
            else:
                self.wait(pipe, sent, 3 if "memory" in faults else 30)
        if end != "kill":
            self.wait(pipe, sent, 60)
        self.heard(pipe, sent)
        if end == "leave" and pipe.process.poll() is None:
            pipe.request("shutdown")
            pipe.notify("exit")
            pipe.gone(30)
        if (status := pipe.process.poll()) is None:
            return self.proven(pipe)
        if end == "lift":
            self.deaths += 1
            assert "memory" in faults, f"the server has died ({status}): {pipe.stderr[-2000:]}"
        with pipe:
            pass
        return self.proven(self.revive())

    @contextlib.contextmanager
    def limited(self, pipe: Pipe, faults: list[str]) -> Iterator[None]:
        pid, before = pipe.process.pid, {}
        if "clock" in faults:
            self.clock.off = self.dice.choice((-1, 1)) * self.dice.uniform(1, 4e6)
        if "disk" in faults:
            before[resource.RLIMIT_FSIZE] = self.log.stat().st_size + self.dice.randrange(900)
        if "memory" in faults:
            status = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
            size = next(int(x.split()[1]) for x in status if x.startswith("VmSize")) * 1024
            before[resource.RLIMIT_AS] = size + self.dice.randrange(-1_000_000, 2_000_000)
        for what, most in before.items():
            resource.prlimit(pid, what, (most, resource.RLIM_INFINITY))
        yield
        for what in before:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def sleep(self, pipe: Pipe) -> None:
        """As a laptop does: nothing runs, and the clock is later afterwards."""
        os.kill(pipe.process.pid, signal.SIGSTOP)
        with contextlib.suppress(OSError, ValueError):
            self.clock.off += self.dice.uniform(60, 90_000)
        time.sleep(0.05)
        os.kill(pipe.process.pid, signal.SIGCONT)

    def send(self, pipe: Pipe, size: int = 0) -> Sent:
        text = f"prompt-{len(self.sent)} about parsers " + "x" * (
            size or self.dice.choice((1, 50, 2000, 60_000))
        )
        self.sent.append(text)
        told = len(pipe.events("notice"))
        return Sent(text, pipe.post("tierline/chat/send", {"text": text}), told)

    def remember(self, pipe: Pipe) -> None:
        memo = f"memo {len(self.sent)}: the parser number {len(self.sent)} is green"
        number = pipe.post("tierline/memo/save", {"content": memo, "tags": []})
        with contextlib.suppress(AssertionError):  # no answer, under these faults
            if "result" in pipe.answer(number, 5):
                self.memos.append(memo)

    def wait(self, pipe: Pipe, sent: Sent, seconds: float) -> None:
        """Until the prompt was refused, or its turn has ended, or the server is gone."""
        deadline = time.monotonic() + seconds
        while pipe.process.poll() is None and time.monotonic() < deadline:
            given = sent.answer(pipe)
            if given is not None and ("error" in given or sent.end(pipe) is not None):
                return
            time.sleep(0.01)

    # --- what is acknowledged --------------------------------------------------------------------

    def heard(self, pipe: Pipe, sent: Sent) -> None:
        """What of a prompt and its reply the server has acknowledged, and as what."""
        given, end = sent.answer(pipe), sent.end(pipe)
        if given is None or "error" in given:
            self.refused += given is not None
            return
        said = list(given["result"]["notices"])
        if pipe.process.poll() is None:
            assert end is not None, f"the turn never ended ({self.did[-1]}): {pipe.stderr[-3000:]}"
        if end is not None and end["message"]:
            said.append(end["message"]["note"])
        said += [event["text"] for event in pipe.events("notice")[sent.told :]]
        whole = not any(word in text for text in said for word in UNWRITTEN)
        texts = [sent.text]
        if end is not None and end["outcome"] == "ok":
            texts.append(end["message"]["text"])
        self.unwritten += not whole
        (self.kept if whole else self.waiting).extend(texts)

    def proven(self, pipe: Pipe) -> Pipe:
        """Nothing is in the way any more: a prompt is answered without a word of complaint."""
        sent = self.send(pipe, size=1)
        self.wait(pipe, sent, 60)
        given, end = sent.answer(pipe), sent.end(pipe)
        assert given is not None and "result" in given, (self.did[-1], given, pipe.stderr[-3000:])
        assert end is not None and end["outcome"] == "ok", (self.did[-1], end, pipe.stderr[-3000:])
        said = [*given["result"]["notices"], end["message"]["note"]]
        said += [event["text"] for event in pipe.events("notice")[sent.told :]]
        assert not [t for t in said if any(w in t for w in UNWRITTEN)], (self.did[-1], said)
        self.kept += [*self.waiting, sent.text, end["message"]["text"]]
        self.waiting.clear()
        self.check_shown(pipe)
        self.check_found(pipe, sent.text)
        self.check_log()
        self.check_asked()
        return pipe

    # --- what must hold --------------------------------------------------------------------------

    def check_shown(self, pipe: Pipe) -> None:
        shown = [m["text"] for m in pipe.request("tierline/state/get")["messages"]]
        counts = Counter(shown)
        for text in self.kept:
            assert counts[text] == 1, f"{counts[text]} times ({self.did[-3:]}): {text[:60]}"
        prompts = [text for text in shown if text in set(self.sent)]
        assert prompts == [t for t in self.sent if t in set(prompts)], "in the order of sending"
        memos = {m["content"] for m in pipe.request("tierline/memo/list")["memos"]}
        assert set(self.memos) <= memos, self.did[-3:]

    def check_found(self, pipe: Pipe, text: str) -> None:
        """The index tells what the log holds."""
        name = text.split(maxsplit=1)[0]
        hits = pipe.request("tierline/history/search", {"query": f"{name} parsers"})["hits"]
        assert [h["role"] for h in hits].count("user") == 1, (self.did[-1], name, hits)
        shown = pipe.request("tierline/state/get")["messages"]
        said = [m for m in shown if not m.get("compaction")]  # its card is no message
        listed = pipe.request("tierline/history/listSessions")["sessions"]
        assert [s["messageCount"] for s in listed] == [len(said)], self.did[-1]

    def check_log(self) -> None:
        """Only appended to; what is whole is a record, and no id is there twice."""
        now = self.log.read_bytes()
        assert now.startswith(self.bytes), f"the log was rewritten: {self.did[-3:]}"
        self.bytes = now
        records = [x.record for x in HistoryLog(self.log).read() if x.record is not None]
        ids = Counter(r["id"] for r in records)
        assert not [i for i, n in ids.items() if n > 1], self.did[-3:]

    def check_asked(self) -> None:
        """Each prompt went to the provider at most once (twice, if nothing of the first reply could
        be read for want of memory), in a body that it takes.
        """
        bodies = self.model.of("chat")
        times = Counter(asked_for(body) for body in bodies)
        often = [name for name, n in times.items() if n > 1 + (name in self.starved)]
        assert not often, (self.did[-3:], often)
        assert violations(bodies[-1], "openai") == []


@pytest.fixture
def naming_model() -> Iterator[ChoosingServer]:
    with ChoosingServer("openai", answer) as server:
        yield server


def test_any_sequence_of_all_faults_loses_and_doubles_nothing(
    workspace: Path, tmp_path: Path, naming_model: Any
) -> None:
    ordeal = Sequence(workspace, naming_model, Clock(tmp_path / "clock"), SEED)
    began, episodes = time.monotonic(), 0
    with contextlib.ExitStack() as stack:
        pipe = ordeal.proven(ordeal.revive())
        while episodes < EPISODES or time.monotonic() - began < SECONDS:
            stack.callback(pipe.process.kill)
            pipe = ordeal.episode(pipe)
            stack.pop_all()
            episodes += 1
        with pipe:
            pipe.request("shutdown")
            pipe.notify("exit")
            pipe.gone(30)
    print(
        f"seed {SEED}: {episodes} episodes, {len(ordeal.sent)} prompts: {ordeal.refused} refused, "
        f"{ordeal.unwritten} said to be unwritten; {ordeal.deaths} ends for want of memory"
    )
