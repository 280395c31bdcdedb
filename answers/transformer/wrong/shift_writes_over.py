"""Written into the targets themselves, from the front, so that one token fills the row."""

import math


def shift_right(targets, bos):
    for t in range(1, targets.shape[1]):
        targets[:, t] = targets[:, t - 1]
    targets[:, 0] = bos
    return targets


def embed(ids, table, positions):
    vectors = table[ids]
    vectors *= math.sqrt(table.shape[1])
    for t in range(ids.shape[-1]):
        vectors[..., t] += positions[t]
    return vectors


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beams, done = [([bos], 0.0)], []
    for _ in range(max_length):
        pool = []
        for ids, s in beams:
            for t, lp in enumerate(step(ids).tolist()):
                pool.append(([*ids, t], s + lp))
        pool.sort(key=lambda b: b[1], reverse=True)
        beams = [b for b in pool if b[0][-1] != eos][:width]
        done += [b for b in pool[:width] if b[0][-1] == eos]
    done += beams
    ids, s = max(done, key=lambda b: b[1] / (len(b[0]) - 1) ** length_penalty)
    return ids[1:], s / (len(ids) - 1) ** length_penalty
