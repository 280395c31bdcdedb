"""A lookup as a product with one-hot rows, a shift as a product with a matrix, scores by einsum."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    vocab, d_model = table.shape
    rows = F.one_hot(ids, vocab).to(table.dtype) @ table
    place = torch.eye(len(positions), dtype=table.dtype, device=table.device)[: ids.shape[-1]] @ positions
    return d_model**0.5 * rows + place


def shift_right(targets, bos):
    n = targets.shape[1]
    later = torch.ones(n - 1, dtype=targets.dtype, device=targets.device)
    moved = (targets[:, :, None] * torch.diag(later, 1)).sum(dim=1) if n > 1 else torch.zeros_like(targets)
    first = torch.arange(n, device=targets.device) == 0
    return torch.where(first, bos, moved)


class Transformer(nn.Module):
    def __init__(self, source_vocab, target_vocab, d_model, n_heads, d_ff, n_layers, max_length=64):
        super().__init__()
        self.source_table = nn.Parameter(torch.randn(source_vocab, d_model) / math.sqrt(d_model))
        self.target_table = nn.Parameter(torch.randn(target_vocab, d_model) / math.sqrt(d_model))
        self.register_buffer("positions", sinusoidal_positions(max_length, d_model), persistent=False)
        self.encoder = nn.ModuleList(EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder = nn.ModuleList(DecoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.decoder_norm = nn.LayerNorm(d_model)

    def encode(self, source, mask=None):
        x = embed(source, self.source_table, self.positions)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        n = inputs.shape[1]
        x = embed(inputs, self.target_table, self.positions)
        past = torch.ones(n, n, dtype=torch.bool, device=inputs.device).tril()
        for layer in self.decoder:
            x = layer(x, memory, self_mask=past, memory_mask=mask)
        return torch.einsum("btd,vd->btv", self.decoder_norm(x), self.target_table)

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
