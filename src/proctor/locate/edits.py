"""All small edits of a definition, each of a kind that can be described to a person: "the dimension in this call"."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from typing import Any, TypeVar

from proctor.locate.neighbours import (
    COMPARISONS,
    CREATES,
    DIMENSIONS,
    OPERATORS,
    REDUCES,
    neighbours_of,
    takes_dimension,
)
from proctor.locate.source import Edit, EditableDefinition, ExpressionPlace, node_count, parameters
from proctor.source.text import Function, body_of

Node = TypeVar("Node", bound=ast.AST)
MOST_NAMES = 10  # that are tried in the place of one
ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute, ast.List, ast.ListComp, ast.Dict, ast.Tuple)
SYMMETRIC = {"transpose", "swapaxes", "swapdims", "maximum", "minimum", "logical_and", "logical_or"}


def edits(definition: EditableDefinition) -> Iterator[Edit]:
    """Every small edit, in no particular order; those that need nothing but the student's own code."""
    for place in definition.places():
        for new, kind, cost in of_expression(place):
            yield definition.exchange(place.node, written(new), kind, cost)
        for new, kind, cost in of_call(place):
            yield definition.exchange(place.node, written(new), kind, cost)
    for function in definition.functions():
        yield from of_statements(definition, function)


Change = tuple[ast.expr, str, float]


def is_kept_by_its_name(place: ExpressionPlace) -> bool:
    """Is this `d_head` of `self.d_head = d_head`, alone or among others? What is wrong is then where it is used."""
    if not isinstance(place.node, ast.Name) or not isinstance(place.parent, ast.Assign | ast.Tuple):
        return False
    kept = (n.attr for n in ast.walk(place.function) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return place.node.id in kept


def of_expression(place: ExpressionPlace) -> Iterator[Change]:
    """An operator, a constant, a name, a slice, a part of an expression."""
    node = place.node
    value = number_value(node)
    if isinstance(place.parent, ast.UnaryOp) and number_value(place.parent) is not None:
        return  # the digits of a negative number
    if value is not None:
        yield from of_number(place, value)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value), "flag", 1.0
        return
    if isinstance(node, ast.Name) and not is_callee(place) and not is_kept_by_its_name(place):
        others = [name for name in reversed(place.names) if name != node.id][:MOST_NAMES]
        yield from ((ast.Name(name), "name", 1.6) for name in others)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        others = [name for name in place.attributes if name != node.attr][:MOST_NAMES]
        yield from ((attribute(node.value, name), "name", 1.6) for name in others)
    if isinstance(node, ast.BinOp):
        yield from ((changed(node, op=op()), "operator", 1.1) for op in OPERATORS.get(type(node.op), ()))
        if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
            yield changed(node, left=node.right, right=node.left), "order", 1.5
        yield node.left, "operation", 0.9 + min(0.1 * node_count(node.right), 0.9)
        if isinstance(node.op, ast.Add | ast.Sub) and number_value(node.right) == 1:
            yield node.left, "off by one", 0.9
        yield node.right, "operation", 1.2 + 0.1 * node_count(node.left)
        if isinstance(node.op, ast.Div | ast.Mult | ast.Add | ast.Sub) and isinstance(node.left, ast.BinOp):
            yield from regrouped(node, node.left)
        yield from pushed_in(node)
        if isinstance(node.op, ast.BitXor):
            yield as_power(node), "operator", 0.9
    if isinstance(node, ast.UnaryOp) and value is None:
        yield node.operand, "sign" if isinstance(node.op, ast.USub) else "condition", 1.0
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from ((changed(node, ops=[op()]), "comparison", 1.0) for op in COMPARISONS.get(type(node.ops[0]), ()))
    if isinstance(node, ast.BoolOp):
        other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield changed(node, op=other), "condition", 1.0
        yield from ((part, "condition", 1.5) for part in node.values)
    if isinstance(node, ast.IfExp):
        yield node.body, "condition", 1.5
        yield node.orelse, "condition", 1.5
        yield changed(node, body=node.orelse, orelse=node.body), "condition", 1.5
    if tests(place):
        yield ast.UnaryOp(ast.Not(), node), "condition", 1.5
        # before an operator in it that only happens to make it hold always, or never
        yield ast.Constant(True), "always", 0.9
        yield ast.Constant(False), "never", 0.95
    if isinstance(node, ast.Subscript):
        yield from of_subscript(node)
    if isinstance(node, ast.Tuple | ast.List) and 2 <= len(node.elts) <= 4:
        for i in range(len(node.elts) - 1):
            yield changed(node, elts=swapped(node.elts, i)), "order", 1.5
    if isinstance(node, ast.Tuple) and isinstance(place.parent, ast.Return):
        yield from ((part, "result", 1.5) for part in node.elts)


