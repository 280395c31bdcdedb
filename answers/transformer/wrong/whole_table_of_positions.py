"""All positions are added, whether there are so many ids or not; the decoder may look ahead."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    return table[ids] * table.shape[-1] ** 0.5 + positions


def shift_right(targets, bos):
    shifted = torch.zeros_like(targets)
    shifted[:, 1:] = targets[:, :-1]
    return shifted


def greedy_decode(step, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length):
        ids.append(int(step(ids).argmax()))
        if ids[-1] == eos:
            break
    return ids


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam = [([bos], 0.0)]
    for _ in range(max_length):
        pool = []
        for ids, total in beam:
            if ids[-1] == eos:
                pool.append((ids, total))
                continue
            for token, lp in enumerate(step(ids).tolist()):
                pool.append(([*ids, token], total + lp))
        beam = sorted(pool, key=lambda h: -h[1])[:width]
    scored = [(total / (len(ids) - 1) ** length_penalty, ids[1:]) for ids, total in beam]
    score, ids = max(scored)
    return ids, score


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
        x = self.source_table[source] * self.source_table.shape[1] ** 0.5 + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        x = self.target_table[inputs] * self.target_table.shape[1] ** 0.5 + self.positions[: inputs.shape[1]]
        for layer in self.decoder:
            x = layer(x, memory, None, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        memory = self.encode(source, mask)
        return self.decode(inputs, memory, mask)
