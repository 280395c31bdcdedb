"""Dimensions are counted from the front, where they should be counted from the end."""

import torch
import torch.nn.functional as F


def negative_sampling_loss(centre, context, negatives):
    near = (centre * context).sum(1)
    far = (negatives * centre.unsqueeze(1)).sum(2)
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(1)).mean()


def negative_sampling_gradient(centre, context, negatives):
    count = centre.shape[0]
    pull = -torch.sigmoid(-(centre * context).sum(1, keepdim=True)) / count
    push = torch.sigmoid((negatives * centre.unsqueeze(1)).sum(2, keepdim=True)) / count
    return pull * context + (push * negatives).sum(1), pull * centre, push * centre.unsqueeze(1)


def attention_rollout(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    layers = (weights.mean(dim=1) + identity) / 2
    result = layers[0]
    for layer in layers[1:]:
        result = layer @ result
    return result
