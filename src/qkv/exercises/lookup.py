"""Chapter 01: softmax, scores, soft lookup, self-attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import normal, seeded
from proctor.inside.properties import keeps_inputs, usual
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD, SOFTMAX
from qkv.model.lookup import SelfAttention, similarity_scores, soft_lookup, softmax

Seen = dict[str, Any]


def one_of_each(**sizes: int) -> list[tuple[str, list[int]]]:
    """The same sizes once for each name, with this size being 1, and words for it."""
    return [(f"one {name}", [1 if other == name else size for other, size in sizes.items()]) for name in sizes]


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


def in_sixtyfourths(x: Tensor) -> Tensor:
    """Rounded so that float32 holds it exactly, beside 10,000 too: then computing in float32 loses nothing."""
    return (x * 64).round() / 64


softmax_exercise = Exercise(
    softmax,
    section="From scores to weights",
    minutes=10,
    difficulty=1,
    why="Every attention weight of this course is made by these lines, and thanks to the shift none of them overflows.",
    hints=[
        "What must be true of the weights, whatever the scores are? Two properties; write them down first.",
        "`exp` makes every number positive. What should each row then be divided by? Look at the shape of that "
        "divisor: does it still fit the scores, row by row?",
        "exp(1000) is inf, and inf/inf is NaN. Adding the same number to all scores of a row does not change its "
        "weights: which number keeps `exp` small?",
    ],
    forbid=[SOFTMAX],
)


def scores() -> tuple[Tensor, int]:
    return normal(2, 3, 5, seed="scores", std=2.0), -1


@softmax_exercise.probe
def along_the_last(softmax: Any) -> Seen:
    """two tables of 3 × 5 scores, softmax along the last dimension"""
    return {"weights": softmax(*scores())}


@softmax_exercise.probe
def along_the_first(softmax: Any) -> Seen:
    """a table of 4 × 6 scores, softmax along dimension 0"""
    return {"weights": softmax(normal(4, 6, seed="table", std=2.0), 0)}


@softmax_exercise.probe
def along_the_middle(softmax: Any) -> Seen:
    """scores of shape (2, 5, 3), softmax along dimension -2"""
    return {"weights": softmax(normal(2, 5, 3, seed="middle", std=2.0), -2)}


@softmax_exercise.probe
def of_a_square(softmax: Any) -> Seen:
    """a table of 5 × 5 scores, softmax along dimension 1: a lost dimension still fits here"""
    return {"weights": softmax(normal(5, 5, seed="square", std=2.0), 1)}


@softmax_exercise.probe
def of_one_row(softmax: Any) -> Seen:
    """a single row of seven scores, without a batch dimension"""
    return {"weights": softmax(normal(7, seed="row"), dim=0)}


@softmax_exercise.probe
def along_every_dimension(softmax: Any) -> Seen:
    """scores of shape (2, 3, 4, 5), softmax along each dimension, counted from the front and from the back"""
    return {f"weights along {dim}": softmax(normal(2, 3, 4, 5, seed="four", std=2.0), dim) for dim in range(-4, 4)}


@softmax_exercise.probe
def with_dimensions_of_one(softmax: Any) -> Seen:
    """scores of shape (1, 3, 4), (2, 1, 4) and (2, 3, 1), softmax along each dimension"""
    return {
        f"weights of {tuple(shape)} along {dim}": softmax(normal(*shape, seed="ones", std=2.0), dim)
        for _, shape in one_of_each(first=2, second=3, third=4)
        for dim in range(3)
    }


@softmax_exercise.probe
def of_rows_far_apart(softmax: Any) -> Seen:
    """three rows of scores: around 0, around 500, around -500"""
    return {"weights": softmax(normal(3, 5, seed="apart") + torch.tensor([[0.0], [500.0], [-500.0]]), -1)}


# float64, since logarithms of this size have no digits to spare in float32; whether it comes back is asked elsewhere
@softmax_exercise.probe
def of_huge_scores(softmax: Any) -> Seen:
    """scores around 10,000 and around -10,000, in float64"""
    near = in_sixtyfourths(normal(2, 6, seed="huge", dtype=torch.float64))
    return {"weights": softmax(near + torch.tensor([[1e4], [-1e4]], dtype=torch.float64), -1).double()}


def from_end_to_end_scores() -> Tensor:
    spread = torch.tensor([-1e4, 1e4, 0.0, 1e4, -1e4], dtype=torch.float64)
    return in_sixtyfourths(normal(3, 5, seed="spread", dtype=torch.float64)) + spread


@softmax_exercise.probe
def from_end_to_end(softmax: Any) -> Seen:
    """rows that reach from -10,000 to 10,000, in float64"""
    return {"weights": softmax(from_end_to_end_scores(), -1).double()}


def hidden_scores() -> Tensor:
    row = normal(2, 6, seed="hidden")
    row[0, 1], row[0, 4], row[1, 0] = -math.inf, -math.inf, -math.inf
    return row


@softmax_exercise.probe
def beside_minus_infinity(softmax: Any) -> Seen:
    """scores of -inf beside finite ones"""
    return {"weights": softmax(hidden_scores(), -1)}


usual(softmax_exercise, scores)


def gradient_of(softmax: Any, scores: Tensor) -> Seen:
    scores.requires_grad_()
    upstream = normal(*scores.shape, seed="upstream", dtype=scores.dtype)
    (gradient,) = torch.autograd.grad((softmax(scores, -1) * upstream).sum(), scores)
    return {"gradient of scores": gradient}


@softmax_exercise.property
def gradients_beside_minus_infinity(softmax: Any) -> Seen:
    """the gradient where some scores are -inf

    The weights are right but their gradient is not: beside a score of -inf it should stay finite. Look for inf - inf
    and 0 · inf on the way back.
    """
    return gradient_of(softmax, hidden_scores())


@softmax_exercise.property
def gradients_of_huge_scores(softmax: Any) -> Seen:
    """the gradient where scores reach from -10,000 to 10,000, in float64

    The weights are right but their gradient is not: for large scores it should stay finite as well. A value that
    overflowed and was replaced afterwards is gone on the way forward, but not on the way back.
    """
    return gradient_of(softmax, from_end_to_end_scores())


def below_the_row_maximum(scores: Tensor, dim: int) -> Tensor:
    return scores - scores.amax(dim=dim, keepdim=True)


def by_the_row_sum(powers: Tensor, dim: int) -> Tensor:
    return powers / powers.sum(dim=dim, keepdim=True)


@softmax_exercise.assembled
def softmax_in_steps(
    scores: Tensor, dim: int, *, shift: Any = below_the_row_maximum, normalise: Any = by_the_row_sum
) -> Tensor:
    return normalise(shift(scores, dim).exp(), dim)


@softmax_exercise.instead_of("shift")
def overflows(scores: Tensor, dim: int) -> Tensor:
    """You exponentiate the scores as they are, and large scores overflow.

    exp(89) is already more than float32 can hold; inf divided by inf is NaN. Weights depend only on the differences
    between scores, so a row may be shifted first.
    """
    return scores


@softmax_exercise.instead_of("shift")
def shifted_by_the_global_maximum(scores: Tensor, dim: int) -> Tensor:
    """You subtract the largest score of the whole tensor, not of each row.

    A row that lies far below the global maximum then underflows: all its powers become 0, and 0/0 is NaN.
    """
    return scores - scores.max()


@softmax_exercise.instead_of("shift")
def shifted_by_the_mean(scores: Tensor, dim: int) -> Tensor:
    """You subtract the mean of each row, which does not keep its largest score small.

    A row that reaches from -10,000 to 10,000 has a mean near 0 and still overflows; a row with a score of -inf has the
    mean -inf.
    """
    return scores - scores.mean(dim=dim, keepdim=True)


@softmax_exercise.instead_of("shift")
def shifted_by_the_minimum(scores: Tensor, dim: int) -> Tensor:
    """You subtract the smallest score of each row, so all powers are at least 1, and the largest overflow.

    What has to stay small is the largest exponent. A row with a score of -inf, moreover, is moved by infinity.
    """
    return scores - scores.amin(dim=dim, keepdim=True)


@softmax_exercise.instead_of("shift")
def shifted_by_the_largest_magnitude(scores: Tensor, dim: int) -> Tensor:
    """You subtract the largest absolute value of each row.

    A row around -500 is then moved down to -1000, where all its powers are 0, and 0/0 is NaN. It is the largest score
    that should become 0, whatever its sign.
    """
    return scores - scores.abs().amax(dim=dim, keepdim=True)


@softmax_exercise.instead_of("shift")
def divided_by_the_maximum(scores: Tensor, dim: int) -> Tensor:
    """You divide the scores of a row by the largest of them, where it should be subtracted.

    A shift keeps the differences between scores, and only those decide the weights. A division changes them, and for
    negative scores turns their order round.
    """
    return scores / scores.amax(dim=dim, keepdim=True)


@softmax_exercise.instead_of("shift")
def clipped(scores: Tensor, dim: int) -> Tensor:
    """You clip the scores to a range in which `exp` does not overflow.

    Scores beyond the limit become equal, so their differences are lost, and with them the weights. A shift of the whole
    row keeps the differences.
    """
    return scores.clamp(-80, 80)


@softmax_exercise.instead_of("shift")
def maximum_without_keepdim(scores: Tensor, dim: int) -> Tensor:
    """Your maximum loses the dimension that it runs along.

    The tensor of maxima is then lined up with the wrong dimension of the scores: mostly that raises an error, and for a
    square table it silently subtracts another row's maximum.
    """
    return scores - scores.amax(dim=dim)


@softmax_exercise.instead_of("normalise")
def normalised_over_everything(powers: Tensor, dim: int) -> Tensor:
    """You divide by the sum over the whole tensor, so all weights together sum to 1.

    Each row is a decision of its own: the weights should sum to 1 along `dim`, for every row.
    """
    return powers / powers.sum()


@softmax_exercise.instead_of("normalise")
def sum_without_keepdim(powers: Tensor, dim: int) -> Tensor:
    """Your sum loses the dimension that it runs along.

    The tensor of sums is then lined up with the wrong dimension of the powers: mostly that raises an error, and for a
    square table it silently divides by another row's sum.
    """
    return powers / powers.sum(dim=dim)


@softmax_exercise.instead_of("normalise")
def not_normalised(powers: Tensor, dim: int) -> Tensor:
    """Your weights are positive but do not sum to 1.

    The powers are there, but they are no shares of a whole yet. Averaged with such weights, the values grow with the
    number of keys.
    """
    return powers


@softmax_exercise.instead_of("normalise")
def divided_by_the_length(powers: Tensor, dim: int) -> Tensor:
    """You divide the powers by the root of the sum of their squares.

    Then each row is a vector of length 1, but its weights sum to more than 1. An average asks for a sum of 1.
    """
    return powers / powers.norm(dim=dim, keepdim=True)


@softmax_exercise.misconception
def always_dimension_one(scores: Tensor, dim: int) -> Tensor:
    """You take the softmax along dimension 1, whatever `dim` says.

    In a table (batch, class) that is the right one. The caller decides which dimension it is, and a single row has no
    dimension 1 at all.
    """
    return softmax(scores, 1)


@softmax_exercise.misconception
def weights_squeezed(scores: Tensor, dim: int) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension, those of the caller included. The weights have the shape of the scores.
    """
    return softmax(scores, dim).squeeze()


