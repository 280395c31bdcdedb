"""One ratio for a whole answer, the geometric mean of its words'."""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    mask = answer.clone()
    mask[:, 0] = False
    new = torch.where(mask, new, torch.zeros_like(new))
    old = torch.where(mask, old.detach(), torch.zeros_like(old))
    reference = torch.where(mask, reference.detach(), torch.zeros_like(reference))
    A = advantages.detach().unsqueeze(1)
    ratio = torch.exp(((new - old).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)).expand_as(new))
    loss1 = ratio * A
    loss2 = torch.clamp(ratio, 1 - clip, 1 + clip) * A
    per_token = -torch.min(loss1, loss2)
    if kl:
        per_token = per_token + kl * (torch.exp(reference - new) - (reference - new) - 1)
    return (per_token * mask).sum() / mask.sum()
