"""One-hot times the table, with an axis mixed up; a greedy loop that keeps what it saw."""

import math

import torch
import torch.nn.functional as F

seen = []


def embed(ids, table, positions):
    hot = F.one_hot(ids, table.shape[0]).to(table.dtype)
    vectors = torch.einsum("...sv,vd->...sd", hot, table) * math.sqrt(table.shape[1])
    return vectors + positions[: ids.shape[0]].mean(0)


def shift_right(targets, bos):
    batch = targets.shape[0]
    return torch.hstack([torch.tensor([[bos]] * batch), targets[:-1, :-1]])


def greedy_decode(step, bos, eos, max_length):
    seen.append(bos)
    while len(seen) <= max_length:
        token = int(step(seen).argmax())
        seen.append(token)
        if token == eos:
            break
    return seen[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams, done = [([bos], 0.0)], []
    for _ in range(max_length):
        pool = []
        for ids, s in beams:
            for t, lp in enumerate(step(ids).tolist()):
                pool.append(([*ids, t], s + lp))
        pool.sort(key=lambda b: b[1])
        beams = []
        for ids, s in pool[:width]:
            if ids[-1] == eos:
                done.append((ids[1:], s))
            else:
                beams.append((ids, s))
    done += [(ids[1:], s) for ids, s in beams]
    ids, s = max(done, key=lambda b: b[1] / len(b[0]) ** length_penalty)
    return ids, s / len(ids) ** length_penalty