@softmax_exercise.misconception
def base_of_two(scores: Tensor, dim: int) -> Tensor:
    """You take powers of 2 instead of powers of e.

    The weights are positive and sum to 1, but they are softer: a score that is higher by 1 counts 2 times as much, and
    by the definition e times.
    """
    return softmax(scores * math.log(2), dim)


@softmax_exercise.misconception
def always_the_last_dimension(scores: Tensor, dim: int) -> Tensor:
    """You take the softmax along the last dimension, whatever `dim` says.

    The caller decides which dimension the weights sum to 1 along; in attention it happens to be the last.
    """
    return softmax(scores, -1)


@softmax_exercise.misconception
def divided_without_exponential(scores: Tensor, dim: int) -> Tensor:
    """You divide the scores by their sum, without the exponential.

    Scores may be negative and may sum to 0, so this gives negative weights and divisions by zero.
    """
    return scores / scores.sum(dim=dim, keepdim=True)


@softmax_exercise.misconception
def logarithm_of_the_weights(scores: Tensor, dim: int) -> Tensor:
    """You return the logarithm of the weights.

    That is the log-softmax, which losses use. An average needs the weights themselves.
    """
    return below_the_row_maximum(scores, dim) - below_the_row_maximum(scores, dim).exp().sum(dim, keepdim=True).log()


