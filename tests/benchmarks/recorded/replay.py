"""Lives through a recorded session with the whole server, as its user would have with Tierline.

The server runs with its defaults, in a process of its own, over the language server protocol; the
enforcing server answers with what was said in the recording. The model's edits are proposed by
``propose_edit`` and accepted; what others changed is written to the disk between the turns; what
the model read is read with ``read_file``, what a command printed is read from a file that holds it.
Pauses pass on the clocks of both processes without being waited for.
"""

from __future__ import annotations

import asyncio
import difflib
import itertools
import json
import mmap
import os
import random
import struct
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import define, field, frozen

from benchmarks.recorded.recording import Edit, Recording, Round, Turn
from lsp.editing import EditingEditor
from lsp.pipe import hook
from tierline import protocol as p
from wire.agents import Use
from wire.enforcing import Answer, EnforcingServer

PAUSES = (
    10, 24, 25, 27, 33, 34, 48, 57, 76, 100, 108, 111, 121, 121, 131, 144, 160, 172, 181, 184, 193,
    208, 230, 265, 305, 320, 351, 421, 617, 805, 1018, 1363,
)  # fmt: skip
"""Seconds between prompts, taken where the history does not tell times (aider's chat history tells
the session's alone): those of five people whose input histories were read. Which one is taken
depends on the session's name and the turn alone.
"""
AT_ONCE = 5.0
"""Seconds after which a tool goes on by itself."""
BYTECODE = Path(__file__).parents[3] / "build" / "bytecode"
OUTPUTS = "recorded-output"
"""Folder for what commands and searches of the recording printed."""
_TEMPORARY = os.path.realpath(tempfile.gettempdir())
_CLOCK = """
import mmap, os, struct, time
_file = open(os.environ["TIERLINE_RECORDED_CLOCK"], "rb")
_ahead = mmap.mmap(_file.fileno(), 8, access=mmap.ACCESS_READ)
_real = time.time
time.time = lambda: _real() + struct.unpack("d", _ahead[:8])[0]
"""


@frozen
class Sent:
    """One request for a reply, and what was true when it was sent."""

    body: Any
    at: float
    """Seconds since 1970, on the session's clock."""
    files: Mapping[str, str]
    """What the files in the chat said."""
    own: Mapping[str, str]
    """By file: the id of the accepted call that last changed it, if no one else did after it."""
    turn: int


@define
class Played:
    """What came of a session."""

    recording: Recording
    sent: list[Sent] = field(factory=list)
    summaries: list[tuple[Any, float]] = field(factory=list)
    """Bodies of the requests by which the product asked for summaries, with their times."""
    refused: list[str] = field(factory=list)
    failed: list[str] = field(factory=list)
    """Turns that did not end well, and edits that could not be made as recorded."""
    seconds: list[float] = field(factory=list)
    """Of each turn, with a provider that answers at once."""
    estimates: list[float] = field(factory=list)
    """By how many percent the estimate was off what the provider reported, turn by turn."""
    disk: int = 0
    """Bytes in ``.tierline`` at the end."""
    texts: int = 0
    """Bytes of what was said in the session."""


