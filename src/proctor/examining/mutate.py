"""Mutants of a reference: small damage, one place at a time, that some probe should notice.

A probe is worth the wrong answers that it rejects. Mutants are wrong answers that no author chose.
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from proctor.examining.compare import ComparableObservation
from proctor.examining.diagnose import Examiner
from proctor.examining.exercise import Exercise
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import fresh_state, observe
from proctor.inside.time_limit import TimeLimit, time_limit

SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.FloorDiv,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
COMMUTATIVE = {"transpose", "swapaxes", "swapdims", "maximum", "minimum", "max", "min", "logical_and", "logical_or"}
TIME_LIMIT = 5  # seconds of processor time; a mutant that never ends counts as noticed


@dataclass(frozen=True)
class Mutant:
    """A damaged copy of a definition."""

    damage: str  # "scores - highest  ->  scores + highest"
    line: int  # within the definition
    implementation: Callable[..., Any]


@dataclass(frozen=True)
class Survey:
    """The mutants of one exercise: how many its probes notice, and which they miss."""

    noticed: int  # number of mutants that some probe notices
    missed: tuple[Mutant, ...]  # mutants that no probe notices
    accepted: int  # declared equivalent by the exercise's author
    stale: tuple[str, ...] = ()  # declared equivalent, but noticed, or no longer among the mutants

    @property
    def share(self) -> float:
        counted = self.noticed + len(self.missed)
        return self.noticed / counted if counted else 1.0


def survey(exercise: Exercise, examiner: Examiner) -> Survey:
    """Run every mutant until a probe notices it."""
    noticed, missed, accepted, declared = 0, [], 0, dict(exercise.equivalents)
    for mutant in mutants(exercise.reference):
        if notices(examiner, mutant.implementation):
            noticed += 1
        elif declared.pop(mutant.damage, None) is not None:
            accepted += 1
        else:
            missed.append(mutant)
    return Survey(noticed, tuple(missed), accepted, tuple(declared))


def notices(examiner: Examiner, implementation: Any) -> bool:
    probes = sorted(examiner.exercise.counted().values(), key=lambda p: p.kind == "property")
    with drawing(Replay(examiner.draws)), fresh_state():
        for probe in probes:
            try:
                with time_limit(TIME_LIMIT):
                    seen = observe(probe.function, implementation)
            except TimeLimit:
                return True
            if not examiner.expected[probe.name].same(ComparableObservation(seen)):
                return True
    return False


def mutants(reference: Callable[..., Any]) -> Iterator[Mutant]:
    """All mutants of a function, or of a class's methods other than `__init__`, which students are given."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(reference))))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    bare(definition)
    for damage, line in damages(definition):
        broken = copy.deepcopy(definition)
        before = ast.unparse(broken).split("\n")
        damage(broken)
        after = ast.unparse(ast.fix_missing_locations(broken)).split("\n")
        if before != after:
            yield Mutant(damage_line(before, after), line, compiled(broken, reference))


def bare(definition: ast.FunctionDef | ast.ClassDef) -> None:
    """Drop what is no part of the answer: decorators that check input, docstrings, annotations."""
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.decorator_list = [d for d in node.decorator_list if isinstance(d, ast.Name)]
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None


Damage = Callable[[ast.AST], None]
Part = Callable[[Any], ast.expr]


def damages(definition: ast.FunctionDef | ast.ClassDef) -> Iterator[tuple[Damage, int]]:
    """Every way to damage one node, as a function of a copy of the definition."""
    functions = (
        [definition]
        if isinstance(definition, ast.FunctionDef)
        else [n for n in definition.body if isinstance(n, ast.FunctionDef) and n.name != "__init__"]
    )
    inside = {id(node) for function in functions for statement in function.body for node in ast.walk(statement)}
    inside |= {id(node) for function in functions for default in function.args.defaults for node in ast.walk(default)}
    for index, node in enumerate(ast.walk(definition)):
        if id(node) in inside:
            for change in changes(node):
                yield at(index, change), getattr(node, "lineno", 0)


def at(index: int, change: Damage) -> Damage:
    def damage(root: ast.AST) -> None:
        change(list(ast.walk(root))[index])

    return damage


