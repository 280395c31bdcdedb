"""Works for one batch dimension, and for no other number of them."""

import torch
import torch.nn.functional as F


def negative_samples(counts, shape, generator, power=0.75):
    batch, n = shape
    return torch.multinomial(counts.float() ** power, batch * n, True, generator=generator).view(batch, n)


def negative_sampling_loss(centre, context, negatives):
    near = torch.einsum("bd,bd->b", centre, context)
    far = torch.einsum("bd,bnd->bn", centre, negatives)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    batch = len(centre)
    pull = -torch.sigmoid(-(centre * context).sum(-1, keepdim=True)) / batch
    push = torch.sigmoid(negatives @ centre.unsqueeze(-1)) / batch
    return pull * context + (push * negatives).sum(-2), pull * centre, push * centre.unsqueeze(-2)


def attention_rollout(weights):
    _, batch, _, seq, _ = weights.shape
    result = torch.eye(seq, dtype=weights.dtype, device=weights.device).repeat(batch, 1, 1)
    for layer in weights:
        result = torch.bmm((layer.mean(1) + torch.eye(seq).to(weights)) / 2, result)
    return result
