"""Small faults that a programmer could have made, one at a time, as changed syntax trees.

Operators as in the usual tools: comparison, arithmetic, Boolean, constant, negated condition, lost
call, lost ``break`` or ``continue``, lost return value. Left out: annotations, docstrings, texts,
lines for the log, and what ``raise`` says, as no test should pin those; unions of classes, which
only fail; and the same fault twice (``if a == b`` negated is ``if a != b``).
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Callable, Iterator

from attrs import frozen

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


@frozen
class Mutant:
    """One fault: the ``index``-th place of a file where something can be changed."""

    path: str
    """Within the package, with slashes."""
    index: int
    line: int
    change: str
    lines: tuple[int, int] = (0, 0)
    """The statement, or the head of one that has a body; (0, 0) for what runs on import."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"


@frozen
class Place:
    """A node, what is done to it, and what that is called."""

    node: ast.AST
    change: str
    apply: Callable[[ast.AST], ast.AST]


def mutants(path: str, source: str) -> list[Mutant]:
    """All faults of one file, in the order of its text."""
    tree = ast.parse(source)
    spans = dict(_spans(tree))
    return [
        Mutant(path, index, line_of(place.node), place.change, spans.get(id(place.node), (0, 0)))
        for index, place in enumerate(places(tree))
    ]


def line_of(node: ast.AST) -> int:
    """Where a node begins; 0 for one that has no place of its own."""
    return int(getattr(node, "lineno", 0))


def difference(source: str, mutant: Mutant) -> str:
    """What the fault changes, as lines with - and + of the code in normal form."""
    before = ast.unparse(ast.parse(source)).splitlines()
    after = ast.unparse(mutate(source, mutant.index)).splitlines()
    lines = difflib.unified_diff(before, after, n=0, lineterm="")
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++") and line[0] != "@")


def _spans(node: ast.AST, lines: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, tuple[int, int]]]:
    """The lines of the statement that each node of a function belongs to."""
    inside = lines != (0, 0)
    if isinstance(node, ast.stmt) and inside:
        body = getattr(node, "body", None)
        end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        lines = (node.lineno, max(end, node.lineno))
    yield id(node), lines
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                # Defaults are worked out when the function is made, on import.
                within = name == "body" or inside
                yield from _spans(child, (node.lineno, node.lineno) if within else (0, 0))
            else:
                yield from _spans(child, lines)


def mutate(source: str, index: int) -> ast.Module:
    """The file's tree with one fault."""
    tree = ast.parse(source)
    place = list(places(tree))[index]
    replaced = place.apply(copy.copy(place.node))

    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if node is place.node:
                return ast.copy_location(replaced, node)
            return self.generic_visit(node)

    changed = Put().visit(tree)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


def places(tree: ast.Module) -> Iterator[Place]:
    """Every place of a tree where a fault can be put."""
    yield from _walk(tree)


def _walk(node: ast.AST) -> Iterator[Place]:
    yield from _faults(node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        if isinstance(node, ast.Raise) and name in ("exc", "cause"):
            continue
        if name == "args" and isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            value = value[:1]  # noqa: PLW2901
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _typing(child):
                yield from _walk(child)


def _typing(node: ast.AST) -> bool:
    """True for what is about types or for the log, and for imports."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    match node:
        case ast.Assert():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger")))):
            return True  # a line for the log
    return False


def _faults(node: ast.AST) -> Iterator[Place]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARE:
            other = COMPARE[type(op)]()
            yield Place(node, f"{_code(node)} with {other.__class__.__name__}", _set(ops=[other]))
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _text(node):
            new = ARITHMETIC[type(op)]()
            yield Place(node, f"{_code(node)} with {new.__class__.__name__}", _set(op=new))
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            new = ARITHMETIC[type(op)]()
            yield Place(node, f"{_code(node)} with {new.__class__.__name__}", _set(op=new))
        case ast.BoolOp(op=op):
            either = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield Place(node, f"{_code(node)} with {either.__class__.__name__}", _set(op=either))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Place(node, f"{_code(node)} without not", lambda _n: operand)
        case ast.Constant(value=bool(value)):
            yield Place(node, f"{value} -> {not value}", _set(value=not value))
        case ast.Constant(value=int(number)) | ast.Constant(value=float(number)):
            yield Place(node, f"{number} -> {number + 1}", _set(value=number + 1))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not _negates(test):
            negated = ast.UnaryOp(ast.Not(), test)
            yield Place(node, f"{_code(test)} negated", _set(test=negated))
        case ast.Expr(value=ast.Call()):
            yield Place(node, f"{_code(node)} lost", lambda _n: ast.Pass())
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield Place(node, f"{_code(node)} -> None", _set(value=ast.Constant(None)))
        case ast.Continue():
            yield Place(node, "continue -> break", lambda _n: ast.Break())
        case ast.Break():
            yield Place(node, "break -> continue", lambda _n: ast.Continue())


def _negates(test: ast.expr) -> bool:
    """True if a fault of the condition's own already is its negation."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(
            ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]
        ):
            return True
        case ast.Constant(value=bool()):
            return True
    return False


def _set(**fields: object) -> Callable[[ast.AST], ast.AST]:
    def apply(node: ast.AST) -> ast.AST:
        for name, value in fields.items():
            setattr(node, name, value)
        return node

    return apply


def _text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _code(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else text[:69] + "…"
