"""Chapter 02: the variance of a score, the softmax's Jacobian, entropy, scaled dot-product attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, number
from proctor.inside.properties import usual, weigh
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.lookup import similarity_scores, softmax
from qkv.model.scaling import attention_entropy, scaled_dot_product_attention, score_variance, softmax_jacobian

Seen = dict[str, Any]


def if_it_runs(look: Callable[[], Seen]) -> Seen:
    """What is seen, or that the code raised.

    Code for another number of dimensions fails by whatever torch or Python has for it. That it fails is what all such
    code has in common, and what a mistake can be recognised by.
    """
    try:
        return {**look(), "raises an error": False}
    except NotImplementedError:  # nothing is written yet
        raise
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
        return {"raises an error": True}


def one_of_each(**sizes: int) -> list[tuple[str, list[int]]]:
    """The same sizes once for each name, with this size being 1, and words for it."""
    return [(f"one {name}", [1 if other == name else size for other, size in sizes.items()]) for name in sizes]


variance_exercise = Exercise(
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


@variance_exercise.probe
def of_unit_components(score_variance: Any) -> Seen:
    """components of deviation 1 and mean 0, three widths"""
    return {f"variance for d = {d}": score_variance(d, 1.0) for d in widths()}


@variance_exercise.probe
def of_wider_components(score_variance: Any) -> Seen:
    """components of a deviation above 1, and mean 0"""
    return {f"variance for d = {d}": score_variance(d, a_deviation()) for d in widths()}


@variance_exercise.probe
def of_narrow_components(score_variance: Any) -> Seen:
    """components of a deviation far below 1, and mean 0"""
    return {f"variance for d = {d}": score_variance(sigma=a_deviation() / 4, d=d) for d in widths()}


@variance_exercise.probe
def of_shifted_components(score_variance: Any) -> Seen:
    """components whose mean is not 0"""
    return {f"variance for d = {d}": score_variance(d, a_deviation(), a_mean()) for d in widths()}


@variance_exercise.probe
def of_a_single_component(score_variance: Any) -> Seen:
    """one component, of mean 0 and of negative mean"""
    return {
        "variance at mean 0": score_variance(1, a_deviation()),
        "variance at a negative mean": score_variance(1, a_deviation(), mean=-2 * a_mean()),
    }


def product_alone(sigma: float) -> float:
    return sigma**4


def cross_terms(sigma: float, mean: float) -> float:
    return 2 * mean**2 * sigma**2


def summed(d: int, of_one_product: float) -> float:
    return d * of_one_product


@variance_exercise.assembled
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


@variance_exercise.instead_of("product")
def sigma_squared_once(sigma: float) -> float:
    """Your variance grows with σ², where it should grow faster.

    σ² is the variance of one component. A score multiplies two of them, one of the query and one of the key, and each
    brings its own factor.
    """
    return sigma**2


@variance_exercise.instead_of("cross")
def mean_forgotten(sigma: float, mean: float) -> float:
    """You leave the mean out.

    A mean different from 0 makes the products scatter more: the query's mean multiplies the key's scatter, and the
    other way round.
    """
    return 0.0


@variance_exercise.instead_of("cross")
def cross_term_once(sigma: float, mean: float) -> float:
    """You count the mixed term μ²σ² once.

    It arises twice: the query's mean with the key's scatter, and the key's mean with the query's scatter.
    """
    return mean**2 * sigma**2


@variance_exercise.instead_of("cross")
def mean_not_squared(sigma: float, mean: float) -> float:
    """You use the mean where its square belongs.

    A variance is made of squares. It must not change when the mean changes its sign, and the mean counts in units of
    the components.
    """
    return 2 * mean * sigma**2


@variance_exercise.instead_of("cross")
def raw_moment_of_one_product(sigma: float, mean: float) -> float:
    """You add up the average squares of the products, not their variances.

    A variance is measured from the mean. The average product is μ², and its square has to be taken off again.
    """
    return 2 * mean**2 * sigma**2 + mean**4


@variance_exercise.instead_of("cross")
def mean_alone(sigma: float, mean: float) -> float:
    """Your term with the mean does not contain σ.

    A mean by itself scatters nothing. It counts because it multiplies the scatter of the other factor, so μ² and σ²
    come together.
    """
    return mean**4


@variance_exercise.instead_of("total")
def width_squared(d: int, of_one_product: float) -> float:
    """You multiply by d².

    That would be right if all d products were the same number. They are independent: their variances add, their
    deviations do not.
    """
    return d**2 * of_one_product


@variance_exercise.instead_of("total")
def standard_deviation(d: int, of_one_product: float) -> float:
    """You return the standard deviation: a square root too many.

    The square root of this variance is what the scores will be divided by, later. Here the variance is asked for.
    """
    return math.sqrt(d * of_one_product)


@variance_exercise.instead_of("total")
def root_of_the_width(d: int, of_one_product: float) -> float:
    """Your variance grows with the square root of d.

    The standard deviation does that. The variance of a sum of d independent numbers is the sum of their d variances.
    """
    return math.sqrt(d) * of_one_product


@variance_exercise.instead_of("total")
def of_one_component(d: int, of_one_product: float) -> float:
    """You leave d out: this is the variance of one product.

    A score adds d such products, and each adds its variance.
    """
    return of_one_product


@variance_exercise.misconception
def query_equals_key(d: int, sigma: float, mean: float = 0.0) -> float:
    """You give the variance of q·q, a vector with itself.

    That is twice as large (for normal components), since a square scatters more than a product of two independent
    numbers. Query and key are two different draws.
    """
    return 2 * score_variance(d, sigma, mean)


@variance_exercise.misconception
def variance_of_a_sum(d: int, sigma: float, mean: float = 0.0) -> float:
    """You add the variances of query and key, as if their components were added.

    For q + k that would be right. In a score they are multiplied, and the variance of a product is another one.
    """
    return 2 * d * sigma**2


@variance_exercise.misconception
def mean_counted_for_one_component(d: int, sigma: float, mean: float = 0.0) -> float:
    """You multiply the first term by d, but not the one with the mean.

    Every one of the d products has the same variance, mean and all. What holds for one has to be counted d times as a
    whole.
    """
    return d * sigma**4 + 2 * mean**2 * sigma**2


@variance_exercise.misconception
def deviation_taken_for_variance(d: int, sigma: float, mean: float = 0.0) -> float:
    """You take sigma for the variance of a component; it is the standard deviation.

    Then every power of sigma comes out half as high as it should. The variance of a component is σ².
    """
    return d * (sigma**2 + 2 * mean**2 * sigma)


@variance_exercise.misconception
def average_of_the_square(d: int, sigma: float, mean: float = 0.0) -> float:
    """You give the average of the squared score, not its variance.

    With a mean, scores scatter around d·μ² and not around 0. A shift that all scores share is no scatter, and the
    softmax does not see it.
    """
    return score_variance(d, sigma, mean) + (d * mean**2) ** 2


jacobian_exercise = Exercise(
    softmax_jacobian,
    section="What the softmax passes back",
    minutes=15,
    difficulty=2,
    why="Where a weight is near 0 or 1 its row of this matrix vanishes, and learning stops there.",
    hints=[
        "Do it on paper for two scores: p₁ = exp(s₁) / (exp(s₁) + exp(s₂)). Differentiate p₁ by s₁ and by s₂, and "
        "write both results with p₁ and p₂ alone.",
        "There are two cases: i = j, and i ≠ j. Each is a product of two weights, up to a sign.",
        "Both cases at once: p_i (δ_ij - p_j), with δ_ij = 1 if i = j and 0 otherwise. Which of the two parts lies on "
        "the diagonal alone?",
        "`torch.diag_embed` puts the last dimension on a diagonal, for any batch. The other part is a column times a "
        "row: where does p need a new dimension to become each?",
    ],
)


def rows_of_weights() -> tuple[Tensor]:
    return (torch.softmax(normal(2, 3, 5, seed="scores"), dim=-1),)


@jacobian_exercise.probe
def of_several_rows(softmax_jacobian: Any) -> Seen:
    """three rows of five weights"""
    return {"jacobian": softmax_jacobian(torch.softmax(normal(3, 5, seed="rows"), dim=-1))}


@jacobian_exercise.probe
def of_decided_rows(softmax_jacobian: Any) -> Seen:
    """two rows that are all but decided, beside one with exact zeros"""
    p = torch.softmax(torch.tensor([[9.0], [9.0], [1.0]]) * normal(3, 6, seed="decided"), dim=-1)
    p[2] = torch.tensor([0.0, 0.5, 0.0, 0.0, 0.25, 0.25])
    return {"jacobian": softmax_jacobian(p)}


@jacobian_exercise.probe
def of_a_single_row(softmax_jacobian: Any) -> Seen:
    """a single row of four weights, without a batch dimension"""
    return if_it_runs(lambda: {"jacobian": softmax_jacobian(torch.softmax(normal(4, seed="row"), dim=-1))})


@jacobian_exercise.probe
def inside_two_batch_dimensions(softmax_jacobian: Any) -> Seen:
    """two batch dimensions of rows"""
    return if_it_runs(lambda: {"jacobian": softmax_jacobian(torch.softmax(normal(2, 3, 5, seed="scores"), dim=-1))})


@jacobian_exercise.probe
def with_dimensions_of_one(softmax_jacobian: Any) -> Seen:
    """a batch of one, one row in each, rows of one weight, each in turn"""
    return if_it_runs(
        lambda: {
            f"jacobian with {words}": softmax_jacobian(torch.softmax(normal(*shape, seed="ones"), dim=-1))
            for words, shape in one_of_each(batch=2, row=3, weight=5)
        }
    )


usual(jacobian_exercise, rows_of_weights, without=["gradients"])  # those are looked at through the softmax, below


@jacobian_exercise.property
def gradient_through_the_softmax(softmax_jacobian: Any) -> Seen:
    """the gradient of the Jacobian, back to the scores

    The Jacobian is right, but no gradient, or a wrong one, flows through it. Something cuts the graph: `.detach()`,
    `.data`, `.item()`, a new tensor.
    """
    scores = normal(2, 3, 5, seed="scores", dtype=torch.float64).requires_grad_()
    total = weigh(softmax_jacobian(torch.softmax(scores, dim=-1)))
    return {"gradient of the scores": torch.autograd.grad(total, scores)[0]}


@jacobian_exercise.misconception
def sign_turned(p: Tensor) -> Tensor:
    """All your signs are turned.

    A higher score raises its own weight, so the diagonal is positive; it takes from the others, so the rest is
    negative.
    """
    return -softmax_jacobian(p)


@jacobian_exercise.misconception
def softmax_once_more(p: Tensor) -> Tensor:
    """You apply a softmax to p, which is a softmax's output already.

    The second softmax flattens the weights. The Jacobian can be written with the weights alone; the scores are not
    needed.
    """
    return softmax_jacobian(softmax(p, -1))


@jacobian_exercise.misconception
def diagonal_alone(p: Tensor) -> Tensor:
    """Your weights move with their own score only: off the diagonal you have zeros.

    All weights share one sum. When one score rises, every other weight falls; that is what the entries off the diagonal
    say.
    """
    return torch.diag_embed(p * (1 - p))


@jacobian_exercise.misconception
def a_row_instead_of_a_matrix(p: Tensor) -> Tensor:
    """You return p·(1 - p), one number for each weight.

    That is the derivative of a sigmoid, where every weight has a score of its own. In a softmax each of n weights
    depends on all n scores: n × n numbers.
    """
    return p * (1 - p)


@jacobian_exercise.misconception
def outer_product_alone(p: Tensor) -> Tensor:
    """The diagonal lacks a term: you have only the part that all pairs of i and j share.

    A score acts twice on its own weight: through the sum in the denominator, and directly through its own power in the
    numerator.
    """
    return -p.unsqueeze(-1) * p.unsqueeze(-2)


@jacobian_exercise.misconception
def others_pushed_up(p: Tensor) -> Tensor:
    """The entries off the diagonal have the wrong sign.

    The weights sum to 1 whatever the scores are. So what one weight gains the others lose, and each column of the
    Jacobian sums to 0.
    """
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2) * (
        2 * torch.eye(p.shape[-1], device=p.device) - 1
    ).to(p)


@jacobian_exercise.misconception
def every_entry_like_the_diagonal(p: Tensor) -> Tensor:
    """You use the formula of the diagonal for every entry: p_i (1 - p_j).

    That says that every weight grows when any score does. But the weights sum to 1: what a score does to another weight
    has a sign of its own.
    """
    return p.unsqueeze(-1) * (1 - p.unsqueeze(-2))


@jacobian_exercise.misconception
def ones_on_the_diagonal(p: Tensor) -> Tensor:
    """You put ones on the diagonal where the weights belong.

    With a one there, a key of weight 0 would still answer to its score at full strength. The power of a hopeless key is
    small, and so is its slope.
    """
    return torch.eye(p.shape[-1], dtype=p.dtype, device=p.device) - p.unsqueeze(-1) * p.unsqueeze(-2)


@jacobian_exercise.misconception
def of_the_logarithm(p: Tensor) -> Tensor:
    """You differentiate the logarithm of the weights: a factor p_i is missing in each row.

    δ_ij - p_j is how log p_i moves. It belongs to the log-softmax, which does not saturate; the difference between the
    two is what this section is about.
    """
    return torch.eye(p.shape[-1], dtype=p.dtype, device=p.device) - p.unsqueeze(-2)


@jacobian_exercise.misconception
def for_a_table_of_rows(p: Tensor) -> Tensor:
    """Your formula works for a table of rows; a single row, or more dimensions, make it fail.

    `bmm` and dimensions counted from the front fix their number. The rows of p are its last dimension; what stands
    before it can be anything, and nothing.
    """
    return torch.diag_embed(p) - torch.bmm(p.unsqueeze(2), p.unsqueeze(1))


@jacobian_exercise.misconception
def sizes_of_one_dropped(p: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one, and a row of one weight, are sizes like any other.
    """
    return softmax_jacobian(p).squeeze()


