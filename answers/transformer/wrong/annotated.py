"""Decodes a fixed number of tokens, bos counted, and never looks for the end; finished ones keep their place."""


def greedy_decode(step, bos, eos, max_length):
    ids = [bos]
    for _ in range(max_length - 1):
        ids.append(int(step(ids).argmax()))
    return ids[1:]


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    beam = [([], 0.0, False)]
    for _ in range(max_length):
        candidates = []
        for ids, total, finished in beam:
            if finished:
                candidates.append((ids, total, True))
                continue
            for token, p in enumerate(step([bos, *ids]).tolist()):
                candidates.append(([*ids, token], total + p, token == eos))
        beam = sorted(candidates, key=lambda h: h[1], reverse=True)[:width]
    ids, total, _ = max(beam, key=lambda h: h[1] / len(h[0]) ** length_penalty)
    return ids, total / len(ids) ** length_penalty


def embed(ids, table, positions):
    batch, seq = ids.shape
    return table[ids] * table.shape[1] ** 0.5 + positions[:seq].expand(batch, -1, -1)


def shift_right(targets, bos):
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = bos
    return targets
