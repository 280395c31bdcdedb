"""Agreement of two sets of named tensors: same names, shapes, dtypes, and values within tolerance.

Judging a class is mostly comparing small tensors with the same expected ones, again and again. So each is prepared
once (`ComparableTensor`), and compared by numpy, whose strength is small arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from proctor.examining import labels
from proctor.inside.observe import Observation

# Relative to the largest finite magnitude of the expected tensor, by the dtype of the *expected* one, so that no answer
# chooses its own: room for another order of summation, and in float64 for float32 inside; not for another formula.
TOLERANCE = {torch.float64: 1e-5, torch.float32: 5e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
FULL_PRECISION = 1e-9  # what float64 gives if nothing inside is float32
SCALARS = (torch.float32, torch.float64)  # what a scalar may be instead of the expected dtype
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Difference:
    """One tensor that does not agree: by how many tolerances (inf: not comparable at all), and a sentence."""

    excess: float
    sentence: str


class ComparableTensor:
    """A tensor prepared for many comparisons: as an array, with the tolerance that it grants."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.floating = tensor.is_floating_point()
        self.array: Array = (tensor.double() if self.floating else tensor).numpy()

    @cached_property
    def all_finite(self) -> bool:
        return not self.floating or bool(np.isfinite(self.array).all())

    @cached_property
    def allowed(self) -> float:
        """The absolute tolerance: relative tolerance of the dtype times the largest finite magnitude."""
        magnitudes = np.abs(self.array if self.all_finite else self.array[np.isfinite(self.array)])
        scale = float(magnitudes.max(initial=0.0))
        return TOLERANCE.get(self.tensor.dtype, 0.0) * (scale or 1.0)

    def comparable(self, seen: ComparableTensor) -> bool:
        """Has it the right shape and dtype? A scalar may be a Python float as well as a tensor."""
        mine, theirs = self.tensor, seen.tensor
        if theirs.shape != mine.shape:
            return False
        return theirs.dtype == mine.dtype or (theirs.dim() == 0 and self.floating and theirs.dtype in SCALARS)

    def errors(self, seen: ComparableTensor) -> Array:
        """Elementwise distance in units of the tolerance; inf where one of the two is NaN or infinite and the other
        not equal."""
        if not self.floating:
            return np.where(seen.array == self.array, 0.0, math.inf)
        if self.all_finite and seen.all_finite:
            return np.asarray(np.abs(seen.array - self.array) / self.allowed)
        with np.errstate(invalid="ignore"):
            distance = np.abs(seen.array - self.array) / self.allowed
        equal = (seen.array == self.array) | (np.isnan(seen.array) & np.isnan(self.array))
        finite = np.isfinite(seen.array) & np.isfinite(self.array)
        return np.where(finite, distance, np.where(equal, 0.0, math.inf))

    def excess(self, seen: ComparableTensor) -> float:
        """The largest distance in tolerances; inf if they cannot be compared."""
        if not self.comparable(seen):
            return math.inf
        if np.array_equal(seen.array, self.array):  # nearly always, where it agrees: the same operations
            return 0.0
        return float(self.errors(seen).max(initial=0.0))

    def difference(self, name: str, seen: ComparableTensor) -> Difference | None:
        """The difference of a tensor from this one, with its sentence; None if they agree."""
        if seen.tensor.shape != self.tensor.shape:
            shapes = tuple(seen.tensor.shape), tuple(self.tensor.shape)
            return Difference(math.inf, labels.about_a_shape(name, *shapes))
        if not self.comparable(seen):
            return Difference(math.inf, labels.about_a_dtype(name, dtype_text(seen.tensor), dtype_text(self.tensor)))
        errors = self.errors(seen)
        if not errors.size or errors.max() <= 1.0:
            return None
        # The first of those that are about as wrong as the worst: where two are equally wrong, as in a matrix of the
        # opposite sign, the last digit of either would choose, and another process would show another entry.
        worst = int((errors >= 0.999 * errors.max()).argmax())
        index = tuple(int(i) for i in np.unravel_index(worst, errors.shape))
        numbers = format_distinctly(seen.tensor[index], self.tensor[index])
        return Difference(float(errors.max()), labels.about_a_value(name, index, *numbers))

    def loses_precision(self, seen: ComparableTensor) -> bool:
        """Has a float64 result that agrees fewer digits than float64 gives?"""
        if self.tensor.dtype != torch.float64 or seen.tensor.dtype != torch.float64:
            return False
        return self.excess(seen) * TOLERANCE[torch.float64] > FULL_PRECISION


Compared = ComparableTensor  # the name in `proctor.report.notebook`, whose text enters the fingerprint of all editions


class ComparableObservation:
    """An observation prepared for comparison: of the reference, of a mistake, or of an answer."""

    def __init__(self, observation: Observation) -> None:
        self.observation = observation
        self.raised = observation.raised

    @cached_property
    def values(self) -> dict[str, ComparableTensor] | None:
        values = self.observation.values
        return None if values is None else {name: ComparableTensor(tensor) for name, tensor in values.items()}

    def same(self, seen: ComparableObservation) -> bool:
        """Did two implementations do the same? Raising exceptions of one kind counts as the same."""
        if self.values is None or seen.values is None:
            return self.excess(seen) <= 1.0
        if self.values.keys() != seen.values.keys():
            return False
        return all(value.excess(seen.values[name]) <= 1.0 for name, value in self.values.items())

    def excess(self, seen: ComparableObservation) -> float:
        """The largest disagreement, in tolerances."""
        if self.values is None or seen.values is None:
            ours, theirs = self.raised, seen.raised
            return 0.0 if ours is not None and theirs is not None and ours.kind == theirs.kind else math.inf
        if self.values.keys() != seen.values.keys():
            return math.inf
        return max((value.excess(seen.values[name]) for name, value in self.values.items()), default=0.0)

    def differences(self, seen: ComparableObservation) -> Iterator[Difference]:
        """All disagreements, in the order in which the probe names its tensors."""
        expected, values = self.values or {}, seen.values or {}
        yield from (Difference(math.inf, labels.about_a_lack(name)) for name in expected if name not in values)
        yield from (Difference(math.inf, labels.about_a_surplus(name)) for name in sorted(values.keys() - expected))
        for name, value in expected.items():
            if name in values and (found := value.difference(name, values[name])) is not None:
                yield found

    def renamed(self, spoken: Callable[[str], str]) -> ComparableObservation:
        """The same observation under other labels."""
        if self.values is None:
            return self
        other = ComparableObservation(self.observation)
        other.__dict__["values"] = {spoken(name): value for name, value in self.values.items()}
        return other

    def loses_precision(self, seen: ComparableObservation) -> bool:
        """Have float64 results that agree fewer digits than float64 gives?"""
        values = seen.values or {}
        return any(value.loses_precision(values[name]) for name, value in (self.values or {}).items() if name in values)


def dtype_text(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def format_distinctly(seen: Tensor, expected: Tensor) -> tuple[str, str]:
    """Format two numbers with as many digits as it takes to distinguish them, at least three."""
    if not expected.is_floating_point():
        return str(seen.item()), str(expected.item())
    for digits in range(3, 17):
        texts = f"{float(seen):.{digits}g}", f"{float(expected):.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts
