"""Reads aider's ``.aider.chat.history.md``.

Of the form (its ``io.py``): a session begins with ``# aider chat started at TIME``; what the user
typed stands behind ``#### ``, what aider said behind ``> ``, both with two blanks at each line's
end (which formatters take away); everything else is the model's. aider says which files are in the
chat, which edits it applied and under which commit, so that with the repository every text is
known. Times of prompts stand in ``.aider.input.history`` (``# TIME``, then the lines behind ``+``),
which is read beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from attrs import define, evolve, field

from benchmarks.recorded.blocks import edits_in
from benchmarks.recorded.recording import Contents, Drafting, Recording, Round, Turn, unknown

_STARTED = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_TYPED_AT = re.compile(r"^# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\s*$")
_TYPED = re.compile(r"^####(?: (.*?))?  $")
_TOOL = re.compile(r"^>(?: (.*?))?  $")
_LAST_TOLD = re.compile(r"(?:^|\S)  $")
"""Lines before the last one may end in more blanks."""
_BARE_TYPED, _BARE_TOOL = re.compile(r"^#### (.*?) *$"), re.compile(r"^>(?: (.*?))? *$")
"""The same in a history that a formatter has been through."""
_ADDED = re.compile(r"^Added (\S.*?) to (?:the chat|read-only files)\.?$")
_REMOVED = re.compile(r"^(?:Removed|Dropping) (?:read-only file )?(\S.*?) from the chat\.?$")
_DROPPED_ALL = "Dropping all files from the chat session."
_APPLIED = re.compile(r"^Applied edit to (\S.*)$")
_LINES = re.compile(r"^\d+ lines of output$")
_COMMIT = re.compile(r"^Commit ([0-9a-f]{7,40}) (?!was reset)")
_ROOT = re.compile(r"^(?:Git repository created in|Git working dir:|Cur working dir:) (\S+)")
_OFFERED = re.compile(
    r"^Add (?P<name>these files|\S+) to the chat\?(?:.*\]:)? *(?:y|yes|a|all)$", re.IGNORECASE
)
_THINKING = re.compile(
    r"^(?:<(?P<tag>thinking-content-\w+)>\n(?P<inner>.*?)\n</(?P=tag)>"
    r"|► \*\*THINKING\*\*\n(?P<older>.*?)\n► \*\*ANSWER\*\*)\s*",
    re.DOTALL | re.MULTILINE,
)
_ANSWERED = re.compile(r"^Tokens: .* received")
"""Behind every reply; what the model says after it answers what aider told it by itself."""
_ANSWER = re.compile(r"^[^\n]*\? \(Y\)es/\(N\)o.*?\]:[^\n]*\Z")
"""A question of aider's with its answer, which some versions write like a prompt."""
_FIXES = re.compile(r"^Attempt to fix ")
_PARTLY = re.compile(r"^# The other \d+ SEARCH/REPLACE blocks? were applied successfully")
_MALFORMED = "The LLM did not conform to the edit format."
_BOOKKEEPING = re.compile(
    r"^(?:Tokens: |Applied edit to |Commit |Committing |Added |Add |You can use /undo|https?://"
    r"|Allow edits to |Create new file\?|Retrying in )"
)
_ASKED = re.compile(r"^/(?:ask|code|architect|chat-mode \w+) +(?=\S)")
_BLOCK = re.compile(r"^<{5,9} ?(SEARCH|ORIGINAL)")
_BLOCK_END = re.compile(r"^>{5,9} ?(REPLACE|UPDATED)")