@jacobian_exercise.misconception
def dot_product_of_the_weights(p: Tensor) -> Tensor:
    """You subtract the same number from a whole row: the sum of the squared weights.

    p times p, added up, is one number for each row. Here every pair of i and j has its own product p_i·p_j: a column
    times a row.
    """
    return torch.diag_embed(p) - (p * p).sum(dim=-1)[..., None, None]


@jacobian_exercise.misconception
def one_row_at_a_time(p: Tensor) -> Tensor:
    """Your formula works for a single row; rows in a batch make it fail.

    `torch.diag` and `torch.outer` know vectors only. The rows of p are its last dimension; what stands before it can be
    anything.
    """
    return torch.diag(p) - torch.outer(p, p)


entropy_exercise = Exercise(
    attention_entropy,
    section="How many keys does a row listen to?",
    minutes=10,
    difficulty=2,
    why="One number that tells whether a head looks at one word or at all of them.",
    hints=[
        "Entropy is an average, weighted by the weights themselves. What is averaged?",
        "Check two rows on paper: [1, 0] should give 0, and [½, ½] should give log 2 ≈ 0.693. Does the sign of yours "
        "fit?",
        "log 0 is -inf, and 0 · -inf is NaN. Decide with `torch.where` what a zero contributes, or look in torch for a "
        "product with a logarithm that knows it.",
    ],
)


