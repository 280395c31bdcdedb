"""Lambdas, callable objects, partial functions and extra keyword defaults."""

import functools
import math

import torch

STEP = [lambda x, h, w_x, w_h, b: torch.tanh((x[..., None, :] @ w_x)[..., 0, :] + torch.matmul(h, w_h).add(b))]
rnn_step = STEP[0]


class Lstm:
    order = "ifgo"

    def __call__(self, x, h, c, w_x, w_h, b, *, squash=torch.tanh):
        parts = dict(zip(self.order, (x @ w_x + h @ w_h + b).tensor_split(4, dim=-1), strict=True))
        c = c * torch.sigmoid(parts["f"]) + torch.sigmoid(parts["i"]) * squash(parts["g"])
        return [torch.sigmoid(parts["o"]) * squash(c), c]


lstm_step = Lstm()


def shifted(batch, length, delay, vocab, generator, first):
    inputs = torch.randint(first, vocab, (batch, length), generator=generator)
    t = torch.arange(length)
    return inputs, torch.where(t >= delay, inputs[:, (t - delay).clamp(min=0)], 0)


delayed_copy = functools.partial(shifted, first=1)

receptive_field = [lambda kernels, dilations: 1 - sum(dilations) + sum(map(int.__mul__, kernels, dilations))][0]

STEPS = {
    "rnn": lambda n, kernel: n - 1,
    "attention": lambda n, kernel: 1,
    "cnn": lambda n, kernel: math.ceil((n - 1) / (kernel - 1)),
}


def path_length(architecture, n, kernel=None):
    return STEPS[architecture](n, kernel)
