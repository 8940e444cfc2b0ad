"""``@path`` mentions and links in a prompt."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice

from attrs import frozen

_CODE = re.compile(
    r"^(`{3,}|~{3,}).*?(?:^\1[`~]*[ \t]*$|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)", re.M | re.S
)
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WIDE = "、。，；：！？（）《》「」『』【】…"
_AT = re.compile(rf"(?:(?<=^)|(?<=[\s(\[{{<,;:\"'“”‘’«»{_WIDE}{_CJK}]))@(?=\S)", re.M)
_QUOTED = re.compile(
    r""""((?:[^"\\\n]|\\.)+)"|'([^'\n]{1,400})'|“([^”\n]{1,400})”|‘([^’\n]{1,400})’"""
    r"|«([^»\n]{1,400})»|「([^」\n]{1,400})」"
)
_MAX_PATH_LENGTH = 400
"""Characters; a longer path is tried only as it is written."""
_BARE = re.compile(r"(?:\\[ \t]|[^\s\"`]){1,1000}")
"""Bounded, because ``(@(@(@`` would be read again from each ``@``; no path is longer."""
_TRAILING = ".,;:!?'\"”’»>、。，；：！？…"
_SUFFIX = re.compile(r"(?:['’]s|(?::\d+)(?:[-:]\d+)*|#L?\d+(?:-L?\d+)?)$")
_RUN_ON = re.compile(rf"[{_WIDE}“”‘’]|(?<=[\x21-\x7e])(?=[{_CJK}])")
_WORDS = frozenset(
    """abstractmethod after aftereach all author autowired available bean before beforeeach
    binding builder channel charset classmethod component data dataclass deprecated
    discardableresult entity escaping everyone fixture getmapping getter here id import
    inject injectable input keyframes latest layer main mainactor media next notnull
    nullable objc output overload override param params postmapping property published
    repository requestmapping restcontroller return returns see service setter since state
    staticmethod supports team test throws todo types version wraps""".split()  # noqa: SIM905
)
_SCOPES = frozenset(
    """actions angular anthropic-ai aws-sdk azure babel emotion eslint google-cloud jest
    modelcontextprotocol mui nestjs ngrx nx octokit openai playwright prisma react-native
    reduxjs rollup storybook sveltejs swc tanstack testing-library types typescript-eslint
    vitejs vscode vue""".split()  # noqa: SIM905
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_LINK = re.compile(r"(?<![\w@/.-])https?://[^\s<>\"`\x00-\x20\x7f]+", re.I)
_AFTER_LINK = ".,;:!?'*_~’”»、。，"


@frozen
class Mention:
    """A file that the prompt names: its path with escapes undone, and where it stands.

    ``text[start:end]`` is the mention as written, with the ``@``.
    """

    path: str
    start: int
    end: int


def mentions(text: str) -> list[Mention]:
    """All mentions outside code: ``@src/a.py``, ``@"My Docs/a.md"``, ``@My\\ Docs/a.md``.

    A backslash before a blank escapes it; any other backslash stays (Windows paths). Punctuation
    after a bare path belongs to the sentence. Brackets in names are literal. The caller checks
    whether the file exists: ``@property`` in prose is a mention too.
    """
    skipped = [match.span() for match in _CODE.finditer(text)] if "`" in text or "~" in text else []
    found: list[Mention] = []
    begins = [begin for begin, _ in skipped]
    for at in _AT.finditer(text):
        start = at.start()
        code = bisect_right(begins, start) - 1
        if code >= 0 and start < skipped[code][1]:
            continue
        if quoted := _QUOTED.match(text, at.end()):
            path = quoted[quoted.lastindex or 1]
            path = re.sub(r'\\(["])', r"\1", path) if quoted.lastindex == 1 else path
            found.append(Mention(path, start, quoted.end()))
        elif bare := _BARE.match(text, at.end()):
            raw = _trim(bare[0], _TRAILING)
            if raw:
                path = re.sub(r"\\([ \t])", r"\1", raw)
                found.append(Mention(path, start, at.end() + len(raw)))
    return found


def is_prose(path: str) -> bool:
    """True for what follows an ``@`` in prose and code without naming a file: annotations, tags of
    documentation, scopes of packages, people.
    """
    head = path.split("/", maxsplit=1)[0].split("(", maxsplit=1)[0].casefold()
    return (
        head in _WORDS
        or ("/" in path and head in _SCOPES)
        or ("." not in path and "/" not in path and (path.islower() or path.isdigit()))
    )


def readings(path: str) -> list[str]:
    """The paths that a mention can mean, the likeliest first: as it is written, then without a line
    number (``a.py:10``, ``a.py#L10-L20``), a possessive, or the words that follow it without a
    blank, as in Chinese and Japanese. At most nine.
    """
    found = [path]
    if len(path) > _MAX_PATH_LENGTH:
        return found
    if suffix := _SUFFIX.search(path):
        found.append(path[: suffix.start()])
    cuts = [cut.start() for cut in islice(_RUN_ON.finditer(path), 7)]
    found += [path[:cut] for cut in reversed(cuts) if cut]
    return list(dict.fromkeys(found))


def links(text: str) -> list[str]:
    """Web addresses outside code, without the sentence's punctuation, each once, in order."""
    plain = _CODE.sub(" ", text) if "`" in text or "~" in text else text
    return list(dict.fromkeys(_trim(match[0], _AFTER_LINK) for match in _LINK.finditer(plain)))


def _trim(raw: str, trailing: str) -> str:
    """The text without punctuation and brackets at its end that belong to the sentence."""
    while raw:
        last = raw[-1]
        unbalanced = last in _PAIRS and raw.count(last) > raw.count(_PAIRS[last])
        if last not in trailing and not unbalanced:
            break
        raw = raw[:-1]
    return raw
