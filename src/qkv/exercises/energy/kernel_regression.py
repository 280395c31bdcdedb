"""The exercise `kernel_regression`."""

from __future__ import annotations

import math
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, normal, number, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.energy.shared import squared_distances
from qkv.model.energy import (
    kernel_regression,
)

exercise = Exercise(
    kernel_regression,
    section="Attention is kernel regression",
    minutes=10,
    difficulty=2,
    why="It is attention by distance, sixty years old; the temperature is its bandwidth.",
    hints=[
        "Each query has a distance to each point: x needs another dimension, and points another one elsewhere.",
        "The weights of a query sum to 1. Which function makes such weights of any exponents, however small?",
        "Subtract before you square: ‖x‖² - 2x·p + ‖p‖² is the same on paper, but far from 0 it is a small difference "
        "of large numbers.",
    ],
)


def curve(query: int, key: int, d: int, d_v: int, *leading: int, mean: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(*leading, query, d, seed="x", mean=mean),
        normal(*leading, key, d, seed="points", mean=mean),
        normal(*leading, key, d_v, seed="values"),
    )


def some_curve() -> tuple[Any, ...]:
    return *curve(*distinct(2, 8, 4, seed="sizes"), 3), number(0.6, 2.0, seed="bandwidth")


@exercise.probe
def some_points(kernel_regression: Any) -> Seen:
    """queries and points, all sizes different"""
    return {"estimates": kernel_regression(*some_curve())}


@exercise.probe
def narrow_and_wide(kernel_regression: Any) -> Seen:
    """a bandwidth of about 0.4, and one of about 4; no leading dimension"""
    query, key, d_v = distinct(3, 9, 3, seed="sizes")
    data = curve(query, key, 2, d_v)
    narrow, wide = number(0.35, 0.45, seed="narrow"), number(3.0, 5.0, seed="wide")
    return {"narrow": kernel_regression(*data, narrow), "wide": kernel_regression(*data, wide)}


@exercise.probe
def two_leading_and_ones(kernel_regression: Any) -> Seen:
    """two leading dimensions; one dimension, one query, one value"""
    a, b, key = distinct(2, 7, 3, seed="sizes")
    width = number(0.6, 2.0, seed="bandwidth")
    x, points, values = curve(1, key, 1, 1)
    return {
        "two leading dimensions": kernel_regression(*curve(4, key, 3, 2, a, b), width),
        "ones": kernel_regression(x, points, 5 + values, width),
        "a single point": kernel_regression(*curve(a, 1, b, 2), width),
    }


@exercise.probe
def far_from_every_point(kernel_regression: Any) -> Seen:
    """queries a thousand bandwidths away from every point"""
    x, points, values = curve(4, whole(5, 9, seed="key"), 2, 3)
    far = 50 * x / x.norm(dim=-1, keepdim=True) + x
    return {"estimates": kernel_regression(far, points, values, 0.05)}


@exercise.probe
def at_some_distance(kernel_regression: Any) -> Seen:
    """queries that are five or six bandwidths away from every point"""
    x, points, values = curve(4, whole(5, 9, seed="key"), 2, 3)
    away = number(5.3, 5.7, seed="away") * x / x.norm(dim=-1, keepdim=True)
    return {"estimates": kernel_regression(away, 0.1 * points, values, 1.0)}


@exercise.probe
def far_from_zero(kernel_regression: Any) -> Seen:
    """data with a mean of 100 and a deviation of 1"""
    _, points, values = curve(1, whole(12, 20, seed="key"), 6, 2, mean=100.0)
    ends = integers(0, len(points), 2, 80, seed="ends")
    between = (points[ends[0]] + points[ends[1]]) / 2  # as near to one as to the other: a lost digit decides
    return {"estimates": kernel_regression(between, points, values, number(0.24, 0.28, seed="bandwidth"))}


usual(exercise, some_curve, alike=lambda: (*curve(5, 5, 5, 5), 1.2))