@define
class Player:
    """One session while it is lived through."""

    recording: Recording
    root: Path
    played: Played
    answers: list[Answer] = field(factory=list)
    chat: set[str] = field(factory=set)
    coming: list[str] = field(factory=list)
    """Files that come into the chat as soon as they are there: those that an edit makes."""
    own: dict[str, str] = field(factory=dict)
    turn: int = 0
    outputs: int = 0
    model: EnforcingServer | None = None
    summarise: Callable[[Any], str] | None = None
    """Who answers requests for a summary; None: ``_summary``."""
    looking: Looking | None = None

    def answer(self, body: Any, number: int) -> Answer:
        """The provider's next reply. Called in its thread."""
        assert self.model is not None
        at = self.model.taken[-1].at
        if not body.get("tools"):
            self.played.summaries.append((body, at))
            return Answer((self.summarise or _summary)(body), thinking="")
        for message in body["messages"][-1:]:
            self._results(message)
        files = {path: text for path in self.chat if (text := self._read(path)) is not None}
        self.played.sent.append(Sent(body, at, files, dict(self.own), self.turn))
        return self.answers.pop(0) if self.answers else Answer("Done.", thinking="")

    def _results(self, message: Mapping[str, Any]) -> None:
        for block in message["content"]:
            if block.get("type") == "tool_result" and block["tool_use_id"] in self.proposed:
                path = self.proposed[block["tool_use_id"]]
                self.own[path] = block["tool_use_id"]

    proposed: dict[str, str] = field(factory=dict)

    def _read(self, path: str) -> str | None:
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except OSError:
            return None

    def write(self, path: str, text: str | None) -> None:
        """Others change a file."""
        file = self.root / path
        if text is None:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def script(self, turn: Turn) -> list[Answer]:
        """The replies of a turn, in the product's tools."""
        texts: dict[str, str | None] = {}
        found: list[Answer] = []
        for number, done in enumerate(turn.rounds):
            uses = [*self._looks(done), *self._edits(done, texts)]
            last = number == len(turn.rounds) - 1
            text = done.text or ("Done." if last and not uses else "")
            found.append(Answer(text, thinking=done.thinking, uses=tuple(uses)))
            if last and uses:
                found.append(Answer("Done.", thinking=""))
        return found

    def _looks(self, done: Round) -> Iterator[Use]:
        for look in done.looks:
            path = look.path
            if not path or not (self.root / path).is_file():
                self.outputs += 1
                path = f"{OUTPUTS}/{self.outputs:03}.txt"
                self.write(path, look.text)
            yield Use("read_file", {"path": path}, self._id())

    def _edits(self, done: Round, texts: dict[str, str | None]) -> Iterator[Use]:
        by_path: dict[str, list[Edit]] = {}
        for edit in done.edits:
            by_path.setdefault(edit.path, []).append(edit)
        for path, edits in by_path.items():
            before = texts[path] if path in texts else self._read(path)
            after = edited(before, edits)
            if after is None or after == before or not after.strip():
                self.played.failed.append(f"turn {self.turn}: an edit of {path} does not fit")
                continue
            texts[path] = after
            given: dict[str, Any] = {"path": path}
            if before is None:
                given["content"] = after
            else:
                pairs = replacements(before, after, edits)
                given["edits"] = [{"search": old, "replace": new} for old, new in pairs]
            use = Use("propose_edit", given, self._id())
            self.proposed[use.id] = path
            yield use

    calls: int = 0

    def _id(self) -> str:
        self.calls += 1
        return f"toolu_{self.calls:05}"


Looking: TypeAlias = Callable[[Player, int], p.EditorPlace | None]
"""Of a session and the number of a turn: what is open in the editor; None where nothing is."""


def edited(before: str | None, edits: Sequence[Edit]) -> str | None:
    """The text after the edits; None if one does not fit."""
    text = before
    for edit in edits:
        if edit.search is None:
            text = edit.replace
        elif text is None or edit.search not in text:
            return None
        else:
            text = text.replace(edit.search, edit.replace, 1)
    return text


def replacements(before: str, after: str, edits: Sequence[Edit]) -> list[tuple[str, str]]:
    """Pairs that turn one text into the other, each of which fits in one place: as they were
    recorded, or else one that holds all that changed.
    """
    pairs = [(edit.search or "", edit.replace) for edit in edits]
    if all(before.count(old) == 1 for old, _ in pairs):
        text = before
        for old, new in pairs:
            text = text.replace(old, new, 1) if text.count(old) == 1 else ""
        spans = sorted((before.index(old), before.index(old) + len(old)) for old, _ in pairs)
        apart = all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
        if text == after and apart:
            return pairs
    old_lines, new_lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    a0, a1, b0, b1 = changed[0][1], changed[-1][2], changed[0][3], changed[-1][4]
    while True:
        old, new = "".join(old_lines[a0:a1]), "".join(new_lines[b0:b1])
        if (old and before.count(old) == 1) or (a0 == 0 and a1 == len(old_lines)):
            return [(old, new)]
        if a0:
            a0, b0 = a0 - 1, b0 - 1
        if a1 < len(old_lines):
            a1, b1 = a1 + 1, b1 + 1


