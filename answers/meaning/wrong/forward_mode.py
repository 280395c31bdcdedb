"""torch.func, the other way round: forward mode."""

import torch
import torch.nn.functional as F


def negative_sampling_gradient(centre, context, negatives):
    def loss(centre, context, negatives):
        near = (centre * context).sum(-1)
        far = (negatives @ centre.unsqueeze(-1)).squeeze(-1)
        return (F.softplus(-near) + F.softplus(far).sum(-1)).mean()

    return torch.func.jacfwd(loss, argnums=(0, 1, 2))(centre, context, negatives)
