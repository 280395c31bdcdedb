"""Shifts labels that were shifted already."""

import torch


def answer_loss(logits, ids, answer):
    shift_logits = logits[:, :-2, :]
    shift_labels = ids[:, 2:]
    mask = answer[:, 2:]
    logp = torch.log_softmax(shift_logits, dim=-1)
    token = logp.gather(-1, shift_labels.unsqueeze(-1)).squeeze(-1)
    return -(token * mask).sum() / mask.sum()
