"""The search by trace: the first divergence of an answer's values from those of right solutions.

Every expression of the student's is instrumented to report its value while the answer runs under a probe that it fails.
A value is *known* if a right solution has it anywhere on the same input. From what was returned we walk back, against
the flow of the data, through values that are not known, until we come to one whose own inputs are: that is the first
divergence. Where the answer is right under other probes, what is not known there either is another way, and not the
mistake.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from proctor.examining.compare import ComparableObservation
from proctor.examining.diagnose import Examiner
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import Observation, fresh_state, observe
from proctor.inside.recorder import MOST_VALUES, SEE, Recorder
from proctor.locate.source import EditableDefinition, assigned_in

CLOSE, VERY_CLOSE = 2e-5, 1e-6  # of each number, and of the largest magnitude
MOST_SLICES = 64  # of a tensor: what a loop computes one after the other
MOST_OF_OURS = 20_000  # values of a right solution: "it has this nowhere" is said of all of them
HEAD = 8  # entries that are compared first

TELLING = (
    ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript, ast.IfExp, ast.List,
    ast.ListComp,
)  # fmt: skip


@dataclass(frozen=True)
class Spot:
    """An instrumented expression."""

    label: str  # of its cell
    line: int  # in the cell
    text: str  # its source
    kind: str  # of syntax node
    start: int  # first byte in the cell
    end: int  # end of its bytes in the cell
    children: tuple[int, ...]  # numbers of the expressions inside it
    returned: str = ""  # the function whose result it is
    assigned: str = ""  # the variable that gets its value
    changes: bool = False  # a statement that writes into what the variable holds: `out[i] = x`, `rows.append(x)`


@dataclass
class InstrumentedCells:
    """Cells whose expressions report their values to the recorder."""

    cells: dict[str, str] = field(default_factory=dict)  # label -> instrumented text
    spots: dict[int, Spot] = field(default_factory=dict)  # number -> expression

    def add(self, label: str, text: str) -> None:
        """Watch one more cell; one that cannot be read stays as it is.

        Raises:
            SyntaxError: this is no code that could be edited.
        """
        definition = EditableDefinition(text)
        watching = _Instrument(definition, label, self.spots)
        tree = watching.visit(definition.tree)
        self.cells[label] = ast.unparse(ast.fix_missing_locations(tree))


class _Instrument(ast.NodeTransformer):
    """An AST rewriter that passes every expression which may be a tensor to the recorder."""

    def __init__(self, definition: EditableDefinition, label: str, spots: dict[int, Spot]) -> None:
        self.definition, self.label, self.spots = definition, label, spots
        self.wanted = {id(place.node) for place in definition.places()}
        self.functions: list[str] = []
        self.scopes: list[set[str]] = []  # the names that are a function's own
        self.below: list[list[int]] = [[]]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.functions.append(node.name)
        self.scopes.append({name for name, _ in assigned_in(node)})
        body: list[ast.stmt] = []
        for statement in node.body:
            found = self.visit(statement)
            body += found if isinstance(found, list) else [found]
        node.body = body
        self.functions.pop()
        self.scopes.pop()
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        name = self.functions[-1] if self.functions else ""
        self.generic_visit(node)
        for wrapped in node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]:
            number = number_of(wrapped)
            if number is not None:
                self.spots[number] = replace(self.spots[number], returned=name)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST]:
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            self.below.append([])
            target.slice, node.value = self.visit(target.slice), self.visit(node.value)
            return self._changed(node, target, self.below.pop())
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Tuple):
            node.value = self._wrap(node.value)
        else:
            self.generic_visit(node)
        number = number_of(node.value)
        if number is not None and isinstance(target, ast.Name):
            self.spots[number] = replace(self.spots[number], assigned=target.id)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.AST]:
        self.below.append([])
        if isinstance(node.target, ast.Subscript):
            node.target.slice = self.visit(node.target.slice)
        node.value = self.visit(node.value)
        return self._changed(node, node.target, self.below.pop())

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.AST]:
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return self.generic_visit(node)
        if call.func.attr != "append" and not call.func.attr.endswith("_"):
            return self.generic_visit(node)
        self.below.append([])
        call.args = [self.visit(a) for a in call.args]
        call.keywords = [self.visit(k) for k in call.keywords]
        return self._changed(node, call.func.value, self.below.pop())

    def _changed(self, node: ast.stmt, target: ast.expr, children: list[int]) -> ast.AST | list[ast.AST]:
        """Add a statement that records `x` after `x += y`, `x[0] = y`, `x.append(y)` or `x.add_(y)` has changed it.

        Args:
            children: what goes into it.
        """
        into = not isinstance(target, ast.Name) or isinstance(node, ast.Expr)
        while isinstance(target, ast.Subscript):
            target = target.value
        if not isinstance(target, ast.Name):
            self.below[-1] += children
            return node
        start, end = self.definition.span(node)
        text, number = self.definition.words(start, end), len(self.spots)
        self.spots[number] = Spot(
            self.label, node.lineno, text, type(node).__name__, start, end, tuple(children), "", target.id, into
        )
        report = ast.Call(ast.Name(SEE, ast.Load()), [ast.Constant(number), ast.Name(target.id, ast.Load())], [])
        own = not self.scopes or target.id in self.scopes[-1]  # of others the value is seen, and not exchanged
        after = ast.Assign([ast.Name(target.id, ast.Store())], report) if own else ast.Expr(report)
        return [node, ast.copy_location(after, node)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._wrap(node, skip=node.func)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        return node

    def visit(self, node: ast.AST) -> Any:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is not None:
            return method(node)
        if isinstance(node, TELLING) and id(node) in self.wanted:
            return self._wrap(node)
        return self.generic_visit(node)

    def _wrap(self, node: ast.expr, skip: ast.expr | None = None) -> ast.expr:
        wanted = id(node) in self.wanted
        start, end = self.definition.span(node)
        self.below.append([])
        if skip is not None:  # what is called is no value, but what its method belongs to is one
            if isinstance(skip, ast.Attribute):
                skip.value = self.visit(skip.value)
            assert isinstance(node, ast.Call)
            node.args = [self.visit(a) for a in node.args]
            node.keywords = [self.visit(k) for k in node.keywords]
        else:
            self.generic_visit(node)
        children = self.below.pop()
        if not wanted or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            self.below[-1] += children
            return node
        number = len(self.spots)
        text = self.definition.words(start, end)
        self.spots[number] = Spot(self.label, node.lineno, text, type(node).__name__, start, end, tuple(children))
        self.below[-1].append(number)
        see = ast.Call(ast.Name(SEE, ast.Load()), [ast.Constant(number), node], [])
        return ast.copy_location(see, node)


def number_of(node: ast.AST | None) -> int | None:
    """The number under which an expression is recorded, if it is."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == SEE:
        assert isinstance(node.args[0], ast.Constant)
        return int(node.args[0].value)  # type: ignore[arg-type]
    return None


