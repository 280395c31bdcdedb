"""Gives h and keeps the cell to itself."""

import torch


def lstm_step(x, h, c, w_x, w_h, b):
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c)


def delayed_copy(batch, length, delay, vocab, generator):
    return torch.randint(1, vocab, (batch, length), generator=generator).roll(delay)
