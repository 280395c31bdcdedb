"""Other formulas that overflow or lose digits."""

import torch


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(-1)
    far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
    return -(torch.log(torch.sigmoid(near)) + torch.log(1 - torch.sigmoid(far)).sum(-1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre[..., 0].numel()
    near = torch.exp((centre * context).sum(-1, keepdim=True))
    far = torch.exp(negatives @ centre.unsqueeze(-1))
    pull, push = (near / (1 + near) - 1) / count, far / (1 + far) / count
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)
