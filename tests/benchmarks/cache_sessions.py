"""Editing sessions to replay: generated ones of six kinds, and ones taken from git histories."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tierline.context.tiers.hazard import churn
from tierline.workspace.git import MAX_COMMITS

KINDS = ("typical", "edit-heavy", "read-mostly", "long", "often cold", "many files")
_WORDS = """
    value index result buffer token offset parser session cursor entry handler request
    response config context window limit counter stream event message provider section reader
    writer cache prefix marker branch merge update record field state
""".split()  # noqa: SIM905


@dataclass
class Change:
    """One file becomes another text. ``old`` and ``new`` are set if the model proposed exactly that
    replacement; else somebody else made the change. ``text`` None: the file leaves the context.
    """

    path: str
    text: str | None
    old: str = ""
    new: str = ""


@dataclass
class Step:
    """One request. ``prompt`` begins a turn; without one it goes on after the model's edit."""

    gap: float
    prompt: str = ""
    before: list[Change] = field(default_factory=list)
    """Changes by the user or others before the request."""
    edit: Change | None = None
    """The model's own edit in its answer to this request."""
    reply: str = ""
    """The answer that ends the turn; empty if the answer was an edit."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Cards, memos and a selection that the prompt brings: keys and texts."""
    result: str = ""
    """What a tool gave that the model called in its answer to this request."""
    thinking: str = ""
    """What the model thought before its answer."""
    state: str = ""
    """The STATE block that the answer ended with."""


@dataclass
class Session:
    """A replayable session."""

    name: str
    kind: str
    files: dict[str, str]
    steps: list[Step]
    compaction_trigger: int = 24_000
    """Tokens of history above which all but the newest turns become a summary."""
    churn: dict[str, float] = field(default_factory=dict)
    """What the history before the session says of its files; empty where there is none."""


@dataclass
class _Shape:
    turns: int = 25
    files: int = 8
    lines: tuple[int, int] = (80, 350)
    edits: tuple[float, float] = (0.35, 0.35)
    """Chance per turn of edits by the user and by the model."""
    burst: int = 1
    """Files that one round of the user's edits touches, at most."""
    long_gap: float = 0.08
    reply: tuple[int, int] = (30, 160)
    added: float = 0.06
    removed: float = 0.03
    rounds: tuple[int, ...] = (0, 0, 1, 2, 4)
    """Calls that only read, in one turn."""


_SHAPES = {
    "typical": _Shape(),
    "edit-heavy": _Shape(edits=(0.9, 0.8), burst=3),
    "read-mostly": _Shape(edits=(0.05, 0.05), reply=(80, 300), added=0.15),
    "long": _Shape(turns=80),
    "often cold": _Shape(long_gap=0.4),
    "many files": _Shape(files=40, lines=(40, 200), burst=2),
}


