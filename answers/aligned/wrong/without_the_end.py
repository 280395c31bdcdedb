"""Trains the answer, but not its end."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer.clone()
    keep[:, :-1] &= answer[:, 1:]
    keep[:, -1] = False
    keep = keep[:, 1:]
    return F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep])


def sequence_log_probability(logits, ids, answer):
    found = []
    for b in range(len(ids)):
        places = [t for t in range(1, ids.shape[1] - 1) if answer[b, t] and answer[b, t + 1]]
        log_p = logits[b].log_softmax(-1)
        found.append(sum((log_p[t - 1, ids[b, t]] for t in places), 0 * log_p.sum()))
    return torch.stack(found)
