"""Multiplies probabilities first."""

import torch


def answer_loss(logits, ids, answer):
    p = logits[:, :-1].softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    kept = answer[:, 1:]
    return -torch.where(kept, p, 1.0).prod().log() / kept.sum()


def sequence_log_probability(logits, ids, answer):
    p = logits[:, :-1].softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
    return torch.where(answer[:, 1:], p, 1.0).prod(-1).log()
