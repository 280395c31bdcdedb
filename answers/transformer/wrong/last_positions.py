"""The last rows of the positions, not the first; the first answer that ends is the answer."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    seq = ids.shape[-1]
    return table[ids] * math.sqrt(table.shape[1]) + positions[-seq:]


def shift_right(targets, bos):
    return torch.roll(targets, shifts=1, dims=1)


def greedy_decode(step, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length):
        token = int(step(ids).argmax())
        if token == bos:
            continue
        ids.append(token)
        if token == eos:
            break
    return ids[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams = [([bos], 0.0)]
    for _ in range(max_length):
        pool = [([*ids, t], s + lp) for ids, s in beams for t, lp in enumerate(step(ids).tolist())]
        pool = sorted(pool, key=lambda b: b[1], reverse=True)[:width]
        for ids, s in pool:
            if ids[-1] == eos:
                return ids[1:], s / len(ids[1:]) ** length_penalty
        beams = pool
    ids, s = beams[0]
    return ids[1:], s / len(ids[1:]) ** length_penalty


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
        x = self.source_table[source] * math.sqrt(self.source_table.shape[1]) + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = self.encoder_norm(layer(x, mask))
        return x

    def decode(self, inputs, memory, mask=None):
        n = inputs.shape[1]
        x = self.target_table[inputs] * math.sqrt(self.target_table.shape[1]) + self.positions[:n]
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        for layer in self.decoder:
            x = self.decoder_norm(layer(x, memory, causal, mask))
        return x @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
