"""Recurrence: what the Transformer replaced, one step at a time, and how far a signal has to travel.

Elman 1990; Hochreiter and Schmidhuber 1997 (LSTM); Bengio et al. 1994 (vanishing gradients); Vaswani et al. 2017,
table 1. Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.expect import expects


@expects(x="... d_in", h="... d", w_x="d_in d", w_h="d d", b="d")
def rnn_step(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> Tensor:
    """Read one input, and update what is remembered.

    Args:
        x: the input of this step (..., d_in).
        h: the state so far (..., d).
        w_x: weights for the input (d_in, d).
        w_h: weights for the state (d, d).
        b: bias (d,).

    Returns:
        the new state (..., d), between -1 and 1.
    """
    return torch.tanh(x @ w_x + h @ w_h + b)


@expects(x="... d_in", h="... d", c="... d", w_x="d_in gates", w_h="d gates", b="gates")
def lstm_step(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Read one input; decide what to write into the cell, what to forget, and what to show.

    Args:
        x: the input of this step (..., d_in).
        h: what was shown before (..., d).
        c: the cell, the long memory (..., d).
        w_x: weights for the input (d_in, 4·d); the columns are input gate, forget gate, candidate, output gate.
        w_h: weights for h (d, 4·d), columns in the same order.
        b: bias (4·d,), in the same order; nothing is added to the forget gate.

    Returns:
        the new h (..., d) and the new cell c (..., d).
    """
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@expects(batch="positive", length="positive", delay="size")
def delayed_copy(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make a task of pure memory: say again what was read `delay` steps ago.

    Args:
        batch: number of sequences.
        length: tokens in each.
        delay: how far back the answer lies, 0 or more.
        vocab: tokens run from 1 to vocab - 1; 0 means "nothing yet".
        generator: where the randomness comes from.

    Returns:
        inputs (batch, length) = torch.randint(1, vocab, (batch, length), generator=generator), and targets
        (batch, length): targets[:, t] = inputs[:, t - delay], 0 before that.
    """
    inputs = torch.randint(1, vocab, (batch, length), generator=generator, device=generator.device)
    return inputs, F.pad(inputs, (delay, 0))[:, :length]


@expects(w_h="d d", states="time d")
def gradient_by_distance(w_h: Tensor, states: Tensor) -> Tensor:
    """Measure how much of the last state's gradient reaches each state before it.

    Args:
        w_h: the recurrent weights (d, d).
        states: the states of one run (time, d), where states[t] = tanh(… + states[t-1] @ w_h).

    Returns:
        norms (time,): entry t is the Frobenius norm of the Jacobian d states[-1] / d states[t]; the last is √d.
    """
    jacobian = torch.eye(len(w_h), dtype=w_h.dtype, device=w_h.device)
    norms = [jacobian.norm()]
    for state in states[1:].flip(0):
        jacobian = jacobian @ ((1 - state.square())[:, None] * w_h.T)  # through one tanh, through w_h
        norms.append(jacobian.norm())
    return torch.stack(norms).flip(0)


def receptive_field(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> int:
    """Count the inputs that one output of a stack of convolutions can see, at stride 1.

    Args:
        kernel_sizes: width of each layer's kernel.
        dilations: distance between neighbouring taps of each layer's kernel.

    Returns:
        the number of inputs; 1 for no layer at all.
    """
    return 1 + sum((kernel - 1) * dilation for kernel, dilation in zip(kernel_sizes, dilations, strict=True))


@expects(n="positive")
def path_length(architecture: str, n: int, kernel: int | None = None) -> int:
    """Count the steps that a signal takes from the first of n positions to the last.

    Args:
        architecture: "rnn", "attention" or "cnn".
        n: number of positions.
        kernel: width of the kernel of a causal convolution without dilation, for "cnn".

    Returns:
        the number of steps, or of layers.
    """
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    if architecture == "cnn" and kernel is not None:
        return math.ceil((n - 1) / (kernel - 1))
    raise ValueError(f"path_length: {architecture!r} is not rnn, attention, or cnn with a kernel.")
