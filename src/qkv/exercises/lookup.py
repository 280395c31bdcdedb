"""Chapter 01: softmax, scores, soft lookup, self-attention."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.forbid import FUSED_ATTENTION, MULTIHEAD, SOFTMAX
from proctor.inputs import normal, seeded
from proctor.properties import gradients, keeps_inputs, other_device, same_in
from qkv.model.lookup import SelfAttention, similarity_scores, soft_lookup, softmax

Seen = dict[str, Any]

softmax_exercise = Exercise(
    softmax,
    section="From scores to weights",
    hints=[
        "What must be true of the weights, whatever the scores are? Two properties; write them down first.",
        "`exp` makes every number positive. Its sum along `dim` should then divide it: does your sum keep the dimension?",
        "exp(1000) is inf, and inf/inf is NaN. Adding the same number to all scores of a row does not change its weights: which number keeps `exp` small?",
    ],
    forbid=[SOFTMAX],
)


def scores() -> tuple[Tensor, int]:
    return normal(2, 3, 5, seed="scores", std=2.0), -1


@softmax_exercise.probe
def along_the_last(softmax: Any) -> Seen:
    """three rows of five scores, softmax along the last dimension"""
    return {"weights": softmax(*scores())}


@softmax_exercise.probe
def along_the_first(softmax: Any) -> Seen:
    """a table of 4 × 6 scores, softmax along dimension 0"""
    return {"weights": softmax(normal(4, 6, seed="table", std=2.0), 0)}


@softmax_exercise.probe
def of_one_row(softmax: Any) -> Seen:
    """a single row of seven scores, without a batch dimension"""
    return {"weights": softmax(normal(7, seed="row"), dim=0)}


@softmax_exercise.probe
def of_huge_scores(softmax: Any) -> Seen:
    """scores of thousands, positive and negative"""
    offset = torch.tensor([[1e4], [-1e4], [0.0]])
    return {"weights": softmax(normal(3, 5, seed="huge") + offset, -1)}


@softmax_exercise.probe
def of_rows_far_apart(softmax: Any) -> Seen:
    """two rows whose scores are thousands apart from each other"""
    return {"weights": softmax(normal(2, 5, seed="apart") + torch.tensor([[0.0], [9e3]]), -1)}


@softmax_exercise.probe
def beside_minus_infinity(softmax: Any) -> Seen:
    """scores of -inf beside finite ones"""
    row = normal(2, 6, seed="hidden")
    row[0, 1], row[0, 4], row[1, 0] = -math.inf, -math.inf, -math.inf
    return {"weights": softmax(row, -1)}


softmax_exercise.property(gradients(scores))
softmax_exercise.property(keeps_inputs(scores))
softmax_exercise.property(same_in(torch.float64, scores))
softmax_exercise.property(same_in(torch.bfloat16, scores))
softmax_exercise.property(other_device(scores))


@softmax_exercise.misconception
def overflows(scores: Tensor, dim: int) -> Tensor:
    """You exponentiate the scores as they are, and large scores overflow.

    exp(89) is already more than float32 can hold; inf divided by inf is NaN. Weights depend only on the differences between scores, so a row may be shifted first.
    """
    powers = scores.exp()
    return powers / powers.sum(dim=dim, keepdim=True)


@softmax_exercise.misconception
def shifted_by_the_global_maximum(scores: Tensor, dim: int) -> Tensor:
    """You subtract the largest score of the whole tensor, not of each row.

    A row that lies far below the global maximum then underflows: all its powers become 0, and 0/0 is NaN.
    """
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


@softmax_exercise.misconception
def always_the_last_dimension(scores: Tensor, dim: int) -> Tensor:
    """You take the softmax along the last dimension, whatever `dim` says.

    The caller decides which dimension the weights sum to 1 along; in attention it happens to be the last.
    """
    return softmax(scores, -1)


@softmax_exercise.misconception
def normalised_over_everything(scores: Tensor, dim: int) -> Tensor:
    """You divide by the sum over the whole tensor, so all weights together sum to 1.

    Each row is a decision of its own: the weights should sum to 1 along `dim`, for every row.
    """
    powers = (scores - scores.max()).exp()
    return powers / powers.sum()


@softmax_exercise.misconception
def not_normalised(scores: Tensor, dim: int) -> Tensor:
    """Your weights are positive but do not sum to 1.

    The powers are there; what is missing is the division by their sum. Without it the result of an average grows with the number of keys.
    """
    return (scores - scores.amax(dim=dim, keepdim=True)).exp()


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
    return softmax(scores, dim).log()


@softmax_exercise.misconception
def sign_reversed(scores: Tensor, dim: int) -> Tensor:
    """Your largest score gets the smallest weight: a sign is reversed.

    A high score means a good match, and a good match should weigh more.
    """
    return softmax(-scores, dim)


@softmax_exercise.misconception
def hard_maximum(scores: Tensor, dim: int) -> Tensor:
    """You give all the weight to the largest score.

    That is the hard lookup: its gradient is zero almost everywhere, so nothing can be learned through it. The softmax gives every entry a share.
    """
    return torch.zeros_like(scores).scatter(dim, scores.argmax(dim=dim, keepdim=True), 1.0)


scores_exercise = Exercise(
    similarity_scores,
    section="Comparing every query with every key",
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
def without_a_batch(similarity_scores: Any) -> Seen:
    """four queries and six keys, without a batch dimension"""
    return {"scores": similarity_scores(normal(4, 3, seed="q"), normal(6, 3, seed="k"))}


@scores_exercise.probe
def two_batch_dimensions(similarity_scores: Any) -> Seen:
    """two batch dimensions before three queries and four keys"""
    return {"scores": similarity_scores(normal(2, 5, 3, 6, seed="q"), normal(2, 5, 4, 6, seed="k"))}


@scores_exercise.probe
def as_many_queries_as_keys(similarity_scores: Any) -> Seen:
    """four queries and four keys of width 4, so that a wrong axis still fits"""
    return {"scores": similarity_scores(normal(4, 4, seed="q"), normal(4, 4, seed="k"))}


scores_exercise.property(gradients(queries_and_keys))
scores_exercise.property(keeps_inputs(queries_and_keys))
scores_exercise.property(same_in(torch.float64, queries_and_keys))
scores_exercise.property(same_in(torch.bfloat16, queries_and_keys))
scores_exercise.property(other_device(queries_and_keys))


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

    Then a component of the query meets a whole key. It only runs where there are as many keys as components, and means nothing there.
    """
    return q @ k


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
    return torch.nn.functional.normalize(q, dim=-1) @ torch.nn.functional.normalize(k, dim=-1).transpose(-2, -1)


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


