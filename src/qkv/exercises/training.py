"""Chapter 09: the schedule, Adam, label smoothing, accumulation, clipping, loss scaling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.inside.inputs import distinct, integers, normal, number, seeded, whole
from proctor.inside.properties import usual
from qkv.exercises.forbidden import CROSS_ENTROPY
from qkv.model.training import (
    accumulate_gradients,
    adam_step,
    clip_gradients,
    label_smoothing_loss,
    noam_rate,
    scaled_backward,
)

Seen = dict[str, Any]

# noam_rate ------------------------------------------------------------------------------------------------------------

schedule = Exercise(
    noam_rate,
    section="A rate that rises, then falls",
    minutes=10,
    difficulty=1,
    why="At this chapter's rate the post-norm model learns only with a warm-up; at a quarter of it, without one too.",
    hints=[
        "Two curves: one rises in proportion to the step, one falls with its root. Where do they meet?",
        "Before they meet the rising one is smaller, after it the falling one. Which function of two numbers is that?",
        "The rising one is step·warmup^(-3/2), so that both equal warmup^(-1/2) at step = warmup.",
    ],
)


def rates(noam_rate: Any, width: int, warmup: int, steps: Sequence[int]) -> Seen:
    return {f"step {step}, d_model {width}, warm-up {warmup}": noam_rate(step, width, warmup) for step in steps}


@schedule.probe
def rising(noam_rate: Any) -> Seen:
    """steps 1, 2 and later ones of a warm-up of thousands"""
    width, warmup = whole(300, 900, seed="width"), whole(3000, 5000, seed="warmup")
    return rates(noam_rate, width, warmup, [1, 2, *distinct(500, 2500, 2, seed="steps")])


@schedule.probe
def at_the_peak(noam_rate: Any) -> Seen:
    """the peak and its neighbours"""
    width, warmup = whole(30, 90, seed="width"), whole(60, 150, seed="warmup")
    return rates(noam_rate, width, warmup, [warmup - 1, warmup, warmup + 1])


@schedule.probe
def falling(noam_rate: Any) -> Seen:
    """steps after the warm-up, up to 100,000"""
    width, warmup = whole(300, 900, seed="width"), whole(3000, 5000, seed="warmup")
    return rates(noam_rate, width, warmup, [*distinct(6000, 20_000, 2, seed="steps"), 100_000])


@schedule.probe
def anywhere(noam_rate: Any) -> Seen:
    """a step, a width and a warm-up drawn at random"""
    step, width, warmup = (whole(2, 900, seed=name) for name in ("step", "width", "warmup"))
    return rates(noam_rate, width, warmup, [step, step + warmup])


@schedule.probe
def the_smallest(noam_rate: Any) -> Seen:
    """a warm-up of one step, and a width of 1"""
    width, warmup, later = distinct(2, 50, 3, seed="sizes")
    return {**rates(noam_rate, width, 1, [1, 2, later]), **rates(noam_rate, 1, warmup, [1, warmup, warmup + later])}


@schedule.misconception
def larger_of_the_two(step: int, d_model: int, warmup: int) -> float:
    """You take the larger of the two curves.

    Then the rate starts at its highest and explodes later. The smaller one rises first and falls after.
    """
    return float(d_model**-0.5 * max(step**-0.5, step * warmup**-1.5))


@schedule.misconception
def wrong_power_of_the_warmup(step: int, d_model: int, warmup: int) -> float:
    """You multiply the step by warmup^(-1/2).

    The two curves should meet at step = warmup; that takes the power -3/2.
    """
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-0.5))


@schedule.misconception
def wider_models_faster(step: int, d_model: int, warmup: int) -> float:
    """You multiply by the root of d_model instead of dividing.

    A wider model adds up more changes in each output, so each of them must be smaller.
    """
    return noam_rate(step, d_model, warmup) * d_model


@schedule.misconception
def width_ignored(step: int, d_model: int, warmup: int) -> float:
    """You leave d_model out.

    The rate is divided by the root of the width.
    """
    return noam_rate(step, 1, warmup)


@schedule.misconception
def never_falling(step: int, d_model: int, warmup: int) -> float:
    """Your rate stays at its peak after the warm-up.

    In this schedule it falls with the root of the step from there on.
    """
    return noam_rate(min(step, warmup), d_model, warmup)


@schedule.misconception
def counted_from_zero(step: int, d_model: int, warmup: int) -> float:
    """You count steps from 0 and add one.

    Here the first update is step 1 already; added again, every rate belongs to the next step.
    """
    return noam_rate(step + 1, d_model, warmup)


@schedule.misconception
def scaled_to_its_peak(step: int, d_model: int, warmup: int) -> float:
    """You multiply by the root of the warm-up, so that the peak is 1/√d_model.

    Some toolkits do so, with a base rate in place of 1/√d_model. In the paper the peak is 1/√(d_model·warmup): a longer
    warm-up leads to a lower one.
    """
    return noam_rate(step, d_model, warmup) * math.sqrt(warmup)


@schedule.misconception
def peak_of_one(step: int, d_model: int, warmup: int) -> float:
    """Your rate has its peak at 1, whatever the width and the warm-up.

    Some toolkits multiply such a curve by a base rate. Here width and warm-up set the height.
    """
    return noam_rate(step, 1, warmup) * math.sqrt(warmup)


@schedule.misconception
def without_a_warm_up(step: int, d_model: int, warmup: int) -> float:
    """Your rate falls from the first step on.

    The first steps are the dangerous ones: the rate should rise until step = warmup.
    """
    return float(d_model**-0.5 * step**-0.5)


@schedule.misconception
def rising_for_ever(step: int, d_model: int, warmup: int) -> float:
    """Your rate rises for ever.

    The second curve is missing: after the warm-up the rate falls with the root of the step.
    """
    return float(d_model**-0.5 * step * warmup**-1.5)


@schedule.misconception
def width_without_its_root(step: int, d_model: int, warmup: int) -> float:
    """You divide by d_model; it should be its root.

    What adds up in a wider model are many changes of either sign, and their sum grows as the root of the width.
    """
    return noam_rate(step, d_model, warmup) * d_model**-0.5


# adam_step ------------------------------------------------------------------------------------------------------------

stepping = Exercise(
    adam_step,
    section="Adam by hand",
    minutes=15,
    difficulty=2,
    why="Every parameter has a step of its own size; the correction matters in the first steps only.",
    hints=[
        "Update the two running means first; the step uses the new ones.",
        "After one step m is (1 - β₁)·grad, much too small. By what must it be divided to give grad back?",
        "What is corrected is used for the step only; m and v are returned as they are kept.",
    ],
)


def adam_arguments(step: int = 3) -> tuple[Any, ...]:
    p, grad, m = (normal(3, 4, seed=name) for name in ("p", "grad", "m"))
    return p, grad, m, normal(3, 4, seed="v").square() + 0.1, step, 0.1


def three(result: Any) -> Seen:
    p, m, v = result
    return {"p": p, "m": m, "v": v}


@stepping.probe
def third_step(adam_step: Any) -> Seen:
    """the third step on 3 × 4 parameters"""
    return three(adam_step(*adam_arguments()))


@stepping.probe
def first_step(adam_step: Any) -> Seen:
    """the first step, from m = v = 0"""
    p, grad = normal(5, seed="p"), normal(5, seed="grad")
    return three(adam_step(p, grad, torch.zeros(5), torch.zeros(5), 1, 0.01))


@stepping.probe
def other_constants(adam_step: Any) -> Seen:
    """other β₁ and β₂, and an eps that decides"""
    return three(adam_step(*adam_arguments(7), beta1=0.5, beta2=0.75, eps=0.3))


@stepping.probe
def five_steps(adam_step: Any) -> Seen:
    """five steps in a row"""
    p, m, v = normal(4, seed="p"), torch.zeros(4), torch.zeros(4)
    for step in range(1, 6):
        p, m, v = adam_step(p, normal(4, seed=f"grad {step}"), m, v, step, 0.05)
    return {"p": p, "m": m, "v": v}


@stepping.probe
def tiny_gradients(adam_step: Any) -> Seen:
    """gradients of 1e-9, where eps decides"""
    grad = normal(6, seed="grad", std=1e-9)
    return three(adam_step(torch.zeros(6), grad, torch.zeros(6), torch.zeros(6), 1, 1.0))


@stepping.probe
def of_size_one(adam_step: Any) -> Seen:
    """single parameters, without and with dimensions, far into a run and at a rate of their own"""
    found: Seen = {}
    shapes: list[tuple[int, ...]] = [(), (1,), (1, 5), (5, 1)]
    for shape, step in zip(shapes, distinct(2, 5000, 4, seed="steps"), strict=True):
        p, grad, m, v = (normal(*shape, seed=name) for name in ("p", "grad", "m", "v"))
        result = three(adam_step(p, grad, m, v.square() + 0.1, step, number(0.01, 0.9, seed=f"rate {step}")))
        found |= {f"{name}, shape {shape}": value for name, value in result.items()}
    return found


usual(stepping, adam_arguments, without=("gradients",))


def corrected(kept: Tensor, beta: float, step: int) -> Tensor:
    return kept / (1 - beta**step)


def divisor(square: Tensor, eps: float) -> Tensor:
    return square.sqrt() + eps


@stepping.assembled
def adam_in_steps(
    p: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.98,
    eps: float = 1e-9,
    *,
    correct: Any = corrected,
    divide_by: Any = divisor,
    move: Any = lambda p, change: p - change,
) -> tuple[Tensor, Tensor, Tensor]:
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad.square()
    return move(p, rate * correct(m, beta1, step) / divide_by(correct(v, beta2, step), eps)), m, v


@stepping.instead_of("correct")
def not_corrected(kept: Tensor, beta: float, step: int) -> Tensor:
    """You do not correct the running means.

    They start at 0 and are too small at first, and v, with the longer memory, stays so for longer: after the first few
    steps the step is up to 1.5 times too large (for β₂ = 0.98; six times for 0.999).
    """
    return kept


@stepping.instead_of("correct")
def corrected_for_the_step_before(kept: Tensor, beta: float, step: int) -> Tensor:
    """You correct as if steps were counted from 0.

    Here the first step is 1, and 1 - β¹ is what it needs.
    """
    return kept / (1 - beta ** (step + 1))


@stepping.instead_of("divide_by")
def eps_under_the_root(square: Tensor, eps: float) -> Tensor:
    """You add eps under the root.

    Under it eps acts like √eps, thirty thousand times as much for 1e-9. Adam adds it after the root.
    """
    return (square + eps).sqrt()


@stepping.instead_of("divide_by")
def root_forgotten(square: Tensor, eps: float) -> Tensor:
    """You divide by the running mean of the squares; the root is missing.

    With the root, the step does not depend on the gradient's scale. Without it, small gradients make huge steps.
    """
    return square + eps


@stepping.instead_of("divide_by")
def eps_forgotten(square: Tensor, eps: float) -> Tensor:
    """You leave eps out.

    A parameter whose gradient has always been 0 is then divided by 0: an embedding of a rare word, say.
    """
    return square.sqrt()


@stepping.instead_of("move")
def uphill(p: Tensor, change: Tensor) -> Tensor:
    """You add the step instead of subtracting it.

    The gradient points to where the loss grows.
    """
    return p + change


@stepping.misconception
def corrected_means_kept(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You return the corrected means.

    The next step would correct them again. Keep them as they are; the correction is for this step only.
    """
    p, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p, corrected(m, beta1, step), corrected(v, beta2, step)


