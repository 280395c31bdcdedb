"""Training: the schedule, the optimiser, the loss, and the arithmetic between them.

Vaswani et al. 2017, section 5; Kingma and Ba 2015 (Adam); Szegedy et al. 2016 (label smoothing); Pascanu et al. 2013
(clipping); Micikevicius et al. 2018 (loss scaling). Shapes: see model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.expect import expects


@expects(step="positive", d_model="positive", warmup="positive")
def noam_rate(step: int, d_model: int, warmup: int) -> float:
    """Let the rate rise for `warmup` steps, then fall as the root of the step.

    Args:
        step: number of the update, counted from 1.
        d_model: width of the model; wider models learn at a lower rate.
        warmup: number of steps until the peak.

    Returns:
        the learning rate, a float.
    """
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@expects(p="...", grad="...", m="...", v="...", step="positive", rate="above 0")
def adam_step(
    p: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.98,
    eps: float = 1e-9,
) -> tuple[Tensor, Tensor, Tensor]:
    """Take one step of Adam.

    Args:
        p: parameters (...).
        grad: their gradient (...).
        m: running mean of the gradient (...), 0 before the first step.
        v: running mean of its square (...), 0 before the first step.
        step: number of this step, counted from 1.
        rate: learning rate.
        beta1: how much of m is kept.
        beta2: how much of v is kept.
        eps: added to the root.

    Returns:
        the new p, m and v; m and v as they are kept, without the correction.
    """
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad.square()
    mean = m / (1 - beta1**step)  # m began at 0 and is too small at first
    square = v / (1 - beta2**step)
    return p - rate * mean / (square.sqrt() + eps), m, v


@expects(logits="... classes", targets="int: ...")
def label_smoothing_loss(
    logits: Tensor,
    targets: Tensor,
    epsilon: float,
    ignore_index: int | None = None,
) -> Tensor:
    """Ask for a little less than certainty: spread epsilon over all classes.

    The target is (1 - epsilon) · one-hot, plus epsilon / classes everywhere.

    Args:
        logits: scores of every class (..., classes), as large as ±1e4.
        targets: the right classes (...), int64.
        epsilon: how much is spread.
        ignore_index: targets of this value do not count, whatever it is;
            None if all count.

    Returns:
        the cross-entropy, a scalar: the mean over the targets that count.

    To be written without torch's own cross-entropy.
    """
    log_p = F.log_softmax(logits, dim=-1)
    counts = torch.ones_like(targets, dtype=torch.bool)
    if ignore_index is not None:
        counts = targets != ignore_index
    log_p, targets = log_p[counts], targets[counts]  # (count, classes), (count,)
    classes = logits.shape[-1]
    right = F.one_hot(targets, classes).to(log_p.dtype)
    wanted = (1 - epsilon) * right + epsilon / classes  # sums to 1
    return -(wanted * log_p).sum() / len(targets)


def accumulate_gradients(
    model: nn.Module,
    loss_sum: Callable[[nn.Module, Any], tuple[Tensor, int]],
    batches: Iterable[Any],
) -> float:
    """Leave in .grad the gradient that one batch of all batches would have.

    It is the gradient of the mean loss over all their tokens.

    Args:
        model: its parameters' earlier .grad is discarded.
        loss_sum: gives the summed loss and the number of tokens, of one batch.
        batches: read once, one at a time.

    Returns:
        the mean loss over all tokens.
    """
    model.zero_grad()
    total = 0.0
    tokens = 0
    for batch in batches:
        loss, count = loss_sum(model, batch)
        loss.backward()  # gradients of sums add up
        total += loss.item()
        tokens += count
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad /= tokens
    return total / tokens


def clip_gradients(
    grads: Sequence[Tensor],
    max_norm: float,
) -> tuple[list[Tensor], Tensor]:
    """Shorten the gradient if it is too long, without turning it.

    Args:
        grads: the gradients of all parameters, of any shapes.
        max_norm: the largest length of all of them together.

    Returns:
        the gradients, each times min(1, max_norm / norm), and the norm before.
    """
    norm = torch.stack([grad.square().sum() for grad in grads]).sum().sqrt()
    factor = max_norm / norm if norm > max_norm else 1.0
    return [grad * factor for grad in grads], norm


def scaled_backward(
    loss: Tensor,
    parameters: Sequence[Tensor],
    scale: float,
    good_steps: int = 0,
    interval: int = 2000,
) -> tuple[list[Tensor] | None, float, int]:
    """Differentiate without losing small gradients, and adapt the scale.

    Args:
        loss: a scalar () that depends on the parameters.
        parameters: by what to differentiate; any shapes and floating dtypes.
        scale: the loss is multiplied by this before the way back, and the
            gradients are divided by it after.
        good_steps: how many steps in a row had finite gradients, since the
            scale last changed.
        interval: after so many good steps the scale is doubled.

    Returns:
        the gradients in float32, or None if any is not finite: then this step
        is to be skipped. The scale for the next step: halved after a bad step,
        doubled after `interval` good ones. And the new count of good steps.
    """
    scaled = torch.autograd.grad(loss * scale, parameters)
    grads = [grad.float() / scale for grad in scaled]  # first float32, then small
    if not all(grad.isfinite().all() for grad in grads):
        return None, scale / 2, 0
    if good_steps + 1 == interval:
        return grads, scale * 2, 0
    return grads, scale, good_steps + 1
