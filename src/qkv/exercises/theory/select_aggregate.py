"""The exercise `select_aggregate`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, normal, number, whole
from proctor.inside.properties import (
    usual,
)
from proctor.inside.situations import Seen
from qkv.model.theory import (
    select_aggregate,
)

exercise = Exercise(
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


@exercise.probe
def where_tokens_are_equal(select_aggregate: Any) -> Seen:
    """tokens that are compared by torch.eq, some of which are found nowhere; `default` left as it is"""
    query, key = distinct(4, 10, 2, seed="sizes")
    return {"means": select_aggregate(*three_rows(query, key, 2), torch.eq)}


@exercise.probe
def where_the_query_is_smaller(select_aggregate: Any) -> Seen:
    """queries and keys that are compared by torch.lt, query < key, with a default"""
    query, key = distinct(4, 10, 2, seed="sizes")
    return {"means": select_aggregate(*three_rows(query, key, 2), torch.lt, number(2.0, 5.0, seed="default"))}


@exercise.probe
def where_positions_are_compared(select_aggregate: Any) -> Seen:
    """no leading dimension: the mean of all up to three positions before; and of those after"""
    n = whole(5, 12, seed="n")
    at, values = torch.arange(n), normal(n, seed="values", mean=1.0)
    default = number(-5.0, -2.0, seed="default")
    return {
        "means before": select_aggregate(at, at, values, lambda q, k: (k < q) & (k >= q - 3), default),
        "means after": select_aggregate(at, at, values, lambda q, k: k > q, default=default),
    }


@exercise.probe
def where_the_mean_is_zero(select_aggregate: Any) -> Seen:
    """values that are -1, 0 and 1, so that a mean may be 0; a default that is not"""
    queries, keys, _ = three_rows(9, 12, 2)
    values = integers(-1, 2, 2, 12, seed="small values").float()
    queries[..., 2], keys[..., 1], keys[..., 2] = 7, 7, 7
    values[..., 1], values[..., 2] = 1.0, -1.0
    return {"means": select_aggregate(queries, keys, values, torch.eq, number(2.0, 5.0, seed="default"))}


@exercise.probe
def entries_of_other_dtypes(select_aggregate: Any) -> Seen:
    """queries and keys that are halves, in float64, and ones that are True and False"""
    query, key = distinct(5, 10, 2, seed="sizes")
    queries, keys = integers(0, 6, query, seed="queries") / 2, integers(0, 6, key, seed="keys") / 2
    values, default = normal(key, seed="values"), number(2.0, 5.0, seed="default")
    return {
        "means of halves": select_aggregate(queries.double(), keys.double(), values, torch.ge, default),
        "means of yes and no": select_aggregate(queries > 1, keys > 1, values, torch.ne, default),
    }


@exercise.probe
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


@exercise.probe
def gradient_where_nothing_is_selected(select_aggregate: Any) -> Seen:
    """the gradient in the values, where some queries select nothing"""
    queries, keys, values, predicate, default = equal_tokens()
    result = select_aggregate(queries, keys, values.requires_grad_(), predicate, default)
    return {"gradient": gradient_of_values(result, values)}


@exercise.remark
def predicates_of_one_alone(select_aggregate: Any) -> Seen:
    """predicates that look at the key alone

    A predicate that looks at the keys alone, as `lambda query, key: key > 0`, answers (..., 1, key), and with it your
    code fails or gives another shape. The contract asks for predicates of both; expanded to (..., query, key) the
    answer would do in either case.
    """
    try:
        found = select_aggregate(*three_rows(4, 6, 2), lambda query, key: key > 0)
        return {"it understands such a predicate": tuple(found.shape) == (2, 4)}
    except (RuntimeError, ValueError, IndexError):
        return {"it understands such a predicate": False}


def tokens_of_one_shape() -> tuple[Any, ...]:
    return *three_rows(5, 5, 2), torch.eq, 2.0


usual(exercise, equal_tokens, alike=tokens_of_one_shape)


def every_pair(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    return predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))


def mean_of_selected(selected: Tensor, values: Tensor) -> Tensor:
    return sum_of_selected(selected, values) / selected.sum(-1).clamp(min=1)


def default_where_none(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    return means.masked_fill(~selected.any(-1), default)


@exercise.assembled
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


@exercise.instead_of("select")
def key_before_query(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You hand the key to the predicate first.

    It is predicate(query, key). For torch.eq that makes no difference, for torch.lt it does.
    """
    return predicate(keys.unsqueeze(-2), queries.unsqueeze(-1))


