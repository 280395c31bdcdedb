"""Clear cases, decided quickly: an answer that agrees everywhere, a mistake that is plainly another one, and one that
was judged before, bit for bit.

Judging a class is mostly comparing small tensors with the same expected ones, again and again. Here the expected ones
are prepared once, and compared by numpy, whose strength is small arrays. What remains in doubt is left to
`proctor.diagnose`, so the verdicts are the same.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from proctor.compare import TOLERANCE
from proctor.diagnose import Examiner, Observations
from proctor.exercise import Exercise, Probe
from proctor.observe import Observation
from proctor.result import Result

MOST_JUDGED = 200  # verdicts on an exercise that are remembered: what many do wrong is among them
PLAINLY = 50.0  # tolerances: what is further off than this is something else
Array = np.ndarray[Any, Any]


class Expected:
    """One tensor to compare with."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.shape, self.dtype = tensor, tensor.shape, tensor.dtype
        self.floating = tensor.is_floating_point()
        self.array = as_array(tensor)
        finite = np.isfinite(self.array) if self.floating else None
        self.all_finite = finite is None or bool(finite.all())
        magnitudes = np.abs(self.array[finite]) if finite is not None else np.zeros(0)
        scale = float(magnitudes.max()) if magnitudes.size else 0.0
        self.allowed = TOLERANCE.get(self.dtype, 0.0) * (scale or 1.0)

    def agrees(self, seen: Tensor) -> bool | None:
        """True or False where that is clear, None where it takes a closer look."""
        if seen.shape != self.shape:
            return False
        if seen.dtype != self.dtype:
            return None
        if torch.equal(seen, self.tensor):
            return True
        if not self.all_finite:
            return None
        array = as_array(seen)
        if not self.floating:
            return bool((array == self.array).all())
        worst = float(np.abs(array - self.array).max(initial=0.0))
        if worst <= self.allowed:
            return True
        return False if math.isnan(worst) or worst > PLAINLY * self.allowed else None


def as_array(tensor: Tensor) -> Array:
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


class Prepared:
    """One observation to compare with."""

    def __init__(self, expected: Observation) -> None:
        self.values = None if expected.values is None else {n: Expected(t) for n, t in expected.values.items()}

    def agrees(self, seen: Observation) -> bool | None:
        """Did two implementations do the same? None where it takes a closer look."""
        if self.values is None or seen.values is None:
            return None
        if self.values.keys() != seen.values.keys():
            return False
        answers = [value.agrees(seen.values[name]) for name, value in self.values.items()]
        if False in answers:
            return False
        return None if None in answers else True


def digest(seen: Observations) -> bytes:
    """The same for the same observations, bit for bit."""
    total = hashlib.sha256()
    for name, observation in sorted(seen.items()):
        total.update(repr((name, observation.raised, observation.called)).encode())
        for key, tensor in sorted((observation.values or {}).items()):
            total.update(repr((key, tensor.dtype, tensor.shape)).encode())
            total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.digest()


class Screening(Examiner):
    """An examiner for a whole class."""

    def __init__(self, exercise: Exercise, salt: str = "") -> None:
        super().__init__(exercise, salt)
        self._wrong: dict[tuple[str, str], Prepared] = {}
        self._judged: dict[bytes, Result] = {}

    @cached_property
    def _right(self) -> dict[str, Prepared]:
        return {name: Prepared(observation) for name, observation in self.expected.items()}

    def verdict(self, seen: Observations, seconds: float = 0.0) -> Result:
        count = len(self.exercise.probes)
        clear = seen.keys() == self._right.keys() and not any(o.called for o in seen.values())
        if clear and all(self._right[name].agrees(observation) for name, observation in seen.items()):
            return Result(self.exercise.name, "passed", 1.0, count, count, seconds=seconds)
        key = digest(seen)
        if key not in self._judged:
            if len(self._judged) >= MOST_JUDGED:
                self._judged.clear()
            self._judged[key] = super().verdict(seen)
        return replace(self._judged[key], seconds=seconds)

    def _matches(self, name: str, wrong: Any, seen: Observations, properties: bool = False) -> bool:
        values = (probe for probe in self.exercise.probes.values() if probe.kind == "value")
        if any(self._prepared(name, wrong, probe).agrees(seen[probe.name]) is False for probe in values):
            return False
        return super()._matches(name, wrong, seen, properties)

    def _prepared(self, name: str, wrong: Any, probe: Probe) -> Prepared:
        key = (name, probe.name)
        if key not in self._wrong:
            self._wrong[key] = Prepared(self.mistaken(name, wrong, probe))
        return self._wrong[key]
