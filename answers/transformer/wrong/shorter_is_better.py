"""Multiplies by the length's power, or takes the longest, or the mean whatever the penalty is."""


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam, complete = [([], 0.0)], []
    for _ in range(max_length):
        grown = [([*i, t], s + p) for i, s in beam for t, p in enumerate(step([bos, *i]).tolist())]
        kept = sorted(grown, key=lambda h: -h[1])[:width]
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(complete + beam, key=lambda h: h[1] * len(h[0]) ** length_penalty)
    return ids, total * len(ids) ** length_penalty
