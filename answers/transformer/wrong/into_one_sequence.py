"""Written for one sequence, without a batch, or for a batch and nothing else."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    batch, seq = ids.shape
    out = torch.zeros(batch, seq, table.shape[1])
    for b in range(batch):
        for t in range(seq):
            out[b, t] = table[ids[b, t]] * math.sqrt(table.shape[1]) + positions[t]
    return out


def shift_right(targets, bos):
    return torch.tensor([bos, *targets.flatten().tolist()[:-1]]).reshape(targets.shape)


def greedy_decode(step, bos, eos, max_length):
    ids = [bos]
    for _i in range(max_length):
        logits = step(ids)
        token = torch.multinomial(logits.exp(), 1).item()
        ids.append(token)
        if token == eos:
            break
    return ids[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams = [([bos], 0.0)]
    complete = []
    for _ in range(max_length):
        grown = []
        for ids, s in beams:
            lp = step(ids)
            values, tokens = lp.topk(width)
            for v, t in zip(values.tolist(), tokens.tolist(), strict=True):
                grown.append(([*ids, t], s + v))
        grown.sort(key=lambda b: b[1], reverse=True)
        grown = grown[:width]
        complete += [b for b in grown if b[0][-1] == eos]
        beams = [b for b in grown if b[0][-1] != eos]
    complete += beams
    ids, s = max(complete, key=lambda b: b[1] / (len(b[0]) - 1) ** length_penalty)
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
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        for layer in self.decoder:
            x = layer(x, memory, causal, mask)
        logits = self.decoder_norm(x) @ self.target_table.T
        return logits.log_softmax(dim=-1)

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, self.encode(source, mask), mask)
