"""Does a wrong result depend on chance where the right one does not? The answer runs once more after other random
numbers were drawn, or with other seeds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from proctor.examining.compare import ComparableObservation
from proctor.examining.diagnose import Examiner
from proctor.locate.repair import Bench, Cells, Seen
from proctor.locate.source import Edit, EditableDefinition, applied
from proctor.source.text import Function

DRAWS = {
    "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "random", "randrange", "uniform",
    "uniform_", "normal", "normal_", "bernoulli", "bernoulli_", "multinomial", "exponential_", "random_", "gauss",
    "choice", "choices", "sample", "shuffle", "permutation", "standard_normal",
}  # fmt: skip
SEEDS = {"manual_seed", "seed", "Random", "RandomState", "default_rng"}
OTHER_NUMBERS = "__import__('random').random(); __import__('torch').rand(1)"
OF_NUMPY = "; __import__('numpy').random.rand()"


def drawn_by(examiner: Examiner, seen: Seen, probe: str, texts: Cells, bench: Bench) -> tuple[str, int, str] | None:
    """The cell, the line and the code where an answer draws random numbers on which its result under a check depends;
    None if it does not, or if the right result depends on chance as well."""
    for label, text in texts.items():
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            definition = EditableDefinition(text)
            functions = [f for f in definition.functions() if f.name != "__init__"]
            calls = (node for f in functions for node in ast.walk(f) if isinstance(node, ast.Call))
            drawing = next(filter(draws, calls), None)
            if drawing is None or examiner.is_left_to_chance(probe):
                continue
            others = [begun_with(definition, function) for function in functions]
            stirred = applied(text, *others, *seeded_otherwise(definition))
            plain, other = bench.run([{}, {label: stirred}], [probe])
            if probe not in plain or probe not in other or plain[probe].values is None or other[probe].values is None:
                continue
            before = ComparableObservation(seen[probe])
            same = before.same(ComparableObservation(plain[probe]))
            if same and not before.same(ComparableObservation(other[probe])):
                return label, drawing.lineno, definition.words(*definition.span(drawing))
    return None


def draws(node: ast.Call) -> bool:
    """Is this a call of a function that draws random numbers, by its name?"""
    return name_of(node) in DRAWS


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def seeded_otherwise(definition: EditableDefinition) -> Iterator[Edit]:
    """The edits by which an answer that seeds its numbers itself takes other seeds."""
    for call in ast.walk(definition.tree):
        if isinstance(call, ast.Call) and name_of(call) in SEEDS:
            for seed in call.args:
                if isinstance(seed, ast.Constant) and type(seed.value) is int:
                    yield definition.exchange(seed, str(seed.value + 1), "chance", 0.0)


def begun_with(definition: EditableDefinition, function: Function) -> Edit:
    """The edit by which a function draws some numbers of its own before all else."""
    first = function.body[0]
    start, _ = definition.span(first)
    before = definition.source.split("\n")[first.lineno - 1][: first.col_offset]
    new = OTHER_NUMBERS + (OF_NUMPY if "numpy" in definition.source else "")
    return Edit("chance", first.lineno, start, start, new + ("; " if before.strip() else f"\n{before}"), "", 0.0)