# ---- what right solutions have


class KnownValues:
    """Every value that right solutions have anywhere, on the inputs of one probe."""

    def __init__(self) -> None:
        self.variables: dict[str, np.ndarray[Any, Any]] = {}  # those of the solutions
        self.results: list[np.ndarray[Any, Any]] = []  # what they, and the functions that they call, return
        self.own_results: list[np.ndarray[Any, Any]] = []  # what they return themselves
        self.series: dict[int, list[torch.Tensor]] = {}  # our expression -> its values
        self.arrays: dict[tuple[int, ...], list[np.ndarray[Any, Any]]] = {}

        self._lists: dict[tuple[int, ...], _Rows] = {}

    def add(self, value: np.ndarray[Any, Any]) -> None:
        self.arrays.setdefault(np.squeeze(value).shape, []).append(np.squeeze(value))

    def has(self, value: np.ndarray[Any, Any]) -> bool:
        value = np.squeeze(value)
        return value.shape in self.arrays and self._rows(value.shape).have(value)

    def has_slice(self, value: np.ndarray[Any, Any]) -> bool:
        """Is this one row of a value, or one head, or one sequence: what a loop computes one after the other?"""
        value = np.squeeze(value)
        for shape in self.arrays:
            axes = range(len(shape) if len(shape) == value.ndim + 1 else 0)
            fitting = [a for a in axes if shape[:a] + shape[a + 1 :] == value.shape and shape[a] <= MOST_SLICES]
            if any(self._rows(shape, a).have(value) for a in fitting):
                return True
        return False

    def _rows(self, shape: tuple[int, ...], *axis: int) -> _Rows:
        """All arrays of a shape, or all their slices along an axis."""
        key = (*shape, -1, *axis)
        if key not in self._lists:
            found = self.arrays[shape]
            self._lists[key] = _Rows(
                [part for a in axis for array in found for part in np.moveaxis(array, a, 0)] or found
            )
        return self._lists[key]


