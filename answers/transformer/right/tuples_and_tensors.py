"""Hypotheses as tuples in a heap, prefixes as new lists, tables through torch's own embedding; float32 inside."""

import functools
import heapq
import math

import torch
import torch.nn.functional as F


def embed(ids, table, positions):
    rows = F.embedding(ids, table.float()) * math.sqrt(table.size(1))
    return (rows + positions.float()[torch.arange(ids.size(-1), device=ids.device)]).to(table.dtype)


class Shift:
    def __call__(self, targets, bos):
        inputs = targets.roll(1, dims=1)
        inputs[:, 0] = bos
        return inputs


shift_right = Shift()


def decoded(step, bos, eos, max_length, choose):
    said = ()
    for _ in range(max_length):
        said = (*said, choose(step([bos, *said])))
        if said[-1] == eos:
            return list(said)
    return list(said)


def likeliest(log_p):
    return log_p.tolist().index(log_p.max().item())


greedy_decode = functools.partial(decoded, choose=likeliest)


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    alive, finished = [(0.0, ())], []
    for _ in range(max_length):
        grown = ((total + p.item(), (*ids, t)) for total, ids in alive for t, p in enumerate(step([bos, *ids])))
        best = heapq.nlargest(width, grown)
        finished.extend(h for h in best if h[1][-1] == eos)
        alive = [h for h in best if h[1][-1] != eos]
        if not alive:
            break
    score, ids = max((total / len(ids) ** length_penalty, ids) for total, ids in finished + alive)
    return list(ids), score