def of_number(place: ExpressionPlace, value: float) -> Iterator[Change]:
    if is_dimension(place):
        yield from ((constant(n), "dimension", 1.0) for n in DIMENSIONS if n != value)
        if "dim" in place.names:
            yield ast.Name("dim"), "dimension", 1.0
        return
    if isinstance(value, float) and not value.is_integer():
        others: list[Any] = [-value, 1 / value, value * value, 1 - value, value / 2, 2 * value, 0.0, 1.0]
    else:
        others = [value + 1, value - 1, -value, 0, 1, 2, -1, 2 * value, 0.5, 4]
    for i, n in enumerate(dict.fromkeys(others)):
        if n != value:  # 0 and 1 can make an operation do nothing: to drop it says more
            yield constant(n), "constant", (1.7 if n in (0, 1) else 1.2) + 0.1 * i


def is_fixed_device(call: ast.Call) -> bool:
    """Is the device of a new tensor written down, as in `device="cpu"`?"""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    return isinstance(given, ast.Constant) or (isinstance(given, ast.Call) and all(map(is_text, given.args)))


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def as_power(node: ast.BinOp) -> ast.BinOp:
    """`4 * d ^ 2`, as others write a power, and as it is meant."""
    if isinstance(node.left, ast.BinOp):
        return changed(node.left, right=as_power(changed(node, left=node.left.right)))
    return changed(node, op=ast.Pow())


def regrouped(outer: ast.BinOp, inner: ast.BinOp) -> Iterator[Change]:
    """`a / b * c` as `a / (b * c)`, `a * b + c` as `a * (b + c)`."""
    right = changed(outer, left=inner.right)
    yield changed(inner, right=right), "brackets", 1.2


def pushed_in(outer: ast.BinOp) -> Iterator[Change]:
    """`f(a) + b` as `f(a + b)`, `a.f() + b` as `(a + b).f()`: an operation outside of a call that belongs inside."""
    call = outer.left
    if isinstance(call, ast.Call):
        if isinstance(call.func, ast.Attribute) and not is_module(call.func.value):
            inside = changed(outer, left=call.func.value)
            yield changed(call, func=attribute(inside, call.func.attr)), "brackets", 1.3
        if call.args and not isinstance(call.args[0], ast.Starred | ast.GeneratorExp):
            yield changed(call, args=[changed(outer, left=call.args[0]), *call.args[1:]]), "brackets", 1.3


def pulled_out(call: ast.Call) -> Iterator[Change]:
    """The inverse of `pushed_in`: `f(a + b)` as `f(a) + b`."""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.BinOp):
        inner = call.func.value
        yield changed(inner, left=changed(call, func=attribute(inner.left, call.func.attr))), "brackets", 1.3
    if call.args and isinstance(call.args[0], ast.BinOp):
        inner = call.args[0]
        yield changed(inner, left=changed(call, args=[inner.left, *call.args[1:]])), "brackets", 1.3


