"""A mean for each text, 0/0 for a text without an answer."""

import torch


def answer_loss(logits, ids, answer):
    shift_logits = logits[:, :-1, :]
    shift_labels = ids[:, 1:]
    mask = answer[:, 1:]
    logp = torch.log_softmax(shift_logits, dim=-1)
    token = logp.gather(-1, shift_labels.unsqueeze(-1)).squeeze(-1)
    return -((token * mask).sum(-1) / mask.sum(-1)).mean()
