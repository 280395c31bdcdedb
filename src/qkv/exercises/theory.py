"""Chapter 15: hard attention, RASP's two verbs, brackets, a head and a network by hand, induction, rank collapse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import booleans, distinct, integers, normal, number, permutation, whole
from proctor.inside.properties import (
    DTYPES,
    default_dtype,
    follows_default_dtype,
    gradients,
    in_either_default,
    usual,
)
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.theory import (
    boolean_ffn,
    bracket_state,
    hard_attention,
    induction_head,
    offset_head,
    rank_residual,
    select_aggregate,
)

Seen = dict[str, Any]

# what cannot be asked of a function without floating input
FLOATING = ("gradients", *(f"in_{str(dtype).removeprefix('torch.')}" for dtype in DTYPES))

# hard_attention -------------------------------------------------------------------------------------------------------

sharp = Exercise(
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


@sharp.probe
def keys_of_three_kinds(attend: Any) -> Seen:
    """keys of three kinds, so that several are the best; no mask"""
    query, d_k, d_v = distinct(3, 8, 3, seed="sizes")
    return output_by_name(attend(*kinds_of_keys(query, 8, d_k, d_v, 2)))


@sharp.probe
def some_keys_hidden(attend: Any) -> Seen:
    """the same under a mask, which hides some of the best keys"""
    return output_by_name(attend(*masked_lookup()))


@sharp.probe
def scores_below_zero(attend: Any) -> Seen:
    """scores that are all negative, under a mask"""
    query, key, d_k, d_v = distinct(3, 9, 4, seed="sizes")
    q, k = integers(1, 4, 2, query, d_k, seed="q"), -integers(1, 3, 2, key, d_k, seed="k")
    v = normal(2, key, d_v, seed="v")
    return output_by_name(attend(q.float(), k.float(), v, some_allowed(2, query, key)))


@sharp.probe
def with_and_without_a_batch(attend: Any) -> Seen:
    """no leading dimension, under a causal mask; two leading dimensions, no mask"""
    n, d_k, d_v, a, b = distinct(2, 9, 5, seed="sizes")
    causal = torch.ones(n, n, dtype=torch.bool).tril()
    alone = output_by_name(attend(*kinds_of_keys(n, n, d_k, d_v), causal))
    many = output_by_name(attend(*kinds_of_keys(3, n, d_k, d_v, a, b), mask=None))
    return {f"{x} alone": y for x, y in alone.items()} | {f"{x} of many": y for x, y in many.items()}


@sharp.probe
def sizes_of_one(attend: Any) -> Seen:
    """one query, one key, d_k = 1, d_v = 1, each in turn"""
    found: Seen = {}
    sizes = [*distinct(3, 8, 3, seed="sizes"), 2]
    for i, word in enumerate(("query", "key", "component", "column")):
        results = attend(*kinds_of_keys(*(1 if i == j else n for j, n in enumerate(sizes))))
        found |= {f"{name} with one {word}": tensor for name, tensor in output_by_name(results).items()}
    return found


@sharp.probe
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


@sharp.probe
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


@sharp.property
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


usual(sharp, masked_lookup, alike=lookup_of_one_shape, without=("gradients",))
sharp.property(gradients(values_of_the_lookup, of_values_alone))  # in q and k it has none that is of use


def hidden_at_minus_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf)


def equal_shares(hidden: Tensor, scores: Tensor) -> Tensor:
    best = (hidden == hidden.amax(-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


def output_then_weights(output: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    return output, weights


@sharp.assembled
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


@sharp.instead_of("hide")
def hidden_at_zero(scores: Tensor, mask: Tensor) -> Tensor:
    """You give hidden keys the score 0.

    Where all the others are negative, 0 is the largest of them: a hidden key wins. Only -inf never does.
    """
    return scores * mask


@sharp.instead_of("hide")
def hidden_at_a_finite_score(scores: Tensor, mask: Tensor) -> Tensor:
    """You give hidden keys a large negative score, and scores can be more negative still.

    -1e9 is low, but not lower than every number. -inf is.
    """
    return scores.masked_fill(~mask, -1e9)


@sharp.instead_of("hide")
def mask_the_other_way(scores: Tensor, mask: Tensor) -> Tensor:
    """You read the mask the other way round: you hide what is allowed.

    True means "may attend". It is the others that have to go.
    """
    return scores.masked_fill(mask, -math.inf)


@sharp.instead_of("hide")
def mask_unused(scores: Tensor, mask: Tensor) -> Tensor:
    """You do not use the mask.

    A hidden key can't be the answer, however good its score is.
    """
    return scores


@sharp.instead_of("choose")
def first_of_equals(hidden: Tensor, scores: Tensor) -> Tensor:
    """Of equally good keys you take the first.

    `argmax` does so. The softmax gives equal scores equal weights whatever β is, and so does its limit.
    """
    return F.one_hot(hidden.argmax(-1), hidden.shape[-1]).to(scores.dtype)


@sharp.instead_of("choose")
def one_for_each(hidden: Tensor, scores: Tensor) -> Tensor:
    """Each of the best keys gets the weight 1; they should share it.

    A row of weights sums to 1: three that are equally good have a third each.
    """
    return (hidden == hidden.amax(-1, keepdim=True)).to(scores.dtype)


@sharp.instead_of("choose")
def softmax_itself(hidden: Tensor, scores: Tensor) -> Tensor:
    """You take the softmax of the scores.

    That is β = 1. In the limit of a large β nothing is left for any key but the best.
    """
    return hidden.softmax(-1)


@sharp.instead_of("choose")
def softmax_with_a_large_beta(hidden: Tensor, scores: Tensor) -> Tensor:
    """You take a softmax with some large β, which is not large enough for scores that lie close together.

    For every β there are scores that it does not tell apart. The limit asks only which one is the largest.
    """
    return (1e4 * hidden).softmax(-1)


@sharp.instead_of("choose")
def nearly_best_shares(hidden: Tensor, scores: Tensor) -> Tensor:
    """Keys that are only nearly the best get a share: you compare with a tolerance.

    In the limit the smallest difference decides. Compare by ==.
    """
    best = torch.isclose(hidden, hidden.amax(-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


@sharp.instead_of("choose")
def best_query_of_each_key(hidden: Tensor, scores: Tensor) -> Tensor:
    """You look for the largest score along the queries: each key chooses a query.

    Each query chooses among the keys, which are the last dimension.
    """
    return equal_shares(hidden.transpose(-2, -1), scores).transpose(-2, -1)


@sharp.instead_of("choose")
def lowest_wins(hidden: Tensor, scores: Tensor) -> Tensor:
    """The key with the smallest score wins.

    A high score says that key and query fit: the largest one wins.
    """
    return equal_shares((-hidden).masked_fill(hidden == -math.inf, -math.inf), scores)


@sharp.instead_of("choose")
def all_share_alike(hidden: Tensor, scores: Tensor) -> Tensor:
    """You share the weight among all allowed keys alike.

    That is the other limit, β = 0, where scores do not count.
    """
    allowed = (hidden != -math.inf).to(scores.dtype)
    return allowed / allowed.sum(-1, keepdim=True)


@sharp.instead_of("choose")
def hidden_keys_share(hidden: Tensor, scores: Tensor) -> Tensor:
    """Hidden keys whose score equals the best allowed one get a share.

    The mask decides who may be the best, and also who may share with it.
    """
    best = (scores == hidden.amax(-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


@sharp.instead_of("answer")
def weights_before_output(output: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """You return the weights first.

    It is (output, weights), as in `scaled_dot_product_attention`.
    """
    return weights, output


@sharp.misconception
def masked_after_the_choice(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """You apply the mask to the weights, after the best keys are chosen.

    Where a hidden key was the best, nothing is left for the others. The choice is made among allowed keys.
    """
    weights = hard_attention(q, k, v)[1]
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


# select_aggregate -----------------------------------------------------------------------------------------------------

selecting = Exercise(
    select_aggregate,
    section="Select and aggregate",
    minutes=15,
    difficulty=2,
    why="With these two verbs, programs that attention can run are written in a line or two: this is RASP.",
    hints=[
        "Every query meets every key. Which two shapes broadcast to (..., query, key)?",
        "The answer of the predicate is the pattern of a head that is all or nothing. Sum the selected values, and "
        "count them.",
        "Where nothing is selected you would divide by 0. It is not enough to replace the NaN afterwards, since the "
        "gradient has passed it: what can you divide by instead, where the count is 0?",
    ],
    equivalents={
        "precise = torch.promote_types(values.dtype, torch.float32)  ->  "
        "precise = torch.promote_types(torch.float32, values.dtype)": "promotion does not ask for the order",
        "precise = torch.promote_types(values.dtype, torch.float32)  ->  precise = values.dtype": (
            "the same to the precision of the dtypes looked at; answers need not be better"
        ),
        "means = kept.sum(dim=-1) / count.clamp(min=1)  ->  means = kept.sum(dim=-1) / count.clamp(min=0)": (
            "`where` lets no gradient through to what is not selected, so that NaN stays outside"
        ),
    },
)


def three_rows(query: int, key: int, *leading: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys of a few kinds; some queries find no key."""
    queries, keys = integers(0, 5, *leading, query, seed="queries"), integers(0, 4, *leading, key, seed="keys")
    queries[..., 0], queries[..., 1] = 4, keys[..., 0]
    return queries, keys, normal(*leading, key, seed="values", mean=1.0)


