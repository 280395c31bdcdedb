"""The exercise `negative_sampling_gradient`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.forbid import Family
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.meaning.shared import dot_products, some_words, sure_words, words_with_noise
from qkv.model.meaning import (
    negative_sampling_gradient,
    negative_sampling_loss,
)

# backward mode keeps what it needs for the way back, and is refused there: see pull_and_push
FORWARD_MODE = Family.of("forward-mode autograd", "make_dual")


exercise = Exercise(
    negative_sampling_gradient,
    section="Pull and push, by hand",
    minutes=15,
    difficulty=2,
    why="You see what the loss does to a word: its context pulls, each negative pushes, by how surprised it was.",
    hints=[
        "Begin with one dot product x. What is the derivative of -log σ(x), and that of -log σ(-x)?",
        "-σ(-x) for the context, σ(x) for a negative: how wrong each answer was. The dot product x depends on two "
        "vectors; the derivative in one of them is the other.",
        "The centre takes part in n + 1 dot products, so its gradient has n + 1 terms.",
        "The loss is a mean over all centres: each has a share of 1 divided by how many there are.",
    ],
    forbid=[FORWARD_MODE],
)


def no_graph_here(tensor: Tensor) -> Tensor:
    raise RuntimeError("negative_sampling_gradient is asked for by hand: autograd and torch.func are not at work here")


def pull_and_push(gradient: Any, *arguments: Tensor, about: str = "") -> Seen:
    by_hand = torch.autograd.graph.saved_tensors_hooks(no_graph_here, no_graph_here)  # for who turns autograd on again
    with torch.inference_mode(), by_hand:
        d_centre, d_context, d_negatives = gradient(*arguments)
    return {f"d_centre{about}": d_centre, f"d_context{about}": d_context, f"d_negatives{about}": d_negatives}


@exercise.probe
def gradients_of_a_batch(negative_sampling_gradient: Any) -> Seen:
    """a batch of centres, all sizes different"""
    return pull_and_push(negative_sampling_gradient, *some_words())


@exercise.probe
def gradients_of_one_centre(negative_sampling_gradient: Any) -> Seen:
    """one centre, no leading dimension"""
    n, d = distinct(3, 8, 2, seed="sizes")
    return pull_and_push(negative_sampling_gradient, *words_with_noise(n=n, d=d))


@exercise.probe
def gradients_in_more_dimensions(negative_sampling_gradient: Any) -> Seen:
    """two leading dimensions; all sizes alike"""
    a, b, n, d = distinct(2, 8, 4, seed="sizes")
    same = whole(3, 6, seed="same")
    alike = pull_and_push(negative_sampling_gradient, *words_with_noise(same, n=same, d=same), about=", sizes alike")
    return pull_and_push(negative_sampling_gradient, *words_with_noise(a, b, n=n, d=d)) | alike


@exercise.probe
def gradients_in_sizes_of_one(negative_sampling_gradient: Any) -> Seen:
    """one negative, one component, a batch of one"""
    a, b = distinct(3, 8, 2, seed="sizes")
    found: Seen = {}
    for about, (batch, n, d) in {"one negative": (a, 1, b), "one component": (a, b, 1), "one": (1, a, b)}.items():
        words = words_with_noise(batch, n=n, d=d)
        found |= pull_and_push(negative_sampling_gradient, *words, about=f", {about}")
    return found


@exercise.probe
def gradients_without_negatives(negative_sampling_gradient: Any) -> Seen:
    """no negatives"""
    batch, d = distinct(3, 8, 2, seed="sizes")
    return pull_and_push(negative_sampling_gradient, *words_with_noise(batch, n=0, d=d))


@exercise.probe
def gradients_of_huge_dot_products(negative_sampling_gradient: Any) -> Seen:
    """dot products around ±10,000, of answers that are right and wrong"""
    return pull_and_push(negative_sampling_gradient, *sure_words(512))


# By hand, so its own gradient is not looked at.
usual(exercise, some_words, without=["gradients"])


Three = tuple[Tensor, Tensor, Tensor]


def surprised_by_yes(near: Tensor) -> Tensor:
    return -torch.sigmoid(-near)


def surprised_by_no(far: Tensor) -> Tensor:
    return torch.sigmoid(far)


def number_of_centres(centre: Tensor, negatives: Tensor) -> int:
    return centre[..., 0].numel()


def pulls_and_pushes(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    return pull * context + (push * negatives).sum(-2)


def along_the_centre(weight: Tensor, centre: Tensor, other: Tensor) -> Tensor:
    return weight * centre


@exercise.assembled
def gradient_in_steps(
    centre: Tensor,
    context: Tensor,
    negatives: Tensor,
    *,
    pulled: Any = surprised_by_yes,
    pushed: Any = surprised_by_no,
    count: Any = number_of_centres,
    of_centre: Any = pulls_and_pushes,
    of_context: Any = along_the_centre,
    of_negatives: Any = along_the_centre,
) -> Three:
    near, far = dot_products(centre, context, negatives)
    centres = count(centre, negatives)
    pull, push = pulled(near).unsqueeze(-1) / centres, pushed(far).unsqueeze(-1) / centres
    d_centre = of_centre(pull, push, context, negatives)
    return d_centre, of_context(pull, centre, context), of_negatives(push, centre.unsqueeze(-2), negatives)


@exercise.instead_of("pulled")
def surest_pulled_most(near: Tensor) -> Tensor:
    """The context pulls by σ(x), the more the surer the answer was already.

    It should pull by how wrong the answer was: 1 - σ(x), which is σ(-x).
    """
    return -torch.sigmoid(near)


@exercise.instead_of("pulled")
def contexts_pushed(near: Tensor) -> Tensor:
    """The context pushes; it should pull.

    A larger dot product with the context makes the loss smaller, so its derivative is negative.
    """
    return torch.sigmoid(-near)


@exercise.instead_of("pulled")
def contexts_treated_as_negatives(near: Tensor) -> Tensor:
    """You treat the context as a negative: its factor is σ(x) where σ(x) - 1 belongs.

    The right answer for it is 1, and the factor is the answer minus the right answer.
    """
    return torch.sigmoid(near)


@exercise.instead_of("pushed")
def surest_pushed_most(far: Tensor) -> Tensor:
    """A negative pushes by σ(-x), the more the surer the answer no was already.

    It should push by how wrong the answer was: σ(x).
    """
    return torch.sigmoid(-far)


@exercise.instead_of("pushed")
def negatives_pulled(far: Tensor) -> Tensor:
    """The negatives pull; they should push.

    A larger dot product with a negative makes the loss larger, so its derivative is positive.
    """
    return -torch.sigmoid(far)


@exercise.instead_of("pushed")
def negatives_treated_as_contexts(far: Tensor) -> Tensor:
    """You treat the negatives as contexts: their factor is σ(x) - 1 where σ(x) belongs.

    The right answer for a negative is 0, and the factor is the answer minus the right answer.
    """
    return -torch.sigmoid(-far)


@exercise.instead_of("pushed")
def overflowing_sigmoid(far: Tensor) -> Tensor:
    """You compute σ as exp(x)/(1 + exp(x)), which is inf/inf for a large dot product: NaN.

    `torch.sigmoid` takes care of both ends.
    """
    return far.exp() / (1 + far.exp())


@exercise.instead_of("count")
def gradient_of_a_sum(centre: Tensor, negatives: Tensor) -> int:
    """You do not divide by the number of centres: this is the gradient of the sum.

    The loss is the mean over all centres.
    """
    return 1


@exercise.instead_of("count")
def rows_of_the_first_dimension(centre: Tensor, negatives: Tensor) -> int:
    """You divide by the size of the first dimension.

    That is the number of centres only where there is one leading dimension. Count all of them together.
    """
    return len(centre)


@exercise.instead_of("count")
def every_component_counted(centre: Tensor, negatives: Tensor) -> int:
    """You divide by the number of all components of the centres.

    The mean is over centres; within a vector nothing is averaged.
    """
    return centre.numel()


@exercise.instead_of("count")
def every_question_counted(centre: Tensor, negatives: Tensor) -> int:
    """You divide by n + 1 as well, as if the loss were a mean over all questions.

    The terms of a centre are summed; the mean is over centres alone.
    """
    return number_of_centres(centre, negatives) * (negatives.shape[-2] + 1)


@exercise.instead_of("of_centre")
def centre_not_pushed(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """In the gradient of the centre the negatives are missing.

    The centre takes part in all n + 1 dot products.
    """
    return pull * context


@exercise.instead_of("of_centre")
def centre_not_pulled(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """In the gradient of the centre the context is missing.

    The centre takes part in all n + 1 dot products.
    """
    return (push * negatives).sum(-2)


@exercise.instead_of("of_centre")
def pushes_averaged(pull: Tensor, push: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """In the gradient of the centre you take the mean over the negatives; it should be their sum.

    The loss sums over the negatives, and so does its gradient.
    """
    return pull * context + (push * negatives).mean(-2)


@exercise.instead_of("of_context")
def along_the_context(weight: Tensor, centre: Tensor, context: Tensor) -> Tensor:
    """The gradient of the context lies along the context; it should lie along the centre.

    The derivative of a dot product in one of its vectors is the other one.
    """
    return weight * context


@exercise.instead_of("of_negatives")
def along_the_negatives(weight: Tensor, centre: Tensor, negatives: Tensor) -> Tensor:
    """The gradients of the negatives lie along the negatives; they should lie along the centre.

    The derivative of a dot product in one of its vectors is the other one.
    """
    return weight * negatives


@exercise.instead_of("of_negatives")
def negatives_summed_up(weight: Tensor, centre: Tensor, negatives: Tensor) -> Tensor:
    """You sum the gradient over the negatives.

    Each negative is a vector of its own, with its own gradient: (..., n, d).
    """
    return (weight * centre).sum(-2)


@exercise.misconception
def direction_to_step(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """All signs are reversed.

    That is the direction in which to step. The gradient points to where the loss grows.
    """
    return tuple(-found for found in negative_sampling_gradient(centre, context, negatives))


@exercise.misconception
def centre_and_context_exchanged(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You return the gradient of the context before that of the centre.

    They come in the order of the arguments: centre, context, negatives.
    """
    d_centre, d_context, d_negatives = negative_sampling_gradient(centre, context, negatives)
    return d_context, d_centre, d_negatives