def changes(node: ast.AST) -> Iterator[Damage]:
    """In-place edits of one node. Each field that holds an expression may also be replaced by a part of itself."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        yield from (put("op", other()) for other in SWAPS.get(type(node.op), ()))
    if isinstance(node, ast.Compare):
        yield from (put("ops", [other()]) for other in SWAPS.get(type(node.ops[0]), ()))
    if isinstance(node, ast.Constant):
        yield from (put("value", other) for other in other_constants(node.value))
    if isinstance(node, ast.If | ast.IfExp):
        yield from (put("test", ast.Constant(value)) for value in (True, False))
    if isinstance(node, ast.Call):
        yield from (drop_keyword(i) for i in range(len(node.keywords)))
        if called_name(node) not in COMMUTATIVE:
            yield from (swap("args", i) for i in range(len(node.args) - 1))
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield swap("elts", 0)
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            yield from (weaken(name, None, part) for part in parts(value))
        elif isinstance(value, list) and name in ("body", "orelse"):
            yield from (put_item(name, i, ast.Pass()) for i, s in enumerate(value) if not isinstance(s, ast.Pass))
        elif isinstance(value, list):
            yield from (weaken(name, i, p) for i, v in enumerate(value) if isinstance(v, ast.expr) for p in parts(v))


def put(name: str, value: Any) -> Damage:
    return lambda node: setattr(node, name, value)


def put_item(name: str, index: int, value: ast.AST) -> Damage:
    return lambda node: getattr(node, name).__setitem__(index, value)


def drop_keyword(index: int) -> Damage:
    return lambda node: node.keywords.pop(index)  # type: ignore[attr-defined]


def swap(name: str, index: int) -> Damage:
    """Exchange an item with its right neighbour."""

    def damage(node: ast.AST) -> None:
        items = getattr(node, name)
        items[index], items[index + 1] = items[index + 1], items[index]

    return damage


def weaken(name: str, index: int | None, part: Part) -> Damage:
    """Replace an expression by a part of it."""

    def damage(node: ast.AST) -> None:
        if index is None:
            setattr(node, name, part(getattr(node, name)))
        else:
            getattr(node, name)[index] = part(getattr(node, name)[index])

    return damage


def called_name(node: ast.Call) -> str:
    """The last word of what is called: `transpose` for `k.transpose(-2, -1)`."""
    return ast.unparse(node.func).rpartition(".")[2]


def other_constants(value: object) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value else [1]
    if isinstance(value, float):
        return [value * 2 if value else 1.0]
    return []


def parts(expression: ast.expr) -> Iterator[Part]:
    """Weaker versions of an expression: an operation dropped, its operand kept."""
    if isinstance(expression, ast.UnaryOp):
        yield lambda e: e.operand
    if isinstance(expression, ast.BinOp):
        yield lambda e: e.left
        yield lambda e: e.right
    if (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and not isinstance(expression.func.value, ast.Name)
    ):
        yield lambda e: e.func.value  # (a + b).exp()  ->  a + b
    if (
        isinstance(expression, ast.Call)
        and len(expression.args) >= 1
        and not isinstance(expression.args[0], ast.Starred)
    ):
        yield lambda e: e.args[0]  # torch.exp(x)  ->  x


def damage_line(before: list[str], after: list[str]) -> str:
    """The damage in one line: the first line that changed, before and after."""
    pairs = [(b, a) for b, a in zip(before, after, strict=False) if b != a]
    if not pairs:
        return "the last line dropped"
    return f"{pairs[0][0].strip()}  ->  {pairs[0][1].strip()}"


def compiled(definition: ast.FunctionDef | ast.ClassDef, reference: Callable[..., Any]) -> Callable[..., Any]:
    """Run the damaged definition in a copy of its module's namespace."""
    namespace = dict(vars(sys.modules[reference.__module__]))
    module = ast.Module(body=[ast.fix_missing_locations(definition)], type_ignores=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # that a mutant looks wrong is no news
        exec(compile(module, f"<mutant of {definition.name}>", "exec"), namespace)
    made: Callable[..., Any] = namespace[definition.name]
    return made
