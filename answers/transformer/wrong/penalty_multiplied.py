"""The length penalty multiplies, or is a power of the score, or counts bos."""

import torch


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    def rank(h):
        return h[0] * len(h[1]) ** length_penalty

    open_, closed = [(0.0, [])], []
    for _ in range(max_length):
        nxt = []
        for s, ids in open_:
            row = step([bos, *ids]).tolist()
            nxt += [(s + row[t], [*ids, t]) for t in range(len(row))]
        nxt = sorted(nxt, key=lambda h: h[0], reverse=True)[:width]
        open_ = [h for h in nxt if h[1][-1] != eos]
        closed += [h for h in nxt if h[1][-1] == eos]
    best = max(closed + open_, key=rank)
    return best[1], rank(best)


def greedy_decode(step, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length + 1):
        ids.append(int(step(ids).argmax()))
        if ids[-1] == eos:
            break
    return ids[1:]


def shift_right(targets, bos):
    pad = torch.full((1, targets.shape[1]), bos)
    return torch.cat([pad, targets[:-1]], dim=0)
