"""Small changes of a program that a test of its behaviour should notice.

Each mutation replaces one expression or statement: another operator or comparison, a constant a
tenth larger (a whole one larger by one), a sign or a `not` dropped, two arguments swapped, a mask
left out, a call for its effect removed. Annotations, texts and what raises errors stay.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*"}
COMPARISONS = {
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<",),
    ast.Gt: (">=", "<"),
    ast.GtE: (">",),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
}
MASKING = {"where": 1, "zero_masked": 0, "maximum": 0, "minimum": 0, "clip": 0, "stop_gradient": 0}
"""Functions whose call is replaced by one of their arguments."""


class Mutation(NamedTuple):
    """The changed program, and what was changed where."""

    line: int
    was: str
    now: str
    source: str


class _Text:
    """Texts of the nodes of a program; columns count bytes."""

    def __init__(self, source: str):
        self.whole = source.encode()
        sizes = (len(line) for line in self.whole.splitlines(keepends=True))
        self.starts = [0, *itertools.accumulate(sizes)]

    def span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, (ast.expr, ast.stmt))
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        return self.whole[slice(*self.span(node))].decode()

    def replace(self, node: ast.AST, new: str) -> str:
        """The program with the text of a node exchanged."""
        start, end = self.span(node)
        return (self.whole[:start] + new.encode() + self.whole[end:]).decode()


def mutations(source: str) -> list[Mutation]:
    """All mutations of a program, in the order of its lines."""
    text, by_text = _Text(source), {}
    for node in _nodes(ast.parse(source)):
        old = text.of(node)
        for new in _variants(node, text.of):
            if new != old:
                changed = text.replace(node, new)
                by_text[changed] = Mutation(node.lineno, old, new, changed)
    return sorted(
        by_text.values(), key=lambda mutation: (mutation.line, mutation.was, mutation.now)
    )


def _nodes(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Expressions and statements that matter for what is computed."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.JoinedStr)):
                continue
            if isinstance(child, (ast.Import, ast.ImportFrom, ast.Assert)):
                continue
            if isinstance(child, ast.keyword) and child.arg == "static":  # how, not what
                continue
            if isinstance(child, (ast.expr, ast.stmt)):
                yield child
            yield from _nodes(child)


def _variants(node: ast.AST, text: Callable[[ast.AST], str]) -> Iterator[str]:
    """Other texts for a node."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            yield f"({text(left)}) {ARITHMETIC[type(op)]} ({text(right)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            yield from (f"{text(left)} {new} {text(right)}" for new in COMPARISONS[type(op)])
        case ast.BoolOp(op=op, values=values):
            word = " or " if isinstance(op, ast.And) else " and "
            yield "(" + word.join(f"({text(value)})" for value in values) + ")"
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield f"({text(operand)})"
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() as value):
            yield str(value + 1)
        case ast.Constant(value=float() as value):
            yield repr(1.1 * value if value else 0.1)
        case ast.IfExp(test=test, body=body, orelse=other):
            yield f"({text(other)}) if ({text(test)}) else ({text(body)})"
        case ast.Call(func=func, args=[first, second, *_]) if not _starred(node):
            if type(first) is type(second):  # others would be noticed by their types alone
                yield _swapped(text, node)
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if name in MASKING:
                yield f"({text(node.args[MASKING[name]])})"
        case ast.Expr(value=ast.Call()):
            yield "pass"


def _starred(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args[:2])


def _swapped(text: Callable[[ast.AST], str], call: ast.Call) -> str:
    """The call with its first two arguments in the other order."""
    first, second, *others = map(text, call.args)
    named = (f"{k.arg}={text(k.value)}" if k.arg else f"**{text(k.value)}" for k in call.keywords)
    return f"{text(call.func)}({', '.join((second, first, *others, *named))})"
