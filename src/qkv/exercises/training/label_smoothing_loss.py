"""The exercise `label_smoothing_loss`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, number, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import CROSS_ENTROPY
from qkv.model.training import (
    label_smoothing_loss,
)

exercise = Exercise(
    label_smoothing_loss,
    section="Label smoothing",
    minutes=20,
    difficulty=2,
    why="The model is asked to be right and not too sure, which costs perplexity and may gain accuracy.",
    hints=[
        "Write the target distribution for K = 4 and ε = 0.2: what does the right class get, what do the others?",
        "The cross-entropy with it splits in two: a part for the right class, and a mean over all classes.",
        "For huge logits `log_softmax` is stable, `log(softmax)` is not. Average over what counts only.",
    ],
    forbid=[CROSS_ENTROPY],
    equivalents={
        "right = F.one_hot(targets, classes).to(log_p.dtype)  ->  right = F.one_hot(targets, classes)": (
            "a scalar result may be float32, and six digits suffice"
        ),
    },
)


def logits_and_targets() -> tuple[Tensor, Tensor, float]:
    return normal(6, 5, seed="logits", std=2.0), integers(0, 5, 6, seed="targets"), 0.1


@exercise.probe
def six_targets(label_smoothing_loss: Any) -> Seen:
    """six targets of five classes, ε = 0.1"""
    return {"loss": label_smoothing_loss(*logits_and_targets())}


@exercise.probe
def no_smoothing(label_smoothing_loss: Any) -> Seen:
    """ε = 0, the plain cross-entropy"""
    return {"loss": label_smoothing_loss(normal(4, 3, seed="logits"), integers(0, 3, 4, seed="targets"), 0.0)}


@exercise.probe
def some_ignored(label_smoothing_loss: Any) -> Seen:
    """a batch of sequences in which targets of 0 do not count, ε = 0.3"""
    targets = integers(1, 7, 2, 4, seed="targets")
    targets[0, 2:], targets[1, 3] = 0, 0
    return {"loss": label_smoothing_loss(normal(2, 4, 7, seed="logits"), targets, 0.3, ignore_index=0)}


@exercise.probe
def ignored_by_an_unusual_number(label_smoothing_loss: Any) -> Seen:
    """ignore_index = -100, and one that is no class at all"""
    targets = integers(0, 4, 5, seed="targets")
    losses = {}
    for index in (-100, 9):
        marked = targets.clone()
        marked[1::2] = index
        losses[f"ignoring {index}"] = label_smoothing_loss(normal(5, 4, seed="logits"), marked, 0.2, index)
    return losses


@exercise.probe
def huge_logits(label_smoothing_loss: Any) -> Seen:
    """logits of about ±10,000"""
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 5e3]]) + integers(-640, 640, 2, 3, seed="logits") / 64
    return {"loss": label_smoothing_loss(logits, torch.tensor([1, 1]), number(0.05, 0.3, seed="epsilon"))}


@exercise.probe
def a_single_target(label_smoothing_loss: Any) -> Seen:
    """one target without a batch dimension"""
    return {"loss": label_smoothing_loss(normal(6, seed="logits"), integers(0, 6, seed="target"), 0.25)}


@exercise.probe
def losses_of_size_one(label_smoothing_loss: Any) -> Seen:
    """a batch of one, sequences of one, and two classes"""
    n, classes = distinct(3, 9, 2, seed="sizes")
    shapes = [(1, classes), (n, 1, classes), (1, n, classes), (1, 1, classes), (n, 2)]
    return {
        f"loss, logits {shape}": label_smoothing_loss(
            normal(*shape, seed="logits"), integers(0, shape[-1], *shape[:-1], seed="targets"), 0.15
        )
        for shape in shapes
    }


@exercise.probe
def one_class_and_nearly_certain(label_smoothing_loss: Any) -> Seen:
    """a single class, where nothing is to be learned, and ε = 1, where no class is preferred"""
    nothing = label_smoothing_loss(normal(3, 1, seed="one"), torch.zeros(3, dtype=torch.int64), 0.1)
    return {
        "loss of one class": nothing,
        "loss at ε = 1": label_smoothing_loss(normal(5, 4, seed="l"), integers(0, 4, 5, seed="t"), 1.0),
    }


@exercise.probe
def one_target_left(label_smoothing_loss: Any) -> Seen:
    """several batch dimensions in which a single target counts, and an ignore_index that does not occur"""
    targets = torch.full((2, 3, 2), 4)
    targets[1, 0, 1] = whole(0, 4, seed="target")
    all_count = integers(0, 5, 2, 3, 2, seed="targets")
    return {
        "loss": label_smoothing_loss(normal(2, 3, 2, 5, seed="logits"), targets, 0.2, ignore_index=4),
        "loss where all count": label_smoothing_loss(normal(2, 3, 2, 5, seed="logits"), all_count, 0.2, ignore_index=7),
    }


usual(exercise, logits_and_targets)


def each(logits: Tensor, targets: Tensor, share: float, rest: float, log_p: Tensor | None = None) -> Tensor:
    """The loss of every target: `share` for the right class, `rest` for the mean over all classes."""
    log_p = logits.log_softmax(-1) if log_p is None else log_p
    right = log_p.gather(-1, targets.clamp(0, logits.shape[-1] - 1).unsqueeze(-1)).squeeze(-1)
    return -(share * right + rest * log_p.mean(-1))


def counting(targets: Tensor, ignore_index: int | None) -> Tensor:
    return torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index


@exercise.misconception
def spread_over_the_others(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You spread ε over the wrong classes only.

    Here it is spread over all K classes, the right one included, which gets 1 - ε + ε/K.
    """
    classes = logits.shape[-1]
    rest = epsilon * classes / (classes - 1)
    losses = each(logits, targets, 1 - rest, rest)
    return losses[counting(targets, ignore_index)].mean()


