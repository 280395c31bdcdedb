"""The embedding is not enlarged; the shift drops the first token, not the last."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    seq = ids.shape[-1]
    return table[ids] + positions[:seq]


def shift_right(targets, bos):
    start = torch.full((targets.shape[0], 1), bos, dtype=targets.dtype, device=targets.device)
    return torch.cat([start, targets[:, 1:]], dim=1)


def greedy_decode(step, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length):
        nxt = int(torch.argmax(step(ids)))
        if nxt == eos:
            break
        ids.append(nxt)
    return ids[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams = [([bos], 0.0)]
    done = []
    for _ in range(max_length):
        candidates = []
        for ids, score in beams:
            logp = step(ids)
            for token in range(len(logp)):
                candidates.append(([*ids, token], score + float(logp[token])))
        candidates.sort(key=lambda c: -c[1])
        beams = []
        for ids, score in candidates[:width]:
            if ids[-1] == eos:
                done.append((ids, score))
            else:
                beams.append((ids, score))
        if not beams:
            break
    done = done or beams
    ids, score = max(done, key=lambda c: c[1] / (len(c[0]) - 1) ** length_penalty)
    return ids[1:], score / (len(ids) - 1) ** length_penalty


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
        x = self.source_table[source] + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        n = inputs.shape[1]
        x = self.target_table[inputs] + self.positions[:n]
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        for layer in self.decoder:
            x = layer(x, memory, causal, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
