"""Discrimination: whether those who pass an exercise also do well in the rest.

It is the point-biserial correlation of passing with the points of all other exercises, among those who began it. Only
sums are held, so that a large class needs no more memory than a small one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FEWEST = 20  # students below which a correlation says nothing


@dataclass
class Separation:
    """The sums over a class for one exercise."""

    count: int = 0
    passed: int = 0
    rest: float = 0.0  # points in the other exercises: their sum,
    squares: float = 0.0  # the sum of their squares,
    of_passed: float = 0.0  # and the sum of those who passed this one

    def add(self, passed: bool, rest: float) -> None:
        """Count a student who began the exercise and has `rest` points in the others."""
        self.count += 1
        self.passed += passed
        self.rest += rest
        self.squares += rest * rest
        self.of_passed += rest * passed

    @property
    def value(self) -> float | None:
        """The correlation; None where all or none passed, or all have the same points in the rest."""
        if not 0 < self.passed < self.count:
            return None
        share = self.passed / self.count
        variance = self.squares / self.count - (self.rest / self.count) ** 2
        if variance <= 1e-9 * max(self.squares / self.count, 1e-9):
            return None
        covariance = self.of_passed / self.count - share * self.rest / self.count
        return covariance / math.sqrt(variance * share * (1 - share))

    @property
    def words(self) -> str:
        """What the correlation says, and nothing that so few students cannot show: by chance alone it is beyond
        2/√n one time in twenty."""
        value = self.value
        if self.count < FEWEST:
            return "too few to say"
        if value is None:
            return (
                "all passed" if self.passed == self.count else "none passed" if not self.passed else "the rest is equal"
            )
        chance = 2 / math.sqrt(self.count)
        if value < -chance:
            return "the wrong way round"
        if value <= chance:
            return "not beyond chance"
        return "weakly" if value < 0.3 else "clearly" if value < 0.5 else "strongly"