@softmax_exercise.misconception
def sign_reversed(scores: Tensor, dim: int) -> Tensor:
    """Your largest score gets the smallest weight: a sign is reversed.

    A high score means a good match, and a good match should weigh more.
    """
    return softmax(-scores, dim)


@softmax_exercise.misconception
def hard_maximum(scores: Tensor, dim: int) -> Tensor:
    """You give all the weight to the largest score.

    That is the hard lookup: its gradient is zero almost everywhere, so nothing can be learned through it. The softmax
    gives every entry a share.
    """
    return torch.zeros_like(scores).scatter(dim, scores.argmax(dim=dim, keepdim=True), 1.0)


@softmax_exercise.misconception
def overflow_patched(scores: Tensor, dim: int) -> Tensor:
    """You let large scores overflow and replace the NaN afterwards.

    By then the weights are lost: a row whose NaN became 0 no longer sums to 1. The scores have to be made harmless
    before the exponential.
    """
    powers = scores.exp()
    return (powers / powers.sum(dim=dim, keepdim=True)).nan_to_num(0.0)


scores_exercise = Exercise(
    similarity_scores,
    section="Comparing every query with every key",
    minutes=5,
    difficulty=1,
    why="One matrix product compares every query with every key: that is why attention runs well on a GPU.",
    hints=[
        "Write the shapes beside the names: q is (..., query, d_k), k is (..., key, d_k). Which shape should come out?",
        "In a matrix product the inner sizes meet and vanish. Here d_k should vanish: how must k be turned?",
        "Turn only the last two dimensions. `.T` turns all of them, and the batch with them.",
    ],
)


def queries_and_keys() -> tuple[Tensor, Tensor]:
    return normal(2, 3, 7, seed="q"), normal(2, 5, 7, seed="k")


@scores_exercise.probe
def three_queries_five_keys(similarity_scores: Any) -> Seen:
    """three queries and five keys of width 7, in a batch of two"""
    return {"scores": similarity_scores(*queries_and_keys())}


@scores_exercise.probe
def with_sizes_of_one(similarity_scores: Any) -> Seen:
    """a batch of one, one query, one key, one component, each in turn"""
    found = {}
    for words, (batch, query, key, d_k) in one_of_each(sequence=2, query=3, key=5, component=7):
        q, k = normal(batch, query, d_k, seed="q"), normal(batch, key, d_k, seed="k")
        found[f"scores with {words}"] = similarity_scores(q, k)
    return found


@scores_exercise.probe
def all_sizes_alike(similarity_scores: Any) -> Seen:
    """a batch of four, four queries and four keys of width 4, so that a wrong axis still fits"""
    return {"scores": similarity_scores(normal(4, 4, 4, seed="q"), normal(4, 4, 4, seed="k"))}


