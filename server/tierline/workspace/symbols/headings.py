"""The outline of a Markdown text: its headings, each with the section that it opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from tierline.context.retrieval.symbol import SourceFile, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node


def extract(path: str, text: str) -> SourceFile:
    """Headings as symbols: nested by level, ended by the next heading of the same or a higher one.

    Raises:
        ImportError: the grammar is not installed for this platform.
    """
    from tree_sitter import Parser

    from tierline.workspace.symbols.languages import load, syntax_of

    syntax = syntax_of(path) or syntax_of("a.md")
    assert syntax is not None
    language, _ = load(syntax)
    tree = Parser(language).parse(text.encode("utf-8", "replace"))
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    found: list[tuple[int, Symbol]] = []
    for node in _headings(tree.root_node):
        level, title = _heading(node)
        if not title:
            continue
        while_open = [s.name for at, s in _open(found) if at < level]
        line = node.start_point[0] + 1
        found.append((level, Symbol(title, "heading", line, lines, ".".join(while_open))))
    symbols = []
    for place, (level, symbol) in enumerate(found):
        after = [s.line - 1 for at, s in found[place + 1 :] if at <= level]
        end = max(symbol.line, after[0] if after else lines)
        signature = f"{'#' * level} {symbol.name}"
        symbols.append(evolve(symbol, end=end, signature=signature))
    return SourceFile(path, "markdown", lines, tuple(symbols), words=text)


def _headings(node: Node) -> list[Node]:
    found: list[Node] = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type in ("atx_heading", "setext_heading"):
            found.append(node)
        elif node.type in ("document", "section"):
            waiting.extend(reversed(node.children))
    return found


def _heading(node: Node) -> tuple[int, str]:
    level, title = 1, ""
    for child in node.children:
        if child.type.startswith("atx_h") and child.type.endswith("_marker"):
            level = len((child.text or b"").strip())
        elif child.type == "setext_h2_underline":
            level = 2
        elif child.type in ("inline", "paragraph"):
            title = " ".join((child.text or b"").decode("utf-8", "replace").split())
    return level, title.rstrip("# ")[:120]


def _open(found: list[tuple[int, Symbol]]) -> list[tuple[int, Symbol]]:
    """The chain of headings that the next one may stand under."""
    chain: list[tuple[int, Symbol]] = []
    for level, symbol in found:
        while chain and chain[-1][0] >= level:
            chain.pop()
        chain.append((level, symbol))
    return chain
