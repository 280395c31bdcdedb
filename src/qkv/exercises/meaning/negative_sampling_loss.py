"""The exercise `negative_sampling_loss`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import unpacks
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.meaning.shared import dot_products, some_words, sure_words, words_with_noise
from qkv.model.meaning import (
    negative_sampling_loss,
)

exercise = Exercise(
    negative_sampling_loss,
    section="Neighbours and strangers",
    minutes=10,
    difficulty=2,
    why="A choice among all words of a language becomes a handful of yes-or-no questions.",
    hints=[
        "Two dot products for each centre: one with its context, and n with its negatives. What are their shapes?",
        "For the context the right answer is yes, for a negative it is no. What is the probability of no, 1 - σ(x), as "
        "a σ of something else?",
        "σ(-200) is 0 in float32, and its logarithm -inf. `F.logsigmoid` never makes the σ itself.",
        "Sum over the negatives first, then take the mean over everything that is left.",
    ],
)


@exercise.probe
def a_batch_of_words(negative_sampling_loss: Any) -> Seen:
    """a batch of centres, all sizes different"""
    return {"loss": negative_sampling_loss(*some_words())}


@exercise.probe
def one_centre_alone(negative_sampling_loss: Any) -> Seen:
    """one centre, no leading dimension"""
    n, d = distinct(3, 8, 2, seed="sizes")
    return {"loss": negative_sampling_loss(*words_with_noise(n=n, d=d))}


@exercise.probe
def two_leading_dimensions(negative_sampling_loss: Any) -> Seen:
    """two leading dimensions; all sizes alike"""
    a, b, n, d = distinct(2, 8, 4, seed="sizes")
    same = whole(3, 6, seed="same")
    return {
        "loss": negative_sampling_loss(*words_with_noise(a, b, n=n, d=d)),
        "loss, all sizes alike": negative_sampling_loss(*words_with_noise(same, n=same, d=same)),
    }


@exercise.probe
def sizes_of_one(negative_sampling_loss: Any) -> Seen:
    """one negative, one component, a batch of one"""
    a, b = distinct(3, 8, 2, seed="sizes")
    return {
        "loss, one negative": negative_sampling_loss(*words_with_noise(a, n=1, d=b)),
        "loss, one component": negative_sampling_loss(*words_with_noise(a, n=b, d=1)),
        "loss, batch of one": negative_sampling_loss(*words_with_noise(1, n=a, d=b)),
    }


@exercise.probe
def no_negatives(negative_sampling_loss: Any) -> Seen:
    """no negatives"""
    batch, d = distinct(3, 8, 2, seed="sizes")
    return {"loss": negative_sampling_loss(*words_with_noise(batch, n=0, d=d))}


def loss_and_gradients(loss: Any, *arguments: Tensor) -> Seen:
    """The loss, and its gradient in each argument; 0 where there is no graph."""
    names = [f"gradient of {name}" for name in ("centre", "context", "negatives")]
    result = loss(*(argument.requires_grad_() for argument in arguments))
    found: Sequence[Tensor | None] = [None] * 3
    if isinstance(result, Tensor) and result.requires_grad:
        found = torch.autograd.grad(result.sum(), arguments, allow_unused=True)
    grads = [torch.zeros_like(a) if g is None else g for a, g in zip(arguments, found, strict=True)]
    return {"loss": result, **dict(zip(names, grads, strict=True))}


@exercise.probe
def answers_that_are_sure(negative_sampling_loss: Any) -> Seen:
    """dot products from ±24 to ±72, right and wrong ones, with the gradients"""
    return loss_and_gradients(negative_sampling_loss, *sure_words(3))


@exercise.probe
def huge_dot_products(negative_sampling_loss: Any) -> Seen:
    """dot products around ±10,000, right and wrong ones, with the gradients"""
    return loss_and_gradients(negative_sampling_loss, *sure_words(512))


@exercise.probe
def all_answers_right(negative_sampling_loss: Any) -> Seen:
    """dot products around 10,000 with the contexts and around -10,000 with the negatives; then a batch as usual"""
    centre, context, negatives = sure_words(512)
    found = loss_and_gradients(negative_sampling_loss, centre[:1], context[:1], negatives[:1])
    return found | {"loss as usual": negative_sampling_loss(*some_words())}


usual(exercise, some_words)


def log_of_yes(near: Tensor) -> Tensor:
    return F.logsigmoid(near)


def log_of_no(far: Tensor) -> Tensor:
    return F.logsigmoid(-far)


def sum_of_negatives(noes: Tensor) -> Tensor:
    return noes.sum(-1)


def negative_mean(yes: Tensor, no: Tensor) -> Tensor:
    return -(yes + no).mean()


@exercise.assembled
def loss_in_steps(
    centre: Tensor,
    context: Tensor,
    negatives: Tensor,
    *,
    compare: Any = dot_products,
    say_yes: Any = log_of_yes,
    say_no: Any = log_of_no,
    collect: Any = sum_of_negatives,
    join: Any = negative_mean,
) -> Tensor:
    near, far = compare(centre, context, negatives)
    return join(say_yes(near), collect(say_no(far)))


@exercise.instead_of("collect")
def negatives_averaged(noes: Tensor) -> Tensor:
    """You take the mean over the negatives; it should be their sum.

    With more negatives, more questions are asked, and all of them count. The mean of none at all would be NaN.
    """
    return noes.mean(-1)


@exercise.instead_of("collect")
def first_negative_alone(noes: Tensor) -> Tensor:
    """Only the first of the negatives counts.

    There are n of them, and the loss has a term for each.
    """
    return noes[..., :1].sum(-1)


@exercise.instead_of("say_no")
def negatives_as_neighbours(far: Tensor) -> Tensor:
    """You ask for "yes" for the negatives, too.

    Then all vectors would become alike. The right answer for a negative is no: σ of *minus* the dot product.
    """
    return F.logsigmoid(far)


@exercise.instead_of("say_no")
def one_minus_what_is_lost(far: Tensor) -> Tensor:
    """You compute 1 - σ(x) for the negatives, which is 0 for a dot product of 20, and its logarithm -inf.

    In float32 σ(20) is 1. 1 - σ(x) is σ(-x), and `F.logsigmoid` takes its logarithm without loss.
    """
    return torch.log(1 - torch.sigmoid(far))


@exercise.instead_of("say_no")
def logarithm_of_zero_for_negatives(far: Tensor) -> Tensor:
    """For the negatives you take the σ first and its logarithm after: where σ underflows to 0, the loss is infinite.

    `F.logsigmoid` never makes the σ itself.
    """
    return torch.log(torch.sigmoid(-far))


@exercise.instead_of("say_yes")
def logarithm_of_zero_for_contexts(near: Tensor) -> Tensor:
    """For the contexts you take the σ first and its logarithm after: where σ underflows to 0, the loss is infinite.

    `F.logsigmoid` never makes the σ itself.
    """
    return torch.log(torch.sigmoid(near))


@exercise.instead_of("say_yes")
def contexts_as_strangers(near: Tensor) -> Tensor:
    """You ask for "no" for the context.

    It is a true neighbour: the right answer is yes, with the probability σ(centre·context).
    """
    return F.logsigmoid(-near)


@exercise.misconception
def logarithm_of_zero(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You take the σ first and its logarithm after: where σ underflows to 0, the loss is infinite.

    A dot product of -200 is enough for that in float32. `F.logsigmoid` never makes the σ itself.
    """
    wrong = {"say_yes": logarithm_of_zero_for_contexts, "say_no": logarithm_of_zero_for_negatives}
    return loss_in_steps(centre, context, negatives, **wrong)