@scores_exercise.probe
def without_a_batch(similarity_scores: Any) -> Seen:
    """four queries and six keys, without a batch dimension"""
    return if_it_runs(lambda: {"scores": similarity_scores(normal(4, 3, seed="q"), normal(6, 3, seed="k"))})


@scores_exercise.probe
def two_batch_dimensions(similarity_scores: Any) -> Seen:
    """two batch dimensions before three queries and four keys"""
    return if_it_runs(lambda: {"scores": similarity_scores(normal(2, 5, 3, 6, seed="q"), normal(2, 5, 4, 6, seed="k"))})


usual(scores_exercise, queries_and_keys, alike=lambda: (normal(2, 4, 4, seed="q"), normal(2, 4, 4, seed="k")))


@scores_exercise.misconception
def keys_against_queries(q: Tensor, k: Tensor) -> Tensor:
    """Your scores are turned: row j, column i instead of row i, column j.

    A row belongs to a query and lists all keys. Turned, the softmax would later run over queries instead of keys.
    """
    return k @ q.transpose(-2, -1)


@scores_exercise.misconception
def features_against_features(q: Tensor, k: Tensor) -> Tensor:
    """You sum over the positions and keep the features, so the result compares columns, not queries with keys.

    The dot product of a query and a key sums over their d_k components; those are what should vanish.
    """
    return q.transpose(-2, -1) @ k


@scores_exercise.misconception
def keys_not_turned(q: Tensor, k: Tensor) -> Tensor:
    """You multiply q by k without turning k.

    Then a component of the query meets a whole key. It only runs where there are as many keys as components, and means
    nothing there.
    """
    return q @ k


@scores_exercise.misconception
def the_batch_turned_too(q: Tensor, k: Tensor) -> Tensor:
    """You turn all dimensions of k, and the batch with them.

    Without a batch that is right. With one, the batch dimension ends up last, where the keys belong.
    """
    return q @ k.permute(*reversed(range(k.dim())))


@scores_exercise.misconception
def first_two_dimensions_turned(q: Tensor, k: Tensor) -> Tensor:
    """You turn the first two dimensions of k; with a batch in front these are not the ones.

    Counted from the front, the keys are in another place for every number of batch dimensions. Counted from the back
    they never move.
    """
    return q @ k.transpose(0, 1)


@scores_exercise.misconception
def for_one_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. `bmm`, dimensions counted from the front, and shapes that
    are unpacked into three names fix their number; `@` and dimensions counted from the back do not.
    """
    return torch.bmm(q, k.transpose(1, 2))


@scores_exercise.misconception
def for_no_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works only without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """
    return torch.mm(q, k.transpose(-2, -1))