@exercise.misconception
def summed(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You sum over the targets instead of averaging.

    Then the loss, and with it the step, grows with the size of the batch.
    """
    return each(logits, targets, 1 - epsilon, epsilon)[counting(targets, ignore_index)].sum()


@exercise.misconception
def averaged_over_ignored_ones(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You leave the ignored targets out of the sum, but divide by the number of all.

    The more padding a batch has, the smaller its loss would be. Divide by what was summed.
    """
    return (each(logits, targets, 1 - epsilon, epsilon) * counting(targets, ignore_index)).mean()


@exercise.misconception
def mean_of_means(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You average over each sequence first, and then over the sequences.

    Then the targets of a short sequence count for more. Every target counts alike, whatever sequence it is in.
    """
    losses, kept = each(logits, targets, 1 - epsilon, epsilon), counting(targets, ignore_index)
    counts = kept.sum(-1)
    means = (losses * kept).sum(-1)[counts > 0] / counts[counts > 0]
    return means.mean()


@exercise.misconception
def mean_of_means_with_zeros(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You average over each sequence first, one without targets as 0, and then over all sequences.

    Then the targets of a short sequence count for more, and nothing but padding counts as right. Every target counts
    alike, whatever sequence it is in.
    """
    losses, kept = each(logits, targets, 1 - epsilon, epsilon), counting(targets, ignore_index)
    return ((losses * kept).sum(-1) / kept.sum(-1).clamp(min=1)).mean()


@exercise.misconception
def nothing_ignored(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You do not leave anything out: ignore_index is not used.

    Padding would then be predicted, and counted, like any token.
    """
    return label_smoothing_loss(logits, targets, epsilon)  # raises for targets that are no class, as such answers do


@exercise.misconception
def shares_exchanged(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You give the right class ε and spread 1 - ε.

    Smoothing takes a little from the right class, not nearly all of it.
    """
    return each(logits, targets, epsilon, 1 - epsilon)[counting(targets, ignore_index)].mean()


@exercise.misconception
def logarithm_of_a_softmax(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You take the logarithm of the softmax, which is -inf for logits far apart.

    A probability of 1e-50 is 0 in float32, and log 0 is -inf. `log_softmax` computes the logarithm without computing
    the probability first.
    """
    losses = each(logits, targets, 1 - epsilon, epsilon, logits.softmax(-1).log())
    return losses[counting(targets, ignore_index)].mean()


@exercise.misconception
def not_smoothed(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """Your loss is the plain cross-entropy; ε is not used.

    Its minimum asks for infinitely large logits; smoothing asks for a finite gap.
    """
    return label_smoothing_loss(logits, targets, 0.0, ignore_index)


@exercise.misconception
def summed_over_the_classes(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You give every class ε instead of ε/K.

    The target is a distribution: its shares must sum to 1.
    """
    return each(logits, targets, 1 - epsilon, epsilon * logits.shape[-1])[counting(targets, ignore_index)].mean()


@exercise.misconception
def added_to_every_class_without_epsilon(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You add 1/K to every class; ε is missing there.

    The target is a distribution: (1 - ε) for the right class and ε/K for all. With 1/K its shares sum to 2 - ε.
    """
    return each(logits, targets, 1 - epsilon, 1.0)[counting(targets, ignore_index)].mean()


@exercise.misconception
def too_little_taken(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You take ε/K from the right class, and give ε/K to every class.

    Then the shares sum to more than 1, and the right class keeps all that it had. What is spread has to be taken: ε.
    """
    share = 1 - epsilon / logits.shape[-1]
    return each(logits, targets, share, epsilon)[counting(targets, ignore_index)].mean()


@exercise.misconception
def one_class_too_few(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You give every class ε/(K - 1), the right one included.

    K - 1 goes with spreading over the wrong classes only. Over all of them it is ε/K, and the shares sum to 1.
    """
    classes = logits.shape[-1]
    rest = epsilon * classes / (classes - 1)
    return each(logits, targets, 1 - epsilon, rest)[counting(targets, ignore_index)].mean()


@exercise.misconception
def divergence_instead_of_cross_entropy(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You return the Kullback-Leibler divergence: the cross-entropy less the entropy of the smoothed target.

    Its gradient is the same, its value is not. The exercise asks for the cross-entropy.
    """
    right, other = 1 - epsilon + epsilon / logits.shape[-1], epsilon / logits.shape[-1]
    entropy = -sum(n * q * math.log(q) for n, q in ((1, right), (logits.shape[-1] - 1, other)) if q > 0)
    return label_smoothing_loss(logits, targets, epsilon, ignore_index) - entropy


@exercise.misconception
def spread_over_all_but_the_padding(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You spread ε over the K - 2 classes that are neither the right one nor padding.

    Known code for translation does so, with class 0 for padding. Here ε is spread over all K classes.
    """
    padding = 0 if ignore_index is None or not 0 <= ignore_index < logits.shape[-1] else ignore_index
    keep = counting(targets, ignore_index)
    log_p, targets = logits.log_softmax(-1)[keep], targets[keep]
    wanted = torch.full_like(log_p, epsilon / (logits.shape[-1] - 2))
    wanted.scatter_(-1, targets.unsqueeze(-1), 1 - epsilon)
    wanted[..., padding] = 0
    return -(wanted * log_p).sum() / targets.numel()


@exercise.misconception
def one_batch_dimension_only(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You take the classes along dimension 1, which is the last one only with exactly one batch dimension.

    `...` may be none, one or several dimensions. The classes are always in the last: -1.
    """
    log_p = logits.log_softmax(1)
    return (
        label_smoothing_loss(log_p, targets, epsilon, ignore_index)
        if logits.dim() == 2
        else (-(1 - epsilon) * log_p.gather(1, targets.clamp(min=0).unsqueeze(1)).mean() - epsilon * log_p.mean())
    )
