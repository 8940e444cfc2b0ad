"""Errors in a text, found by their form, and a signature for each kind of error.

No list of exceptions could be complete: a framework's ``ImproperlyConfigured``, a shell's ``No such
file or directory`` and a linker's ``undefined reference`` are errors just as ``KeyError`` is. They
share a form: a name or label before a colon, a code, a place in a file, the last line of a trace, a
test's name after ``FAILED``.
"""

from __future__ import annotations

import re

_LONGEST = 1_000
"""Characters of a line that are searched."""
_NAME = r"(?:[\w$]+(?:\.|::|\\))*[A-Z]\w*"
_NAMED = re.compile(
    rf"^(?:Uncaught |Caused by: |Unhandled \w+:? |E[ \t]+)*(?P<name>{_NAME})(?:"
    rf" \[\w+\])?(?::(?!\S:)|$)"
)
"""``package.NameOfError: message``; a name alone in a line counts only as the end of a trace."""
_LABEL = re.compile(
    r"^(?:.{0,160}?[\s\]:|])?(?:npm ERR!|(?:fatal |internal |syntax |runtime |compile |build )?"
    r"(?:error|fatal|panic|fehler|failure|exception)(?:\[\w+\]| [A-Z]{1,4}\d{2,6})?):\s*\S",
    re.IGNORECASE,
)
_LABEL_FIRST = re.compile(
    r"^(?:ERR!|npm ERR!|ERROR\b|FATAL\b|E: |\[error\]|\[fatal\]|✗|✕|✖|×|not ok \d|--- FAIL:"
    r"|FAIL(?:ED)?[:\s])"
)
_CODE = re.compile(r"\b(?:[A-Z]{1,5}-?\d{3,6}|E[A-Z]{4,15})\b")
_CODED = re.compile(r"^(?:\S+ )?(?:[A-Z]{1,5}-?\d{3,6}|E[A-Z]{4,15})(?::| - )")
_SAYS = re.compile(
    r"(?:: |^)(?:command not found|no such (?:file|table|column|module)|permission denied|not found"
    r"|undefined (?:reference|symbol|variable|name)|undefined: |cannot (?:find|open|resolve"
    r"|import)\b"
    r"|could not (?:find|open|resolve|connect)\b|connection refused|access denied|out of memory"
    r"|segmentation fault|killed|unknown (?:option|command)|unresolved )"
    r"|\bpanicked at\b|\bsegmentation fault\b|\bcore dumped\b|\bstack overflow\b",
    re.IGNORECASE,
)
_ERRNO = re.compile(r"\b[a-z]{4,12}:? '?E[A-Z]{4,15}\b")
"""``connect ECONNREFUSED``."""
_PLACE = re.compile(r"^(?:[A-Za-z]:)?[\w./\\@~+-]+\.\w{1,6}[:(]\d+(?:[:,]\d+\)?|\))?:\s+(?!\s)\S")
_HARMLESS = re.compile(
    r"\b(?:warning|note|info|debug|hint)\b|\b0 (?:errors?|failed)\b", re.IGNORECASE
)
_TRACE = re.compile(
    r"^(?:Traceback\b|[ \t]*File \".+\", line \d|[ \t]+at \S+|\s*\d+: 0x|goroutine \d|stack"
    r" backtrace:)"
)
_PYTEST = re.compile(r"^E[ \t]+")
_ENDING = re.compile(r"(?:Error|Exception|Failure|Fault|Warning|Panic)$")
_HUMPS = re.compile(r"[A-Z][a-z0-9]+[A-Z]\w")
_ANY = frozenset(("e", "error", "fehler", "exception", "fatal", "failure", "panic", "err"))
"""Generic words for an error, which tell nothing of its kind."""
_HEAD = re.compile(rf"(?:^|[\s(`\"'])(?P<name>{_NAME})(?=:|$|[\s`\"'),.])")


def failures(text: str, *, failed: bool = False) -> list[str]:
    """The lines of a text that report an error, in order, without prefixes that tools add.

    ``failed``: the text is the output of something that failed, so that a place in a file with a
    message behind it is an error too.
    """
    found: list[str] = []
    traced = False
    for raw in text.splitlines():
        line = raw[:_LONGEST].rstrip()
        if not line.strip():
            continue
        if _TRACE.match(line):
            traced = True
            continue
        if line[0] in " \t":
            if traced:
                continue  # source text between the frames of a trace
            line = line.strip()
        if _tells(line, traced=traced, failed=failed):
            found.append(_PYTEST.sub("", line))
        traced = False
    return found


def signature(error: str) -> str:
    """The name or code of an error, without its package; empty if it has none.

    ``requests.exceptions.Timeout: …`` and ``Timeout: …`` have one signature; line numbers are
    ignored.
    """
    for match in _HEAD.finditer(error):
        last = re.split(r"[.\\]|::", match["name"])[-1]
        if last.lower() in _ANY:
            continue
        if _ENDING.search(last) or _HUMPS.match(last) or error.startswith(f"{match['name']}:"):
            return last
    code = _CODE.search(error)
    return code[0] if code else ""


def _tells(line: str, *, traced: bool, failed: bool) -> bool:
    if named := _NAMED.match(line):
        name = named["name"]
        whole = line.rstrip().endswith(name)
        last = re.split(r"[.\\]|::", name)[-1]
        if traced or (_ENDING.search(last) and not last.endswith("Warning")):
            return True
        if not whole and (name != last or (failed and _HUMPS.match(last))):
            return True
    if _LABEL_FIRST.match(line) or _CODED.match(line) or _ERRNO.search(line):
        return True
    if _HARMLESS.search(line):
        return False
    if _LABEL.match(line) or _SAYS.search(line):
        return True
    return failed and _PLACE.match(line) is not None
