"""The form of a file in the prompt: its path, then its text in a fence that the text cannot close.

The fence is a run of backticks longer than any run inside, so no content can end its own wrapper,
and ``parse_fenced`` returns exactly the original text.
"""

from __future__ import annotations

import json
import re

from attrs import frozen

from tierline.context.display import shown_name
from tierline.context.text import well_formed

_RUN = re.compile("`+")
_HEAD = re.compile(r"^(?P<path>\S[^\n]*)\n(?P<fence>`{3,})(?P<info>[^`\n]*)\n", re.MULTILINE)
_NO_NEWLINE = "no-final-newline"
_PLAIN_PATH = re.compile(
    r"[^\s\"`\x00-\x1f\x7f](?:[^\"`\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\"`:])?"
)

LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "cjs": "javascript", "clj": "clojure", "cpp": "cpp",
    "cs": "csharp", "css": "css", "cts": "typescript", "cxx": "cpp", "dart": "dart",
    "diff": "diff", "ex": "elixir", "exs": "elixir", "erl": "erlang", "fs": "fsharp", "go": "go",
    "gradle": "groovy", "graphql": "graphql", "h": "c", "hpp": "cpp", "hs": "haskell",
    "html": "html", "ini": "ini", "java": "java", "jl": "julia", "js": "javascript",
    "json": "json", "jsonc": "jsonc", "jsx": "jsx", "kt": "kotlin", "kts": "kotlin",
    "less": "less", "lua": "lua", "md": "markdown", "mjs": "javascript", "ml": "ocaml",
    "mts": "typescript", "nix": "nix", "patch": "diff", "php": "php", "pl": "perl",
    "proto": "protobuf", "ps1": "powershell", "py": "python", "pyi": "python", "r": "r",
    "rb": "ruby", "rs": "rust", "scala": "scala", "scss": "scss", "sh": "bash", "sql": "sql",
    "svelte": "svelte", "swift": "swift", "tex": "latex", "tf": "hcl", "toml": "toml",
    "ts": "typescript", "tsx": "tsx", "vim": "vim", "vue": "vue", "xml": "xml", "yaml": "yaml",
    "yml": "yaml", "zig": "zig", "zsh": "bash",
}  # fmt: skip
"""File name extensions and the language names that markdown readers know them by."""


@frozen
class FencedFile:
    """One file as read back from a prompt. ``note``: the text after its path, if any."""

    path: str
    text: str
    note: str = ""
    start: int = 0
    end: int = 0


def language(path: str) -> str:
    """The fence's language name for a path, empty if unknown."""
    name = path.rpartition("/")[2].lower()
    if name in ("makefile", "dockerfile"):
        return name
    return LANGUAGES.get(name.rpartition(".")[2], "") if "." in name else ""


def fence_for(text: str) -> str:
    """A run of backticks longer than any run in the text, three at least."""
    longest = max((len(run) for run in _RUN.findall(text)), default=0) if "`" in text else 0
    return "`" * max(3, longest + 1)


def fence(text: str, info: str = "") -> str:
    """The text in a fence. A text without a final newline is marked as such in the info string."""
    text = well_formed(text)
    marks = fence_for(text)
    words = [info] if info else []
    if text and not text.endswith("\n"):
        words.append(_NO_NEWLINE)
        text += "\n"
    return f"{marks}{' '.join(words)}\n{text}{marks}\n"


def render_file(path: str, text: str, note: str = "") -> str:
    """A file in its form in the prompt: path, optional note in brackets, fenced text.

    The result depends only on the arguments, so an unchanged file keeps its bytes in the cached
    prefix.
    """
    return f"{render_path(path)}{f' [{note}]' if note else ''}\n{fence(text, language(path))}"


def render_path(path: str) -> str:
    """The path as it is, or as a JSON string if a line, a bracket or something that cannot be seen
    could mislead. Every name in a prompt has this form.
    """
    path = well_formed(path)
    if _PLAIN_PATH.fullmatch(path) and " [" not in path and shown_name(path) == path:
        return path
    return json.dumps(path)


def parse_fenced(rendered: str) -> list[FencedFile]:
    """The files in a text made by ``render_file`` calls, in order, with their exact content.

    Text between two files is skipped. Content is never mistaken for a wrapper, as its fence is
    longer than any run inside it.
    """
    found: list[FencedFile] = []
    place = 0
    while head := _HEAD.search(rendered, place):
        marks = head["fence"]
        body = head.end()
        close = re.compile(rf"^{marks}(?:\n|\Z)", re.MULTILINE).search(rendered, body)
        if close is None:
            place = head.start() + len(head["path"]) + 1
            continue
        text = rendered[body : close.start()]
        if head["info"].split()[-1:] == [_NO_NEWLINE]:
            text = text[:-1]
        path, note = _split_head(head["path"])
        found.append(FencedFile(path, text, note, head.start(), close.end()))
        place = close.end()
    return found


def _split_head(line: str) -> tuple[str, str]:
    if line.startswith('"'):
        try:
            path, used = json.JSONDecoder().raw_decode(line)
        except ValueError:
            return line, ""
        rest = line[used:].strip()
        return str(path), rest[1:-1] if rest.startswith("[") and rest.endswith("]") else ""
    if line.endswith("]") and " [" in line:
        path, _, note = line.partition(" [")
        return path, note[:-1]
    return line, ""
