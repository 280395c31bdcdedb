"""Chapter 13: free energy, what a softmax maximises, kernel regression, Hopfield's memory, contrast."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.forbid import Family
from proctor.inside.inputs import distinct, integers, normal, number, uniform, whole
from proctor.inside.properties import usual
from qkv.exercises.forbidden import SOFTMAX
from qkv.model.energy import (
    clip_loss,
    free_energy,
    hopfield_energy,
    hopfield_retrieve,
    info_nce,
    info_nce_gradient,
    kernel_regression,
    variational_objective,
)

Seen = dict[str, Any]
LOG_SUM_EXP = Family.of("torch's own log-sum-exp", "logsumexp", "logaddexp", "logcumsumexp")

# free_energy ----------------------------------------------------------------------------------------------------------

summing_up = Exercise(
    free_energy,
    section="One number for many energies",
    minutes=10,
    difficulty=2,
    why="The one number behind every softmax: its gradient is the weights, and tiles of attention are merged by it.",
    hints=[
        "Low energies count most. What is the largest of the exponents -beta·E, and what if you take it out first?",
        "Σ exp(-beta·E) = exp(-beta·m) · Σ exp(-beta·(E - m)), whatever m is. Which m keeps every power at 1 or below?",
        "The logarithm makes a sum of the product. Divide by -beta, and m comes out as itself.",
    ],
    forbid=[SOFTMAX, LOG_SUM_EXP],
)


def some_energies() -> tuple[Any, ...]:
    return normal(*distinct(2, 8, 2, seed="sizes"), seed="energies", std=1.5), number(0.3, 3.0, seed="beta")


@summing_up.probe
def rows_of_energies(free_energy: Any) -> Seen:
    """rows of energies at some beta"""
    return {"free energy": free_energy(*some_energies())}


@summing_up.probe
def beta_left_out(free_energy: Any) -> Seen:
    """one row of energies, no leading dimension, beta not given"""
    return {"free energy": free_energy(normal(whole(3, 9, seed="n"), seed="energies", mean=7.0))}


@summing_up.probe
def with_two_leading_dimensions(free_energy: Any) -> Seen:
    """two leading dimensions, and rows of one energy"""
    a, b, n = distinct(2, 6, 3, seed="sizes")
    beta = number(1.5, 4.0, seed="beta")
    return {
        "free energy": free_energy(normal(a, b, n, seed="energies"), beta),
        "of one state": free_energy(normal(a, 1, seed="single"), beta),
    }


def weighed_gradient(result: Tensor, of: Tensor) -> Tensor:
    """The gradient of the results, each row with a weight of its own; 0 if there is no graph."""
    if not result.requires_grad:
        return torch.zeros_like(of)
    (found,) = torch.autograd.grad(result, of, normal(*result.shape, seed="incoming").to(result.dtype))
    return found


@summing_up.probe
def its_gradient(free_energy: Any) -> Seen:
    """the gradient, which is the weight of each state"""
    energies, beta = some_energies()
    return {"gradient": weighed_gradient(free_energy(energies.requires_grad_(), beta), energies)}


def huge() -> tuple[Tensor, float]:
    """Rows around 10,000, 0 and -10,000, of whole numbers, which float32 has exactly, as it has their products with
    this beta."""
    rows = torch.tensor([[10_000], [0], [-10_000]])
    return (rows + integers(-4, 5, 3, 6, seed="energies")).double(), 2.0 ** whole(-2, 1, seed="beta")


@summing_up.probe
def huge_energies(free_energy: Any) -> Seen:
    """rows with energies around 10,000, around 0 and around -10,000"""
    energies, beta = huge()
    result = free_energy(energies.requires_grad_(), beta)
    return {"free energy": result, "gradient": weighed_gradient(result, energies)}


@summing_up.probe
def far_apart(free_energy: Any) -> Seen:
    """energies that are 10,000 apart in one row"""
    energies, beta = huge()
    energies[:, ::2] += 10_000
    result = free_energy(energies.requires_grad_(), beta)
    return {"free energy": result, "gradient": weighed_gradient(result, energies)}


@summing_up.probe
def states_that_cannot_be(free_energy: Any) -> Seen:
    """some energies of +inf beside finite ones"""
    energies, beta = normal(4, 5, seed="energies"), number(0.5, 2.0, seed="beta")
    energies[:, 1], energies[2:, 3] = math.inf, math.inf
    result = free_energy(energies.requires_grad_(), beta)
    return {"free energy": result, "gradient": weighed_gradient(result, energies)}


usual(summing_up, some_energies)


def boltzmann_powers(energies: Tensor, lowest: Tensor, beta: float) -> Tensor:
    return torch.exp(-beta * (energies - lowest))


def sum_of_powers(powers: Tensor) -> Tensor:
    return powers.sum(-1)


def back_again(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    return lowest.squeeze(-1) - log_sum / beta


@summing_up.assembled
def free_energy_in_steps(
    energies: Tensor,
    beta: float = 1.0,
    *,
    power: Any = boltzmann_powers,
    total: Any = sum_of_powers,
    finish: Any = back_again,
) -> Tensor:
    lowest = energies.amin(-1, keepdim=True)
    return finish(lowest, total(power(energies, lowest, beta)).log(), beta)


@summing_up.misconception
def exponent_not_negative(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You exponentiate +beta·E, so high energies count most.

    A state is the likelier the lower its energy: the exponent is -beta·E.
    """
    return -free_energy(-energies, beta)


@summing_up.misconception
def minus_forgotten(energies: Tensor, beta: float = 1.0) -> Tensor:
    """The minus before the logarithm is missing.

    A free energy lies a little below the lowest energy; yours is its negative.
    """
    return -free_energy(energies, beta)


@summing_up.instead_of("total")
def averaged_powers(powers: Tensor) -> Tensor:
    """You take the mean of the powers, not their sum.

    Then the free energy would not fall when more states become possible. The number of states belongs into it.
    """
    return powers.mean(-1)


