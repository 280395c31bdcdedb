"""Divided where it should be multiplied; bos is taken for 0; a strict bound."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    vectors = torch.nn.functional.embedding(ids, table) / math.sqrt(table.size(1))
    return vectors + positions[: ids.size(-1)]


def shift_right(targets, bos):
    return torch.nn.functional.pad(targets, (1, 0), value=0)[:, :-1]


def greedy_decode(step, bos, eos, max_length):
    ids = []
    for _ in range(max_length - 1):
        token = int(step([bos, *ids]).argmax())
        ids.append(token)
        if token == eos:
            break
    return ids


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    best = None
    beam = [((), 0.0)]
    for _ in range(max_length):
        extended = []
        for ids, score in beam:
            for t, lp in enumerate(step([bos, *ids]).tolist()):
                extended.append(((*ids, t), score + lp))
        extended.sort(key=lambda h: h[1], reverse=True)
        beam = []
        for ids, score in extended[:width]:
            if ids[-1] == eos:
                if best is None or score > best[1]:
                    best = (ids, score)
            else:
                beam.append((ids, score))
    for ids, score in beam:
        if best is None or score > best[1]:
            best = (ids, score)
    return list(best[0]), best[1] / len(best[0]) ** length_penalty


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
        scale = self.source_table.shape[1] ** 0.5
        x = self.source_table[source] * scale + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x, mask)
        return x

    def decode(self, inputs, memory, mask=None):
        scale = self.target_table.shape[1] ** 0.5
        n = inputs.shape[1]
        x = self.target_table[inputs] * scale + self.positions[:n]
        causal = torch.ones(n, n, device=inputs.device).tril().bool()
        for layer in self.decoder:
            x = layer(x, memory, causal, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