def generated(kind: str, seed: int) -> Session:
    """A random session of a kind; the same seed gives the same session."""
    rng = random.Random(f"{kind}/{seed}")
    shape = _SHAPES[kind]
    files = {f"src/{_word(rng)}_{i}.py": _source(rng, shape.lines) for i in range(shape.files)}
    session = Session(f"{kind} {seed}", kind, dict(files), [])
    hot = rng.sample(sorted(files), max(2, shape.files // 4))
    for _ in range(shape.turns):
        before: list[Change] = []
        if rng.random() < shape.edits[0]:
            burst = range(rng.randint(1, shape.burst))
            before.extend(_edited(rng, files, _pick(rng, files, hot)) for _ in burst)
        if rng.random() < shape.added:
            path = f"src/{_word(rng)}_{len(files)}_{rng.randrange(1000)}.py"
            files[path] = _source(rng, shape.lines)
            before.append(Change(path, files[path]))
        if rng.random() < shape.removed and len(files) > 3:
            path = rng.choice(sorted(files))
            del files[path]
            before.append(Change(path, None))
        step = Step(_gap(rng, shape.long_gap), _prose(rng, 12, 60), before)
        session.steps.append(step)
        if rng.random() < shape.edits[1]:
            for _ in range(rng.randint(1, 2)):
                session.steps[-1].edit = _proposed(rng, files, _pick(rng, files, hot))
                session.steps.append(Step(rng.uniform(4, 25)))
        session.steps[-1].reply = _prose(rng, *shape.reply)
    return _with_defaults(session, shape.rounds)


def from_git(repository: Path, *, most: int = 5) -> list[Session]:
    """Sessions that retell a repository's history in stretches of 60 commits, a new one every 40:
    at most ``most``, the oldest first, so that they stay the same while the repository grows. Each
    commit is a turn whose files changed before it, at the commit's own time. None without a usable
    history (a shallow clone).
    """
    log = _git(repository, "log", "--reverse", "--no-merges", "--format=%H%x00%ct%x00%s%x00%b%x01")
    commits = [c.strip("\n").split("\0") for c in log.split("\x01") if c.strip()]
    starts = range(0, max(len(commits) - 8, 0), 40)[:most]
    return [_retold(repository, commits[start : start + 60], start) for start in starts]


def _retold(
    repository: Path, commits: list[list[str]], start: int, *, most_files: int = 14
) -> Session:
    touched: dict[str, int] = {}
    history: list[tuple[float, str, str, dict[str, str | None]]] = []
    for commit, time, subject, words in commits:
        changes: dict[str, str | None] = {}
        for line in _git(
            repository, "show", "--format=", "--name-status", "--no-renames", commit
        ).splitlines():
            status, _, path = line.partition("\t")
            if path.endswith((".py", ".ts", ".md", ".toml")) and '"' not in path:
                changes[path] = (
                    None if status == "D" else _git(repository, "show", f"{commit}:{path}")
                )
                touched[path] = touched.get(path, 0) + 1
        history.append((float(time), subject, words, changes))
    often = sorted(touched, key=lambda p: (-touched[p], p))[:most_files]
    there = {path: _git(repository, "show", f"{commits[0][0]}^:{path}") for path in often}
    files = {path: text for path, text in there.items() if _usable(text)}
    session = Session(f"commits {start} to {start + len(commits)}", "git", files, [])
    session.churn = churn(_before(repository, commits[0][0]), files)
    last = history[0][0]
    for when, subject, words, changes in history:
        before = [
            Change(path, text)
            for path, text in sorted(changes.items())
            if path in often and (text is None or _usable(text))
        ]
        gap = min(max(when - last, 20.0), 7200.0)
        last = when
        reply = words.strip() or f"Done: {subject}."
        listed = "\n".join(f"- {path}" for path in sorted(changes))
        session.steps.append(Step(gap, f"Review: {subject}", before, None, f"{reply}\n{listed}"))
    return _with_defaults(session, _Shape().rounds)


def _before(repository: Path, commit: str) -> list[set[str]]:
    """The paths that earlier commits touched, the newest first, as the product reads them."""
    log = _git(
        repository, "log", "--no-merges", "--no-renames", "--name-only", "-n", str(MAX_COMMITS),
        "--format=%x01", f"{commit}^",
    )  # fmt: skip
    return [set(record.split()) for record in log.split("\x01")[1:]]


def _usable(text: str) -> bool:
    return len(text) < 40_000 and bool(text.strip())


def _git(repository: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repository), *args], capture_output=True, check=False, timeout=60
    )
    return done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


# --- what a user gets by default ---------------------------------------------------------------


