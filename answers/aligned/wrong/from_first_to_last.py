"""Takes everything between the first and the last word that is marked."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    marked = answer[:, 1:].int()
    keep = (marked.cumsum(1) > 0) & (marked.flip(1).cumsum(1).flip(1) > 0)
    return F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep])


def sequence_log_probability(logits, ids, answer):
    log_p = logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    rows = []
    for row, mask in zip(log_p, answer[:, 1:], strict=True):
        places = mask.nonzero().flatten()
        rows.append(row[places[0] : places[-1] + 1].sum() if len(places) else row.sum() * 0)
    return torch.stack(rows)