async def play(
    recording: Recording,
    policy: str = "",
    settings: Mapping[str, Any] | None = None,
    *,
    model: str = "",
    after: Callable[[Player, EditingEditor], Awaitable[None]] | None = None,
    looking: Looking | None = None,
    summarise: Callable[[Any], str] | None = None,
    rest: float = 0.0,
) -> Played:
    """Live through a session. ``policy``: another one than the default; ``after`` is called at its
    end, while the server still runs. ``looking``: where the user is in the editor at each prompt.
    ``summarise`` answers the bodies of requests for summaries. ``rest``: real seconds between the
    turns; the product compacts when nobody has typed for a moment.
    """
    played = Played(recording)
    with tempfile.TemporaryDirectory(dir=_TEMPORARY) as name:
        base = Path(name)
        player = Player(recording, base / "work", played, looking=looking, summarise=summarise)
        player.root.mkdir()
        (player.root / ".git").mkdir()
        (player.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        for path, text in recording.files.items():
            player.write(path, text)
        clock = base / "clock"
        clock.write_bytes(struct.pack("d", 0.0))
        with (
            clock.open("r+b") as file,
            mmap.mmap(file.fileno(), 8) as ahead,
            EnforcingServer("anthropic", player.answer) as server,
        ):
            player.model = server
            editor = EditingEditor(player.root)
            editor.experimental = {"save": True}  # edits are asked about by messages
            await editor.start(
                env=_environment(base, server, policy, model),
                settings=dict(settings or {}),
                capabilities=editor.capabilities_given(),
            )
            try:
                await _live(player, editor, ahead, rest)
                if after is not None:
                    await after(player, editor)
            finally:
                await editor.stop()
            played.refused = [refused.message for refused in server.refused]
        kept = player.root / ".tierline"
        played.disk = sum(file.stat().st_size for file in kept.rglob("*") if file.is_file())
    return played


def _environment(base: Path, server: EnforcingServer, policy: str, model: str) -> dict[str, str]:
    paths = [*hook(base / "hook", _CLOCK).values(), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONDONTWRITEBYTECODE": "",  # or the first turn compiles the SDK
        "PYTHONPYCACHEPREFIX": str(BYTECODE),
        "TIERLINE_RECORDED_CLOCK": str(base / "clock"),
        "TIERLINE_PROVIDER_NAME": "anthropic",
        "TIERLINE_PROVIDER_BASE_URL": server.url,
        "TIERLINE_PROVIDER_MODEL": model or server.model,
        "ANTHROPIC_API_KEY": "test-key-of-nobody",
        "TIERLINE_SYMBOLS_ENABLED": "true",
        **({"TIERLINE_CACHE_POLICY": policy} if policy else {}),
    }


async def _live(player: Player, editor: EditingEditor, ahead: mmap.mmap, rest: float) -> None:
    assert player.model is not None
    await editor.until(
        lambda: any(e.status.state == "ready" for e in editor.bodies(p.SymbolsChanged)), 60
    )
    gone_by, last = 0.0, None
    for number, turn in enumerate(player.recording.turns):
        player.turn = number
        if number:
            if turn.at_once:
                gone_by += AT_ONCE
            elif last is not None and turn.at is not None:
                gone_by += max(0.0, turn.at - last)
            else:
                gone_by += random.Random(f"{player.recording.name} {number}").choice(PAUSES)
        last = last if turn.at_once else turn.at
        player.model.skew = gone_by
        ahead[:8] = struct.pack("d", gone_by)
        await _before(player, editor, turn)
        player.answers[:] = player.script(turn)
        began = time.perf_counter()
        place = player.looking(player, number) if player.looking is not None else None
        prompt = p.ChatSendParams(text=turn.prompt, mentions="text", editor=place)
        sent = await editor.ask("chat/send", prompt)
        end = await editor.finished(sent.turn_id, 120)
        player.played.seconds.append(time.perf_counter() - began)
        if end.outcome != "ok":
            player.played.failed.append(f"turn {number}: {end.outcome} {end.error}")
        await asyncio.sleep(rest)
        player.played.texts += len(turn.prompt) + sum(len(r.text) for r in turn.rounds)
    turns: p.TurnStatsResult = await editor.ask("stats/turns", p.TurnStatsParams(limit=500))
    player.played.estimates = [
        row.error_percent for row in reversed(turns.turns) if row.error_percent is not None
    ]


async def _before(player: Player, editor: EditingEditor, turn: Turn) -> None:
    """What happens between two prompts."""
    for path, text in turn.changes.items():
        player.own.pop(path, None)
        if editor.uri(path) in editor.documents and text is not None:
            editor.type_in(path, text)
            editor.documents[editor.uri(path)].save()
        else:
            player.write(path, text)
    for path in turn.drops:
        if path in player.chat:
            player.chat.discard(path)
            await editor.ask("files/remove", p.FileParams(path=path))
    coming = dict.fromkeys([*(one for one in player.coming if one not in turn.drops), *turn.adds])
    player.coming = []
    for path in coming:
        if (player.root / path).is_file():
            player.chat.add(path)
            await editor.ask("files/add", p.FileParams(path=path, confirm=True))
        else:
            player.coming.append(path)


def _summary(body: Any) -> str:
    """What a model may say of a conversation: each prompt's beginning, in few words. It stands in
    for the model that is not here; what summaries lose is measured apart.
    """
    text = "".join(b["text"] for b in body["messages"][-1]["content"])
    if "boundary" in json.dumps(body.get("system", "")):
        return '{"boundary_index": null, "confidence": 0}'
    lines = [line.strip() for line in text.split("\n") if len(line.strip()) > 30]
    step = max(1, len(lines) // 20)
    return "Finished\n" + "\n".join(f"- {line[:80]}" for line in lines[::step][:20])
