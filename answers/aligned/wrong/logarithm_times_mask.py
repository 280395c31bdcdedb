"""The logarithm of softmax's result, times the mask."""

import torch


def answer_loss(logits, ids, answer):
    shift_logits = logits[:, :-1, :]
    shift_labels = ids[:, 1:]
    mask = answer[:, 1:]
    logp = torch.softmax(shift_logits, dim=-1).log()
    token = logp.gather(-1, shift_labels.unsqueeze(-1)).squeeze(-1)
    return -(token * mask).sum() / mask.sum()
