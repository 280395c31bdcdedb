"""The exercise `softmax_jacobian`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import unpacks
from proctor.inside.inputs import normal
from proctor.inside.properties import random_projection, usual
from proctor.inside.situations import Seen, if_it_runs, one_of_each
from qkv.model.lookup import softmax
from qkv.model.scaling import softmax_jacobian

exercise = Exercise(
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


@exercise.probe
def of_several_rows(softmax_jacobian: Any) -> Seen:
    """three rows of five weights"""
    return {"jacobian": softmax_jacobian(torch.softmax(normal(3, 5, seed="rows"), dim=-1))}


@exercise.probe
def of_decided_rows(softmax_jacobian: Any) -> Seen:
    """two rows that are all but decided, beside one with exact zeros"""
    p = torch.softmax(torch.tensor([[9.0], [9.0], [1.0]]) * normal(3, 6, seed="decided"), dim=-1)
    p[2] = torch.tensor([0.0, 0.5, 0.0, 0.0, 0.25, 0.25])
    return {"jacobian": softmax_jacobian(p)}


@exercise.probe
def of_a_single_row(softmax_jacobian: Any) -> Seen:
    """a single row of four weights, without a batch dimension"""
    return if_it_runs(lambda: {"jacobian": softmax_jacobian(torch.softmax(normal(4, seed="row"), dim=-1))})


@exercise.probe
def inside_two_batch_dimensions(softmax_jacobian: Any) -> Seen:
    """two batch dimensions of rows"""
    return if_it_runs(lambda: {"jacobian": softmax_jacobian(torch.softmax(normal(2, 3, 5, seed="scores"), dim=-1))})


@exercise.probe
def with_dimensions_of_one(softmax_jacobian: Any) -> Seen:
    """a batch of one, one row in each, rows of one weight, each in turn"""
    return if_it_runs(
        lambda: {
            f"jacobian with {words}": softmax_jacobian(torch.softmax(normal(*shape, seed="ones"), dim=-1))
            for words, shape in one_of_each(batch=2, row=3, weight=5)
        }
    )


usual(exercise, rows_of_weights, without=["gradients"])  # those are looked at through the softmax, below


@exercise.property
def gradient_through_the_softmax(softmax_jacobian: Any) -> Seen:
    """the gradient of the Jacobian, back to the scores

    The Jacobian is right, but no gradient, or a wrong one, flows through it. Something cuts the graph: `.detach()`,
    `.data`, `.item()`, a new tensor.
    """
    scores = normal(2, 3, 5, seed="scores", dtype=torch.float64).requires_grad_()
    total = random_projection(softmax_jacobian(torch.softmax(scores, dim=-1)))
    return {"gradient of the scores": torch.autograd.grad(total, scores)[0]}


@exercise.misconception
def sign_turned(p: Tensor) -> Tensor:
    """All your signs are turned.

    A higher score raises its own weight, so the diagonal is positive; it takes from the others, so the rest is
    negative.
    """
    return -softmax_jacobian(p)


@exercise.misconception
def softmax_once_more(p: Tensor) -> Tensor:
    """You apply a softmax to p, which is a softmax's output already.

    The second softmax flattens the weights. The Jacobian can be written with the weights alone; the scores are not
    needed.
    """
    return softmax_jacobian(softmax(p, -1))


@exercise.misconception
def diagonal_alone(p: Tensor) -> Tensor:
    """Your weights move with their own score only: off the diagonal you have zeros.

    All weights share one sum. When one score rises, every other weight falls; that is what the entries off the diagonal
    say.
    """
    return torch.diag_embed(p * (1 - p))


@exercise.misconception
def a_row_instead_of_a_matrix(p: Tensor) -> Tensor:
    """You return p·(1 - p), one number for each weight.

    That is the derivative of a sigmoid, where every weight has a score of its own. In a softmax each of n weights
    depends on all n scores: n × n numbers.
    """
    return p * (1 - p)


@exercise.misconception
def outer_product_alone(p: Tensor) -> Tensor:
    """The diagonal lacks a term: you have only the part that all pairs of i and j share.

    A score acts twice on its own weight: through the sum in the denominator, and directly through its own power in the
    numerator.
    """
    return -p.unsqueeze(-1) * p.unsqueeze(-2)


@exercise.misconception
def others_pushed_up(p: Tensor) -> Tensor:
    """The entries off the diagonal have the wrong sign.

    The weights sum to 1 whatever the scores are. So what one weight gains the others lose, and each column of the
    Jacobian sums to 0.
    """
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2) * (
        2 * torch.eye(p.shape[-1], device=p.device) - 1
    ).to(p)


@exercise.misconception
def every_entry_like_the_diagonal(p: Tensor) -> Tensor:
    """You use the formula of the diagonal for every entry: p_i (1 - p_j).

    That says that every weight grows when any score does. But the weights sum to 1: what a score does to another weight
    has a sign of its own.
    """
    return p.unsqueeze(-1) * (1 - p.unsqueeze(-2))


@exercise.misconception
def ones_on_the_diagonal(p: Tensor) -> Tensor:
    """You put ones on the diagonal where the weights belong.

    With a one there, a key of weight 0 would still answer to its score at full strength. The power of a hopeless key is
    small, and so is its slope.
    """
    return torch.eye(p.shape[-1], dtype=p.dtype, device=p.device) - p.unsqueeze(-1) * p.unsqueeze(-2)


@exercise.misconception
def of_the_logarithm(p: Tensor) -> Tensor:
    """You differentiate the logarithm of the weights: a factor p_i is missing in each row.

    δ_ij - p_j is how log p_i moves. It belongs to the log-softmax, which does not saturate; the difference between the
    two is what this section is about.
    """
    return torch.eye(p.shape[-1], dtype=p.dtype, device=p.device) - p.unsqueeze(-2)


@exercise.misconception
def for_a_table_of_rows(p: Tensor) -> Tensor:
    """Your formula works for a table of rows; a single row, or more dimensions, make it fail.

    `bmm` and dimensions counted from the front fix their number. The rows of p are its last dimension; what stands
    before it can be anything, and nothing.
    """
    return torch.diag_embed(p) - torch.bmm(p.unsqueeze(2), p.unsqueeze(1))


@exercise.misconception
def sizes_of_one_dropped(p: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one, and a row of one weight, are sizes like any other.
    """
    return softmax_jacobian(p).squeeze()


@exercise.misconception
def dot_product_of_the_weights(p: Tensor) -> Tensor:
    """You subtract one number from every entry of a row's matrix: the sum of the squared weights.

    p times p, added up, is one number for each row. Here every pair of i and j has its own product p_i·p_j: a column
    times a row.
    """
    return torch.diag_embed(p) - (p * p).sum(dim=-1)[..., None, None]


@exercise.misconception
def one_row_at_a_time(p: Tensor) -> Tensor:
    """Your formula works for a single row; rows in a batch make it fail.

    `torch.diag` and `torch.outer` know vectors only. The rows of p are its last dimension; what stands before it can be
    anything.
    """
    return torch.diag(p) - torch.outer(p, p)


unpacks(exercise, "p", "batch", "n")
