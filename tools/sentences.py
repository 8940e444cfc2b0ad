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

from tierline.localization.translator import DOMAIN, FOLDER, numbered

SOURCE = FOLDER.parent
WHOLE = (
    *("acp/agent.py", "acp/chat.py", "acp/options.py", "memory/metrics.py", "store/garbage.py"),
    *(
        "cli/common.py",
        "cli/compact.py",
        "cli/completion.py",
        "cli/doctor.py",
        "cli/gc.py",
    ),
    *("cli/history.py", "cli/index.py", "cli/main.py", "cli/mcp.py", "cli/memory.py"),
    *("cli/models.py", "cli/reply.py", "cli/stats.py", "cli/url.py"),
    *("context/refusals.py", "context/enforce.py", "context/plan.py", "context/limits.py"),
    *("context/filerender.py", "context/model_texts.py", "context/tiers/base.py"),
    *("context/retrieval/rank.py",),
    *("context/retrieval/sets.py", "context/tiers/attribution.py", "context/tiers/lifetime.py"),
    *(
        "providers/choose.py",
        "providers/errors.py",
        "providers/local.py",
        "providers/connection_errors.py",
    ),
    *("session/caching/changes.py", "session/compaction/service.py", "session/consents.py"),
    *("lsp/lenses.py", "lsp/proposals.py", "session/doctor.py"),
    *("session/counting.py", "session/edits/apply.py", "session/files/instructions.py"),
    *("session/files/urls.py", "session/history/new_session.py", "session/mentions/resolver.py"),
    *("session/mentions/service.py", "session/models.py", "session/retrieval/service.py"),
    *("session/slash/commands.py", "session/slash/context.py", "session/slash/memory.py"),
    *("session/slash/urls.py", "session/tools/servers.py", "session/tools/toolbox.py"),
    *("session/turns/spending.py", "session/turns/turn.py"),
)
"""Modules whose every sentence is for the user."""
SAID = {
    *("TierlineError", "CodedError", "notice", "Notice", "CommandResult", "Command", "Refusal"),
    *("ask_user", "CompactionError", "CompactionNone", "SettingProblem", "ProviderError"),
    *("StorageError", "tell", "incomplete", "KeyCheckResult", "GuardError", "UrlRefused"),
}
"""Functions and classes that are given sentences for the user."""
LABELS = {"progress_bar", "translate_label", "print_table", "_print_rows", "Check", "_select"}
"""Functions and classes that are given words that stand alone, like names of columns."""
LISTED = {
    *("_FIGURES", "_PARTS", "words", "figures", "columns"),
    *("EDIT_MODES", "CONTEXT_MODES", "choices", "always"),
}
"""Names of lists of such words."""
OTHERS = (
    *("Usage:", "Options", "Arguments", "Commands", "Error", "Aborted.", "(dynamic)", "required"),
    *(
        "[default: {}]",
        "[required]",
        "Show this message and exit.",
        "Missing command.",
        "Examples:",
    ),
    *("Try [blue]'{command_path} {help_option}'[/] for help.", "No such command {0}."),
    *("Install completion for the current shell.", "No such option: {0}"),
    "Show completion for the current shell, to copy it or customize the installation.",
    *(
        "No such option: {0} (Possible options: {1})",
        "Missing argument {0}.",
        "Missing option {0}.",
    ),
    *("Option {0} requires an argument.", "Option {0} does not take a value."),
    *("Invalid value for {0}: {1}", "dir {0} does not exist.", "file {0} does not exist."),
    *("file {0} is a directory.", "Got unexpected extra argument(s) ({0})", "dir {0} is a file."),
    "Input should be a valid integer, unable to parse string as an integer",
    *("Input should be greater than or equal to {0}", "Value error, {0} is not one of {1}."),
    # Names of the request's parts, which come from an enumeration.
    *("system", "files", "notes", "history", "prompt", "tools", "instructions", "memos", "pages"),
    *("state", "symbols", "urls", "retrieved", "summaries", "{0} from {1}, reads {2}"),
    *("No", "1 file", "key", "read", "title", "address"),
    # What is put together from words.
    *(f"{{0}} {verb} in the archive." for verb in ("is", "are", "would be")),
    *(f"{{0}} {verb} back in the list." for verb in ("is", "are", "would be")),
    *("1 session", "small", "index", "There is nothing to compact."),
    # Figures of the memory.
    *("Permanent:", "Session:", "Working:", "Volatile:", "never", "Memory", "Summaries:", "Tasks:"),
)
"""Messages that are in no module of ours as they are said: typer's, and names from elsewhere."""
_UNSAID = {"debug", "info", "warning", "error", "exception", "compile", "getLogger", "execute"}
_UNSPOKEN = re.compile(
    r"[<\[|#/@]|PRAGMA|CREATE|\$?\{0\}\.\w+$|[\w:./]*\{0\}[\w:./]*$|[a-z]+ [a-z]+$"
    r"|.*(?:Callable\[|\\|\(\?:)"
)
"""No sentences: usages, names of commands and files, tables, patterns."""
_FIELD = re.compile(r"[a-z][A-Z]|_")
_WORDS = re.compile(
    r"[^\W\d_]{2,}[^\n]*? [^\n]*?[^\W\d_{}]{2,}|[^\W\d_]{3,}.*?\{|\}.*?[^\W\d_]{3,}"
)


def sentences(*, every: bool = False) -> dict[str, list[tuple[str, int]]]:
    """Message → where it stands. ``every``: also what is perhaps not for the user."""
    found: dict[str, list[tuple[str, int]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        for node in _texts(tree, every or name in WHOLE):
            message = _message(node).strip()
            if _WORDS.search(message) and (every or not _UNSPOKEN.match(message)):
                found.setdefault(message, []).append((f"server/tierline/{name}", node.lineno))
        if name in WHOLE and name.startswith(
            ("acp/", "cli/", "session/doctor", "memory/", "store/")
        ):
            for message in _shown(tree):
                found.setdefault(message, []).append((f"server/tierline/{name}", 0))
    for message in OTHERS:
        found.setdefault(message, []).append(("tools/sentences.py", 0))
    return found


def _shown(tree: ast.AST) -> Iterator[str]:
    """Texts of the command line's help, by paragraphs, and words that stand alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            _called(one) in ("command", "callback") for one in node.decorator_list
        ):
            for part in (ast.get_docstring(node) or "").split("\n\n"):
                yield _numbered(" ".join(part.split()))
        elif isinstance(node, ast.keyword) and node.arg == "help":
            yield from _words(node.value, r".")
        elif _called(node) in LABELS and isinstance(node, ast.Call):
            # A check's result is none: only what is checked.
            for one in node.args[: 2 if _called(node) == "Check" else None]:
                yield from _words(one, r"[^\W\d_][\w-]*:?$")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None and {getattr(one, "id", "") for one in targets} & LISTED:
                yield from _words(node.value, r"[^\W\d_][\w-]*:?$")


def _words(tree: ast.AST, pattern: str) -> Iterator[str]:
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        # A field's name is no word.
        if isinstance(text, str) and re.match(pattern, text) and not _FIELD.search(text):
            yield _numbered(text)


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
        return _numbered(str(node.value))
    parts = []
    place = 0
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        else:
            parts.append(f"{{{place}}}")
            place += 1
    return "".join(parts)


def _numbered(text: str) -> str:
    try:
        return numbered(text)
    except ValueError:  # braces of another kind
        return text


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
