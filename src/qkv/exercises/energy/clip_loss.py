"""The exercise `clip_loss`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, normal, number, uniform, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.energy.shared import weighed_gradient
from qkv.model.energy import (
    clip_loss,
)

ON_ROWS = "logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T  ->  logits = scale * "


exercise = Exercise(
    clip_loss,
    section="Images and texts",
    minutes=10,
    difficulty=2,
    why="With this loss pictures and words came into one space: CLIP.",
    hints=[
        "All cosines at once: scale both to length 1, then one product gives (image, text).",
        "Row i asks which text belongs to image i. What does column i ask?",
        "Two cross-entropies, of the same table in two directions. The right answer is on the diagonal both times.",
    ],
    equivalents={
        f"{ON_ROWS}{other}": "images and texts have two dimensions, of which torch's own choice is the last, too"
        for other in (
            "F.normalize(images) @ F.normalize(texts, dim=-1).T",
            "F.normalize(images, dim=-1) @ F.normalize(texts).T",
            "F.normalize(images, dim=1) @ F.normalize(texts, dim=-1).T",
            "F.normalize(images, dim=-1) @ F.normalize(texts, dim=1).T",
        )
    },
)


def pairs(batch: int, d: int) -> tuple[Tensor, Tensor]:
    """Images and texts of all lengths, so that a dot product is no cosine."""
    lengths = uniform(2, batch, 1, seed="lengths", low=0.5, high=3.0)
    return lengths[0] * normal(batch, d, seed="images"), lengths[1] * normal(batch, d, seed="texts")


def some_pairs() -> tuple[Any, ...]:
    """The scale is a number that every dtype has exactly."""
    return *pairs(*distinct(3, 8, 2, seed="sizes")), torch.tensor(0.25 * whole(2, 9, seed="log scale"))


@exercise.probe
def a_batch_of_pairs(clip_loss: Any) -> Seen:
    """a batch of pairs, the scale a tensor"""
    return {"loss": clip_loss(*some_pairs())}


@exercise.probe
def scale_as_a_number(clip_loss: Any) -> Seen:
    """the scale a Python number, positive and negative"""
    images, texts = pairs(*distinct(4, 9, 2, seed="sizes"))
    up, down = number(0.5, 2.0, seed="up"), number(-2.0, -0.5, seed="down")
    return {"scaled up": clip_loss(images, texts, up), "scaled down": clip_loss(images, texts, down)}


@exercise.probe
def two_pairs(clip_loss: Any) -> Seen:
    """two pairs; vectors of a single number"""
    scale = number(0.5, 1.5, seed="scale")
    return {
        "two pairs": clip_loss(*pairs(2, whole(3, 9, seed="d")), scale),
        "of width 1": clip_loss(*pairs(whole(4, 9, seed="batch"), 1), scale),
    }


@exercise.probe
def a_large_scale(clip_loss: Any) -> Seen:
    """a scale of about 1000"""
    return {"loss": clip_loss(*pairs(whole(5, 9, seed="batch"), 4), number(6.5, 7.5, seed="scale"))}


@exercise.probe
def gradient_of_the_scale(clip_loss: Any) -> Seen:
    """the gradient in the scale"""
    images, texts, scale = some_pairs()
    return {"gradient": weighed_gradient(clip_loss(images, texts, scale.requires_grad_()), scale)}


@exercise.property
def a_single_pair(clip_loss: Any) -> Seen:
    """one pair alone

    With one image and one text there is nothing to confuse: the loss is 0.
    """
    return {"loss": clip_loss(*pairs(1, 5), 1.0)}


def scaled_down() -> tuple[Any, ...]:
    images, texts, scale = some_pairs()
    return images, texts, -scale  # a negative logarithm, which `abs_` and `clamp_` would change


usual(exercise, scaled_down)


def exponential_scale(log_scale: Any) -> Any:
    return log_scale.exp() if isinstance(log_scale, Tensor) else math.exp(log_scale)


def unit_rows(x: Tensor) -> Tensor:
    return F.normalize(x, dim=-1)


def images_ask(logits: Tensor) -> Tensor:
    return -logits.log_softmax(1).diagonal().mean()


def texts_ask(logits: Tensor) -> Tensor:
    return -logits.log_softmax(0).diagonal().mean()


def halved(one: Tensor, other: Tensor) -> Tensor:
    return (one + other) / 2


@exercise.assembled
def clip_in_steps(
    images: Tensor,
    texts: Tensor,
    log_scale: Any,
    *,
    scale: Any = exponential_scale,
    unit: Any = unit_rows,
    of_images: Any = images_ask,
    of_texts: Any = texts_ask,
    join: Any = halved,
) -> Tensor:
    logits = scale(log_scale) * unit(images) @ unit(texts).T
    return join(of_images(logits), of_texts(logits))


@exercise.instead_of("scale")
def logarithm_used_as_it_is(log_scale: Any) -> Any:
    """You multiply the cosines by `log_scale` itself.

    It is the logarithm of the scale: learned so, the scale itself can't become negative. Take its exponential.
    """
    return log_scale


@exercise.instead_of("scale")
def logarithm_as_a_temperature(log_scale: Any) -> Any:
    """You divide by the exponential of `log_scale`: you take it for the logarithm of a temperature.

    It is the logarithm of what the cosines are multiplied by.
    """
    return 1 / exponential_scale(log_scale)


@exercise.instead_of("scale")
def scale_unused(log_scale: Any) -> Any:
    """You do not use `log_scale`.

    Cosines lie between -1 and 1: without a scale the softmax is nearly flat, and the loss can't become small.
    """
    return 1.0


@exercise.instead_of("scale")
def scale_detached(log_scale: Any) -> Any:
    """Your value is right, but no gradient reaches the scale.

    `float()`, `.item()` and `math.exp` take the number out of the graph. The scale is learned along with the rest.
    """
    return math.exp(float(log_scale))


@exercise.instead_of("unit")
def lengths_kept(x: Tensor) -> Tensor:
    """You compare by dot products; they should be cosines.

    Scale images and texts to length 1 first. Otherwise a long text fits every image.
    """
    return x


@exercise.instead_of("unit")
def unit_columns(x: Tensor) -> Tensor:
    """You scale columns to length 1; it should be the rows.

    Each row is the vector of one image or text.
    """
    return F.normalize(x, dim=0)


@exercise.misconception
def images_ask_alone(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """Only the images ask: the cross-entropy over the images, for each text, is missing.

    The loss has two halves: each image looks for its text, and each text for its image.
    """
    return clip_in_steps(images, texts, log_scale, join=lambda one, other: one)


@exercise.misconception
def texts_ask_alone(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """Only the texts ask: the cross-entropy over the texts, for each image, is missing.

    The loss has two halves: each image looks for its text, and each text for its image.
    """
    return clip_in_steps(images, texts, log_scale, join=lambda one, other: other)


@exercise.instead_of("join")
def both_added(one: Tensor, other: Tensor) -> Tensor:
    """You add the two cross-entropies; it should be their mean.

    Otherwise the loss is twice as large as that of either direction.
    """
    return one + other


@exercise.misconception
def summed_over_the_batch(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You sum over the batch; it should be the mean.

    Otherwise the loss grows with the batch.
    """
    return clip_loss(images, texts, log_scale) * len(images)


