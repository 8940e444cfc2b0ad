"""What was sent stays as it was sent, whatever happens (docs/tiers.md).

A machine does at random what users, models and editors do, with everything on that a user gets by
default, and sends requests to the rules of a service that binds thinking to what stands before it.
No request is refused, and each begins with all of the one before, unless a decision with a name has
changed what was sent.
"""

from __future__ import annotations

import os
from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tierline.context.blocks import Block, Maker, Reasoning, Text, ToolResult, ToolUse
from tierline.context.items import Section
from tierline.context.prompt import ToolSpec
from tierline.context.thinking import Binding
from tierline.context.tiers.rewrites import NAMES
from tierline.history.isolation import isolate
from tierline.history.messages import Message
from tierworld import FACTS, POLICIES, Turn, World, plain_blocks, say, text_item
from wire.agents import Use
from wire.rules import Answer
from wire.rules_anthropic import Messages, _content, model_of

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "40"))
MODELS = ("claude-sonnet-5-5", "claude-opus-5-5")
LONG = "".join(f"value_{i} = compute({i})\n" for i in range(60))
KEYS = ("card:a", "card:b", "memo:1", "recall:x", "prompt:selection")
_SECTIONS = {
    "c": Section.RETRIEVED,
    "m": Section.MEMOS,
    "r": Section.RETRIEVED,
    "p": Section.PROMPT,
}


class Binds(World):
    """A world whose thinking is the service's own, and whose reader is given back only its own."""

    def messages(self) -> tuple[Message, ...]:
        maker = Maker("test", self.facts.name)
        return isolate(tuple(super().messages()), "anthropic", maker)


class AppendOnly(RuleBasedStateMachine):
    """One conversation under the default policy. ``hidden`` turns are not sent."""

    policy = "log_structured"

    def __init__(self) -> None:
        super().__init__()
        self.world = Binds(POLICIES[self.policy](), facts=evolve(FACTS, name=MODELS[0]))
        self.service = Messages()
        self.turns: list[Turn] = []
        self.hidden: set[str] = set()
        self.branches: list[list[Turn]] = []
        self.number = 0
        self.before: list[str] = []
        self.group = ""
        self.rewound = False
        """The conversation is no longer what was sent."""

    @initialize(small=st.booleans())
    def begin(self, small: bool) -> None:
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
        self.world._append(say("assistant", *said), say("user", *results))

    @precondition(lambda self: self.turns and self.turns[-1].id not in self.hidden)
    @rule(text=st.sampled_from(["Yes.", "Long " * 200]))
    def replies(self, text: str) -> None:
        """The model is asked, and its reply ends the turn; STATE changes with it."""
        said = self._answer(Answer(text))
        if said is None:
            return
        self.world.turns = self.turns
        self.world._append(say("assistant", *said))
        state = text_item("state:anchor", Section.STATE, f"NEXT: step {self.number}\n")
        self.world.extra = [state]

    @precondition(lambda self: self.turns)
    @rule()
    def request_that_fails(self) -> None:
        """The service does not answer: nothing may be remembered."""
        self._body()

    @precondition(lambda self: len(self.turns) > 1)
    @rule()
    def undo(self) -> None:
        self.turns.pop()
        self.rewound = True

    @precondition(lambda self: len(self.turns) > 2)
    @rule(data=st.data())
    def hide(self, data: st.DataObject) -> None:
        self.hidden ^= {data.draw(st.sampled_from([turn.id for turn in self.turns[:-1]]))}
        self.rewound = True

    @precondition(lambda self: len(self.turns) > 3)
    @rule()
    def compact(self) -> None:
        self.world.summary = f"Summary of what was said before turn {self.turns[-2].id}."
        self.turns = self.turns[-2:]
        self.rewound = True

    @rule()
    def fork(self) -> None:
        self.branches.append(
            [evolve(t, atoms=list(t.atoms), names=list(t.names)) for t in self.turns]
        )

    @precondition(lambda self: self.branches)
    @rule(data=st.data())
    def switch_branch(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.branches) - 1))
        self.branches[place], self.turns = self.turns, self.branches[place]
        self.rewound = True

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
        self.world.restart()

    @rule(model=st.sampled_from(MODELS))
    def select_model(self, model: str) -> None:
        self.world.facts = evolve(self.world.facts, name=model)
        self.rewound = True

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

    def _body(self) -> dict[str, Any]:
        self.world.turns = [turn for turn in self.turns if turn.id not in self.hidden]
        return self.world.body(self.world.arrange())

    def _answer(self, answer: Answer) -> list[Block] | None:
        """Send what is there, and what the service says to it. None if a reply stands there."""
        turn = self.turns[-1]
        if turn.atoms and turn.atoms[-1][-1].role == "assistant":
            return None
        self.world.now += 5
        body = self._body()
        arranged, prompt = self.world.arranged, self.world.answered
        assert arranged is not None
        assert prompt is not None
        self.service.check(body, {})  # raises what it refuses
        now = plain_blocks(body)
        if arranged.rewrite is None:
            assert now[: len(self.before)] == self.before
        else:
            code = arranged.rewrite.code
            assert code in NAMES - {"form"}
            assert code != "history" or self.rewound
            assert code != "consolidate" or turn.id != self.group, "not within a turn"
        self.world.sent, self.before, self.group = arranged.next, now, turn.id
        self.rewound = False
        self.number += 1
        state, model = self.service._state, body["model"]
        assert state is not None
        shapes, _ = _content(state, model_of(model), answer, self.number)
        binding = Binding(prompt, Maker("test", model))
        said: list[Block] = []
        for shape in shapes:
            if shape["type"] == "text":
                said.append(Text(shape["text"]))
            elif shape["type"] == "tool_use":
                said.append(ToolUse(shape["id"], shape["name"], shape["input"]))
            else:
                said.append(binding.bind("anthropic", shape, said))
        assert any(isinstance(block, Reasoning) for block in said)
        return said


AppendOnly.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAppendOnly = AppendOnly.TestCase