def equal_tokens() -> tuple[Any, ...]:
    query, key = distinct(4, 10, 2, seed="sizes")
    return *three_rows(query, key, 3), torch.eq, number(2.0, 5.0, seed="default")


@selecting.probe
def where_tokens_are_equal(select_aggregate: Any) -> Seen:
    """tokens that are compared by torch.eq, some of which are found nowhere; no default given"""
    query, key = distinct(4, 10, 2, seed="sizes")
    return {"means": select_aggregate(*three_rows(query, key, 2), torch.eq)}


@selecting.probe
def where_the_query_is_smaller(select_aggregate: Any) -> Seen:
    """queries and keys that are compared by torch.lt, query < key, with a default"""
    query, key = distinct(4, 10, 2, seed="sizes")
    return {"means": select_aggregate(*three_rows(query, key, 2), torch.lt, number(2.0, 5.0, seed="default"))}


@selecting.probe
def where_positions_are_compared(select_aggregate: Any) -> Seen:
    """no leading dimension: the mean of all up to three positions before; and of those after"""
    n = whole(5, 12, seed="n")
    at, values = torch.arange(n), normal(n, seed="values", mean=1.0)
    default = number(-5.0, -2.0, seed="default")
    return {
        "means before": select_aggregate(at, at, values, lambda q, k: (k < q) & (k >= q - 3), default),
        "means after": select_aggregate(at, at, values, lambda q, k: k > q, default=default),
    }


@selecting.probe
def where_the_mean_is_zero(select_aggregate: Any) -> Seen:
    """values that are -1, 0 and 1, so that a mean may be 0; a default that is not"""
    queries, keys, _ = three_rows(9, 12, 2)
    values = integers(-1, 2, 2, 12, seed="small values").float()
    queries[..., 2], keys[..., 1], keys[..., 2] = 7, 7, 7
    values[..., 1], values[..., 2] = 1.0, -1.0
    return {"means": select_aggregate(queries, keys, values, torch.eq, number(2.0, 5.0, seed="default"))}


@selecting.probe
def entries_of_other_dtypes(select_aggregate: Any) -> Seen:
    """queries and keys that are halves, in float64, and ones that are True and False"""
    query, key = distinct(5, 10, 2, seed="sizes")
    queries, keys = integers(0, 6, query, seed="queries") / 2, integers(0, 6, key, seed="keys") / 2
    values, default = normal(key, seed="values"), number(2.0, 5.0, seed="default")
    return {
        "means of halves": select_aggregate(queries.double(), keys.double(), values, torch.ge, default),
        "means of yes and no": select_aggregate(queries > 1, keys > 1, values, torch.ne, default),
    }


@selecting.probe
def many_and_ones(select_aggregate: Any) -> Seen:
    """two leading dimensions; one query; one key"""
    a, b, n = distinct(2, 7, 3, seed="sizes")
    default = number(2.0, 5.0, seed="default")
    queries, keys, values = three_rows(8, n, a)
    return {
        "means of many": select_aggregate(*three_rows(5, n, a, b), torch.le, default),
        "mean of one query": select_aggregate(queries[:, 1:2], keys, values, torch.eq, default),
        "means over one key": select_aggregate(queries, keys[:, :1], values[:, :1], torch.eq, default),
    }


def gradient_of_values(result: Tensor, values: Tensor) -> Tensor:
    """The gradient of the means, each with a weight of its own; 0 if there is no graph."""
    if not result.requires_grad:
        return torch.zeros_like(values)
    (found,) = torch.autograd.grad(result, values, normal(*result.shape, seed="incoming").to(result.dtype))
    return found


@selecting.probe
def gradient_where_nothing_is_selected(select_aggregate: Any) -> Seen:
    """the gradient in the values, where some queries select nothing"""
    queries, keys, values, predicate, default = equal_tokens()
    result = select_aggregate(queries, keys, values.requires_grad_(), predicate, default)
    return {"gradient": gradient_of_values(result, values)}


@selecting.remark
def predicates_of_one_alone(select_aggregate: Any) -> Seen:
    """predicates that look at the key alone

    A predicate that looks at the keys alone, as `lambda query, key: key > 0`, answers (..., 1, key), and with it your
    code fails or gives another shape. The contract asks for predicates of both; expanded to (..., query, key) the
    answer would do in either case.
    """
    try:
        found = select_aggregate(*three_rows(4, 6, 2), lambda query, key: key > 0)
        return {"understood": tuple(found.shape) == (2, 4)}
    except (RuntimeError, ValueError, IndexError):
        return {"understood": False}


def tokens_of_one_shape() -> tuple[Any, ...]:
    return *three_rows(5, 5, 2), torch.eq, 2.0


usual(selecting, equal_tokens, alike=tokens_of_one_shape)


def every_pair(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    return predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))


def mean_of_selected(selected: Tensor, values: Tensor) -> Tensor:
    return sum_of_selected(selected, values) / selected.sum(-1).clamp(min=1)