lookup_exercise = Exercise(
    soft_lookup,
    section="The soft lookup",
    hints=[
        "Three steps: compare, weigh, average. You have built the first two.",
        "One query's weights over all keys should sum to 1. Along which dimension of (query, key) is that?",
        "The average is a matrix product of weights (..., query, key) and values (..., key, d_v).",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def queries_keys_values() -> tuple[Tensor, Tensor, Tensor]:
    return normal(2, 3, 7, seed="q"), normal(2, 5, 7, seed="k"), normal(2, 5, 4, seed="v")


@lookup_exercise.probe
def three_queries_over_five_keys(soft_lookup: Any) -> Seen:
    """three queries over five keys, d_k = 7, d_v = 4"""
    return {"output": soft_lookup(*queries_keys_values())}


@lookup_exercise.probe
def a_single_query(soft_lookup: Any) -> Seen:
    """one query over six keys, without a batch dimension"""
    return {"output": soft_lookup(normal(1, 3, seed="q"), normal(6, 3, seed="k"), normal(6, 2, seed="v"))}


@lookup_exercise.probe
def square_shapes(soft_lookup: Any) -> Seen:
    """four queries, four keys, width four, so that a wrong axis still fits"""
    return {"output": soft_lookup(*(normal(4, 4, seed=name) for name in "qkv"))}


@lookup_exercise.probe
def inside_two_batch_dimensions(soft_lookup: Any) -> Seen:
    """two batch dimensions"""
    shapes = {"q": (2, 3, 4, 6), "k": (2, 3, 5, 6), "v": (2, 3, 5, 7)}
    return {"output": soft_lookup(*(normal(*shape, seed=name) for name, shape in shapes.items()))}


@lookup_exercise.probe
def of_loud_keys(soft_lookup: Any) -> Seen:
    """keys so long that the scores reach hundreds"""
    q, k, v = queries_keys_values()
    return {"output": soft_lookup(q, 100 * k, v)}


lookup_exercise.property(gradients(queries_keys_values))
lookup_exercise.property(keeps_inputs(queries_keys_values))
lookup_exercise.property(same_in(torch.float64, queries_keys_values))
lookup_exercise.property(same_in(torch.bfloat16, queries_keys_values))
lookup_exercise.property(other_device(queries_keys_values))


@lookup_exercise.assembled
def lookup_in_steps(q: Tensor, k: Tensor, v: Tensor, *, compare: Any = similarity_scores, weigh: Any = softmax) -> Tensor:
    return weigh(compare(q, k), -1) @ v


@lookup_exercise.instead_of("weigh")
def softmax_over_queries(scores: Tensor, dim: int) -> Tensor:
    """Your softmax runs over the queries, so the weights of one query do not sum to 1.

    Each query distributes its own attention over the keys; the queries do not compete with each other.
    """
    return softmax(scores, -2)


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
def weights_not_normalised(scores: Tensor, dim: int) -> Tensor:
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


@lookup_exercise.misconception
def keys_averaged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You average the keys; the values are never used.

    Keys say where to look, values say what is found there. The weights come from the keys, the average is over the values.
    """
    return softmax(similarity_scores(q, k), -1) @ k


@lookup_exercise.misconception
def values_compared(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You compare the queries with the values instead of with the keys.

    The keys are what a query is matched against; the values are only what is averaged.
    """
    return softmax(similarity_scores(q, v), -1) @ v


@lookup_exercise.misconception
def plain_average(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You give every key the same weight, so the query does not matter.

    A plain average answers every question alike. The weights should follow from the scores.
    """
    return v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1]).clone()


@lookup_exercise.misconception
def summed_not_averaged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """You multiply the values by the number of keys: a sum where an average belongs.

    The weights of one query already sum to 1, so the weighted sum is the average; nothing more is to be multiplied.
    """
    return soft_lookup(q, k, v) * k.shape[-2]


self_attention_exercise = Exercise(
    SelfAttention,
    section="Self-attention",
    hints=[
        "Queries, keys and values are three different views of the same x. Which attribute makes which view?",
        "You have built the lookup already: it takes queries, keys and values.",
        "Call the three projections on x as functions; nn.Linear works on the last dimension and leaves the others alone.",
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
def one_sequence(self_attention: Any) -> Seen:
    """one sequence of seven vectors, without a batch dimension"""
    return {"output": seeded(self_attention(3, 2, 5))(normal(7, 3, seed="x"))}


@self_attention_exercise.probe
def equal_widths(self_attention: Any) -> Seen:
    """d_model = d_k = d_v = 4, so that swapped projections still fit"""
    return {"output": seeded(self_attention(4, 4, 4))(normal(5, 4, seed="x"))}


@self_attention_exercise.probe
def inside_more_dimensions(self_attention: Any) -> Seen:
    """two batch dimensions, and vectors three times as long"""
    return {"output": build_self_attention(self_attention)(normal(2, 3, 4, 6, seed="x", std=3.0))}


self_attention_exercise.property(gradients(sequence, build_self_attention))
self_attention_exercise.property(keeps_inputs(sequence, build_self_attention))
self_attention_exercise.property(same_in(torch.float64, sequence, build_self_attention))
self_attention_exercise.property(other_device(sequence, build_self_attention))


@self_attention_exercise.misconception
class QueriesAndKeysSwapped(SelfAttention):
    """You use q_proj for the keys and k_proj for the queries.

    The scores come out turned. In training the names would sort themselves out; with weights from elsewhere the result is wrong.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(self.k_proj(x), self.q_proj(x), self.v_proj(x))


@self_attention_exercise.misconception
class KeysFromTheQueries(SelfAttention):
    """You make the keys with q_proj, so every element asks for what it offers.

    With one matrix for both, scores are symmetric: if A attends to B, then B to A. Two matrices let A look for B without being looked for.
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
class ResidualAdded(SelfAttention):
    """You add something to the attention's output: the values themselves.

    A residual connection belongs around this layer, not into it, and comes in a later chapter. Each output is only the weighted average.
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
class WithoutProjections(SelfAttention):
    """You compare the vectors of x themselves; q_proj and k_proj are not used.

    Then every element mostly finds itself, since nothing is as similar to it. The projections let it look for something else.
    """

    def forward(self, x: Tensor) -> Tensor:
        return soft_lookup(x, x, self.v_proj(x))