def weights_with_zeros() -> tuple[Tensor]:
    scores = normal(2, 3, 5, seed="masked")
    scores[0, 0, 1], scores[0, 1, 0], scores[0, 1, 4], scores[1, 2, 1:] = 4 * [-math.inf]
    return (torch.softmax(scores, dim=-1),)


@entropy_exercise.probe
def of_rows_of_weights(attention_entropy: Any) -> Seen:
    """three rows of five weights, in a batch of two"""
    return {"entropy": attention_entropy(torch.softmax(normal(2, 3, 5, seed="scores"), dim=-1))}


@entropy_exercise.probe
def of_hidden_keys(attention_entropy: Any) -> Seen:
    """rows that contain weights of exactly 0"""
    return {"entropy": attention_entropy(*weights_with_zeros())}


@entropy_exercise.probe
def of_keys_alike(attention_entropy: Any) -> Seen:
    """queries that give all keys the same weight, for several numbers of keys"""
    return {
        f"entropy of {n} keys": attention_entropy(torch.full((2, 3, n), 1 / n)) for n in distinct(2, 60, 3, seed="n")
    }


@entropy_exercise.probe
def of_a_batch_of_one(attention_entropy: Any) -> Seen:
    """a batch of one, and a single query in each"""
    return {
        f"entropy with {words}": attention_entropy(torch.softmax(normal(*shape, 5, seed="ones"), dim=-1))
        for words, shape in one_of_each(sequence=2, query=3)
    }


