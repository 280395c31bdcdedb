"""Chapter 09: the schedule, Adam, label smoothing, accumulation, clipping, loss scaling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.forbid import CROSS_ENTROPY
from proctor.inputs import integers, normal, seeded
from proctor.properties import gradients, keeps_inputs, other_device, same_in
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
    hints=[
        "Two curves: one rises in proportion to the step, one falls with its root. Where do they meet?",
        "Before they meet the rising one is smaller, after it the falling one. Which function of two numbers is that?",
        "The rising one is step·warmup^(-3/2), so that both equal warmup^(-1/2) at step = warmup.",
    ],
)


@schedule.probe
def rising(noam_rate: Any) -> Seen:
    """steps 1, 2 and 1000 of a warm-up of 4000, d_model = 512"""
    return {f"step {step}": noam_rate(step, 512, 4000) for step in (1, 2, 1000)}


@schedule.probe
def at_the_peak(noam_rate: Any) -> Seen:
    """the peak and its neighbours, d_model = 64, warm-up 100"""
    return {f"step {step}": noam_rate(step, 64, 100) for step in (99, 100, 101)}


@schedule.probe
def falling(noam_rate: Any) -> Seen:
    """steps 10,000 and 100,000"""
    return {f"step {step}": noam_rate(step, 512, 4000) for step in (10_000, 100_000)}


@schedule.probe
def anywhere(noam_rate: Any) -> Seen:
    """a step, a width and a warm-up drawn at random"""
    step, width, warmup = (int(integers(2, 900, 1, seed=name)) for name in ("step", "width", "warmup"))
    return {"rate": noam_rate(step, width, warmup), "later": noam_rate(step + warmup, width, warmup)}


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


# adam_step ------------------------------------------------------------------------------------------------------------

stepping = Exercise(
    adam_step,
    section="Adam by hand",
    hints=[
        "Update the two running means first; the step uses the new ones.",
        "After one step m is (1 - β₁)·grad, much too small. By what must it be divided to give grad back?",
        "What is corrected is used for the step only; m and v are returned as they are kept.",
    ],
)


def adam_arguments(step: int = 3) -> tuple[Any, ...]:
    p, grad, m = (normal(3, 4, seed=name) for name in ("p", "grad", "m"))
    return p, grad, m, normal(3, 4, seed="v").square(), step, 0.1


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


stepping.property(keeps_inputs(adam_arguments))
stepping.property(same_in(torch.float64, adam_arguments))
stepping.property(other_device(adam_arguments))


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


# label_smoothing_loss -------------------------------------------------------------------------------------------------

smoothing = Exercise(
    label_smoothing_loss,
    section="Label smoothing",
    hints=[
        "Write the target distribution for K = 4 and ε = 0.2: what does the right class get, what do the others?",
        "The cross-entropy with it splits in two: a part for the right class, and a mean over all classes.",
        "For huge logits `log_softmax` is stable, `log(softmax)` is not. Average over what counts only.",
    ],
    forbid=[CROSS_ENTROPY],
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
    for number in (-100, 9):
        marked = targets.clone()
        marked[1::2] = number
        losses[f"ignoring {number}"] = label_smoothing_loss(normal(5, 4, seed="logits"), marked, 0.2, number)
    return losses


@smoothing.probe
def huge_logits(label_smoothing_loss: Any) -> Seen:
    """logits of ±10,000"""
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 5e3]])
    return {"loss": label_smoothing_loss(logits, torch.tensor([1, 1]), 0.1)}


@smoothing.probe
def a_single_target(label_smoothing_loss: Any) -> Seen:
    """one target without a batch dimension"""
    return {"loss": label_smoothing_loss(normal(6, seed="logits"), integers(0, 6, seed="target"), 0.25)}


smoothing.property(gradients(logits_and_targets))
smoothing.property(keeps_inputs(logits_and_targets))
smoothing.property(same_in(torch.float64, logits_and_targets))
smoothing.property(same_in(torch.bfloat16, logits_and_targets))
smoothing.property(other_device(logits_and_targets))


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
    return each(logits, targets, 1 - epsilon, epsilon).mean()


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


# accumulate_gradients -------------------------------------------------------------------------------------------------

accumulating = Exercise(
    accumulate_gradients,
    section="One batch in several pieces",
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
    grads = {f"gradient of {n}": torch.zeros(()) if p.grad is None else p.grad for n, p in model.named_parameters()}
    return {"mean": mean, **grads}


@accumulating.probe
def equal_batches(accumulate_gradients: Any) -> Seen:
    """three batches of four tokens"""
    return accumulated(accumulate_gradients, [4, 4, 4])


@accumulating.probe
def uneven_batches(accumulate_gradients: Any) -> Seen:
    """batches of 1, 9 and 3 tokens"""
    return accumulated(accumulate_gradients, [1, 9, 3])


@accumulating.probe
def one_batch(accumulate_gradients: Any) -> Seen:
    """a single batch of five tokens"""
    return accumulated(accumulate_gradients, [5])


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


# clip_gradients -------------------------------------------------------------------------------------------------------

clipping = Exercise(
    clip_gradients,
    section="Clipping",
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
    """gradients that are all zero"""
    return clipped(clip_gradients, [torch.zeros(3), torch.zeros(2, 2)], 1.0)


@clipping.probe
def very_small(clip_gradients: Any) -> Seen:
    """very small gradients, and a smaller limit"""
    return clipped(clip_gradients, three_gradients(std=1e-5), 1e-5)


@clipping.probe
def one_long_among_short(clip_gradients: Any) -> Seen:
    """one long gradient among short ones"""
    return clipped(clip_gradients, [normal(4, seed=0, std=10.0), normal(3, seed=1, std=0.1)], 2.0)


@clipping.property
def keeps_the_gradients(clip_gradients: Any) -> Seen:
    """gradients that the caller goes on using

    You write into the gradients that you were given. Return new ones.
    """
    grads = three_gradients()
    clip_gradients(grads, 0.5)
    return {f"gradient {i} after the call": g for i, g in enumerate(grads)}


def length(grads: Sequence[Tensor]) -> Tensor:
    return torch.cat([g.flatten() for g in grads]).norm()


@clipping.misconception
def each_by_itself(grads: Sequence[Tensor], max_norm: float) -> Any:
    """You clip each gradient by its own length.

    That turns the whole gradient: long parts are shortened, short ones are not. One factor for all keeps its direction.
    """
    return [clip_gradients([g], max_norm)[0][0] for g in grads], length(grads)


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


# scaled_backward ------------------------------------------------------------------------------------------------------

scaling = Exercise(
    scaled_backward,
    section="Loss scaling",
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


def outcome(result: Any) -> Seen:
    grads, scale, good = result
    found = {f"gradient {i}": g for i, g in enumerate(grads)} if grads is not None else {}
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
    """a scale that overflows float16"""
    weight = halves("w", 1.0).requires_grad_()
    return outcome(scaled_backward(product_loss(weight, [halves("a", 20.0)]), [weight], 2.0**16, good_steps=5))


@scaling.probe
def in_full_precision(scaled_backward: Any) -> Seen:
    """two float32 parameters, the 3rd good step"""
    a, b = normal(2, 3, seed="a").requires_grad_(), normal(3, 4, seed="b").requires_grad_()
    return outcome(scaled_backward((a @ b).square().sum(), [a, b], 1024.0, good_steps=2))


@scaling.probe
def the_last_of_an_interval(scaled_backward: Any) -> Seen:
    """the last good step of an interval of 10"""
    a = normal(4, seed="a").requires_grad_()
    return outcome(scaled_backward(a.square().sum(), [a], 8.0, good_steps=9, interval=10))


@scaling.probe
def one_before_the_last(scaled_backward: Any) -> Seen:
    """the last good step but one of an interval of 10, and of the usual 2000"""
    a = normal(4, seed="a").requires_grad_()
    short = outcome(scaled_backward(a.square().sum(), [a], 8.0, good_steps=8, interval=10))
    usual = outcome(scaled_backward(a.square().sum(), [a], 8.0, good_steps=1999))
    return {**short, "scale after the usual interval": usual["scale"]}


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
