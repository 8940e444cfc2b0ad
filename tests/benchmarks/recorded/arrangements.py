"""How other tools would have sent the same conversation, rebuilt from their documented behaviour.

What is said is taken from the requests that were really sent (instructions, tools, prompts,
replies, calls and their results); the files are those of the session. So all arrangements present
the same content, and what differs is its order, what is sent again, and the cache marks:

* ``append-only``: a conversation that only grows, with a mark on each of the last two messages of
  the user. A file stands where it came in; if others change it, it is sent again in full. That is
  what agents do that read files by tools (the prompt caching of Cline, Roo Code and OpenCode).
  ``IDEAL`` is the same without what they do send again: a file that the model created, when it
  comes into the chat, as an agent may that relies on its own call. It is reported apart.
* ``three marks``: instructions, then the files as they are now, then the conversation; marks behind
  the instructions, behind the files and at the end, as in the provider's own advice for long
  documents. An edit of a file changes what stands before the conversation.
* ``sections with a map``: aider with ``--cache-prompts`` (its ``ChatChunks``): instructions, a map
  of the repository of 1,024 tokens ranked for the prompt, the conversation that is done, the files
  as they are now, the newest exchange; marks behind the instructions, the map and the files.

The map and the tree of the repository stand before the conversation, and what is said of their
changes at its end, as Tierline sent them; aider has its own map instead.

None of them summarises: they do that near the window's end, which no session here reaches.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import define, field

from benchmarks.cache_simulator import CacheSimulator

MAP_TOKENS = 1024
IDEAL = "append-only, ideal"
NAMES = ("append-only", "three marks", "sections with a map")
_SYMBOL = re.compile(
    r"^\s*(?:export |public |async |static )*(?:def|class|function|fn|func|interface|struct|type)"
    r"\s+\w+[^\n]{0,80}",
    re.MULTILINE,
)
Block = dict[str, Any]
Message = tuple[str, list[Block]]


@define
class Growing:
    """A conversation that only grows."""

    ideal: bool = False
    """Files that the model created are not sent when they come into the chat."""
    said: list[Message] = field(factory=list)
    _shown: dict[str, str] = field(factory=dict)
    """What it has sent of each file."""

    def changes(
        self, files: Mapping[str, str], own: Mapping[str, str], wrote: Collection[str]
    ) -> list[Block]:
        """The files that have to be sent. ``own``: those that the model changed last, by its call;
        ``wrote``: those of which it wrote every line.
        """
        found = []
        for path, text in files.items():
            before = self._shown.get(path)
            new = before is None and not (self.ideal and path in own and path in wrote)
            if new or (before not in (None, text) and path not in own):
                found.append(_file(path, text))
        self._shown = dict(files)
        return found


@define
class Others:
    """The arrangements of one session, each with a cache of its own."""

    files: Mapping[str, str]
    """The workspace, for the map."""
    minimum: int = 1024
    caches: dict[str, CacheSimulator] = field(factory=dict)
    costs: dict[str, float] = field(factory=dict)
    read: dict[str, float] = field(factory=dict)
    total: dict[str, float] = field(factory=dict)
    _head: tuple[list[Block], list[Block]] | None = None
    _front: list[Block] = field(factory=list)
    _talk: list[Message] = field(factory=list)
    _growing: dict[str, Growing] = field(
        factory=lambda: {NAMES[0]: Growing(), IDEAL: Growing(ideal=True)}
    )

    def request(
        self,
        body: Mapping[str, Any],
        new: Sequence[Block],
        files: Mapping[str, str],
        own: Mapping[str, str],
        now: float,
        front: Sequence[Block] = (),
        wrote: Collection[str] = (),
    ) -> None:
        """One request. ``new``: the blocks of its last message without files; ``front``: what
        stands before that at the first request (the map and the tree of the repository); ``wrote``:
        files of which the model wrote every line.
        """
        if self._head is None:
            tools = [dict(tool) for tool in body.get("tools", ())]
            system = [dict(block) for block in body.get("system", ())]
            self._head = _bare(tools), _bare(system)
        messages = body["messages"]
        said = [m for m in messages[-2:-1] if m["role"] == "assistant"]
        if said and self._talk:
            reply: Message = ("assistant", _bare(said[0]["content"]))
            self._talk.append(reply)
            for one in self._growing.values():
                one.said.append(reply)
        blocks = _bare(new) or [_text("Go on.")]
        if not self._talk and front:
            self._front = _bare(front)
            for one in self._growing.values():
                one.said.append(("user", self._front))
        self._talk.append(("user", blocks))
        for name, one in self._growing.items():
            one.said.append(("user", [*one.changes(files, own, wrote), *blocks]))
            users = [n for n, (role, _) in enumerate(one.said) if role == "user"]
            self._send(name, self._body(one.said, marked=set(users[-2:])), now)
        self._send("three marks", self._three_marks(files), now)
        self._send("sections with a map", self._sections(files, blocks), now)

    def _send(self, name: str, body: dict[str, Any], now: float) -> None:
        cache = self.caches.setdefault(name, CacheSimulator(self.minimum))
        outcome = cache.send(body, now)
        self.costs[name] = self.costs.get(name, 0.0) + outcome.cost
        self.read[name] = self.read.get(name, 0.0) + outcome.read
        self.total[name] = self.total.get(name, 0.0) + outcome.total

    def _three_marks(self, files: Mapping[str, str]) -> dict[str, Any]:
        shown = [*self._front, *(_file(path, text) for path, text in files.items())]
        talk = [*([("user", _marked(shown))] if shown else []), *self._talk]
        return self._body(talk, marked={len(talk) - 1}, head=True)

    def _sections(self, files: Mapping[str, str], newest: Sequence[Block]) -> dict[str, Any]:
        words = set(re.findall(r"\w{3,}", " ".join(b.get("text", "") for b in newest)))
        start = self._exchange()
        shown = [_file(path, text) for path, text in files.items()]
        talk: list[Message] = [
            ("user", _marked([_text(self._map(files, words))])),
            *self._talk[:start],
            *([("user", _marked(shown))] if shown else []),
            *self._talk[start:],
        ]
        return self._body(talk, head=True)

    def _exchange(self) -> int:
        """Where the newest exchange begins: at its prompt."""
        for number in range(len(self._talk) - 1, -1, -1):
            role, blocks = self._talk[number]
            if role == "user" and all(b.get("type") != "tool_result" for b in blocks):
                return number
        return 0

    def _map(self, files: Mapping[str, str], words: set[str]) -> str:
        rows = []
        for path, text in self.files.items():
            if path in files:
                continue
            symbols = _SYMBOL.findall(text)
            hits = sum(bool(words & set(re.findall(r"\w+", row))) for row in (path, *symbols))
            rows.append((-hits, path, symbols))
        found = "Repository map:\n"
        for _, path, symbols in sorted(rows, key=lambda row: row[:2]):
            found += f"{path}:\n" + "".join(f"  {row.strip()}\n" for row in symbols[:12])
        return found[: MAP_TOKENS * 4]

    def _body(
        self, talk: Sequence[Message], marked: frozenset[int] | set[int] = frozenset(),
        head: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        assert self._head is not None
        tools, system = self._head
        return {
            "model": "m",
            "tools": tools,
            "system": _marked(system) if head else system,
            "messages": [
                {"role": role, "content": _marked(blocks) if number in marked else blocks}
                for number, (role, blocks) in enumerate(talk)
            ],
        }


def _bare(blocks: Sequence[Block]) -> list[Block]:
    return [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]


def _marked(blocks: Sequence[Block]) -> list[Block]:
    """With a mark on the last block that may have one."""
    found = list(blocks)
    for number in range(len(found) - 1, -1, -1):
        if found[number].get("type") not in ("thinking", "redacted_thinking"):
            found[number] = {**found[number], "cache_control": {"type": "ephemeral"}}
            break
    return found


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _file(path: str, text: str) -> Block:
    return _text(f"{path}\n```\n{text}\n```")
