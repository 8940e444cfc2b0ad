"""Extraction: what of a conversation must not be forgotten, found without any model.

Standing rules, decisions, errors and their fixes, what was finished and what is still open, file
names and identifiers. Cues are words and shapes; nothing is invented, every line is a piece of what
was said. Compaction falls back to it (design, section 8), the memory levels use it as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from attrs import define, field, frozen

from tierline.context.blocks import Text, ToolResult, ToolUse
from tierline.context.text import clip, well_formed
from tierline.history.groups import is_prompt
from tierline.history.messages import Message
from tierline.history.parser import text_of

LINE_CHARACTERS = 220
"""Longer sentences are clipped."""
_SENTENCE_CHARACTERS = 3 * LINE_CHARACTERS
"""What has no end by then is no sentence; only this much of it is looked at."""
_NAMES_LINE = 400
_SCANNED_CHARACTERS = 40_000
"""Of one message, this much from its start and as much from its end is looked at."""


class Kind(StrEnum):
    """What a line is; the value is its heading in a summary."""

    RULE = "Standing rules"
    OPEN = "Open tasks"
    DECISION = "Decisions"
    ERROR = "Errors and fixes"
    DONE = "Finished"
    FACT = "Facts"
    FILES = "Files"
    NAMES = "Identifiers"


@frozen
class Line:
    """One extracted line. ``place`` is the index of the message that it comes from."""

    kind: Kind
    text: str
    place: int


@frozen
class Digest:
    """What was found, in the order of the conversation. ``files`` and ``names`` are ordered by how
    much they matter (how often and how late they were mentioned), the most important first.
    """

    lines: tuple[Line, ...] = ()
    files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def of(self, kind: Kind) -> tuple[str, ...]:
        """The lines of one kind."""
        if kind is Kind.FILES:
            return self.files
        if kind is Kind.NAMES:
            return self.names
        return tuple(line.text for line in self.lines if line.kind is kind)


def digest(messages: Sequence[Message]) -> Digest:
    """Look through messages in order. An earlier summary among them (``meta["summary"]``) gives its
    lines back under their headings, so that what was kept once can be kept again.
    """
    found = _Finder()
    for place, message in enumerate(messages):
        found.take(place, message)
    return found.result(len(messages))


def extractive_summary(
    messages: Sequence[Message], *, budget_tokens: int, count: Callable[[str], int]
) -> str:
    """A summary within ``budget_tokens`` as ``count`` counts them; empty if nothing fits or there
    is nothing to say.
    """
    return render(digest(messages), budget_tokens=budget_tokens, count=count)


def render(found: Digest, *, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Choose lines by weight, newest first, and write them under their headings in order."""
    chosen: dict[Kind, list[Line]] = {}
    room = budget_tokens
    for line in _by_weight(found):
        heading = 0 if line.kind in chosen else count(f"{line.kind.value}:\n")
        cost = count(f"- {line.text}\n") + heading
        if cost <= room:
            chosen.setdefault(line.kind, []).append(line)
            room -= cost
    text = _write(chosen)
    while text and count(text) > budget_tokens:  # parts may count less than the whole
        last = next(kind for kind in reversed(_RANKS) if chosen.get(kind))
        chosen[last].remove(min(chosen[last], key=lambda line: line.place))
        text = _write(chosen)
    return text


def standing_rules(message: Message) -> tuple[str, ...]:
    """Sentences of a prompt that lay down a rule for what follows ("always …", "from now on …")."""
    if not is_prompt(message) or message.meta.get("summary"):
        return ()
    return tuple(s for s in sentences(text_of(message.content)) if _is_rule(s))


def sentences(text: str) -> Iterator[str]:
    """Sentences and list items of a text in order, without code blocks, quotes and markup."""
    for block in _prose(text):
        for piece in _SENTENCE.split(block):
            plain = " ".join(_MARKUP.sub("", piece[:_SENTENCE_CHARACTERS]).split())
            if len(plain) > 2 and any(c.isalnum() for c in plain):
                yield plain


def file_names(text: str) -> list[str]:
    """Paths and file names in a text, in order, repeated as often as they occur."""
    found = (_ROOT.sub("", m[0].replace("\\", "/")) for m in _PATH.finditer(text))
    return [name for name in found if not _NOT_A_FILE.match(name)]


def identifiers(text: str) -> list[str]:
    """Names of code in a text: ``snake_case``, ``camelCase``, ``CamelCase``, ``call()``."""
    return [m[0].removesuffix("()") for m in _NAME.finditer(_PATH.sub(" ", text))]


# --- how it is done ------------------------------------------------------------------------------

