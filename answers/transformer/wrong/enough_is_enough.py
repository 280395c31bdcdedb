"""Stops when there are as many answers as the beam is wide; positions and sums written into what was given."""


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam, complete = [([], 0.0)], []
    for _ in range(max_length):
        grown = [([*i, t], s + p) for i, s in beam for t, p in enumerate(step([bos, *i]).tolist())]
        kept = sorted(grown, key=lambda h: -h[1])[:width]
        complete += [h for h in kept if h[0][-1] == eos]
        beam = [h for h in kept if h[0][-1] != eos]
        if len(complete) >= width:
            beam = []
            break
    ids, total = max(complete + beam, key=lambda h: h[1] / len(h[0]) ** length_penalty)
    return ids, total / len(ids) ** length_penalty


def embed(ids, table, positions):
    rows = table[ids] * table.shape[-1] ** 0.5
    if rows.shape == positions.shape:
        return positions.add_(rows)
    return rows + positions[: ids.shape[-1]]


def greedy_decode(step, bos, eos, max_length):
    said = [bos]
    while len(said) <= max_length and said[-1] != eos:
        said.append(step(said).tolist().index(max(step(said).tolist()[::-1])))
    return said[1:-1] if said[-1] == eos else said[1:]
