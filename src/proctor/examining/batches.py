"""Code that works only for one number of batch dimensions: told by which checks pass, and by the shapes in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

LEAST = 2  # checks that fail, and that pass, or it may be something else that they have in common

Calls = Sequence[Mapping[str, Any]]  # the arguments of each call, by parameter


def extra_dimensions(calls: Mapping[str, Calls]) -> dict[str, frozenset[int]]:
    """By check: how many dimensions its calls have before those that every call has.

    Args:
        calls: of the reference, under each check.
    """
    least: dict[str, int] = {}
    for arguments in (call for each in calls.values() for call in each):
        for name, value in arguments.items():
            if isinstance(value, Tensor):
                least[name] = min(least.get(name, value.dim()), value.dim())
    return {
        check: frozenset(
            max((v.dim() - least[n] for n, v in call.items() if isinstance(v, Tensor)), default=0) for call in each
        )
        for check, each in calls.items()
    }


def works_only_for(extra: Mapping[str, frozenset[int]], passes: Mapping[str, bool]) -> str:
    """The sentence for code that passes exactly the checks without a batch, or exactly those with one batch dimension;
    empty if that is not so.

    Args:
        extra: what `extra_dimensions` gives for the checks of values.
        passes: whether the code passes each of them.
    """
    right = [check for check in extra if passes[check]]
    wrong = [check for check in extra if not passes[check]]
    if len(right) < LEAST or len(wrong) < LEAST:
        return ""
    for most, which, these, others in (
        (0, "only without a batch", "without leading dimensions", "with some"),
        (1, "only with one batch dimension", "with one leading dimension", "with another number of them"),
    ):
        if all(extra[c] == {most} for c in right) and all(extra[c] and most not in extra[c] for c in wrong):
            return (
                f"Your code works {which}: it passes the {len(right)} checks of values {these}, and fails the "
                f"{len(wrong)} {others}."
            )
    return ""
