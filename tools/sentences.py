"""Writes the catalogues anew: ``make sentences``. Needs Babel.

Found by themselves are all sentences of the modules in ``WHOLE``, and in every module what is
given to one of ``SAID``. Any other sentence of the source may be translated too: it stays in a
catalogue as long as the source has it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from tierline.speech.templates import numbered
from tierline.speech.translator import DOMAIN, FOLDER

SOURCE = FOLDER.parent
WHOLE = (
    *("context/refusals.py", "context/enforce.py", "context/plan.py", "context/limits.py"),
    *("context/filerender.py", "context/modelwords.py", "context/tierwords.py"),
    *("context/retrieval/rank.py",),
    *("context/retrieval/sets.py", "context/tiers/attribution.py", "context/tiers/lifetime.py"),
    *("providers/choose.py", "providers/errors.py", "providers/local.py", "providers/reaching.py"),
    *("session/caching/changes.py", "session/compaction/service.py", "session/consents.py"),
    *("lsp/lenses.py", "lsp/proposals.py", "session/doctor.py"),
    *("session/counting.py", "session/edits/apply.py", "session/files/instructions.py"),
    *("session/files/urls.py", "session/history/beginning.py", "session/mentions/kinds.py"),
    *("session/mentions/service.py", "session/models.py", "session/retrieval/service.py"),
    *("session/slash/commands.py", "session/slash/context.py", "session/slash/memory.py"),
    *("session/slash/urls.py", "session/tools/servers.py", "session/tools/toolbox.py"),
    *("session/turns/spending.py", "session/turns/turn.py"),
)
"""Modules whose every sentence is for the user."""
SAID = {
    *("TierlineError", "CodedError", "notice", "Notice", "CommandResult", "Command", "Refusal"),
    *("ConsentInfo", "CompactionError", "CompactionNone", "SettingProblem", "ProviderError"),
    *("StorageError", "tell", "_usage", "KeyCheckResult", "GuardError", "UrlRefused"),
}
"""Functions and classes that are given sentences for the user."""
_UNSAID = {"debug", "info", "warning", "error", "exception", "compile", "getLogger", "execute"}
_UNSPOKEN = re.compile(
    r"[<\[|#/@]|\$?\{0\}\.\w+$|[\w:./]*\{0\}[\w:./]*$|[a-z]+ [a-z]+$|.*(?:Callable\[|\\|\(\?:)"
)
"""No sentences: usages, names of commands and files, tables, patterns."""
_WORDS = re.compile(
    r"[^\W\d_]{2,}[^\n]*? [^\n]*?[^\W\d_{}]{2,}|[^\W\d_]{3,}.*?\{|\}.*?[^\W\d_]{3,}"
)


def sentences(*, every: bool = False) -> dict[str, list[tuple[str, int]]]:
    """Message → where it stands. ``every``: also what is perhaps not for the user."""
    found: dict[str, list[tuple[str, int]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in _texts(ast.parse(path.read_text("utf-8")), every or name in WHOLE):
            message = _message(node).strip()
            if _WORDS.search(message) and (every or not _UNSPOKEN.match(message)):
                found.setdefault(message, []).append((f"server/tierline/{name}", node.lineno))
    return found


def _texts(tree: ast.AST, everything: bool) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Texts that are said; the pieces of an f-string are one text."""
    for child in ast.iter_child_nodes(tree):
        if _documents(tree, child) or _logs(child):
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str) and everything:
            yield child
        elif isinstance(child, ast.JoinedStr):
            if everything:
                yield child
            for value in child.values:
                if isinstance(value, ast.FormattedValue):
                    yield from _texts(value, everything)
        elif not isinstance(child, ast.Constant):
            yield from _texts(child, everything or _said(child))


def _documents(parent: ast.AST, child: ast.AST) -> bool:
    return (
        isinstance(child, ast.Expr)
        and isinstance(child.value, ast.Constant)
        and isinstance(parent, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    )


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _logs(node: ast.AST) -> bool:
    where = getattr(getattr(node, "func", None), "value", None)
    return _called(node) in _UNSAID and getattr(where, "id", "") in ("log", "logging", "re")


def _said(node: ast.AST) -> bool:
    return _called(node) in SAID


def _message(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        text = str(node.value)
        try:
            return numbered(text)
        except ValueError:  # braces of another kind
            return text
    parts = []
    place = 0
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        else:
            parts.append(f"{{{place}}}")
            place += 1
    return "".join(parts)


def catalogue_file(language: str) -> Path:
    """Where the messages of a language are written."""
    return FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def read(language: str) -> Catalog:
    """The catalogue as it is."""
    with catalogue_file(language).open("rb") as file:
        return read_po(file, locale=language)


@lru_cache
def languages() -> tuple[str, ...]:
    """Those that have a catalogue."""
    return tuple(sorted(path.parent.parent.name for path in FOLDER.glob("*/LC_MESSAGES/*.po")))


def renew(language: str) -> tuple[int, int]:
    """Write a catalogue and its compiled form anew. Returns how many sentences it has, and how
    many are translated.
    """
    old = read(language)
    said, every = sentences(), sentences(every=True)
    new = Catalog(locale=language, domain=DOMAIN, charset="utf-8", fuzzy=False)
    new.header_comment = old.header_comment
    new.project, new.last_translator = "Tierline", "Tierline"
    for message in sorted(every):
        known = old.get(message)
        translation = str(known.string) if known is not None and known.string else ""
        if message in said or translation:
            files = sorted({file for file, _line in every[message]})
            new.add(message, translation, locations=[(file, 0) for file in files])
    new.revision_date = new.creation_date = old.creation_date
    with catalogue_file(language).open("wb") as file:
        write_po(file, new, width=100, sort_output=True, include_lineno=False)
    with catalogue_file(language).with_suffix(".mo").open("wb") as file:
        write_mo(file, new)
    entries = [message for message in new if message.id]
    return len(entries), sum(bool(message.string) for message in entries)


if __name__ == "__main__":
    for one in languages():
        count, translated = renew(one)
        sys.stdout.write(f"{one}: {translated} of {count} sentences are translated.\n")
