"""Two exercises that need no torch, so that the pipeline's tests are quick."""

import math
from collections.abc import Callable
from typing import Any


def expects(**specs: str) -> Callable[[Any], Any]:
    return lambda function: function


@expects(
    values="...",
    power="positive",
)
def mean(
    values: list[float],  # at least one
    power: float = 1.0,
) -> float:
    """The power mean of some numbers.

    Args:
        values: numbers (n,).
    """
    # the sum first: it may overflow
    total = sum(value**power for value in values)
    return (total / len(values)) ** (1 / power)  # back again


class Counter:
    """Counts what it sees."""

    start = 0

    # the parts that a stub keeps
    @expects(step="positive")
    def __init__(self, step: int = 1) -> None:
        self.step = step
        self.count = self.start

    @expects(thing="...")
    def see(self, thing: object) -> int:
        """Count one more thing."""
        self._advance()
        return self.count

    def _advance(self) -> None:
        self.count += self.step  # the answer

    @property
    def root(self) -> float:
        return math.sqrt(self.count)