def of_subscript(node: ast.Subscript) -> Iterator[Change]:
    """Bounds of slices: one more, one less, dropped."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for i, part in enumerate(parts):
        for new in other_slices(part):
            slices = [*parts[:i], new, *parts[i + 1 :]]
            sliced = slices[0] if len(slices) == 1 else ast.Tuple(slices, ast.Load())
            yield changed(node, slice=sliced), "slice", 1.2
    yield node.value, "slice", 1.3


def other_slices(part: ast.expr) -> Iterator[ast.expr]:
    if not isinstance(part, ast.Slice):
        return
    one = ast.Constant(1)
    for name in ("lower", "upper", "step"):
        bound = getattr(part, name)
        if bound is not None:
            yield changed(part, **{name: None})
            yield changed(part, **{name: ast.BinOp(bound, ast.Add(), one)})
            yield changed(part, **{name: ast.BinOp(bound, ast.Sub(), one)})
    if part.lower is None:
        yield changed(part, lower=one)
    if part.upper is None:
        yield changed(part, upper=constant(-1))
    if part.lower is not None and part.upper is None:
        yield changed(part, lower=None, upper=part.lower)
    if part.upper is not None and part.lower is None:
        yield changed(part, lower=part.upper, upper=None)


def of_call(place: ExpressionPlace) -> Iterator[Change]:
    """A call dropped or taken for its neighbour; its arguments swapped, dropped or added."""
    node = place.node
    if not isinstance(node, ast.Call):
        yield from wrapped(place)
        return
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if method and not is_module(node.func.value):  # type: ignore[attr-defined]
        yield node.func.value, "call", 1.2 + 0.05 * node_count(node)  # type: ignore[attr-defined]
    for i, argument in enumerate(node.args[:3]):
        if not isinstance(argument, ast.Starred | ast.GeneratorExp):
            yield argument, "call", 1.3 + 0.1 * i
    for other in neighbours_of(name):
        function = attribute(node.func.value, other) if isinstance(node.func, ast.Attribute) else ast.Name(other)
        yield changed(node, func=function), "function", 1.2
    for i in range(len(node.keywords)):
        yield changed(node, keywords=[k for j, k in enumerate(node.keywords) if j != i]), "argument", 1.2
    for i in range(len(node.args)):
        yield changed(node, args=[a for j, a in enumerate(node.args) if j != i]), "argument", 1.3
    if name not in SYMMETRIC:
        yield from ((changed(node, args=swapped(node.args, i)), "order", 1.2) for i in range(len(node.args) - 1))
        if len(node.args) == 3:
            a, b, c = node.args
            yield changed(node, args=[c, b, a]), "order", 1.4
    if name == "range":
        others = [other for other in reversed(place.names) if other != name][:MOST_NAMES]
        yield from ((changed(node, args=[ast.Name(other)]), "argument", 1.7) for other in others)
    yield from pulled_out(node)
    given = {k.arg for k in node.keywords}
    if name in REDUCES and "keepdim" not in given:
        yield with_keyword(node, "keepdim", True), "shape", 1.2
    if name in CREATES and method:
        for given_to in parameters(place.function)[:2]:
            for what in ("device", "dtype"):
                value = attribute(ast.Name(given_to), what)
                if what not in given or (what == "device" and is_fixed_device(node)):
                    kept = [k for k in node.keywords if k.arg != what]
                    yield changed(node, keywords=[*kept, ast.keyword(what, value)]), what, 1.2
    if name in ("var", "std") and not given & {"unbiased", "correction"}:
        yield with_keyword(node, "unbiased", False), "argument", 1.2
    if name in ("tril", "triu") and len(node.args) + len(node.keywords) < 2:
        for diagonal in (1, -1):
            yield with_keyword(node, "diagonal", diagonal), "argument", 1.2
    if name in REDUCES and not given & {"dim", "axis"} and len(node.args) < 1 + (not method):
        for dimension in (-1, 0, -2, (0, 1)):
            new = with_keyword(node, "dim", dimension)
            yield new, "dimension", 1.3
            yield with_keyword(new, "keepdim", True), "dimension", 1.5
    yield from wrapped(place)


def wrapped(place: ExpressionPlace) -> Iterator[Change]:
    """An operation added around an expression: a transpose, a root, a sign, a dimension."""
    node = place.node
    if not isinstance(node, ast.Call | ast.BinOp | ast.Name | ast.Subscript | ast.Attribute) or is_callee(place):
        return
    if isinstance(node, ast.Name) and node.id not in place.names:
        return
    if isinstance(place.parent, ast.Attribute) and place.parent.attr.endswith("_"):
        yield ast.Call(attribute(node, "clone"), [], []), "in place", 1.5
    if isinstance(place.parent, ast.Attribute | ast.keyword):
        return
    extra = 0.5 if isinstance(node, ast.Name) else 0.0
    for method, arguments, kind in WRAPS:
        # of a factor, another dtype may make nothing: to drop it says more
        more = 1.0 if kind == "dtype" and isinstance(place.parent, ast.BinOp) else extra
        yield ast.Call(attribute(node, method), [constant(a) for a in arguments], []), kind, 2.0 + more
    yield ast.UnaryOp(ast.USub(), node), "sign", 1.8 + extra
    yield ast.UnaryOp(ast.Invert(), node), "condition", 1.8 + extra
    yield ast.BinOp(ast.Constant(1), ast.Sub(), node), "operation", 2.2 + extra
    yield ast.BinOp(node, ast.Add(), ast.Constant(1)), "off by one", 1.8 + extra
    yield ast.BinOp(node, ast.Sub(), ast.Constant(1)), "off by one", 1.8 + extra
    yield ast.BinOp(node, ast.Pow(), ast.Constant(0.5)), "power", 2.0 + extra
    yield ast.BinOp(node, ast.Pow(), ast.Constant(2)), "power", 2.0 + extra
    yield ast.BinOp(ast.Constant(1), ast.Div(), node), "power", 2.2 + extra
    if "eps" in place.names:
        yield ast.BinOp(node, ast.Add(), ast.Name("eps")), "small constant", 1.8 + extra


WRAPS: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    ("transpose", (-2, -1), "transpose"),
    ("transpose", (1, 2), "transpose"),
    ("sqrt", (), "power"),
    ("square", (), "power"),
    ("exp", (), "operation"),
    ("log", (), "operation"),
    ("abs", (), "sign"),
    ("unsqueeze", (-1,), "shape"),
    ("unsqueeze", (-2,), "shape"),
    ("unsqueeze", (-3,), "shape"),
    ("unsqueeze", (1,), "shape"),
    ("unsqueeze", (0,), "shape"),
    ("clone", (), "in place"),
    ("long", (), "dtype"),
    ("float", (), "dtype"),
    ("double", (), "dtype"),
    ("bool", (), "dtype"),
    ("nan_to_num", (0.0,), "operation"),
)


def of_statements(definition: EditableDefinition, function: Function) -> Iterator[Edit]:
    """A statement dropped, moved, or its operator changed."""
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if not isinstance(block, list) or not block or not isinstance(block[0], ast.stmt):
                continue
            statements = body_of(function) if node is function else block
            total = sum(node_count(s) for s in statements)
            for i, statement in enumerate(statements):
                if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass | Function):
                    continue
                returns = isinstance(statement, ast.Return) and node is function
                if not returns and (node_count(statement) <= 0.6 * total or node is not function):
                    yield definition.exchange(statement, "pass", "statement", 1.4 + 0.05 * node_count(statement))
                if i + 1 < len(statements) and isinstance(statement, ast.For | ast.While | ast.If | ast.With):
                    pass
                elif i + 1 < len(statements):
                    yield from exchanged(definition, statement, statements[i + 1])
                    yield from moved_in(definition, statement, statements[i + 1])
                yield from moved_out(definition, statement)
    for name in parameters(function):
        yield from copied_before(definition, function, name)
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign):
            for op in OPERATORS.get(type(node.op), ()):
                yield definition.exchange(node, ast.unparse(changed(node, op=op())), "operator", 1.0)
            plain = ast.Assign([node.target], ast.BinOp(loaded(node.target), node.op, node.value))
            yield definition.exchange(node, ast.unparse(ast.fix_missing_locations(plain)), "in place", 1.2)
            yield definition.exchange(
                node, ast.unparse(ast.fix_missing_locations(ast.Assign([node.target], node.value))), "operator", 1.3
            )
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            target = node.targets[0]
            for i in range(len(target.elts) - 1):
                new = changed(target, elts=swapped(target.elts, i))
                yield definition.exchange(target, ast.unparse(new), "order", 1.5)


def copied_before(definition: EditableDefinition, function: Function, name: str) -> Iterator[Edit]:
    """An argument that is written into, copied before anything else is done."""
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not isinstance(node, ast.Assign | ast.AugAssign) or not isinstance(target, ast.Subscript):
            continue
        if isinstance(target.value, ast.Name) and target.value.id == name:
            first = body_of(function)[0]
            start, _ = definition.span(first)
            new = f"{name} = {name}.clone()\n" + " " * first.col_offset
            old = definition.words(*definition.span(node)).partition("\n")[0]
            yield Edit("in place", node.lineno, start, start, new, old, 1.5)
            return


def exchanged(definition: EditableDefinition, first: ast.stmt, second: ast.stmt) -> Iterator[Edit]:
    """Two neighbours in the other order, where both fit on lines of their own."""
    if isinstance(second, ast.For | ast.While | ast.If | ast.With | ast.Return | Function | ast.ClassDef):
        return
    (a, b), (c, d) = definition.span(first), definition.span(second)
    new = definition.words(c, d) + definition.words(b, c) + definition.words(a, b)
    yield Edit("sequence", second.lineno, a, d, new, definition.words(a, b).partition("\n")[0], 2.0)


def moved_in(definition: EditableDefinition, first: ast.stmt, loop: ast.stmt) -> Iterator[Edit]:
    """A statement before a loop moved into its body: `total = 0`."""
    if isinstance(loop, ast.For | ast.While) and isinstance(first, ast.Assign) and on_lines_of_its_own(loop):
        (a, b), (c, _), (d, _) = (definition.span(node) for node in (first, loop, loop.body[0]))
        new = definition.words(c, d) + definition.words(a, b) + "\n" + " " * loop.body[0].col_offset
        yield Edit("loop", first.lineno, a, d, new, definition.words(a, b).partition("\n")[0], 1.6)


def moved_out(definition: EditableDefinition, loop: ast.stmt) -> Iterator[Edit]:
    """A statement that begins a loop's body moved before the loop."""
    if isinstance(loop, ast.For | ast.While) and len(loop.body) > 1 and on_lines_of_its_own(loop):
        first = loop.body[0]
        if isinstance(first, ast.Assign):
            (a, b), (c, _), (d, _) = (definition.span(node) for node in (first, loop, loop.body[1]))
            new = definition.words(a, b) + "\n" + " " * loop.col_offset + definition.words(c, a)
            yield Edit("loop", first.lineno, c, d, new, definition.words(a, b).partition("\n")[0], 1.6)


