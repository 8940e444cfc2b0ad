"""Definitions, used names and imports of one text, by its syntax tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve

from tierline.context.retrieval.symbol import MAX_DOC, MAX_SIGNATURE, SourceFile, Symbol
from tierline.workspace.symbols import headings
from tierline.workspace.symbols.languages import Syntax, load

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SYMBOLS = 2_000
"""Definitions of one file; only generated code has more."""
MAX_NAMES = 3_000
"""Different names used by one file."""
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]+")
_REMARK = re.compile(rb"(?m)(?:^|\s)(?:#\s|//).*$")
_GENERIC = re.compile(r"<.*?>+")
_BLANKS = re.compile(r"\s+")
_MARKS = re.compile(r"^\s*(?:///?!?|//|/\*[*!]?|\*/|\*|#+!?|;+|--+)\s?|\s*\*+/\s*$")
_REQUIRE = re.compile(r"\brequire\(\s*['\"]([^'\"]+)['\"]\s*\)")
_LOCAL = frozenset({"function", "method"})
_UNLISTED = frozenset({"impl"})
_CONTAINERS = frozenset(
    {"class", "struct", "interface", "trait", "enum", "module", "impl", "function", "method"}
)
_WRAPPERS = frozenset(
    {
        "decorated_definition", "export_statement", "type_declaration", "const_declaration",
        "var_declaration", "expression_statement", "lexical_declaration", "variable_declaration",
        "declaration", "template_declaration", "ambient_declaration",
    }
)  # fmt: skip
_ATTRIBUTES = frozenset(
    {
        "decorator", "attribute_item", "annotation", "marker_annotation", "attribute_list",
        "attribute_declaration",
    }
)  # fmt: skip


@define
class _Found:
    symbol: Symbol
    start: int
    end: int


def extract(path: str, text: str, syntax: Syntax) -> SourceFile:
    """What a text defines, uses and imports. Broken code gives as much as its tree shows.

    Raises:
        ImportError: the grammar is not installed for this platform.
    """
    if syntax.name == "markdown":
        return headings.extract(path, text)
    from tree_sitter import Parser, QueryCursor

    language, query = load(syntax)
    data = text.encode("utf-8", "replace")
    root = Parser(language).parse(data).root_node
    found: dict[int, _Found] = {}
    prose: list[tuple[int, int]] = []
    imports: list[str] = []
    if query is not None:
        for _, captures in QueryCursor(query).matches(root):
            name = captures.pop("name", [None])[0]
            for kind, nodes in captures.items():
                node = nodes[0]
                if kind in ("comment", "string"):
                    prose.append((node.start_byte, node.end_byte))
                elif kind == "import":
                    imports.append(_folded(_text(node))[:MAX_SIGNATURE])
                elif name is not None and len(found) < MAX_SYMBOLS:
                    known = found.get(node.start_byte)
                    if known is None or known.symbol.kind == "constant":
                        item = _Found(_symbol(kind, node, name), node.start_byte, node.end_byte)
                        found[node.start_byte] = item
    if syntax.name == "javascript":
        imports += _REQUIRE.findall(text)
    code, words = _separated(data, prose)
    uses = Counter(name.decode() for name in _WORD.findall(code))
    return SourceFile(
        path=path,
        language=syntax.name,
        lines=text.count("\n") + (not text.endswith("\n") and bool(text)),
        symbols=tuple(_nested(found.values())),
        uses=dict(uses.most_common(MAX_NAMES)),
        imports=tuple(dict.fromkeys(imports)),
        words=words,
    )


# --- one definition ------------------------------------------------------------------------------


def _symbol(kind: str, node: Node, name: Node) -> Symbol:
    outer = _outermost(node)
    parent, bare = _owner(node, _folded(_text(name)))
    return Symbol(
        name=bare,
        kind=kind,
        line=outer.start_point[0] + 1,
        end=max(outer.end_point[0] + (outer.end_point[1] > 0), outer.start_point[0] + 1),
        parent=parent,
        signature=_signature(node),
        doc=_doc(node, outer),
        attributes=tuple(_attributes(node, outer)),
    )


def _outermost(node: Node) -> Node:
    """The statement around a definition: with decorators, ``export``, ``const``."""
    while (above := node.parent) is not None and above.type in _WRAPPERS:
        if above.type != "decorated_definition" and above.named_child_count > 1:
            first = above.named_children[0]
            if first.start_byte != node.start_byte and first.type not in _ATTRIBUTES:
                return node
        node = above
    return node


def _owner(node: Node, name: str) -> tuple[str, str]:
    """The type of a method: Go names it in the receiver, C++ in a qualified name."""
    receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
    if receiver is not None:
        types = re.findall(r"\w+", re.sub(r"\[.*?\]", "", _text(receiver)))
        return (types[-1] if types else ""), name
    if "::" in name and node.type == "function_definition":
        owner, _, bare = name.rpartition("::")
        return owner.replace("::", "."), bare
    return "", name.strip("\"'")


def _signature(node: Node) -> str:
    body = node.child_by_field_name("body")
    value = node.child_by_field_name("value")
    if body is None and value is not None:
        body = value.child_by_field_name("body")
    if body is None and node.type == "type_spec":  # Go: struct and interface
        inner = node.child_by_field_name("type")
        if inner is not None and inner.named_child_count:
            body = next((c for c in inner.named_children if c.type.endswith("_list")), None)
    data = node.text or b""
    if body is not None and body.start_byte > node.start_byte:
        data = data[: body.start_byte - node.start_byte]
        start = next((c for c in node.children if c.type not in _ATTRIBUTES), node)
        data = data[max(0, start.start_byte - node.start_byte) :]
        data = _REMARK.sub(b"", data)
    else:
        data = data.split(b"\n", 1)[0]
    text = _folded(data.decode("utf-8", "replace"))
    text = re.sub(r"\s*(?:=>|[:{=])$", "", text)
    return text if len(text) <= MAX_SIGNATURE else text[: MAX_SIGNATURE - 1] + "…"


def _doc(node: Node, outer: Node) -> str:
    if node.type in ("class_definition", "function_definition"):  # Python
        body = node.child_by_field_name("body")
        first = body.named_children[0] if body is not None and body.named_child_count else None
        if first is not None and first.type == "expression_statement" and first.named_child_count:
            first = first.named_children[0]
        if first is not None and first.type == "string":
            content = [c for c in first.children if c.type == "string_content"]
            return _clean(" ".join(_text(c) for c in content))
    comments: list[str] = []
    expected = outer.start_point[0]
    above = outer.prev_named_sibling
    while above is not None:
        last = above.end_point[0] - (above.end_point[1] == 0)
        if above.type in _ATTRIBUTES:
            expected = above.start_point[0]
        elif "comment" in above.type and last >= expected - 1:
            if above.prev_named_sibling is not None and (
                above.prev_named_sibling.end_point[0] == above.start_point[0]
                and above.prev_named_sibling.end_point[1] > 0
            ):
                break  # a comment after code, on the same line
            comments.insert(0, _text(above))
            expected = above.start_point[0]
        else:
            break
        above = above.prev_named_sibling
    return _clean("\n".join(comments))


def _clean(text: str) -> str:
    lines = [_MARKS.sub("", _MARKS.sub("", line)).strip() for line in text.split("\n")]
    whole = _folded(" ".join(line for line in lines if line))
    return whole if len(whole) <= MAX_DOC else whole[: MAX_DOC - 1] + "…"


def _attributes(node: Node, outer: Node) -> Iterable[str]:
    found: list[str] = []
    for part in (outer, node) if outer.id != node.id else (node,):
        for child in part.children[:12]:
            if child.type in _ATTRIBUTES:
                found.append(_text(child))
            elif child.type == "modifiers":
                found += [_text(c) for c in child.children if c.type in _ATTRIBUTES]
    above = outer.prev_named_sibling
    while above is not None and (above.type in _ATTRIBUTES or "comment" in above.type):
        if above.type in _ATTRIBUTES:
            found.insert(0, _text(above))
        above = above.prev_named_sibling
    around = outer.parent
    if around is not None and around.type in ("preproc_if", "preproc_ifdef"):
        line = _text(around).split("\n", 1)[0].strip()
        if not line.startswith("#ifndef"):  # an include guard documents nothing
            found.insert(0, line)
    return [_folded(text)[:MAX_SIGNATURE] for text in dict.fromkeys(found)][:8]


# --- the whole file ------------------------------------------------------------------------------


def _nested(found: Iterable[_Found]) -> list[Symbol]:
    """Set parents by nesting, and leave out definitions that are local to a function."""
    symbols: list[Symbol] = []
    open_ones: list[_Found] = []
    for item in sorted(found, key=lambda f: (f.start, -f.end)):
        while open_ones and open_ones[-1].end <= item.start:
            open_ones.pop()
        above = open_ones[-1].symbol if open_ones else None
        if any(o.symbol.kind in _LOCAL for o in open_ones):
            continue
        if above is not None:
            names = [o.symbol.name for o in open_ones]
            kind = item.symbol.kind
            if kind == "function" and above.kind not in ("module", "namespace"):
                kind = "method"
            names = [_GENERIC.sub("", name) for name in names]
            inherited = ".".join([*names, *([item.symbol.parent] if item.symbol.parent else [])])
            item.symbol = evolve(item.symbol, parent=inherited, kind=kind)
        if item.symbol.kind in _CONTAINERS:
            open_ones.append(item)
        if item.symbol.kind not in _UNLISTED:
            symbols.append(item.symbol)
    return symbols


def _separated(data: bytes, prose: Sequence[tuple[int, int]]) -> tuple[bytes, str]:
    """The text without comments and strings, and the words of those."""
    parts: list[bytes] = []
    words: list[bytes] = []
    at = 0
    for start, end in sorted(prose):
        if start < at:
            continue
        parts += [data[at:start], b" "]
        words.append(data[start:end])
        at = end
    parts.append(data[at:])
    return b"".join(parts), b" ".join(words).decode("utf-8", "replace")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _folded(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()
