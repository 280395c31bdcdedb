"""One token, one sequence, one hypothesis at a time."""

import math

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.masks import causal_mask
from qkv.model.positions import sinusoidal_positions


def embed(ids, table, positions):
    vectors = []
    for sequence in ids.reshape(-1, ids.shape[-1]):
        for t in range(len(sequence)):
            vectors.append(table[sequence[t]] * table.shape[1] ** 0.5 + positions[t])
    return torch.stack(vectors).reshape(*ids.shape, table.shape[1])


def shift_right(targets, bos):
    inputs = targets.clone()
    for t in range(targets.shape[1]):
        inputs[:, t] = bos if t == 0 else targets[:, t - 1]
    return inputs


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
        memories = []
        for b in range(len(source)):
            seen = mask if mask is None or mask.dim() < 3 or len(mask) == 1 else mask[b : b + 1]
            x = embed(source[b : b + 1], self.source_table, self.positions)
            for layer in self.encoder:
                x = layer(x, seen)
            memories.append(self.encoder_norm(x))
        return torch.cat(memories)

    def decode(self, inputs, memory, mask=None):
        logits = []
        for n in range(1, inputs.shape[1] + 1):
            x = embed(inputs[:, :n], self.target_table, self.positions)
            seen = mask if mask is None or mask.dim() < 2 or mask.shape[-2] == 1 else mask[..., :n, :]
            for layer in self.decoder:
                x = layer(x, memory, causal_mask(n).to(inputs.device), seen)
            logits.append(self.decoder_norm(x[:, -1]) @ self.target_table.T)
        return torch.stack(logits, dim=1)

    def forward(self, source, inputs, mask=None):
        memory = self.encode(source, mask)
        return self.decode(inputs, memory, mask)


def greedy_decode(step, bos, eos, max_length):
    said = []
    for _ in range(max_length):
        log_p = step([bos, *said]).tolist()
        best = 0
        for token in range(1, len(log_p)):
            if log_p[token] > log_p[best]:
                best = token
        said.append(best)
        if best == eos:
            return said
    return said


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    unfinished, finished = [(0.0, [])], []
    for _ in range(max_length):
        grown = []
        for total, said in unfinished:
            for token, log_p in enumerate(step([bos, *said]).tolist()):
                grown.append((total + log_p, [*said, token]))
        unfinished = []
        for _ in range(min(width, len(grown))):
            best = max(range(len(grown)), key=lambda i: grown[i][0])
            total, said = grown.pop(best)
            (finished if said[-1] == eos else unfinished).append((total, said))
    best, best_score = None, -math.inf
    for total, said in finished + unfinished:
        score = total / len(said) ** length_penalty
        if best is None or score > best_score:
            best, best_score = said, score
    return best, best_score
