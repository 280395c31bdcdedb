"""The exercise `score_variance`."""

from __future__ import annotations

import math
from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct, number
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.scaling import score_variance

exercise = Exercise(
    score_variance,
    section="How far a score scatters",
    minutes=10,
    difficulty=1,
    why="It says how large scores get before anything is learned, and so what they have to be divided by.",
    hints=[
        "Start with d = 1 and mean 0: the score is one product. What is the average of its square?",
        "The products of different components are independent. What happens to variances when independent numbers are "
        "added?",
        "With a mean, use Var[x] = E[x²] - E[x]² on one product: E[q²] is σ² + μ², and q and k are independent, so "
        "averages of products split.",
    ],
)


def widths() -> list[int]:
    return distinct(5, 400, 3, seed="d")


def a_deviation() -> float:
    return number(1.3, 1.9, seed="sigma")


def a_mean() -> float:
    return number(0.4, 0.9, seed="mean")


@exercise.probe
def of_unit_components(score_variance: Any) -> Seen:
    """components of deviation 1 and mean 0, three widths"""
    return {f"variance for d = {d}": score_variance(d, 1.0) for d in widths()}


@exercise.probe
def of_wider_components(score_variance: Any) -> Seen:
    """components of a deviation above 1, and mean 0"""
    return {f"variance for d = {d}": score_variance(d, a_deviation()) for d in widths()}


@exercise.probe
def of_narrow_components(score_variance: Any) -> Seen:
    """components of a deviation far below 1, and mean 0"""
    return {f"variance for d = {d}": score_variance(sigma=a_deviation() / 4, d=d) for d in widths()}


@exercise.probe
def of_shifted_components(score_variance: Any) -> Seen:
    """components whose mean is not 0"""
    return {f"variance for d = {d}": score_variance(d, a_deviation(), a_mean()) for d in widths()}


@exercise.probe
def of_a_single_component(score_variance: Any) -> Seen:
    """one component, of mean 0 and of negative mean"""
    return {
        "variance at mean 0": score_variance(1, a_deviation()),
        "variance at a negative mean": score_variance(1, a_deviation(), mean=-2 * a_mean()),
    }


exercise.property(repeats(of_unit_components, of_wider_components))


def product_alone(sigma: float) -> float:
    return sigma**4


def cross_terms(sigma: float, mean: float) -> float:
    return 2 * mean**2 * sigma**2


def summed(d: int, of_one_product: float) -> float:
    return d * of_one_product


@exercise.assembled
def variance_in_steps(
    d: int,
    sigma: float,
    mean: float = 0.0,
    *,
    product: Any = product_alone,
    cross: Any = cross_terms,
    total: Any = summed,
) -> float:
    return total(d, product(sigma) + cross(sigma, mean))


@exercise.instead_of("product")
def sigma_squared_once(sigma: float) -> float:
    """Your variance grows with σ², where it should grow faster.

    σ² is the variance of one component. A score multiplies two of them, one of the query and one of the key, and each
    brings its own factor.
    """
    return sigma**2


@exercise.instead_of("cross")
def mean_forgotten(sigma: float, mean: float) -> float:
    """You leave the mean out.

    A mean different from 0 makes the products scatter more: the query's mean multiplies the key's scatter, and the
    other way round.
    """
    return 0.0


@exercise.instead_of("cross")
def cross_term_once(sigma: float, mean: float) -> float:
    """You count the mixed term μ²σ² once.

    It arises twice: the query's mean with the key's scatter, and the key's mean with the query's scatter.
    """
    return mean**2 * sigma**2


@exercise.instead_of("cross")
def mean_not_squared(sigma: float, mean: float) -> float:
    """You use the mean where its square belongs.

    A variance is made of squares. It must not change when the mean changes its sign, and the mean counts in units of
    the components.
    """
    return 2 * mean * sigma**2


@exercise.instead_of("cross")
def raw_moment_of_one_product(sigma: float, mean: float) -> float:
    """You add up the average squares of the products, not their variances.

    A variance is measured from the mean. The average product is μ², and its square has to be taken off again.
    """
    return 2 * mean**2 * sigma**2 + mean**4


@exercise.instead_of("cross")
def mean_alone(sigma: float, mean: float) -> float:
    """Your term with the mean does not contain σ.

    A mean by itself scatters nothing. It counts because it multiplies the scatter of the other factor, so μ² and σ²
    come together.
    """
    return mean**4


@exercise.instead_of("total")
def width_squared(d: int, of_one_product: float) -> float:
    """You multiply by d².

    That would be right if all d products were the same number. They are independent: their variances add, their
    deviations do not.
    """
    return d**2 * of_one_product


@exercise.instead_of("total")
def standard_deviation(d: int, of_one_product: float) -> float:
    """You return the standard deviation: a square root too many.

    The square root of this variance is what the scores will be divided by, later. Here the variance is asked for.
    """
    return math.sqrt(d * of_one_product)


@exercise.instead_of("total")
def root_of_the_width(d: int, of_one_product: float) -> float:
    """Your variance grows with the square root of d.

    The standard deviation does that. The variance of a sum of d independent numbers is the sum of their d variances.
    """
    return math.sqrt(d) * of_one_product


@exercise.instead_of("total")
def of_one_component(d: int, of_one_product: float) -> float:
    """You leave d out: this is the variance of one product.

    A score adds d such products, and each adds its variance.
    """
    return of_one_product


@exercise.misconception
def query_equals_key(d: int, sigma: float, mean: float = 0.0) -> float:
    """You give the variance of q·q, a vector with itself.

    That is twice as large (for normal components), since a square scatters more than a product of two independent
    numbers. Query and key are two different draws.
    """
    return 2 * score_variance(d, sigma, mean)


@exercise.misconception
def variance_of_a_sum(d: int, sigma: float, mean: float = 0.0) -> float:
    """You add the variances of query and key, as if their components were added.

    For q + k that would be right. In a score they are multiplied, and the variance of a product is another one.
    """
    return 2 * d * sigma**2


@exercise.misconception
def mean_counted_for_one_component(d: int, sigma: float, mean: float = 0.0) -> float:
    """You multiply the first term by d, but not the one with the mean.

    Every one of the d products has the same variance, mean and all. What holds for one has to be counted d times as a
    whole.
    """
    return d * sigma**4 + 2 * mean**2 * sigma**2


@exercise.misconception
def deviation_taken_for_variance(d: int, sigma: float, mean: float = 0.0) -> float:
    """You take sigma for the variance of a component; it is the standard deviation.

    Then every power of sigma comes out half as high as it should. The variance of a component is σ².
    """
    return d * (sigma**2 + 2 * mean**2 * sigma)


@exercise.misconception
def average_of_the_square(d: int, sigma: float, mean: float = 0.0) -> float:
    """You give the average of the squared score, not its variance.

    With a mean, scores scatter around d·μ² and not around 0. A shift that all scores share is no scatter, and the
    softmax does not see it.
    """
    return score_variance(d, sigma, mean) + (d * mean**2) ** 2
