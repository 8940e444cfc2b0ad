"""A small world to test stability policies in: files, a conversation, a provider that accepts.

Every request goes through the real assembler, the strict form and the real Anthropic body. From
the body alone ``reconstruct`` works out what every file says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

from support.updatereader import read_update, replay
from tierline.context.assemble import assemble
from tierline.context.blocks import Block, Maker, Reasoning, Text, ToolResult, ToolUse
from tierline.context.fences import parse_fenced, render_file
from tierline.context.items import Item, Section
from tierline.context.models import ModelFacts, Prices
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.context.strict import strict
from tierline.context.text import sha256
from tierline.context.thinking import Binding, keep_valid
from tierline.context.tiers import updates
from tierline.context.tiers.base import (
    AppliedEdit,
    Arrangement,
    CacheState,
    Pricing,
    RequestContext,
    Signals,
    StabilityPolicy,
)
from tierline.context.tiers.counter import CounterPolicy
from tierline.context.tiers.fixed import FixedPolicy
from tierline.context.tiers.log_structured import LogStructuredPolicy
from tierline.context.tiers.model_edits import told
from tierline.context.tiers.rewrites import accounted
from tierline.history.messages import HistoryRole, Message
from tierline.history.rendered_history import FormCache, write
from tierline.providers.render_anthropic import body

POLICIES: dict[str, type[StabilityPolicy]] = {
    "fixed": FixedPolicy,
    "counter": CounterPolicy,
    "log_structured": LogStructuredPolicy,
}
FACTS = ModelFacts(
    "claude-test",
    family="anthropic",
    caching="explicit",
    max_marks=4,
    lookback_blocks=20,
    ttls=("5m", "1h"),
    min_cacheable_tokens=1024,
    prices=Prices(5.0, 25.0, 6.25, 10.0, 0.5),
)

MAKER = Maker("test", "claude-test")


def tokens(text: str) -> int:
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def file_item(path: str, text: str) -> Item:
    rendered = render_file(path, text)
    return Item(
        f"file:{path}",
        Section.FILES,
        sha256(rendered),
        tokens(rendered),
        rendered,
        path=path,
    )


def text_item(key: str, section: Section, text: str, **facts: Any) -> Item:
    return Item(key, section, sha256(text), tokens(text), text, **facts)


@define
class Turn:
    """One turn: its prompt, and what followed."""

    id: str
    prompt: str
    atoms: list[tuple[PromptMessage, ...]] = field(factory=list)
    names: list[str] = field(factory=list)
    """Of the atoms, unique as message ids are."""


def size(value: Any) -> int:
    """Tokens of a text, or of messages, by length."""
    if isinstance(value, str):
        return tokens(value)
    said = json.dumps([[m.role, [str(b.block) for b in m.blocks]] for m in value])
    return tokens(said)


def talk_item(key: str, group: str, messages: tuple[PromptMessage, ...], required: bool) -> Item:
    said = json.dumps([[m.role, [str(b.block) for b in m.blocks]] for m in messages])
    return Item(
        key, Section.HISTORY, sha256(said), size(messages), messages=messages, group=group,
        required=required,
    )  # fmt: skip


def message(identifier: str, group: str, role: HistoryRole, *content: Block) -> Message:
    return Message(identifier, "s", group, "", role, content, parsing_strategy="anthropic")


def say(role: str, *blocks: Any) -> PromptMessage:
    assert role in ("user", "assistant")
    return PromptMessage(
        "user" if role == "user" else "assistant",
        tuple(PromptBlock(Text(b) if isinstance(b, str) else b, "") for b in blocks),
    )


@define
class World:
    """Files, conversation, policy, and the state that survives a restart."""

    policy: StabilityPolicy
    facts: ModelFacts = FACTS
    files: dict[str, str] = field(factory=dict)
    turns: list[Turn] = field(factory=list)
    summary: str = ""
    sent: CacheState = field(factory=CacheState)
    now: float = 1_000_000.0
    system: str = "You are a programming assistant. " * 200
    extra: list[Item] = field(factory=list)
    tail: list[Item] = field(factory=list)
    state: Item | None = None
    """STATE as a note, for policies that have it behind each prompt."""
    signals: dict[str, Signals] = field(factory=dict)
    edits: list[AppliedEdit] = field(factory=list)
    tools: tuple[ToolSpec, ...] = ()
    count: int = 0
    anew: Mapping[str, Item | None] = field(factory=dict)
    """What a rewrite would change of the items that were listed last."""
    known: FormCache = field(factory=FormCache)
    answered: Prompt | None = None
    """The prompt that was sent last."""
    arranged: Arrangement | None = None
    """Its arrangement."""

    def _id(self) -> str:
        self.count += 1
        return f"{self.count:06d}"

    # --- what may happen -------------------------------------------------------------------------

    def ask(self, prompt: str) -> Turn:
        turn = Turn(self._id(), prompt)
        self.turns.append(turn)
        return turn

    def _append(self, *messages: PromptMessage) -> str:
        turn = self.turns[-1]
        turn.atoms.append(messages)
        turn.names.append(f"history:{turn.id}.{self._id()}")
        return turn.names[-1]

    def reply(self, text: str, thinking: str = "") -> None:
        self._append(say("assistant", *self._thought(thinking), text))

    def look(self, result: str, thinking: str = "") -> None:
        """The model calls a tool that only reads."""
        call = f"toolu_{self._id()}"
        use = ToolUse(call, "read_file", {"path": f"lib/{call}.py"})
        asked = say("assistant", *self._thought(thinking), use)
        self._append(asked, say("user", ToolResult(call, (Text(result),))))

    def _thought(self, text: str) -> list[Reasoning]:
        """Thinking about the prompt that was sent last, bound to it."""
        if not text or self.answered is None:
            return []
        data = {"type": "thinking", "thinking": text, "signature": "c2ln"}
        return [Binding(self.answered, MAKER).bind("anthropic", data, ())]

    def model_edit(
        self, path: str, old: str, new: str, thinking: str = "", *, named: bool = False
    ) -> None:
        """The model proposes to replace ``old`` by ``new``, and exactly that is done. ``named``:
        the result names the versions.
        """
        call = f"toolu_{self._id()}"
        use = ToolUse(call, "propose_edit", {"path": path, "old": old, "new": new})
        before = file_item(path, self.files[path]).sha256
        was = updates.version(self.files[path])
        self.files[path] = self.files[path].replace(old, new, 1)
        now = updates.version(self.files[path])
        result = ToolResult(call, (Text(told(path, (was, now)) if named else "applied"),))
        asked = say("assistant", *self._thought(thinking), "I change it.", use)
        where = self._append(asked, say("user", result))
        self.edits.append(
            AppliedEdit(
                f"file:{path}",
                before,
                file_item(path, self.files[path]).sha256,
                where,
                call,
            )
        )

    def model_create(self, path: str, text: str, shown: bool = True) -> None:
        """The model creates a file, which comes into the context with the next request, or not."""
        call = f"toolu_{self._id()}"
        use = ToolUse(call, "propose_edit", {"path": path, "content": text})
        result = ToolResult(call, (Text(told(path, ("", updates.version(text)))),))
        self._append(say("assistant", use), say("user", result))
        if shown:
            self.files[path] = text

    def restart(self) -> None:
        self.sent = CacheState.from_json(json.loads(json.dumps(self.sent.to_json())))

    # --- a request -------------------------------------------------------------------------------

    def items(self) -> list[Item]:
        found = [text_item("system:head", Section.SYSTEM, self.system, required=True), *self.extra]
        found += [file_item(path, text) for path, text in sorted(self.files.items())]
        written = write(
            list(self.messages()),
            [*self.tail, *([self.state] if self.state is not None else [])],
            self.sent.transcript,
            group_id=self.turns[-1].id if self.turns else "",
            count=size,
            known=self.known,
        )
        self.anew = written.anew
        return [*found, *written.items, *written.tail]

    def messages(self) -> Iterable[Message]:
        """The conversation as the log would have it."""
        if self.summary:
            yield message("summary", "summary", "user", Text(self.summary))
        for turn in self.turns:
            yield message(turn.id, turn.id, "user", Text(turn.prompt))
            for name, atom in zip(turn.names, turn.atoms, strict=True):
                for place, said in enumerate(atom):
                    identifier = name.removeprefix("history:") + "r" * place
                    role: HistoryRole = "tool" if place else said.role
                    yield message(identifier, turn.id, role, *(b.block for b in said.blocks))

    def moment(self) -> RequestContext:
        return RequestContext(
            self.now,
            self.facts.name,
            json.dumps([t.name for t in self.tools]),
            self.turns[-1].id if self.turns else "",
            self.signals,
            tuple(self.edits),
            self.anew,
        )

    def arrange(self) -> Arrangement:
        items = self.items()
        return self.policy.arrange(items, self.sent, self.moment(), Pricing.of(self.facts))

    def prompt(self, arrangement: Arrangement) -> Prompt:
        return assemble(arrangement, facts=self.facts, tools=self.tools)

    def body(self, arrangement: Arrangement) -> dict[str, Any]:
        made = strict(self.prompt(arrangement), strategy="anthropic")
        self.answered, _ = keep_valid(made, MAKER)
        self.arranged = accounted(arrangement, self.sent, self.answered)
        rendered = body(self.answered)
        value: dict[str, Any] = json.loads(json.dumps(rendered, ensure_ascii=False))
        return value

    def request(self, accepted: bool = True) -> dict[str, Any]:
        """Send what is there now. Returns the body."""
        made = self.body(self.arrange())
        if accepted and self.arranged is not None:
            self.sent = self.arranged.next
        return made


# --- reading a body ------------------------------------------------------------------------------


def blocks(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """All blocks of a body in the order of the cached prefix, with their roles."""
    found = [("tools", tool) for tool in body.get("tools", ())]
    found += [("system", block) for block in body.get("system", ())]
    for message in body["messages"]:
        found += [(message["role"], block) for block in message["content"]]
    return found


def prefix(body: dict[str, Any], marks: int = -1) -> list[str]:
    """The blocks up to and including the last marked one, without their markers."""
    all_blocks = blocks(body)
    marked = [i for i, (_, b) in enumerate(all_blocks) if "cache_control" in b]
    end = marked[marks] + 1 if marked else 0
    return [_plain(role, block) for role, block in all_blocks[:end]]


def plain_blocks(body: dict[str, Any]) -> list[str]:
    return [_plain(role, block) for role, block in blocks(body)]


def _plain(role: str, block: dict[str, Any]) -> str:
    value = {k: v for k, v in block.items() if k != "cache_control"}
    return json.dumps([role, value], ensure_ascii=False, sort_keys=True)


def reconstruct(body: dict[str, Any]) -> dict[str, str]:
    """What every file says, from the body alone: base plus updates in their order.

    Raises ValueError where they do not fit together.
    """
    texts: dict[str, str] = {}
    calls: dict[str, dict[str, Any]] = {}

    def edit(reference: str, text: str) -> str:
        call = calls[reference]
        assert call["old"] in text
        return str(text.replace(call["old"], call["new"], 1))

    for role, block in blocks(body):
        if block.get("type") == "tool_use":
            calls[block["id"]] = block["input"]
        if role not in ("system", "user") or block.get("type") != "text":
            continue
        text = block["text"]
        update = read_update(text)
        if update is not None:
            texts = replay(texts, [update], edit)
            continue
        found = parse_fenced(text)
        if len(found) == 1 and (found[0].start, found[0].end) == (0, len(text)):
            if found[0].path in texts:
                raise ValueError(f"{found[0].path} stands twice")
            texts[found[0].path] = found[0].text
    return texts


def marks_of(body: dict[str, Any]) -> int:
    return sum("cache_control" in block for _, block in blocks(body))


def all_text(parts: Iterable[tuple[str, dict[str, Any]]]) -> str:
    return json.dumps(list(parts), ensure_ascii=False)
