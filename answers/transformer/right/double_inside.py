"""Computes in float64 inside, and gives back the dtype that came in."""

import math

import torch


def embed(ids, table, positions):
    wide = table.double()[ids] * math.sqrt(table.shape[1])
    return (wide + positions.double()[: ids.shape[-1]]).to(table.dtype)


def shift_right(targets, bos):
    inputs = targets.roll(1, dims=1)
    inputs[:, 0] = bos
    return inputs


def greedy_decode(step, bos, eos, max_length):
    prefix = [bos]
    while len(prefix) <= max_length:
        log_p = step(prefix).double()
        prefix = [*prefix, int(log_p.max(dim=0).indices)]
        if prefix[-1] == eos:
            break
    return prefix[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam, complete = {(): 0.0}, {}
    for _ in range(max_length):
        longer = {}
        for ids, total in beam.items():
            for token, p in enumerate(step([bos, *ids]).double().tolist()):
                longer[(*ids, token)] = total + p
        kept = dict(sorted(longer.items(), key=lambda item: -item[1])[:width])
        complete |= {ids: total for ids, total in kept.items() if ids[-1] == eos}
        beam = {ids: total for ids, total in kept.items() if ids[-1] != eos}
    scores = {ids: total / len(ids) ** length_penalty for ids, total in (complete | beam).items()}
    best = max(scores, key=scores.__getitem__)
    return list(best), torch.tensor(scores[best], dtype=torch.float64)