@stepping.misconception
def betas_exchanged(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You exchange β₁ and β₂.

    β₁ belongs to the mean of the gradient, β₂, the longer memory, to the mean of its square.
    """
    return adam_step(p, grad, m, v, step, rate, beta2, beta1, eps)


@stepping.misconception
def gradient_instead_of_mean(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You step along the gradient of this batch; the running mean m is kept but not used.

    That is RMSProp. Adam steps along the mean, which forgets the noise of single batches.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * grad / divisor(corrected(v, beta2, step), eps), m, v


@stepping.misconception
def gradient_not_squared(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """Your v averages the size of the gradient, not its square.

    Then √v is no measure of the gradient's size: a gradient ten times as large would still change the step.
    """
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad.abs()
    return p - rate * corrected(m, beta1, step) / divisor(corrected(v, beta2, step), eps), m, v


@stepping.misconception
def eps_before_the_correction(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You add eps to the root of v as it is kept, and correct afterwards, through the rate.

    TensorFlow does so; the paper calls this eps "ε hat". In the first steps it acts like a larger eps. Here it is added
    to the root of the corrected v.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    rate = rate * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    return p - rate * m / (v.sqrt() + eps), m, v


@stepping.misconception
def eps_subtracted_at_the_end(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """Your eps is added to the whole step, not to the root.

    Division binds more tightly than addition: without parentheses eps is no part of the divisor.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - (rate * corrected(m, beta1, step) / corrected(v, beta2, step).sqrt() + eps), m, v


@stepping.misconception
def eps_added_at_the_end(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """Your eps is added to the new parameters, not to the root.

    Division binds more tightly than addition: without parentheses eps is no part of the divisor.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * corrected(m, beta1, step) / corrected(v, beta2, step).sqrt() + eps, m, v


@stepping.misconception
def second_moment_not_corrected(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You correct m, but not v.

    Both begin at 0. With v too small, the first steps are too large: seven times at the very first.
    """
    _, m, v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * corrected(m, beta1, step) / divisor(v, eps), m, v


@stepping.misconception
def means_of_the_step_before(
    p: Tensor, grad: Tensor, m: Tensor, v: Tensor, step: int, rate: float,
    beta1: float = 0.9, beta2: float = 0.98, eps: float = 1e-9,
) -> Any:  # fmt: skip
    """You step with the running means as they were before this gradient.

    Update them first: the step uses the new ones, and the first step would otherwise go nowhere.
    """
    _, new_m, new_v = adam_step(p, grad, m, v, step, rate, beta1, beta2, eps)
    return p - rate * corrected(m, beta1, step) / divisor(corrected(v, beta2, step), eps), new_m, new_v


# label_smoothing_loss -------------------------------------------------------------------------------------------------

smoothing = Exercise(
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


@smoothing.probe
def six_targets(label_smoothing_loss: Any) -> Seen:
    """six targets of five classes, ε = 0.1"""
    return {"loss": label_smoothing_loss(*logits_and_targets())}


@smoothing.probe
def no_smoothing(label_smoothing_loss: Any) -> Seen:
    """ε = 0, the plain cross-entropy"""
    return {"loss": label_smoothing_loss(normal(4, 3, seed="logits"), integers(0, 3, 4, seed="targets"), 0.0)}


@smoothing.probe
def some_ignored(label_smoothing_loss: Any) -> Seen:
    """a batch of sequences in which targets of 0 do not count, ε = 0.3"""
    targets = integers(1, 7, 2, 4, seed="targets")
    targets[0, 2:], targets[1, 3] = 0, 0
    return {"loss": label_smoothing_loss(normal(2, 4, 7, seed="logits"), targets, 0.3, ignore_index=0)}


@smoothing.probe
def ignored_by_an_unusual_number(label_smoothing_loss: Any) -> Seen:
    """ignore_index = -100, and one that is no class at all"""
    targets = integers(0, 4, 5, seed="targets")
    losses = {}
    for index in (-100, 9):
        marked = targets.clone()
        marked[1::2] = index
        losses[f"ignoring {index}"] = label_smoothing_loss(normal(5, 4, seed="logits"), marked, 0.2, index)
    return losses


@smoothing.probe
def huge_logits(label_smoothing_loss: Any) -> Seen:
    """logits of about ±10,000"""
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 5e3]]) + integers(-640, 640, 2, 3, seed="logits") / 64
    return {"loss": label_smoothing_loss(logits, torch.tensor([1, 1]), number(0.05, 0.3, seed="epsilon"))}