@entropy_exercise.probe
def of_one_row(attention_entropy: Any) -> Seen:
    """a single row of four weights, without any other dimension"""
    return if_it_runs(lambda: {"entropy": attention_entropy(torch.softmax(normal(4, seed="row"), dim=-1))})


@entropy_exercise.probe
def without_a_batch(attention_entropy: Any) -> Seen:
    """four rows of six weights, without a batch dimension"""
    return if_it_runs(lambda: {"entropy": attention_entropy(torch.softmax(normal(4, 6, seed="rows"), dim=-1))})


@entropy_exercise.probe
def inside_three_dimensions(attention_entropy: Any) -> Seen:
    """weights of a batch of two, three heads, four queries, five keys"""
    heads = torch.softmax(normal(2, 3, 4, 5, seed="heads", std=2.0), dim=-1)
    return if_it_runs(lambda: {"entropy": attention_entropy(heads)})


# gradients are looked at where no weight is 0, below: there the slope of w·log w is infinite
usual(entropy_exercise, weights_with_zeros, without=["gradients"])


@entropy_exercise.property
def of_a_single_key(attention_entropy: Any) -> Seen:
    """rows with a single key, which has all the weight

    A row with a single key has nothing to decide: its entropy is 0.
    """
    return {"entropy": attention_entropy(torch.ones(2, 3, 1))}


def rows_almost_sure(largest: int, parts: int, dtype: torch.dtype) -> Tensor:
    """Rows that give all but a few parts to one key. Whole parts are exact in the dtype, and sum to exactly 1."""
    small = integers(1, largest, 4, 5, seed=f"small {parts}").to(dtype) / parts
    return torch.cat([1 - small.sum(-1, keepdim=True), small], dim=-1)


@entropy_exercise.property
def of_rows_almost_sure(attention_entropy: Any) -> Seen:
    """rows that give nearly all the weight to one key, so that the entropy is small, in float64 and in float16

    Where rows are almost sure of one key your entropy is off, although it is right elsewhere. A small number that is
    added to every weight, or that no weight may fall below, is not small there: treat the zeros by themselves.
    """
    return {
        "entropy": attention_entropy(rows_almost_sure(9, 2**14, torch.float64)),
        "entropy in float16": attention_entropy(rows_almost_sure(4, 2**10, torch.float16)),
    }


@entropy_exercise.property
def gradient_to_the_scores(attention_entropy: Any) -> Seen:
    """the gradient of the entropy, back to the scores

    The entropy is right, but no gradient, or a wrong one, flows through it. Something cuts the graph: `.detach()`,
    `.data`, `.item()`, a new tensor.
    """
    scores = normal(2, 3, 5, seed="scores", dtype=torch.float64).requires_grad_()
    total = weigh(attention_entropy(torch.softmax(scores, dim=-1)))
    return {"gradient of the scores": torch.autograd.grad(total, scores)[0]}


@entropy_exercise.misconception
def nan_at_zero(weights: Tensor) -> Tensor:
    """A weight of exactly 0 gives you NaN.

    log 0 is -inf, and 0 times -inf is not a number. As a weight shrinks, w·log w goes to 0, so a hidden key should
    count 0. Masks make such weights all the time.
    """
    return -(weights * weights.log()).sum(dim=-1)


@entropy_exercise.misconception
def nothing_left_in_float16(weights: Tensor) -> Tensor:
    """The small number that keeps your logarithm away from 0 is itself 0 in float16, and the entropy becomes NaN.

    The smallest positive number of float16 is 6e-8; 1e-9 or 1e-12 are rounded to 0 there, so a weight of 0 gives
    0 · log 0 again. Treat the zeros by themselves, and no such number is needed.
    """
    return -(weights * (weights + 1e-12).log()).sum(dim=-1)


@entropy_exercise.misconception
def over_dimension_one(weights: Tensor) -> Tensor:
    """You sum over dimension 1, which are the keys only in a table (query, key).

    With a batch in front, it is something else. Counted from the back, the keys are always the last dimension.
    """
    return -torch.xlogy(weights, weights).sum(dim=1)


@entropy_exercise.misconception
def over_dimension_two(weights: Tensor) -> Tensor:
    """You sum over dimension 2, which are the keys only in a tensor (batch, query, key).

    `...` stands for any number of dimensions, and for none. Counted from the back, the keys are always the last.
    """
    return -torch.xlogy(weights, weights).sum(dim=2)


