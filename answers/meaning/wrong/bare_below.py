"""The rollout begins with the first layer's attention itself, without its residual connection."""

import torch


def attention_rollout(weights):
    n = weights.shape[-1]
    eye = torch.eye(n, dtype=weights.dtype, device=weights.device)
    joint = weights[0].mean(dim=-3)
    for layer in weights[1:]:
        a = layer.mean(dim=-3) + eye
        a = a / a.sum(dim=-1, keepdim=True)
        joint = a @ joint
    return joint
