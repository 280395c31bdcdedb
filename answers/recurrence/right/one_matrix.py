"""Input and state side by side, one stacked matrix; a named tuple; shifts by cat and by index."""

from typing import NamedTuple

import torch


class State(NamedTuple):
    h: torch.Tensor
    c: torch.Tensor


def rnn_step(x, h, w_x, w_h, b):
    return torch.tanh(torch.cat([x, h], dim=-1) @ torch.cat([w_x, w_h], dim=0) + b)


def lstm_step(x, h, c, w_x, w_h, b):
    d = h.shape[-1]
    total = torch.cat([h, x], dim=-1) @ torch.cat([w_h, w_x]) + b
    write, keep, what, out = total[..., :d], total[..., d : 2 * d], total[..., 2 * d : 3 * d], total[..., 3 * d :]
    cell = torch.addcmul(keep.sigmoid() * c, write.sigmoid(), what.tanh())
    return State(h=out.sigmoid() * cell.tanh(), c=cell)


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    nothing = torch.zeros(batch, min(delay, length), dtype=inputs.dtype)
    return inputs, torch.cat([nothing, inputs[:, : max(length - delay, 0)]], dim=1)


def receptive_field(kernel_sizes, dilations):
    total = torch.tensor([1, *(d * (k - 1) for k, d in zip(kernel_sizes, dilations, strict=False))])
    return int(total.sum())


def path_length(architecture, n, kernel=None):
    match architecture:
        case "rnn":
            return n - 1
        case "cnn":
            return -((1 - n) // (kernel - 1))
        case _:
            return 1
