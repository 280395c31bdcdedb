"""Positions are appended, not added; ids come back as a tensor with a batch of one."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    tokens = table[ids] * math.sqrt(table.shape[1])
    places = positions[: ids.shape[-1]].expand(*ids.shape, -1)
    return torch.cat([tokens, places], dim=-1)


def shift_right(targets, bos):
    rows = [[bos, *row[:-1]] for row in targets.tolist()]
    return torch.tensor(rows, dtype=torch.float)


def greedy_decode(step, bos, eos, max_length):
    ids = torch.tensor([bos])
    for _ in range(max_length):
        token = step(ids.tolist()).argmax().reshape(1)
        ids = torch.cat([ids, token])
        if token.item() == eos:
            break
    return ids[1:].unsqueeze(0)


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams = [([bos], 0.0)]
    finished = []
    for _ in range(max_length):
        if not beams:
            break
        logp = torch.stack([step(ids) for ids, _ in beams])
        totals = logp + torch.tensor([s for _, s in beams])[:, None]
        scores, flat = totals.flatten().topk(min(width, totals.numel()))
        grown = []
        for s, f in zip(scores.tolist(), flat.tolist(), strict=True):
            ids = beams[f // width][0] + [f % logp.shape[1]]
            if ids[-1] == eos:
                finished.append((ids, s))
            else:
                grown.append((ids, s))
        beams = grown
    finished.extend(beams)
    ids, s = max(finished, key=lambda b: b[1] / (len(b[0]) - 1) ** length_penalty)
    return ids[1:], s / (len(ids) - 1) ** length_penalty


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
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        n = inputs.shape[1]
        x = self.target_table[inputs] * math.sqrt(self.target_table.shape[1]) + self.positions[:n]
        future = torch.triu(torch.ones(n, n, dtype=torch.bool, device=x.device), diagonal=1)
        for layer in self.decoder:
            x = layer(x, memory, future, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