def default_where_none(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    return means.masked_fill(~selected.any(-1), default)


@selecting.assembled
def select_in_steps(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    predicate: Any,
    default: float = 0.0,
    *,
    select: Any = every_pair,
    aggregate: Any = mean_of_selected,
    otherwise: Any = default_where_none,
) -> Tensor:
    selected = select(queries, keys, predicate)
    return otherwise(aggregate(selected, values), selected, values, default)


@selecting.instead_of("select")
def key_before_query(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You hand the key to the predicate first.

    It is predicate(query, key). For torch.eq that makes no difference, for torch.lt it does.
    """
    return predicate(keys.unsqueeze(-2), queries.unsqueeze(-1))


@selecting.instead_of("select")
def equality_whatever_was_asked(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You select equal entries, whatever the predicate says.

    The predicate is the program: it may ask for smaller ones, for neighbours, for anything.
    """
    return queries.unsqueeze(-1) == keys.unsqueeze(-2)


@selecting.instead_of("select")
def the_others_selected(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You average the keys that are not selected.

    As a mask that hides where it says True. Here True means that the key counts.
    """
    return ~every_pair(queries, keys, predicate)


@selecting.instead_of("select")
def no_looking_ahead(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You let a query select only keys up to its own place.

    A decoder does so. Here the predicate alone decides; who wants that order compares positions.
    """
    return every_pair(queries, keys, predicate).tril()


@selecting.instead_of("aggregate")
def sum_of_selected(selected: Tensor, values: Tensor) -> Tensor:
    """You sum the selected values; it should be their mean.

    Attention's weights sum to 1, so it can average, and by itself it cannot count.
    """
    return (selected.to(values.dtype) * values.unsqueeze(-2)).sum(-1)


@selecting.instead_of("aggregate")
def divided_by_all_keys(selected: Tensor, values: Tensor) -> Tensor:
    """You divide by the number of all keys.

    The mean is over those that are selected; the others count neither above nor below the line.
    """
    return sum_of_selected(selected, values) / selected.shape[-1]


@selecting.instead_of("aggregate")
def one_key_too_many(selected: Tensor, values: Tensor) -> Tensor:
    """You divide by one more than is selected.

    It avoids the division by 0, and makes every mean too small. Only a count of 0 needs help.
    """
    return sum_of_selected(selected, values) / (selected.sum(-1) + 1)


@selecting.instead_of("aggregate")
def first_selected(selected: Tensor, values: Tensor) -> Tensor:
    """You take the first selected value.

    All that are selected count alike: the answer is their mean.
    """
    first = selected.to(torch.uint8).argmax(-1)
    return values.unsqueeze(-2).expand(selected.shape).gather(-1, first.unsqueeze(-1)).squeeze(-1)


@selecting.instead_of("aggregate")
def largest_selected(selected: Tensor, values: Tensor) -> Tensor:
    """You take the largest selected value.

    The predicate has chosen already; of what it chose you give the mean.
    """
    return values.unsqueeze(-2).masked_fill(~selected, -math.inf).amax(-1)


@selecting.instead_of("aggregate")
def patched_afterwards(selected: Tensor, values: Tensor) -> Tensor:
    """The means are right, but their gradient is NaN: you divide by 0 and replace the NaN afterwards.

    On the way back the gradient passes the division as well, and 0 times infinity is NaN. Divide by something else
    where nothing is selected.
    """
    return sum_of_selected(selected, values) / selected.sum(-1)


@selecting.instead_of("otherwise")
def always_zero_where_none(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    """Where nothing is selected you return 0, whatever `default` says.

    0 is a value as any other. The caller says by what "nothing" is to be recognised.
    """
    return means.masked_fill(~selected.any(-1), 0.0)


@selecting.instead_of("otherwise")
def zero_taken_for_nothing(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    """You put the default wherever the mean is 0.

    A mean can be 0 although something was selected. Ask the count, or `any`.
    """
    return means.masked_fill((means == 0) | ~selected.any(-1), default)


@selecting.instead_of("otherwise")
def mean_of_all_where_none(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    """Where nothing is selected you return the mean of all values.

    A softmax over scores that are all equally low does that. Here it is the default.
    """
    return torch.where(selected.any(-1), means, values.mean(-1, keepdim=True))


@selecting.misconception
def nothing_is_nan(queries: Tensor, keys: Tensor, values: Tensor, predicate: Any, default: float = 0.0) -> Tensor:
    """Where nothing is selected your result is NaN.

    It is 0 divided by 0. There the answer is the default.
    """
    selected = every_pair(queries, keys, predicate)
    return sum_of_selected(selected, values) / selected.sum(-1)


@selecting.misconception
def default_for_every_other(
    queries: Tensor, keys: Tensor, values: Tensor, predicate: Any, default: float = 0.0
) -> Tensor:
    """Every key that is not selected counts with the default.

    The default is the answer where no key at all is selected. Keys that are not selected do not count.
    """
    return torch.where(every_pair(queries, keys, predicate), values.unsqueeze(-2), default).mean(-1)


# bracket_state --------------------------------------------------------------------------------------------------------

brackets = Exercise(
    bracket_state,
    section="Do the brackets close?",
    minutes=10,
    difficulty=1,
    why="A language with nesting, read without recursion: two counts and a minimum, which attention can do.",
    hints=[
        "Count +1 for an opening, -1 for a closing bracket, 0 for all else. What does the running sum say?",
        "A text is lost as soon as that sum was below 0 once. What do you have to know of all sums so far?",
        "`cumsum` gives the sum up to each token, `cummin(…).values` the smallest so far.",
    ],
    equivalents={
        "return torch.where(lowest < 0, 2, (depth > 0).long())  ->  return torch.where(lowest < 0, 2, depth > 0)": (
            "beside a whole number a bool becomes int64"
        ),
    },
)

A_TEXT = (1, 1, 1, 1, 2, 2, 0, 3)  # which more often opens than closes, so that not all are lost


def bracket_text(*shape: int, seed: str = "text") -> Tensor:
    return torch.tensor(A_TEXT)[integers(0, len(A_TEXT), *shape, seed=seed)]


def some_texts() -> tuple[Tensor]:
    return (bracket_text(*distinct(4, 14, 2, seed="sizes")),)


@brackets.probe
def texts_with_brackets(bracket_state: Any) -> Seen:
    """several texts, with tokens between the brackets"""
    return {"states": bracket_state(*some_texts())}


@brackets.probe
def one_text_of_brackets(bracket_state: Any) -> Seen:
    """one text, no leading dimension: brackets alone, as often closed as opened"""
    half = whole(5, 9, seed="half")
    return {"states": bracket_state(1 + permutation(2 * half, seed="order") % 2)}


@brackets.probe
def lost_and_opened_again(bracket_state: Any) -> Seen:
    """texts that close too much, and then open again"""
    before, after = distinct(2, 7, 2, seed="sizes")
    lost = torch.tensor([[1, 2, 2], [2, 1, 0], [0, 2, 1]])
    parts = [bracket_text(3, before, seed="before"), lost, torch.ones(3, 3).long(), bracket_text(3, after)]
    return {"states": bracket_state(torch.cat(parts, -1)), "states at once": bracket_state(torch.cat(parts[1:], -1))}


@brackets.probe
def pairs_that_close(bracket_state: Any) -> Seen:
    """texts of pieces that are balanced, such as () and (()), never lost"""
    pieces = ([1, 2], [1, 1, 2, 2], [1, 0, 2], [3], [1, 2, 1, 2], [1, 1, 2, 1, 2, 2])
    drawn = integers(0, len(pieces), 8, seed="pieces").tolist()
    text = [token for i in drawn for token in pieces[i]]
    return {"states": bracket_state(torch.tensor([1, *text, 2, *text]))}


@brackets.probe
def tokens_that_are_no_brackets(bracket_state: Any) -> Seen:
    """ids that are negative, 0, 3, 4 or large between the brackets"""
    ids = bracket_text(5, whole(7, 15, seed="n"))
    others = torch.tensor([-2, -1, 0, 3, 4, 50_000])[integers(0, 6, *ids.shape, seed="others")]
    ids = torch.where(booleans(*ids.shape, seed="where", p=0.4), others, ids)
    return {"states": bracket_state(ids), "states without brackets": bracket_state(others)}


@brackets.probe
def deeply_nested(bracket_state: Any) -> Seen:
    """some hundred brackets that are opened, then as many closed, and one more"""
    deep = whole(260, 300, seed="deep")
    return {"states": bracket_state(torch.tensor([1] * deep + [2] * (deep + 1)))}


@brackets.probe
def many_texts_and_short_ones(bracket_state: Any) -> Seen:
    """two leading dimensions; texts of one token"""
    a, b, n = distinct(2, 8, 3, seed="sizes")
    return {
        "states of many": bracket_state(bracket_text(a, b, n)),
        "states of one token": bracket_state(torch.cat([bracket_text(a, 1), torch.tensor([[2], [1], [5]])])),
    }


usual(brackets, some_texts, without=FLOATING)


def up_and_down(ids: Tensor) -> Tensor:
    return (ids == 1).long() - (ids == 2).long()


def running_sum(steps: Tensor) -> Tensor:
    return steps.cumsum(-1)


def ever_below_zero(depth: Tensor) -> Tensor:
    return depth.cummin(-1).values < 0


def three_states(depth: Tensor, lost: Tensor) -> Tensor:
    return torch.where(lost, 2, (depth > 0).long())


@brackets.assembled
def brackets_in_steps(
    ids: Tensor,
    *,
    step: Any = up_and_down,
    add: Any = running_sum,
    losing: Any = ever_below_zero,
    state: Any = three_states,
) -> Tensor:
    depth = add(step(ids))
    return state(depth, losing(depth))


@brackets.instead_of("step")
def closing_opens(ids: Tensor) -> Tensor:
    """You take 2 for opening and 1 for closing.

    1 opens, 2 closes.
    """
    return -up_and_down(ids)


@brackets.instead_of("step")
def all_else_closes(ids: Tensor) -> Tensor:
    """Whatever does not open counts as closing.

    There are other tokens, too: they change nothing.
    """
    return torch.where(ids == 1, 1, -1)


@brackets.instead_of("step")
def larger_ids_close(ids: Tensor) -> Tensor:
    """Every id from 2 on counts as closing.

    2 closes; 3 and all above are no brackets.
    """
    return (ids == 1).long() - (ids >= 2).long()


@brackets.instead_of("add")
def whole_text_judged(steps: Tensor) -> Tensor:
    """You judge the whole text and say the same at every token.

    The state is asked for after each token, from what has been read so far.
    """
    return steps.sum(-1, keepdim=True).expand(steps.shape)


@brackets.instead_of("add")
def one_token_late(steps: Tensor) -> Tensor:
    """Your state is the one before each token.

    The token itself counts: after a first opening bracket something is open.
    """
    return steps.cumsum(-1) - steps


@brackets.instead_of("add")
def along_the_first_dimension(steps: Tensor) -> Tensor:
    """You count along the first dimension, from one text to the next.

    A text runs along the last dimension; each is read by itself.
    """
    return steps.cumsum(0)


@brackets.instead_of("losing")
def loss_forgiven(depth: Tensor) -> Tensor:
    """You look only at how many are open now, so a text that was lost recovers.

    A closing bracket without a partner stays without one, whatever is opened later. ")(" is not balanced.
    """
    return depth < 0


@brackets.instead_of("losing")
def lost_before_it_happens(depth: Tensor) -> Tensor:
    """A text that is lost somewhere is lost from its first token on.

    You take the smallest depth of the whole text. Before the fatal token everything could still have become right.
    """
    return (depth.amin(-1, keepdim=True) < 0).expand(depth.shape)


@brackets.instead_of("losing")
def lost_at_the_end_only(depth: Tensor) -> Tensor:
    """A text counts as lost if more is closed than opened at its end.

    It is lost as soon as that was so once, even if the numbers are equal in the end.
    """
    return (depth[..., -1:] < 0).expand(depth.shape)


@brackets.instead_of("losing")
def never_lost(depth: Tensor) -> Tensor:
    """You never say that a text is lost.

    More closed than opened can't be mended: that is state 2.
    """
    return torch.zeros_like(depth, dtype=torch.bool)


@brackets.instead_of("state")
def depth_for_state(depth: Tensor, lost: Tensor) -> Tensor:
    """Where brackets are open you return how many.

    One state stands for all of them: 1.
    """
    return torch.where(lost, 2, depth)


@brackets.instead_of("state")
def balanced_is_one(depth: Tensor, lost: Tensor) -> Tensor:
    """You return 1 for balanced and 0 for open.

    It is the other way round: 0 is balanced, 1 is open.
    """
    return torch.where(lost, 2, (depth == 0).long())


@brackets.instead_of("state")
def lost_is_minus_one(depth: Tensor, lost: Tensor) -> Tensor:
    """You return -1 where a text is lost.

    The sign of the depth is near, but the third state is called 2.
    """
    return torch.where(lost, -1, (depth > 0).long())


@brackets.instead_of("state")
def parity_of_the_depth(depth: Tensor, lost: Tensor) -> Tensor:
    """You return whether the depth is odd.

    Two brackets that are open are not balanced either: what counts is whether the depth is above 0.
    """
    return torch.where(lost, 2, depth % 2)


@brackets.misconception
def closing_nothing_ignored(ids: Tensor) -> Tensor:
    """A closing bracket that has no partner is passed over in silence.

    As with a stack that is not popped when it is empty. Such a bracket loses the text for good.
    """
    depth = running_sum(up_and_down(ids))
    return (depth > depth.cummin(-1).values.clamp(max=0)).long()


@brackets.misconception
def last_token_alone(ids: Tensor) -> Tensor:
    """You look at the last token alone: open after 1, balanced otherwise.

    A closing bracket closes one; more may still be open, and none may have been.
    """
    return (ids == 1).long()


@brackets.misconception
def state_of_the_end_alone(ids: Tensor) -> Tensor:
    """You return one state for each text: that after its last token.

    The state is asked for after every token: (..., seq).
    """
    return bracket_state(ids)[..., -1]


# offset_head ----------------------------------------------------------------------------------------------------------

looking_back = Exercise(
    offset_head,
    section="A head that looks back",
    minutes=15,
    difficulty=2,
    why="A head that attends to the previous token is found in most language models; here are its weights.",
    hints=[
        "If the query at i were the code of i - k itself, where would its dot product with the codes be largest?",
        "Chapter 4 has a matrix that moves every code by some positions, and it may move them back.",
        "w_q stands in P @ w_q.T: each row of P, as a column, is multiplied by w_q from the left. The keys may stay "
        "as they are.",
        "beta has to come into the product once: into w_q, into w_k, or its root into both.",
    ],
)


def codes(length: int, d_model: int, base: float) -> Tensor:
    """Sinusoidal codes as `sinusoidal_positions` has them, in float64."""
    frequencies = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def outline(weights: Tensor) -> Tensor:
    """Shape and dtype of weights without their entries: all are one number, which another shape would not have."""
    return torch.full_like(weights, sum(size * 10**i for i, size in enumerate(weights.shape)))


def scores_of(results: Any, d_model: int, base: float = 10000.0, length: int = 12) -> Seen:
    """The scores that two matrices give, and of themselves only shape and dtype: right ones have many forms."""
    w_q, w_k = results
    found: Seen = {"w_q": outline(w_q), "w_k": outline(w_k)}
    scores = torch.full((length, length), math.nan, dtype=w_q.dtype)
    if tuple(w_q.shape) == tuple(w_k.shape) == (d_model, d_model):
        positions = codes(length, d_model, base)
        scores = (positions.to(w_q.dtype) @ w_q.T) @ (positions.to(w_k.dtype) @ w_k.T).T
    return found | {"scores": scores}


def even_width(low: int, high: int, *, seed: str) -> int:
    return 2 * whole(low // 2, high // 2, seed=seed)


@looking_back.probe
def some_positions_back(offset_head: Any) -> Seen:
    """two to six positions back"""
    d_model = even_width(4, 14, seed="width")
    k, beta = whole(2, 7, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta), d_model)


@looking_back.probe
def some_positions_ahead(offset_head: Any) -> Seen:
    """a negative k: two to six positions ahead"""
    d_model = even_width(4, 14, seed="width")
    k, beta = -whole(2, 7, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta), d_model)


@looking_back.probe
def the_previous_one(offset_head: Any) -> Seen:
    """k = 1, the previous position, with a beta below 1"""
    d_model = even_width(6, 18, seed="width")
    return scores_of(offset_head(1, d_model, number(0.2, 0.6, seed="beta")), d_model)


@looking_back.probe
def its_own_place(offset_head: Any) -> Seen:
    """k = 0: every position looks at itself"""
    d_model = even_width(4, 14, seed="width")
    return scores_of(offset_head(0, d_model, number(5.0, 9.0, seed="beta")), d_model)


@looking_back.probe
def before_the_beginning(offset_head: Any) -> Seen:
    """a k that is larger than every position"""
    d_model = even_width(4, 14, seed="width")
    k, beta = whole(20, 60, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta), d_model)


@looking_back.probe
def one_pair_of_waves(offset_head: Any) -> Seen:
    """width 2: a single sine and cosine"""
    return scores_of(offset_head(whole(2, 9, seed="k"), 2, number(1.5, 4.0, seed="beta")), 2)


@looking_back.probe
def codes_of_another_base(offset_head: Any) -> Seen:
    """codes of another base"""
    d_model, base = even_width(6, 14, seed="width"), number(20.0, 90.0, seed="base")
    k, beta = whole(2, 7, seed="k"), number(1.5, 4.0, seed="beta")
    return scores_of(offset_head(k, d_model, beta, base=base), d_model, base)


@looking_back.property
def weights_in_the_default_dtype(offset_head: Any) -> Seen:
    """float64 as torch's default dtype

    With float64 as torch's default dtype your weights are neither float64 nor float32, or their scores are not right.
    """
    with default_dtype(torch.float64):
        w_q, w_k = (in_either_default(w) for w in offset_head(2, 4, 1.5))
        seen = scores_of((w_q, w_k), 4)
    return {name: tensor.float() for name, tensor in seen.items()} | {"float64": w_q.dtype == torch.float64}


def first_of_the_weights(offset_head: Any) -> Tensor:
    return offset_head(2, 4, 1.5)[0]


looking_back.remark(follows_default_dtype(first_of_the_weights))


def speeds(d_model: int, base: float) -> Tensor:
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def turned_back(angles: Tensor) -> Tensor:
    cos, sin = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2))


def beta_once(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    return beta * back, torch.eye(len(back), dtype=back.dtype)


@looking_back.assembled
def offset_in_steps(
    k: int,
    d_model: int,
    beta: float,
    base: float = 10000.0,
    *,
    frequencies: Any = speeds,
    turn: Any = turned_back,
    sharpen: Any = beta_once,
) -> Any:
    weights = sharpen(turn(k * frequencies(d_model, base)), beta)
    return tuple(w.to(torch.get_default_dtype()) for w in weights)


@looking_back.instead_of("turn")
def looks_ahead(angles: Tensor) -> Tensor:
    """Your head looks k positions ahead.

    Either the codes are moved by k where it should be -k, or the matrix is made for P @ w_q and is used in P @ w_q.T;
    or it is the keys that are moved back.
    """
    return turned_back(-angles)


@looking_back.instead_of("turn")
def offset_without_effect(angles: Tensor) -> Tensor:
    """Your head looks at its own position, whatever k is.

    If queries and keys are moved alike, the distance between them stays. Move one of the two.
    """
    return turned_back(0 * angles)


@looking_back.instead_of("turn")
def moved_twice(angles: Tensor) -> Tensor:
    """Your head looks 2k positions back.

    The queries are moved back and the keys on, each by k. Move one of the two.
    """
    return turned_back(2 * angles)


@looking_back.instead_of("turn")
def no_minus_in_the_blocks(angles: Tensor) -> Tensor:
    """Both sines in your blocks have the same sign.

    Such a block is no rotation. One of the two addition theorems has a minus.
    """
    cos, sin = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([cos, sin, sin, cos], -1).view(-1, 2, 2))


@looking_back.instead_of("turn")
def joined_across_the_halves(angles: Tensor) -> Tensor:
    """Your matrix joins component i with i + d_model/2, as if all sines came first.

    In these codes the sine and the cosine of a pair are neighbours, 2i and 2i+1.
    """
    cos, sin = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat([torch.cat([cos, -sin], 1), torch.cat([sin, cos], 1)], 0)


@looking_back.instead_of("frequencies")
def one_speed_for_all(d_model: int, base: float) -> Tensor:
    """All pairs turn by the same angle k.

    Each pair has a speed of its own, that of its codes: k·base^(-2i/d_model).
    """
    return torch.ones(d_model // 2, dtype=torch.float64)


@looking_back.instead_of("frequencies")
def half_the_exponent(d_model: int, base: float) -> Tensor:
    """Your exponent is i/d_model instead of 2i/d_model.

    The matrix has to turn each pair as fast as the codes turn.
    """
    return speeds(d_model, base).sqrt()


@looking_back.instead_of("frequencies")
def always_ten_thousand(d_model: int, base: float) -> Tensor:
    """You use the base 10000 whatever `base` says.

    Codes of another base turn at other speeds.
    """
    return speeds(d_model, 10000.0)


@looking_back.instead_of("frequencies")
def speeds_that_rise(d_model: int, base: float) -> Tensor:
    """Your blocks turn faster with i: a minus in the exponent is missing.

    The first pair is the fastest: base^(-2i/d_model).
    """
    return 1 / speeds(d_model, base)


@looking_back.instead_of("sharpen")
def beta_in_both(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """beta is in the queries and in the keys, so the scores have its square.

    It belongs into one of the two, or its root into both.
    """
    return beta * back, beta * torch.eye(len(back), dtype=back.dtype)


@looking_back.instead_of("sharpen")
def beta_left_out(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """You do not use beta.

    Without it neighbouring positions have nearly the same score, and the softmax averages over all of them.
    """
    return back, torch.eye(len(back), dtype=back.dtype)


@looking_back.instead_of("sharpen")
def root_in_one_alone(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """Your scores have the root of beta.

    The root belongs into both matrices; into one alone belongs beta itself.
    """
    return math.sqrt(beta) * back, torch.eye(len(back), dtype=back.dtype)


@looking_back.instead_of("sharpen")
def divided_by_beta(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """You divide by beta: you take it for a temperature.

    A larger beta means a sharper head.
    """
    return back / beta, torch.eye(len(back), dtype=back.dtype)


@looking_back.instead_of("sharpen")
def times_the_root_of_the_width(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """Your scores are √d_model times too large.

    That would be right if they were divided by it afterwards. Here they are not scaled.
    """
    return beta * math.sqrt(len(back)) * back, torch.eye(len(back), dtype=back.dtype)


@looking_back.instead_of("sharpen")
def divided_by_the_root_of_the_width(back: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """You divide by √d_model.

    The scores of this head are not scaled: beta says all about their size.
    """
    return beta / math.sqrt(len(back)) * back, torch.eye(len(back), dtype=back.dtype)


@looking_back.misconception
def one_back_whatever_k(k: int, d_model: int, beta: float, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Your head looks one position back, whatever k is.

    k positions turn each pair k times as far as one.
    """
    return offset_head(1, d_model, beta, base)


@looking_back.misconception
def back_where_ahead_was_asked(k: int, d_model: int, beta: float, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Where k is negative your head looks back all the same.

    A negative k looks ahead: the pairs turn the other way.
    """
    return offset_head(abs(k), d_model, beta, base)


@looking_back.misconception
def components_moved(k: int, d_model: int, beta: float, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """You move the components of a code k places on: ones beside the diagonal.

    That matrix would move one-hot codes. In a sinusoidal code a position is an angle, and moving is turning.
    """
    return beta * torch.roll(torch.eye(d_model), k, 0), torch.eye(d_model)


# boolean_ffn ----------------------------------------------------------------------------------------------------------

by_heart = Exercise(
    boolean_ffn,
    section="A table by heart",
    minutes=15,
    difficulty=2,
    why="It shows that a feed-forward network can compute anything on bits, and what that costs: a unit for each case.",
    hints=[
        "Spend one hidden unit on each case. It should be 1 at its own input and 0 at every other. What is `down` "
        "then?",
        "Let a unit count: +1 for every 1 that its case has too, -1 for every 1 that its case has not. At which input "
        "is this sum the largest, how large is it, and what is it at most elsewhere?",
        "The bias moves that largest value to 1, and then all the others are at 0 or below, where relu silences them.",
        "Bit number j of `case`, with x[0] the highest of n: (case >> (n - 1 - j)) & 1.",
    ],
    equivalents={
        "bias = 1 - bits.sum(dim=-1)  ->  bias = 1 - bits.sum(dim=1)": "of two dimensions 1 is the last",
    },
)


def answers_of(results: Any, table: Tensor) -> Seen:
    """What three weights answer at all corners, and of themselves only shape and dtype: right ones have many forms."""
    up, bias, down = results
    given = {"up": up, "bias": bias, "down": down}
    cases, n = len(table), len(table).bit_length() - 1
    found: Seen = {name: outline(w) for name, w in given.items()}
    answers = torch.full((cases,), math.nan, dtype=table.dtype)
    if [tuple(w.shape) for w in given.values()] == [(cases, n), (cases,), (cases,)]:
        corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n).reshape(cases, n)
        answers = torch.relu(corners.to(up) @ up.T + bias) @ down
    return found | {"answers": answers}


def of_several(boolean_ffn: Any, tables: list[Tensor]) -> Seen:
    found: Seen = {}
    for i, table in enumerate(tables):
        found |= {f"{name} of table {i}": w for name, w in answers_of(boolean_ffn(table), table).items()}
    return found


def truths(n: int, *, seed: str) -> Tensor:
    """A table of zeros and ones that has both."""
    table = integers(0, 2, 2**n, seed=seed).float()
    one, other = distinct(0, 2**n, 2, seed=f"{seed}: both")
    table[one], table[other] = 0.0, 1.0
    return table


@by_heart.probe
def truth_of_three_bits(boolean_ffn: Any) -> Seen:
    """tables of zeros and ones, of three inputs"""
    return of_several(boolean_ffn, [truths(3, seed=seed) for seed in ("table", "another")])


@by_heart.probe
def truth_of_two_bits(boolean_ffn: Any) -> Seen:
    """tables of zeros and ones, of two inputs"""
    return of_several(boolean_ffn, [truths(2, seed=seed) for seed in ("table", "another", "a third", "a fourth")])


@by_heart.probe
def any_numbers(boolean_ffn: Any) -> Seen:
    """a table of any numbers, negative ones too, of three inputs"""
    table = normal(8, seed="table")
    return answers_of(boolean_ffn(table), table)


@by_heart.probe
def one_bit(boolean_ffn: Any) -> Seen:
    """a single input: a table of two numbers"""
    table = normal(2, seed="table")
    return answers_of(boolean_ffn(table), table)


@by_heart.probe
def five_bits(boolean_ffn: Any) -> Seen:
    """a table of numbers of four inputs, and of five"""
    four, five = normal(16, seed="four"), normal(32, seed="five")
    found = answers_of(boolean_ffn(four), four)
    return found | {f"{name} of five": w for name, w in answers_of(boolean_ffn(five), five).items()}


@by_heart.probe
def one_case_alone(boolean_ffn: Any) -> Seen:
    """tables that are 0 but for one case: the first, the last, any other"""
    found: Seen = {}
    size = number(1.5, 4.0, seed="size")
    for words, case in (("first", 0), ("last", 7), ("any other", whole(1, 7, seed="case"))):
        table = torch.zeros(8)
        table[case] = size
        found |= {f"{name}, {words} case": w for name, w in answers_of(boolean_ffn(table), table).items()}
    return found


def whole_table() -> tuple[Tensor]:
    """Whole numbers, of which sums and differences are exact in every dtype."""
    return (integers(-8, 9, 8, seed="table").float(),)


def of_its_answers(boolean_ffn: Any) -> Callable[[Tensor], Any]:
    return lambda table: tuple(answers_of(boolean_ffn(table), table).values())


usual(by_heart, whole_table, of_its_answers)


def highest_bit_first(cases: int) -> Tensor:
    n = cases.bit_length() - 1
    return torch.cartesian_prod(*[torch.tensor([0, 1])] * n).reshape(cases, n)


def plus_and_minus(bits: Tensor) -> Tensor:
    return 2 * bits - 1


def one_at_its_own(bits: Tensor) -> Tensor:
    return 1 - bits.sum(-1)


def answers_down(table: Tensor) -> Tensor:
    return table.clone()


@by_heart.assembled
def boolean_in_steps(
    table: Tensor,
    *,
    read: Any = highest_bit_first,
    weigh: Any = plus_and_minus,
    shift: Any = one_at_its_own,
    tell: Any = answers_down,
) -> Any:
    bits = read(len(table)).to(table.device)
    return weigh(bits).to(table.dtype), shift(bits).to(table.dtype), tell(table)


@by_heart.instead_of("read")
def lowest_bit_first(cases: int) -> Tensor:
    """You read x[0] as the lowest bit.

    It is the highest: (1, 0, 0) is case 4 of 8, as binary numbers are written.
    """
    return highest_bit_first(cases).flip(-1)


@by_heart.instead_of("read")
def zeros_read_as_ones(cases: int) -> Tensor:
    """You take 0 for 1 and 1 for 0: the table is read from its end.

    Case 0 is the input of zeros.
    """
    return 1 - highest_bit_first(cases)


@by_heart.instead_of("weigh")
def zeros_not_asked_for(bits: Tensor) -> Tensor:
    """A unit asks only whether the ones of its case are there, and not whether its zeros are.

    So it fires at every input that has those ones and more. An input that should be 0 needs a negative weight.
    """
    return bits


@by_heart.instead_of("weigh")
def only_zeros_asked_for(bits: Tensor) -> Tensor:
    """A unit has weights only for the zeros of its case; for its ones it has none.

    Then it never reaches its threshold. Each one of its case counts +1.
    """
    return bits - 1


@by_heart.instead_of("weigh")
def up_transposed(bits: Tensor) -> Tensor:
    """`up` is transposed.

    It is (2**n, n), a row for each unit, as in `nn.Linear`: it stands in x @ up.T.
    """
    return plus_and_minus(bits).T


@by_heart.instead_of("shift")
def no_threshold(bits: Tensor) -> Tensor:
    """Your biases are 0.

    Then a unit fires at every input that has more right ones than wrong ones. The bias sets how many are needed.
    """
    return torch.zeros_like(bits[:, 0])


@by_heart.instead_of("shift")
def the_same_bias_for_all(bits: Tensor) -> Tensor:
    """All your units have the bias 1.

    Each case has another number of ones, and with it another threshold.
    """
    return torch.ones_like(bits[:, 0])


@by_heart.instead_of("shift")
def nothing_is_left(bits: Tensor) -> Tensor:
    """At its own case a unit gives 0: your bias takes away all that it has counted.

    The largest sum is the number of ones of the case. After the bias 1 should be left of it.
    """
    return -bits.sum(-1)


@by_heart.instead_of("shift")
def half_is_left(bits: Tensor) -> Tensor:
    """At its own case a unit gives 1/2, so your answers are half of what they should be.

    A threshold between two whole numbers would do for a step function. relu gives what is above it.
    """
    return 0.5 - bits.sum(-1)


@by_heart.instead_of("shift")
def neighbours_fire_too(bits: Tensor) -> Tensor:
    """A unit gives 2 at its own case and 1 at its neighbours: the bias is one too large.

    A neighbour differs in one bit, and its sum is one smaller: it has to end at 0.
    """
    return 2 - bits.sum(-1)


@by_heart.instead_of("shift")
def made_for_minus_one(bits: Tensor) -> Tensor:
    """Your bias is 1 - n, which is right for inputs of -1 and 1.

    Here an input that should be 0 adds nothing where it is 0. The sum to be reached is the number of ones of the case.
    """
    return torch.full_like(bits[:, 0], 1 - bits.shape[-1])


@by_heart.instead_of("tell")
def answers_as_yes_and_no(table: Tensor) -> Tensor:
    """You make 1 of every answer that is not 0.

    The table may hold any numbers; `down` gives them as they are.
    """
    return (table != 0).to(table.dtype)


@by_heart.instead_of("tell")
def first_case_left_out(table: Tensor) -> Tensor:
    """The answer to the input of zeros is missing: yours is 0.

    Case 0 has a unit, too. It has no ones to wait for, so its bias alone makes it fire.
    """
    return torch.cat([torch.zeros_like(table[:1]), table[1:]])


@by_heart.instead_of("tell")
def negative_answers_lost(table: Tensor) -> Tensor:
    """Negative answers become 0.

    After `down` there is no relu any more: negative numbers may stand there.
    """
    return table.clamp(min=0)


@by_heart.misconception
def answers_inside_the_relu(table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You multiply the answers in before the relu.

    It lets no negative answer through, and of a wrong case with a negative answer it makes a positive number. Put them
    behind it, into `down`.
    """
    up, bias, down = boolean_ffn(table)
    return up * table.unsqueeze(-1), bias * table, torch.ones_like(down)


# induction_head -------------------------------------------------------------------------------------------------------

inducing = Exercise(
    induction_head,
    section="What followed it before",
    minutes=20,
    difficulty=3,
    why="This is how a language model repeats what it has read just now: a circuit of two heads, found in real models.",
    hints=[
        "First without tensors: for one t, which u are asked for, and which token does each of them vote for?",
        "Give each position j the token before it, ids[j-1]. The question at t is then: at which j is that token "
        "ids[t]?",
        "Both comparisons at once are a table (query, key) of True and False. Which part of it lies in the future?",
        "The table, as numbers, times the one-hot rows of the tokens counts the votes. Divide by how many there are, "
        "but never by 0.",
    ],
    equivalents={
        "nothing = torch.full_like(ids[..., :1], -1)  ->  nothing = torch.full_like(ids[..., :1], -2)": (
            "no id is negative, so that either is like none of them"
        ),
    },
)


def repeating(*shape: int, vocab: int, seed: str = "ids") -> Tensor:
    return integers(0, vocab, *shape, seed=seed)


def repeating_texts() -> tuple[Tensor, int]:
    batch, seq = distinct(8, 16, 2, seed="sizes")
    vocab = whole(3, 6, seed="vocab")
    return repeating(batch, seq, vocab=vocab), vocab


@inducing.probe
def texts_of_few_tokens(induction_head: Any) -> Seen:
    """some texts of few tokens, which repeat them"""
    return {"predictions": induction_head(*repeating_texts())}


@inducing.probe
def one_text(induction_head: Any) -> Seen:
    """one text, no leading dimension, with tokens of the vocabulary that do not occur"""
    vocab, more = whole(4, 7, seed="vocab"), whole(2, 6, seed="more")
    return {"predictions": induction_head(repeating(whole(14, 20, seed="n"), vocab=vocab), vocab + more)}


@inducing.probe
def nothing_repeated(induction_head: Any) -> Seen:
    """a text in which no token occurs twice, and then two of them again"""
    n = whole(5, 10, seed="n")
    ids = permutation(n, seed="ids")
    again = ids[torch.tensor(distinct(0, n - 1, 2, seed="again"))]
    return {
        "predictions": induction_head(ids, n),
        "predictions with two again": induction_head(torch.cat([ids, again]), n),
    }


@inducing.probe
def runs_of_a_token(induction_head: Any) -> Seen:
    """tokens that follow themselves at once"""
    vocab = whole(3, 6, seed="vocab")
    runs = integers(1, 4, 6, seed="runs")
    runs[whole(0, 6, seed="a run")] = 3
    return {"predictions": induction_head(repeating(6, vocab=vocab).repeat_interleave(runs), vocab)}


@inducing.probe
def several_followers(induction_head: Any) -> Seen:
    """one token that is followed by several others, by some of them more often"""
    followers = 1 + integers(0, 3, 3, 8, seed="followers")
    ids = torch.stack([torch.zeros_like(followers), followers], -1).flatten(-2)
    return {"predictions": induction_head(torch.cat([ids, torch.zeros(3, 1).long()], -1), 4)}


@inducing.probe
def many_texts_and_sizes_of_one(induction_head: Any) -> Seen:
    """two leading dimensions; a text of one token; a vocabulary of one"""
    a, b, n = distinct(2, 8, 3, seed="sizes")
    vocab = whole(3, 6, seed="vocab")
    return {
        "predictions of many": induction_head(repeating(a, b, n + 6, vocab=vocab), vocab),
        "predictions of one token": induction_head(repeating(a, 1, vocab=vocab), vocab),
        "predictions of one kind": induction_head(torch.zeros(b, n).long(), 1),
    }


usual(inducing, repeating_texts, without=FLOATING)


@inducing.property
def predictions_in_the_default_dtype(induction_head: Any) -> Seen:
    """float64 as torch's default dtype

    With float64 as torch's default dtype your result is neither float64 nor float32, or its numbers are not right.
    """
    with default_dtype(torch.float64):
        result = in_either_default(induction_head(*repeating_texts()))
    return {"is float64 or float32": result.dtype == torch.float64, "predictions": result.float()}


def some_predictions(induction_head: Any) -> Tensor:
    return induction_head(*repeating_texts())


inducing.remark(follows_default_dtype(some_predictions))


def as_rows(ids: Tensor, vocab: int) -> Tensor:
    return F.one_hot(ids, vocab).to(torch.get_default_dtype())


def earlier_and_equal(ids: Tensor) -> Tensor:
    """(..., t, u): is u before t, and is the token the same?"""
    return (ids.unsqueeze(-1) == ids.unsqueeze(-2)).tril(-1)


def equal_before_the_last(ids: Tensor) -> Tensor:
    """(..., t, u): is the token the same, whatever the order? After the last one nothing came."""
    last = torch.arange(ids.shape[-1], device=ids.device) == ids.shape[-1] - 1
    return (ids.unsqueeze(-1) == ids.unsqueeze(-2)) & ~last


def what_came_next(rows: Tensor) -> Tensor:
    return torch.cat([rows[..., 1:, :], torch.zeros_like(rows[..., :1, :])], -2)


def mean_of_votes(matches: Tensor, votes: Tensor) -> Tensor:
    return counted_votes(matches, votes) / matches.sum(-1, keepdim=True).clamp(min=1)


@inducing.assembled
def induction_in_steps(
    ids: Tensor,
    vocab: int,
    *,
    match: Any = earlier_and_equal,
    follow: Any = what_came_next,
    average: Any = mean_of_votes,
) -> Tensor:
    return average(match(ids), follow(as_rows(ids, vocab)))


@inducing.instead_of("match")
def itself_matched_too(ids: Tensor) -> Tensor:
    """The position itself counts as an occurrence, so the token after it is seen: that which is to be predicted.

    u is before t. With u = t the answer ids[t+1] leaks from the future.
    """
    return equal_before_the_last(ids).tril()


@inducing.instead_of("match")
def future_matched_too(ids: Tensor) -> Tensor:
    """Later occurrences count as well.

    At t only what was read before is known: u < t.
    """
    return equal_before_the_last(ids)


@inducing.instead_of("match")
def neighbour_left_out(ids: Tensor) -> Tensor:
    """You leave out u = t-1, so a token that follows itself at once is not noticed.

    Its follower ids[u+1] is the token at t itself, which is known. All u < t count.
    """
    return (ids.unsqueeze(-1) == ids.unsqueeze(-2)).tril(-2)


@inducing.instead_of("match")
def latest_match_alone(ids: Tensor) -> Tensor:
    """Only the latest earlier occurrence counts.

    All of them have a vote, and count alike.
    """
    matches = earlier_and_equal(ids)
    later = matches.long().flip(-1).cumsum(-1).flip(-1)
    return matches & (later == 1)


@inducing.instead_of("match")
def first_match_alone(ids: Tensor) -> Tensor:
    """Only the first occurrence counts.

    All of them have a vote, and count alike.
    """
    matches = earlier_and_equal(ids)
    return matches & (matches.long().cumsum(-1) == 1)


@inducing.instead_of("match")
def all_earlier_ones(ids: Tensor) -> Tensor:
    """Every earlier position has a vote, whichever token stands there.

    Only those count where the token of t stood before.
    """
    return torch.ones_like(earlier_and_equal(ids)).tril(-1)


@inducing.instead_of("follow")
def the_match_itself(rows: Tensor) -> Tensor:
    """You copy the token that was found, not the one after it.

    What was found is the token that stands here anyway. The prediction is what followed it.
    """
    return rows


@inducing.instead_of("follow")
def what_came_before(rows: Tensor) -> Tensor:
    """You copy the token before the earlier occurrence, not the one after it.

    The shift goes the other way: u votes for ids[u+1].
    """
    return torch.cat([torch.zeros_like(rows[..., :1, :]), rows[..., :-1, :]], -2)


@inducing.instead_of("follow")
def two_steps_on(rows: Tensor) -> Tensor:
    """You copy the token two places after the earlier occurrence.

    One shift is enough: if the keys are moved by one already, the values stay where they are.
    """
    return what_came_next(what_came_next(rows))


@inducing.instead_of("average")
def counted_votes(matches: Tensor, votes: Tensor) -> Tensor:
    """You return how often each token followed; it should be the average.

    Where something was found the row sums to 1, as attention's weights do.
    """
    return matches.to(votes.dtype) @ votes


@inducing.instead_of("average")
def divided_by_all_earlier(matches: Tensor, votes: Tensor) -> Tensor:
    """You divide by the number of earlier positions.

    The average is over those where the token was found.
    """
    earlier = torch.arange(matches.shape[-1], device=matches.device).clamp(min=1)
    return counted_votes(matches, votes) / earlier.unsqueeze(-1)


@inducing.instead_of("average")
def nothing_found_is_nan(matches: Tensor, votes: Tensor) -> Tensor:
    """Where the token has not occurred before, your rows are NaN.

    It is 0 divided by 0, or a softmax over nothing. Who has found nothing predicts nothing: zeros.
    """
    return counted_votes(matches, votes) / matches.sum(-1, keepdim=True)


@inducing.instead_of("average")
def nothing_found_is_anything(matches: Tensor, votes: Tensor) -> Tensor:
    """Where the token has not occurred before, you predict all tokens alike.

    Here such a row is 0: the head adds nothing to what the rest of the model knows.
    """
    nothing = ~matches.any(-1, keepdim=True)
    return torch.where(nothing, 1 / votes.shape[-1], mean_of_votes(matches, votes))


@inducing.instead_of("average")
def one_vote_too_many(matches: Tensor, votes: Tensor) -> Tensor:
    """You divide by one more than was found.

    It avoids the division by 0, and makes every row too small. Only a count of 0 needs help.
    """
    return counted_votes(matches, votes) / (matches.sum(-1, keepdim=True) + 1)


@inducing.instead_of("average")
def only_the_winner(matches: Tensor, votes: Tensor) -> Tensor:
    """You predict the most frequent follower alone.

    All followers have their share, as often as they came.
    """
    winner = F.one_hot(counted_votes(matches, votes).argmax(-1), votes.shape[-1]).to(votes.dtype)
    return winner * matches.any(-1, keepdim=True)


@inducing.misconception
def one_position_late(ids: Tensor, vocab: int) -> Tensor:
    """Your rows are one position late: at t stands what belongs to t-1.

    The row at t predicts the token after t, from the token at t.
    """
    rows = induction_head(ids, vocab)
    return torch.cat([torch.zeros_like(rows[..., :1, :]), rows[..., :-1, :]], -2)


# rank_residual --------------------------------------------------------------------------------------------------------

collapsing = Exercise(
    rank_residual,
    section="Without skips all become one",
    minutes=5,
    difficulty=1,
    why="One number that tells whether the vectors of a sequence are still different from each other, layer by layer.",
    hints=[
        "The mean row is one vector, (..., 1, d). What does subtracting it leave, if all rows are equal?",
        "A Frobenius norm is the root of the sum of all squares of a matrix: over its last two dimensions, not over "
        "the batch.",
        "‖x‖² - seq·‖mean‖² is the same on paper as ‖x - mean‖², but where the rows are nearly equal it is a small "
        "difference of large numbers. Subtract before you square.",
    ],
    equivalents={
        "precise = x.to(torch.promote_types(x.dtype, torch.float32))  ->  "
        "precise = x.to(torch.promote_types(torch.float32, x.dtype))": "promotion does not ask for the order",
        "precise = x.to(torch.promote_types(x.dtype, torch.float32))  ->  precise = x.to(x.dtype)": (
            "the same to the precision of the dtypes looked at; answers need not be better"
        ),
    },
)


def sequence_of_vectors(seq: int, d: int, *leading: int, spread: float = 1.0) -> Tensor:
    """Vectors around one mean row, which is neither 0 nor the same in every component."""
    return normal(*leading, 1, d, seed="mean row") + spread * normal(*leading, seq, d, seed="rows")


def some_sequences() -> tuple[Tensor]:
    return (sequence_of_vectors(*distinct(3, 9, 2, seed="sizes"), 4),)


@collapsing.probe
def some_vectors(rank_residual: Any) -> Seen:
    """several sequences of vectors"""
    return {"residual": rank_residual(*some_sequences())}


@collapsing.probe
def one_sequence(rank_residual: Any) -> Seen:
    """one sequence, no leading dimension; two leading dimensions"""
    a, b, seq, d = distinct(2, 9, 4, seed="sizes")
    return {
        "residual of one": rank_residual(sequence_of_vectors(seq, d, spread=0.5)),
        "residual of many": rank_residual(sequence_of_vectors(seq, d, a, b, spread=2.0)),
    }


@collapsing.probe
def nearly_equal_rows(rank_residual: Any) -> Seen:
    """float32 rows that are nearly equal, so that the residual is about 1e-3"""
    seq, d = distinct(12, 30, 2, seed="sizes")
    return {"residual": rank_residual(sequence_of_vectors(seq, d, 8, spread=1e-3))}


@collapsing.probe
def small_and_large_numbers(rank_residual: Any) -> Seen:
    """numbers of about 1e-6, and of about 1e6"""
    x = sequence_of_vectors(*distinct(3, 9, 2, seed="sizes"), 4)
    return {"residual of small": rank_residual(1e-6 * x), "residual of large": rank_residual(1e6 * x)}


@collapsing.probe
def vectors_of_one_number(rank_residual: Any) -> Seen:
    """vectors of a single number; sequences of a single vector; both"""
    seq, d = distinct(4, 10, 2, seed="sizes")
    return {
        "residual with d = 1": rank_residual(sequence_of_vectors(seq, 1, 3)),
        "residual with seq = 1": rank_residual(normal(d, 1, seq, seed="alone")),
        "residual with batch = 1": rank_residual(sequence_of_vectors(seq, d, 1)),
    }


@collapsing.probe
def as_many_as_wide(rank_residual: Any) -> Seen:
    """as many vectors as they are wide, and as many sequences, so that a wrong axis still fits"""
    n = whole(4, 8, seed="n")
    return {"residual": rank_residual(sequence_of_vectors(n, n, n))}


@collapsing.property
def equal_rows(rank_residual: Any) -> Seen:
    """rows that are all equal

    Where all rows are equal nothing is left: the residual is 0.
    """
    row = integers(1, 9, 1, 6, seed="row").float()
    return {"residual": rank_residual(row.expand(4, 6))}


usual(collapsing, some_sequences)


def mean_row(x: Tensor) -> Tensor:
    return x.mean(-2, keepdim=True)


def frobenius(x: Tensor) -> Tensor:
    return x.square().sum((-2, -1)).sqrt()


def length_of_x(x: Tensor, middle: Tensor, norm: Any) -> Tensor:
    return norm(x)


def divided(rest: Tensor, whole_length: Tensor) -> Tensor:
    return rest / whole_length


@collapsing.assembled
def residual_in_steps(
    x: Tensor,
    *,
    centre: Any = mean_row,
    norm: Any = frobenius,
    beside: Any = length_of_x,
    compare: Any = divided,
) -> Tensor:
    middle = centre(x)
    return compare(norm(x - middle), beside(x, middle, norm))


@collapsing.instead_of("centre")
def mean_of_each_row(x: Tensor) -> Tensor:
    """You subtract from each vector the mean of its own components.

    As a layer norm does. Here it is the mean row: the mean of all vectors, component by component.
    """
    return x.mean(-1, keepdim=True)


@collapsing.instead_of("centre")
def one_mean_for_all(x: Tensor) -> Tensor:
    """You subtract one number, the mean of all entries.

    Each component has a mean of its own: the mean row is a vector.
    """
    return x.mean((-2, -1), keepdim=True)


@collapsing.instead_of("centre")
def first_row_subtracted(x: Tensor) -> Tensor:
    """You subtract the first row.

    The first row is as good a guess as any other. The mean row is the nearest to all of them.
    """
    return x[..., :1, :]


@collapsing.instead_of("centre")
def mean_over_the_batch(x: Tensor) -> Tensor:
    """You take the mean along the first dimension.

    That is the batch as soon as there is one. The rows of a sequence are the last dimension but one.
    """
    return x.mean(0, keepdim=True)


@collapsing.instead_of("norm")
def root_forgotten(x: Tensor) -> Tensor:
    """You compare squared lengths: the root is missing.

    Then a residual of 0.1 looks like 0.01.
    """
    return x.square().sum((-2, -1))


@collapsing.instead_of("norm")
def absolute_values(x: Tensor) -> Tensor:
    """You add up absolute values; it should be squares.

    A Frobenius norm is Euclid's length of all entries together.
    """
    return x.abs().sum((-2, -1))


@collapsing.instead_of("norm")
def largest_singular_value(x: Tensor) -> Tensor:
    """You use the spectral norm: the largest singular value.

    `matrix_norm(x, 2)` is that. The Frobenius norm counts all of them, and is `matrix_norm`'s own choice.
    """
    return torch.linalg.matrix_norm(x, 2)


@collapsing.instead_of("norm")
def everything_in_one(x: Tensor) -> Tensor:
    """You take the length of the whole batch together.

    Each sequence has a residual of its own: (...).
    """
    return x.norm()


@collapsing.instead_of("norm")
def length_of_each_row(x: Tensor) -> Tensor:
    """You give a number for each vector.

    The length is that of the whole matrix: one number for each sequence.
    """
    return x.norm(dim=-1)


@collapsing.instead_of("beside")
def not_compared(x: Tensor, middle: Tensor, norm: Any) -> Any:
    """You do not divide by the length of x.

    Then vectors that merely shrink look as if they became equal.
    """
    return 1.0


@collapsing.instead_of("beside")
def beside_the_mean(x: Tensor, middle: Tensor, norm: Any) -> Tensor:
    """You divide by the length of what was subtracted, the mean row in every place.

    It is divided by the length of x, so that the result lies between 0 and 1.
    """
    return norm(middle.expand(x.shape))


@collapsing.instead_of("compare")
def upside_down(rest: Tensor, whole_length: Tensor) -> Tensor:
    """Your fraction is upside down.

    What is left stands above, the length of x below.
    """
    return whole_length / rest


@collapsing.instead_of("compare")
def how_equal_they_are(rest: Tensor, whole_length: Tensor) -> Tensor:
    """You return how equal the vectors are: 1 minus the residual.

    The residual is 0 where all are equal.
    """
    return 1 - rest / whole_length


@collapsing.misconception
def mean_of_the_rows_residuals(x: Tensor) -> Tensor:
    """You average over the vectors, each with its own residual.

    One length of all that is left, divided by one length of all of x: a short vector counts less.
    """
    return ((x - mean_row(x)).norm(dim=-1) / x.norm(dim=-1)).mean(-1)


@collapsing.misconception
def squares_subtracted(x: Tensor) -> Tensor:
    """You subtract the squared lengths, ‖x‖² - seq·‖mean‖², and lose the digits where the rows are nearly equal.

    A residual of 1e-3 is a difference in the sixth digit of the squares, and float32 has seven. Subtract the rows
    first.
    """
    return (1 - x.shape[-2] * frobenius(mean_row(x)) ** 2 / frobenius(x) ** 2).clamp(min=0).sqrt()
