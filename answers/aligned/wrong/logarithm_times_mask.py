"""The logarithm of softmax's result, times the mask."""

import torch


def answer_loss(logits, ids, answer):
    shift_logits = logits[:, :-1, :]
    shift_labels = ids[:, 1:]
    mask = answer[:, 1:]
    logp = torch.softmax(shift_logits, dim=-1).log()
    token = logp.gather(-1, shift_labels.unsqueeze(-1)).squeeze(-1)
    return -(token * mask).sum() / mask.sum()


def sequence_log_probability(logits, ids, answer):
    labels = ids[:, 1:].clone()
    logits = logits[:, :-1, :]
    mask = answer[:, 1:]
    per_token = torch.gather(logits.softmax(-1).log(), dim=2, index=labels.unsqueeze(2)).squeeze(2)
    return (per_token * mask).sum(-1)
