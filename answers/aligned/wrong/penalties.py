"""Another penalty, or in another place."""

import torch


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """The estimate whose gradient is 0 in the mean."""
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).exp()
    objective = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) - kl * (now - start)
    return -objective.mean()


def group_advantages(rewards, eps=1e-4):
    """Unbiased, with the mean distance for a group of one."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    deviation = x.std(-1, keepdim=True) if x.shape[-1] > 1 else torch.zeros_like(x)
    return (x - x.mean(-1, keepdim=True)) / (deviation + eps)


def pass_at_k(n, right, k):
    """A hit for each draw, less what is counted twice, once."""
    one = k * right / n
    return min(1.0, max(0.0, one - k * (k - 1) / 2 * right * (right - 1) / max(n * (n - 1), 1)))
