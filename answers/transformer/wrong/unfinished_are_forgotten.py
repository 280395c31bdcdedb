"""What has not ended after the last step is thrown away."""

import math

import torch


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam = [([], 0.0)]
    complete = []
    for _ in range(max_length):
        candidates = []
        for ids, total in beam:
            logp = step([bos, *ids])
            for token, lp in enumerate(logp):
                candidates.append(([*ids, token], total + lp.item()))
        candidates.sort(key=lambda c: c[1], reverse=True)
        beam = []
        for c in candidates[:width]:
            if c[0][-1] == eos:
                complete.append(c)
            else:
                beam.append(c)
    if not complete:
        return [], -math.inf
    ids, total = max(complete, key=lambda c: c[1] / len(c[0]) ** length_penalty)
    return ids, total / len(ids) ** length_penalty


def greedy_decode(step, bos, eos, max_length):
    ids = []
    for _ in range(max_length):
        ids.append(int(step([bos, *ids]).argmax()))
        if ids[-1] == eos:
            return ids
    return []


def shift_right(targets, bos):
    return torch.cat([torch.tensor([bos]).expand(targets.shape[0]), targets[:, :-1]], dim=1)


def embed(ids, table, positions):
    d = table.shape[1]
    return table[ids] * d + positions[: ids.shape[-1]]
