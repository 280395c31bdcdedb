"""Takes the answer to run from its first word to the end of the text."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[:, 1:].int().cummax(1).values.bool()
    return F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep])


def sequence_log_probability(logits, ids, answer):
    found = []
    for b in range(len(ids)):
        log_p = logits[b, :-1].log_softmax(-1).gather(-1, ids[b, 1:, None])[:, 0]
        start = answer[b, 1:].int().argmax()
        found.append(log_p[start:].sum())
    return torch.stack(found)