@summing_up.instead_of("finish")
def not_divided_by_beta(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    """You do not divide the logarithm by beta.

    The exponents were multiplied by beta. Divided by it again, the result is an energy.
    """
    return beta * lowest.squeeze(-1) - log_sum


@summing_up.instead_of("finish")
def multiplied_by_beta(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    """You multiply the logarithm by beta where you should divide.

    beta is an inverse temperature: 1/beta stands before the logarithm.
    """
    return lowest.squeeze(-1) - log_sum * beta


@summing_up.instead_of("finish")
def shift_not_undone(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    """You subtract the lowest energy before the exponential, and do not add it again.

    Then all rows look as if their lowest energy were 0.
    """
    return -log_sum / beta


@summing_up.instead_of("power")
def beta_forgotten(energies: Tensor, lowest: Tensor, beta: float) -> Tensor:
    """You do not multiply the energies by beta before the exponential.

    beta says how sharply low energies are preferred: it belongs into the exponent.
    """
    return torch.exp(lowest - energies)


@summing_up.instead_of("power")
def divided_in_the_exponent(energies: Tensor, lowest: Tensor, beta: float) -> Tensor:
    """In the exponent you divide by beta: you take it for a temperature.

    beta is an inverse temperature. The exponent is -beta·E.
    """
    return torch.exp((lowest - energies) / beta)


@summing_up.misconception
def beta_never_used(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You do not use beta.

    It stands twice in the formula: in the exponent, and below the logarithm.
    """
    return free_energy(energies)


@summing_up.misconception
def as_the_formula_stands(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You exponentiate the energies as they are, which overflows for large ones.

    exp(1e4) is inf and exp(-1e4) is 0, whose logarithm is -inf. Take the lowest energy out first.
    """
    return -torch.exp(-beta * energies).sum(-1).log() / beta


@summing_up.misconception
def highest_taken_out(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You take out the highest energy; it should be the lowest.

    What counts is the largest exponent -beta·E, and it belongs to the lowest energy. Below it everything can overflow.
    """
    highest = energies.amax(-1, keepdim=True)
    return highest.squeeze(-1) - torch.exp(-beta * (energies - highest)).sum(-1).log() / beta


@summing_up.misconception
def mean_energy(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You return the mean energy under the Boltzmann weights.

    That is one part of it. The free energy is the mean energy minus the entropy divided by beta.
    """
    powers = boltzmann_powers(energies, energies.amin(-1, keepdim=True), beta)
    weights = powers / powers.sum(-1, keepdim=True)
    return (weights * energies).sum(-1)


@summing_up.misconception
def lowest_alone(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You return the lowest energy.

    That is the limit for a large beta. The other states make the free energy lower still.
    """
    return energies.amin(-1)


@summing_up.misconception
def impossible_states_at_zero(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You replace an energy of +inf by 0.

    0 is an ordinary energy. A state that cannot be has the power exp(-inf) = 0, without any help.
    """
    return free_energy(energies.masked_fill(energies.isinf(), 0.0), beta)


@summing_up.misconception
def everything_in_one(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You sum over all rows together.

    Each row is a system of its own: only the last dimension is summed.
    """
    return free_energy(energies.flatten(), beta)


# variational_objective ------------------------------------------------------------------------------------------------

maximised = Exercise(
    variational_objective,
    section="What a softmax maximises",
    minutes=5,
    difficulty=1,
    why="It is the question to which the softmax is the best answer.",
    hints=[
        "Two parts: what p collects on average, and how widely it is spread.",
        "Where p is 0 the term is 0, but a computer has NaN for 0·(-inf), and for 0·log 0 too. What may stand in for "
        "the score there?",
        "`torch.xlogy` and `torch.special.entr` know that 0·log 0 = 0.",
    ],
    equivalents={
        "collected = p * scores.masked_fill(p == 0, 0.0)  ->  collected = p * scores.masked_fill(p == 0, 1.0)": (
            "0 times any finite number is 0, and the gradient in p is not asked for where p is 0"
        )
    },
)


def weights_and_scores(*leading: int, n: int) -> tuple[Tensor, Tensor]:
    p = torch.softmax(normal(*leading, n, seed="p"), -1)
    return p, normal(*leading, n, seed="scores", std=1.5)


def distributions() -> tuple[Any, ...]:
    a, n = distinct(3, 8, 2, seed="sizes")
    return *weights_and_scores(a, n=n), number(0.3, 3.0, seed="beta")


def with_zeros() -> tuple[Tensor, Tensor, float]:
    """A row without a weight of 0, one with, and two with a weight of 0 on a score of -inf."""
    p, scores = weights_and_scores(4, n=6)
    p[1:, 1], p[2, 4] = 0.0, 0.0
    scores[2:, 1] = -math.inf
    return p, scores, number(0.5, 2.0, seed="beta")


@maximised.probe
def some_distributions(variational_objective: Any) -> Seen:
    """several distributions at some beta"""
    return {"objective": variational_objective(*distributions())}


@maximised.probe
def any_leading_dimensions(variational_objective: Any) -> Seen:
    """no leading dimension and beta not given; two leading dimensions; a single state"""
    a, b, n = distinct(2, 7, 3, seed="sizes")
    beta = number(1.5, 4.0, seed="beta")
    p, scores = weights_and_scores(n=n)
    return {
        "of one row": variational_objective(p, 5 + scores),
        "of many": variational_objective(*weights_and_scores(a, b, n=n), beta),
        "of a single state": variational_objective(*weights_and_scores(a, n=1), beta),
    }


@maximised.probe
def weights_of_zero(variational_objective: Any) -> Seen:
    """some weights of 0, some of them on a score of -inf"""
    return {"objective": variational_objective(*with_zeros())}


@maximised.probe
def weight_on_the_impossible(variational_objective: Any) -> Seen:
    """a row with some weight on a score of -inf, beside an ordinary row"""
    p, scores = weights_and_scores(3, n=4)
    scores[1, 2] = -math.inf
    return {"objective": variational_objective(p, scores, number(0.5, 2.0, seed="beta"))}


@maximised.probe
def not_a_distribution(variational_objective: Any) -> Seen:
    """weights that do not sum to 1"""
    a, n = distinct(3, 8, 2, seed="sizes")
    return {"objective": variational_objective(uniform(a, n, seed="p") + 0.1, normal(a, n, seed="scores"), 0.5)}


@maximised.probe
def gradients_at_zeros(variational_objective: Any) -> Seen:
    """the gradient in the scores, and in the weights above 0, where some weights are 0"""
    p, scores, beta = with_zeros()
    inputs = p.requires_grad_(), scores.requires_grad_()
    result = variational_objective(*inputs, beta)
    if not result.requires_grad:
        return {"gradient of scores": torch.zeros_like(scores), "gradient of p above 0": torch.zeros_like(p[p > 0])}
    found = torch.autograd.grad(result, inputs, normal(4, seed="incoming"), allow_unused=True)
    in_p, in_scores = (torch.zeros_like(t) if g is None else g for t, g in zip(inputs, found, strict=True))
    return {"gradient of scores": in_scores, "gradient of p above 0": in_p[p > 0]}


usual(maximised, distributions, alike=with_zeros)


def score_collected(p: Tensor, scores: Tensor) -> Tensor:
    return (p * scores.masked_fill(p == 0, 0.0)).sum(-1)


def entropy_of(p: Tensor) -> Tensor:
    return -torch.xlogy(p, p).sum(-1)


def as_given(p: Tensor, scores: Tensor, beta: float) -> Tensor:
    return p


def added_by_beta(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    return collected + entropy / beta


@maximised.assembled
def objective_in_steps(
    p: Tensor,
    scores: Tensor,
    beta: float = 1.0,
    *,
    weights: Any = as_given,
    collect: Any = score_collected,
    spread: Any = entropy_of,
    join: Any = added_by_beta,
) -> Tensor:
    p = weights(p, scores, beta)
    return join(collect(p, scores), spread(p), beta)


@maximised.instead_of("join")
def entropy_subtracted(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You subtract the entropy; it should be added.

    Then the best distribution would put everything on one score, and no softmax would come out.
    """
    return collected - entropy / beta


@maximised.instead_of("join")
def entropy_times_beta(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You multiply the entropy by beta where you should divide.

    A large beta means that the scores decide: the entropy counts 1/beta.
    """
    return collected + entropy * beta


@maximised.instead_of("join")
def entropy_in_full(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You do not use beta.

    The entropy is divided by it.
    """
    return collected + entropy


@maximised.instead_of("join")
def beta_on_the_scores(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You multiply the scores by beta instead of dividing the entropy by it.

    That has the same maximiser, but another value: yours is beta times as large.
    """
    return beta * collected + entropy


@maximised.instead_of("join")
def entropy_left_out(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You return the mean score alone.

    Without the entropy, all weight on the best score is best.
    """
    return collected


@maximised.instead_of("join")
def sign_of_an_energy(collected: Tensor, entropy: Tensor, beta: float) -> Tensor:
    """You return the negative: a free energy, to be made small.

    Here it is an objective, to be made large.
    """
    return -(collected + entropy / beta)


@maximised.instead_of("spread")
def in_bits(p: Tensor) -> Tensor:
    """Your entropy is in bits.

    Only with natural logarithms, in nats, is the softmax with its exponential what maximises this.
    """
    return entropy_of(p) / math.log(2)


@maximised.instead_of("spread")
def nothing_times_infinity(p: Tensor) -> Tensor:
    """A weight of 0 makes NaN: 0 times log 0 is 0 times -inf for a computer.

    In an entropy 0·log 0 counts 0: what never happens surprises nobody.
    """
    return -(p * p.log()).sum(-1)


@maximised.instead_of("spread")
def a_little_added(p: Tensor) -> Tensor:
    """You add a small number inside the logarithm, which cuts off small weights.

    `torch.xlogy(p, p)` needs no help at 0, and is exact everywhere else.
    """
    return -(p * (p + 1e-2).log()).sum(-1)


@maximised.instead_of("collect")
def impossible_times_nothing(p: Tensor, scores: Tensor) -> Tensor:
    """A weight of 0 on a score of -inf makes NaN.

    What is never chosen costs nothing: 0·(-inf) counts 0 here.
    """
    return (p * scores).sum(-1)


@maximised.instead_of("collect")
def infinity_made_finite(p: Tensor, scores: Tensor) -> Tensor:
    """A score of -inf counts 0 also where its weight is not 0.

    Whoever puts weight on what cannot be gets -inf. Only a weight of exactly 0 is safe.
    """
    return (p * scores.masked_fill(scores.isinf(), 0.0)).sum(-1)


@maximised.instead_of("collect")
def scores_averaged(p: Tensor, scores: Tensor) -> Tensor:
    """You divide the collected score by the number of states.

    p has the weights in it already: Σ p·s is an average.
    """
    return score_collected(p, scores) / p.shape[-1]


@maximised.instead_of("weights")
def made_to_sum_to_one(p: Tensor, scores: Tensor, beta: float) -> Tensor:
    """You divide p by its sum.

    It is used as given. Whoever moves p freely, by gradient ascent for instance, has to see what p itself does.
    """
    return p / p.sum(-1, keepdim=True)


@maximised.instead_of("weights")
def softmax_instead(p: Tensor, scores: Tensor, beta: float) -> Tensor:
    """You use the softmax of the scores, not the p that you were given.

    The softmax is the best p. Here any p is to be judged.
    """
    return torch.softmax(beta * scores, -1)


# kernel_regression ----------------------------------------------------------------------------------------------------

regression = Exercise(
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


@regression.probe
def some_points(kernel_regression: Any) -> Seen:
    """queries and points, every size another one"""
    return {"estimates": kernel_regression(*some_curve())}


@regression.probe
def narrow_and_wide(kernel_regression: Any) -> Seen:
    """a bandwidth of about 0.4, and one of about 4; no leading dimension"""
    query, key, d_v = distinct(3, 9, 3, seed="sizes")
    data = curve(query, key, 2, d_v)
    narrow, wide = number(0.35, 0.45, seed="narrow"), number(3.0, 5.0, seed="wide")
    return {"narrow": kernel_regression(*data, narrow), "wide": kernel_regression(*data, wide)}


@regression.probe
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


@regression.probe
def far_from_every_point(kernel_regression: Any) -> Seen:
    """queries a thousand bandwidths away from every point"""
    x, points, values = curve(4, whole(5, 9, seed="key"), 2, 3)
    far = 50 * x / x.norm(dim=-1, keepdim=True) + x
    return {"estimates": kernel_regression(far, points, values, 0.05)}


@regression.probe
def at_some_distance(kernel_regression: Any) -> Seen:
    """queries that are five or six bandwidths away from every point"""
    x, points, values = curve(4, whole(5, 9, seed="key"), 2, 3)
    away = number(5.3, 5.7, seed="away") * x / x.norm(dim=-1, keepdim=True)
    return {"estimates": kernel_regression(away, 0.1 * points, values, 1.0)}


@regression.probe
def far_from_zero(kernel_regression: Any) -> Seen:
    """data with a mean of 100 and a deviation of 1"""
    _, points, values = curve(1, whole(12, 20, seed="key"), 6, 2, mean=100.0)
    ends = integers(0, len(points), 2, 80, seed="ends")
    between = (points[ends[0]] + points[ends[1]]) / 2  # as near to one as to the other: a lost digit decides
    return {"estimates": kernel_regression(between, points, values, number(0.24, 0.28, seed="bandwidth"))}


usual(regression, some_curve, alike=lambda: (*curve(5, 5, 5, 5), 1.2))


def squared_distances(x: Tensor, points: Tensor) -> Tensor:
    return (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)


def gaussian(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    return -distances / (2 * bandwidth**2)


def sharing_one(exponents: Tensor) -> Tensor:
    return exponents.softmax(-1)


@regression.assembled
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


@regression.instead_of("measure")
def multiplied_out(x: Tensor, points: Tensor) -> Tensor:
    """You multiply the square out, ‖x‖² - 2x·p + ‖p‖², and lose the digits where the data are far from 0.

    With a mean of 100 the three terms are near 10,000 for each dimension and their sum near 1: in float32 few digits
    are left. Subtract first.
    """
    return x.square().sum(-1, keepdim=True) - 2 * x @ points.mT + points.square().sum(-1).unsqueeze(-2)


@regression.instead_of("measure")
def not_squared(x: Tensor, points: Tensor) -> Tensor:
    """You use the distance; it should be squared.

    exp(-distance) is another kernel. This one is a Gaussian.
    """
    return squared_distances(x, points).sqrt()


@regression.instead_of("measure")
def along_the_axes(x: Tensor, points: Tensor) -> Tensor:
    """You add up absolute differences instead of squares.

    The kernel falls with the squared Euclidean distance, the same in every direction.
    """
    return (x.unsqueeze(-2) - points.unsqueeze(-3)).abs().sum(-1)


@regression.instead_of("measure")
def averaged_over_dimensions(x: Tensor, points: Tensor) -> Tensor:
    """You average the squared differences over the dimensions.

    A squared distance is their sum.
    """
    return (x.unsqueeze(-2) - points.unsqueeze(-3)).square().mean(-1)


@regression.instead_of("measure")
def similarity_for_distance(x: Tensor, points: Tensor) -> Tensor:
    """You compare by dot products, as attention does.

    That is the same only where all points have one length; here it is the distance that counts.
    """
    return -2 * x @ points.mT


@regression.instead_of("kernel")
def two_forgotten(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """The 2 below the line is missing.

    The exponent is -distance²/(2·bandwidth²), so that the bandwidth is the standard deviation of the Gaussian.
    """
    return -distances / bandwidth**2


@regression.instead_of("kernel")
def bandwidth_not_squared(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You do not square the bandwidth.

    It is a length, and is compared with a distance: both are squared.
    """
    return -distances / (2 * bandwidth)


@regression.instead_of("kernel")
def bandwidth_multiplied(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You multiply by the squared bandwidth where you should divide.

    A wide kernel hears far points: a large bandwidth makes the exponent small.
    """
    return -distances * bandwidth**2 / 2


@regression.instead_of("kernel")
def bandwidth_ignored(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You do not use the bandwidth.

    It says how far a point is heard: distances are measured in it.
    """
    return -distances / 2


@regression.instead_of("kernel")
def far_points_first(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """The minus in the exponent is missing: the farthest point counts most.

    The weight of a point falls with its distance.
    """
    return distances / (2 * bandwidth**2)


@regression.instead_of("kernel")
def scaled_as_attention(distances: Tensor, bandwidth: float, d: int) -> Tensor:
    """You divide by the root of d as well.

    In attention that is what takes the place of the bandwidth. Here the bandwidth is given.
    """
    return -distances / (2 * bandwidth**2 * math.sqrt(d))


@regression.instead_of("weigh")
def nothing_by_nothing(exponents: Tensor) -> Tensor:
    """Far from every point all your powers are 0, and 0/0 is NaN.

    Only the differences between exponents count. Take the largest out first, as a softmax does.
    """
    powers = exponents.exp()
    return powers / powers.sum(-1, keepdim=True)


@regression.instead_of("weigh")
def a_little_in_the_divisor(exponents: Tensor) -> Tensor:
    """You add a small number to the sum of the powers: far from every point the estimate falls to 0.

    There the nearest point should decide. Take the largest exponent out first; then the sum is never below 1.
    """
    powers = exponents.exp()
    return powers / (powers.sum(-1, keepdim=True) + 1e-8)


@regression.instead_of("weigh")
def weights_without_a_sum(exponents: Tensor) -> Tensor:
    """You do not divide by the sum of the weights.

    Then the estimate grows where points are dense. It is an average: weights sum to 1.
    """
    return exponents.exp()


@regression.instead_of("weigh")
def shared_among_queries(exponents: Tensor) -> Tensor:
    """Your weights sum to 1 over the queries.

    Each query shares 1 among the points: that is the last dimension.
    """
    return exponents.softmax(-2)


@regression.instead_of("weigh")
def nearest_alone(exponents: Tensor) -> Tensor:
    """You take the nearest point's value alone.

    That is the limit of a small bandwidth. Every point has a say, near ones more.
    """
    return F.one_hot(exponents.argmax(-1), exponents.shape[-1]).to(exponents.dtype)


# hopfield_energy ------------------------------------------------------------------------------------------------------

landscape = Exercise(
    hopfield_energy,
    section="A memory with an energy",
    minutes=10,
    difficulty=2,
    why="What a memory goes down in: the valleys are what it remembers.",
    hints=[
        "Four terms. Compute each on its own; the first is a free energy of the energies -x_i·ξ.",
        "All dot products at once: state (..., d) and patterns (n, d) give (..., n).",
        "M² is the largest squared length of a pattern: one number for all states.",
    ],
    equivalents={
        "longest = patterns.square().sum(dim=-1).amax()  ->  longest = patterns.square().sum(dim=1).amax()": (
            "patterns has two dimensions"
        )
    },
)


def states_and_patterns(*leading: int, n: int, d: int) -> tuple[Tensor, Tensor]:
    return normal(*leading, d, seed="state"), normal(n, d, seed="patterns")


def some_memory() -> tuple[Any, ...]:
    a, n, d = distinct(3, 8, 3, seed="sizes")
    return *states_and_patterns(a, n=n, d=d), number(0.4, 2.5, seed="beta")


@landscape.probe
def some_states(hopfield_energy: Any) -> Seen:
    """several states, every size another one"""
    return {"energy": hopfield_energy(*some_memory())}


@landscape.probe
def one_state_or_many(hopfield_energy: Any) -> Seen:
    """a single state, and states in two dimensions"""
    n, d = distinct(3, 8, 2, seed="sizes")
    beta = number(1.5, 3.0, seed="beta")
    return {
        "of one": hopfield_energy(*states_and_patterns(n=n, d=d), beta),
        "of many": hopfield_energy(*states_and_patterns(2, 3, n=n, d=d), beta),
    }


@landscape.probe
def one_pattern(hopfield_energy: Any) -> Seen:
    """a memory of a single pattern, and patterns of a single number"""
    a, n = distinct(3, 8, 2, seed="sizes")
    beta = number(0.3, 0.8, seed="beta")
    return {
        "of one pattern": hopfield_energy(*states_and_patterns(a, n=1, d=n), beta),
        "of width 1": hopfield_energy(*states_and_patterns(a, n=n, d=1), beta),
    }


@landscape.probe
def a_sharp_memory(hopfield_energy: Any) -> Seen:
    """beta = 200, and long patterns"""
    state, patterns = states_and_patterns(4, n=whole(5, 9, seed="n"), d=6)
    return {"energy": hopfield_energy(2 * state, 3 * patterns, 200.0)}


usual(landscape, some_memory, alike=lambda: (*states_and_patterns(5, n=5, d=5), 0.8))


def matching(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    return free_energy(-(state @ patterns.mT), beta)


def half_a_square(state: Tensor) -> Tensor:
    return state.square().sum(-1) / 2


def log_of_the_number(patterns: Tensor, beta: float) -> float:
    return math.log(patterns.shape[0]) / beta


def half_the_longest(patterns: Tensor) -> Any:
    return patterns.square().sum(-1).amax() / 2


@landscape.assembled
def energy_in_steps(
    state: Tensor,
    patterns: Tensor,
    beta: float,
    *,
    match: Any = matching,
    own: Any = half_a_square,
    count: Any = log_of_the_number,
    longest: Any = half_the_longest,
) -> Tensor:
    return match(state, patterns, beta) + own(state) + count(patterns, beta) + longest(patterns)


@landscape.instead_of("match")
def match_added(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """Your first term has the wrong sign: matching a pattern raises the energy.

    The patterns are the valleys. The better a state matches, the lower its energy.
    """
    return -matching(state, patterns, beta)


@landscape.instead_of("match")
def match_not_divided(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You do not divide the logarithm by beta.

    1/beta stands before it, so that for a large beta the best match alone is left.
    """
    return beta * matching(state, patterns, beta)


@landscape.instead_of("match")
def match_without_beta(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You do not multiply the dot products by beta before the exponential.

    beta says how sharply patterns are told apart.
    """
    return -torch.logsumexp(state @ patterns.mT, -1) / beta


@landscape.instead_of("match")
def overflowing(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You exponentiate beta·x·ξ as it is, which overflows for a large beta.

    Take the largest exponent out first, as in `free_energy`.
    """
    return -torch.exp(beta * (state @ patterns.mT)).sum(-1).log() / beta


@landscape.instead_of("match")
def scaled_by_the_width(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You divide the dot products by the root of d.

    In attention 1/√d is what takes the place of beta. Here beta is given.
    """
    return matching(state, patterns / math.sqrt(state.shape[-1]), beta)


@landscape.instead_of("own")
def half_forgotten(state: Tensor) -> Tensor:
    """You add ξ·ξ in full; it should be half of it.

    The gradient of ½ ξ·ξ is ξ: that makes one step of retrieval a step down this energy.
    """
    return state.square().sum(-1)


@landscape.instead_of("own")
def own_length_left_out(state: Tensor) -> Any:
    """The term ½ ξ·ξ is missing.

    Without it the energy has no bottom: a state could grow along a pattern for ever.
    """
    return 0.0


@landscape.instead_of("own")
def own_length_not_squared(state: Tensor) -> Tensor:
    """You add half the length of the state; it should be half its square.

    ξ·ξ is the squared length.
    """
    return state.norm(dim=-1) / 2


@landscape.instead_of("count")
def number_left_out(patterns: Tensor, beta: float) -> float:
    """The term (1/beta)·log n is missing.

    It is a constant, but it makes the energy 0 or more, whatever the number of patterns.
    """
    return 0.0


@landscape.instead_of("count")
def number_not_divided(patterns: Tensor, beta: float) -> float:
    """You do not divide log n by beta.

    It undoes what n equal terms add to the logarithm before, and that is divided by beta as well.
    """
    return math.log(patterns.shape[0])


@landscape.instead_of("count")
def width_for_number(patterns: Tensor, beta: float) -> float:
    """You take the logarithm of the width of a pattern, not of the number of patterns.

    n counts the rows of `patterns`.
    """
    return math.log(patterns.shape[1]) / beta


@landscape.instead_of("longest")
def longest_left_out(patterns: Tensor) -> Any:
    """The term ½ M² is missing.

    It is a constant, but it makes the energy 0 or more.
    """
    return 0.0


@landscape.instead_of("longest")
def longest_not_squared(patterns: Tensor) -> Tensor:
    """You add half the largest length; it should be half its square.

    M is a length, and ½ M² has its square.
    """
    return patterns.norm(dim=-1).amax() / 2


@landscape.instead_of("longest")
def average_for_longest(patterns: Tensor) -> Tensor:
    """You take the average of the patterns' squared lengths; it should be the largest.

    Only the largest keeps the energy from falling below 0.
    """
    return patterns.square().sum(-1).mean() / 2


@landscape.instead_of("longest")
def largest_entry(patterns: Tensor) -> Tensor:
    """You take the largest entry of all patterns, not the largest length of a pattern.

    The length of a pattern sums over its d entries.
    """
    return patterns.square().amax() / 2


# hopfield_retrieve ----------------------------------------------------------------------------------------------------

retrieving = Exercise(
    hopfield_retrieve,
    section="One step is attention",
    minutes=5,
    difficulty=1,
    why="It shows in two lines that attention is a memory that completes what it is shown.",
    hints=[
        "States (..., d) and patterns (n, d): which shape have their scores? Over which dimension do weights sum to 1?",
        "The patterns are keys and values at once: what is matched is what is returned.",
        "Each step starts from what the step before gave.",
    ],
)


def some_retrieval(steps: int = 3) -> tuple[Any, ...]:
    a, n, d = distinct(3, 8, 3, seed="sizes")
    return *states_and_patterns(a, n=n, d=d), number(0.3, 0.8, seed="beta"), steps


@retrieving.probe
def one_step(hopfield_retrieve: Any) -> Seen:
    """one step, steps not given"""
    return {"state": hopfield_retrieve(*some_retrieval()[:3])}


@retrieving.probe
def several_steps(hopfield_retrieve: Any) -> Seen:
    """two to five steps"""
    return {"state": hopfield_retrieve(*some_retrieval(whole(2, 6, seed="steps")))}


@retrieving.probe
def no_step(hopfield_retrieve: Any) -> Seen:
    """no step at all"""
    return {"state": hopfield_retrieve(*some_retrieval(0))}


@retrieving.probe
def a_state_or_many(hopfield_retrieve: Any) -> Seen:
    """a single state, and states in two dimensions"""
    n, d = distinct(3, 8, 2, seed="sizes")
    beta = number(1.2, 2.0, seed="beta")
    return {
        "of one": hopfield_retrieve(*states_and_patterns(n=n, d=d), beta, 2),
        "of many": hopfield_retrieve(*states_and_patterns(2, 3, n=n, d=d), beta),
    }


@retrieving.probe
def a_single_pattern(hopfield_retrieve: Any) -> Seen:
    """a memory of one pattern, and patterns of a single number"""
    a, n = distinct(3, 8, 2, seed="sizes")
    return {
        "of one pattern": hopfield_retrieve(*states_and_patterns(a, n=1, d=n), 0.7),
        "of width 1": hopfield_retrieve(*states_and_patterns(a, n=n, d=1), 0.7, 2),
    }


@retrieving.probe
def one_leads_to_the_next(hopfield_retrieve: Any) -> Seen:
    """a state that matches one pattern best, which itself matches another one better"""
    first = 1.5 * F.normalize(normal(6, seed="first"), dim=0)
    aside = normal(6, seed="aside")
    aside = 1.5 * F.normalize(aside - (aside @ first) / (first @ first) * first, dim=0)
    patterns = torch.stack([first, 2 * first + aside, *normal(3, 6, seed="others", std=0.1)])
    return {f"after {steps}": hopfield_retrieve(first - 2 * aside, patterns, 1.0, steps) for steps in (1, 2)}


@retrieving.probe
def a_sharp_beta(hopfield_retrieve: Any) -> Seen:
    """beta = 200"""
    return {"state": hopfield_retrieve(*states_and_patterns(4, n=whole(5, 9, seed="n"), d=6), 200.0)}


usual(retrieving, some_retrieval, alike=lambda: (*states_and_patterns(5, n=5, d=5), 0.8, 2))


def by_beta(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    return beta * (state @ patterns.mT)


def over_patterns(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def replaced(state: Tensor, found: Tensor) -> Tensor:
    return found


def as_often(steps: int) -> int:
    return steps


@retrieving.assembled
def retrieval_in_steps(
    state: Tensor,
    patterns: Tensor,
    beta: float,
    steps: int = 1,
    *,
    compare: Any = by_beta,
    weigh: Any = over_patterns,
    update: Any = replaced,
    often: Any = as_often,
) -> Tensor:
    for _ in range(often(steps)):
        state = update(state, weigh(compare(state, patterns, beta)) @ patterns)
    return state


@retrieving.instead_of("compare")
def beta_divides(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You divide by beta: you take it for a temperature.

    beta is an inverse temperature. A larger one tells patterns apart more sharply.
    """
    return state @ patterns.mT / beta


@retrieving.instead_of("compare")
def beta_unused(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You do not use beta.

    The scores are multiplied by it before the softmax.
    """
    return state @ patterns.mT


@retrieving.instead_of("compare")
def scaled_by_the_root(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You divide the scores by the root of d as well.

    In attention 1/√d is what takes the place of beta. Here beta is given, and nothing else scales.
    """
    return by_beta(state, patterns, beta) / math.sqrt(state.shape[-1])


@retrieving.instead_of("compare")
def away_from_matches(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """The sign is reversed: the pattern that matches worst has the largest weight.

    The energy of a match is negative, the score is positive.
    """
    return -by_beta(state, patterns, beta)


@retrieving.instead_of("compare")
def compared_by_cosine(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You compare by cosines.

    Nothing is normalised here: the scores are dot products, and long patterns match more strongly.
    """
    return beta * (F.normalize(state, dim=-1) @ F.normalize(patterns, dim=-1).mT)


@retrieving.instead_of("compare")
def compared_by_distance(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You compare by distances.

    That is kernel regression. The scores here are dot products.
    """
    return -beta * squared_distances(state.unsqueeze(-2), patterns.expand(*state.shape[:-1], -1, -1)).squeeze(-2) / 2


@retrieving.instead_of("weigh")
def winner_takes_all(scores: Tensor) -> Tensor:
    """You return the best matching pattern alone.

    That is the limit of a large beta. Every pattern has a weight, and the weights can be differentiated.
    """
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


@retrieving.instead_of("weigh")
def over_states(scores: Tensor) -> Tensor:
    """Your softmax runs over the states, not over the patterns.

    Each state shares 1 among the patterns: that is the last dimension.
    """
    return scores.softmax(0)


@retrieving.instead_of("weigh")
def never_a_softmax(scores: Tensor) -> Tensor:
    """You weigh the patterns by the scores themselves; the softmax is missing.

    That is Hopfield's network of 1982, which forgets everything at a few patterns. The exponential is what tells so
    many apart.
    """
    return scores


@retrieving.instead_of("update")
def old_state_added(state: Tensor, found: Tensor) -> Tensor:
    """You add what was found to the state.

    The residual connection belongs to a Transformer's layer. Here the state is replaced.
    """
    return state + found


@retrieving.instead_of("update")
def made_unit_length(state: Tensor, found: Tensor) -> Tensor:
    """You scale the state to length 1 after each step.

    Nothing is normalised here.
    """
    return F.normalize(found, dim=-1)


@retrieving.instead_of("update")
def signs_alone(state: Tensor, found: Tensor) -> Tensor:
    """You keep only the signs of the state.

    That is the classical network. This one has states of real numbers.
    """
    return found.sign()


@retrieving.instead_of("often")
def steps_ignored(steps: int) -> int:
    """You take one step, whatever `steps` says.

    Each step starts from what the one before gave; with 0 the state comes back as it was.
    """
    return 1


@retrieving.instead_of("often")
def one_step_more(steps: int) -> int:
    """You take one step too many.

    `steps` counts them all; with 0 the state comes back as it was.
    """
    return steps + 1


@retrieving.misconception
def always_from_the_start(state: Tensor, patterns: Tensor, beta: float, steps: int = 1) -> Tensor:
    """Each of your steps starts from the given state again, so more steps change nothing.

    A step starts from what the step before gave.
    """
    return hopfield_retrieve(state, patterns, beta, min(steps, 1))


@retrieving.misconception
def last_step_alone(state: Tensor, patterns: Tensor, beta: float, steps: int = 1) -> Tensor:
    """Your values are right, but the gradient flows through the last step only.

    The state is cut from the graph between the steps. It should be differentiable through all of them.
    """
    state = hopfield_retrieve(state, patterns, beta, max(steps - 1, 0)).detach() if steps > 1 else state
    return hopfield_retrieve(state, patterns, beta, min(steps, 1))


# info_nce -------------------------------------------------------------------------------------------------------------

contrast = Exercise(
    info_nce,
    section="Which one belongs to me?",
    minutes=10,
    difficulty=2,
    why="Most vectors that are learned without labels are learned with this loss.",
    hints=[
        "It is a classification among 1 + n keys. Where do you put the right one?",
        "The score is the cosine divided by the temperature: lengths have no say.",
        "For a temperature of 0.001 the scores are as large as 1000. `log(softmax)` overflows or gives -inf; what does "
        "not?",
    ],
    equivalents={
        "cosines = F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1)  ->  "
        "cosines = F.cosine_similarity(keys, query.unsqueeze(-2), dim=-1)": "a cosine is symmetric"
    },
)


def asked(*leading: int, n: int, d: int) -> tuple[Tensor, Tensor, Tensor]:
    """Keys of all lengths, so that a dot product is no cosine."""
    lengths = uniform(*leading, n, 1, seed="lengths", low=0.5, high=3.0)
    return (
        2 * normal(*leading, d, seed="query"),
        normal(*leading, d, seed="positive"),
        lengths * normal(*leading, n, d, seed="negatives"),
    )


def some_contrast() -> tuple[Any, ...]:
    a, n, d = distinct(3, 8, 3, seed="sizes")
    return *asked(a, n=n, d=d), number(0.3, 0.8, seed="temperature")


@contrast.probe
def a_batch_of_queries(info_nce: Any) -> Seen:
    """a batch of queries, every size another one"""
    return {"loss": info_nce(*some_contrast())}


@contrast.probe
def a_query_or_many(info_nce: Any) -> Seen:
    """a single query, and queries in two dimensions"""
    n, d = distinct(3, 8, 2, seed="sizes")
    temperature = number(0.2, 0.4, seed="temperature")
    return {
        "of one": info_nce(*asked(n=n, d=d), temperature),
        "of many": info_nce(*asked(2, 3, n=n, d=d), temperature),
    }


@contrast.probe
def a_single_negative(info_nce: Any) -> Seen:
    """one negative; vectors of a single number"""
    a, d = distinct(3, 8, 2, seed="sizes")
    return {
        "of one negative": info_nce(*asked(a, n=1, d=d), number(0.2, 0.4, seed="temperature")),
        "of width 1": info_nce(*asked(a, n=d, d=1), number(1.5, 3.0, seed="warm")),
    }


@contrast.probe
def a_low_temperature(info_nce: Any) -> Seen:
    """a temperature of 0.001"""
    return {"loss": info_nce(*asked(6, n=whole(5, 9, seed="n"), d=4), 0.001)}


@contrast.property
def nothing_to_confuse_with(info_nce: Any) -> Seen:
    """no negatives at all

    Without negatives the positive has the whole share: the loss is 0.
    """
    return {"loss": info_nce(*asked(3, n=0, d=4), 0.5)}


usual(contrast, some_contrast, alike=lambda: (*asked(n=1, d=5)[:2], normal(1, 5, seed="negative"), 0.5))


def cosine(query: Tensor, keys: Tensor) -> Tensor:
    return F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1)


def divided_by_the_temperature(cosines: Tensor, temperature: float) -> Tensor:
    return cosines / temperature


def share_of_the_first(scores: Tensor) -> Tensor:
    return -scores.log_softmax(-1)[..., 0]


def mean_of_all(losses: Tensor) -> Tensor:
    return losses.mean()


@contrast.assembled
def contrast_in_steps(
    query: Tensor,
    positive: Tensor,
    negatives: Tensor,
    temperature: float,
    *,
    compare: Any = cosine,
    cool: Any = divided_by_the_temperature,
    lose: Any = share_of_the_first,
    reduce: Any = mean_of_all,
) -> Tensor:
    keys = torch.cat([positive.unsqueeze(-2), negatives], dim=-2)
    return reduce(lose(cool(compare(query, keys), temperature)))


@contrast.instead_of("compare")
def by_dot_product(query: Tensor, keys: Tensor) -> Tensor:
    """You compare by dot products; they should be cosines.

    With a dot product a long key is close to everything. Divide by both lengths.
    """
    return (query.unsqueeze(-2) * keys).sum(-1)


@contrast.instead_of("compare")
def keys_not_normalised(query: Tensor, keys: Tensor) -> Tensor:
    """You scale the query to length 1, but not the keys.

    A cosine divides by both lengths.
    """
    return (F.normalize(query, dim=-1).unsqueeze(-2) * keys).sum(-1)


@contrast.instead_of("compare")
def query_not_normalised(query: Tensor, keys: Tensor) -> Tensor:
    """You scale the keys to length 1, but not the query.

    A cosine divides by both lengths. A long query would act as a low temperature.
    """
    return (query.unsqueeze(-2) * F.normalize(keys, dim=-1)).sum(-1)


@contrast.instead_of("compare")
def by_distance(query: Tensor, keys: Tensor) -> Tensor:
    """You compare by distances; they should be cosines.

    The score of a key is its cosine with the query, divided by the temperature.
    """
    return -(query.unsqueeze(-2) - keys).norm(dim=-1)


@contrast.instead_of("cool")
def temperature_multiplied(cosines: Tensor, temperature: float) -> Tensor:
    """You multiply by the temperature where you should divide.

    A low temperature makes scores large and the softmax sharp.
    """
    return cosines * temperature


@contrast.instead_of("cool")
def temperature_unused(cosines: Tensor, temperature: float) -> Tensor:
    """You do not use the temperature.

    Cosines lie between -1 and 1: without a temperature the softmax is nearly flat, and the loss can't become small.
    """
    return cosines


@contrast.instead_of("lose")
def positive_not_among_them(scores: Tensor) -> Tensor:
    """The positive key is not in your denominator.

    Then the loss has no lower bound, and with it goes the meaning of a share. The softmax is over all 1 + n keys.
    """
    return scores[..., 1:].logsumexp(-1) - scores[..., 0]


@contrast.instead_of("lose")
def sign_forgotten(scores: Tensor) -> Tensor:
    """The minus is missing: your loss is negative, and grows as the model gets better.

    A loss is -log of the share.
    """
    return scores.log_softmax(-1)[..., 0]


@contrast.instead_of("lose")
def share_itself(scores: Tensor) -> Tensor:
    """You average 1 minus the share; the logarithm is missing.

    With the logarithm a share near 0 costs much, and its gradient does not vanish.
    """
    return 1 - scores.softmax(-1)[..., 0]


@contrast.instead_of("lose")
def logarithm_of_nothing(scores: Tensor) -> Tensor:
    """You take the softmax first and its logarithm after, so a share that underflows costs infinitely much.

    At a temperature of 0.001 a share is easily exp(-500) = 0. `log_softmax` never makes the share itself.
    """
    return -scores.softmax(-1)[..., 0].log()


@contrast.instead_of("lose")
def last_one_right(scores: Tensor) -> Tensor:
    """Your loss belongs to the wrong key: a negative is taken for the positive one.

    Whichever place you put the positive key at, its share is the one that counts.
    """
    return -scores.log_softmax(-1)[..., -1]


@contrast.instead_of("lose")
def one_by_one(scores: Tensor) -> Tensor:
    """You ask of each key alone whether it belongs to the query, by a sigmoid.

    That is negative sampling. Here the keys compete for one share: a softmax over all of them.
    """
    return -F.logsigmoid(scores[..., 0]) - F.logsigmoid(-scores[..., 1:]).sum(-1)


@contrast.instead_of("reduce")
def losses_summed(losses: Tensor) -> Tensor:
    """You sum over the queries; it should be their mean.

    Otherwise the loss grows with the batch.
    """
    return losses.sum()


@contrast.instead_of("reduce")
def one_loss_for_each(losses: Tensor) -> Tensor:
    """You return one loss for each query.

    One number is asked for: the mean over all leading dimensions.
    """
    return losses


@contrast.misconception
def bound_returned(query: Tensor, positive: Tensor, negatives: Tensor, temperature: float) -> Tensor:
    """You return log(1 + n) minus the loss.

    That is a bound on the shared information, and it is what the loss is used for. Here the loss itself is asked for.
    """
    return math.log(1 + negatives.shape[-2]) - info_nce(query, positive, negatives, temperature)


# info_nce_gradient ----------------------------------------------------------------------------------------------------

pulling = Exercise(
    info_nce_gradient,
    section="Push and pull",
    minutes=5,
    difficulty=2,
    why="It says who is pulled, who is pushed and how hard, and what the temperature has to do with it.",
    hints=[
        "The gradient of -log softmax(z)[k] with respect to z is softmax(z) minus a one-hot. At which place?",
        "Here z = scores / temperature. What does the chain rule add?",
        "The loss is a mean over all rows: each row's gradient is divided by their number, all leading dimensions "
        "taken together.",
    ],
)


def scores_and_places(*leading: int, n: int) -> tuple[Tensor, Tensor]:
    return normal(*leading, n, seed="scores"), integers(0, n, *leading, seed="positive")


def some_rows() -> tuple[Any, ...]:
    a, n = distinct(3, 8, 2, seed="sizes")
    return *scores_and_places(a, n=n), number(0.3, 0.8, seed="temperature")


@pulling.probe
def rows_of_scores(info_nce_gradient: Any) -> Seen:
    """several rows of scores"""
    return {"gradient": info_nce_gradient(*some_rows())}


@pulling.probe
def a_single_row(info_nce_gradient: Any) -> Seen:
    """one row, no leading dimension"""
    n = whole(4, 9, seed="n")
    return {"gradient": info_nce_gradient(*scores_and_places(n=n), number(0.3, 0.8, seed="temperature"))}


@pulling.probe
def rows_in_two_dimensions(info_nce_gradient: Any) -> Seen:
    """rows in two leading dimensions, a temperature above 1"""
    a, b, n = distinct(2, 7, 3, seed="sizes")
    return {"gradient": info_nce_gradient(*scores_and_places(a, b, n=n), number(1.5, 3.0, seed="temperature"))}


@pulling.probe
def as_many_rows_as_scores(info_nce_gradient: Any) -> Seen:
    """as many rows as scores, so that a wrong axis still fits"""
    n = whole(4, 8, seed="n")
    return {"gradient": info_nce_gradient(*scores_and_places(n, n=n), number(0.3, 0.8, seed="temperature"))}


@pulling.property
def one_score_alone(info_nce_gradient: Any) -> Seen:
    """rows of a single score

    Where there is one score, its share is 1 whatever it is: the gradient is 0.
    """
    return {"gradient": info_nce_gradient(*scores_and_places(3, n=1), 0.5)}


usual(pulling, some_rows, without=["gradients"])


def softmax_of(scores: Tensor, temperature: float) -> Tensor:
    return (scores / temperature).softmax(-1)


def right_one(scores: Tensor, positive: Tensor) -> Any:
    return F.one_hot(positive, scores.shape[-1])


def by_temperature(temperature: float) -> float:
    return temperature


def all_rows(scores: Tensor, positive: Tensor) -> int:
    return positive.numel()


@pulling.assembled
def gradient_in_steps(
    scores: Tensor,
    positive: Tensor,
    temperature: float,
    *,
    share: Any = softmax_of,
    wanted: Any = right_one,
    chain: Any = by_temperature,
    rows: Any = all_rows,
) -> Tensor:
    return (share(scores, temperature) - wanted(scores, positive)) / (chain(temperature) * rows(scores, positive))


@pulling.instead_of("share")
def temperature_not_inside(scores: Tensor, temperature: float) -> Tensor:
    """You take the softmax of the scores without dividing them by the temperature.

    The temperature stands twice: inside the softmax, and from the chain rule before it.
    """
    return scores.softmax(-1)


@pulling.instead_of("share")
def multiplied_inside(scores: Tensor, temperature: float) -> Tensor:
    """Inside the softmax you multiply by the temperature; you should divide.

    A low temperature makes the softmax sharp.
    """
    return (scores * temperature).softmax(-1)


@pulling.instead_of("share")
def along_the_rows(scores: Tensor, temperature: float) -> Tensor:
    """Your softmax runs along the first dimension.

    Each row shares 1 among its n scores: that is the last dimension.
    """
    return (scores / temperature).softmax(0)


@pulling.instead_of("share")
def each_by_a_sigmoid(scores: Tensor, temperature: float) -> Tensor:
    """You use a sigmoid of each score.

    The scores of a row compete: their shares sum to 1, and the gradient of a row to 0.
    """
    return torch.sigmoid(scores / temperature)


@pulling.instead_of("wanted")
def nothing_wanted(scores: Tensor, positive: Tensor) -> Any:
    """You do not subtract the one-hot.

    Then every score is pushed down, the right one too. Subtract 1 at the place of the positive.
    """
    return torch.zeros_like(scores)


@pulling.instead_of("wanted")
def first_one_wanted(scores: Tensor, positive: Tensor) -> Any:
    """You take the first score for the positive, whatever `positive` says.

    `positive` gives the place, row by row.
    """
    return F.one_hot(torch.zeros_like(positive), scores.shape[-1])


@pulling.misconception
def sign_turned(scores: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """The sign is reversed: one-hot minus softmax.

    That is the direction in which to step. The gradient points to where the loss grows.
    """
    return -info_nce_gradient(scores, positive, temperature)


@pulling.instead_of("chain")
def chain_rule_forgotten(temperature: float) -> float:
    """You do not divide by the temperature outside of the softmax.

    The scores are divided by it before the softmax, so the chain rule brings the factor 1/temperature.
    """
    return 1.0


@pulling.instead_of("chain")
def chain_rule_reversed(temperature: float) -> float:
    """Outside of the softmax you multiply by the temperature; you should divide.

    The derivative of scores / temperature is 1/temperature.
    """
    return 1 / temperature


@pulling.instead_of("chain")
def chain_rule_twice(temperature: float) -> float:
    """You divide by the temperature twice.

    The chain rule brings the factor 1/temperature once.
    """
    return temperature**2


@pulling.instead_of("rows")
def gradient_of_the_sum(scores: Tensor, positive: Tensor) -> int:
    """You do not divide by the number of rows: this is the gradient of the sum.

    The loss is the mean over all rows.
    """
    return 1


@pulling.instead_of("rows")
def first_dimension_counted(scores: Tensor, positive: Tensor) -> int:
    """You divide by the size of the first dimension.

    That is the number of rows only where there is one leading dimension. Count all of them together.
    """
    return len(scores)


@pulling.instead_of("rows")
def every_score_counted(scores: Tensor, positive: Tensor) -> int:
    """You divide by the number of all scores.

    The mean is over rows; within a row nothing is averaged.
    """
    return scores.numel()


# clip_loss ------------------------------------------------------------------------------------------------------------

ON_ROWS = "logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T  ->  logits = scale * "

pairing = Exercise(
    clip_loss,
    section="Images and texts",
    minutes=10,
    difficulty=2,
    why="With this loss pictures and words came into one space: CLIP.",
    hints=[
        "All cosines at once: scale both to length 1, then one product gives (image, text).",
        "Row i asks which text belongs to image i. What does column i ask?",
        "Two cross-entropies, of the same table in two directions. The right answer is on the diagonal both times.",
    ],
    equivalents={
        f"{ON_ROWS}{other}": "images and texts have two dimensions, of which torch's own choice is the last, too"
        for other in (
            "F.normalize(images) @ F.normalize(texts, dim=-1).T",
            "F.normalize(images, dim=-1) @ F.normalize(texts).T",
            "F.normalize(images, dim=1) @ F.normalize(texts, dim=-1).T",
            "F.normalize(images, dim=-1) @ F.normalize(texts, dim=1).T",
        )
    },
)


def pairs(batch: int, d: int) -> tuple[Tensor, Tensor]:
    """Images and texts of all lengths, so that a dot product is no cosine."""
    lengths = uniform(2, batch, 1, seed="lengths", low=0.5, high=3.0)
    return lengths[0] * normal(batch, d, seed="images"), lengths[1] * normal(batch, d, seed="texts")


def some_pairs() -> tuple[Any, ...]:
    """The scale is a number that every dtype has exactly."""
    return *pairs(*distinct(3, 8, 2, seed="sizes")), torch.tensor(0.25 * whole(2, 9, seed="log scale"))


@pairing.probe
def a_batch_of_pairs(clip_loss: Any) -> Seen:
    """a batch of pairs, the scale a tensor"""
    return {"loss": clip_loss(*some_pairs())}


@pairing.probe
def scale_as_a_number(clip_loss: Any) -> Seen:
    """the scale a Python number, positive and negative"""
    images, texts = pairs(*distinct(4, 9, 2, seed="sizes"))
    up, down = number(0.5, 2.0, seed="up"), number(-2.0, -0.5, seed="down")
    return {"scaled up": clip_loss(images, texts, up), "scaled down": clip_loss(images, texts, down)}


@pairing.probe
def two_pairs(clip_loss: Any) -> Seen:
    """two pairs; vectors of a single number"""
    scale = number(0.5, 1.5, seed="scale")
    return {
        "two pairs": clip_loss(*pairs(2, whole(3, 9, seed="d")), scale),
        "of width 1": clip_loss(*pairs(whole(4, 9, seed="batch"), 1), scale),
    }


@pairing.probe
def a_large_scale(clip_loss: Any) -> Seen:
    """a scale of about 1000"""
    return {"loss": clip_loss(*pairs(whole(5, 9, seed="batch"), 4), number(6.5, 7.5, seed="scale"))}


@pairing.probe
def gradient_of_the_scale(clip_loss: Any) -> Seen:
    """the gradient in the scale"""
    images, texts, scale = some_pairs()
    return {"gradient": weighed_gradient(clip_loss(images, texts, scale.requires_grad_()), scale)}


@pairing.property
def a_single_pair(clip_loss: Any) -> Seen:
    """one pair alone

    With one image and one text there is nothing to confuse: the loss is 0.
    """
    return {"loss": clip_loss(*pairs(1, 5), 1.0)}


usual(pairing, some_pairs)


def exponential_scale(log_scale: Any) -> Any:
    return log_scale.exp() if isinstance(log_scale, Tensor) else math.exp(log_scale)


def unit_rows(x: Tensor) -> Tensor:
    return F.normalize(x, dim=-1)


def images_ask(logits: Tensor) -> Tensor:
    return -logits.log_softmax(1).diagonal().mean()


def texts_ask(logits: Tensor) -> Tensor:
    return -logits.log_softmax(0).diagonal().mean()


def halved(one: Tensor, other: Tensor) -> Tensor:
    return (one + other) / 2


@pairing.assembled
def clip_in_steps(
    images: Tensor,
    texts: Tensor,
    log_scale: Any,
    *,
    scale: Any = exponential_scale,
    unit: Any = unit_rows,
    of_images: Any = images_ask,
    of_texts: Any = texts_ask,
    join: Any = halved,
) -> Tensor:
    logits = scale(log_scale) * unit(images) @ unit(texts).T
    return join(of_images(logits), of_texts(logits))


@pairing.instead_of("scale")
def logarithm_used_as_it_is(log_scale: Any) -> Any:
    """You multiply the cosines by `log_scale` itself.

    It is the logarithm of the scale: learned so, the scale itself can't become negative. Take its exponential.
    """
    return log_scale


@pairing.instead_of("scale")
def logarithm_as_a_temperature(log_scale: Any) -> Any:
    """You divide by the exponential of `log_scale`: you take it for the logarithm of a temperature.

    It is the logarithm of what the cosines are multiplied by.
    """
    return 1 / exponential_scale(log_scale)


@pairing.instead_of("scale")
def scale_unused(log_scale: Any) -> Any:
    """You do not use `log_scale`.

    Cosines lie between -1 and 1: without a scale the softmax is nearly flat, and the loss can't become small.
    """
    return 1.0


@pairing.instead_of("scale")
def scale_detached(log_scale: Any) -> Any:
    """Your value is right, but no gradient reaches the scale.

    `float()`, `.item()` and `math.exp` take the number out of the graph. The scale is learned along with the rest.
    """
    return math.exp(float(log_scale))


@pairing.instead_of("unit")
def lengths_kept(x: Tensor) -> Tensor:
    """You compare by dot products; they should be cosines.

    Scale images and texts to length 1 first. Otherwise a long text fits every image.
    """
    return x


@pairing.instead_of("unit")
def unit_columns(x: Tensor) -> Tensor:
    """You scale columns to length 1; it should be the rows.

    Each row is the vector of one image or text.
    """
    return F.normalize(x, dim=0)


@pairing.misconception
def images_ask_alone(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """Only the images ask: the cross-entropy over the images, for each text, is missing.

    The loss has two halves: each image looks for its text, and each text for its image.
    """
    return clip_in_steps(images, texts, log_scale, join=lambda one, other: one)


@pairing.misconception
def texts_ask_alone(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """Only the texts ask: the cross-entropy over the texts, for each image, is missing.

    The loss has two halves: each image looks for its text, and each text for its image.
    """
    return clip_in_steps(images, texts, log_scale, join=lambda one, other: other)


@pairing.instead_of("join")
def both_added(one: Tensor, other: Tensor) -> Tensor:
    """You add the two cross-entropies; it should be their mean.

    Otherwise the loss is twice as large as that of either direction.
    """
    return one + other


@pairing.misconception
def summed_over_the_batch(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You sum over the batch; it should be the mean.

    Otherwise the loss grows with the batch.
    """
    return clip_loss(images, texts, log_scale) * len(images)


@pairing.misconception
def own_left_out(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """The right partner is not in your denominators.

    The softmax is over all texts (all images), the right one included. Otherwise a single pair gives -inf.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    own = logits.diagonal()
    others = logits.masked_fill(torch.eye(len(images), dtype=torch.bool, device=images.device), -math.inf)
    return (others.logsumexp(0) + others.logsumexp(1) - 2 * own).mean() / 2


@pairing.misconception
def logarithm_of_an_underflow(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You take the softmax first and its logarithm after, so a share that underflows costs infinitely much.

    With a large scale a share is easily 0 in float32. `log_softmax` and `cross_entropy` never make the share itself.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    return -(logits.softmax(0).diagonal().log() + logits.softmax(1).diagonal().log()).mean() / 2


@pairing.misconception
def pair_by_pair(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You ask of each pair alone whether it belongs together, by a sigmoid.

    That is another paper's loss. Here the texts compete for an image, and the images for a text.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    signs = 2 * torch.eye(len(images), dtype=images.dtype, device=images.device) - 1
    return -F.logsigmoid(signs * logits).sum() / len(images)


@pairing.misconception
def first_text_for_all(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You take the first text (the first image) for the right one everywhere.

    Row i belongs to row i: the right answers are 0, 1, 2, …, on the diagonal.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    return -(logits.log_softmax(1)[:, 0].mean() + logits.log_softmax(0)[0].mean()) / 2
