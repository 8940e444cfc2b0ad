"""Instruction files: what a project and its user want every assistant to know.

They are the files that other tools read too. Those of the workspace come through the loader: none
outside it, no file of secrets, bounded in number and size. Nothing in them is executed.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote

from attrs import define, field

from tierline import disk
from tierline.context.display import visible_text
from tierline.context.refusals import Reason, Refusal
from tierline.context.text import clip, normalise
from tierline.workspace import frontmatter
from tierline.workspace.loader import Loader
from tierline.workspace.mentions import mentions
from tierline.workspace.secrets import redact
from tierline.workspace.wildmatch import compile_pattern

InstructionKind: TypeAlias = Literal[
    "agents", "claude", "gemini", "copilot", "cursor", "cline", "user"
]
MAX_FILES = 60
MAX_CHARACTERS = 40_000
"""Characters of one file with its imports; the rest is left out, with a note."""
MAX_DEPTH = 5
"""Depth of imports in imported files."""
_MAX_IMPORTS = 30
_MAX_TRIED = 100
"""Names that are tried as imports: a hostile file may hold thousands that are none."""
_MAX_LINKS = 10
_MAX_ENTRIES = 500
"""Entries of one folder of rules."""
_MAX_FOLDERS = 300
_MAX_BRACES = 32
_NESTED: tuple[tuple[str, InstructionKind], ...] = (
    ("AGENTS.md", "agents"),
    ("CLAUDE.md", "claude"),
    ("GEMINI.md", "gemini"),
)
"""Files that are also read in every folder above a file of the context."""
_SINGLE: tuple[tuple[str, InstructionKind], ...] = (
    (".claude/CLAUDE.md", "claude"),
    (".github/copilot-instructions.md", "copilot"),
    (".cursorrules", "cursor"),
    (".clinerules", "cline"),
)
_FOLDERS: tuple[tuple[str, str, InstructionKind], ...] = (
    (".github/instructions", ".instructions.md", "copilot"),
    (".cursor/rules", ".mdc", "cursor"),
    (".clinerules", ".md", "cline"),
)
_USERS = ("AGENTS.md", "CLAUDE.md", "instructions.md")
_BRACES = re.compile(r"\{([^{}]*)\}")


@define
class Instruction:
    """One file of instructions, as it is now."""

    key: str
    """``instructions:src/AGENTS.md``; of the user's own ``instructions:~/AGENTS.md``."""
    name: str
    kind: InstructionKind
    text: str
    """The text without its head, with imports inserted and credentials replaced."""
    path: str
    """Absolute path."""
    workspace_key: str = ""
    """Key of the file in the workspace; empty for the user's own."""
    folder: str = ""
    """It applies to files below this folder of the workspace; empty: to all."""
    globs: tuple[str, ...] = ()
    """It applies to files that match one of these; empty: to all."""
    asked_for: bool = False
    """It is used only if a prompt names it (rules that have only a description)."""
    description: str = ""
    imports: list[str] = field(factory=list)
    notices: list[str] = field(factory=list)
    """The parts that were not taken, and why."""

    def fits(self, files: Iterable[str]) -> bool:
        """True if it applies to one of these files, or to all."""
        if self.asked_for:
            return False
        if not self.folder and not self.globs:
            return True
        inside = [file for file in files if file.startswith(self.folder)]
        if not self.globs:
            return bool(inside)
        patterns = [one for glob in self.globs for one in _patterns(glob)]
        return any(p.fullmatch(file[len(self.folder) :]) for file in inside for p in patterns)


def find(loader: Loader, files: Iterable[str]) -> list[Instruction]:
    """The instruction files of the workspace: of its top folders, and of the folders above
    ``files``. The most general first. Blocking.
    """
    found: list[Instruction] = []
    for root in loader.roots:
        prefix = f"{root.name}/" if len(loader.roots) > 1 else ""
        for name, kind, folder in islice(_candidates(root.real, prefix, files), MAX_FILES):
            one = _read(loader, f"{prefix}{name}", kind, f"{prefix}{folder}")
            if one is not None and not any(one.text == other.text for other in found):
                found.append(one)
    return found