class _Rows:
    """Arrays of one shape, compared with a value at once: their first few entries rule most of them out."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self.arrays = list({array.tobytes(): array for array in arrays}.values())
        self.heads = np.stack([array.reshape(-1)[:HEAD] for array in self.arrays])
        scales = [np.abs(array[np.isfinite(array)]).max(initial=0.0) or 1.0 for array in self.arrays]
        self.allowed = CLOSE * np.abs(self.heads) + VERY_CLOSE * np.array(scales)[:, None]

    def have(self, value: np.ndarray[Any, Any]) -> bool:
        with np.errstate(invalid="ignore"):
            near = (np.abs(self.heads - value.reshape(-1)[:HEAD]) <= self.allowed) | ~np.isfinite(self.heads)
        return any(close(value, self.arrays[i]) for i in np.flatnonzero(near.all(axis=1)))


def close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    scale = float(np.abs(b[finite]).max(initial=0.0)) or 1.0
    return bool((np.abs(a[finite] - b[finite]) <= CLOSE * np.abs(b[finite]) + VERY_CLOSE * scale).all())


def is_constant(value: np.ndarray[Any, Any]) -> bool:
    """`torch.zeros(3)`, `torch.eye(3)`, `torch.arange(3)`: something to begin with."""
    if value.size == 0 or (value == value.flat[0]).all() or np.array_equal(value, np.arange(value.size)):
        return True
    return value.ndim == 2 and np.array_equal(value, np.eye(*value.shape))


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.double().numpy())


def known_values(examiner: Examiner, probe: str) -> KnownValues | None:
    """The values of the reference under one probe; None if its source, or not all values, can be had."""
    recorder, spots = Recorder(times=MOST_OF_OURS, most=MOST_OF_OURS), dict[int, Spot]()
    try:
        implementation = instrumented_reference(examiner.exercise.reference, recorder, spots)
    except (OSError, TypeError, SyntaxError, KeyError):
        return None
    recorder.clear()
    with drawing(Replay(examiner.draws)), fresh_state():
        seen = observe(examiner.exercise.probes[probe].function, implementation)
    if not examiner.expected[probe].same(ComparableObservation(seen)):
        return None  # watching changed what it does
    if recorder.left_out:
        return None  # whatever else an answer has, it could be there
    found = KnownValues()
    for key, value in recorder.values.items():
        found.add(array_of(value))
        number = int(key.partition(".")[0])
        found.series.setdefault(number, []).append(value)
        spot = spots[number]
        if spot.assigned:
            found.variables.setdefault(spot.assigned, array_of(value))
        if spot.returned:
            found.results.append(np.squeeze(array_of(value)))
            if spot.returned == examiner.exercise.name:
                found.own_results.append(found.results[-1])
    return found


def instrumented_reference(
    implementation: Any, recorder: Recorder, spots: dict[int, Spot], known: dict[Any, Any] | None = None
) -> Any:
    """A function or class of the course, and those it calls, with instrumented expressions."""
    known = {} if known is None else known
    plain = inspect.unwrap(implementation)
    if plain in known:
        return known[plain]
    known[plain] = implementation  # for one that calls itself
    module = sys.modules[plain.__module__]
    package = plain.__module__.partition(".")[0]
    text = textwrap.dedent(inspect.getsource(plain))
    tree = ast.parse(text)
    namespace = dict(vars(module))
    for name in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - {plain.__name__}:
        other = namespace.get(name)
        if callable(other) and str(getattr(other, "__module__", "")).partition(".")[0] == package:
            try:
                namespace[name] = instrumented_reference(other, recorder, spots, known)
            except (OSError, TypeError, SyntaxError):
                continue
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.decorator_list = [d for d in node.decorator_list if isinstance(d, ast.Name)]
    known[plain] = run_instrumented(ast.unparse(tree), plain.__name__, namespace, recorder, spots)
    return known[plain]


def run_instrumented(
    text: str, name: str, namespace: dict[str, Any], recorder: Recorder, spots: dict[int, Spot]
) -> Any:
    watched = InstrumentedCells(spots=spots)
    watched.add("", text)
    namespace[SEE] = recorder.see
    exec(compile(watched.cells[""], f"<right solution of {name}>", "exec"), namespace)
    return namespace[name]


# ---- the first divergence


@dataclass(frozen=True)
class Divergence:
    """The first divergence: going back along the data flow, the first expression whose value no right solution has.

    Args:
        known: what goes into it ("tensor", or "number" where numbers are asked for) a right solution has, all of it;
            empty if that is not so, or if nothing does.
        on_the_way: the value is one of a right solution's after all, but not its result.
        flow: all that was recorded, and `at`, its index there.
    """

    spot: Spot
    known: str
    on_the_way: bool = False
    flow: Flow | None = field(default=None, compare=False, repr=False)
    at: int = field(default=0, compare=False)


def first_divergence(
    seen: Observation,
    watched: InstrumentedCells,
    right: KnownValues,
    name: str,
    other_ways: frozenset[int] = frozenset(),
) -> Divergence | None:
    """The first divergence of an answer's values from those of right solutions; None if there is none, or nothing was
    recorded.

    Args:
        seen: what the recorder noted.
        name: of the function whose result is wrong; for a class, any of its methods'.
        other_ways: expressions that are passed over. Where the result is NaN or infinite, those with such values are
            not: small inputs are right in spite of an overflow.
    """
    flow = flow_of(seen, watched, right, name)
    if flow is None:
        return None
    order, spots = flow.order, flow.spots
    wrong = [i for i in flow.own if not flow.is_known(i)]
    if not wrong:
        return unfinished_value(flow)
    first = wrong[0] if spots[wrong[0]].returned == name else wrong[-1]
    overflown = not np.isfinite(flow.value(first)).all()
    infinite = {event.number for i, event in enumerate(order) if overflown and not np.isfinite(flow.value(i)).all()}
    flow.passed_over = other_ways - infinite - {order[first].number}
    found = flow.back(first)
    inputs = [i for i in flow.inputs(found) if order[i].tensor or flow.plain]
    known = bool(inputs) and all(right.has(flow.value(i)) for i in inputs)
    return Divergence(spots[found], ("number" if flow.plain else "tensor") if known else "", False, flow, found)


def unfinished_value(flow: Flow) -> Divergence | None:
    """The one value that an answer returns, if it is an intermediate value of a right solution; None if it is a
    result."""
    if len({flow.order[i].number for i in flow.own}) != 1 or not flow.order[flow.own[0]].tensor:
        return None
    value = np.squeeze(flow.value(flow.own[0]))
    if is_constant(value) or not flow.right.has(value):
        return None
    if any(close(value, r) for r in flow.right.results if r.shape == value.shape):
        return None
    return Divergence(flow.spots[flow.own[0]], "", on_the_way=True)


def other_ways(seen: Observation, watched: InstrumentedCells, right: KnownValues, name: str) -> frozenset[int]:
    """Expressions whose value no right solution has, under a probe that the answer passes: another way to go."""
    flow = flow_of(seen, watched, right, name)
    if flow is None:
        return frozenset()
    unknown = (i for i in range(len(flow.order)) if not flow.is_known(i))
    return frozenset(flow.order[i].number for i in unknown if not flow.spots[i].changes)


def flow_of(seen: Observation, watched: InstrumentedCells, right: KnownValues, name: str) -> Flow | None:
    """The recorded events with their data flow; None if nothing was recorded."""
    if not seen.values or "order" not in seen.values:
        return None
    rows = seen.values["order"]  # from the sandbox: it may be anything
    if rows.dtype != torch.int64 or rows.shape != (min(len(rows), MOST_VALUES), len(Event._fields)):
        return None
    order = [Event(*row) for row in rows.tolist()]
    if any(e.number not in watched.spots or f"{e.number}.{e.time}" not in seen.values for e in order):
        return None  # nothing that we asked for
    spots = [watched.spots[event.number] for event in order]
    returned = [i for i, spot in enumerate(spots) if spot.returned]
    own = [i for i in returned if spots[i].returned == name] or returned
    return Flow(order, spots, seen.values, right, own)


def same_variables(seen: Observation, watched: InstrumentedCells, right: KnownValues) -> dict[str, str]:
    """Variables of right solutions -> those of the answer that have the same value, the first time they get one."""
    found: dict[str, str] = {}
    for key, value in (seen.values or {}).items():
        number, _, time = key.partition(".")
        spot = watched.spots.get(int(number)) if number.isdecimal() and time == "0" else None
        if spot is not None and spot.assigned:
            array = np.squeeze(array_of(value))
            for name, other in right.variables.items():
                if array.shape == np.squeeze(other).shape and close(array, np.squeeze(other)):
                    found.setdefault(name, spot.assigned)
    return found


def counts_of(values: Mapping[str, Any] | None) -> dict[int, int]:
    """Expression -> how often it was evaluated, from what the recorder noted."""
    rows = (values or {}).get("counts")
    if rows is None or rows.dtype != torch.int64 or rows.dim() != 2 or rows.shape[1] != 2:
        return {}  # nothing that we asked for
    return dict(rows.tolist())


class Event(NamedTuple):
    """One recorded value: its expression, the how manieth time, the event that made the value, whether it is a
    tensor."""

    number: int  # of the expression
    time: int  # how often it was evaluated before
    made_by: int  # index of the event that made the value; -1 if none did
    tensor: int  # 1 for a tensor, 0 for a number


class Flow:
    """Events in their order, and where each one's value came from.

    Args:
        own: events whose values the answer returned. If all are numbers, numbers are asked about (`plain`); otherwise
            they are not: a solution has many of its own.
    """

    def __init__(
        self, order: list[Event], spots: list[Spot], values: Mapping[str, Any], right: KnownValues, own: list[int]
    ) -> None:
        self.order, self.spots, self.values, self.right, self.own = order, spots, values, right, own
        self.plain = not any(order[i].tensor for i in own)
        self.passed_over: frozenset[int] = frozenset()
        self._known: dict[int, bool] = {}
        self._repeated = {event.number for event in order if event.time}
        self.counts = counts_of(values)

    def is_known(self, i: int) -> bool:
        """Is this value unsuspicious: one that a right solution has, or one that carries no information?"""
        if i not in self._known:
            number = not self.order[i].tensor and not self.plain
            made = not any(self.order[j].tensor or self.plain for j in self.inputs(i))
            self._known[i] = number or self.has(i) or (made and is_constant(self.value(i)))
        return self._known[i]

    def has(self, i: int) -> bool:
        """Has a right solution this value, or was it given: an argument, a parameter, a number?"""
        number = not self.order[i].tensor and not self.plain
        return self.is_given(i) or number or self.right.has(self.value(i))

    def value(self, i: int) -> np.ndarray[Any, Any]:
        event = self.order[i]
        return array_of(self.values[f"{event.number}.{event.time}"])

    def inputs(self, i: int) -> list[int]:
        """The events whose values go into this one's."""
        event, spot = self.order[i], self.spots[i]
        found = [event.made_by] if 0 <= event.made_by < i and not spot.changes else []
        if found and spot.kind != "AugAssign":
            return found
        if spot.kind == "Name":
            found += self._last(i, lambda j: self.spots[j].assigned == spot.text)
        for child in spot.children:
            found += self._last(i, lambda j, child=child: self.order[j].number == child)  # type: ignore[misc]
        return found

    def _last(self, before: int, fits: Callable[[int], bool]) -> list[int]:
        """The last event before one that fits, if there is one."""
        return next(([j] for j in range(before - 1, -1, -1) if fits(j)), [])

    def back(self, i: int) -> int:
        """Against the flow, through what is not known, to where all inputs are."""
        while suspects := list(self.suspects(i, set())):
            i = next((j for j in suspects if not self.is_multiple(j)), suspects[0])
        return i

    def is_multiple(self, i: int) -> bool:
        """Is this a known tensor times a number, as `0.5 * x` is? Others have the factor elsewhere."""
        tensors = [j for j in self.inputs(i) if self.order[j].tensor]
        if len(tensors) != 1 or not self.has(tensors[0]):
            return False
        before, after = self.value(tensors[0]), self.value(i)
        if before.shape != after.shape or not before.size:
            return False
        largest = np.abs(np.nan_to_num(before)).argmax()
        with np.errstate(all="ignore"):  # 0 · inf is NaN, of which nobody has to be told
            factor = after.flat[largest] / before.flat[largest] if before.flat[largest] else np.nan
            return bool(np.isfinite(factor)) and close(before * factor, after)

    def suspects(self, i: int, seen: set[int]) -> Iterator[int]:
        """Unknown inputs of a value; for inputs that are another way of computing, their own inputs in turn."""
        for j in self.inputs(i):
            if j in seen or self.is_known(j) or self.is_part(j):
                continue
            seen.add(j)
            if self.order[j].number in self.passed_over:
                yield from self.suspects(j, seen)
            else:
                yield j

    def unknown(self) -> list[int]:
        """The events that the result comes from and no right solution has, in their order; not the result's own."""
        return [j for j in self.comes_from(*self.own) if j not in self.own and not self.is_known(j)]

    def comes_from(self, *results: int) -> list[int]:
        """All events that these values come from, in their order."""
        waiting, seen = list(results), set[int]()
        while waiting:
            new = [j for j in self.inputs(waiting.pop()) if j not in seen]
            seen.update(new)
            waiting += new
        return sorted(seen)

    def comes_from_known(self, i: int) -> bool:
        """Has a right solution all that goes into this expression, and was something of that computed?"""
        spot, inputs = self.spots[i], list[int]()
        waiting, seen = self.inputs(i), {i}
        if spot.changes and spot.kind == "Expr":  # `x.clamp_(0)`
            waiting += self._last(i, lambda j: spot.assigned in (self.spots[j].assigned, self.spots[j].text))
        while waiting:
            j = waiting.pop()
            if j in seen or not (self.order[j].tensor or self.plain):
                continue
            seen.add(j)
            there = self.spots[j]
            inside = there.label == spot.label and spot.start <= there.start and there.end <= spot.end
            if not inside or self.right.has(self.value(j)):
                inputs.append(j)
            else:
                waiting += self.inputs(j)
        computed = any(self.inputs(j) for j in inputs)
        return computed and all(self.right.has(self.value(j)) for j in inputs)

    def is_given(self, i: int) -> bool:
        """Is this an argument or a parameter?"""
        return self.spots[i].kind in ("Name", "Attribute") and not self.inputs(i)

    def is_part(self, i: int) -> bool:
        """Is this, in a loop, a part of a value that is known?"""
        repeated = self.order[i].number in self._repeated and not self.spots[i].changes
        return repeated and self.right.has_slice(self.value(i))
