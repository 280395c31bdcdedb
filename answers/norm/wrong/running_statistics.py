"""Batch norm that mixes in a running average, as at test time."""

from torch import nn


def batch_norm(x, gamma, beta, eps=1e-5):
    mean, variance = 0.1 * x.mean(0), 0.9 + 0.1 * x.var(0, unbiased=False)
    return gamma * (x - mean) / (variance + eps).sqrt() + beta


class PreNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.sublayer = sublayer

    def forward(self, x, *args):
        x = x + self.sublayer(self.norm(x), *args)
        return x + self.sublayer(self.norm(x), *args)
