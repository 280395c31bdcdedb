"""Takes the id 0 for padding."""

import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    targets = (ids * answer)[:, 1:]
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, ignore_index=0)


def sequence_log_probability(logits, ids, answer):
    targets = (ids * answer)[:, 1:]
    return -F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, ignore_index=0, reduction="none").sum(-1)
