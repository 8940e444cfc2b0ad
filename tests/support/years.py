"""A history of years, made quickly: many sessions in the format that the store itself writes.

Each kind of record is encoded once by the product's own codec, with marks in the places of what
differs; then bytes are put in. So the format is the real one, and a gigabyte takes seconds.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from attrs import define, field, frozen

from tierline.context.blocks import Block, Text, ToolResult, ToolUse
from tierline.history import actions
from tierline.history.actions import Action
from tierline.history.codec import encode
from tierline.history.events import EventKind, LogEvent
from tierline.history.messages import HistoryRole, Message
from tierline.store.log import encode_line

FIRST_MS = 1_640_995_200_000
"""The first session begins in January 2022."""
_LETTERS = "etaoinshrdlcumwfgypbvk"
_MARKS = ("@@id@@", "@@session@@", "@@group@@", "@@time@@", "@@text@@")


@frozen
class Made:
    """What was written."""

    sessions: tuple[str, ...]
    """Their ids, in the order in which they began."""
    deleted: frozenset[str]
    renamed: frozenset[str]
    records: int
    bytes: int


@define
class _Maker:
    chance: random.Random
    pool: bytes
    number: int = 0
    templates: dict[str, tuple[bytes, ...]] = field(factory=dict)

    def line(self, kind: str, session: str, group: str, when: int, text: bytes = b"") -> bytes:
        """One record. ``when`` is in milliseconds since 1970."""
        self.number += 1
        identifier = b"%d-%08x" % (when, self.number)
        stamp = datetime.fromtimestamp(when / 1000, UTC).isoformat(timespec="milliseconds")
        values = {
            b"id": identifier,
            b"session": session.encode(),
            b"group": group.encode(),
            b"time": stamp.replace("+00:00", "Z").encode(),
            b"text": text,
        }
        return b"".join(values.get(part, part) for part in self._template(kind))

    def text(self, size: int) -> bytes:
        """Words of about ``size`` bytes."""
        at = self.chance.randrange(max(1, len(self.pool) - size - 32))
        start = self.pool.index(b" ", at) + 1
        return self.pool[start : self.pool.index(b" ", start + size)]

    def _template(self, kind: str) -> tuple[bytes, ...]:
        if kind not in self.templates:
            line = encode_line(encode(_entry(kind)))
            self.templates[kind] = tuple(line.split(b"@@"))
        return self.templates[kind]


def write(path: Path, *, sessions: int, megabytes: float, seed: int = 1) -> Made:
    """Write a log: sessions of very different lengths, one in twenty mixed with the next, as with
    two windows; some renamed, deleted, with a turn taken back, with files.
    """
    chance = random.Random(seed)
    maker = _Maker(chance, _pool(seed, 700_000 if megabytes > 50 else 60_000))
    weights = [chance.lognormvariate(0, 1.2) for _ in range(sessions)]
    scale = megabytes * 1e6 / sum(weights)
    ids, deleted, renamed = [], set(), set()
    written = 0
    late: list[bytes] = []
    with path.open("wb") as log:
        for number, weight in enumerate(weights):
            began = FIRST_MS + number * 1_500_000 + chance.randrange(900_000)
            session = f"sess_{began}_{number % 0xFFFFFF:06x}"
            ids.append(session)
            lines = list(_session(maker, session, began, int(scale * weight)))
            if number % 40 == 7:
                renamed.add(session)
            if number % 50 == 11:
                deleted.add(session)
            lines += _endings(maker, session, began, number)
            if number % 20 == 3:  # the next one begins before this one ends
                half = len(lines) // 2
                lines, rest = lines[:half], lines[half:]
            else:
                rest = []
            written += log.write(b"".join([*lines[:2], *late, *lines[2:]]))
            late = rest
        written += log.write(b"".join(late))
    return Made(tuple(ids), frozenset(deleted), frozenset(renamed), maker.number, written)


def _session(maker: _Maker, session: str, when: int, size: int) -> Iterator[bytes]:
    """A session's records, of about ``size`` bytes: at least one turn."""
    done = 0
    while done == 0 or done < size:
        group = f"{when}-{maker.number:08x}"
        sizes = [maker.chance.choice((40, 120, 400)), 60, 300, maker.chance.randrange(200, 1800)]
        if size - done > 4000:
            sizes[2] = min(size - done, maker.chance.choice((1_000, 4_000, 12_000, 30_000)))
        kinds: tuple[str, ...] = ("prompt", "call", "result", "reply")
        if size - done < 1500:
            kinds, sizes = ("prompt", "reply"), [sizes[0], sizes[3]]
        for kind, length in zip(kinds, sizes, strict=True):
            when += maker.chance.randrange(500, 40_000)
            line = maker.line(kind, session, group, when, maker.text(length))
            done += len(line)
            yield line


def _endings(maker: _Maker, session: str, when: int, number: int) -> Iterator[bytes]:
    if number % 10 == 5:
        yield maker.line("files", session, "", when + 900_000)
    if number % 40 == 7:
        yield maker.line("rename", session, "", when + 900_001, b"Renamed %d" % number)
    if number % 50 == 11:
        yield maker.line("delete", session, "", when + 900_002)


def _entry(kind: str) -> Message | LogEvent:
    identifier, session, group, stamp, text = _MARKS
    events: dict[str, Action] = {
        "rename": actions.rename(text),
        "delete": Action(EventKind.DELETE),
        "files": Action(EventKind.FILES, {"files": ["src/a.py", "src/b.py"]}),
    }
    if kind in events:
        action = events[kind]
        return LogEvent(identifier, session, stamp, action.kind, "main", dict(action.data))
    contents: dict[str, tuple[HistoryRole, tuple[Block, ...]]] = {
        "prompt": ("user", (Text(text),)),
        "call": ("assistant", (Text(text), ToolUse("call1", "read_file", {"path": "src/a.py"}))),
        "result": ("tool", (ToolResult("call1", (Text(text),)),)),
        "reply": ("assistant", (Text(text),)),
    }
    role, content = contents[kind]
    usage = {"input": 1000, "output": 200} if kind == "reply" else {}
    return Message(
        identifier, session, group, stamp, role, content, parsing_strategy="anthropic",
        tokens=sum(usage.values()), usage=usage,
    )  # fmt: skip


@functools.cache
def words(seed: int) -> Sequence[str]:
    """The words of a history, the frequent ones first."""
    chance = random.Random(seed)
    made = {"".join(chance.choices(_LETTERS, k=chance.randint(2, 11))) for _ in range(58_000)}
    return sorted(made, key=lambda w: (len(w), w))


@functools.cache
def _pool(seed: int, count: int) -> bytes:
    """Text of so many words, of which some are frequent and most are rare."""
    some = words(seed)
    weights = [1 / (n + 3) for n in range(len(some))]
    return " ".join(random.Random(seed).choices(some, weights, k=count)).encode()
