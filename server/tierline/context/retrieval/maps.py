"""The module map: one block a folder, a tree of folders, and a few words on how to ask for more.

A block depends only on the files that it shows. The files are chosen once, by their rank in the
reference graph, so an edit changes only the block of its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop

from attrs import field, frozen

from tierline import prompts
from tierline.context.display import shown_name
from tierline.context.fences import render_path
from tierline.context.retrieval.symbol import SourceFile, Symbol, folder_of, module_of

BLOCK_PREFIX = "symbols:"
SCAFFOLD_KEY = "scaffold:orientation"
ANCHORS_KEY = "scaffold:anchors"
TREE_KEY = "tree:workspace"
CHARACTERS_PER_TOKEN = 3.6
"""Characters of a map for each token, a low estimate used before the real count is known."""
CENTRAL_NODES = 3
MAX_TREE_LINES = 60
_FIRST = ("class", "interface", "trait", "struct", "enum", "type", "function", "module", "macro")
_ASK = prompts.read("map")
ASK_TOOL = "Call request_code_context with a path and a symbol"
ASK_USER = "Ask the user to add the file (@path)"
SUGGEST = prompts.read("suggest_pins")


@frozen
class MapChoice:
    """The files that a map shows, chosen once: those of the best folders, then central ones."""

    folders: Mapping[str, tuple[str, ...]] = field(factory=dict)
    central: tuple[str, ...] = ()
    per_file: int = 6
    """Symbols that are shown of each file."""


@frozen
class FolderBlock:
    """A folder's block, rendered."""

    key: str
    folder: str
    text: str
    files: tuple[str, ...]


def choose(
    ranks: Mapping[str, float],
    read: Callable[[str], SourceFile | None],
    *,
    tokens: int,
    per_file: int,
    keep: Callable[[str], bool] = lambda _path: True,
) -> MapChoice:
    """The files that a map of about so many tokens shows: by rank until it is full.

    ``read`` gives a file; those without symbols and those that ``keep`` denies are not shown.
    """
    room = tokens * CHARACTERS_PER_TOKEN
    chosen: dict[str, list[str]] = {}
    central: list[str] = []
    weight: dict[str, float] = {}
    for path in by_rank(ranks):
        if room <= 0:
            break
        if not keep(path):
            continue
        file = read(path)
        if file is None or not outline(file, per_file):
            continue
        if len(central) < CENTRAL_NODES:
            central.append(path)
        folder = folder_of(path)
        cost = len("\n".join(_lines(file, per_file))) + 1
        if folder not in chosen:
            cost += len(folder) + 6
        if cost > room:
            if room < 200:
                break
            continue
        room -= cost
        chosen.setdefault(folder, []).append(path)
        weight[folder] = weight.get(folder, 0.0) + ranks[path]
    order = sorted(chosen, key=lambda f: (-weight[f], f))
    return MapChoice({f: tuple(sorted(chosen[f])) for f in order}, tuple(central), per_file)


def by_rank(ranks: Mapping[str, float]) -> Iterator[str]:
    """Paths, the highest rank first. Sorted lazily, as far as they are taken."""
    rest = [(-rank, path) for path, rank in ranks.items()]
    heapify(rest)
    while rest:
        yield heappop(rest)[1]


def blocks(choice: MapChoice, read: Callable[[str], SourceFile | None]) -> list[FolderBlock]:
    """The chosen folders as they are now; a folder whose files are gone has no block."""
    made = []
    for folder, paths in choice.folders.items():
        shown = [(p, f) for p in paths if (f := read(p)) is not None and f.symbols]
        if not shown:
            continue
        lines = [f"## {folder or './'}"]
        for _, file in shown:
            lines += _lines(file, choice.per_file)
        files = tuple(p for p, _ in shown)
        made.append(FolderBlock(f"{BLOCK_PREFIX}{folder or './'}", folder, "\n".join(lines), files))
    return made


def outline(file: SourceFile, limit: int) -> list[Symbol]:
    """The symbols that stand for a file: top level first, public first, in their order."""
    top = [s for s in file.symbols if not s.parent]
    rest = [s for s in file.symbols if s.parent and s.kind in ("class", "interface", "method")]
    preferred = [s for s in top if s.kind in _FIRST and not s.name.startswith("_")]
    others = [s for s in top if s not in preferred and not s.name.startswith("_")]
    picked = (preferred + others + (rest if not preferred else []))[:limit]
    return sorted(picked, key=lambda s: (s.line, s.name))


def tree(paths: Iterable[str], *, limit: int = MAX_TREE_LINES) -> str:
    """The folders of the workspace, indented; as deep as ``limit`` lines allow."""
    folders: set[str] = set()
    for path in paths:
        folder = folder_of(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder_of(folder[:-1])
    by_depth = sorted(folders, key=lambda f: (f.count("/"), f))
    shown = set(by_depth[:limit])
    if len(by_depth) > limit:  # whole levels only, unless the first alone is too long
        level = by_depth[limit].count("/")
        shown = {f for f in shown if f.count("/") < level} or shown
    lines = [f"{'  ' * (f.count('/') - 1)}{shown_name(f.rstrip('/').rpartition('/')[2])}/"
             for f in sorted(shown)]  # fmt: skip
    if len(shown) < len(folders):
        lines.append("… deeper folders are not shown")
    return "\n".join(lines)


def scaffold(
    choice: MapChoice,
    read: Callable[[str], SourceFile | None],
    *,
    languages: Sequence[str] = (),
    tools: bool = False,
) -> str:
    """The note for the model: what this is, how to get more, and the most central modules."""
    lines = [_ASK.format(how=ASK_TOOL if tools else ASK_USER)]
    if not tools:
        lines.append(SUGGEST)
    if languages:
        lines.append(f"Languages: {', '.join(languages)}.")
    nodes = []
    for path in choice.central:
        file = read(path)
        if file is not None:
            doc = next((s.doc for s in file.symbols if s.doc and not s.parent), "")
            nodes.append(
                f"- {shown_name(module_of(path))} ({render_path(path)})"
                f"{': ' + _short(doc) if doc else ''}"
            )
    if nodes:
        lines += ["Most central modules:", *nodes]
    return "\n".join(lines)


def _lines(file: SourceFile, limit: int) -> list[str]:
    name = shown_name(file.path.rpartition("/")[2])
    return [name, *(f"  {_signature(s)}" for s in outline(file, limit))]


def _signature(symbol: Symbol) -> str:
    text = symbol.signature or symbol.name
    if symbol.kind not in ("function", "method", "heading", "macro") and symbol.kind not in text:
        text = f"{symbol.kind} {text}" if symbol.kind != "constant" else text
    return text if len(text) <= 110 else text[:109] + "…"


def _short(doc: str) -> str:
    first = doc.split(". ", maxsplit=1)[0].rstrip(".")
    return first if len(first) <= 110 else first[:109] + "…"
