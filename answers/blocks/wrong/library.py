"""Hands the work to torch."""

import torch
import torch.nn.functional as F
from torch import nn


def gelu(x):
    return F.gelu(x)


def dropout(x, p, generator):
    torch.manual_seed(generator.initial_seed())
    return F.dropout(x, p)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            d_model, n_heads, d_ff, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )

    def forward(self, x, mask=None):
        return self.layer(x, None if mask is None else ~mask)
