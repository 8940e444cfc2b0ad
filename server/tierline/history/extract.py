"""Extraction: finding what a summary of a conversation must keep, without any model.

Standing rules, decisions, errors and their fixes, what was finished and what is still open, file
names and identifiers. Cues are words and patterns. Nothing is invented: every line is quoted from
the conversation. Compaction falls back to it, and the memory levels use it as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from attrs import define, field, frozen

from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.text import clip, well_formed
from tierline.history import cues
from tierline.history.failures import failures
from tierline.history.groups import is_prompt
from tierline.history.messages import Message, Status
from tierline.history.names import file_names, identifiers
from tierline.history.parser import text_of

LINE_CHARACTERS = 220
"""Longer sentences are clipped."""
_SENTENCE_CHARACTERS = 3 * LINE_CHARACTERS
"""Characters of a sentence that are looked at; longer text is hardly a sentence."""
_NAMES_LINE = 400
_SCANNED_CHARACTERS = 40_000
"""Characters of a message that are looked at, at its start and again at its end."""


class LineKind(StrEnum):
    """What a line is; the value is its heading in a summary."""

    RULE = "Standing rules"
    OPEN = "Open tasks"
    DECISION = "Decisions"
    ERROR = "Errors and fixes"
    ANSWER = "Questions and answers"
    DONE = "Finished"
    FACT = "Facts"
    FILES = "Files"
    NAMES = "Identifiers"


@frozen
class ExtractedLine:
    """One extracted line. ``place`` is the index of the message that it comes from."""

    kind: LineKind
    text: str
    place: int


@frozen
class Digest:
    """The extracted lines, in the order of the conversation. ``files`` and ``names`` are ordered by
    weight (how often and how recently they were mentioned), the heaviest first.
    """

    lines: tuple[ExtractedLine, ...] = ()
    files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def of(self, kind: LineKind) -> tuple[str, ...]:
        """The lines of one kind."""
        if kind is LineKind.FILES:
            return self.files
        if kind is LineKind.NAMES:
            return self.names
        return tuple(line.text for line in self.lines if line.kind is kind)


def digest(messages: Sequence[Message], *, finished: bool = False) -> Digest:
    """Extract from messages in order. The lines of an earlier summary among them
    (``meta["summary"]``) are read back under their headings, so that they can be kept again.

    ``finished``: the messages belong to a finished task. A request that was answered then counts as
    done, even if nobody said so.
    """
    found = _Finder()
    for place, message in enumerate(messages):
        found.take(place, message)
    return found.result(len(messages), finished=finished)


def extractive_summary(
    messages: Sequence[Message],
    *,
    budget_tokens: int,
    count: Callable[[str], int],
    finished: bool = False,
) -> str:
    """A summary within ``budget_tokens`` as ``count`` counts them; empty if nothing fits or there
    is nothing to say. ``finished`` as for ``digest``.
    """
    return render(digest(messages, finished=finished), budget_tokens=budget_tokens, count=count)


def render(found: Digest, *, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Choose lines by weight, newest first, and write them under their headings in order."""
    chosen: dict[LineKind, list[ExtractedLine]] = {}
    room = budget_tokens
    for line in _by_weight(found):
        heading = 0 if line.kind in chosen else count(f"{line.kind.value}:\n")
        cost = count(f"- {line.text}\n") + heading
        if cost <= room:
            chosen.setdefault(line.kind, []).append(line)
            room -= cost
    text = _write(chosen)
    while text and count(text) > budget_tokens:  # parts may add up to less
        last = next(kind for kind in reversed(_RANKS) if chosen.get(kind))
        chosen[last].remove(min(chosen[last], key=lambda line: line.place))
        text = _write(chosen)
    return text


def standing_rules(message: Message) -> tuple[str, ...]:
    """Sentences of a prompt that lay down a rule for what follows ("always …", "from now on …")."""
    if not is_prompt(message) or message.meta.get("summary"):
        return ()
    return tuple(s for s in sentences(text_of(message.content)) if cues.is_rule(s))


def sentences(text: str) -> Iterator[str]:
    """Sentences and list items of a text in order, without code blocks, quotes and markup."""
    for block in _prose(text):
        for piece in _SENTENCE.split(block):
            plain = " ".join(_MARKUP.sub("", piece[:_SENTENCE_CHARACTERS]).split())
            if len(plain) > 2 and any(c.isalnum() for c in plain):
                yield plain


# --- how it is done ------------------------------------------------------------------------------

