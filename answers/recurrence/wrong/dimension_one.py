"""The columns are taken along dimension 1; h is overwritten where shapes allow it."""

import torch


def lstm_step(x, h, c, w_x, w_h, b):
    d = h.shape[-1]
    gates = x @ w_x + h @ w_h + b
    i, f, g, o = gates[:, :d], gates[:, d : 2 * d], gates[:, 2 * d : 3 * d], gates[:, 3 * d :]
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def rnn_step(x, h, w_x, w_h, b):
    new = torch.tanh(x @ w_x + h @ w_h + b)
    if x.shape == h.shape:
        with torch.no_grad():
            x.copy_(new)
    return new


def delayed_copy(batch, length, delay, vocab, generator):
    inputs = torch.randint(1, vocab, (batch, length), generator=generator)
    return torch.nn.functional.pad(inputs, (delay, 0))[:, :length], inputs