@exercise.instead_of("select")
def equality_whatever_was_asked(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You select equal entries, whatever the predicate says.

    The predicate is the program: it may ask for smaller ones, for neighbours, for anything.
    """
    return queries.unsqueeze(-1) == keys.unsqueeze(-2)


@exercise.instead_of("select")
def the_others_selected(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You average the keys that are not selected.

    As a mask that hides where it says True. Here True means that the key counts.
    """
    return ~every_pair(queries, keys, predicate)


@exercise.instead_of("select")
def no_looking_ahead(queries: Tensor, keys: Tensor, predicate: Any) -> Tensor:
    """You let a query select only keys up to its own place.

    A decoder does so. Here the predicate alone decides; who wants that order compares positions.
    """
    return every_pair(queries, keys, predicate).tril()


@exercise.instead_of("aggregate")
def sum_of_selected(selected: Tensor, values: Tensor) -> Tensor:
    """You sum the selected values; it should be their mean.

    Attention's weights sum to 1, so it can average, and by itself it cannot count.
    """
    return (selected.to(values.dtype) * values.unsqueeze(-2)).sum(-1)


@exercise.instead_of("aggregate")
def divided_by_all_keys(selected: Tensor, values: Tensor) -> Tensor:
    """You divide by the number of all keys.

    The mean is over those that are selected; the others count neither above nor below the line.
    """
    return sum_of_selected(selected, values) / selected.shape[-1]


@exercise.instead_of("aggregate")
def one_key_too_many(selected: Tensor, values: Tensor) -> Tensor:
    """You divide by one more than is selected.

    It avoids the division by 0, and makes every mean too small. Only a count of 0 needs help.
    """
    return sum_of_selected(selected, values) / (selected.sum(-1) + 1)


@exercise.instead_of("aggregate")
def first_selected(selected: Tensor, values: Tensor) -> Tensor:
    """You take the first selected value.

    All that are selected count alike: the answer is their mean.
    """
    first = selected.to(torch.uint8).argmax(-1)
    return values.unsqueeze(-2).expand(selected.shape).gather(-1, first.unsqueeze(-1)).squeeze(-1)


@exercise.instead_of("aggregate")
def largest_selected(selected: Tensor, values: Tensor) -> Tensor:
    """You take the largest selected value.

    The predicate has chosen already; of what it chose you give the mean.
    """
    return values.unsqueeze(-2).masked_fill(~selected, -math.inf).amax(-1)


@exercise.instead_of("aggregate")
def patched_afterwards(selected: Tensor, values: Tensor) -> Tensor:
    """The means are right, but their gradient is NaN: you divide by 0 and replace the NaN afterwards.

    On the way back the gradient passes the division as well, and 0 times infinity is NaN. Divide by something else
    where nothing is selected.
    """
    return sum_of_selected(selected, values) / selected.sum(-1)


@exercise.instead_of("otherwise")
def always_zero_where_none(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    """Where nothing is selected you return 0, whatever `default` says.

    0 is a value like any other. The caller says by what "nothing" is to be recognised.
    """
    return means.masked_fill(~selected.any(-1), 0.0)


@exercise.instead_of("otherwise")
def zero_taken_for_nothing(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    """You put the default wherever the mean is 0.

    A mean can be 0 although something was selected. Ask the count, or `any`.
    """
    return means.masked_fill((means == 0) | ~selected.any(-1), default)


@exercise.instead_of("otherwise")
def mean_of_all_where_none(means: Tensor, selected: Tensor, values: Tensor, default: float) -> Tensor:
    """Where nothing is selected you return the mean of all values.

    A softmax over scores that are all equally low does that. Here it is the default.
    """
    return torch.where(selected.any(-1), means, values.mean(-1, keepdim=True))


@exercise.misconception
def nothing_is_nan(queries: Tensor, keys: Tensor, values: Tensor, predicate: Any, default: float = 0.0) -> Tensor:
    """Where nothing is selected your result is NaN.

    It is 0 divided by 0. There the answer is the default.
    """
    selected = every_pair(queries, keys, predicate)
    return sum_of_selected(selected, values) / selected.sum(-1)


@exercise.misconception
def default_for_every_other(
    queries: Tensor, keys: Tensor, values: Tensor, predicate: Any, default: float = 0.0
) -> Tensor:
    """Every key that is not selected counts with the default.

    The default is the answer where no key at all is selected. Keys that are not selected do not count.
    """
    return torch.where(every_pair(queries, keys, predicate), values.unsqueeze(-2), default).mean(-1)


squeezes(exercise)
unpacks(exercise, "queries", "batch", "query")