@exercise.misconception
def without_a_sigmoid(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You use the dot products themselves as answers, without σ.

    The factor is σ(x) minus the right answer, which lies between -1 and 1. A dot product may be anything.
    """
    return gradient_in_steps(centre, context, negatives, pulled=lambda near: near - 1, pushed=lambda far: far)


@exercise.misconception
def as_of_a_softmax(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """Your factors come from a softmax over the context and the negatives.

    That is another loss, in which they compete. Here each dot product is a question of its own, yes or no, with a σ of
    its own.
    """
    near, far = dot_products(centre, context, negatives)
    shares = torch.cat([near.unsqueeze(-1), far], -1).softmax(-1)
    wrong: dict[str, Any] = {"pulled": lambda near: shares[..., 0] - 1, "pushed": lambda far: shares[..., 1:]}
    return gradient_in_steps(centre, context, negatives, **wrong)


@exercise.misconception
def as_of_squared_errors(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """Your factors have σ(x)·(1 - σ(x)) in them.

    In the derivative of log σ(x) the σ(x) cancels. What is left is the answer minus the right answer.
    """

    def slope(x: Tensor) -> Tensor:
        return torch.sigmoid(x) * torch.sigmoid(-x)

    wrong: dict[str, Any] = {
        "pulled": lambda near: surprised_by_yes(near) * slope(near),
        "pushed": lambda far: surprised_by_no(far) * slope(far),
    }
    return gradient_in_steps(centre, context, negatives, **wrong)


@exercise.misconception
def left_to_autograd(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You let autograd do it, and the checks run without autograd.

    The exercise is the formula: one σ for each dot product, times the other vector.
    """
    inputs = [t.detach().clone().requires_grad_() for t in (centre, context, negatives)]
    return torch.autograd.grad(negative_sampling_loss(*inputs), inputs)


@exercise.misconception
def left_to_torch_func(centre: Tensor, context: Tensor, negatives: Tensor) -> Any:
    """You let `torch.func` do it, and the checks run without it.

    The exercise is the formula: one σ for each dot product, times the other vector.
    """
    grad: Any = torch.func.grad
    return grad(negative_sampling_loss, argnums=(0, 1, 2))(centre, context, negatives)


squeezes(exercise)
unpacks(exercise, "centre", "batch", "d")
