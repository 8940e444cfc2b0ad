"""Which languages are indexed, and how their syntax trees say what is defined.

Each query (``queries/*.scm``) captures the node of a definition as ``@<kind>`` and its name as
``@name``; ``@comment`` and ``@string`` mark text that is not code, ``@import`` the statements that
import. A first line ``; inherits: name`` puts another query before it. The grammars are
imported when the first file of a language is met, in the index's own process.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from tree_sitter import Language, Query

_INHERITS = "; inherits:"


@frozen
class Syntax:
    """How a language is read."""

    name: str
    module: str
    """Python module of the grammar."""
    endings: tuple[str, ...]
    query: str
    """Name of its file in ``queries/``; empty for none."""
    function: str = "language"
    names: tuple[str, ...] = ()
    """Whole file names of this language, beside the endings."""


SYNTAXES: tuple[Syntax, ...] = (
    Syntax("python", "tree_sitter_python", (".py", ".pyi", ".pyw"), "python"),
    Syntax("javascript", "tree_sitter_javascript", (".js", ".jsx", ".mjs", ".cjs"), "javascript"),
    Syntax(
        "typescript", "tree_sitter_typescript", (".ts", ".mts", ".cts"), "typescript",
        function="language_typescript",
    ),
    Syntax(
        "tsx", "tree_sitter_typescript", (".tsx",), "typescript", function="language_tsx",
    ),
    Syntax("go", "tree_sitter_go", (".go",), "go"),
    Syntax("rust", "tree_sitter_rust", (".rs",), "rust"),
    Syntax("java", "tree_sitter_java", (".java",), "java"),
    Syntax("c", "tree_sitter_c", (".c", ".h"), "c"),
    Syntax(
        "cpp", "tree_sitter_cpp",
        (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".ipp", ".inl"), "cpp",
    ),
    Syntax(
        "ruby", "tree_sitter_ruby", (".rb", ".rake", ".gemspec"), "ruby",
        names=("Rakefile", "Gemfile"),
    ),
    Syntax("csharp", "tree_sitter_c_sharp", (".cs",), "csharp"),
    Syntax("php", "tree_sitter_php", (".php",), "php", function="language_php"),
    Syntax("bash", "tree_sitter_bash", (".sh", ".bash"), "bash"),
    Syntax("markdown", "tree_sitter_markdown", (".md", ".markdown"), ""),
)  # fmt: skip

_BY_ENDING = {ending: syntax for syntax in SYNTAXES for ending in syntax.endings}
_BY_NAME = {name: syntax for syntax in SYNTAXES for name in syntax.names}
_TEXTS = frozenset(
    """.toml .yaml .yml .json .cfg .ini .txt .rst .html .css .scss .sql .proto .xml .gradle
    .cmake .mk .vue .svelte .lua .pl .pm .swift .kt .kts .scala .ex .exs .erl .hs .ml .r .jl
    .dart .zig .nim .m .mm .S .s .am .ac .in .el .vim .tf .bat .ps1 .adoc .org .tex .m4 .py.in
    .l .y .ll .yy .asm""".split()  # noqa: SIM905
)
_TEXT_NAMES = frozenset(
    {
        "Makefile", "Dockerfile", "CMakeLists.txt", "README", "LICENSE", "CHANGES",
        "ChangeLog", "NEWS", "configure.ac",
    }
)  # fmt: skip


def syntax_of(path: str) -> Syntax | None:
    """The syntax of a file, by its name."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    ending = name[dot:].lower() if dot > 0 else ""
    return _BY_ENDING.get(ending) or _BY_NAME.get(name)


def is_text(path: str) -> bool:
    """True for files without a syntax that are searched by their words all the same."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name in _TEXT_NAMES or (dot > 0 and name[dot:] in _TEXTS)


@cache
def load(syntax: Syntax) -> tuple[Language, Query | None]:
    """The grammar and its query.

    Raises:
        ImportError: the grammar is not installed for this platform.
    """
    from tree_sitter import Language, Query

    module = importlib.import_module(syntax.module)
    language = Language(getattr(module, syntax.function)())
    return language, Query(language, query_text(syntax.query)) if syntax.query else None


def query_text(name: str) -> str:
    """A query with what it inherits."""
    text = resources.files(__package__).joinpath("queries", f"{name}.scm").read_text("utf-8")
    first = text.partition("\n")[0]
    if not first.startswith(_INHERITS):
        return text
    return query_text(first.removeprefix(_INHERITS).strip()) + text
