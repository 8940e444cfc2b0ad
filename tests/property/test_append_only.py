"""What was sent stays as it was sent, whatever happens (docs/tiers.md).

A machine does at random what users, models and editors do, with everything on that a user gets by
default, and sends requests to the rules of a service that binds thinking to what stands before it.
No request is refused, and each begins with all of the one before, unless a decision with a name has
changed what was sent. The conversation moves between services of every family and between branches;
each of them has its own record of what was sent.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from support.services import Service, goes_on, parts, services
from support.tierworld import POLICIES, Turn, World, say, text_item
from tierline.context.blocks import Block, Text, ToolResult, ToolUse
from tierline.context.items import Section
from tierline.context.prompt import Prompt, PromptMessage, ToolSpec
from tierline.context.tiers.base import Arrangement
from tierline.context.tiers.rewrites import NAMES, accounted
from tierline.history.isolation import isolate
from tierline.history.messages import Message
from tierline.session.requests.tiering import CacheLine, SentState
from wire.agents import Use
from wire.rules import Answer

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "80"))
SERVICES = [service.maker for service in services()]
BRANCHES = ("main", "aside")
LONG = "".join(f"value_{i} = compute({i})\n" for i in range(60))
KEYS = ("card:a", "card:b", "memo:1", "recall:x", "prompt:selection")
_SECTIONS = {
    "c": Section.RETRIEVED,
    "m": Section.MEMOS,
    "r": Section.RETRIEVED,
    "p": Section.PROMPT,
}


class Binds(World):
    """A world whose thinking is the services' own, and whose reader is given back only its own."""

    service: Service
    made: dict[str, str]
    """The strategy of each atom, by its name."""

    def messages(self) -> tuple[Message, ...]:
        said = [
            evolve(m, parsing_strategy=self.made.get(f"history:{m.id.rstrip('r')}", "anthropic"))
            for m in super().messages()
        ]
        reader = self.service
        return isolate(said, reader.strategy, reader.maker, reasoned=reader.demands)