@entropy_exercise.misconception
def entropy_squeezed(weights: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one, and a single query, are sizes like any other.
    """
    return attention_entropy(weights).squeeze()


@entropy_exercise.misconception
def last_dimension_kept(weights: Tensor) -> Tensor:
    """Your result keeps a last dimension of size 1.

    There is one number for each row, so the dimension that was summed over goes: (..., n) becomes (...).
    """
    return attention_entropy(weights).unsqueeze(-1)


@entropy_exercise.misconception
def as_a_number_of_keys(weights: Tensor) -> Tensor:
    """You return the exponential of the entropy: how many keys it amounts to.

    That number, the perplexity, is what the chapter makes of the entropy. Here the entropy itself is asked for.
    """
    return attention_entropy(weights).exp()


@entropy_exercise.misconception
def in_bits(weights: Tensor) -> Tensor:
    """You measure in bits: your logarithm has base 2.

    Here the unit is the nat, the natural logarithm. Then n keys alike give log n, and it can be compared with the
    cross-entropy losses of torch.
    """
    return attention_entropy(weights) / math.log(2)


@entropy_exercise.misconception
def share_of_the_largest_possible(weights: Tensor) -> Tensor:
    """You divide by log n.

    That gives a share between 0 and 1, which is useful for comparing rows of different lengths. Here the entropy itself
    is asked for; the chapter divides afterwards.
    """
    return attention_entropy(weights) / math.log(weights.shape[-1])


@entropy_exercise.misconception
def negative(weights: Tensor) -> Tensor:
    """Your entropy is negative.

    The logarithm of a number below 1 is negative, so the plain sum is too. Entropy is counted upwards from 0, the row
    that is sure.
    """
    return -attention_entropy(weights)


@entropy_exercise.misconception
def averaged_over_the_keys(weights: Tensor) -> Tensor:
    """You take the plain mean over the keys: your result is n times too small.

    The weights in front of the logarithm already average. What remains is a sum.
    """
    return attention_entropy(weights) / weights.shape[-1]


@entropy_exercise.misconception
def one_number_for_all_rows(weights: Tensor) -> Tensor:
    """You sum over all rows and return one number.

    Every query has a row of its own, and one may be sure where another is not. The result has the shape of weights
    without its last dimension.
    """
    return attention_entropy(weights).sum()


@entropy_exercise.misconception
def mean_over_all_rows(weights: Tensor) -> Tensor:
    """You average over all rows and return one number.

    Every query has a row of its own, and one may be sure where another is not. The result has the shape of weights
    without its last dimension.
    """
    return attention_entropy(weights).mean()


@entropy_exercise.misconception
def logarithm_without_weights(weights: Tensor) -> Tensor:
    """You sum the logarithms without the weights in front.

    Each -log w is a surprise, and it counts as often as it happens: with weight w. Without that factor a nearly hidden
    key dominates the sum.
    """
    return -weights.log().sum(dim=-1)


@entropy_exercise.misconception
def weights_taken_for_scores(weights: Tensor) -> Tensor:
    """You apply a softmax to the weights first.

    They are weights already; a second softmax flattens them, and every row looks undecided.
    """
    return attention_entropy(softmax(weights, -1))


@entropy_exercise.misconception
def over_the_queries(weights: Tensor) -> Tensor:
    """You sum over the queries instead of the keys.

    The weights of one query, along the last dimension, sum to 1 and are one decision. A column belongs to many
    decisions.
    """
    return -torch.xlogy(weights, weights).sum(dim=-2)


attention_exercise = Exercise(
    scaled_dot_product_attention,
    section="Scaled dot-product attention",
    minutes=15,
    difficulty=2,
    why="The formula of the paper: BERT, GPT-2 and Llama compute it in every layer.",
    hints=[
        "Write each tensor's shape beside it. Which product gives (query, key), and what is to be done with it before "
        "the softmax?",
        "By which number do you have to divide a score whose variance is d_k to get variance 1? Which size of which "
        "tensor is d_k?",
        "What should one query's weights over the keys it may see add up to? Then the hidden keys have to be out "
        "before the softmax shares the weight out.",
        "Which score becomes a weight of exactly 0 after the softmax? `scores.masked_fill(where, value)` writes it; "
        "mind which of True and False is to be filled.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def named(results: Any) -> Seen:
    """Output and weights by name; the weights are missing where only a tensor, or nothing, came back."""
    if results is None or isinstance(results, Tensor):
        return {"output": results}
    output, weights = results
    return {"weights": weights, "output": output}


def drawn(query: int, key: int, d_k: int, d_v: int, *leading: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    shapes = {"q": (query, d_k), "k": (key, d_k), "v": (key, d_v)}
    return [normal(*leading, *shape, seed=name, dtype=dtype) for name, shape in shapes.items()]


def stripes(query: int, key: int, batch: int = 1) -> Tensor:
    """A mask (batch, query, key) that hides something from every query, and shows every key to some: no row is all one
    value, however it is read."""
    b, i, j = torch.arange(batch)[:, None, None], torch.arange(query)[:, None], torch.arange(key)
    return (b + i + 2 * j) % 3 != 0


def queries_keys_values_mask() -> tuple[Tensor, ...]:
    return (*drawn(4, 6, 7, 5, 2), stripes(4, 6, batch=2))


@attention_exercise.probe
def three_queries_over_five_keys(attend: Any) -> Seen:
    """three queries over five keys, d_k = 7, d_v = 4, no mask"""
    return named(attend(*drawn(3, 5, 7, 4, 2)))


@attention_exercise.probe
def under_a_mask(attend: Any) -> Seen:
    """four queries over six keys, d_k = 7, d_v = 5, with a mask for each of the two in the batch"""
    return named(attend(*queries_keys_values_mask()))


def of_one_shape() -> tuple[Tensor, ...]:
    return (*drawn(4, 4, 4, 4, 4), stripes(4, 4, batch=4))


@attention_exercise.probe
def all_sizes_alike(attend: Any) -> Seen:
    """a batch of four, four queries, four keys, d_k = d_v = 4 and a mask, so that a wrong axis still fits"""
    return named(attend(*of_one_shape()))


@attention_exercise.probe
def with_sizes_of_one(attend: Any) -> Seen:
    """a batch of one, one query, one key, d_k = 1, d_v = 1, each in turn"""
    found: Seen = {}
    for words, (batch, query, key, d_k, d_v) in one_of_each(sequence=2, query=3, key=5, component=7, column=4):
        mask = None if 1 in (query, key) else stripes(query, key, batch)  # a mask of one column could only be all True
        seen = named(attend(*drawn(query, key, d_k, d_v, batch), mask))
        found |= {f"{name} with {words}": tensor for name, tensor in seen.items()}
    return found


@attention_exercise.probe
def of_loud_keys(attend: Any) -> Seen:
    """float64 scores around 10,000 and around -10,000, and a hidden key that is louder still"""
    # eighths, and a width whose root is whole: all scores are exact in float32 too
    q, k, v = ((8 * t).round() / 8 for t in drawn(4, 6, 4, 5, 2, dtype=torch.float64))
    q[..., 0] = torch.tensor([128.0, -128.0, 0.0, 128.0])
    k[..., 0] = 160.0
    k[..., 0, 0] = 320.0  # in the first of the batch, `stripes` hides key 0 from queries 0 and 3
    seen = named(attend(q, k, v, stripes(4, 6, batch=2)))
    return {name: tensor.double() for name, tensor in seen.items()}  # whether float64 comes back is asked elsewhere


@attention_exercise.probe
def in_a_window(attend: Any) -> Seen:
    """six positions that see themselves and the two before, without a batch dimension"""
    distance = torch.arange(6)[:, None] - torch.arange(6)
    return if_it_runs(lambda: named(attend(*drawn(6, 6, 5, 3), mask=(distance >= 0) & (distance < 3))))


@attention_exercise.probe
def of_a_single_query(attend: Any) -> Seen:
    """one query over six keys, d_k = 3, d_v = 2, without a batch dimension"""
    return if_it_runs(lambda: named(attend(*drawn(1, 6, 3, 2), None)))


@attention_exercise.probe
def in_several_heads(attend: Any) -> Seen:
    """two batch dimensions, and one mask for all three heads"""
    return if_it_runs(lambda: named(attend(*drawn(4, 5, 8, 6, 2, 3), stripes(4, 5, batch=2).unsqueeze(1))))


@attention_exercise.property
def under_a_padding_mask(attend: Any) -> Seen:
    """a mask of shape (batch, 1, key), which hides the same keys from every query

    A mask of shape (batch, 1, key) is not understood. A mask need not have the scores' shape; it has to broadcast to
    it, as torch's own operations do.
    """
    lengths = torch.tensor([[[4]], [[6]]])
    return named(attend(*drawn(4, 6, 7, 5, 2), torch.arange(6) < lengths))


@attention_exercise.property
def under_one_row_of_a_mask(attend: Any) -> Seen:
    """a mask of shape (key,), one row for every query

    A mask of shape (key,) is not understood. A mask need not have the scores' shape; it has to broadcast to it, as
    torch's own operations do.
    """
    return named(attend(*drawn(3, 5, 7, 4, 2), torch.tensor([True, False, True, True, False])))


@attention_exercise.property
def under_a_mask_that_hides_nothing(attend: Any) -> Seen:
    """masks that are True everywhere, of several shapes, and for a single key

    Under a mask that is True everywhere the result should be that without a mask.
    """
    found: Seen = {}
    shapes = [(4, 6, (2, 4, 6)), (4, 6, (4, 1)), (4, 6, (6,)), (4, 6, ()), (3, 1, (3, 1)), (1, 5, (2, 1, 5))]
    for query, key, shape in shapes:
        seen = named(attend(*drawn(query, key, 7, 5, 2), torch.ones(shape, dtype=torch.bool)))
        found |= {f"{name} under {shape}": tensor for name, tensor in seen.items()}
    return found


@attention_exercise.property
def under_masks_of_every_shape(attend: Any) -> Seen:
    """masks of fewer dimensions than the scores, and of size 1 in some, over two batch dimensions

    Some mask that broadcasts to (..., query, key) is not understood. Sizes of 1 are stretched, and missing dimensions
    are those in front: torch's own operations do both by themselves.
    """
    full = stripes(4, 6, batch=6).unflatten(0, (2, 3))  # (batch, head, query, key)
    masks = [full[0, 0, 0], full[0, 0, :1], full[0, 0], full[0, :1], full[0], full[0, :, :1], full[:1], full[:, :1]]
    masks += [full[:, :1, :1], full[:, :, :1], full[:1, :, :1], full]
    found: Seen = {}
    for mask in masks:
        seen = named(attend(*drawn(4, 6, 7, 5, 2, 3), mask))
        found |= {f"{name} under a mask {tuple(mask.shape)}": tensor for name, tensor in seen.items()}
    return found


usual(attention_exercise, queries_keys_values_mask, alike=of_one_shape)


def by_the_root_of_d_k(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    return scores / math.sqrt(q.shape[-1])


def true_may_attend(mask: Tensor | None) -> Tensor | None:
    return mask


def softmax_of_what_is_allowed(scores: Tensor, allowed: Tensor | None) -> Tensor:
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    return softmax(scores, -1)


def output_and_weights(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    return output, weights


@attention_exercise.assembled
def attention_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    compare: Any = similarity_scores,
    scale: Any = by_the_root_of_d_k,
    read: Any = true_may_attend,
    weights_of: Any = softmax_of_what_is_allowed,
    answer: Any = output_and_weights,
) -> Any:
    scores = scale(compare(q, k), q, v)
    allowed = read(mask)
    weights = weights_of(scores, allowed)
    return answer(weights @ v, weights, scores, allowed)


@attention_exercise.instead_of("compare")
def for_one_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none: heads will need two. `bmm`, dimensions counted from the
    front, and shapes that are unpacked into three names fix their number; `@` and dimensions counted from the back do
    not.
    """
    return torch.bmm(q, k.transpose(1, 2))


@attention_exercise.instead_of("compare")
def for_no_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works only without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """
    return torch.mm(q, k.transpose(-2, -1))


@attention_exercise.instead_of("compare")
def for_two_batch_dimensions(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly two batch dimensions, as (batch, head) would be.

    `...` stands for any number of dimensions, and for none. Count the two that you turn from the back.
    """
    return q @ k.transpose(2, 3)


@attention_exercise.instead_of("compare")
def the_batch_turned_too(q: Tensor, k: Tensor) -> Tensor:
    """You turn all dimensions of k, and the batch with them.

    Without a batch that is right. With one, the batch dimension ends up last, where the keys belong.
    """
    return q @ k.permute(*reversed(range(k.dim())))


@attention_exercise.instead_of("compare")
def cosines_compared(q: Tensor, k: Tensor) -> Tensor:
    """You compare directions only: your scores are cosines, before you divide them.

    The dot product keeps the lengths of query and key. A cosine is at most 1, and divided by the square root of d_k all
    weights are nearly equal.
    """
    return similarity_scores(q / q.norm(dim=-1, keepdim=True), k / k.norm(dim=-1, keepdim=True))


@attention_exercise.instead_of("scale")
def unscaled(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """Your scores are not divided by the square root of d_k.

    The variance of q·k grows with d_k; large scores push the softmax towards one-hot weights, where its gradient
    vanishes.
    """
    return scores


@attention_exercise.instead_of("scale")
def divided_by_d_k(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide the scores by d_k, without the root.

    That makes their variance 1/d_k: at d_k = 64 all weights are nearly equal, and no query can prefer a key. It is the
    deviation that has to be divided out.
    """
    return scores / q.shape[-1]


@attention_exercise.instead_of("scale")
def multiplied_by_the_root(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You multiply the scores by the square root of d_k instead of dividing.

    Wide vectors give large scores as it is; this makes them larger still.
    """
    return scores * math.sqrt(q.shape[-1])


@attention_exercise.instead_of("scale")
def by_the_number_of_keys(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide by the square root of the number of keys.

    A score is a sum over the components of one query and one key. How many keys there are does not enter it.
    """
    return scores / math.sqrt(scores.shape[-1])


@attention_exercise.instead_of("scale")
def by_the_number_of_queries(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide by the square root of the number of queries.

    In q the width is the last dimension; the one before it counts queries. A score is a sum over the width.
    """
    return scores / math.sqrt(q.shape[-2])


@attention_exercise.instead_of("scale")
def by_the_width_of_the_values(scores: Tensor, q: Tensor, v: Tensor) -> Tensor:
    """You divide by the square root of d_v, the width of the values.

    The values take no part in the scores. Often d_v equals d_k, and then this goes unnoticed; here it does not.
    """
    return scores / math.sqrt(v.shape[-1])


@attention_exercise.instead_of("read")
def mask_reversed(mask: Tensor | None) -> Tensor | None:
    """You read the mask the wrong way round: you hide what is allowed.

    In this course True means "may attend". Both conventions exist, even within torch, so it is worth a look at the
    documentation every time.
    """
    return None if mask is None else ~mask


@attention_exercise.instead_of("read")
def mask_ignored(mask: Tensor | None) -> Tensor | None:
    """You do not use the mask.

    Every query then sees every key, also those that it must not see.
    """
    return None


@attention_exercise.instead_of("read")
def mask_turned(mask: Tensor | None) -> Tensor | None:
    """You turn the mask: its rows meet the keys and its columns the queries.

    A row of the mask belongs to a query and says which keys it may see, as a row of the scores does.
    """
    return None if mask is None else mask.transpose(-2, -1)


@attention_exercise.instead_of("weights_of")
def too_large_for_float16(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your hidden scores are a number that float16 cannot hold, and torch refuses it there.

    The largest number of float16 is 65,504. -inf exists in every dtype, and so does `torch.finfo(scores.dtype).min`.
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -1e9), -1)


@attention_exercise.instead_of("weights_of")
def a_large_number_for_infinity(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You set the hidden scores to a number that is not below every score; -10,000 is not.

    Where all visible scores lie below it, the hidden keys get the weight. Which number is below all others?
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -1e4), -1)


@attention_exercise.instead_of("weights_of")
def a_large_number_added(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You lower the hidden scores by a number such as 10,000, and a hidden key that is loud enough is still heard.

    The score of a hidden key should not matter at all. Which number, added to any score, leaves nothing of it?
    """
    return softmax(scores if allowed is None else scores - 1e4 * (~allowed).to(scores.dtype), -1)


@attention_exercise.instead_of("weights_of")
def mask_of_the_very_shape(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your code takes a mask only if it has the very shape of the scores.

    A mask has to broadcast to (..., query, key): it may be one for all heads, or one row for all queries. An index
    `scores[mask]` and a `reshape` do not broadcast; `masked_fill` and `torch.where` do.
    """
    if allowed is not None:
        scores = scores.clone()
        scores[~allowed] = -math.inf
    return softmax(scores, -1)


@attention_exercise.instead_of("weights_of")
def future_hidden(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You hide later keys from every query, asked or not.

    That is the causal mask, which chapter 5 builds. Here the caller says what is hidden, and without a mask nothing is.
    """
    past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return softmax_of_what_is_allowed(scores, past if allowed is None else past & allowed)


@attention_exercise.instead_of("weights_of")
def softmax_over_dimension_one(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your softmax runs over dimension 1, which are the keys only if there is no batch.

    With one batch dimension it is the queries that compete. Counted from the back, the keys are always the last.
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -math.inf), 1)


@attention_exercise.instead_of("weights_of")
def softmax_over_dimension_two(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your softmax runs over dimension 2, which are the keys only if there is exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. Counted from the back, the keys are always the last.
    """
    return softmax(scores if allowed is None else scores.masked_fill(~allowed, -math.inf), 2)


@attention_exercise.instead_of("weights_of")
def masked_after_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You zero the masked weights after the softmax, so rows no longer sum to 1.

    The hidden keys have already taken their share.
    """
    weights = softmax(scores, -1)
    return weights if allowed is None else weights * allowed


@attention_exercise.instead_of("weights_of")
def renormalised_after_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You zero the masked weights after the softmax and divide by what is left. Sometimes nothing is left.

    If a hidden key is loud enough, it takes all the weight first, and the others are rounded to 0; then 0/0 is NaN. A
    hidden key should not take part at all.
    """
    weights = softmax(scores, -1)
    if allowed is None:
        return weights
    return weights * allowed / (weights * allowed).sum(dim=-1, keepdim=True)


@attention_exercise.instead_of("weights_of")
def hidden_scores_set_to_zero(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You set the hidden scores to 0, or to a number near it.

    A score of 0 is an ordinary score: exp(0) = 1 is a full share. Which score has no share at all?
    """
    return softmax(scores if allowed is None else scores * allowed, -1)


@attention_exercise.instead_of("weights_of")
def mask_added(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You add the mask to the scores as a number: True counts 1, False counts 0.

    That prefers the allowed keys a little, by a factor of e, and hides nothing.
    """
    return softmax(scores if allowed is None else scores + allowed, -1)


@attention_exercise.instead_of("weights_of")
def softmax_over_queries(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your softmax runs over the queries, so the weights of one query do not sum to 1.

    Each query distributes its own attention over the keys; the queries do not compete with each other.
    """
    return softmax_of_what_is_allowed(scores.transpose(-2, -1), None if allowed is None else turned(allowed)).transpose(
        -2, -1
    )


def turned(mask: Tensor) -> Tensor:
    return torch.atleast_2d(mask).transpose(-2, -1)


@attention_exercise.instead_of("weights_of")
def no_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """You weigh the values by the scores themselves, without a softmax; hidden ones count 0.

    Scores may be negative and do not sum to 1, so the output is no average of the values.
    """
    return scores if allowed is None else scores * allowed


@attention_exercise.instead_of("weights_of")
def overflowing_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Your weights become NaN when scores are large.

    The exponential of a large score is inf, and inf/inf is NaN. Use the stable softmax of the last chapter, yours or
    torch's.
    """
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    powers = scores.exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@attention_exercise.instead_of("answer")
def output_alone(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    """You return the output alone.

    The weights are asked for as well: they are what the figures show. Return both, output first.
    """
    return output


@attention_exercise.instead_of("answer")
def weights_first(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    """You return weights and output in the wrong order.

    The output comes first, then the weights.
    """
    return weights, output


@attention_exercise.instead_of("answer")
def scores_for_weights(output: Tensor, weights: Tensor, scores: Tensor, allowed: Tensor | None) -> Any:
    """Your output is right, but what you return beside it are the scores.

    The weights are asked for: what the softmax made of the scores, and what the values are averaged with.
    """
    return output, scores if allowed is None else scores.masked_fill(~allowed, -math.inf)


@attention_exercise.misconception
def divided_after_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You divide the weights by the square root of d_k, after the softmax.

    By then the softmax has saturated already, and the rows no longer sum to 1. It is the scores that are too large.
    """
    weights = softmax_of_what_is_allowed(similarity_scores(q, k), mask) / math.sqrt(q.shape[-1])
    return weights @ v, weights


@attention_exercise.misconception
def always_float32(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You convert to float32, whatever dtype comes in.

    A caller who works in float64 wants its digits, one in bfloat16 its memory. Results have the dtype of the inputs.
    """
    return scaled_dot_product_attention(q.float(), k.float(), v.float(), mask)


@attention_exercise.misconception
def keys_averaged(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You average the keys; the values are never used.

    Keys say where to look, values say what is found there.
    """
    _, weights = scaled_dot_product_attention(q, k, v, mask)
    return weights @ k, weights
