"""Measures how the server's code is built, also beside a revision: `make house BEFORE=rev`.

Everything is read from the source with `ast`, so that any revision can be measured without being
installed. Imports for types only count too: a reader follows them all the same.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "tierline"
SESSION = "tierline.session"
CONTRACT = "Inside the session, arrows point down"
LONG = 50
ENTRIES = {
    "prompt": ("tierline.session.turns.turn",),
    "edit": ("tierline.session.edits.service",),
}
"""The modules that answer `tierline/chat/send` and `tierline/edit/…`."""
CHANGES = {
    "provider": r"(?i)^\S*anthropic\S*$",
    "slash command": r"session scratchpad",
    "setting": r"max_file_bytes|maxFileBytes",
    "policy": r"log_structured",
    "status bar": r"[sS]tatusBar",
    "tool": r"suggest_pins",
    "language": r"(?i)\bruby\b",
    "compaction prompt": r"You write the notes|You find where a conversation",
}
"""For each kind of change, what marks the files that an existing one of its kind touches."""
IN_CODE = ("provider",)
"""Marks that count only as a name or a value in code: a comment that cites a provider's page and a
sentence that gives it as an example do not change with another provider.
"""
_TS_CODE = re.compile(r"""//.*|/\*[\s\S]*?\*/|'([^'\n]*)'|"([^"\n]*)"|`([^`]*)`|(\w+)""")


@dataclass
class Module:
    name: str
    text: str
    package: bool
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)


class House:
    """The server's source at one moment."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.modules: dict[str, Module] = {}
        for path, text in files.items():
            if path.startswith("server/tierline/") and path.endswith(".py"):
                parts = Path(path).with_suffix("").parts[1:]
                package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if package else parts)
                self.modules[name] = Module(name, text, package)

    def within(self, prefix: str) -> list[Module]:
        return [m for m in self.modules.values() if f"{m.name}.".startswith(f"{prefix}.")]

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        return {m.name: set(self._imports(m)) - {m.name} for m in self.modules.values()}

    def _imports(self, module: Module) -> Iterator[str]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                yield from (a.name for a in node.names if a.name in self.modules)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    deep = f"{node.module}.{alias.name}"
                    if deep in self.modules:
                        yield deep
                    elif node.module in self.modules:
                        yield node.module

    def circles(self, prefix: str) -> list[list[str]]:
        """Strongly connected sets of modules, largest first."""
        inside = {m.name for m in self.within(prefix)}
        graph = {n: sorted(self.imports[n] & inside) for n in sorted(inside)}
        return sorted((c for c in components(graph) if len(c) > 1), key=len, reverse=True)

    def chain(self, starts: Iterable[str], prefix: str) -> int:
        """Modules on the longest way down from the entry; a circle counts with all its files."""
        inside = {m.name for m in self.within(prefix)}
        graph = {n: sorted(self.imports[n] & inside) for n in sorted(inside)}
        found = components(graph)
        of = {n: i for i, c in enumerate(found) for n in c}
        best: dict[int, int] = {}
        for i, members in enumerate(found):  # components come leaves first
            below = {of[t] for n in members for t in graph[n]} - {i}
            best[i] = len(members) + max((best[b] for b in below), default=0)
        return max((best[of[s]] for s in starts if s in of), default=0)

    def duplicates(self) -> list[str]:
        """Public class names that more than one module defines."""
        names = Counter(
            node.name
            for m in self.modules.values()
            for node in m.tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )
        return sorted(name for name, count in names.items() if count > 1)

    def long_functions(self) -> list[str]:
        return sorted(
            f"{m.name}.{node.name}"
            for m in self.modules.values()
            for node in ast.walk(m.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno + 1 > LONG
        )

    def count(self, pattern: str, prefix: str = PACKAGE) -> int:
        return sum(len(re.findall(pattern, m.text, re.MULTILINE)) for m in self.within(prefix))

    def takes_session(self, layers: list[list[str]]) -> list[str]:
        """Modules of the parts below the whole `Session` that name it."""
        above = next((n for n, row in enumerate(layers) if "session" in row), -1)
        high = {part for row in layers[:above] for part in row}
        return sorted(
            m.name
            for m in self.within(SESSION)
            if "tierline.session.session" in self.imports[m.name] and part(m.name) not in high
        )

    def arrows(self, layers: list[list[str]]) -> tuple[int, list[str]]:
        """Arrows between parts of `session/`: how many there are, and those that run up."""
        height = {part: n for n, row in enumerate(layers) for part in row}
        seen, _ = self.parts()
        up = [f"{a} → {b}" for a, b in sorted(seen) if height.get(a, 0) > height.get(b, 99)]
        return len(seen), up

    def parts(self) -> tuple[set[tuple[str, str]], dict[str, set[str]]]:
        """Arrows between parts of `session/`: as pairs, and by the part that they leave."""
        pairs = {
            (part(a), part(b))
            for a in (m.name for m in self.within(SESSION))
            for b in self.imports[a]
            if b.startswith(f"{SESSION}.") and a != SESSION and part(a) != part(b)
        }
        below: dict[str, set[str]] = {name: set() for pair in pairs for name in pair}
        for a, b in pairs:
            below[a].add(b)
        return pairs, below

    def touched(self, kind: str) -> list[str]:
        """The files that an existing one of a kind of change touches."""
        found = re.compile(CHANGES[kind])
        words = code_words if kind in IN_CODE else lambda _path, text: [text]
        return sorted(
            path
            for path, text in self.files.items()
            if path.startswith(("server/tierline/", "vscode-client/src/", "vscode-client/package"))
            and not path.endswith(("package-lock.json", "src/protocol.ts"))
            and ".test." not in path
            and any(found.search(word) for word in words(path, text))
        )


def code_words(path: str, text: str) -> Iterator[str]:
    """Names and texts of a file's code, without comments and docstrings; of data, its words."""
    if path.endswith(".py"):
        prose: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Expr(value=ast.Constant() as said):
                    prose.add(id(said))
                case ast.Constant(value=str(value)) if id(node) not in prose:
                    yield value
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                    yield name
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    yield node.name
                case ast.ImportFrom(module=str(name)):
                    yield name
    elif path.endswith((".ts", ".tsx")):
        for found in _TS_CODE.finditer(text):
            yield next((word for word in found.groups() if word), "")
    else:
        yield from re.findall(r"[^\s\"']+", text)