@smoothing.probe
def a_single_target(label_smoothing_loss: Any) -> Seen:
    """one target without a batch dimension"""
    return {"loss": label_smoothing_loss(normal(6, seed="logits"), integers(0, 6, seed="target"), 0.25)}


@smoothing.probe
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


@smoothing.probe
def one_class_and_nearly_certain(label_smoothing_loss: Any) -> Seen:
    """a single class, where nothing is to be learned, and ε = 1, where no class is preferred"""
    nothing = label_smoothing_loss(normal(3, 1, seed="one"), torch.zeros(3, dtype=torch.int64), 0.1)
    return {
        "loss of one class": nothing,
        "loss at ε = 1": label_smoothing_loss(normal(5, 4, seed="l"), integers(0, 4, 5, seed="t"), 1.0),
    }


@smoothing.probe
def one_target_left(label_smoothing_loss: Any) -> Seen:
    """several batch dimensions in which a single target counts, and an ignore_index that does not occur"""
    targets = torch.full((2, 3, 2), 4)
    targets[1, 0, 1] = whole(0, 4, seed="target")
    all_count = integers(0, 5, 2, 3, 2, seed="targets")
    return {
        "loss": label_smoothing_loss(normal(2, 3, 2, 5, seed="logits"), targets, 0.2, ignore_index=4),
        "loss where all count": label_smoothing_loss(normal(2, 3, 2, 5, seed="logits"), all_count, 0.2, ignore_index=7),
    }


usual(smoothing, logits_and_targets)


def each(logits: Tensor, targets: Tensor, share: float, rest: float, log_p: Tensor | None = None) -> Tensor:
    """The loss of every target: `share` for the right class, `rest` for the mean over all classes."""
    log_p = logits.log_softmax(-1) if log_p is None else log_p
    right = log_p.gather(-1, targets.clamp(0, logits.shape[-1] - 1).unsqueeze(-1)).squeeze(-1)
    return -(share * right + rest * log_p.mean(-1))


def counting(targets: Tensor, ignore_index: int | None) -> Tensor:
    return torch.ones_like(targets, dtype=torch.bool) if ignore_index is None else targets != ignore_index


