"""Each hypothesis keeps its own `width` best extensions, so the beam grows without end."""


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam, complete = [([], 0.0)], []
    for _ in range(max_length):
        kept = []
        for ids, total in beam:
            own = [([*ids, t], total + p) for t, p in enumerate(step([bos, *ids]).tolist())]
            kept += sorted(own, key=lambda h: -h[1])[:width]
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(complete + beam, key=lambda h: h[1] / len(h[0]) ** length_penalty)
    return ids, total / len(ids) ** length_penalty
