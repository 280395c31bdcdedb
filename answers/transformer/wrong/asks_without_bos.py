"""The model is asked about prefixes without bos, or with bos at the end."""


def greedy_decode(step, bos, eos, max_length):
    said = [int(step([bos]).argmax())]
    while said[-1] != eos and len(said) < max_length:
        said.append(int(step(said).argmax()))
    return said


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam, complete = [([], 0.0)], []
    for _ in range(max_length):
        grown = [([*i, t], s + p) for i, s in beam for t, p in enumerate(step([*i, bos]).tolist())]
        kept = sorted(grown, key=lambda h: -h[1])[:width]
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
    ids, total = max(complete + beam, key=lambda h: h[1] / len(h[0]) ** length_penalty)
    return ids, total / len(ids) ** length_penalty