@define
class _Draft:
    """One session while it is read."""

    drafting: Drafting
    chat: set[str] = field(factory=set)
    adds: list[str] = field(factory=list)
    later: list[str] = field(factory=list)
    """Files that came in after the reply of the turn that is being read."""
    drops: list[str] = field(factory=list)
    gone: list[str] = field(factory=list)
    """Files that left after the reply of the turn that is being read."""
    times: list[tuple[float, str]] = field(factory=list)
    """When what was typed; what has been met is taken away."""
    prompt: str = ""
    at: float | None = None
    reply: list[str] = field(factory=list)
    applied: list[str] = field(factory=list)
    commits: list[str] = field(factory=list)
    after: list[str] | None = None
    """What aider told since the reply ended."""
    planned: str = ""
    """What an architect's model said; the prompt of the one that edits, which writes the reply."""
    fresh: bool = False
    """The line before was aider's."""
    by_itself: bool = False
    """The prompt is aider's own."""
    unended: bool = False
    """The last of that has further lines."""
    told_last: list[str] = field(factory=list)
    before: dict[str, str] = field(factory=dict)
    """Texts before the last turn's edits, for /undo."""
    pending: dict[str, str | None] = field(factory=dict)
    """What others changed since the last turn."""

    def typed(self, text: str) -> None:
        if _ANSWER.match(text):
            self.told(text)
            return
        if text.strip() and _bare(text) == _bare("\n".join(self.reply)):
            self.planned, self.reply, self.after = "\n".join(self.reply).strip("\n"), [], None
            return
        silent = not any(map(str.strip, self.reply))
        before = self.prompt, self.at
        self.flush()
        asked = _ASKED.sub("", text)
        if text.startswith("/undo"):
            self._undo()
        elif asked != "<blank>" and not asked.startswith(("/", "!")):
            again = before[0] == asked and silent  # "/ask X" is followed by X alone
            self.prompt, self.at = asked, before[1] if again else self._when(text, asked)

    def _when(self, *texts: str) -> float | None:
        """When one of the texts was typed, going on from the last one that was found."""
        wanted = {" ".join(text.split()) for text in texts}
        for place, (at, typed) in enumerate(self.times):
            if typed in wanted or _ASKED.sub("", typed) in wanted:
                del self.times[: place + 1]
                return at
        return None

    def told(self, line: str) -> None:
        if self.after is not None:
            self.after.append(line)
        self.fresh = True
        if (found := _ADDED.match(line)) and not _LINES.match(found[1]):
            self._add(found[1])
        elif found := _REMOVED.match(line):
            self._drop(found[1])
        elif line == _DROPPED_ALL:
            for path in sorted(self.chat):
                self._drop(path)
        elif found := _APPLIED.match(line):
            self.applied.append(self._relative(found[1]))
        elif found := _COMMIT.match(line):
            self.commits.append(found[1])
        elif _ANSWERED.match(line) and self.prompt:
            self.after = []
        elif found := _OFFERED.match(line):
            named = found["name"] not in ("file", "these files", "URL")
            for name in [found["name"]] if named else self.told_last:
                self._add(name)
        bare = bool(line) and " " not in line and "." in line
        self.told_last = [*self.told_last, line] if bare else []

    def goes_on(self, line: str) -> bool:
        """Whether a line before or behind a reply belongs to what aider tells: of several lines
        only the first stands behind ``> ``, and only the last has the two blanks.
        """
        replies = self.after is None and any(map(str.strip, self.reply))
        under = self.fresh and bool(line.strip())
        self.fresh = False
        if replies or not (self.unended or under or line.startswith("> ")):
            return False
        self.fresh = True
        if self.after is not None:
            self.after.append(line.removeprefix("> ").rstrip())
        self.unended = not _LAST_TOLD.search(line)
        return True

    def replied(self, line: str) -> None:
        """A line of a reply. After the end of the turn's first one, aider has gone on by itself:
        with what a linter said, with files that were asked for, with blocks that did not fit.
        """
        if self.after is not None and line.strip():
            asked = self._reflected(self.after)
            self.flush()
            self.prompt, self.at, self.by_itself = asked, None, True
        self.reply.append(line)

    def _reflected(self, told: list[str]) -> str:
        first = next((n for n, line in enumerate(told) if line.startswith("# ")), None)
        if first is not None:
            last = next((n for n, line in enumerate(told) if _FIXES.match(line)), len(told))
            return "\n".join(told[first:last]).strip()
        if self.later:
            return f"I added these files to the chat: {', '.join(self.later)}"
        said = [line for line in told if line.strip() and not _BOOKKEEPING.match(line)]
        return "\n".join(said) or "Go on."

    def flush(self) -> None:
        """The turn is over, if there is one."""
        prompt, reply = self.prompt, "\n".join(self.reply).strip("\n")
        applied, commits = list(dict.fromkeys(self.applied)), self.commits
        told, by_itself, planned = self.after or [], self.by_itself, self.planned
        self.prompt, self.reply, self.applied, self.commits = "", [], [], []
        self.after, self.unended, self.by_itself, self.planned = None, False, False, ""
        if not prompt or not (reply or planned):
            return
        drafting = self.drafting
        for path in self.adds:
            drafting.know(path)
        thinking = "\n\n".join((m["inner"] or m["older"] or "") for m in _THINKING.finditer(reply))
        reply = _THINKING.sub("", reply)
        text, edits = edits_in(reply, applied)
        if _MALFORMED in told:
            quoted = "\n".join(told)
            part = any(map(_PARTLY.match, told))
            made = [e for e in edits if part and (e.search or "").rstrip() not in quoted]
            applied = list(dict.fromkeys(edit.path for edit in made))
        else:
            made = [edit for edit in edits if edit.path in applied]
        for path in applied:  # what aider edits is in the chat
            if path not in self.chat:
                self.chat.add(path)
                self.adds.append(path)
        changes, self.pending = self.pending, {}
        before = dict(drafting.now)
        applied_edits = [drafting.apply(edit, changes) for edit in made]
        made = [edit for edit in applied_edits if edit is not None]
        for edit in made:  # the text of a file that was not known before is rebuilt from its edits
            if edit.path in drafting.files:
                before.setdefault(edit.path, drafting.files[edit.path])
        self.before = before if made else self.before
        self._as_committed(applied, commits)
        if edits and not made:  # blocks that did not fit are a part of what was said
            text = reply
        text = f"{planned}\n\n{text}".strip("\n")
        drafting.done(
            Turn(
                prompt,
                (Round(text or "Done.", (), tuple(made), thinking.strip()),),
                self.at,
                tuple(p for p in dict.fromkeys(self.adds) if p in {*self.chat, *self.gone}),
                tuple(dict.fromkeys(self.drops)),
                changes,
                by_itself,
            )
        )
        self.adds, self.later = self.later, []
        self.drops, self.gone = self.gone, []

    def _as_committed(self, applied: list[str], commits: list[str]) -> None:
        """With the repository: what an edit's commit says of a file and the edit does not, others
        (a linter, the user) have changed.
        """
        for path in applied if commits else ():
            text = self.drafting.contents(path, None, commits[-1])
            if text is not None:
                self.drafting.changed(self.pending, path, text)

    def _undo(self) -> None:
        for path, text in self.before.items():
            self.drafting.changed(self.pending, path, text)
        self.before = {}

    def _add(self, name: str) -> None:
        path = self._relative(name)
        if path and "://" not in path and path not in self.chat:
            self.chat.add(path)
            (self.later if self._replied() else self.adds).append(path)

    def _drop(self, name: str) -> None:
        path = self._relative(name)
        if path not in self.chat:
            return
        self.chat.discard(path)
        self.later = [one for one in self.later if one != path]
        if self._replied():
            self.gone.append(path)
        else:
            self.drops.append(path)
            self.adds = [one for one in self.adds if one != path]

    def _replied(self) -> bool:
        """Whether the turn that is being read has its reply: what follows is before the next."""
        return self.after is not None or any(map(str.strip, self.reply))

    def _relative(self, name: str) -> str:
        """A path in the repository: by its end, as aider mixes absolute and relative ones."""
        name = name.replace("\\", "/")
        if not name.startswith("/") and name[1:2] != ":":
            return name
        for known in (*self.chat, *self.drafting.now):
            if name.endswith("/" + known):
                return known
        parts = name.split("/")
        for at in range(1, len(parts)):
            tail = "/".join(parts[at:])
            if self.drafting.know(tail) is not None:
                return tail
        return "/".join(parts[-2:])


