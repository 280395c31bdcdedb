"""Results that are transposed views, expanded or rolled."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    columns = table.T[:, ids]  # (d_model, ..., seq)
    return (columns * math.sqrt(len(table.T))).movedim(0, -1) + positions[: ids.shape[-1]]


def shift_right(targets, bos):
    return torch.cat([torch.full_like(targets[:, :1], bos).T, targets.T[:-1]]).T


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
        return self.encoder_norm(x).mT.contiguous().mT

    def decode(self, inputs, memory, mask=None):
        x = embed(inputs, self.target_table, self.positions)
        places = torch.arange(inputs.shape[1], device=inputs.device)
        for layer in self.decoder:
            x = layer(x, memory, places <= places[:, None], mask)
        return (self.target_table @ self.decoder_norm(x).mT).mT

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
