"""Many recurrent layers at once: what torch's `nn.RNN`, `nn.LSTM` and `nn.GRU` compute, for models that are stacked.

Torch's own layers take one model, and `torch.func.vmap` refuses them. For RNN and GRU torch has a loop, which spends
its time on starting small products: here each step is one product for all models. For the LSTM it has a kernel
(oneDNN), which is called for one model after the other. Shapes: see model/__init__.py; `model` counts networks of the
same size that share nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def rnn(x: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
    """What `nn.RNN(batch_first=True)` makes of x in each model, from a state of 0.

    Args:
        x: inputs (model, batch, time, d_in).
        w_x: `weight_ih_l0` of each (model, d, d_in).
        w_h: `weight_hh_l0` of each (model, d, d).
        b_x: `bias_ih_l0` of each (model, d).
        b_h: `bias_hh_l0` of each (model, d).

    Returns:
        every state (model, batch, time, d).
    """
    h, w_h = state_of(x, w_h), w_h.transpose(1, 2)
    states = []
    for given in projected(x, w_x, b_x + b_h):
        h = torch.baddbmm(given, h, w_h).tanh()
        states.append(h)
    return torch.stack(states, dim=2)


def gru(x: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
    """What `nn.GRU(batch_first=True)` makes of x in each model, from a state of 0.

    Args:
        x: inputs (model, batch, time, d_in).
        w_x: `weight_ih_l0` of each (model, 3·d, d_in); the rows are reset gate, gate that keeps, proposal.
        w_h: `weight_hh_l0` of each (model, 3·d, d), rows in the same order.
        b_x: `bias_ih_l0` of each (model, 3·d).
        b_h: `bias_hh_l0` of each (model, 3·d).

    Returns:
        every state (model, batch, time, d).
    """
    h, w_h, b_h = state_of(x, w_h), w_h.transpose(1, 2), b_h[:, None]
    d = h.shape[-1]
    states = []
    for given in projected(x, w_x, b_x):
        own = torch.baddbmm(b_h, h, w_h)
        reset, keep = (given[..., : 2 * d] + own[..., : 2 * d]).sigmoid().chunk(2, dim=-1)
        proposal = torch.addcmul(given[..., 2 * d :], reset, own[..., 2 * d :]).tanh()
        h = torch.lerp(proposal, h, keep)
        states.append(h)
    return torch.stack(states, dim=2)


def lstm(x: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor, b_h: Tensor) -> Tensor:
    """What `nn.LSTM(batch_first=True)` shows of x in each model, from a state and a cell of 0.

    Args:
        x: inputs (model, batch, time, d_in).
        w_x: `weight_ih_l0` of each (model, 4·d, d_in).
        w_h: `weight_hh_l0` of each (model, 4·d, d).
        b_x: `bias_ih_l0` of each (model, 4·d).
        b_h: `bias_hh_l0` of each (model, 4·d).

    Returns:
        what every step shows (model, batch, time, d).
    """
    shown = []
    for inputs, *weights in zip(x, w_x, w_h, b_x, b_h, strict=True):
        h = inputs.new_zeros(1, len(inputs), weights[1].shape[-1])
        found, _, _ = torch.lstm(inputs, (h, h), weights, True, 1, 0.0, False, False, True)
        shown.append(found)
    return torch.stack(shown)


def state_of(x: Tensor, w_h: Tensor) -> Tensor:
    """The state before the first input: 0 (model, batch, d)."""
    return x.new_zeros(len(x), x.shape[1], w_h.shape[-1])


def projected(x: Tensor, w_x: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """What the inputs add to each step, (model, batch, columns) for each time: it waits for no state."""
    given = torch.baddbmm(b[:, None], x.flatten(1, 2), w_x.transpose(1, 2))
    return given.unflatten(1, x.shape[1:3]).unbind(2)


LOOPS: dict[type[nn.Module], Callable[..., Tensor]] = {nn.RNN: rnn, nn.LSTM: lstm, nn.GRU: gru}