@exercise.misconception
def own_left_out(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """The right partner is not in your denominators.

    The softmax is over all texts (all images), the right one included. Otherwise a single pair gives -inf.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    own = logits.diagonal()
    others = logits.masked_fill(torch.eye(len(images), dtype=torch.bool, device=images.device), -math.inf)
    return (others.logsumexp(0) + others.logsumexp(1) - 2 * own).mean() / 2


@exercise.misconception
def logarithm_of_an_underflow(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You take the softmax first and its logarithm after, so a share that underflows costs infinitely much.

    With a large scale a share is easily 0 in float32. `log_softmax` and `cross_entropy` never make the share itself.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    return -(logits.softmax(0).diagonal().log() + logits.softmax(1).diagonal().log()).mean() / 2


@exercise.misconception
def overflowing(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You take the exponentials of the scores as they are, and with a large scale they overflow.

    exp(89) is already more than float32 can hold, and inf divided by inf is NaN. `log_softmax` and `cross_entropy` take
    the largest score out first.
    """
    powers = (exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T).exp()
    own = powers.diagonal()
    return -((own / powers.sum(0)).log() + (own / powers.sum(1)).log()).mean() / 2


@exercise.misconception
def pair_by_pair(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You ask of each pair alone whether it belongs together, by a sigmoid.

    That is another paper's loss. Here the texts compete for an image, and the images for a text.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    signs = 2 * torch.eye(len(images), dtype=images.dtype, device=images.device) - 1
    return -F.logsigmoid(signs * logits).sum() / len(images)


@exercise.misconception
def first_text_for_all(images: Tensor, texts: Tensor, log_scale: Any) -> Tensor:
    """You take the first text (the first image) for the right one everywhere.

    Row i belongs to row i: the right answers are 0, 1, 2, …, on the diagonal.
    """
    logits = exponential_scale(log_scale) * unit_rows(images) @ unit_rows(texts).T
    return -(logits.log_softmax(1)[:, 0].mean() + logits.log_softmax(0)[0].mean()) / 2
