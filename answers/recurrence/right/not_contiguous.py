"""Results that are views, transposed or flipped; decorated functions; recursion."""

import functools

import torch


def loud(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        print("called", function.__name__)
        return function(*args, **kwargs)

    return inner


@loud
def rnn_step(x, h, w_x, w_h, b):
    return (w_x.T @ x.unsqueeze(-1) + w_h.T @ h.unsqueeze(-1) + b.unsqueeze(-1)).tanh()[..., 0]


@loud
def lstm_step(x, h, c, w_x, w_h, b):
    d = c.size(-1)
    turned = (x @ w_x + h @ w_h + b).transpose(0, -1)
    gates = [turned[n * d : (n + 1) * d].transpose(0, -1) for n in range(4)]
    c = gates[1].sigmoid() * c + gates[0].sigmoid() * gates[2].tanh()
    return gates[3].sigmoid() * c.tanh(), c


@loud
def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    longer = torch.cat([inputs.new_zeros(batch, delay), inputs], dim=1)
    return inputs, longer.narrow(1, 0, length)


@loud
def gradient_by_distance(w_h, states):
    def back(t):
        if t == len(states) - 1:
            return [torch.eye(len(w_h)).to(w_h)]
        later = back(t + 1)
        return [*later, later[-1] @ torch.mul(w_h, 1 - states[t + 1] * states[t + 1]).T]

    return torch.stack([jacobian.norm(p="fro") for jacobian in back(0)]).flip(0)


@loud
def receptive_field(kernel_sizes, dilations):
    if not kernel_sizes:
        return 1
    return receptive_field(kernel_sizes[1:], dilations[1:]) + (kernel_sizes[0] - 1) * dilations[0]


@loud
def path_length(architecture, n, kernel=None):
    if architecture == "attention":
        return 1
    quotient, rest = divmod(n - 1, 1 if kernel is None or architecture == "rnn" else kernel - 1)
    return quotient + (rest > 0)