@smoothing.misconception
def spread_over_the_others(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You spread ε over the wrong classes only.

    Here it is spread over all K classes, the right one included, which gets 1 - ε + ε/K.
    """
    classes = logits.shape[-1]
    rest = epsilon * classes / (classes - 1)
    losses = each(logits, targets, 1 - rest, rest)
    return losses[counting(targets, ignore_index)].mean()


@smoothing.misconception
def summed(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You sum over the targets instead of averaging.

    Then the loss, and with it the step, grows with the size of the batch.
    """
    return each(logits, targets, 1 - epsilon, epsilon)[counting(targets, ignore_index)].sum()


@smoothing.misconception
def averaged_over_ignored_ones(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You leave the ignored targets out of the sum, but divide by the number of all.

    The more padding a batch has, the smaller its loss would be. Divide by what was summed.
    """
    return (each(logits, targets, 1 - epsilon, epsilon) * counting(targets, ignore_index)).mean()


@smoothing.misconception
def nothing_ignored(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You do not leave anything out: ignore_index is not used.

    Padding would then be predicted, and counted, like any token.
    """
    return label_smoothing_loss(logits, targets, epsilon)  # raises for targets that are no class, as such answers do


@smoothing.misconception
def shares_exchanged(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You give the right class ε and spread 1 - ε.

    Smoothing takes a little from the right class, not nearly all of it.
    """
    return each(logits, targets, epsilon, 1 - epsilon)[counting(targets, ignore_index)].mean()


@smoothing.misconception
def logarithm_of_a_softmax(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You take the logarithm of the softmax, which is inf for logits far apart.

    A probability of 1e-50 is 0 in float32, and its logarithm -inf. `log_softmax` never leaves the logarithm.
    """
    losses = each(logits, targets, 1 - epsilon, epsilon, logits.softmax(-1).log())
    return losses[counting(targets, ignore_index)].mean()


@smoothing.misconception
def not_smoothed(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """Your loss is the plain cross-entropy; ε is not used.

    Its minimum asks for infinitely large logits; smoothing asks for a finite gap.
    """
    return label_smoothing_loss(logits, targets, 0.0, ignore_index)


@smoothing.misconception
def summed_over_the_classes(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You give every class ε instead of ε/K.

    The target is a distribution: its shares must sum to 1.
    """
    return each(logits, targets, 1 - epsilon, epsilon * logits.shape[-1])[counting(targets, ignore_index)].mean()


@smoothing.misconception
def added_to_every_class_without_epsilon(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You add 1/K to every class; ε is missing there.

    The target is a distribution: (1 - ε) for the right class and ε/K for all. With 1/K its shares sum to 2 - ε.
    """
    return each(logits, targets, 1 - epsilon, 1.0)[counting(targets, ignore_index)].mean()


@smoothing.misconception
def too_little_taken(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You take ε/K from the right class, and give ε/K to every class.

    Then the shares sum to more than 1, and the right class keeps all that it had. What is spread has to be taken: ε.
    """
    share = 1 - epsilon / logits.shape[-1]
    return each(logits, targets, share, epsilon)[counting(targets, ignore_index)].mean()


@smoothing.misconception
def one_class_too_few(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> Tensor:
    """You give every class ε/(K - 1), the right one included.

    K - 1 goes with spreading over the wrong classes only. Over all of them it is ε/K, and the shares sum to 1.
    """
    classes = logits.shape[-1]
    rest = epsilon * classes / (classes - 1)
    return each(logits, targets, 1 - epsilon, rest)[counting(targets, ignore_index)].mean()


@smoothing.misconception
def divergence_instead_of_cross_entropy(
    logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None
) -> Tensor:
    """You return the Kullback-Leibler divergence: the cross-entropy less the entropy of the smoothed target.

    Its gradient is the same, its value is not. The exercise asks for the cross-entropy.
    """
    right, other = 1 - epsilon + epsilon / logits.shape[-1], epsilon / logits.shape[-1]
    entropy = -sum(n * q * math.log(q) for n, q in ((1, right), (logits.shape[-1] - 1, other)) if q > 0)
    return label_smoothing_loss(logits, targets, epsilon, ignore_index) - entropy


@smoothing.misconception
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


@smoothing.misconception
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


# clip_gradients -------------------------------------------------------------------------------------------------------

clipping = Exercise(
    clip_gradients,
    section="Clipping",
    minutes=10,
    difficulty=2,
    why="It bounds the step that one bad batch can cause, and the direction stays what it was.",
    hints=[
        "All gradients together are one long vector. What is its length?",
        "If it is short enough nothing happens; else every gradient is multiplied by the same number. Which?",
        "All-zero gradients have the length 0: do not divide by it.",
    ],
    equivalents={
        "factor = max_norm / norm if norm > max_norm else 1.0"
        "  ->  factor = max_norm / norm if norm >= max_norm else 1.0": "where they are equal the factor is 1 both ways",
    },
)


def three_gradients(std: float = 1.0) -> list[Tensor]:
    return [normal(*shape, seed=i, std=std) for i, shape in enumerate([(3, 4), (5,), (2, 2, 2)])]


def clipped(clip: Any, grads: list[Tensor], max_norm: float) -> Seen:
    result, norm = clip(grads, max_norm)
    return {**{f"gradient {i}": g for i, g in enumerate(result)}, "norm": norm, "count": len(result)}


@clipping.probe
def too_long(clip_gradients: Any) -> Seen:
    """three gradients, longer than allowed"""
    return clipped(clip_gradients, three_gradients(), 1.0)


@clipping.probe
def short_enough(clip_gradients: Any) -> Seen:
    """three gradients, shorter than allowed"""
    return clipped(clip_gradients, three_gradients(), 100.0)


@clipping.probe
def all_zero(clip_gradients: Any) -> Seen:
    """gradients that are all zero, and gradients of which one is"""
    nothing = clipped(clip_gradients, [torch.zeros(3), torch.zeros(2, 2)], 1.0)
    found = clipped(clip_gradients, [torch.zeros(3), normal(2, 2, seed="some")], 0.5)
    return {**{f"{name} of zeros": value for name, value in nothing.items()}, **found}


@clipping.probe
def single_numbers(clip_gradients: Any) -> Seen:
    """gradients of single numbers, with and without dimensions, and one gradient alone"""
    limit = number(0.2, 0.6, seed="limit")
    several = [normal(seed="a", mean=2.0), normal(1, seed="b"), normal(1, 3, seed="c"), normal(3, 1, seed="d")]
    alone = clipped(clip_gradients, [normal(4, seed="alone", std=3.0)], limit)
    return {**clipped(clip_gradients, several, limit), **{f"{n} alone": value for n, value in alone.items()}}


@clipping.probe
def about_the_limit(clip_gradients: Any) -> Seen:
    """a limit just above and just below the length"""
    norm = float(torch.cat([g.flatten() for g in three_gradients()]).norm())
    above, below = (clipped(clip_gradients, three_gradients(), norm * factor) for factor in (1.01, 0.99))
    return {**above, **{f"{name} below": value for name, value in below.items()}}


@clipping.probe
def very_small(clip_gradients: Any) -> Seen:
    """very small gradients, and a smaller limit"""
    return clipped(clip_gradients, three_gradients(std=1e-5), 1e-5)


@clipping.probe
def one_long_among_short(clip_gradients: Any) -> Seen:
    """one long gradient among short ones"""
    return clipped(clip_gradients, [normal(4, seed=0, std=10.0), normal(3, seed=1, std=0.1)], 2.0)


def gradients_and_a_limit() -> tuple[list[Tensor], float]:
    return three_gradients(), 0.5


usual(clipping, gradients_and_a_limit, without=("gradients",))


def length(grads: Sequence[Tensor]) -> Tensor:
    return torch.cat([g.flatten() for g in grads]).norm()


def shortened(grads: Sequence[Tensor], norm: Tensor, max_norm: float) -> list[Tensor]:
    return [g * (max_norm / norm) if norm > max_norm else g.clone() for g in grads]


@clipping.assembled
def clipped_in_steps(
    grads: Sequence[Tensor],
    max_norm: float,
    *,
    shorten: Any = shortened,
    report: Any = length,
) -> Any:
    return shorten(grads, length(grads), max_norm), report(grads)


@clipping.instead_of("shorten")
def each_by_itself(grads: Sequence[Tensor], norm: Tensor, max_norm: float) -> list[Tensor]:
    """You clip each gradient by its own length.

    That turns the whole gradient: long parts are shortened, short ones are not. One factor for all keeps its direction.
    """
    return [clip_gradients([g], max_norm)[0][0] for g in grads]


@clipping.instead_of("report")
def length_of_the_last(grads: Sequence[Tensor]) -> Tensor:
    """You return the length of the last gradient alone.

    The length that is asked for is that of all gradients together, as one long vector.
    """
    return grads[-1].norm()


@clipping.instead_of("report")
def length_of_the_longest(grads: Sequence[Tensor]) -> Tensor:
    """You return the length of the longest gradient.

    The length that is asked for is that of all gradients together, as one long vector.
    """
    return torch.stack([g.norm() for g in grads]).max()


@clipping.instead_of("report")
def sum_of_the_lengths(grads: Sequence[Tensor]) -> Tensor:
    """You return the sum of the lengths of the gradients.

    Lengths of parts add up as squares: the root of the sum of all squares is the length of the whole.
    """
    return torch.stack([g.norm() for g in grads]).sum()


@clipping.instead_of("report")
def square_returned(grads: Sequence[Tensor]) -> Tensor:
    """You return the square of the length; the root is missing.

    It is compared with max_norm, which is a length.
    """
    return length(grads).square()


@clipping.misconception
def entries_cut_off(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You cut every entry off at ±max_norm.

    That limits entries, not the length, and turns the gradient. (torch has it too, as clip_grad_value_.)
    """
    return [g.clamp(-max_norm, max_norm) for g in grads], length(grads)


@clipping.misconception
def always_scaled(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You scale short gradients up to max_norm as well.

    Clipping only shortens. Near a minimum gradients should be allowed to become small.
    """
    norm = length(grads)
    return [g * (max_norm / norm) if norm > 0 else g.clone() for g in grads], norm


@clipping.misconception
def norm_after_clipping(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You return the length after clipping.

    The length before is what tells you that something is wrong; afterwards it is at most max_norm anyway.
    """
    result, _ = clip_gradients(grads, max_norm)
    return result, length(result)


@clipping.misconception
def zero_divided_by_zero(grads: Sequence[Tensor], max_norm: float) -> Any:
    """All-zero gradients become NaN.

    Their length is 0, max_norm/0 is inf, and 0·inf is NaN. Gradients that are short enough need no factor.
    """
    norm = length(grads)
    return [g * (max_norm / norm) if norm > max_norm or norm == 0 else g.clone() for g in grads], norm


@clipping.misconception
def epsilon_added(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You add a small number to the length before dividing, as torch does.

    For very small gradients it is no longer small. Here the factor is exactly max_norm/norm.
    """
    norm = length(grads)
    return [g * torch.clamp(max_norm / (norm + 1e-6), max=1.0) for g in grads], norm


@clipping.misconception
def lengths_added(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You add the lengths of the gradients.

    Lengths of parts add up as squares: the root of the sum of all squares is the length of the whole.
    """
    norm = torch.stack([g.norm() for g in grads]).sum()
    return [g * min(1.0, max_norm / float(norm)) if norm > 0 else g.clone() for g in grads], norm


# accumulate_gradients -------------------------------------------------------------------------------------------------

accumulating = Exercise(
    accumulate_gradients,
    section="One batch in several pieces",
    minutes=15,
    difficulty=2,
    why="Large batches on a small machine; the weights decide whether they are the same.",
    hints=[
        "`.backward()` adds to .grad. What must happen before the first batch, and what not between batches?",
        "The mean over all tokens is the sum of all losses over the sum of all counts. When do you know the second?",
        "Batches may come from a generator: it can be read once only.",
    ],
)


def batches(sizes: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
    for i, size in enumerate(sizes):
        yield normal(size, 3, seed=f"x{i}"), normal(size, 2, seed=f"y{i}")


def squared_error(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
    x, y = batch
    return (model(x) - y).square().sum(), len(x)


def accumulated(
    accumulate: Any, sizes: Sequence[int], before: float | None = None, model: nn.Module | None = None
) -> Seen:
    model = seeded(model or nn.Linear(3, 2))
    if before is not None:
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, before)
    mean = accumulate(model, squared_error, batches(sizes))
    if isinstance(mean, Tensor):
        mean = mean.detach()
    elif isinstance(mean, float):
        mean = torch.tensor(mean)  # it was added up in float32, in any order: no more digits than that
    # None and 0 say the same of a parameter that the loss does not depend on
    grads = {f"gradient of {n}": torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}
    return {"mean": mean, **grads}


@accumulating.probe
def equal_batches(accumulate_gradients: Any) -> Seen:
    """three batches of four tokens"""
    return accumulated(accumulate_gradients, [4, 4, 4])


@accumulating.probe
def uneven_batches(accumulate_gradients: Any) -> Seen:
    """batches of 1, 9, 3 and 2 tokens"""
    return accumulated(accumulate_gradients, [1, 9, 3, 2])


@accumulating.probe
def one_batch(accumulate_gradients: Any) -> Seen:
    """a single batch of five tokens"""
    return accumulated(accumulate_gradients, [5])


@accumulating.probe
def one_token(accumulate_gradients: Any) -> Seen:
    """a single batch of one token"""
    return accumulated(accumulate_gradients, [1])


@accumulating.probe
def gradients_from_before(accumulate_gradients: Any) -> Seen:
    """a model that still carries gradients"""
    return accumulated(accumulate_gradients, [2, 6], before=7.0)


class WithAnIdlePart(nn.Module):
    """A model of which one part takes no part."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = nn.Linear(3, 2)
        self.idle = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.busy(x)


@accumulating.probe
def an_idle_part(accumulate_gradients: Any) -> Seen:
    """a model with a part that the loss does not depend on"""
    return accumulated(accumulate_gradients, [3, 2], model=WithAnIdlePart())


@accumulating.probe
def an_idle_part_from_before(accumulate_gradients: Any) -> Seen:
    """the same, where every part still carries gradients"""
    return accumulated(accumulate_gradients, [4, 1], before=3.0, model=WithAnIdlePart())


@accumulating.property
def keeps_the_parameters(accumulate_gradients: Any) -> Seen:
    """a model whose parameters the caller will update

    Your code changes the model's parameters. It should leave a gradient in .grad, and nothing else.
    """
    model = seeded(nn.Linear(3, 2))
    accumulate_gradients(model, squared_error, batches([2, 3]))
    return {f"{name} after the call": parameter.detach().clone() for name, parameter in model.named_parameters()}


@accumulating.property
def in_float64(accumulate_gradients: Any) -> Seen:
    """a model in float64

    With a float64 model your gradients are not those of the mean loss in float64.
    """
    model = seeded(nn.Linear(3, 2), torch.float64)
    accumulate_gradients(model, squared_error, [(x.double(), y.double()) for x, y in batches([2, 5])])
    return {f"gradient of {n}": torch.zeros_like(p) if p.grad is None else p.grad for n, p in model.named_parameters()}


def walk(model: nn.Module, loss_sum: Any, found: Any, after: Any) -> tuple[float, int, int]:
    """Go through the batches, calling `after` on each loss and count to get what is differentiated."""
    total, tokens, number = 0.0, 0, 0
    for batch in found:
        loss, count = loss_sum(model, batch)
        after(loss, count).backward()
        total, tokens, number = total + loss.item(), tokens + int(count), number + 1
    return total, tokens, number


def divide(model: nn.Module, by: float) -> None:
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= by


@accumulating.misconception
def never_divided(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You leave the gradient of the sum in .grad.

    It grows with the number of tokens; clipping and plain gradient descent would take too large a step.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss)
    return total / tokens


@accumulating.misconception
def mean_of_the_means(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You average each batch by itself, and then the batches.

    A token in a short batch then counts for more than one in a long batch. Right only if all are of one size.
    """
    model.zero_grad()
    means: list[float] = []

    def mean(loss: Tensor, count: int) -> Tensor:
        means.append(loss.item() / count)
        return loss / count

    _, _, number = walk(model, loss_sum, batches, mean)
    divide(model, number)
    return sum(means) / number


@accumulating.misconception
def sum_of_the_means(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You average each batch and add the gradients up, without dividing by the number of batches.

    With four batches the gradient is four times too large: the classic slip of accumulation loops.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss / count)
    return total / tokens


@accumulating.misconception
def divided_by_the_batches(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide the summed loss by the number of batches, not of tokens.

    The batches are only how the tokens happened to be packed.
    """
    model.zero_grad()
    total, _, number = walk(model, loss_sum, batches, lambda loss, count: loss)
    divide(model, number)
    return total / number


@accumulating.misconception
def cleared_every_time(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You clear the gradients for each batch, so only the last one is left.

    Clear once, before the first; then let them add up.
    """

    def clear(loss: Tensor, count: int) -> Tensor:
        model.zero_grad()
        return loss

    total, tokens, _ = walk(model, loss_sum, batches, clear)
    divide(model, tokens)
    return total / tokens


@accumulating.misconception
def never_cleared(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You do not clear what was in .grad before.

    The last update's gradient would be added to this one's.
    """
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss)
    divide(model, tokens)
    return total / tokens


@accumulating.misconception
def sum_returned(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """Your gradients are right, but you return the summed loss.

    Return the mean over all tokens, which can be compared from batch to batch.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss)
    divide(model, tokens)
    return total


@accumulating.misconception
def divided_by_the_last_count(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide by the tokens of the last batch.

    The count has to add up over the batches, as the losses do.
    """
    model.zero_grad()
    counts: list[int] = []

    def note(loss: Tensor, count: int) -> Tensor:
        counts.append(count)
        return loss

    total, _, _ = walk(model, loss_sum, batches, note)
    divide(model, counts[-1])
    return total / counts[-1]


@accumulating.misconception
def divided_twice(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide each batch's loss by its tokens, and the gradient by all tokens once more.

    One division is enough: by the number of all tokens.
    """
    model.zero_grad()
    total, tokens, _ = walk(model, loss_sum, batches, lambda loss, count: loss / count)
    divide(model, tokens)
    return total / tokens


@accumulating.misconception
def last_batch_left_out(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You leave the last batch out, if there are several.

    Every token counts; what does not fill a group is no less part of the update.
    """
    found = list(batches)
    return accumulate_gradients(model, loss_sum, found[:-1] or found)


@accumulating.misconception
def never_differentiated(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You add the losses up and never call `backward`, so .grad stays empty.

    The mean that you return is right; what is asked for besides is the gradient, left in .grad.
    """
    model.zero_grad()
    losses, counts = zip(*[loss_sum(model, batch) for batch in batches], strict=True)
    return float(sum(losses)) / sum(counts)


@accumulating.misconception
def batches_read_twice(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You go through the batches a second time, and find none: they can be read once only.

    Nothing is differentiated then. Add the gradients of the sums up first, and divide by the tokens when they are
    counted.
    """
    model.zero_grad()
    tokens = sum(int(loss_sum(model, batch)[1]) for batch in batches)
    total, _, _ = walk(model, loss_sum, batches, lambda loss, count: loss / tokens)
    return total / tokens


@accumulating.misconception
def means_added_and_averaged(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You average each batch by itself and add these gradients up; what you return is the mean of the means.

    With four equal batches the gradient is four times too large; with uneven ones a token in a short batch counts for
    more than one in a long batch. Let the sums add up, and divide once: by the number of all tokens.
    """
    model.zero_grad()
    means: list[float] = []

    def mean(loss: Tensor, count: int) -> Tensor:
        means.append(loss.item() / count)
        return loss / count

    _, _, number = walk(model, loss_sum, batches, mean)
    return sum(means) / number


def divided_as_they_come(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """Each loss over the tokens that were counted until then."""
    counts: list[int] = []

    def share(loss: Tensor, count: int) -> Tensor:
        counts.append(count)
        return loss / sum(counts)

    total, tokens, _ = walk(model, loss_sum, batches, share)
    return total / tokens


@accumulating.misconception
def divided_by_the_tokens_so_far(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide each batch's loss by the number of tokens so far.

    The early batches then count for more. How many tokens there are is known after the last batch: divide then.
    """
    model.zero_grad()
    return divided_as_they_come(model, loss_sum, batches)


@accumulating.misconception
def divided_so_far_and_not_cleared(model: nn.Module, loss_sum: Any, batches: Any) -> float:
    """You divide each batch's loss by the number of tokens so far, and do not clear what was in .grad before.

    How many tokens there are is known after the last batch: divide then. And clear once, before the first, or the last
    update's gradient is added to this one's.
    """
    return divided_as_they_come(model, loss_sum, batches)


# scaled_backward ------------------------------------------------------------------------------------------------------

scaling = Exercise(
    scaled_backward,
    section="Loss scaling",
    minutes=15,
    difficulty=2,
    why="Small gradients survive float16, and a step with an overflow is left out.",
    hints=[
        "Multiply the loss, not the gradients: what is 0 already cannot be enlarged.",
        "Where do you divide again? In float16 the number would be lost a second time.",
        "A gradient that is inf or NaN says that the scale was too large: skip the step and halve it.",
    ],
)


def product_loss(weight: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """A loss that passes through every factor in the weight's own precision."""
    for factor in factors:
        weight = weight * factor
    return weight.sum().float()


def outcome(result: Any, parameters: int = 1) -> Seen:
    """What came back, under the same names whether the step was skipped or not: then gradients are empty."""
    grads, scale, good = result
    nothing = [torch.zeros(0)] * parameters
    found = {f"gradient {i}": g for i, g in enumerate(nothing if grads is None else grads)}
    return {"skipped": grads is None, **found, "scale": float(scale), "good steps": good}


def halves(seed: str, std: float) -> Tensor:
    return normal(5, seed=seed, mean=3 * std, std=std, dtype=torch.float16)


@scaling.probe
def small_in_half_precision(scaled_backward: Any) -> Seen:
    """gradients of 1e-8, which float16 cannot hold"""
    weight = halves("w", 1.0).requires_grad_()
    loss = product_loss(weight, [halves("a", 3e-5), halves("b", 3e-5)])
    return outcome(scaled_backward(loss, [weight], 2.0**14))


@scaling.probe
def too_large_a_scale(scaled_backward: Any) -> Seen:
    """scales that overflow float16, in all entries, in one entry of the second parameter, and to NaN"""
    found: Seen = {}
    for case, power in enumerate(distinct(11, 18, 3, seed="powers")):
        fine, weight = halves("fine", 1.0).requires_grad_(), halves("w", 1.0).requires_grad_()
        factor = halves("a", 60.0)
        if case:
            factor = torch.full_like(factor, 2.0**-14)
            factor[3] = 60000.0 if case == 1 else float("nan")
        loss = product_loss(weight, [factor]) + product_loss(fine, [torch.full_like(fine, 2.0**-14)])
        good = whole(1, 9, seed=f"good {case}")
        result = outcome(scaled_backward(loss, [fine, weight], 2.0**power, good_steps=good), parameters=2)
        found |= {f"{name} of case {case}": value for name, value in result.items()}
    return found


@scaling.probe
def in_full_precision(scaled_backward: Any) -> Seen:
    """two float32 parameters and one in float64, a few good steps in"""
    a, b = normal(2, 3, seed="a").requires_grad_(), normal(3, 4, seed="b").requires_grad_()
    c = normal(seed="c", dtype=torch.float64).requires_grad_()
    loss = (a @ b).square().sum() * c.float()
    return outcome(scaled_backward(loss, [a, b, c], 2.0 ** whole(3, 12, seed="power"), whole(2, 9, seed="good")))


@scaling.probe
def the_last_of_an_interval(scaled_backward: Any) -> Seen:
    """the last good step of an interval, of one step too"""
    found: Seen = {}
    for interval in (1, *distinct(5, 30, 2, seed="interval")):
        a = normal(4, seed="a").requires_grad_()
        scale = 2.0 ** whole(2, 9, seed=f"power {interval}")
        result = outcome(scaled_backward(a.square().sum(), [a], scale, good_steps=interval - 1, interval=interval))
        found |= {f"{name}, interval {interval}": value for name, value in result.items()}
    return found


@scaling.probe
def one_before_the_last(scaled_backward: Any) -> Seen:
    """the last good step but one of an interval, and the last of the usual 2000"""
    a, interval = normal(4, seed="a").requires_grad_(), whole(5, 30, seed="interval")
    scale = 2.0 ** whole(2, 9, seed="power")
    short = outcome(scaled_backward(a.square().sum(), [a], scale, good_steps=interval - 2, interval=interval))
    usual_one = outcome(scaled_backward(a.square().sum(), [a], scale, good_steps=1999))
    return {**short, "scale after the usual interval": usual_one["scale"]}


@scaling.probe
def a_whole_run(scaled_backward: Any) -> Seen:
    """good steps in a row, through two intervals"""
    interval, scale, good = whole(3, 7, seed="interval"), 2.0 ** whole(2, 6, seed="power"), 0
    scales, counts = [], []
    for step in range(2 * interval + 2):
        a = normal(2, seed=f"a {step}").requires_grad_()
        _, scale, good = scaled_backward(a.square().sum(), [a], scale, good, interval)
        scales.append(float(scale))
        counts.append(good)
    return {"scales": torch.tensor(scales), "counts": counts}


@scaling.probe
def parameters_with_gradients(scaled_backward: Any) -> Seen:
    """parameters that still carry a gradient, one of them a single number"""
    a, b = normal(seed="a").requires_grad_(), normal(1, 3, seed="b").requires_grad_()
    for parameter in (a, b):
        parameter.grad = torch.full_like(parameter, 1e5)
    return outcome(scaled_backward((a * b).exp().sum(), [a, b], 16.0, good_steps=1))


def differentiated(loss: Tensor, parameters: Sequence[Tensor], scale: float) -> list[Tensor]:
    return list(torch.autograd.grad(loss * scale, list(parameters)))


def is_fine(grads: Sequence[Tensor]) -> bool:
    return all(bool(g.isfinite().all()) for g in grads)


def adapted(grads: Any, fine: bool, scale: float, good_steps: int, interval: int) -> Any:
    if not fine:
        return None, scale / 2, 0
    return (grads, scale * 2, 0) if good_steps + 1 == interval else (grads, scale, good_steps + 1)


@scaling.misconception
def divided_in_half_precision(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You divide before you convert to float32.

    In float16 the gradient underflows on the way back after all. First convert, then divide.
    """
    grads = [(g / scale).float() for g in differentiated(loss, parameters, scale)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@scaling.misconception
def never_divided_again(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You do not divide by the scale again.

    The gradients are then 65,536 times too large for whatever uses them: clipping, for one.
    """
    grads = [g.float() for g in differentiated(loss, parameters, scale)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@scaling.misconception
def not_scaled(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You scale nothing, so small gradients become 0.

    The loss must be multiplied before the way back.
    """
    grads = [g.float() for g in differentiated(loss, parameters, 1.0)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@scaling.misconception
def gradients_scaled_instead(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You multiply the gradients by the scale instead of the loss.

    What has become 0 on the way back stays 0.
    """
    grads = [g.float() * scale for g in differentiated(loss, parameters, 1.0)]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@scaling.misconception
def infinite_gradients_used(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You return gradients that are not finite.

    One step with inf or NaN destroys the model. Return None, so that the step is skipped.
    """
    grads = [g.float() / scale for g in differentiated(loss, parameters, scale)]
    _, scale, good_steps = adapted(grads, is_fine(grads), scale, good_steps, interval)
    return grads, scale, good_steps


@scaling.misconception
def never_grows(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """Your scale never grows.

    After one bad step it would stay low for ever, and small gradients be lost again.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval + 10**9)
    return grads, new, good


@scaling.misconception
def count_not_reset(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """After changing the scale you go on counting.

    The count is of good steps since the scale last changed: it starts again at 0.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return grads, new, good_steps + (grads is not None) if new != scale else good


@scaling.misconception
def scale_kept_after_overflow(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """After an overflow you skip the step but keep the scale.

    The next step would overflow again, and the one after it.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return grads, scale if grads is None else new, good


@scaling.misconception
def added_to_what_was_there(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You return what is in .grad after `backward`, and that was not empty before.

    `backward` adds to .grad. Clear it first, or ask `torch.autograd.grad` for the gradient itself.
    """
    (loss * scale).backward()
    grads = [p.grad.float() / scale for p in parameters if p.grad is not None]
    return adapted(grads, is_fine(grads), scale, good_steps, interval)


@scaling.misconception
def doubled_one_step_late(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """Your scale doubles one step too late.

    This step counts too: with it, the count is good_steps + 1.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval + 1)
    return grads, new, good


@scaling.misconception
def only_nan_noticed(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You notice NaN, but not inf.

    What overflows becomes inf first, and NaN only when infinities meet. `isfinite` is false for both.
    """
    grads = [g.float() / scale for g in differentiated(loss, parameters, scale)]
    return adapted(grads, not any(bool(g.isnan().any()) for g in grads), scale, good_steps, interval)


@scaling.misconception
def divided_by_the_new_scale(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You divide by the scale for the next step.

    Where it has just doubled, the gradients come out half as large. Divide by the scale that the loss was multiplied
    by, and change it afterwards.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return None if grads is None else [g * (scale / new) for g in grads], new, good


@scaling.misconception
def count_before_the_scale(
    loss: Tensor, parameters: Sequence[Tensor], scale: float, good_steps: int = 0, interval: int = 2000
) -> Any:
    """You return the count of good steps before the scale.

    The order is: gradients, scale for the next step, count of good steps.
    """
    grads, new, good = scaled_backward(loss, parameters, scale, good_steps, interval)
    return grads, good, new
