"""Steps with names of their own, a decorator, extra keyword defaults, lambdas."""

import functools
import heapq
import math
from itertools import chain

import torch
from torch import nn

from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.masks import causal_mask
from qkv.model.positions import sinusoidal_positions


def plainly(function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        return function(*args, **kwargs)

    return called


@plainly
def embed(ids, table, positions, *, factor=None):
    factor = table.size(1) ** 0.5 if factor is None else factor
    return torch.add(
        positions.narrow(0, 0, ids.size(-1)), table.index_select(0, ids.flatten()).view(*ids.shape, -1), alpha=factor
    )


shift_right = lambda targets, bos: nn.functional.pad(targets, (1, 0), value=bos)[:, : targets.shape[1]]  # noqa: E731


def through(x, layers, norm, *args):
    for layer in layers:
        x = layer(x, *args)
    return norm(x)


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
        x = embed(source, self.source_table, self.positions)
        return through(x, self.encoder, self.encoder_norm, mask)

    def decode(self, inputs, memory, mask=None):
        x = embed(inputs, self.target_table, self.positions)
        past = causal_mask(inputs.size(1)).to(inputs.device)
        x = through(x, self.decoder, self.decoder_norm, memory, past, mask)
        return nn.functional.linear(x, self.target_table)

    def forward(self, source, inputs, mask=None):
        return self.decode(inputs, memory=self.encode(source, mask=mask), mask=mask)


@plainly
def greedy_decode(step, bos, eos, max_length, already=()):
    if len(already) == max_length or (already and already[-1] == eos):
        return list(already)
    return greedy_decode(step, bos, eos, max_length, (*already, step([bos, *already]).argmax().item()))


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    def extensions(hypothesis):
        ids, total = hypothesis
        return (((*ids, token), total + p) for token, p in enumerate(step([bos, *ids]).tolist()))

    def score(hypothesis):
        return hypothesis[1] * len(hypothesis[0]) ** -length_penalty

    beam, complete = [((), 0.0)], []
    for _ in range(max_length):
        kept = heapq.nlargest(width, chain.from_iterable(map(extensions, beam)), key=lambda h: h[1])
        beam = [h for h in kept if h[0][-1] != eos]
        complete.extend(h for h in kept if h not in beam)
    winner = max([*complete, *beam], key=score)
    return list(winner[0]), score(winner)