@exercise.misconception
def logarithm_of_zero_and_of_what_is_lost(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You compute log σ(x) and log(1 - σ(x)) as they stand, and both become -inf where a σ is 0 or 1 in float32.

    That begins at a dot product of 20. 1 - σ(x) is σ(-x), and `F.logsigmoid` takes its logarithm without loss.
    """
    wrong = {"say_yes": logarithm_of_zero_for_contexts, "say_no": one_minus_what_is_lost}
    return loss_in_steps(centre, context, negatives, **wrong)


@exercise.misconception
def logarithms_cut_off(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You give probabilities to `binary_cross_entropy`, which takes no logarithm for smaller than -100.

    σ is 0 or 1 in float32 where a dot product is large. From there on the loss stays at 100, and nothing is learned.
    `F.logsigmoid` takes the dot products themselves.
    """
    near, far = dot_products(centre, context, negatives)
    yes, no = (
        -F.binary_cross_entropy(torch.sigmoid(x), torch.full_like(x, t), reduction="none")
        for x, t in ((near, 1.0), (far, 0.0))
    )
    return negative_mean(yes, sum_of_negatives(no))


@exercise.instead_of("compare")
def cosines_for_dot_products(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You compare by cosines; it should be dot products.

    A σ of a cosine lies between 0.27 and 0.73: the model could never become sure.
    """
    return F.cosine_similarity(centre, context, -1), F.cosine_similarity(centre.unsqueeze(-2), negatives, -1)


@exercise.instead_of("compare")
def negatives_beside_the_context(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You compare the negatives with the context.

    All questions are about the centre: is this its neighbour?
    """
    return (centre * context).sum(-1), (negatives @ context.unsqueeze(-1)).squeeze(-1)


@exercise.instead_of("compare")
def scaled_by_the_width(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You divide the dot products by the root of d, as attention does.

    Here nothing is drawn at random and then left: the vectors learn their own scale. Use the dot products as they are.
    """
    near, far = dot_products(centre, context, negatives)
    return near / math.sqrt(centre.shape[-1]), far / math.sqrt(centre.shape[-1])


@exercise.instead_of("compare")
def negatives_added_first(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    """You add the negatives up and ask one question about their sum.

    Each negative is a word of its own: n dot products, n logarithms.
    """
    near, far = dot_products(centre, context, negatives)
    return near, far.sum(-1, keepdim=True)


@exercise.instead_of("join")
def log_likelihood(yes: Tensor, no: Tensor) -> Tensor:
    """The sign is reversed: you return the log-likelihood, which should grow.

    A loss is to be made small: minus the logarithms.
    """
    return (yes + no).mean()


@exercise.instead_of("join")
def negatives_subtracted(yes: Tensor, no: Tensor) -> Tensor:
    """The negatives' part has the wrong sign: you add their logarithms to the loss.

    Right answers about the negatives should make the loss smaller, as right answers about the context do.
    """
    return -(yes - no).mean()


@exercise.instead_of("join")
def summed_over_centres(yes: Tensor, no: Tensor) -> Tensor:
    """You sum over the centres; it should be the mean.

    Otherwise the loss grows with the batch, and the learning rate would have to shrink with it.
    """
    return -(yes + no).sum()


@exercise.instead_of("join")
def one_loss_for_each_centre(yes: Tensor, no: Tensor) -> Tensor:
    """You return one loss for each centre.

    The mean over all of them is one number.
    """
    return -(yes + no)


@exercise.instead_of("join")
def negatives_left_out(yes: Tensor, no: Tensor) -> Tensor:
    """Only the contexts count; the negatives are missing.

    With yes as the only right answer, long equal vectors for all words would be best.
    """
    return -yes.mean()


@exercise.instead_of("join")
def context_left_out(yes: Tensor, no: Tensor) -> Tensor:
    """Only the negatives count; the contexts are missing.

    The first term is -log σ(centre·context).
    """
    return -no.mean()


@exercise.instead_of("join")
def surprise_in_bits(yes: Tensor, no: Tensor) -> Tensor:
    """Your logarithms are to the base 2.

    The loss is in nats: natural logarithms.
    """
    return -(yes + no).mean() / math.log(2)


@exercise.misconception
def averaged_over_all_questions(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You take the mean over all questions, of contexts and negatives together.

    That divides by n + 1 as well. The n + 1 terms of a centre are summed; the mean is over centres.
    """
    return negative_sampling_loss(centre, context, negatives) / (negatives.shape[-2] + 1)


@exercise.misconception
def one_choice_among_all(centre: Tensor, context: Tensor, negatives: Tensor) -> Tensor:
    """You take a softmax over the context and the negatives.

    That is a choice among n + 1 words, InfoNCE. Here each word is asked about alone, by a σ.
    """
    near, far = dot_products(centre, context, negatives)
    return -torch.cat([near.unsqueeze(-1), far], -1).log_softmax(-1)[..., 0].mean()


unpacks(exercise, "centre", "batch", "d")