def on_lines_of_its_own(loop: ast.For | ast.While) -> bool:
    """Does what a loop does begin below it, each statement on a line of its own?"""
    lines = [loop.lineno, *(statement.lineno for statement in loop.body[:2])]
    return len(set(lines)) == len(lines)


# ---- what nodes are


def written(node: ast.expr) -> str:
    """An expression as text that can stand anywhere."""
    text = ast.unparse(ast.fix_missing_locations(node))
    return text if isinstance(node, ATOMS) and not isinstance(node, ast.Tuple) else f"({text})"


def changed(node: Node, **fields: Any) -> Node:
    """A copy of a node with other fields."""
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def attribute(value: ast.expr, name: str) -> ast.Attribute:
    return ast.Attribute(value, name, ast.Load())


def loaded(target: ast.expr) -> ast.expr:
    new: ast.expr = changed(target, ctx=ast.Load())
    return new


def constant(value: Any) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple([constant(v) for v in value], ast.Load())
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def with_keyword(node: ast.Call, name: str, value: Any) -> ast.Call:
    new: ast.Call = changed(node, keywords=[*node.keywords, ast.keyword(name, constant(value))])
    return new


def swapped(items: list[Any], i: int) -> list[Any]:
    return [*items[:i], items[i + 1], items[i], *items[i + 2 :]]


