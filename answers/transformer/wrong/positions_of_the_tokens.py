"""Positions are looked up by token id; the shift goes to the left."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    where = ids.clamp(max=len(positions) - 1)
    return table[ids] * math.sqrt(table.shape[1]) + positions[where]


def shift_right(targets, bos):
    column = torch.full_like(targets[:, :1], bos)
    return torch.cat([targets[:, 1:], column], dim=1)


def greedy_decode(step, bos, eos, max_length):
    last = bos
    said = []
    while len(said) < max_length and last != eos:
        last = int(step([last]).argmax())
        said.append(last)
    return said


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams = [(0.0, [])]
    done = []
    for _ in range(max_length):
        pool = []
        for score, ids in beams:
            logp = step([bos, *ids])
            for t in range(logp.shape[0]):
                pool.append((score + logp[t].exp().item(), [*ids, t]))
        pool.sort(key=lambda b: b[0], reverse=True)
        beams = []
        for score, ids in pool[:width]:
            if ids[-1] == eos:
                done.append((score, ids))
            else:
                beams.append((score, ids))
    done += beams
    score, ids = max(done, key=lambda b: b[0] / len(b[1]) ** length_penalty)
    return ids, score / len(ids) ** length_penalty


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
        x = self.source_table[source] * math.sqrt(self.source_table.shape[1])
        x = x + self.positions[: source.shape[0]].unsqueeze(1)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        x = self.target_table[inputs] * math.sqrt(self.target_table.shape[1])
        x = x + self.positions[: inputs.shape[0]].unsqueeze(1)
        n = inputs.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        for layer in self.decoder:
            x = layer(x, memory, causal, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
