"""Stops as soon as the best of the beam is complete; greedy stops one token before the limit."""


def greedy_decode(step, bos, eos, max_length):
    said = [int(step([bos]).argmax())]
    while said[-1] != eos and len(said) < max_length - 1:
        said.append(int(step([bos, *said]).argmax()))
    return said


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam = [([], 0.0)]
    for _ in range(max_length):
        grown = [([*i, t], s + p) for i, s in beam for t, p in enumerate(step([bos, *i]).tolist())]
        beam = sorted(grown, key=lambda h: -h[1])[:width]
        if beam[0][0][-1] == eos:
            break
        beam = [h for h in beam if h[0][-1] != eos]
    ids, total = beam[0]
    return ids, total / len(ids) ** length_penalty
