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
from qkv.model.positions import also


def not_four_gates(x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor) -> str:
    d, columns = h.shape[-1], len(b)
    return "" if columns == 4 * d else f"b has {columns} entries, expected 4·d = {4 * d}: three gates and a candidate."


def no_tokens(batch: int, length: int, delay: int, vocab: int, generator: torch.Generator) -> str:
    return "" if vocab >= 2 else f"vocab is {vocab}, expected 2 or more: 0 is no token, so tokens run from 1 on."


def uneven_layers(kernel_sizes: Sequence[int], dilations: Sequence[int]) -> str:
    layers = len(kernel_sizes), len(dilations)
    if layers[0] != layers[1]:
        return f"there are {layers[0]} kernel_sizes and {layers[1]} dilations, expected one of each for every layer."
    return "" if all(n >= 1 for n in (*kernel_sizes, *dilations)) else "kernel_sizes and dilations must be 1 or more."


def no_way_through(architecture: str, n: int, kernel: int | None) -> str:
    if architecture not in ("rnn", "attention", "cnn"):
        return f"architecture is {architecture!r}, expected 'rnn', 'attention' or 'cnn'."
    if architecture == "cnn" and (kernel is None or kernel < 2):
        return f"kernel is {kernel}, expected 2 or more: a narrower convolution never moves a signal."
    return ""


@expects(x="... d_in", h="... d", w_x="d_in d", w_h="d d", b="d")
def rnn_step(
    x: Tensor,
    h: Tensor,
    w_x: Tensor,
    w_h: Tensor,
    b: Tensor,
) -> Tensor:
    """Read one input, and update what is remembered.

    Args:
        x: the input of this step (..., d_in).
        h: the state so far (..., d).
        w_x: weights for the input (d_in, d).
        w_h: weights for the state (d, d).
        b: bias (d,).

    Returns:
        the new state (..., d), between -1 and 1.

    To be written without torch's own recurrent cells.
    """
    return torch.tanh(x @ w_x + h @ w_h + b)


@expects(x="... d_in", h="... d", c="... d", w_x="d_in columns", w_h="d columns", b="columns")
@also.expects(not_four_gates)
def lstm_step(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_x: Tensor,
    w_h: Tensor,
    b: Tensor,
) -> tuple[Tensor, Tensor]:
    """Read one input; decide what to write, what to forget, what to show.

    Args:
        x: the input of this step (..., d_in).
        h: what was shown before (..., d).
        c: the cell, the long memory (..., d).
        w_x: weights for the input (d_in, 4·d); the columns are input gate i,
            forget gate f, candidate g, output gate o.
        w_h: weights for h (d, 4·d), columns in the same order.
        b: bias (4·d,), in the same order; nothing is added to the forget gate.

    Returns:
        the new h (..., d) and the new cell c (..., d).

    To be written without torch's own recurrent cells.
    """
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@expects(batch="positive", length="positive", delay="size")
@also.expects(no_tokens)
def delayed_copy(
    batch: int,
    length: int,
    delay: int,
    vocab: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Make a task of pure memory: say again what was read `delay` steps ago.

    Args:
        batch: number of sequences.
        length: tokens in each.
        delay: how far back the answer lies, 0 or more.
        vocab: tokens run from 1 to vocab - 1; 0 means "nothing yet".
        generator: where the randomness comes from.

    Returns:
        inputs (batch, length), drawn as
            torch.randint(1, vocab, (batch, length), generator=generator),
        and targets (batch, length): targets[:, t] = inputs[:, t - delay],
            0 before that.
    """
    size, device = (batch, length), generator.device
    inputs = torch.randint(1, vocab, size, generator=generator, device=device)
    return inputs, F.pad(inputs, (delay, 0))[:, :length]


@expects(w_h="d d", states="time d")
def gradient_by_distance(w_h: Tensor, states: Tensor) -> Tensor:
    """Measure how much of a last state's gradient reaches earlier ones.

    Args:
        w_h: the recurrent weights (d, d).
        states: the states of one run (time, d), where
            states[t] = tanh(… + states[t-1] @ w_h).

    Returns:
        norms (time,): entry t is the Frobenius norm of the Jacobian
            d states[-1] / d states[t]; the last is √d.
    """
    jacobian = torch.eye(len(w_h), dtype=w_h.dtype, device=w_h.device)
    norms = [jacobian.norm()]
    for state in states[1:].flip(0):
        step = (1 - state.square())[:, None] * w_h.T  # the tanh's slope, w_h
        jacobian = jacobian @ step
        norms.append(jacobian.norm())
    return torch.stack(norms).flip(0)


@also.expects(uneven_layers)
def receptive_field(
    kernel_sizes: Sequence[int],
    dilations: Sequence[int],
) -> int:
    """Count the inputs that one output of a stack of convolutions sees.

    All strides are 1.

    Args:
        kernel_sizes: width of each layer's kernel.
        dilations: distance between neighbouring taps of each layer's kernel,
            1 if it has no gaps.

    Returns:
        the number of inputs; 1 for no layer at all.
    """
    layers = zip(kernel_sizes, dilations, strict=True)
    return 1 + sum((kernel - 1) * dilation for kernel, dilation in layers)


@expects(n="positive")
@also.expects(no_way_through)
def path_length(architecture: str, n: int, kernel: int | None = None) -> int:
    """Count a signal's steps from the first of n positions to the last.

    Args:
        architecture: "rnn", "attention" or "cnn".
        n: number of positions.
        kernel: width of a causal convolution without dilation, for "cnn".

    Returns:
        the number of steps, or of layers.
    """
    if architecture == "rnn":
        return n - 1
    if architecture == "attention":
        return 1
    assert kernel is not None  # a convolution has a width
    return math.ceil((n - 1) / (kernel - 1))
