"""Numbers in place of tensors on the way."""

import math

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = answer[:, 1:]
    return torch.tensor(F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep]).item(), dtype=logits.dtype)


def sequence_log_probability(logits, ids, answer):
    log_p = F.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    sums = [row[keep].sum().item() for row, keep in zip(log_p, answer[:, 1:], strict=True)]
    return torch.tensor(sums, dtype=logits.dtype, device=logits.device)


def bradley_terry_loss(rewards, pairs):
    losses = []
    for winner, loser in pairs.tolist():
        d = float(rewards[winner] - rewards[loser])
        losses.append(max(-d, 0.0) + math.log1p(math.exp(-abs(d))))
    return torch.tensor(sum(losses) / len(losses), dtype=rewards.dtype)


@torch.no_grad()
def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    return -F.logsigmoid(beta * (chosen - reference_chosen - rejected + reference_rejected)).mean()


def group_advantages(rewards, eps=1e-4):
    """Keeps the graph that should be cut."""
    x = rewards if rewards.is_floating_point() else rewards.to(torch.get_default_dtype())
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    with torch.no_grad():
        ratio = (now - before).exp()
        gain = torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
    d = start - now
    return (kl * (d.exp() - d - 1) - gain).mean()