_RANKS = (
    LineKind.RULE,
    LineKind.OPEN,
    LineKind.DECISION,
    LineKind.ERROR,
    LineKind.ANSWER,
    LineKind.FILES,
    LineKind.DONE,
    LineKind.NAMES,
    LineKind.FACT,
)
_WEIGHTS = {
    LineKind.RULE: 10.0,
    LineKind.OPEN: 5.0,
    LineKind.DECISION: 4.0,
    LineKind.ERROR: 4.0,
    LineKind.ANSWER: 3.5,
    LineKind.FILES: 4.0,
    LineKind.DONE: 2.5,
    LineKind.NAMES: 2.0,
    LineKind.FACT: 1.0,
}

_LONG_WORD = re.compile(r"\w{80,}")
"""Encoded data and the like: not a name, and slow to search for names."""
_FENCED = re.compile(r"^[ ]{0,3}(`{3,}|~{3,}).*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|\n+")
_MARKUP = re.compile(r"^\s*(?:[-*+>#]+|\d+[.)])\s+|\*\*|^\s*\[[ xX]\]\s*")
"""Not ``__``: about code it is more often part of a name than bold type."""
_WORD = re.compile(r"[^\W_]{3,}")
_ANSWERS = 3
"""Questions of one prompt whose answers are kept."""
_SETTLED = 0.6
"""Share of an open task's words in a later report that it is done."""
_SAID = 12
"""Characters; a shorter reply is no answer ("Hm.")."""


def _prose(text: str) -> list[str]:
    if len(text) > 2 * _SCANNED_CHARACTERS:
        text = text[:_SCANNED_CHARACTERS] + "\n" + text[-_SCANNED_CHARACTERS:]
    return [_FENCED.sub("\n", _LONG_WORD.sub("…", well_formed(text)))]