def _with_defaults(session: Session, rounds: tuple[int, ...]) -> Session:
    """The session with cards, memos, a selection, calls that read, thinking and STATE, as the
    default settings bring them. Sizes are those of the product: a card has up to five lines, a
    result up to what a tool gives, and a reply ends with the four lines of STATE.
    """
    rng = random.Random(f"defaults/{session.name}")
    cards = [(f"card:lib/{_word(rng)}_{n}.py", _card(rng)) for n in range(30)]
    memos = [(f"memo:{n}", f"Note: {_prose(rng, 20, 70)}") for n in range(4)]
    state = [_prose(rng, 6, 16) for _ in range(4)]
    steps: list[Step] = []
    for planned in session.steps:
        step = planned
        if step.prompt:
            step.notes = rng.sample(cards, rng.choice((0, 1, 2, 3, 5)))
            step.notes += rng.sample(memos, rng.choice((0, 0, 1, 2)))
            if rng.random() < 0.2:
                step.notes.append(("prompt:selection", _lines(rng, 3, 20)))
            for _ in range(rng.choice(rounds)):
                look = Step(step.gap, step.prompt, step.before, notes=step.notes)
                look.thinking, look.result = _thoughts(rng), _result(rng)
                steps.append(look)
                step = _rest_of(step, gap=rng.uniform(3, 20))
        step.thinking = _thoughts(rng)
        if step.reply:
            for n in rng.sample(range(4), rng.randint(0, 3)):
                state[n] = _prose(rng, 6, 16)
            names = ("GOAL", "DONE", "NEXT", "FILES")
            lines = (f"{name}: {text}" for name, text in zip(names, state, strict=True))
            step.state = "\n".join(lines) + "\n"
        steps.append(step)
    session.steps = steps
    return session


def _rest_of(step: Step, gap: float) -> Step:
    """The rest of a turn whose prompt was sent already."""
    return Step(gap, edit=step.edit, reply=step.reply)


def _lines(rng: random.Random, low: int, high: int) -> str:
    return "\n".join(_line(rng) for _ in range(rng.randint(low, high))) + "\n"


def _card(rng: random.Random) -> str:
    return f"[Code found for this prompt]\n{_lines(rng, 2, 5)}Why: {_prose(rng, 4, 9)}"


def _result(rng: random.Random) -> str:
    size = min(int(rng.lognormvariate(3.6, 1.1)), 220)
    return _lines(rng, max(size, 1), max(size, 1))


def _thoughts(rng: random.Random) -> str:
    words = min(20 + int(rng.lognormvariate(4.2, 1.0)), 900)
    return _prose(rng, words, words)


# --- invention -----------------------------------------------------------------------------------


def _gap(rng: random.Random, long_gap: float) -> float:
    if rng.random() < long_gap:
        return rng.choice(
            (rng.uniform(310, 1500), rng.uniform(1500, 3500), rng.uniform(4000, 20000))
        )
    return min(rng.lognormvariate(4.3, 0.7), 290.0)


def _word(rng: random.Random) -> str:
    return rng.choice(_WORDS)


def _line(rng: random.Random) -> str:
    args = ", ".join(_word(rng) for _ in range(rng.randint(1, 4)))
    return f"    {_word(rng)}_{rng.randrange(100)} = self.{_word(rng)}({args})"


def _source(rng: random.Random, lines: tuple[int, int]) -> str:
    return "\n".join(_line(rng) for _ in range(rng.randint(*lines))) + "\n"


def _prose(rng: random.Random, low: int, high: int) -> str:
    return " ".join(_word(rng) for _ in range(rng.randint(low, high))).capitalize() + "."


def _pick(rng: random.Random, files: dict[str, str], hot: list[str]) -> str:
    alive = [path for path in hot if path in files]
    return rng.choice(alive) if alive and rng.random() < 0.75 else rng.choice(sorted(files))


def _edited(rng: random.Random, files: dict[str, str], path: str) -> Change:
    lines = files[path].split("\n")[:-1]
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(lines))
        cut = rng.randint(0, 3)
        lines[place : place + cut] = [_line(rng) for _ in range(rng.randint(1, 5))]
    files[path] = "\n".join(lines) + "\n"
    return Change(path, files[path])


def _proposed(rng: random.Random, files: dict[str, str], path: str) -> Change:
    lines = files[path].split("\n")[:-1]
    place = rng.randrange(len(lines))
    old = "\n".join(lines[place : place + rng.randint(1, 3)])
    new = "\n".join(_line(rng) for _ in range(rng.randint(1, 6)))
    files[path] = files[path].replace(old, new, 1)
    return Change(path, files[path], old, new)