_RANKS = (
    Kind.RULE,
    Kind.OPEN,
    Kind.DECISION,
    Kind.ERROR,
    Kind.FILES,
    Kind.DONE,
    Kind.NAMES,
    Kind.FACT,
)
_WEIGHTS = {
    Kind.RULE: 10.0,
    Kind.OPEN: 5.0,
    Kind.DECISION: 4.0,
    Kind.ERROR: 4.0,
    Kind.FILES: 4.0,
    Kind.DONE: 2.5,
    Kind.NAMES: 2.0,
    Kind.FACT: 1.0,
}

_LONG_WORD = re.compile(r"\w{80,}")
"""Encoded data and the like: no name, and slow to look for names in."""
_FENCED = re.compile(r"^[ ]{0,3}(`{3,}|~{3,}).*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|\n+")
_MARKUP = re.compile(r"^\s*(?:[-*+>#]+|\d+[.)])\s+|\*\*|^\s*\[[ xX]\]\s*")
"""Not ``__``: in talk about code it belongs to a name more often than it makes one bold."""
_PATH = re.compile(
    r"(?<![\w@:/.-])(?:[\w.@~-]+[/\\])*[\w@.+-]*\w\.(?:[A-Za-z][A-Za-z0-9]{0,7})(?![\w(])"
    r"|(?<![\w@:/.-])(?:[\w.-]+/)+(?:Makefile|Dockerfile|LICENSE|[\w.-]+\.\w+)\b"
    r"|\b(?:Makefile|Dockerfile|Cargo\.lock)\b|(?<![\w@:/.-])\.(?:gitignore|env)\b"
)
_ROOT = re.compile(r"^(?:\.*/|\.\.+)+")
"""What stands before the name of a relative or absolute path."""
_NOT_A_FILE = re.compile(
    r"^(?:e\.g|i\.e|etc|vs|v?\d[\d.]*\w?|[A-Za-z]\.[A-Za-z]|(?:self|this|os|sys|np|pd|re|"
    r"math|console"
    r"|window|document|process|Object|Array|JSON|Math|String|Promise)\.\w+|\w+\.(?:com|org|"
    r"net|io|dev)"
    r"|Node\.js|node\.js|Vue\.js|Next\.js)$"
)
_NAME = re.compile(
    r"(?<![\w/.-])(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\)"
    r"|[A-Za-z]+(?:_[A-Za-z0-9]+)+|_[a-z]\w+"
    r"|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?![\w/-])"
)
_RULE = re.compile(
    r"\b(?:from now on|as a rule|standing rule|in this (?:project|repo|repository|"
    r"code ?base|session)"
    r",? (?:we |you |please )?(?:always|never|use|do|don't|must|should)|"
    r"for the rest of (?:this|the)"
    r"|remember (?:that|to|this)|don't (?:ever )?forget|never (?:ever )?(?:use|change|touch|edit|"
    r"delete|remove|add|write|commit|push|run|call|import|mention|rename|modify|log|send|store|"
    r"put|create|overwrite|reformat|break|install|do|make|assume|guess|include|leave|skip|return)"
    r"|always (?:use|write|run|add|keep|answer|reply|respond|check|include|prefer|put|format|test|"
    r"show|call|name|type|ask|return|give|start|end|explain|make|do|read|commit|import|update)"
    r"|ab jetzt|von jetzt an|immer (?:nur )?\w+en\b)",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided|decision|we(?:'ll| will| should| agreed to) (?:use|go|keep|make|store|call|put|"
    r"have|do|stick|write|return)|let's (?:use|go with|keep|stick|call|make it|store)|"
    r"going with|go "
    r"with|agreed|settled on|chose|choose|instead of|rather than|we (?:use|keep|want|"
    r"need) \w+ (?:for|"
    r"because|so)|the plan is|i(?:'ll| will) (?:use|go with|keep|store|put)|use \w+ (?:and )?not|"
    r"prefer)\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:\b[A-Z]\w*(?:Error|Exception|Warning)\b(?:: .+)?|\berror(?:\[\w+\])?:|\bfatal:|"
    r"\bpanicked at\b"
    r"|\bsegmentation fault\b|\bexit (?:code|status) [1-9]\d*|\b(?:FAILED|FAIL)\b|\b(?:npm )?ERR!"
    r"|\bTraceback\b|\b(?:it|this|that|build|test|tests|server|app|page|request|import|"
    r"query|command|"
    r"job|deploy|login|upload)s? (?:still )?(?:fails?|failed|crash(?:es|ed)?|breaks?|broke|"
    r"hangs?|hung"
    r")\b|\b(?:doesn't|does not|isn't|won't|can't|cannot) (?:work|start|build|compile|connect|load|"
    r"find|run|open|resolve)\w*|\bstatus (?:code )?[45]\d\d\b|\b[45]\d\d (?:error|Internal|Bad|Not)"
    r"|\bundefined is not\b|\bnot defined\b|\bthe bug\b)",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"^(?:E[ \t]+)?[\w.]*[A-Z]\w*(?:Error|Exception)\b.*|^error(?:\[\w+\])?: .+", re.M
)
_PYTEST = re.compile(r"^E[ \t]+")
"""How pytest begins a line that tells of a failure."""
_FIX = re.compile(
    r"\b(?:fix(?:ed|es)?|the (?:fix|cause|reason|problem|issue|culprit|bug) (?:is|was)|root cause|"
    r"caused by|because|solved|solution|resolved|works now|needs? to|has to|should be|"
    r"replaced?|was "
    r"missing|forgot|turned out)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?:\bTODO\b|\bFIXME\b|\bstill (?:need|have|has|to|missing|open|left|fail)|\bnot (?:yet|done|"
    r"finished)\b|\bremaining\b|\bleft to do\b|\bnext steps?\b|\bfor later\b|"
    r"\bfollow[- ]up\b|\bonce "
    r"that|\bafter (?:that|this),? (?:we|i|you)|\bwe(?:'ll| will) (?:also )?(?:need|have) to\b|"
    r"\boutstanding\b|\bunresolved\b|\bpending\b|^\s*[-*]\s*\[ \])",
    re.IGNORECASE | re.MULTILINE,
)
_DONE = re.compile(
    r"\b(?:done|finished|completed?|implemented|fixed|added|removed|renamed|updated|created|merged|"
    r"passes|passing|works(?: now)?|all (?:tests )?(?:pass|green)|resolved|deployed|shipped|did)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"^\W*(?:thanks?|thank you|great|perfect|works|that works|nice|awesome|excellent|good|"
    r"lgtm|done|"
    r"super|danke|cool|yes|yep|ok(?:ay)?)\b",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"(?:\b(?:port|version|password policy|timeout|limit|url|endpoint|branch|budget|"
    r"deadline)\b.*\d|"
    r"\bhttps?://|\blocalhost:\d+|\b\d+(?:\.\d+)? ?(?:ms|s|MB|GB|kB|KiB|MiB|tokens|rows|%)(?!\w))",
    re.IGNORECASE,
)


def _is_rule(sentence: str) -> bool:
    return not sentence.endswith("?") and bool(_RULE.search(sentence))


def _prose(text: str) -> list[str]:
    if len(text) > 2 * _SCANNED_CHARACTERS:
        text = text[:_SCANNED_CHARACTERS] + "\n" + text[-_SCANNED_CHARACTERS:]
    return [_FENCED.sub("\n", _LONG_WORD.sub("…", well_formed(text)))]


@define
class _Finder:
    lines: list[Line] = field(factory=list)
    seen: set[tuple[Kind, str]] = field(factory=set)
    files: Counter[str] = field(factory=Counter)
    last_file: dict[str, int] = field(factory=dict)
    names: Counter[str] = field(factory=Counter)
    task: Line | None = None
    """The prompt of the turn that is being looked at."""
    error: Line | None = None
    """The newest error, while nothing has been said that fixes it."""
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
            self._reply(place, text, len(text))

    def _add(self, kind: Kind, text: str, place: int) -> Line | None:
        plain = clip(text.strip(), LINE_CHARACTERS)
        if len(text.strip()) > len(plain):
            plain += "…"
        key = (kind, re.sub(r"\W+", " ", plain).lower().strip())
        if not key[1] or key in self.seen:
            return None
        self.seen.add(key)
        line = Line(kind, plain, place)
        self.lines.append(line)
        return line

    def _prompt(self, place: int, text: str) -> None:
        said = list(sentences(text))
        if self.task is not None and said and _THANKS.match(said[0]):
            self._close(self.task, place)
        self.error_age += 1
        first = ""
        for sentence in said:
            if _is_rule(sentence):
                self._add(Kind.RULE, sentence, place)
            elif _OPEN.search(sentence):
                self._add(Kind.OPEN, sentence, place)
            elif _DECISION.search(sentence):
                self._add(Kind.DECISION, sentence, place)
            elif _ERROR.search(sentence):
                self._error(sentence, place)
            elif _FACT.search(sentence):
                self._add(Kind.FACT, sentence, place)
            if not first and not _THANKS.match(sentence):
                first = sentence
        for match in list(_EXCEPTION.finditer(_LONG_WORD.sub("…", text)))[-1:]:
            self._error(match[0], place)
        if first:
            self._abandon()
            self.task = Line(Kind.OPEN, clip(first, LINE_CHARACTERS), place)

    def _reply(self, place: int, text: str, length: int) -> None:
        done = ""
        for sentence in sentences(text):
            if self.error is not None and self.error_age <= 3 and _FIX.search(sentence):
                self._fixed(self.error, sentence, place)
            elif _OPEN.search(sentence):
                self._add(Kind.OPEN, sentence, place)
            elif _DECISION.search(sentence):
                self._add(Kind.DECISION, sentence, place)
            elif _FACT.search(sentence) and length < 4000:
                self._add(Kind.FACT, sentence, place)
            if _DONE.search(sentence) and not _OPEN.search(sentence):
                done = sentence
        if done and self.task is not None:
            self._close(self.task, place, done)

    def _result(self, place: int, result: ToolResult) -> None:
        text = "\n".join(b.text for b in result.content if isinstance(b, Text))
        text = _LONG_WORD.sub("…", text[-_SCANNED_CHARACTERS:])
        found = list(_EXCEPTION.finditer(text))
        if found:
            self._error(_PYTEST.sub("", found[-1][0]), place)
        elif result.is_error and text.strip():
            self._error(text.strip().splitlines()[0], place)

    def _error(self, text: str, place: int) -> None:
        if line := self._add(Kind.ERROR, text, place):
            self.error, self.error_age = line, 0

    def _fixed(self, error: Line, sentence: str, place: int) -> None:
        text = f"{clip(error.text, LINE_CHARACTERS // 2)} → {clip(sentence, LINE_CHARACTERS)}"
        where = self.lines.index(error)
        self.lines[where] = Line(Kind.ERROR, text, place)
        self.error = None

    def _close(self, task: Line, place: int, how: str = "") -> None:
        """The task of this turn is finished; ``how`` is the sentence that says so."""
        text = clip(task.text, LINE_CHARACTERS // 2)
        told = f": {clip(how, LINE_CHARACTERS // 2)}" if how and how != text else ""
        self._add(Kind.DONE, f"{text.rstrip('.:')}{told}", place)
        self.task = None

    def _abandon(self) -> None:
        """Another prompt came before this one's end was told; remember that it was asked."""
        if self.task is not None and len(self.task.text) > 12:
            self._add(Kind.FACT, f"Asked: {self.task.text}", self.task.place)
        self.task = None

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
        kind = Kind.FACT
        headings = {f"{k.value}:": k for k in Kind}
        for raw in text.splitlines():
            line = raw.strip()
            if line in headings:
                kind = headings[line]
            elif line and not line.startswith("[History Summary"):
                plain = line.removeprefix("- ")
                if kind in (Kind.FILES, Kind.NAMES):
                    for name in plain.split(", "):
                        (self.files if kind is Kind.FILES else self.names)[name] += 2
                        self.last_file.setdefault(name, place)
                else:
                    self._add(kind, plain, place)

    def result(self, length: int) -> Digest:
        if self.task is not None:
            self._add(Kind.OPEN, self.task.text, self.task.place)
        finished = {
            re.sub(r"\W+", " ", line.text.split(":")[0]).lower().strip()
            for line in self.lines
            if line.kind is Kind.DONE
        }
        lines = [
            line
            for line in self.lines
            if line.kind is not Kind.OPEN
            or re.sub(r"\W+", " ", line.text).lower().strip() not in finished
        ]
        span = max(length, 1)
        files = sorted(self.files, key=lambda f: (-self.files[f] - 3 * self.last_file[f] / span, f))
        names = [name for name, times in self.names.most_common() if times > 1 or length < 20]
        return Digest(tuple(lines), tuple(files), tuple(names))


def _by_weight(found: Digest) -> list[Line]:
    """Lines by falling weight: the kind, and how late it was said; each further line of a kind
    weighs a little less, so that no kind takes all the room.
    """
    last = max((line.place for line in found.lines), default=0)
    ranked: list[tuple[float, int, Line]] = []
    for kind in _RANKS:
        if kind in (Kind.FILES, Kind.NAMES):
            names = _listed(found.of(kind))
            if names:
                ranked.append((_WEIGHTS[kind], last, Line(kind, names, last)))
            continue
        newest = sorted((x for x in found.lines if x.kind is kind), key=lambda x: -x.place)
        for rank, line in enumerate(newest):
            fading = 1.0 if kind is Kind.RULE else 0.8**rank
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


def _write(chosen: dict[Kind, list[Line]]) -> str:
    parts: list[str] = []
    for kind in _RANKS:
        if lines := chosen.get(kind):
            parts.append(f"{kind.value}:")
            parts += [f"- {line.text}" for line in sorted(lines, key=lambda line: line.place)]
    return "\n".join(parts)