@define
class _Finder:
    lines: list[ExtractedLine] = field(factory=list)
    seen: set[tuple[LineKind, str]] = field(factory=set)
    files: Counter[str] = field(factory=Counter)
    last_file: dict[str, int] = field(factory=dict)
    names: Counter[str] = field(factory=Counter)
    task: ExtractedLine | None = None
    """The task that was asked for and not yet reported as done."""
    reply: str = ""
    """The gist of the newest reply to that task."""
    questions: list[ExtractedLine] = field(factory=list)
    """Questions of this turn's prompt that are not answered yet."""
    put: str = ""
    """The question at the end of the model's newest reply."""
    reports: list[ExtractedLine] = field(factory=list)
    """Sentences that say that something is done."""
    error: ExtractedLine | None = None
    """The newest error, as long as no fix was reported."""
    error_age: int = 0

    def take(self, place: int, message: Message) -> None:
        text = text_of(message.content)
        if message.meta.get("summary"):
            self._summary(place, text)
            return
        self._mentions(place, message, text)
        for block in message.content:
            if isinstance(block, ToolResult):
                self._result(place, block)
        if is_prompt(message):
            self._prompt(place, text)
        elif message.role == "assistant":
            self._reply(place, message, text)

    def _add(self, kind: LineKind, text: str, place: int) -> ExtractedLine | None:
        plain = clip(text.strip(), LINE_CHARACTERS)
        if len(text.strip()) > len(plain):
            plain += "…"
        words = cues.rule_key(plain) if kind is LineKind.RULE else ""
        key = (kind, words or re.sub(r"\W+", " ", plain).lower().strip())
        if not key[1] or key in self.seen:
            return None
        self.seen.add(key)
        line = ExtractedLine(kind, plain, place)
        self.lines.append(line)
        return line

    # --- prompts -----------------------------------------------------------------------------

    def _prompt(self, place: int, text: str) -> None:
        said = list(sentences(text))
        self.error_age += 1
        if said and self.put and cues.is_answer(said[0], self.put):
            self._answer(ExtractedLine(LineKind.ANSWER, self.put, place), said.pop(0), place)
        elif said and self.task is not None and cues.is_thanks(said[0]):
            self._close(self.task, place)
        self.put = ""
        for asked in self.questions:  # from the turn before: not answered
            self._asked(asked)
        self.questions = []
        wanted = ""
        for sentence in said:
            if cues.is_rule(sentence):
                self._add(LineKind.RULE, sentence, place)
                continue
            if cues.is_question(sentence):
                self.questions.append(
                    ExtractedLine(LineKind.OPEN, clip(sentence, LINE_CHARACTERS), place)
                )
                continue
            self._sentence(place, sentence)
            small = cues.is_thanks(sentence) or cues.is_opinion(sentence)
            wanted = wanted or ("" if small else sentence)
        for error in failures(_LONG_WORD.sub("…", text))[-1:]:
            self._error(error, place)
        del self.questions[_ANSWERS:]
        if wanted and not (self.questions and self._about(wanted)):
            self._abandon()
            self.task = ExtractedLine(LineKind.OPEN, clip(wanted, LINE_CHARACTERS), place)
            self.reply = ""

    def _sentence(self, place: int, sentence: str) -> None:
        """A sentence of a prompt that is neither a rule nor a question."""
        if cues.is_open(sentence):
            self._add(LineKind.OPEN, sentence, place)
        elif cues.is_decision(sentence):
            self._add(LineKind.DECISION, sentence, place)
        elif cues.is_broken(sentence):
            self._error(sentence, place)
        elif cues.is_fact(sentence):
            self._add(LineKind.FACT, sentence, place)

    def _about(self, sentence: str) -> bool:
        """A sentence that leads up to a question belongs to it and is no task of its own."""
        return not cues.is_broken(sentence) and not cues.is_open(sentence)

    # --- replies -----------------------------------------------------------------------------

    def _reply(self, place: int, message: Message, text: str) -> None:
        said = list(sentences(text))
        # "We'll need to change X", before the change, announces what this reply does: it is not
        # left open.
        acts = bool(message.files_modified) or any(isinstance(b, ToolUse) for b in message.content)
        done = ""
        broken = self.task is not None and cues.is_broken(self.task.text)
        for sentence in said:
            if self.error is not None and self.error_age <= 3 and cues.is_fix(sentence):
                self._fixed(self.error, sentence, place)
            elif cues.is_open(sentence) and not (acts and cues.is_plan(sentence)):
                self._add(LineKind.OPEN, sentence, place)
            elif cues.is_decision(sentence):
                self._add(LineKind.DECISION, sentence, place)
            elif cues.is_fact(sentence) and len(text) < 4000:
                self._add(LineKind.FACT, sentence, place)
            if cues.is_done(sentence) or (broken and cues.is_fix(sentence)):
                done = sentence
                self.reports.append(ExtractedLine(LineKind.DONE, sentence, place))
        self.put = next((s for s in reversed(said[-2:]) if s.endswith("?")), "")
        told = [s for s in said if not cues.is_question(s)]
        if message.status is not Status.OK and message.status is not Status.TOOL_CALL:
            told = []  # the turn was stopped or failed
        if self.questions and told:
            for asked in self.questions:
                self._answer(asked, _best(asked.text, told), place)
            self.questions = []
        elif told and len(text.strip()) >= _SAID:
            self.reply = done or next((s for s in told if not cues.is_opinion(s)), told[0])
        if done and self.task is not None and self.task.place >= self._asked_at(place):
            self._close(self.task, place, done)
        elif self.task is not None and message.files_modified and told:
            self._close(self.task, place, self.reply)

    def _asked_at(self, place: int) -> int:
        """Tasks before this place stay open: a reply that answers a question closes none."""
        answered = [x.place for x in self.lines if x.kind is LineKind.ANSWER and x.place == place]
        return place if answered else 0

    def _answer(self, asked: ExtractedLine, answer: str, place: int) -> None:
        question = clip(asked.text, LINE_CHARACTERS // 2)
        self._add(LineKind.ANSWER, f"{question} → {clip(answer, LINE_CHARACTERS // 2)}", place)

    def _asked(self, asked: ExtractedLine) -> None:
        if len(asked.text) > _SAID:
            self._add(LineKind.FACT, f"Asked: {asked.text}", asked.place)

    # --- errors and tasks --------------------------------------------------------------------

    def _result(self, place: int, result: ToolResult) -> None:
        text = "\n".join(b.text for b in result.content if isinstance(b, Text))
        text = _LONG_WORD.sub("…", text[-_SCANNED_CHARACTERS:])
        found = failures(text, failed=result.is_error)
        if found:
            self._error(found[-1], place)
        elif result.is_error and text.strip():
            self._error(text.strip().splitlines()[0], place)

    def _error(self, text: str, place: int) -> None:
        if line := self._add(LineKind.ERROR, text, place):
            self.error, self.error_age = line, 0

    def _fixed(self, error: ExtractedLine, sentence: str, place: int) -> None:
        text = f"{clip(error.text, LINE_CHARACTERS // 2)} → {clip(sentence, LINE_CHARACTERS)}"
        if error not in self.lines:  # its task was closed in the meantime
            self.error = None
            return
        where = self.lines.index(error)
        self.lines[where] = ExtractedLine(LineKind.ERROR, text, place)
        self.error = None

    def _close(self, task: ExtractedLine, place: int, how: str = "") -> None:
        """A task is finished; ``how`` is the sentence that says so."""
        text = clip(task.text, LINE_CHARACTERS // 2)
        told = f": {clip(how, LINE_CHARACTERS // 2)}" if how and how != text else ""
        broken = [x for x in self.lines if x.kind is LineKind.ERROR and x.place >= task.place]
        if told and [x.text for x in broken] == [task.text]:
            self.lines.remove(broken[0])  # the outcome replaces the report of the problem
        self._add(LineKind.DONE, f"{text.rstrip('.:')}{told}", place)
        self.reports.append(ExtractedLine(LineKind.DONE, task.text, place))
        self.task = None

    def _abandon(self) -> None:
        """Another task began before this one was reported as done: it is, if it was answered."""
        if self.task is not None:
            if self.reply:
                self._close(self.task, self.task.place, self.reply)
            else:
                self._asked(self.task)
        self.task = None

    # --- names and earlier summaries ---------------------------------------------------------

    def _mentions(self, place: int, message: Message, text: str) -> None:
        scanned = _LONG_WORD.sub(" ", text[: 2 * _SCANNED_CHARACTERS])
        for name in (*file_names(scanned), *message.files_modified, *message.files_modified):
            self.files[name] += 1
            self.last_file[name] = place
        for block in message.content:
            if isinstance(block, ToolUse):
                for value in block.input.values():
                    if isinstance(value, str) and len(value) < 300:
                        for name in file_names(value):
                            self.files[name] += 1
                            self.last_file[name] = place
        self.names.update(identifiers(scanned))

    def _summary(self, place: int, text: str) -> None:
        kind = LineKind.FACT
        headings = {f"{k.value}:": k for k in LineKind}
        for raw in text.splitlines():
            line = raw.strip()
            if line in headings:
                kind = headings[line]
            elif line and not line.startswith("[History Summary"):
                plain = line.removeprefix("- ")
                if kind in (LineKind.FILES, LineKind.NAMES):
                    for name in plain.split(", "):
                        (self.files if kind is LineKind.FILES else self.names)[name] += 2
                        self.last_file.setdefault(name, place)
                else:
                    self._add(kind, plain, place)

    def result(self, length: int, *, finished: bool) -> Digest:
        for asked in self.questions:
            if finished:
                self._asked(asked)
            else:
                self._add(LineKind.OPEN, asked.text, asked.place)
        if finished:
            self._abandon()
        if self.task is not None:
            self._add(LineKind.OPEN, self.task.text, self.task.place)
        lines = [line for line in self.lines if line.kind is not LineKind.OPEN or self._left(line)]
        span = max(length, 1)
        files = sorted(self.files, key=lambda f: (-self.files[f] - 3 * self.last_file[f] / span, f))
        names = [name for name, times in self.names.most_common() if times > 1 or length < 20]
        return Digest(tuple(lines), tuple(files), tuple(names))

    def _left(self, line: ExtractedLine) -> bool:
        """True if an open line was not reported as done later."""
        words = _words(line.text)
        later = (report for report in self.reports if report.place >= line.place)
        return not any(
            report.text == line.text or len(words & _words(report.text)) > _SETTLED * len(words)
            for report in later
            if report.text == line.text or report.place > line.place
        )


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower()[:6] for word in _WORD.findall(text)) - {"todo", "the", "and"}


def _best(question: str, told: Sequence[str]) -> str:
    """The sentence that answers a question: a yes or no, else one that shares its words."""
    if cues.is_opinion(told[0]):
        return told[0]
    words = _words(question)
    return max(told, key=lambda s: len(words & _words(s)) / (1 + len(_words(s)) ** 0.5))


def _by_weight(found: Digest) -> list[ExtractedLine]:
    """Lines by falling weight: the kind, and how late it was said; each further line of a kind
    weighs a little less, so that no kind takes all the room.
    """
    last = max((line.place for line in found.lines), default=0)
    ranked: list[tuple[float, int, ExtractedLine]] = []
    for kind in _RANKS:
        if kind in (LineKind.FILES, LineKind.NAMES):
            names = _listed(found.of(kind))
            if names:
                ranked.append((_WEIGHTS[kind], last, ExtractedLine(kind, names, last)))
            continue
        newest = sorted((x for x in found.lines if x.kind is kind), key=lambda x: -x.place)
        for rank, line in enumerate(newest):
            fading = 1.0 if kind is LineKind.RULE else 0.8**rank
            ranked.append((_WEIGHTS[kind] * fading, line.place, line))
    ranked.sort(key=lambda entry: (-entry[0], -entry[1]))
    return [line for _, _, line in ranked]


def _listed(names: Iterable[str]) -> str:
    listed = ""
    for name in names:
        longer = f"{listed}, {name}" if listed else name
        if len(longer) > _NAMES_LINE:
            break
        listed = longer
    return listed


def _write(chosen: dict[LineKind, list[ExtractedLine]]) -> str:
    parts: list[str] = []
    for kind in _RANKS:
        if lines := chosen.get(kind):
            parts.append(f"{kind.value}:")
            parts += [f"- {line.text}" for line in sorted(lines, key=lambda line: line.place)]
    return "\n".join(parts)
