"""The exercise `masked_softmax`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.forbid import Family
from proctor.inside.inputs import booleans, integers, normal
from proctor.inside.properties import gradients, usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import FUSED_ATTENTION
from qkv.exercises.masks.shared import unchanged
from qkv.model.masks import (
    masked_softmax,
)

MASKED_SOFTMAX = Family.of("torch's own masked softmax", "masked_softmax")


exercise = Exercise(
    masked_softmax,
    section="A softmax with a mask",
    minutes=15,
    difficulty=2,
    why="A row in which nothing may be seen is where many published implementations give NaN.",
    hints=[
        "Hide before you weigh: which score becomes the weight 0 after the exponential?",
        "If a row hides everything its largest score is -inf, and -inf - (-inf) is NaN. "
        "Which finite number may stand in for that maximum?",
        "Its sum is 0, so 0/0 follows. Every other row's sum is at least exp(0) = 1: what may a smaller sum become?",
    ],
    forbid=[MASKED_SOFTMAX, FUSED_ATTENTION],
)


def scores_and_mask() -> tuple[Tensor, Tensor]:
    mask = booleans(2, 3, 5, seed="mask")
    mask[..., 2], mask[..., 4] = True, False  # each row allows something, and hides something
    return normal(2, 3, 5, seed="scores", std=2.0), mask


def with_a_closed_row() -> tuple[Tensor, Tensor]:
    mask = booleans(2, 4, 6, seed="mask")
    mask[..., 1] = True
    mask[0, 2] = mask[1, 0] = False
    mask[:, 3] = True  # and one row is open: it is the closed one for whoever reads the mask the other way round
    return normal(2, 4, 6, seed="scores"), mask


def beside_huge_hidden_ones() -> tuple[Tensor, Tensor]:
    mask = booleans(3, 6, seed="mask")
    mask[:, 0], mask[:, 1] = True, False
    hidden = torch.tensor([1e30, -1e30, -3e38])[integers(0, 3, 3, 6, seed="hidden")]
    hidden[:, 1] = 3e38
    return torch.where(mask, normal(3, 6, seed="scores"), hidden), mask


def in_sixty_fourths(numbers: Tensor) -> Tensor:
    """Multiples of 1/64: float32 holds them beside 1e4 as well, so whoever computes in float32 inside loses nothing."""
    return (64 * numbers).round() / 64


@exercise.probe
def some_hidden(masked_softmax: Any) -> Seen:
    """three rows of five scores, some of them hidden"""
    return {"weights": masked_softmax(*scores_and_mask())}


@exercise.probe
def masks_that_broadcast_to_scores(masked_softmax: Any) -> Seen:
    """masks of all shapes that broadcast to the scores"""
    keys = booleans(5, seed="keys")
    keys[1], keys[3] = True, False
    padding = booleans(2, 1, 5, seed="padding")
    padding[..., 0], padding[..., 4] = True, False
    masks = {
        "(5,)": keys,
        "(1, 5)": ~keys[None],
        "(3, 1)": torch.tensor([[True], [False], [True]]),
        "(2, 1, 1)": torch.tensor([False, True])[:, None, None],
        "(2, 1, 5)": padding,
        "True everywhere": torch.ones(3, 5).bool(),
    }
    seen = {f"weights under {shape}": masked_softmax(normal(2, 3, 5, seed=shape), m) for shape, m in masks.items()}
    by_head = masked_softmax(normal(2, 4, 3, 5, seed="by head"), padding[:, None].clone())
    return {**seen, "weights of heads under (2, 1, 1, 5)": by_head}


@exercise.probe
def scores_with_sizes_of_one(masked_softmax: Any) -> Seen:
    """a single row, a single query, a single key"""
    keys = booleans(6, seed="keys")
    keys[2] = True
    return {
        "weights of a row": masked_softmax(normal(6, seed="row"), keys.clone()),
        "weights of one query": masked_softmax(normal(2, 1, 6, seed="query"), keys),
        "weights of one key": masked_softmax(normal(3, 1, seed="key"), torch.tensor([[True], [False], [True]])),
        "weights of one of each": masked_softmax(normal(1, 1, 1, seed="one"), torch.ones(1, 1, 1).bool()),
    }


@exercise.probe
def nothing_allowed(masked_softmax: Any) -> Seen:
    """a row in which nothing is allowed, beside ordinary ones"""
    return {"weights": masked_softmax(*with_a_closed_row())}


@exercise.probe
def nothing_allowed_anywhere(masked_softmax: Any) -> Seen:
    """a mask that allows nothing at all, and one that allows something"""
    scores, mask = scores_and_mask()
    return {
        "weights where nothing is allowed": masked_softmax(-scores, torch.zeros(3, 5).bool()),
        "weights where something is": masked_softmax(scores, mask),
    }


@exercise.probe
def huge_scores(masked_softmax: Any) -> Seen:
    """scores of thousands, positive and negative, in float64"""
    offset = torch.tensor([[1e4], [-1e4], [3e3]])
    mask = booleans(5, seed="mask")
    mask[0], mask[1], mask[2] = True, True, False
    return {"weights": masked_softmax(in_sixty_fourths(normal(3, 5, seed="huge", dtype=torch.float64)) + offset, mask)}


@exercise.probe
def far_below_the_hidden(masked_softmax: Any) -> Seen:
    """allowed scores of about -10,000 beside hidden ones of about 10,000, and the other way round, in float64"""
    mask = booleans(3, 5, seed="mask")
    mask[:, 0], mask[:, 1], mask[:, 2] = True, True, False
    scores = in_sixty_fourths(normal(3, 5, seed="low", dtype=torch.float64))
    offset = torch.where(mask, -1e4, 1e4)
    return {
        "weights": masked_softmax(scores + offset, mask.clone()),
        "weights far above the hidden": masked_softmax(scores - offset, mask),
    }


@exercise.probe
def huge_hidden_scores(masked_softmax: Any) -> Seen:
    """hidden scores of 1e30 and more beside small ones"""
    return {"weights": masked_softmax(*beside_huge_hidden_ones())}


@exercise.probe
def minus_infinity_allowed(masked_softmax: Any) -> Seen:
    """scores of -inf that the mask allows, beside finite ones"""
    scores = normal(3, 5, seed="s")
    scores[0, 1] = scores[2, 3] = -math.inf
    return {"weights": masked_softmax(scores, torch.tensor([True, True, False, True, True]))}


@exercise.probe
def gradients_beside_huge_hidden_scores(masked_softmax: Any) -> Seen:
    """the gradients of small scores beside hidden ones of 1e30 and more"""
    scores, mask = beside_huge_hidden_ones()
    scores.requires_grad_()
    total = (masked_softmax(scores, mask) * normal(3, 6, seed="towards")).sum()
    gradient = torch.autograd.grad(total, scores)[0] if total.requires_grad else torch.zeros_like(scores)
    return {"gradient of scores": gradient}


exercise.probe(gradients(with_a_closed_row))


usual(exercise, with_a_closed_row, without=["gradients"])


@exercise.assembled
def softmax_in_steps(
    scores: Tensor, mask: Tensor, *, polarity: Any = unchanged, weigh_allowed: Any = masked_softmax
) -> Tensor:
    return weigh_allowed(scores, polarity(mask))


@exercise.instead_of("weigh_allowed")
def closed_rows_become_nan(scores: Tensor, mask: Tensor) -> Tensor:
    """A row in which nothing is allowed becomes NaN.

    Its maximum is -inf, -inf - (-inf) is NaN, and one NaN is enough to spoil every weight of the model in the next
    update. The whole row should be 0.
    """
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def infinity_added(scores: Tensor, mask: Tensor) -> Tensor:
    return scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf)


@exercise.instead_of("weigh_allowed")
def closed_rows_become_nan_backwards_too(scores: Tensor, mask: Tensor) -> Tensor:
    """A row in which nothing is allowed becomes NaN, and so does its gradient.

    Its maximum is -inf, and -inf - (-inf) is NaN. A sum like scores + (-inf) hands every gradient on, the NaN too, and
    one is enough to spoil every weight of the model in the next update. The row should be 0, its gradient as well.
    """
    return infinity_added(scores, mask).softmax(-1)


@exercise.instead_of("weigh_allowed")
def repaired_after_the_fact(scores: Tensor, mask: Tensor) -> Tensor:
    """Your values are right, but you replace the NaN afterwards, and its gradient is still NaN.

    `nan_to_num` mends the forward pass alone: backward, 0 times NaN is NaN. The NaN must not arise.
    """
    return infinity_added(scores, mask).softmax(-1).nan_to_num(0.0)


@exercise.instead_of("weigh_allowed")
def a_large_number_for_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    """You hide with a large negative number instead of -inf, so a row in which all is hidden becomes uniform.

    Then a token that may see nothing sees all, the hidden ones included, in equal shares. Such a row should be 0.
    """
    return scores.masked_fill(~mask, max(-1e9, torch.finfo(scores.dtype).min)).softmax(-1)


@exercise.instead_of("weigh_allowed")
def ten_thousand_for_infinity(scores: Tensor, mask: Tensor) -> Tensor:
    """You replace hidden scores by about -10,000, and scores may lie below that.

    Beside allowed scores of -10,000 what you hide is seen. A row in which all is hidden becomes uniform, where it
    should be 0. Only -inf lies below every score.
    """
    return scores.masked_fill(~mask, -1e4).softmax(-1)


@exercise.instead_of("weigh_allowed")
def ten_thousand_added(scores: Tensor, mask: Tensor) -> Tensor:
    """You add -10,000 to the hidden scores.

    BERT's code does so, and with small scores it works. A large score is still there after the sum, and where all is
    hidden all move alike: the row comes out as if nothing were hidden. It should be 0.
    """
    return (scores + (~mask).to(scores.dtype) * -1e4).softmax(-1)


@exercise.instead_of("weigh_allowed")
def a_billion_added(scores: Tensor, mask: Tensor) -> Tensor:
    """You add a number like -1e9 to the hidden scores.

    A larger score is still there after the sum, and where all is hidden the row is not 0: all its scores have moved
    alike. Replace what is hidden; a sum keeps it.
    """
    return (scores + (~mask).to(scores.dtype) * max(-1e9, torch.finfo(scores.dtype).min)).softmax(-1)


@exercise.instead_of("weigh_allowed")
def hidden_after_the_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """You set the hidden weights to 0 after the softmax, so rows no longer sum to 1.

    The hidden keys have already taken their share.
    """
    return scores.softmax(-1) * mask


@exercise.instead_of("polarity")
def polarity_reversed(mask: Tensor) -> Tensor:
    """You hide what the mask allows.

    True means "may attend". `masked_fill` fills where its mask is True, so it wants the opposite.
    """
    return ~mask


@exercise.instead_of("weigh_allowed")
def scores_multiplied(scores: Tensor, mask: Tensor) -> Tensor:
    """You multiply the scores by the mask, which makes hidden scores 0.

    A score of 0 is an ordinary score, and its weight is not 0. Only -inf becomes a weight of exactly 0.
    """
    return (scores * mask).softmax(-1)


@exercise.instead_of("weigh_allowed")
def multiplied_and_renormalised(scores: Tensor, mask: Tensor) -> Tensor:
    """You multiply the scores by the mask, take the softmax, multiply again and divide by what is left.

    The hidden scores are 0 in that softmax. Beside allowed ones of some hundred below 0 they take everything, what is
    left is 0, and the row vanishes. Hidden scores should have no effect.
    """
    weights = (scores * mask).softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-13)


@exercise.instead_of("weigh_allowed")
def renormalised_afterwards(scores: Tensor, mask: Tensor) -> Tensor:
    """You let the hidden scores into the softmax, or into its maximum, and divide by what is left without them.

    A large hidden score then pushes every allowed weight to 0, and the row vanishes. The hidden scores should have
    no effect.
    """
    weights = scores.softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)


@exercise.instead_of("weigh_allowed")
def renormalised_to_nan(scores: Tensor, mask: Tensor) -> Tensor:
    """You let the hidden scores into the softmax and divide by what is left without them, which may be 0/0: NaN.

    It is 0/0 where nothing is allowed, and also where a large hidden score takes everything. Hide before you weigh.
    """
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


@exercise.instead_of("weigh_allowed")
def replaced_and_renormalised_to_nan(scores: Tensor, mask: Tensor) -> Tensor:
    """You let the hidden scores into the softmax, replace their weights by 0 and divide by the rest: 0/0 may be NaN.

    It is 0/0 where nothing is allowed, and also where a large hidden score takes everything. Hide before you weigh.
    """
    weights = scores.softmax(-1).masked_fill(~mask, 0)
    return weights / weights.sum(-1, keepdim=True)


@exercise.instead_of("weigh_allowed")
def hidden_after_the_exponential(scores: Tensor, mask: Tensor) -> Tensor:
    """Your values are right, but you exponentiate the hidden scores too, and a large one spoils the gradient.

    `torch.where` picks the right values, yet backward it multiplies the inf that it did not pick by 0, and that is
    NaN. Hide the scores before the exponential.
    """
    highest = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    powers = torch.where(mask, (scores - highest).exp(), torch.zeros_like(scores))
    return powers / powers.sum(-1, keepdim=True).clamp(min=1)


@exercise.instead_of("weigh_allowed")
def exponentiated_as_they_are(scores: Tensor, mask: Tensor) -> Tensor:
    """You take the exponentials of the scores as they are, without subtracting the largest.

    exp(10,000) is inf and exp(-10,000) is 0, so the row becomes NaN or vanishes. Shifted by its largest allowed score,
    a row has the same weights and no such numbers.
    """
    powers = scores.masked_fill(~mask, -math.inf).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-9)


@exercise.instead_of("weigh_allowed")
def closed_rows_opened(scores: Tensor, mask: Tensor) -> Tensor:
    """In a row where nothing is allowed you allow everything.

    Then a token that may see nothing sees all, the hidden ones included. Its weights should be 0.
    """
    return masked_softmax(scores, mask | ~mask.any(-1, keepdim=True))


@exercise.instead_of("weigh_allowed")
def over_the_queries(scores: Tensor, mask: Tensor) -> Tensor:
    """Your weights sum to 1 over the queries, not over the keys.

    Keys are the last dimension: each query shares out its attention among them.
    """
    everywhere = mask.expand(scores.shape)
    return masked_softmax(scores.transpose(-2, -1), everywhere.transpose(-2, -1)).transpose(-2, -1)


@exercise.instead_of("weigh_allowed")
def only_with_three_dimensions(scores: Tensor, mask: Tensor) -> Tensor:
    """You count dimensions from the front: `dim=2` is the last one of three only.

    Scores may have any number of dimensions before the keys, or none. Counted from the end, the keys are always -1.
    """
    return scores.masked_fill(~mask, -math.inf).softmax(2).nan_to_num(0.0)


@exercise.instead_of("weigh_allowed")
def always_in_float32(scores: Tensor, mask: Tensor) -> Tensor:
    """Your weights are float32, whatever the scores are.

    Computing in float32 inside is fine. The result should have the dtype of the scores.
    """
    return masked_softmax(scores.float(), mask)


@exercise.instead_of("weigh_allowed")
def no_gradient_for_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Your values are right, but no gradient comes back to the scores.

    Something on the way cuts the graph: `.detach()`, `.data`, `torch.tensor(…)` of a tensor, `torch.no_grad()`.
    """
    return masked_softmax(scores.detach(), mask)


@exercise.instead_of("weigh_allowed")
def hidden_in_place(scores: Tensor, mask: Tensor) -> Tensor:
    """You write into the scores that you were given.

    The caller still needs them, and where their gradient is wanted torch refuses. `masked_fill` without the underscore
    makes a new tensor.
    """
    return masked_softmax(scores.masked_fill_(~mask, -math.inf), mask)


squeezes(exercise)
unpacks(exercise, "scores", "batch", "key")