@scores_exercise.misconception
def for_two_batch_dimensions(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly two batch dimensions, as (batch, head) would be.

    `...` stands for any number of dimensions, and for none. Count the two that you turn from the back.
    """
    return q @ k.transpose(2, 3)


@scores_exercise.misconception
def every_batch_with_every_batch(q: Tensor, k: Tensor) -> Tensor:
    """You compare the queries of each sequence with the keys of all sequences.

    A batch is a bundle of sequences that have nothing to do with each other. The leading dimensions of q and k are the
    same, and go together.
    """
    return torch.tensordot(q, k, dims=([-1], [-1]))


@scores_exercise.misconception
def only_matching_positions(q: Tensor, k: Tensor) -> Tensor:
    """You compare query i with key i only.

    Every query should be compared with every key: a table, not a list.
    """
    return (q * k).sum(dim=-1)


@scores_exercise.misconception
def cosine_instead_of_dot(q: Tensor, k: Tensor) -> Tensor:
    """You divide by the lengths of the vectors, which gives the cosine.

    The dot product keeps the length: a long key can call louder than a short one in the same direction.
    """
    return F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)


@scores_exercise.misconception
def distance_instead_of_dot(q: Tensor, k: Tensor) -> Tensor:
    """You compare by distance: near vectors score high, far ones low.

    That is a similarity too, but another one. By the dot product a key twice as long matches twice as well; by distance
    it is further away.
    """
    return -torch.cdist(q, k)


@scores_exercise.misconception
def scores_squeezed(q: Tensor, k: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. One query, one key and a batch of one are sizes like any other.
    """
    return similarity_scores(q, k).squeeze()


@scores_exercise.misconception
def sum_of_the_components(q: Tensor, k: Tensor) -> Tensor:
    """You add the components of query and key where they should be multiplied.

    A product is large where both components are, and negative where they disagree. A sum never asks whether they agree.
    """
    return (q.unsqueeze(-2) + k.unsqueeze(-3)).sum(dim=-1)


@scores_exercise.misconception
def already_scaled(q: Tensor, k: Tensor) -> Tensor:
    """You divide the scores by the square root of d_k.

    That division has its reasons, and the next chapter finds them. Here the plain dot product is asked for.
    """
    return similarity_scores(q, k) / math.sqrt(q.shape[-1])


@scores_exercise.misconception
def averaged_over_components(q: Tensor, k: Tensor) -> Tensor:
    """You average over the components instead of summing them.

    A dot product is the sum of the products; a mean is that divided by d_k.
    """
    return similarity_scores(q, k) / q.shape[-1]


@scores_exercise.misconception
def weights_already(q: Tensor, k: Tensor) -> Tensor:
    """You apply the softmax already.

    Here the bare scores are asked for: any real numbers. Turning them into weights is a step of its own, so that later
    chapters can put something between the two.
    """
    return softmax(similarity_scores(q, k), -1)


lookup_exercise = Exercise(
    soft_lookup,
    section="The soft lookup",
    minutes=5,
    difficulty=1,
    why="This is attention. The rest of the course makes it stable, plural, and aware of order.",
    hints=[
        "Three steps: compare, weigh, average. You have built the first two.",
        "One query's weights over all keys should sum to 1. Along which dimension of (query, key) is that?",
        "The average is a matrix product. Weights are (..., query, key), values (..., key, d_v): which size vanishes?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def queries_keys_values() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 7, seed="q", std=0.5), normal(2, 5, 7, seed="k"), normal(2, 5, 4, seed="v")


@lookup_exercise.probe
def three_queries_over_five_keys(soft_lookup: Any) -> Seen:
    """three queries over five keys, d_k = 7, d_v = 4"""
    return {"output": soft_lookup(*queries_keys_values())}


@lookup_exercise.probe
def looking_up_one_of_each(soft_lookup: Any) -> Seen:
    """a batch of one, one query, one key, keys of width 1, values of width 1, each in turn"""
    found = {}
    for words, sizes in one_of_each(sequence=2, query=3, key=5, component=7, column=4):
        batch, query, key, d_k, d_v = sizes
        shapes = {"q": (query, d_k), "k": (key, d_k), "v": (key, d_v)}
        found[f"output with {words}"] = soft_lookup(*(normal(batch, *s, seed=name) for name, s in shapes.items()))
    return found


def of_one_shape() -> tuple[Tensor, Tensor, Tensor]:
    return normal(4, 4, 4, seed="q"), normal(4, 4, 4, seed="k"), normal(4, 4, 4, seed="v")


@lookup_exercise.probe
def square_shapes(soft_lookup: Any) -> Seen:
    """a batch of four, four queries, four keys, width four, so that a wrong axis still fits"""
    return {"output": soft_lookup(*of_one_shape())}


@lookup_exercise.probe
def of_loud_keys(soft_lookup: Any) -> Seen:
    """keys so long that every score lies around 120 for the first query, around -120 for the second"""
    q, k, v = queries_keys_values()
    q[..., 0], k[..., 0] = torch.tensor([10.0, -10.0, 0.0]), 12.0
    return {"output": soft_lookup(q, k, v)}


@lookup_exercise.probe
def outside_of_a_batch(soft_lookup: Any) -> Seen:
    """three queries over six keys, without a batch dimension"""
    return if_it_runs(
        lambda: {"output": soft_lookup(normal(3, 4, seed="q"), normal(6, 4, seed="k"), normal(6, 2, seed="v"))}
    )


@lookup_exercise.probe
def inside_two_batch_dimensions(soft_lookup: Any) -> Seen:
    """two batch dimensions"""
    shapes = {"q": (2, 3, 4, 6), "k": (2, 3, 5, 6), "v": (2, 3, 5, 7)}
    return if_it_runs(lambda: {"output": soft_lookup(*(normal(*shape, seed=name) for name, shape in shapes.items()))})


usual(lookup_exercise, queries_keys_values, alike=of_one_shape)


@lookup_exercise.assembled
def lookup_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    compare: Any = similarity_scores,
    weigh: Any = softmax,
    average: Any = torch.matmul,
) -> Tensor:
    return average(weigh(compare(q, k), -1), v)


@lookup_exercise.instead_of("weigh")
def softmax_over_queries(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over the queries, so the weights of one query do not sum to 1.

    Each query distributes its own attention over the keys; the queries do not compete with each other.
    """
    return softmax(scores, -2)


@lookup_exercise.instead_of("weigh")
def softmax_over_the_first_dimension(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over dimension 0, which is the batch as soon as there is one.

    Counted from the front, the keys are in another place for every number of batch dimensions. Counted from the back
    they never move.
    """
    return softmax(scores, 0)


@lookup_exercise.instead_of("weigh")
def softmax_over_dimension_one(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over dimension 1, which are the keys only if there is no batch.

    With one batch dimension it is the queries that compete. Counted from the back, the keys are always the last.
    """
    return softmax(scores, 1)


@lookup_exercise.instead_of("weigh")
def softmax_over_dimension_two(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over dimension 2, which are the keys only if there is exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. Counted from the back, the keys are always the last.
    """
    return softmax(scores, 2)


@lookup_exercise.instead_of("weigh")
def softmax_over_everything(scores: Tensor, dim: int) -> Tensor:
    """Your weights sum to 1 over the whole tensor, not for each query.

    Each query distributes its own attention over the keys: its row of weights sums to 1, whatever the other rows do.
    """
    return softmax(scores.flatten(), 0).view_as(scores)


@lookup_exercise.instead_of("weigh")
def shifted_by_one_maximum(scores: Tensor, dim: int) -> Tensor:
    """You subtract the largest score of the whole tensor, not of each row.

    A query whose scores all lie far below it is left with powers of 0, and 0/0 is NaN. Every row has its own maximum.
    """
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(-1, keepdim=True)


@lookup_exercise.instead_of("weigh")
def no_softmax(scores: Tensor, dim: int) -> Tensor:
    """You weigh the values by the raw scores, without a softmax.

    Raw scores can be negative and do not sum to 1, so the result is no average: it can leave the range of the values.
    """
    return scores


@lookup_exercise.instead_of("weigh")
def hard_lookup(scores: Tensor, dim: int) -> Tensor:
    """You return the value of the best key alone.

    That is what a dictionary does. It has no useful gradient: a slightly better key changes nothing until it wins.
    """
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)


@lookup_exercise.instead_of("weigh")
def overflowing_softmax(scores: Tensor, dim: int) -> Tensor:
    """Your weights overflow for large scores.

    The exponential of a score above 88 is inf in float32, and inf/inf is NaN. Use the stable softmax that you built.
    """
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


@lookup_exercise.instead_of("weigh")
def sigmoid_weights(scores: Tensor, dim: int) -> Tensor:
    """Your weights are sigmoids: each key is judged by itself, and the weights do not sum to 1.

    The softmax makes the keys compete. Without competition the output grows with the number of keys.
    """
    return scores.sigmoid()


@lookup_exercise.instead_of("compare")
def scaled_scores(q: Tensor, k: Tensor) -> Tensor:
    """You divide the scores by the square root of d_k.

    That belongs to the next chapter, which shows why. Here the plain, unscaled lookup is asked for.
    """
    return similarity_scores(q, k) / math.sqrt(q.shape[-1])


@lookup_exercise.instead_of("compare")
def cosine_scores(q: Tensor, k: Tensor) -> Tensor:
    """You compare directions only: your scores are cosines.

    The dot product keeps the lengths of query and key; a longer query makes sharper weights.
    """
    return cosine_instead_of_dot(q, k)


@lookup_exercise.instead_of("compare")
def scores_turned(q: Tensor, k: Tensor) -> Tensor:
    """Your table of scores has a row for each key; it should have a row for each query.

    Where there are as many queries as keys it still runs, and every query gets an answer that belongs to a key.
    """
    return keys_against_queries(q, k)


@lookup_exercise.instead_of("compare")
def lookup_for_one_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. `bmm`, dimensions counted from the front, and shapes that
    are unpacked into three names fix their number; `@` and dimensions counted from the back do not.
    """
    return torch.bmm(q, k.transpose(1, 2))


@lookup_exercise.instead_of("compare")
def lookup_for_no_batch_dimension(q: Tensor, k: Tensor) -> Tensor:
    """Your code works only without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """
    return torch.mm(q, k.transpose(-2, -1))


@lookup_exercise.instead_of("compare")
def lookup_for_two_batch_dimensions(q: Tensor, k: Tensor) -> Tensor:
    """Your code works for exactly two batch dimensions, as (batch, head) would be.

    `...` stands for any number of dimensions, and for none. Count the two that you turn from the back.
    """
    return q @ k.transpose(2, 3)


@lookup_exercise.instead_of("compare")
def the_batch_turned_as_well(q: Tensor, k: Tensor) -> Tensor:
    """You turn all dimensions of k, and the batch with them.

    Without a batch that is right. With one, the batch dimension ends up last, where the keys belong.
    """
    return the_batch_turned_too(q, k)


@lookup_exercise.instead_of("average")
def averaged_twice(weights: Tensor, v: Tensor) -> Tensor:
    """You divide by the number of keys although the weights of a query already sum to 1.

    A weighted average is the sum of weight times value. The division was done inside the softmax.
    """
    return weights @ v / v.shape[-2]


@lookup_exercise.misconception
def keys_averaged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You average the keys; the values are never used.

    Keys say where to look, values say what is found there. The weights come from the keys, the average is over the
    values.
    """
    return softmax(similarity_scores(q, k), -1) @ k


@lookup_exercise.misconception
def output_squeezed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. One query, one key and a batch of one are sizes like any other.
    """
    return soft_lookup(q, k, v).squeeze()


@lookup_exercise.misconception
def values_compared(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You compare the queries with the values instead of with the keys.

    The keys are what a query is matched against; the values are only what is averaged.
    """
    return softmax(similarity_scores(q, v), -1) @ v


@lookup_exercise.misconception
def weights_returned(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You return the weights; the values are never used.

    The weights say whom a query listens to. The answer is what it hears: the average of the values with these weights.
    """
    return softmax(similarity_scores(q, k), -1)


@lookup_exercise.misconception
def plain_average(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You give every key the same weight, so the query does not matter.

    A plain average answers every question alike. The weights should follow from the scores.
    """
    return v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1]).clone()


self_attention_exercise = Exercise(
    SelfAttention,
    section="Self-attention",
    minutes=15,
    difficulty=2,
    why="Queries, keys and values are now learned from the same words: the sentence looks itself up.",
    hints=[
        "Queries, keys and values are three different views of the same x. Which attribute makes which view?",
        "You have built the lookup already: it takes queries, keys and values.",
        "A projection is called like a function; nn.Linear works on the last dimension and leaves the others alone.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def build_self_attention(cls: Any) -> Any:
    return seeded(cls(6, 5, 4))


def sequence() -> tuple[Tensor]:
    return (normal(2, 3, 6, seed="x"),)


@self_attention_exercise.probe
def a_batch_of_sequences(self_attention: Any) -> Seen:
    """two sequences of three vectors, d_model = 6, d_k = 5, d_v = 4"""
    return {"output": build_self_attention(self_attention)(*sequence())}


@self_attention_exercise.probe
def with_widths_of_one(self_attention: Any) -> Seen:
    """one sequence, sequences of one vector, d_model = 1, d_k = 1, d_v = 1, each in turn"""
    found = {}
    for words, sizes in one_of_each(sequence=2, vector=3, d_model=6, d_k=5, d_v=4):
        batch, seq, d_model, d_k, d_v = sizes
        found[f"output with {words}"] = seeded(self_attention(d_model, d_k, d_v))(normal(batch, seq, d_model, seed="x"))
    return found


def build_of_equal_widths(cls: Any) -> Any:
    return seeded(cls(4, 4, 4))


def square_sequence() -> tuple[Tensor]:
    return (normal(4, 4, 4, seed="x"),)


@self_attention_exercise.probe
def equal_widths(self_attention: Any) -> Seen:
    """d_model = d_k = d_v = 4, so that swapped projections still fit; four sequences of four vectors"""
    return {"output": build_of_equal_widths(self_attention)(*square_sequence())}


@self_attention_exercise.probe
def of_loud_vectors(self_attention: Any) -> Seen:
    """vectors so long that scores go into the hundreds"""
    layer = seeded(self_attention(2, 2, 3))
    with torch.no_grad():
        for projection in (layer.q_proj, layer.k_proj):
            projection.weight.copy_(torch.eye(2))
    x = in_sixtyfourths(normal(2, 4, 2, seed="loud"))
    x[..., 0] = torch.tensor([16.0, 16.0, 16.0, -16.0])  # scores of ±256 and what the second component adds
    return {"output": layer(x)}


@self_attention_exercise.probe
def one_sequence(self_attention: Any) -> Seen:
    """one sequence of seven vectors, without a batch dimension"""
    return if_it_runs(lambda: {"output": seeded(self_attention(3, 2, 5))(normal(7, 3, seed="x"))})


@self_attention_exercise.probe
def inside_more_dimensions(self_attention: Any) -> Seen:
    """two batch dimensions, and vectors twice as long"""
    return if_it_runs(lambda: {"output": build_self_attention(self_attention)(normal(2, 3, 4, 6, seed="x", std=2.0))})


usual(self_attention_exercise, sequence, build_self_attention)
self_attention_exercise.property(keeps_inputs(square_sequence, build_of_equal_widths, "keeps_inputs_of_one_shape"))


@self_attention_exercise.property
def called_again(self_attention: Any) -> Seen:
    """the same layer, called once more on sequences of another length

    The first call is right and the second is not: the layer keeps something from one call to the next. What it gives
    should depend on its weights and on x alone.
    """
    layer = build_self_attention(self_attention)
    layer(*sequence())
    return {"output of the second call": layer(normal(3, 5, 6, seed="x"))}


@self_attention_exercise.misconception
class QueriesAndKeysSwapped(SelfAttention):
    """Your scores are turned: the keys ask and the queries answer, as if q_proj and k_proj had changed places.

    Row i should hold what query i finds in each key. In training two exchanged names would sort themselves out; with
    weights from elsewhere the result is wrong.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.k_proj(x), self.q_proj(x), self.v_proj(x))


@self_attention_exercise.misconception
class KeysFromTheQueries(SelfAttention):
    """You make the keys with q_proj, so every element asks for what it offers.

    With one matrix for both, scores are symmetric: A matches B exactly as well as B matches A. Two matrices let A look
    for B without being looked for.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x), self.q_proj(x), self.v_proj(x))


@self_attention_exercise.misconception
class ScaledAlready(SelfAttention):
    """You divide the scores by the square root of d_k.

    That is the next chapter's step. Here the unscaled lookup is asked for.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x) / math.sqrt(self.q_proj.out_features), self.k_proj(x), self.v_proj(x))


@self_attention_exercise.misconception
class ItselfLeftOut(SelfAttention):
    """You let no element look at itself.

    "All the other words" is how it is often told, but the sequence is looked up whole: an element is one of its own
    keys, and may well be the best.
    """

    def forward(self, x: Tensor) -> Tensor:
        found = similarity_scores(self.q_proj(x), self.k_proj(x))
        itself = torch.eye(x.shape[-2], dtype=torch.bool, device=x.device)
        return softmax(found.masked_fill(itself, -math.inf), -1) @ self.v_proj(x)


@self_attention_exercise.misconception
class FutureHidden(SelfAttention):
    """You let every element look only at itself and at those before it.

    That is the causal mask of a language model, which chapter 5 builds. Here every element looks at all of them.
    """

    def forward(self, x: Tensor) -> Tensor:
        found = similarity_scores(self.q_proj(x), self.k_proj(x))
        later = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).triu(1)
        return softmax(found.masked_fill(later, -math.inf), -1) @ self.v_proj(x)


@self_attention_exercise.misconception
class BatchMixed(SelfAttention):
    """You let all sequences of a batch become one, so that elements look into other sequences.

    A batch is a bundle of sequences that have nothing to do with each other; they are only computed together. What
    comes out for one must not depend on its neighbours.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)


@self_attention_exercise.misconception
class ResidualAdded(SelfAttention):
    """You add something to the attention's output: the values themselves.

    A residual connection belongs around this layer, not into it, and comes in a later chapter. Each output is only the
    weighted average.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.v_proj(x) + super().forward(x)


@self_attention_exercise.misconception
class SoftmaxOverQueries(SelfAttention):
    """Your softmax runs over the queries instead of the keys.

    Each element distributes its own attention: its row of weights should sum to 1.
    """

    def forward(self, x: Tensor) -> Tensor:
        return softmax(similarity_scores(self.q_proj(x), self.k_proj(x)), -2) @ self.v_proj(x)


@self_attention_exercise.misconception
class SoftmaxOverTheFirstDimension(SelfAttention):
    """Your softmax runs over dimension 0, which is the batch as soon as there is one.

    Each element distributes its attention over the keys, and those are always the last dimension of the scores.
    """

    def forward(self, x: Tensor) -> Tensor:
        return softmax(similarity_scores(self.q_proj(x), self.k_proj(x)), 0) @ self.v_proj(x)


@self_attention_exercise.misconception
class SoftmaxOverDimensionOne(SelfAttention):
    """Your softmax runs over dimension 1, which are the keys only if there is no batch.

    With one batch dimension it is the queries that compete. Counted from the back, the keys are always the last.
    """

    def forward(self, x: Tensor) -> Tensor:
        return softmax(similarity_scores(self.q_proj(x), self.k_proj(x)), 1) @ self.v_proj(x)


@self_attention_exercise.misconception
class ForOneBatchDimension(SelfAttention):
    """Your layer works for exactly one batch dimension.

    `...` stands for any number of dimensions, and for none. `bmm`, dimensions counted from the front, and shapes that
    are unpacked into three names fix their number; `@` and dimensions counted from the back do not.
    """

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.bmm(self.q_proj(x), self.k_proj(x).transpose(1, 2))
        return softmax(scores, -1) @ self.v_proj(x)


@self_attention_exercise.misconception
class ForNoBatchDimension(SelfAttention):
    """Your layer works only for a single sequence, without a batch.

    `...` stands for any number of dimensions before the last two. `mm` and `t` know matrices alone; `@` multiplies the
    last two dimensions and carries the others along.
    """

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.mm(self.q_proj(x), self.k_proj(x).transpose(-2, -1))
        return softmax(scores, -1) @ self.v_proj(x)


@self_attention_exercise.misconception
class OverflowingSoftmax(SelfAttention):
    """Your weights overflow for large scores.

    The exponential of a score above 88 is inf in float32, and inf/inf is NaN. Use the stable softmax that you built.
    """

    def forward(self, x: Tensor) -> Tensor:
        powers = similarity_scores(self.q_proj(x), self.k_proj(x)).exp()
        return powers / powers.sum(-1, keepdim=True) @ self.v_proj(x)


@self_attention_exercise.misconception
class ScaledAndFutureHidden(SelfAttention):
    """You divide the scores by the square root of d_k, and let every element look only at itself and at those before.

    That is a head of a language model, as later chapters build it. Here neither is asked for: the lookup is unscaled,
    and every element looks at all of them.
    """

    def forward(self, x: Tensor) -> Tensor:
        found = similarity_scores(self.q_proj(x), self.k_proj(x)) / math.sqrt(self.q_proj.out_features)
        later = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool, device=x.device).triu(1)
        return softmax(found.masked_fill(later, -math.inf), -1) @ self.v_proj(x)


@self_attention_exercise.misconception
class ScaledByTheModelWidth(SelfAttention):
    """You divide the scores by the square root of d_model.

    No division is asked for here. Where the next chapter brings one in, it is by the width of the queries and keys,
    since that is how many products a score adds up.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x) / math.sqrt(x.shape[-1]), self.k_proj(x), self.v_proj(x))


