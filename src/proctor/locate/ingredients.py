"""Ingredients of a right solution that an answer may lack: constants, expressions, steps, with names mapped.

An expression of a right solution is put in the place of one of the student's. That the whole body would then agree
locates nothing, so neither may be most of its function.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeVar

from proctor.locate.edits import attribute, changed, constant, is_callee, is_dimension, is_module, number_value, written
from proctor.locate.source import Edit, EditableDefinition, ExpressionPlace, is_slice, node_count, parameters
from proctor.source.text import Function, body_of

MOST = 0.6  # of a function: more than that is not a part of it
LARGEST = 45  # nodes of an expression that is put in another's place
HOLE = "__hole__"
AS_ANOTHER = {"to", "type_as", "expand_as", "view_as", "reshape_as"}  # take a dtype or a shape of an argument
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Part:
    """An expression of a right solution in the student's names."""

    node: ast.expr  # its syntax tree
    text: str  # its source
    size: int  # number of nodes
    share: float  # of the solution, with all its variables written out
    words: frozenset[str]  # its tokens


class Ingredients:
    """The ingredients of all right solutions of one exercise.

    Args:
        solutions: their texts; the reference comes first.
        names: their variables -> those of the student's that have the same value.
    """

    def __init__(self, solutions: Sequence[str], names: Mapping[str, str] | None = None) -> None:
        self.names = dict(names or {})
        self.functions: list[Function] = []
        for text in solutions:
            try:
                self.functions += [f for f in EditableDefinition(text).functions() if f.name != "__init__"]
            except (SyntaxError, ValueError, RecursionError):
                continue

    def edits(self, definition: EditableDefinition) -> Iterator[Edit]:
        """Every edit of a definition that puts something of a right solution into it."""
        taken: dict[str, Taken] = {}
        for place in definition.places():
            name = place.function.name
            if name not in taken:
                taken[name] = self.taken(place.function)
            for new, kind, cost in taken[name].at(place):
                yield definition.exchange(place.node, new, kind, cost)
        for function in definition.functions():
            yield from (taken.get(function.name) or self.taken(function)).steps(definition, function)

    def taken(self, function: Function) -> Taken:
        """The ingredients for one function of the student's: from functions of the same name, or else from all."""
        same = [f for f in self.functions if f.name == function.name] or self.functions
        return Taken(same, function, self.names)


