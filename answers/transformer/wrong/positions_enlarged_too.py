"""The root of the width multiplies the positions as well; bos comes on top, and nothing goes."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    d_model = table.shape[1]
    out = table[ids]
    out = out + positions[: ids.size(-1)]
    return out * d_model**0.5


def shift_right(targets, bos):
    bos_column = targets.new_full((targets.size(0), 1), bos)
    return torch.cat((bos_column, targets), dim=1)


def greedy_decode(step, bos, eos, max_length):
    out = [bos]
    while len(out) < max_length:
        token = step(out).argmax().item()
        out.append(token)
        if token == eos:
            break
    return out[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    alive, finished = [(0.0, [bos])], []
    for _ in range(max_length):
        grown = [(s + lp, [*ids, t]) for s, ids in alive for t, lp in enumerate(step(ids).tolist())]
        grown.sort(key=lambda pair: pair[0], reverse=True)
        alive = []
        for s, ids in grown[:width]:
            (finished if ids[-1] == eos else alive).append((s, ids))
        if not alive:
            break
    finished += alive
    best = max(finished, key=lambda pair: pair[0] / len(pair[1]) ** length_penalty)
    return best[1][1:], best[0] / len(best[1]) ** length_penalty


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

    def _embed(self, ids, table):
        return (table[ids] + self.positions[: ids.shape[1]]) * math.sqrt(table.shape[1])

    def encode(self, source, mask=None):
        x = self._embed(source, self.source_table)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        x = self._embed(inputs, self.target_table)
        n = inputs.shape[1]
        causal = torch.tril(torch.ones(n, n, device=x.device)) == 1
        for layer in self.decoder:
            x = layer(x, memory, causal, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