def read(
    text: str, person: str, contents: Contents = unknown, name: str = "", typed: str = ""
) -> list[Recording]:
    """The sessions of a history that have a turn, oldest first. ``typed``: the input history."""
    text = text.replace("\ufeff", "")  # of files, in listings and blocks: no tool shows it
    times = _times(typed)
    found: list[Recording] = []
    draft: _Draft | None = None
    prompt: list[str] = []
    for part in re.split(r"(?m)^(?=# aider chat started at )", text):
        formatted = not re.search(r"(?m)^#### .*  $", part)
        of_typed, of_tool = (_BARE_TYPED, _BARE_TOOL) if formatted else (_TYPED, _TOOL)
        inside = False
        for line in part.split("\n"):
            inside = bool(_BLOCK.match(line)) or (inside and not _BLOCK_END.match(line))
            started = _STARTED.match(line)
            said = None if inside else of_typed.match(line)
            if prompt and said is None:
                if draft is not None:
                    draft.typed("\n".join(prompt).strip())
                prompt = []
            if started:
                found += _ended(draft)
                when = datetime.strptime(started[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
                title = f"{name or person} {started[1]}"
                draft = _Draft(
                    Drafting(title, person, "aider", contents, when.timestamp()), times=times
                )
            elif said is not None:
                prompt.append(said[1] or "")
            elif draft is None:
                continue
            elif not inside and (told := of_tool.match(line)):
                if (told[1] or "").startswith("^C"):
                    continue
                draft.told(told[1] or "")
            elif not formatted and draft.goes_on(line):
                continue
            elif draft.prompt:
                draft.replied(line)
    if prompt and draft is not None:
        draft.typed("\n".join(prompt).strip())
    return [*found, *_ended(draft)]


def _times(typed: str) -> list[tuple[float, str]]:
    """When what was typed, from an input history."""
    found: list[tuple[float, str]] = []
    for line in typed.split("\n"):
        if started := _TYPED_AT.match(line):
            when = datetime.fromisoformat(started[1]).replace(tzinfo=UTC)
            found.append((when.timestamp(), ""))
        elif line.startswith("+") and found:
            at, text = found[-1]
            found[-1] = (at, " ".join(f"{text} {line[1:]}".split()))
    return found


def _ended(draft: _Draft | None) -> Iterator[Recording]:
    if draft is None:
        return
    draft.flush()
    recording = draft.drafting.recording()
    if recording.turns:
        first = recording.turns[0]
        first = evolve(first, at=first.at or draft.drafting.began)
        yield evolve(recording, turns=(first, *recording.turns[1:]))


def _bare(text: str) -> str:
    """Without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))