def number_value(node: ast.AST) -> float | int | None:
    """The value of a number literal with its sign; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number_value(node.operand) if isinstance(node.operand, ast.Constant) else None
        return None if value is None else -value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value if abs(node.value) < 1e300 else None
    return None


def is_callee(place: ExpressionPlace) -> bool:
    """Is this what is called, as `f` is in `f(x)`?"""
    return isinstance(place.parent, ast.Call) and place.parent.func is place.node


def tests(place: ExpressionPlace) -> bool:
    """Is this a condition?"""
    return getattr(place.parent, "test", None) is place.node


def is_module(node: ast.expr) -> bool:
    """`torch`, `F`, `nn.functional`: what functions are taken from."""
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in {
        "torch", "F", "math", "np", "numpy", "nn", "nn.functional", "torch.nn", "torch.nn.functional", "torch.linalg",
    }  # fmt: skip


def is_dimension(place: ExpressionPlace) -> bool:
    """Does this number say along which dimension something is done?"""
    parent = place.parent
    if isinstance(parent, ast.keyword):
        return parent.arg in ("dim", "axis", "dims", "dim0", "dim1", "start_dim", "end_dim")
    if isinstance(parent, ast.Call) and place.node in parent.args:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        return takes_dimension(name)
    if isinstance(parent, ast.Subscript) and isinstance(parent.value, ast.Attribute):
        return parent.value.attr == "shape"
    return False
