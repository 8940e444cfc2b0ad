"""Prompt files: the user's own commands, in the formats of other tools.

Their text becomes a prompt. Nothing in it is executed: no shell line, no tools.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from attrs import frozen

from tierline import disk
from tierline.context.display import visible_text
from tierline.context.refusals import Refusal
from tierline.context.text import clip, normalise
from tierline.workspace import frontmatter
from tierline.workspace.instructions import names_below, names_inside
from tierline.workspace.loader import Loader

MAX_FILES = 100
MAX_CHARACTERS = 40_000
_FOLDERS = (
    (".github/prompts", ".prompt.md"),
    (".claude/commands", ".md"),
    (".cursor/commands", ".md"),
)
_NAME = re.compile(r"[^\w.-]+")
_INPUT = re.compile(r"\$\{input:([A-Za-z_]\w*)(?::([^{}]*))?\}")
_ARGUMENT = re.compile(r"\$ARGUMENTS\b|\$([1-9])(?!\d)")
_VARIABLE = re.compile(r"\$\{(selection|selectedText|file)\}")
_WORDS = {
    "selection": "the selected code",
    "selectedText": "the selected code",
    "file": "the file that I am looking at",
}


@frozen
class PromptFile:
    """One command of the user."""

    name: str
    """The name that is typed after the slash, without blanks."""
    text: str
    source: str
    """The file, for showing it to the user."""
    description: str = ""
    hint: str = ""
    """The arguments that it expects."""


class MissingInputError(ValueError):
    """A value that the prompt needs was not given. The message names it."""


def find(loader: Loader, own: Path, *, trusted: bool) -> list[PromptFile]:
    """The workspace's prompt files, if it is trusted, and the user's own in ``prompts`` and
    ``commands`` of a folder. The first of a name wins. Blocking.
    """
    found: dict[str, PromptFile] = {}

    def put(name: str, text: str, source: str) -> None:
        one = _made(name, text, source)
        if one.text and len(found) < MAX_FILES:
            found.setdefault(one.name, one)

    for root in loader.roots if trusted else ():
        prefix = f"{root.name}/" if len(loader.roots) > 1 else ""
        for folder, ending in _FOLDERS:
            for name in names_inside(root.real, folder, ending):
                loaded = loader.load(f"{prefix}{folder}/{name}", cap=4 * MAX_CHARACTERS)
                if not isinstance(loaded, Refusal):
                    put(name.removesuffix(ending), loaded.content.text, loaded.key)
    for folder in ("prompts", "commands"):
        for name in names_below(own / folder, ".md"):
            try:
                text = disk.read_text(disk.resolved(own / folder / name), 4 * MAX_CHARACTERS)
            except (OSError, UnicodeDecodeError):
                continue
            put(name.removesuffix(".md").removesuffix(".prompt"), text, f"~/{folder}/{name}")
    return list(found.values())


def expand(prompt: PromptFile, rest: str) -> str:
    """The prompt with the arguments typed after its name in its placeholders, or at its end if it
    has none.

    Raises:
        MissingInputError: a value that it needs was not given.
    """
    words = split_arguments(rest)
    needed = list(dict.fromkeys(found[1] for found in _INPUT.finditer(prompt.text)))
    values = _values(needed, words, rest)
    used = bool(needed)

    def given(match: re.Match[str]) -> str:
        value = values.get(match[1], "")
        if not value:
            raise MissingInputError(f"{match[1]}{f' ({match[2]})' if match[2] else ''}")
        return value

    def argument(match: re.Match[str]) -> str:
        nonlocal used
        used = True
        if match[1] is None:
            return rest
        return words[int(match[1]) - 1] if int(match[1]) <= len(words) else ""

    # One pass: placeholders in the user's arguments are not replaced.
    parts = re.compile(f"{_INPUT.pattern}|{_ARGUMENT.pattern}|{_VARIABLE.pattern}")

    def placed(match: re.Match[str]) -> str:
        if found := _INPUT.fullmatch(match[0]):
            return given(found)
        if found := _VARIABLE.fullmatch(match[0]):
            return _WORDS[found[1]]
        found = _ARGUMENT.fullmatch(match[0])
        return argument(found) if found else match[0]

    text = parts.sub(placed, prompt.text)
    return text if used or not rest else f"{text}\n\n{rest}"


def _values(needed: list[str], words: list[str], rest: str) -> dict[str, str]:
    """Values by placeholder: by ``name=value``, else in order; the last one takes the rest."""
    named = {}
    plain = []
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name in needed:
            named[name] = value
        else:
            plain.append(word)
    open_names = [name for name in needed if name not in named]
    if len(open_names) == 1 and not named:
        return {open_names[0]: rest}
    for place, name in enumerate(open_names):
        last = place == len(open_names) - 1
        named[name] = " ".join(plain[place:]) if last else "".join(plain[place : place + 1])
    return named


def _made(name: str, text: str, source: str) -> PromptFile:
    values, body = frontmatter.split(normalise(text))
    shown = clip(visible_text(body).strip(), MAX_CHARACTERS)
    inputs = dict.fromkeys(f"<{found[1]}>" for found in _INPUT.finditer(shown))
    hint = frontmatter.first(values, "argument-hint") or " ".join(inputs)
    if not hint and _ARGUMENT.search(shown):
        hint = "[words]"
    first_line = next((line.strip("# ") for line in shown.splitlines() if line.strip()), "")
    return PromptFile(
        name=_NAME.sub("-", name.rpartition("/")[2]).strip("-") or "prompt",
        text=shown,
        source=source,
        description=clip(visible_text(frontmatter.first(values, "description")) or first_line, 120),
        hint=clip(visible_text(hint), 80),
    )


def split_arguments(text: str) -> list[str]:
    """The words of a command, as a shell splits them; at blanks if its quotes do not match."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