def find_own(folder: Path) -> list[Instruction]:
    """The user's own instruction files, in Tierline's configuration folder. Blocking."""
    found = []
    for name in (
        *_USERS,
        *(f"instructions/{n}" for n in names_below(folder / "instructions", ".md")),
    ):
        path = folder / name
        try:
            text = normalise(disk.read_text(disk.resolved(path), 4 * MAX_CHARACTERS))
        except (OSError, UnicodeDecodeError):
            continue
        values, body = frontmatter.split(text)
        shown, _ = redact(visible_text(body).strip())
        if shown:
            found.append(
                Instruction(
                    f"instructions:~/{name}",
                    f"~/{name}",
                    "user",
                    clip(shown, MAX_CHARACTERS),
                    str(path),
                    globs=frontmatter.globs(values, "applyTo", "globs", "paths"),
                    description=frontmatter.first(values, "description"),
                )
            )
    return found


def _candidates(
    root: str, prefix: str, files: Iterable[str]
) -> Iterator[tuple[str, InstructionKind, str]]:
    """File names below a root, with their kind and the folder that they apply to."""
    for name, kind in (*_NESTED, *_SINGLE):
        if os.path.isfile(os.path.join(root, name)):
            yield name, kind, ""
    for folder, ending, kind in _FOLDERS:
        for name in names_inside(root, folder, ending):
            yield f"{folder}/{name}", kind, ""
    inside = [file[len(prefix) :] for file in files if file.startswith(prefix)]
    for folder in islice(_above(inside), _MAX_FOLDERS):
        for name, kind in _NESTED:
            if os.path.isfile(os.path.join(root, folder, name)):
                yield f"{folder}{name}", kind, folder


def _above(files: Sequence[str]) -> list[str]:
    """All folders that hold one of these files, with a slash at the end, the outer ones first."""
    found: set[str] = set()
    for file in files:
        folder = posixpath.dirname(file)
        while folder and f"{folder}/" not in found:
            found.add(f"{folder}/")
            folder = posixpath.dirname(folder)
    return sorted(found, key=lambda folder: (folder.count("/"), folder))


def names_inside(root: str, folder: str, ending: str) -> list[str]:
    """Like ``names_below``, for a folder; empty if a link leads there, maybe out of it."""
    parts = folder.split("/")
    above = (os.path.join(root, *parts[: number + 1]) for number in range(len(parts)))
    return [] if any(map(os.path.islink, above)) else names_below(Path(root, folder), ending)