class AppendOnly(RuleBasedStateMachine):
    """One conversation under the default policy. ``hidden`` turns are not sent."""

    policy = "log_structured"

    def __init__(self) -> None:
        super().__init__()
        self.services = services()
        self.world = Binds(POLICIES[self.policy]())
        self.world.made = {}
        self._ask_service(self.services[0])
        self.folder = Path(tempfile.mkdtemp(prefix="tierline-test-"))
        self.records = SentState(self.folder)
        self.branch = BRANCHES[0]
        self.turns: list[Turn] = []
        self.other: list[Turn] | None = None
        """The other branch."""
        self.hidden: set[str] = set()
        self.number = 0
        self.before: dict[CacheLine, list[str]] = {}
        """The parts of each line's newest request."""
        self.thoughts: dict[CacheLine, int] = {}
        """How much thinking it gave back."""
        self.groups: dict[CacheLine, str] = {}
        self.newest: CacheLine | None = None
        self.rewound: set[CacheLine] = set()
        """Lines whose conversation is no longer what was sent."""

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def _between_turns(self) -> bool:
        """A turn ends with the model that it began with."""
        atoms = self.turns[-1].atoms if self.turns else ()
        return not atoms or atoms[-1][-1].role == "assistant"

    @property
    def line(self) -> CacheLine:
        return CacheLine("s", self.branch, self.service.maker)

    def _ask_service(self, service: Service) -> None:
        self.service = self.world.service = service
        self.world.facts = service.facts

    def _rewind(self) -> None:
        """The conversation of this branch was changed."""
        self.rewound |= {line for line in self.before if line.branch == self.branch}

    @initialize(small=st.booleans(), place=st.integers(0, len(SERVICES) - 1))
    def begin(self, small: bool, place: int) -> None:
        self.select_service(place)
        if small:
            self.world.system = "Be brief."
        self.world.files = {"a.py": LONG, "b.py": "x = 1\n"}
        self.world.tools = (ToolSpec("read_file", "Reads.", {"type": "object"}),)
        self.ask([], "Begin.")

    # --- the conversation ------------------------------------------------------------------------

    @rule(
        notes=st.lists(st.sampled_from(KEYS), unique=True, max_size=3),
        text=st.sampled_from(["Why?", "Go on.", "Word " * 300]),
        version=st.integers(0, 1),
    )
    def prompt(self, notes: list[str], text: str, version: int) -> None:
        self.ask([f"{key}/{version}" for key in notes], text)

    def ask(self, notes: list[str], text: str) -> None:
        self.turns.append(Turn(self.world._id(), text))
        self.world.tail = [
            text_item(
                note.partition("/")[0],
                _SECTIONS[note[0]],
                f"[Found for this prompt] {note} " + "words " * 40,
                volatile=True,
            )
            for note in notes
        ]

    @precondition(lambda self: self.turns and self.turns[-1].id not in self.hidden)
    @rule(size=st.sampled_from([10, 299, 900, 4000, 9000]), twice=st.booleans())
    def calls(self, size: int, twice: bool) -> None:
        """The model is asked, and calls a tool."""
        use = Use("read_file", {"path": "lib.py"})
        said = self._answer(Answer("I look.", uses=(use,) * (1 + twice)))
        if said is None:
            return
        self.world.turns = self.turns
        results = [
            ToolResult(block.id, (Text("line of text\n" * (size // 13 + 1)),))
            for block in said
            if isinstance(block, ToolUse)
        ]
        self._said(say("assistant", *said), say("user", *results))

    @precondition(lambda self: self.turns and self.turns[-1].id not in self.hidden)
    @rule(text=st.sampled_from(["Yes.", "Long " * 200]))
    def replies(self, text: str) -> None:
        """The model is asked, and its reply ends the turn; STATE changes with it."""
        said = self._answer(Answer(text))
        if said is None:
            return
        self.world.turns = self.turns
        self._said(say("assistant", *said))
        state = text_item("state:anchor", Section.STATE, f"NEXT: step {self.number}\n")
        self.world.extra = [state]

    def _said(self, *messages: PromptMessage) -> None:
        self.world.made[self.world._append(*messages)] = self.service.strategy

    @precondition(lambda self: self.turns)
    @rule()
    def request_that_fails(self) -> None:
        """The service does not answer: nothing may be remembered."""
        self._request()

    @precondition(lambda self: len(self.turns) > 1)
    @rule()
    def undo(self) -> None:
        self.turns.pop()
        self._rewind()

    @precondition(lambda self: len(self.turns) > 2)
    @rule(data=st.data())
    def hide(self, data: st.DataObject) -> None:
        self.hidden ^= {data.draw(st.sampled_from([turn.id for turn in self.turns[:-1]]))}
        self._rewind()
        if self.other is not None:  # its turns may be the same
            self.rewound |= set(self.before)

    @precondition(lambda self: len(self.turns) > 3)
    @rule()
    def compact(self) -> None:
        self.world.summary = f"Summary of what was said before turn {self.turns[-2].id}."
        self.turns = self.turns[-2:]
        self.rewound |= set(self.before)

    @precondition(lambda self: self.other is None)
    @rule()
    def fork(self) -> None:
        self.other = [evolve(t, atoms=list(t.atoms), names=list(t.names)) for t in self.turns]

    @precondition(lambda self: self.other is not None)
    @rule()
    def switch_branch(self) -> None:
        assert self.other is not None
        self.turns, self.other = self.other, self.turns
        self.branch = BRANCHES[self.branch == BRANCHES[0]]

    # --- everything else -------------------------------------------------------------------------

    @rule(line=st.integers(0, 59), words=st.sampled_from(["x", "y = 2\nz = 3"]))
    def edit(self, line: int, words: str) -> None:
        lines = self.world.files.get("a.py", LONG).split("\n")
        lines[line % len(lines)] = words
        self.world.files["a.py"] = "\n".join(lines)

    @rule(path=st.sampled_from(["b.py", "c.py"]))
    def add_or_drop(self, path: str) -> None:
        if self.world.files.pop(path, None) is None:
            self.world.files[path] = f"# {path}\n" * 30

    @rule()
    def restart(self) -> None:
        self.records = SentState(self.folder)

    @precondition(lambda self: self._between_turns())
    @rule(place=st.integers(0, len(SERVICES) - 1))
    def select_service(self, place: int) -> None:
        self._ask_service(self.services[place])

    @rule(seconds=st.sampled_from([1.0, 200.0, 400.0, 4000.0]))
    def wait(self, seconds: float) -> None:
        self.world.now += seconds

    @rule()
    def other_tools(self) -> None:
        if len(self.world.tools) > 1:
            self.world.tools = self.world.tools[:1]
        else:
            self.world.tools += (ToolSpec("other", "Does.", {"type": "object"}),)

    # --- requests --------------------------------------------------------------------------------

    def _request(self) -> tuple[Arrangement, Prompt, dict[str, Any]]:
        self.world.turns = [turn for turn in self.turns if turn.id not in self.hidden]
        self.world.sent = self.records.get(self.line)
        arranged = self.world.arrange()
        prompt, body = self.service.body(self.world.prompt(arranged))
        return accounted(arranged, self.world.sent, prompt), prompt, body

    def _answer(self, answer: Answer) -> list[Block] | None:
        """Send what is there, and what the service says to it. None if a reply stands there."""
        turn, line = self.turns[-1], self.line
        if turn.atoms and turn.atoms[-1][-1].role == "assistant":
            return None
        self.world.now += 5
        arranged, self.world.answered, body = self._request()
        report = self.service.rules.check(body, {})  # raises what it refuses
        now = parts(body)
        begun = line not in self.before
        earlier = self.before.get(line) or self._inherited(line)
        if arranged.rewrite is None:
            assert goes_on(earlier, now), (earlier, now)
            assert report.reasoning >= self.thoughts.get(line, 0), "no thinking is lost"
        else:
            code = arranged.rewrite.code
            assert code in NAMES - {"form"}
            assert code != "history" or begun or line in self.rewound
            assert code != "consolidate" or turn.id != self.groups.get(line), "not within a turn"
        self.records.keep(line, arranged.next)
        self.before[line], self.groups[line], self.newest = now, turn.id, line
        self.thoughts[line] = report.reasoning
        self.rewound.discard(line)
        self.number += 1
        return self.service.answer(body, self.world.answered, answer, self.number)

    def _inherited(self, line: CacheLine) -> list[str]:
        """What a line that has sent nothing begins with: the newest, if it has the same reader."""
        newest = self.newest
        return self.before[newest] if newest and newest.reader == line.reader else []


AppendOnly.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAppendOnly = AppendOnly.TestCase