class Taken:
    """Parts of right solutions for one function of the student's."""

    def __init__(self, solutions: Sequence[Function], function: Function, variables: Mapping[str, str]) -> None:
        self.parts: dict[str, Part] = {}
        self.contexts: dict[str, ast.expr] = {}
        self.constants: dict[float, None] = {}
        self.keywords: dict[tuple[str, str], ast.keyword] = {}
        self.statements: dict[str, ast.stmt] = {}
        self.attributes: dict[str, None] = {}
        mine = parameters(function)
        for solution in solutions:
            theirs = parameters(solution)
            names = dict(zip(theirs, mine, strict=False)) if solution.name == function.name else {}
            known = {name for name in variables if name not in theirs}
            self._take(solution, {**{name: variables[name] for name in known}, **names})

    def _take(self, solution: Function, names: Mapping[str, str]) -> None:
        body = body_of(solution)
        variables = written_out(body)
        for default in (*solution.args.defaults, *solution.args.kw_defaults):
            if default is not None and (value := number_value(default)) is not None:
                self.constants[value] = None
        whole = max(
            (node_count(inlined(s.value, variables)) for s in body if isinstance(s, ast.Return) and s.value), default=1
        )
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.stmt) and not isinstance(node, ast.Return | Function | ast.For | ast.While):
                    step = renamed(node, names)
                    self.statements.setdefault(ast.unparse(step), step)
                if not isinstance(node, ast.expr) or isinstance(node, ast.JoinedStr) or is_slice(node):
                    continue
                if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                    continue
                if (value := number_value(node)) is not None:
                    self.constants[value] = None
                if isinstance(node, ast.Attribute):
                    self.attributes[node.attr] = None
                if isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    for keyword in node.keywords:
                        if keyword.arg:
                            self.keywords[name, ast.unparse(keyword)] = renamed(keyword, names)
                for form in (node, inlined(node, variables)):
                    self._add(renamed(form, names), node_count(inlined(node, variables)) / whole)
                self._surroundings(node, variables, names)

    def _add(self, node: ast.expr, share: float) -> None:
        if isinstance(node, ast.Constant | ast.Name) or share > 0.75 or node_count(node) > LARGEST:
            return
        text = written(node)
        if text not in self.parts:
            self.parts[text] = Part(node, text, node_count(node), share, tokens(text))

    def _surroundings(self, node: ast.expr, variables: Mapping[str, ast.expr], names: Mapping[str, str]) -> None:
        """One level of an expression with a hole in it: what may have been forgotten around one of the student's."""
        hole = ast.Name(HOLE, ast.Load())
        found: list[ast.expr] = []
        if isinstance(node, ast.BinOp):
            found = [changed(node, left=hole), changed(node, right=hole)]
        if isinstance(node, ast.UnaryOp) and number_value(node) is None:
            found = [changed(node, operand=hole)]
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not is_module(node.func.value):
                found.append(changed(node, func=attribute(hole, node.func.attr)))
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            shape_alone = called in AS_ANOTHER or called.endswith("_like")
            for i, argument in enumerate(node.args[:2]):
                if not isinstance(argument, ast.Starred) and not shape_alone:
                    found.append(changed(node, args=[*node.args[:i], hole, *node.args[i + 1 :]]))
        if isinstance(node, ast.Subscript):
            found = [changed(node, value=hole)]
        for context in found:
            for form in (context, inlined(context, variables)):
                if node_count(form) <= 20:
                    form = renamed(form, names)
                    self.contexts.setdefault(written(form), form)

    def at(self, place: ExpressionPlace) -> Iterator[tuple[str, str, float]]:
        """Candidates for the place of one expression: text, kind, cost."""
        node = place.node
        known = {*place.names}
        if (value := number_value(node)) is not None:
            kind = "dimension" if is_dimension(place) else "constant"
            yield from ((written(constant(other)), kind, 1.1) for other in self.constants if other != value)
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = {k.arg for k in node.keywords}
            for (function, _), keyword in self.keywords.items():
                if function == name:
                    others = [k for k in node.keywords if k.arg != keyword.arg]
                    kind = "argument" if keyword.arg in given else "missing argument"
                    yield written(changed(node, keywords=[*others, keyword])), kind, 1.2
        if isinstance(node, ast.Attribute) and not is_callee(place) and not isinstance(node.value, ast.Name):
            return
        if is_callee(place) or (isinstance(place.parent, ast.Attribute) and isinstance(node, ast.Name)):
            return
        old = ast.unparse(node)
        words = tokens(old)
        variable = node.id if isinstance(node, ast.Name) and node.id not in parameters(place.function) else ""
        for part in self.parts.values():
            if variable and variable not in part.words:
                continue  # what is wrong with a variable is wrong where it gets its value
            if part.text in (old, f"({old})") or (place.share > MOST and part.share > MOST):
                continue
            alike = len(words & part.words) / max(len(words | part.words), 1)
            small = 0.04 * (part.size + place.size)
            yield part.text, "expression", 2.2 + 1.5 * (1 - alike) + small - 0.3 * near(part.node, node)
        if isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id not in known):
            return
        inside = written(node)
        for text, context in self.contexts.items():
            yield text.replace(HOLE, inside), "missing step", 1.9 + 0.04 * node_count(context)

    def steps(self, definition: EditableDefinition, function: Function) -> Iterator[Edit]:
        """A statement of a right solution, put after one of the student's."""
        body = body_of(function)
        for statement in body:
            if isinstance(statement, ast.Return):
                continue
            start, end = definition.span(statement)
            margin, old = " " * statement.col_offset, definition.words(start, end).partition("\n")[0]
            for text, step in self.statements.items():
                new = "\n" + textwrap.indent(text, margin)
                yield Edit("missing step", statement.lineno, end, end, new, old, 2.4 + 0.04 * node_count(step))


def written_out(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """Variables that get their value once -> that value, without variables of this kind in it."""
    counts = Counter(
        n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    found: dict[str, ast.expr] = {}
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and counts[target.id] == 1:
                found[target.id] = inlined(statement.value, found)
    return found


class _Names(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.values:
            return deepcopy(self.values[node.id])
        return node


def inlined(node: ast.expr, variables: Mapping[str, ast.expr]) -> ast.expr:
    """An expression with its variables written out."""
    return _Names(variables).visit(deepcopy(node)) if variables else node


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """A copy of a node with other names, also where they are assigned."""
    new = deepcopy(node)
    for part in ast.walk(new):
        if isinstance(part, ast.Name) and part.id in names:
            part.id = names[part.id]
    return ast.fix_missing_locations(new)


def tokens(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+|[^\w\s()]+", text))


def near(a: ast.AST, b: ast.AST) -> float:
    """1 if two expressions do the same thing to something: the same operator, or the same function."""
    if type(a) is not type(b):
        return 0.0
    if isinstance(a, ast.BinOp) and isinstance(b, ast.BinOp):
        return float(type(a.op) is type(b.op))
    if isinstance(a, ast.Call) and isinstance(b, ast.Call):
        return float(ast.unparse(a.func).rpartition(".")[2] == ast.unparse(b.func).rpartition(".")[2])
    return 0.5
