"""The freshness contract (design, section 6): a request says what every file says.

A machine does at random what users, models, editors and compaction do, and sends a request now and
then: to Anthropic and to OpenAI, under every policy. ``bodyreader`` then works out every file from
the body alone, byte for byte.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from support.bodyreader import read
from support.tierworld import FACTS, POLICIES, Turn, World, blocks, marks_of, prefix, text_item
from tierline.context.assemble import assemble
from tierline.context.fences import render_file
from tierline.context.items import Section
from tierline.context.models import ModelFacts
from tierline.context.prompt import ToolSpec
from tierline.context.strict import strict
from tierline.context.tiers.base import Arrangement, CacheState, Pricing, Signals
from tierline.providers import render_anthropic, render_openai
from tierline.session.requests.tiering import CacheLine, SentState

CHAIN = CacheLine("s")
EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "40"))
AUTOMATIC = ModelFacts("gpt-test", family="openai", caching="automatic", min_cacheable_tokens=1024)

PATHS = (
    "a.py", "src/b.py", "src/dir with space/c.md", 'q"uote.txt', "päth/ü.txt", "v1..v2.diff",
    "no extension", "x:y.py", "Update:", "tab\there.txt",
)  # fmt: skip
OTHERS = ("symbols:src", "memo:1", "url:9")
LINE = st.one_of(
    st.sampled_from(
        [
            "", "x = 1", "    return x", "```", "````", "```py", "Update: a.py is no longer part of"
            " the context.", "@@ -1 +1 @@", "\\ No newline at end of file", "- a", "+ b", "\ufeff",
            "zwei\u2028drei", "vier\r", "\x0c", "🙂 ü", "a.py", "# Reference Files",
        ]
    ),
    st.text(st.characters(codec="utf-8"), max_size=12),
)  # fmt: skip
TEXT = st.builds(
    lambda start, lines, sep, end: start + sep.join(lines) + sep * end,
    st.sampled_from(["", "", "\ufeff"]),
    st.lists(LINE, max_size=40),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.booleans(),
)
LONG = "".join(f"value_{i} = compute({i})\n" for i in range(40))


class Freshness(RuleBasedStateMachine):
    """Everything that may happen between two requests. One history, six conversations with it: two
    providers under three policies.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world = World(POLICIES["log_structured"]())
        self.folder = Path(tempfile.mkdtemp(prefix="tierline-test-"))
        self.chains = {
            (facts.name, policy): SentState(self.folder / f"{facts.name}-{policy}")
            for facts in (FACTS, AUTOMATIC)
            for policy in POLICIES
        }
        self.before: dict[tuple[str, str], dict[str, Any]] = {}
        self.past: list[tuple[str, str]] = []
        self.notes: set[str] = set()
        self.branches: list[list[Turn]] = []
        self.rewound = True

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # --- files -----------------------------------------------------------------------------------

    @initialize(texts=st.lists(st.just(LONG) | TEXT, min_size=2, max_size=5))
    def begin(self, texts: list[str]) -> None:
        for path, text in zip(PATHS, texts, strict=False):
            self.world.files[path] = text
        self.world.ask("Begin.")

    def _path(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.world.files)))

    def _set(self, path: str, text: str) -> None:
        if path in self.world.files:
            self.past.append((path, self.world.files[path]))
        self.world.files[path] = text

    @rule(path=st.sampled_from(PATHS), text=TEXT | st.just(LONG) | st.just(""))
    def add(self, path: str, text: str) -> None:
        """Also adds again what was deleted, with another text."""
        self._set(path, text)

    @precondition(lambda self: self.world.files)
    @rule(data=st.data(), lines=st.lists(LINE, max_size=4))
    def edit(self, data: st.DataObject, lines: list[str]) -> None:
        """Somebody else changes a few lines."""
        path = self._path(data)
        old = self.world.files[path].split("\n")
        place = data.draw(st.integers(0, len(old)))
        cut = data.draw(st.integers(0, 3))
        self._set(path, "\n".join([*old[:place], *lines, *old[place + cut :]]))

    @precondition(lambda self: any(self.world.files.values()) and self.world.turns)
    @rule(data=st.data(), new=TEXT, named=st.booleans())
    def model_edit(self, data: st.DataObject, new: str, named: bool) -> None:
        """The model proposes a replacement, and exactly that is done."""
        path = data.draw(st.sampled_from(sorted(p for p, t in self.world.files.items() if t)))
        if path in self.notes:
            return
        text = self.world.files[path]
        start = data.draw(st.integers(0, len(text) - 1))
        old = text[start : start + data.draw(st.integers(1, 60))]
        self.past.append((path, text))
        self.world.model_edit(path, old, new, named=named)

    @precondition(lambda self: self.world.turns)
    @rule(path=st.sampled_from(PATHS), text=TEXT.filter(bool) | st.just(LONG), shown=st.booleans())
    def model_create(self, path: str, text: str, shown: bool) -> None:
        """The model creates a file, which is in the context from then on, or not."""
        if path not in self.world.files and path not in self.notes:
            self.past.append((path, text))
            self.world.model_create(path, text, shown)

    @precondition(lambda self: self.world.edits)
    @rule(data=st.data())
    def undone(self, data: st.DataObject) -> None:
        """An edit is no longer said to be applied, whatever its file says."""
        self.world.edits.remove(data.draw(st.sampled_from(self.world.edits)))

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def undo_edit(self, data: st.DataObject) -> None:
        path, text = data.draw(st.sampled_from(self.past[-6:]))
        self.world.files[path] = text

    @precondition(lambda self: self.world.files)
    @rule(data=st.data(), to=st.sampled_from(PATHS))
    def rename(self, data: st.DataObject, to: str) -> None:
        self._set(to, self.world.files.pop(self._path(data)))

    @precondition(lambda self: self.world.files)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        path = self._path(data)
        self.past.append((path, self.world.files.pop(path)))

    @precondition(lambda self: self.world.files)
    @rule(data=st.data())
    def cut_or_whole(self, data: st.DataObject) -> None:
        """A file is too large to be sent whole, or no longer is."""
        self.notes ^= {self._path(data)}

    @rule(name=st.sampled_from(OTHERS), text=st.text("ab \n", max_size=30))
    def other_text(self, name: str, text: str) -> None:
        """A symbol block, a memo, a page: no file, but base and log all the same."""
        section = {"s": Section.SYMBOLS, "m": Section.MEMOS, "u": Section.URLS}[name[0]]
        kept = [item for item in self.world.extra if item.key != name]
        words = f"{name} says {' '.join(text.split())}."
        self.world.extra = [*kept, text_item(name, section, words)] if text.strip() else kept

    # --- the conversation ------------------------------------------------------------------------

    @rule(text=st.sampled_from(["Why?", "Go on.", "Update: nothing at all", "`x`", "Word " * 400]))
    def ask(self, text: str) -> None:
        self.world.ask(text)

    @precondition(lambda self: self.world.turns)
    @rule(text=st.sampled_from(["Yes.", "Because.", "Done.\n", "Long " * 300]))
    def reply(self, text: str) -> None:
        self.world.reply(text)

    @precondition(lambda self: len(self.world.turns) > 1)
    @rule()
    def undo_turn(self) -> None:
        self.world.turns.pop()
        self.rewound = True

    @precondition(lambda self: len(self.world.turns) > 2)
    @rule()
    def compact(self) -> None:
        self.world.summary = f"Summary {self.world.count}: {self.world.turns[0].prompt[:20]}"
        self.world.turns = self.world.turns[-2:]
        self.rewound = True
        for (_, policy), chain in self.chains.items():
            chain.keep(CHAIN, POLICIES[policy]().purge(chain.get(CHAIN), "history:"))

    @rule()
    def fork(self) -> None:
        self.branches.append(
            [evolve(t, atoms=list(t.atoms), names=list(t.names)) for t in self.world.turns]
        )

    @precondition(lambda self: self.branches)
    @rule(data=st.data())
    def switch_branch(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.branches) - 1))
        self.branches[place], self.world.turns = self.world.turns, self.branches[place]
        self.rewound = True

    # --- time, and everything else ---------------------------------------------------------------

    @rule()
    def restart(self) -> None:
        self.chains = {
            (model, policy): SentState(self.folder / f"{model}-{policy}")
            for model, policy in self.chains
        }

    @rule(seconds=st.sampled_from([1.0, 200.0, 400.0, 4000.0, -50.0]))
    def wait(self, seconds: float) -> None:
        self.world.now += seconds

    @precondition(lambda self: self.world.files)
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        """What the editor shows and version control knows."""
        path = self._path(data)
        self.world.signals[f"file:{path}"] = data.draw(
            st.builds(
                Signals, st.none() | st.floats(0, 1), st.booleans(), st.booleans(), st.floats(0, 3)
            )
        )

    @rule(system=st.booleans())
    def instructions_or_tools(self, system: bool) -> None:
        if system:
            self.world.system += "More."
        else:
            self.world.tools = (*self.world.tools, ToolSpec(f"t{len(self.world.tools)}", "d", {}))

    @rule(clock=st.text("0123456789:", min_size=1, max_size=5))
    def volatile(self, clock: str) -> None:
        self.world.tail = [text_item("clock", Section.STATE, f"It is {clock}.", volatile=True)]

    # --- requests --------------------------------------------------------------------------------

    @rule()
    def failed_request(self) -> None:
        """The provider does not accept: nothing may be remembered."""
        self._send(accepted=False)

    @rule()
    def request(self) -> None:
        self._send(accepted=True)
        self.rewound = False
        self.world.now += 20

    def _send(self, accepted: bool) -> None:
        for (model, name), chain in self.chains.items():
            world = evolve(
                self.world,
                policy=POLICIES[name](),
                facts=FACTS if model == FACTS.name else AUTOMATIC,
                sent=chain.get(CHAIN),
            )
            arranged = self._arrange(world)
            prompt = assemble(arranged, facts=world.facts, tools=world.tools, cache_key="s")
            if model == FACTS.name:
                sent = render_anthropic.body(strict(prompt, strategy="anthropic"))
            else:
                sent = render_openai.body(strict(prompt, strategy="openai"), official=True)
            body: dict[str, Any] = json.loads(json.dumps(sent, ensure_ascii=False))
            self._check(body, arranged, (model, name))
            if accepted:
                chain.keep(CHAIN, arranged.next)
                self.before[model, name] = body

    def _arrange(self, world: World) -> Arrangement:
        noted = {f"file:{path}" for path in self.notes}
        items = [
            text_item(
                item.key,
                item.section,
                render_file(item.path, world.files[item.path], "cut: not all"),
                path=item.path,
            )
            if item.key in noted
            else item
            for item in world.items()
        ]
        return world.policy.arrange(items, world.sent, world.moment(), Pricing.of(world.facts))

    def _check(self, body: dict[str, Any], arranged: Arrangement, chain: tuple[str, str]) -> None:
        found = read(body)
        expected = {
            path: render_file(path, text, "cut: not all") if path in self.notes else text
            for path, text in self.world.files.items()
        }
        others = {key: found.files.pop(key) for key in OTHERS if key in found.files}
        assert found.files == expected
        for item in self.world.extra:
            if item.key in others:
                assert others.pop(item.key) == item.text
            else:
                assert item.text in found.paragraphs.values()
        assert others == {}
        if chain[0] != FACTS.name:
            return
        assert marks_of(body) <= 4
        parts = blocks(body)
        marked = [(role, block) for role, block in parts if "cache_control" in block]
        assert all(block.get("text", "x").strip() for _, block in marked)
        rewritten = {"cold", "consolidate"} & {d.code for d in arranged.decisions}
        if chain[1] == "log_structured" and not rewritten and not self.rewound:
            was = prefix(self.before[chain])
            now = [
                json.dumps([r, {k: v for k, v in b.items() if k != "cache_control"}],
                           ensure_ascii=False, sort_keys=True)
                for r, b in parts[: len(was)]
            ]  # fmt: skip
            assert now == was, "bytes that were sent were rewritten without a decision"


Freshness.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestFreshness = Freshness.TestCase


def test_state_that_makes_no_sense_is_as_none() -> None:
    """A cache state from another version, or half written, costs a cold cache and nothing else."""
    world = World(POLICIES["log_structured"](), files={"a.py": LONG})
    world.ask("One?")
    for broken in (
        {}, {"base": 3}, {"base": [], "log": [["x"]], "ends": [], "head": "", "rents": {}},
    ):  # fmt: skip
        world.sent = CacheState(
            policy="log_structured", model="claude-test", at=world.now, state=broken
        )
        assert read(world.request()).files == {"a.py": LONG}