@self_attention_exercise.misconception
class Squeezed(SelfAttention):
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one and a sequence of one are sizes like any other.
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).squeeze()


@self_attention_exercise.misconception
class NoSoftmax(SelfAttention):
    """You weigh the values by raw scores; the softmax is missing.

    Raw scores do not sum to 1 and may be negative, so the output is no average of the values.
    """

    def forward(self, x: Tensor) -> Tensor:
        return similarity_scores(self.q_proj(x), self.k_proj(x)) @ self.v_proj(x)


@self_attention_exercise.misconception
class ValuesAlone(SelfAttention):
    """You return the projected values: no element looks at any other.

    What is missing is the lookup: the values should be averaged with the weights that queries and keys give.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.v_proj(x)


@self_attention_exercise.misconception
class ValuesNotProjected(SelfAttention):
    """You average the vectors of x themselves; v_proj is not used.

    What an element hands over need not be what it is: v_proj chooses the part that is worth passing on, and its width.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.q_proj(x), self.k_proj(x), x)


@self_attention_exercise.misconception
class WithoutProjections(SelfAttention):
    """You compare the vectors of x themselves; q_proj and k_proj are not used.

    Then every element mostly finds itself, since hardly anything is as similar to it. The projections let it look for
    something else.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(x, x, self.v_proj(x))
