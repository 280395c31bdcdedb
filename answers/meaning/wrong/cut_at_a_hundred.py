"""torch's binary_cross_entropy cuts logarithms off at -100."""

import torch
import torch.nn.functional as F


def negative_sampling_loss(centre, context, negatives):
    words = torch.cat([context.unsqueeze(-2), negatives], -2)
    p = torch.sigmoid((words @ centre.unsqueeze(-1)).squeeze(-1))
    answers = torch.zeros_like(p)
    answers[..., 0] = 1
    return F.binary_cross_entropy(p, answers, reduction="none").sum(-1).mean()