def gaussian(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    return -distances / (2 * bandwidth**2)


def sharing_one(exponents: Tensor) -> Tensor:
    return exponents.softmax(-1)


@exercise.assembled
def regression_in_steps(
    x: Tensor,
    points: Tensor,
    values: Tensor,
    bandwidth: float,
    *,
    measure: Any = squared_distances,
    kernel: Any = gaussian,
    weigh: Any = sharing_one,
) -> Tensor:
    return weigh(kernel(measure(x, points), bandwidth, x.shape[-1])) @ values


@exercise.instead_of("measure")
def multiplied_out(x: Tensor, points: Tensor) -> Tensor:
    """You multiply the square out, ‖x‖² - 2x·p + ‖p‖², and lose the digits where the data are far from 0.

    With a mean of 100 the three terms are near 10,000 for each dimension and their sum near 1: in float32 few digits
    are left. Subtract first.
    """
    return x.square().sum(-1, keepdim=True) - 2 * x @ points.mT + points.square().sum(-1).unsqueeze(-2)


@exercise.instead_of("measure")
def not_squared(x: Tensor, points: Tensor) -> Tensor:
    """You use the distance; it should be squared.

    exp(-distance) is another kernel. This one is a Gaussian.
    """
    return squared_distances(x, points).sqrt()


@exercise.instead_of("measure")
def along_the_axes(x: Tensor, points: Tensor) -> Tensor:
    """You add up absolute differences instead of squares.

    The kernel falls with the squared Euclidean distance, the same in every direction.
    """
    return (x.unsqueeze(-2) - points.unsqueeze(-3)).abs().sum(-1)


@exercise.instead_of("measure")
def averaged_over_dimensions(x: Tensor, points: Tensor) -> Tensor:
    """You average the squared differences over the dimensions.

    A squared distance is their sum.
    """
    return (x.unsqueeze(-2) - points.unsqueeze(-3)).square().mean(-1)


@exercise.instead_of("measure")
def similarity_for_distance(x: Tensor, points: Tensor) -> Tensor:
    """You compare by dot products, as attention does.

    That is the same only where all points have one length; here it is the distance that counts.
    """
    return -2 * x @ points.mT


@exercise.instead_of("kernel")
def two_forgotten(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """The 2 below the line is missing.

    The exponent is -distance²/(2·bandwidth²), so that the bandwidth is the standard deviation of the Gaussian.
    """
    return -distances / bandwidth**2


@exercise.instead_of("kernel")
def bandwidth_not_squared(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You do not square the bandwidth.

    It is a length, and is compared with a distance: both are squared.
    """
    return -distances / (2 * bandwidth)


@exercise.instead_of("kernel")
def bandwidth_multiplied(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You multiply by the squared bandwidth where you should divide.

    A wide kernel hears far points: a large bandwidth makes the exponent small.
    """
    return -distances * bandwidth**2 / 2


@exercise.instead_of("kernel")
def bandwidth_ignored(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You do not use the bandwidth.

    It says how far a point is heard: distances are measured in it.
    """
    return -distances / 2


@exercise.instead_of("kernel")
def far_points_first(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """The minus in the exponent is missing: the farthest point counts most.

    The weight of a point falls with its distance.
    """
    return distances / (2 * bandwidth**2)


@exercise.instead_of("kernel")
def scaled_as_attention(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You divide by the root of d as well.

    In attention that is what takes the place of the bandwidth. Here the bandwidth is given.
    """
    return -distances / (2 * bandwidth**2 * math.sqrt(d))


@exercise.instead_of("weigh")
def nothing_by_nothing(exponents: Tensor) -> Tensor:
    """Far from every point all your powers are 0, and 0/0 is NaN.

    Only the differences between exponents count. Take the largest out first, as a softmax does.
    """
    powers = exponents.exp()
    return powers / powers.sum(-1, keepdim=True)


@exercise.instead_of("weigh")
def a_little_in_the_divisor(exponents: Tensor) -> Tensor:
    """You add a small number to the sum of the powers: far from every point the estimate falls to 0.

    There the nearest point should decide. Take the largest exponent out first; then the sum is never below 1.
    """
    powers = exponents.exp()
    return powers / (powers.sum(-1, keepdim=True) + 1e-8)


@exercise.instead_of("weigh")
def weights_without_a_sum(exponents: Tensor) -> Tensor:
    """You do not divide by the sum of the weights.

    Then the estimate grows where points are dense. It is an average: weights sum to 1.
    """
    return exponents.exp()


@exercise.instead_of("weigh")
def shared_among_queries(exponents: Tensor) -> Tensor:
    """Your weights sum to 1 over the queries.

    Each query shares 1 among the points: that is the last dimension.
    """
    return exponents.softmax(-2)


@exercise.instead_of("weigh")
def nearest_alone(exponents: Tensor) -> Tensor:
    """You take the nearest point's value alone.

    That is the limit of a small bandwidth. Every point has a say, near ones more.
    """
    return F.one_hot(exponents.argmax(-1), exponents.shape[-1]).to(exponents.dtype)


squeezes(exercise)
unpacks(exercise, "x", "batch", "query", "d")
