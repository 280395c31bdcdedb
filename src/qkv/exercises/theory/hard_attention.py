"""The exercise `hard_attention`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import booleans, distinct, integers, normal, permutation
from proctor.inside.properties import (
    gradients,
    usual,
)
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.theory import (
    hard_attention,
)

exercise = Exercise(
    hard_attention,
    section="The limit of sharp attention",
    minutes=15,
    difficulty=2,
    why="Most proofs about what attention can compute are about this one: a lookup with an exact answer.",
    hints=[
        "Which score can a hidden key have, so that it is never the largest, however small the others are?",
        "The largest score of each row, kept as a column, can be compared with the row itself. What comes out is True "
        "at the best keys, and there may be several.",
        "True and False are 1 and 0: how many are best in a row, and what is the share of each?",
        "`argmax` names one place only. Where two keys are equally good, softmax(β·q·k) never decides, for no β.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def output_by_name(results: Any) -> Seen:
    """Output and weights; the weights are missing where only a tensor, or nothing, came back."""
    if results is None or isinstance(results, Tensor):
        return {"output": results}
    output, weights = results
    return {"weights": weights, "output": output}


def kinds_of_keys(query: int, key: int, d_k: int, d_v: int, *leading: int) -> tuple[Tensor, Tensor, Tensor]:
    """Whole numbers, so that every score is exact; the keys are of three kinds, so that there are several best ones."""
    q = integers(-2, 3, *leading, query, d_k, seed="q").float()
    three = integers(-2, 3, *leading, 3, d_k, seed="kinds").float()
    return q, three[..., integers(0, 3, key, seed="which kind"), :], normal(*leading, key, d_v, seed="v")


def some_allowed(*shape: int) -> Tensor:
    """A mask that allows something in every row."""
    one = integers(0, shape[-1], *shape[:-1], 1, seed="one that is allowed")
    return booleans(*shape, seed="allowed") | (torch.arange(shape[-1]) == one)


def masked_lookup() -> tuple[Tensor, ...]:
    query, key, d_k, d_v = distinct(3, 9, 4, seed="sizes")
    return *kinds_of_keys(query, key, d_k, d_v, 2), some_allowed(2, query, key)


@exercise.probe
def keys_of_three_kinds(attend: Any) -> Seen:
    """keys of three kinds, so that several are the best; no mask"""
    query, d_k, d_v = distinct(3, 8, 3, seed="sizes")
    return output_by_name(attend(*kinds_of_keys(query, 8, d_k, d_v, 2)))


@exercise.probe
def some_keys_hidden(attend: Any) -> Seen:
    """the same under a mask, which hides some of the best keys"""
    return output_by_name(attend(*masked_lookup()))


@exercise.probe
def scores_below_zero(attend: Any) -> Seen:
    """scores that are all negative, under a mask"""
    query, key, d_k, d_v = distinct(3, 9, 4, seed="sizes")
    q, k = integers(1, 4, 2, query, d_k, seed="q"), -integers(1, 3, 2, key, d_k, seed="k")
    v = normal(2, key, d_v, seed="v")
    return output_by_name(attend(q.float(), k.float(), v, some_allowed(2, query, key)))


@exercise.probe
def with_and_without_a_batch(attend: Any) -> Seen:
    """no leading dimension, under a causal mask; two leading dimensions, no mask"""
    n, d_k, d_v, a, b = distinct(2, 9, 5, seed="sizes")
    causal = torch.ones(n, n, dtype=torch.bool).tril()
    alone = output_by_name(attend(*kinds_of_keys(n, n, d_k, d_v), causal))
    many = output_by_name(attend(*kinds_of_keys(3, n, d_k, d_v, a, b), mask=None))
    return {f"{x} alone": y for x, y in alone.items()} | {f"{x} of many": y for x, y in many.items()}


@exercise.probe
def sizes_of_one(attend: Any) -> Seen:
    """one query, one key, d_k = 1, d_v = 1, each in turn"""
    found: Seen = {}
    sizes = [*distinct(3, 8, 3, seed="sizes"), 2]
    for i, word in enumerate(("query", "key", "component", "column")):
        results = attend(*kinds_of_keys(*(1 if i == j else n for j, n in enumerate(sizes))))
        found |= {f"{name} with one {word}": tensor for name, tensor in output_by_name(results).items()}
    return found


@exercise.probe
def nearly_equal_scores(attend: Any) -> Seen:
    """scores that differ by a millionth of themselves: small ones, and large ones"""
    key, d_k, d_v = distinct(6, 12, 3, seed="sizes")
    found: Seen = {}
    for words, scale in (("small", 2.0**-20), ("large", 2.0**20)):
        q, k = torch.zeros(1, d_k), torch.ones(key, d_k)
        q[0, 0] = scale
        k[:, 0] = 3 + 2.0**-18 * integers(0, 3, key, seed=words)  # exact in float32, as the product with q is
        results = attend(q, k, normal(key, d_v, seed="v"))
        found |= {f"{name} of {words} scores": tensor for name, tensor in output_by_name(results).items()}
    return found


@exercise.probe
def tiny_and_huge_scores(attend: Any) -> Seen:
    """scores of about 1e-12, and negative ones of about -1e24, under a mask"""
    query, key, d_k, d_v = distinct(3, 9, 4, seed="sizes")
    q, k = integers(1, 4, query, d_k, seed="q").float(), integers(1, 4, key, d_k, seed="k").float()
    v, mask = normal(key, d_v, seed="v"), some_allowed(query, key)
    mask[0, 0] = False
    mask[0, 1] = True
    found: Seen = {}
    for words, scale in (("tiny", 2.0**-40), ("huge", -(2.0**80))):
        results = attend(scale * q, k, v, mask)
        found |= {f"{name} of {words} scores": tensor for name, tensor in output_by_name(results).items()}
    return found


@exercise.probe
def closer_and_closer(attend: Any) -> Seen:
    """scores below the best one, each next one four times closer to it; keys of three kinds beside them"""
    steps = 4.0 ** torch.arange(-20, 4)
    below = torch.cat([torch.zeros(1), steps])[permutation(len(steps) + 1, seed="order")]
    weights = output_by_name(attend(torch.ones(1, 1), -below[:, None], normal(len(below), 3, seed="v"))).get("weights")
    # a comparison, exact or not, gives every key all of a share or nothing; between lies what a softmax gives
    share = weights / weights.amax() if isinstance(weights, Tensor) else torch.tensor(math.nan)
    query, key, d_k, d_v = distinct(3, 9, 4, seed="sizes")
    beside = output_by_name(attend(*kinds_of_keys(query, key, d_k, d_v)))
    either = bool(((share < 1e-4) | (share > 0.999)).all())
    return {"the weight of each key is a full share or nothing": either} | beside


@exercise.property
def masks_of_every_shape(attend: Any) -> Seen:
    """masks of fewer dimensions than the scores, and of size 1 in some

    Some mask that broadcasts to (..., query, key) is not understood. Sizes of 1 are stretched, and missing dimensions
    are those in front: torch's own operations do both by themselves.
    """
    full = some_allowed(2, 4, 6)
    found: Seen = {}
    for mask in (full[0, 0], full[0, :1], full[0], full[:, :1], full[:1], full):
        results = output_by_name(attend(*kinds_of_keys(4, 6, 3, 5, 2), mask))
        found |= {f"{name} under a mask {tuple(mask.shape)}": tensor for name, tensor in results.items()}
    return found


def values_of_the_lookup() -> tuple[Tensor]:
    return (masked_lookup()[2],)


def of_values_alone(attend: Any) -> Callable[[Tensor], Tensor]:
    q, k, _, mask = masked_lookup()
    return lambda v: output_by_name(attend(q, k, v, mask))["output"]


def lookup_of_one_shape() -> tuple[Tensor, ...]:
    return *kinds_of_keys(4, 4, 4, 4, 4), some_allowed(4, 4, 4)


usual(exercise, masked_lookup, alike=lookup_of_one_shape, without=("gradients",))


exercise.property(gradients(values_of_the_lookup, of_values_alone))  # in q and k it has none that is of use


def hidden_at_minus_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf)


def equal_shares(hidden: Tensor, scores: Tensor) -> Tensor:
    best = (hidden == hidden.amax(-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


def output_then_weights(output: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    return output, weights


@exercise.assembled
def hard_in_steps(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    hide: Any = hidden_at_minus_infinity,
    choose: Any = equal_shares,
    answer: Any = output_then_weights,
) -> Any:
    scores = q @ k.transpose(-2, -1)
    hidden = scores if mask is None else hide(scores, mask)
    weights = choose(hidden, scores)
    return answer(weights @ v, weights)


@exercise.instead_of("hide")
def hidden_at_zero(scores: Tensor, mask: Tensor) -> Tensor:
    """You give hidden keys the score 0.

    Where all the others are negative, 0 is the largest of them: a hidden key wins. Only -inf never does.
    """
    return scores * mask


@exercise.instead_of("hide")
def hidden_at_a_finite_score(scores: Tensor, mask: Tensor) -> Tensor:
    """You give hidden keys a large negative score, and scores can be more negative still.

    -1e9 is low, but not lower than every number. -inf is.
    """
    return scores.masked_fill(~mask, -1e9)


@exercise.instead_of("hide")
def mask_the_other_way(scores: Tensor, mask: Tensor) -> Tensor:
    """You read the mask the other way round: you hide what is allowed.

    True means "may attend". It is the others that have to go.
    """
    return scores.masked_fill(mask, -math.inf)


@exercise.instead_of("hide")
def mask_unused(scores: Tensor, mask: Tensor) -> Tensor:
    """You do not use the mask.

    A hidden key can't be the answer, however good its score is.
    """
    return scores


@exercise.instead_of("choose")
def first_of_equals(hidden: Tensor, scores: Tensor) -> Tensor:
    """Of equally good keys you take the first.

    `argmax` does so. The softmax gives equal scores equal weights whatever β is, and so does its limit.
    """
    return F.one_hot(hidden.argmax(-1), hidden.shape[-1]).to(scores.dtype)


@exercise.instead_of("choose")
def one_for_each(hidden: Tensor, scores: Tensor) -> Tensor:
    """Each of the best keys gets the weight 1; they should share it.

    A row of weights sums to 1: three that are equally good have a third each.
    """
    return (hidden == hidden.amax(-1, keepdim=True)).to(scores.dtype)


@exercise.instead_of("choose")
def softmax_itself(hidden: Tensor, scores: Tensor) -> Tensor:
    """You take the softmax of the scores.

    That is β = 1. In the limit of a large β nothing is left for any key but the best.
    """
    return hidden.softmax(-1)


@exercise.instead_of("choose")
def softmax_with_a_large_beta(hidden: Tensor, scores: Tensor) -> Tensor:
    """You take a softmax with some large β, which is not large enough for scores that lie close together.

    For every β there are scores that it does not tell apart. The limit asks only which one is the largest.
    """
    return (1e4 * hidden).softmax(-1)


@exercise.instead_of("choose")
def nearly_best_shares(hidden: Tensor, scores: Tensor) -> Tensor:
    """Keys that are only nearly the best get a share: you compare with a tolerance.

    In the limit the smallest difference decides. Compare by ==.
    """
    best = torch.isclose(hidden, hidden.amax(-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


@exercise.instead_of("choose")
def a_little_below_the_best(hidden: Tensor, scores: Tensor) -> Tensor:
    """Keys whose score is a little below the best get a share: you compare with a tolerance, the same for all scores.

    Where all scores are small, all keys are within it. In the limit the smallest difference decides: compare by ==.
    """
    best = (hidden >= hidden.amax(-1, keepdim=True) - 1e-6).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


@exercise.instead_of("choose")
def best_query_of_each_key(hidden: Tensor, scores: Tensor) -> Tensor:
    """You look for the largest score along the queries: each key chooses a query.

    Each query chooses among the keys, which are the last dimension.
    """
    return equal_shares(hidden.transpose(-2, -1), scores).transpose(-2, -1)


@exercise.instead_of("choose")
def lowest_wins(hidden: Tensor, scores: Tensor) -> Tensor:
    """The key with the smallest score wins.

    A high score says that key and query fit: the largest one wins.
    """
    return equal_shares((-hidden).masked_fill(hidden == -math.inf, -math.inf), scores)


@exercise.instead_of("choose")
def all_share_alike(hidden: Tensor, scores: Tensor) -> Tensor:
    """You share the weight among all allowed keys alike.

    That is the other limit, β = 0, where scores do not count.
    """
    allowed = (hidden != -math.inf).to(scores.dtype)
    return allowed / allowed.sum(-1, keepdim=True)


@exercise.instead_of("choose")
def hidden_keys_share(hidden: Tensor, scores: Tensor) -> Tensor:
    """Hidden keys whose score equals the best allowed one get a share.

    The mask decides who may be the best, and also who may share with it.
    """
    best = (scores == hidden.amax(-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


@exercise.instead_of("answer")
def weights_before_output(output: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """You return the weights first.

    It is (output, weights), as in `scaled_dot_product_attention`.
    """
    return weights, output


@exercise.misconception
def masked_after_the_choice(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You apply the mask to the weights, after the best keys are chosen.

    Where a hidden key was the best, nothing is left for the others. The choice is made among allowed keys.
    """
    weights = hard_attention(q, k, v)[1]
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


squeezes(exercise)
unpacks(exercise, "q", "batch", "query", "d_k")
