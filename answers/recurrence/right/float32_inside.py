"""Computes in float32 and casts back; functions as objects and partial functions."""

import functools
import itertools

import torch


def in_float32(function):
    @functools.wraps(function)
    def wide(*tensors):
        result = function(*(t.float() for t in tensors))
        back = functools.partial(torch.Tensor.to, dtype=tensors[0].dtype)
        return tuple(map(back, result)) if isinstance(result, tuple) else back(result)

    return wide


@in_float32
def rnn_step(x, h, w_x, w_h, b):
    return torch.tanh(torch.cat([x, h], -1) @ torch.cat([w_x, w_h]) + b)


@in_float32
def lstm_step(x, h, c, w_x, w_h, b):
    gates = torch.cat([x, h], -1) @ torch.cat([w_x, w_h]) + b
    i, f, g, o = gates.unflatten(-1, (4, -1)).unbind(-2)
    c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), g.tanh())
    return o.sigmoid() * c.tanh(), c


@in_float32
def gradient_by_distance(w_h, states):
    slopes = (1 - states[1:] ** 2).flip(0)
    start = torch.eye(w_h.shape[0], device=w_h.device)
    walk = itertools.accumulate(slopes, lambda j, s: (j * s) @ w_h.T, initial=start)
    return torch.stack([torch.sqrt((j * j).sum()) for j in walk]).flip(0)


class Path:
    def __call__(self, architecture, n, kernel=None):
        return {"rnn": n - 1, "attention": 1}.get(architecture) or self.layers(n, kernel)

    @staticmethod
    def layers(n, kernel):
        return 0 if kernel is None else -(-(n - 1) // (kernel - 1))


path_length = Path()
receptive_field = functools.partial(
    lambda start, ks, ds: functools.reduce(lambda r, kd: r + (kd[0] - 1) * kd[1], zip(ks, ds, strict=True), start), 1
)
