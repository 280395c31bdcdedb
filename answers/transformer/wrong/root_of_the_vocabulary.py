"""shape[0] is the vocabulary's size, not the width; the shift runs down the batch."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    scale = math.sqrt(table.shape[0])
    return table[ids] * scale + positions[: ids.shape[-1]]


def shift_right(targets, bos):
    out = torch.roll(targets, 1, dims=0)
    out[0] = bos
    return out


def greedy_decode(step, bos, eos, max_length):
    prefix = [bos]
    answer = []
    for _ in range(max_length):
        probs = step(prefix)
        best, best_id = -1e9, 0
        for i, p in enumerate(probs.tolist()):
            if p >= best:
                best, best_id = p, i
        answer.append(best_id)
        prefix.append(best_id)
        if best_id == eos:
            return answer
    return answer


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
        x = self.source_table[source] * math.sqrt(self.source_table.shape[0])
        x = x + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, inputs, memory, mask=None):
        x = self.target_table[inputs] * math.sqrt(self.target_table.shape[0])
        x = x + self.positions[: inputs.shape[1]]
        n = inputs.shape[1]
        causal = torch.tril(torch.ones(n, n, dtype=torch.bool, device=x.device))
        for layer in self.decoder:
            x = layer(x, memory, causal, mask)
        return self.decoder_norm(x) @ self.target_table.T

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