def names_below(folder: Path, ending: str, depth: int = 3) -> list[str]:
    """Names of files below a folder that end so. Links are not followed."""
    found: list[str] = []
    try:
        with os.scandir(folder) as listing:
            entries = sorted(islice(listing, _MAX_ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and depth:
            inside = names_below(Path(entry.path), ending, depth - 1)
            found += [f"{entry.name}/{name}" for name in inside]
        elif entry.is_file(follow_symlinks=False) and entry.name.endswith(ending):
            found.append(entry.name)
    return found[:MAX_FILES]


def _read(loader: Loader, name: str, kind: InstructionKind, folder: str) -> Instruction | None:
    loaded = loader.load(name, cap=4 * MAX_CHARACTERS)
    if isinstance(loaded, Refusal):
        return None
    values, body = frontmatter.split(loaded.content.text)
    globs = frontmatter.globs(values, "applyTo", "globs", "paths")
    always = frontmatter.first(values, "alwaysApply").casefold() == "true"
    everywhere = always or globs in (("**",), ("**/*",), ("*",))
    made = Instruction(
        key=f"instructions:{loaded.key}",
        name=loaded.key,
        kind=kind,
        text="",
        path=loader.roots.path_of(loaded.key) or "",
        workspace_key=loaded.key,
        folder=folder if folder.endswith("/") else "",
        globs=() if everywhere else globs,
        asked_for=name.endswith((".mdc", ".instructions.md")) and not always and not globs,
        description=clip(visible_text(frontmatter.first(values, "description")), 500),
    )
    text = visible_text(body)
    if kind in ("claude", "gemini", "cursor"):
        text = _imported(loader, loaded.key, text, made, 0, set())
    elif kind == "copilot":
        text = _linked(loader, loaded.key, text, made)
    shown = clip(text.strip(), MAX_CHARACTERS)
    if len(shown) < len(text.strip()):
        made.notices.append(f"Only its first {MAX_CHARACTERS:,} characters are sent.")
    made.text = shown
    return made if shown else None


def _imported(
    loader: Loader, name: str, text: str, into: Instruction, depth: int, tried: set[str]
) -> str:
    """The text with ``@path`` replaced by what the file holds, from the workspace alone."""
    pieces: list[str] = []
    place = 0
    for mention in mentions(text):
        path = mention.path
        if not ("/" in path or "." in path) or len(into.imports) >= _MAX_IMPORTS:
            continue
        written = text[mention.start : mention.end]
        if path.startswith("~"):
            into.notices.append(f"{written} lies outside the workspace and is not read.")
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if target in tried or len(tried) >= _MAX_TRIED:
            continue
        tried.add(target)
        loaded = loader.load(target, cap=4 * MAX_CHARACTERS) if depth < MAX_DEPTH else None
        if loaded is None or isinstance(loaded, Refusal):
            if isinstance(loaded, Refusal) and (
                loaded.confirmable or loaded.reason is Reason.TOO_LARGE
            ):
                into.notices.append(f"{written} is not read. {loaded.message}")
            continue
        if loaded.key in (into.workspace_key, *into.imports):
            continue
        into.imports.append(loaded.key)
        shown = visible_text(loaded.content.text)
        inner = _imported(loader, loaded.key, shown, into, depth + 1, tried)
        pieces += [text[place : mention.start], f"{written}:\n{inner.strip()}\n"]
        place = mention.end
    return "".join((*pieces, text[place:]))


def _linked(loader: Loader, name: str, text: str, into: Instruction) -> str:
    """The text, followed by the files of the workspace that its Markdown links name."""
    parts = [text]
    for target, written in islice(_links(name, text), _MAX_TRIED):
        if target in (into.workspace_key, *into.imports):
            continue
        if len(into.imports) >= _MAX_LINKS:
            into.notices.append(f"Only the first {_MAX_LINKS} files that it links to are sent.")
            break
        loaded = loader.load(target)
        if isinstance(loaded, Refusal):
            if loaded.confirmable:
                into.notices.append(f"{written} is not read. {loaded.message}")
            continue
        if loaded.key in (into.workspace_key, *into.imports):
            continue
        into.imports.append(loaded.key)
        parts.append(f"{loaded.key}:\n{visible_text(loaded.content.text).strip()}")
    return "\n\n".join(parts)


def _links(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Targets of a file's Markdown links: the path in the workspace, and the target as written.
    Without pictures, links in code, and web addresses.
    """
    if "](" not in text and "]:" not in text:
        return
    from markdown_it import MarkdownIt

    for block in MarkdownIt("commonmark").parse(text[:MAX_CHARACTERS]):
        for token in block.children or ():
            written = str(token.attrs.get("href", "")) if token.type == "link_open" else ""
            path = unquote(written).partition("#")[0]
            if path and not path.startswith(("/", "~")) and not _ADDRESS.match(path):
                yield posixpath.normpath(posixpath.join(posixpath.dirname(name), path)), written


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _patterns(glob: str) -> list[re.Pattern[str]]:
    """A pattern with its braces expanded. One without a slash matches in any folder."""
    found = []
    for plain in islice(_braced(glob), _MAX_BRACES):
        anchored = plain.removeprefix("./").removeprefix("/")
        paths = anchored if "/" in anchored else f"**/{anchored}"
        if paths.endswith("/"):
            paths += "**"
        if (pattern := compile_pattern(paths, paths=True)) is not None:
            found.append(pattern)
    return found


def _braced(glob: str) -> Iterator[str]:
    parts = _BRACES.split(glob[:1_000])
    choices = [p.split(",") if place % 2 else [p] for place, p in enumerate(parts)]
    return ("".join(chosen) for chosen in product(*choices))
