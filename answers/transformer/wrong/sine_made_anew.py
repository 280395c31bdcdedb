"""The positions that are handed in are not used; the mask goes nowhere."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    seq, d_model = ids.shape[-1], table.shape[1]
    t = torch.arange(seq, dtype=table.dtype)[:, None]
    w = 10000 ** (-torch.arange(0, d_model, 2, dtype=table.dtype) / d_model)
    places = torch.zeros(seq, d_model, dtype=table.dtype)
    places[:, 0::2] = torch.sin(t * w)
    places[:, 1::2] = torch.cos(t * w)[:, : d_model // 2]
    return table[ids] * math.sqrt(d_model) + places


def shift_right(targets, bos):
    inputs = targets.clone()
    inputs[:, 1:] = targets[:, :-1]
    inputs[0, 0] = bos
    return inputs


def greedy_decode(step, bos, eos, max_length):
    out = [bos]
    for _ in range(max_length):
        token = step(out).argmin().item()
        out.append(token)
        if token == eos:
            break
    return out[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams, done = [(0.0, [bos])], []
    for _ in range(max_length):
        pool = []
        for s, ids in beams:
            for t, lp in enumerate(step(ids).tolist()):
                pool.append((s + lp, [*ids, t]))
        pool.sort(reverse=True)
        beams = []
        for s, ids in pool:
            if ids[-1] == eos:
                done.append((s, ids))
            elif len(beams) < width:
                beams.append((s, ids))
    done += beams
    s, ids = max(done, key=lambda b: b[0] / (len(b[1]) - 1) ** length_penalty)
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
            x = layer(x)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        n = inputs.shape[1]
        x = self.target_table[inputs] * math.sqrt(self.target_table.shape[1]) + self.positions[:n]
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        for layer in self.decoder:
            x = layer(x, memory, causal)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
