"""The advantage's sign is not asked for."""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """The ratio of the whole answer, for each of its words."""
    mask = answer.clone()
    mask[:, 0] = False
    log_ratio = torch.where(mask, new - old.detach(), 0.0)
    counts = mask.sum(1, keepdim=True)
    ratio = (log_ratio.sum(1, keepdim=True) / counts.clamp(min=1)).exp().expand_as(new)
    gain = advantages.detach()[:, None]
    d = torch.where(mask, reference.detach() - new, 0.0)
    loss = -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) + kl * (d.exp() - d - 1)
    return loss[mask].mean()


def group_advantages(rewards, eps=1e-4):
    """Leave one out."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    others = (x.sum(-1, keepdim=True) - x) / max(x.shape[-1] - 1, 1)
    return (x - others) / (x.std(-1, keepdim=True, correction=0) + eps)


def pass_at_k(n, right, k):
    """Draws with return."""
    p = right / n
    return 1 - (1 - p) ** k


def majority_vote(answers, weights=None):
    """Heaviest vote."""
    best, most = None, -1.0
    for i, answer in enumerate(answers):
        weight = 1.0 if weights is None else weights[i]
        if answer is not None and weight > most:
            best, most = answer, weight
    return best
