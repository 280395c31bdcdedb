"""Agreement of two sets of named tensors: same names, shapes, dtypes, and values within tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from proctor.observe import Observation

# Relative to the largest finite magnitude of the expected tensor:
# room for another order of summation, not for another formula.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 5e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@dataclass(frozen=True)
class Difference:
    """One tensor that does not agree: by how many tolerances (inf: not comparable at all), and a sentence."""

    excess: float
    sentence: str


def differences(seen: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> list[Difference]:
    """All disagreements, in the order in which the probe names its tensors."""
    missing = [Difference(math.inf, f"{name} is missing.") for name in expected if name not in seen]
    surplus = [Difference(math.inf, f"{name} is not asked for.") for name in seen if name not in expected]
    found = [difference(name, seen[name], expected[name]) for name in expected if name in seen]
    return missing + surplus + [d for d in found if d is not None]


def difference(name: str, seen: Tensor, expected: Tensor) -> Difference | None:
    """How two tensors differ, or None if they agree."""
    if seen.shape != expected.shape:
        return Difference(math.inf, f"{name} has shape {shape(seen)}, expected {shape(expected)}.")
    scalars = seen.dim() == 0 and seen.is_floating_point() and expected.is_floating_point()
    if seen.dtype != expected.dtype and not scalars:  # a scalar may be a float or a 0-d tensor
        return Difference(math.inf, f"{name} is {dtype(seen)}, expected {dtype(expected)}.")
    if seen.numel() == 0:
        return None
    errors = error_in_tolerances(seen, expected)
    worst = int(errors.argmax())
    excess = float(errors.flatten()[worst])
    if excess <= 1.0:
        return None
    index = [int(i) for i in torch.unravel_index(torch.tensor(worst), errors.shape)]
    place = f"{name}{index}" if index else name
    got, wanted = number(seen[tuple(index)], expected[tuple(index)])
    return Difference(excess, f"{place} is {got}, expected {wanted}.")


def error_in_tolerances(seen: Tensor, expected: Tensor) -> Tensor:
    """Elementwise |seen - expected| in units of the tolerance; inf where one of the two is NaN or infinite and the
    other not equal."""
    if not expected.is_floating_point():
        return torch.where(seen == expected, 0.0, math.inf).double()
    tolerance = max(TOLERANCE[t.dtype] for t in (seen, expected))
    a, b = seen.double(), expected.double()
    finite = a.isfinite() & b.isfinite()
    scale = float(b[b.isfinite()].abs().max()) if b.isfinite().any() else 0.0
    allowed = tolerance * (scale or 1.0)
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(finite, (a - b).abs() / allowed, torch.where(same, 0.0, math.inf))


def same(a: Observation, b: Observation) -> bool:
    """Did two implementations do the same thing under one probe? Raising exceptions of one kind counts as the same."""
    return excess(a, b) <= 1.0


def excess(seen: Observation, expected: Observation) -> float:
    """The largest disagreement under one probe, in tolerances."""
    if seen.values is None or expected.values is None:
        if seen.raised is not None and expected.raised is not None and seen.raised.kind == expected.raised.kind:
            return 0.0
        return math.inf
    return max((d.excess for d in differences(seen.values, expected.values)), default=0.0)


def shape(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))


def dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def number(seen: Tensor, expected: Tensor) -> tuple[str, str]:
    """Both numbers with as many digits as it takes to tell them apart, at least three."""
    if not expected.is_floating_point():
        return str(seen.item()), str(expected.item())
    for digits in range(3, 17):
        texts = f"{float(seen):.{digits}g}", f"{float(expected):.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts
