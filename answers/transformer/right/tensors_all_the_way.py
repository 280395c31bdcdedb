"""Beams as tensors, scores by topk; results are 0-d tensors and named tuples."""

from typing import NamedTuple

import torch


class Found(NamedTuple):
    ids: list
    score: torch.Tensor


def greedy_decode(step, bos, eos, max_length):
    prefix = torch.tensor([bos])
    while len(prefix) - 1 < max_length and (len(prefix) == 1 or prefix[-1] != eos):
        log_p = step(prefix.tolist())
        likeliest = (log_p == log_p.max()).nonzero()[0]
        prefix = torch.cat([prefix, likeliest.cpu()])
    return prefix[1:].tolist()


def beam_search(step, bos, eos, max_length, width, length_penalty=0.0):
    ids = torch.empty(1, 0, dtype=torch.int64)
    totals = torch.zeros(1)
    done = []
    for _ in range(max_length):
        if not len(ids):
            break
        log_p = torch.stack([step([bos, *row]) for row in ids.tolist()])
        vocab = log_p.shape[1]
        every = (totals[:, None] + log_p).flatten()
        best = every.topk(min(width, len(every)))
        row, token = best.indices // vocab, best.indices % vocab
        ids = torch.cat([ids[row], token[:, None]], dim=1)
        ended = token == eos
        done += list(zip(ids[ended].tolist(), best.values[ended], strict=True))
        ids, totals = ids[~ended], best.values[~ended]
    done += list(zip(ids.tolist(), totals, strict=True))
    scores = torch.stack([total / len(said) ** length_penalty for said, total in done])
    return Found(done[int(scores.argmax())][0], scores.max())