def part(module: str) -> str:
    """The folder, or the file, directly in `session/`."""
    return module.split(".")[2]


def components(graph: dict[str, list[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components; those that others lead to come first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph[node]:
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return found


def layering() -> list[list[str]]:
    """The parts of `session/` from the top down, as the import contract has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["name"] == CONTRACT:
            return [_names(row) for row in contract["layers"]]
    sys.exit(f"pyproject.toml has no contract “{CONTRACT}”.")


def _names(row: str) -> list[str]:
    return [name.strip("() ").split(".")[-1] for name in re.split(r"[|:]", row)]


def measure(house: House) -> dict[str, object]:
    """Every figure by its name."""
    session = house.within(SESSION)
    circles = house.circles(SESSION)
    arrows, up = house.arrows(layering())
    everywhere = house.circles(PACKAGE)
    figures: dict[str, object] = {
        "server: files": len(house.modules),
        "server: lines": sum(m.text.count("\n") for m in house.modules.values()),
        "session/: files": len(session),
        "session/: lines": sum(m.text.count("\n") for m in session),
        "session/: import circles": len(circles),
        "session/: files in circles": sum(map(len, circles)),
        "session/: files that take the whole session": len(house.takes_session(layering())),
        "session/: arrows between parts": arrows,
        "session/: arrows that run up": len(up),
        "server: import circles": len(everywhere),
        "server: files in circles": sum(map(len, everywhere)),
        "duplicate class names": len(house.duplicates()),
        "type: ignore": house.count(r"# type: ignore"),
        "TYPE_CHECKING blocks": house.count(r"^if TYPE_CHECKING:"),
        f"functions over {LONG} lines": len(house.long_functions()),
        "requirement numbers in code": house.count(r"\b[Ss]eeds?\s+\d{3}\b|\bBR-\d+"),
    }
    for name, starts in ENTRIES.items():
        figures[f"longest chain of modules for a {name}"] = house.chain(starts, SESSION)
    for name in CHANGES:
        figures[f"files that a {name} touches"] = len(house.touched(name))
    return figures


def details(house: House) -> Iterator[str]:
    """What stands behind the figures that should be nought."""
    for circle in house.circles(PACKAGE):
        yield f"circle: {' '.join(name.removeprefix('tierline.') for name in circle)}"
    _, up = house.arrows(layering())
    yield f"arrows that run up: {', '.join(up) or 'none'}"
    takers = (name.removeprefix(f"{SESSION}.") for name in house.takes_session(layering()))
    yield f"take the whole session: {', '.join(takers) or 'none'}"
    for name in CHANGES:
        yield f"a {name} touches: {', '.join(house.touched(name))}"
    yield f"duplicate class names: {', '.join(house.duplicates()) or 'none'}"
    yield f"functions over {LONG} lines: {', '.join(house.long_functions()) or 'none'}"


def drawing(house: House) -> str:
    """The parts of `session/` as a mermaid graph. What a longer way says too is left out."""
    _, below = house.parts()
    rows = layering()
    lines = ["```mermaid", "graph TD"]
    for row in rows:
        lines += [f"  {name}" for name in row if name in below]

    def reach(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [*below[start]]
        while waiting:
            if (one := waiting.pop()) not in found:
                found.add(one)
                waiting += below[one]
        return found

    for name in (name for row in rows for name in row):
        direct = below.get(name, set())
        further = set().union(*(reach(other) for other in direct)) if direct else set()
        lines += [f"  {name} --> {other}" for other in sorted(direct - further)]
    return "\n".join([*lines, "```"])


def draw(house: House) -> None:
    """Put the drawing between its marks in the page on architecture."""
    page = ROOT / "docs" / "architecture.md"
    begin, end = "<!-- drawing: make docs-gen -->\n", "\n<!-- end of drawing -->"
    head, rest = page.read_text(encoding="utf-8").split(begin)
    tail = rest.split(end)[1]
    page.write_text(f"{head}{begin}{drawing(house)}{end}{tail}", encoding="utf-8")


KINDS = (".py", ".ts", ".tsx", ".json", ".txt", ".scm")
SOURCES = ("server/tierline", "vscode-client/src", "vscode-client/package.json")


def now() -> House:
    """The source as it lies here."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *SOURCES],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    paths = [ROOT / name for name in listed if name.endswith(KINDS)]
    return House(
        {
            path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
            for path in paths
            if path.is_file()
        }
    )


def at(revision: str) -> House:
    """The source at a revision."""
    done = subprocess.run(
        ["git", "archive", revision, "--", *SOURCES], cwd=ROOT, check=False, capture_output=True
    )
    if done.returncode:
        sys.exit(done.stderr.decode(errors="replace").strip())
    files: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(KINDS):
                content = archive.extractfile(member)
                files[member.name] = content.read().decode() if content else ""
    return House(files)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", nargs="?", help="a revision to compare with")
    parser.add_argument("--details", action="store_true", help="say which, not only how many")
    parser.add_argument("--draw", action="store_true", help="only draw docs/architecture.md anew")
    arguments = parser.parse_args()
    house = now()
    if arguments.draw:
        draw(house)
        return 0
    figures = measure(house)
    before = measure(at(arguments.before)) if arguments.before else {}
    if before:
        print(f"{'':46}{arguments.before[:10]:>10}{'now':>10}")
    for name, figure in figures.items():
        old = f"{before[name]:>10}" if before else ""
        print(f"{name:46}{old}{figure:>10}")
    if arguments.details:
        print("\n".join(details(house)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
