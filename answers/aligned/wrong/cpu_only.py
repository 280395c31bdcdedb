"""Makes tensors where the inputs are not."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    keep = torch.ones(ids.shape, dtype=torch.bool)
    keep[:, 0] = False
    keep = (keep & answer)[:, 1:]
    return F.cross_entropy(logits[:, :-1][keep], ids[:, 1:][keep])


def sequence_log_probability(logits, ids, answer):
    sums = torch.zeros(len(ids), dtype=logits.dtype)
    for t in range(1, ids.shape[1]):
        log_p = logits[:, t - 1].log_softmax(-1).gather(1, ids[:, t, None])[:, 0]
        sums = sums + log_p.masked_fill(~answer[:, t], 0.0)
    return sums


def bradley_terry_loss(rewards, pairs):
    signs = torch.zeros(len(pairs), len(rewards), dtype=rewards.dtype)
    rows = torch.arange(len(pairs))
    signs[rows, pairs[:, 0]] += 1
    signs[rows, pairs[:, 1]] -= 1
    return -F.logsigmoid(signs @ rewards).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    labels = torch.ones(len(chosen), dtype=chosen.dtype)
    logits = beta * (chosen - reference_chosen.detach() - rejected + reference_rejected.detach())
    return F.binary_cross_entropy_with_logits(logits, labels)


def group_advantages(rewards, eps=1e-4):
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    n = x.shape[-1]
    ones = torch.ones(n, n, dtype=x.dtype) / n
    better = x - x @ ones
    return better / ((better * better @ ones).sqrt() + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    mask = torch.arange(answer.shape[1]) > 0
    mask = (mask & answer).to(new.dtype)
    ratio = torch.where(mask > 0, new - old.detach(), torch.zeros(new.shape)).exp()
    gain = advantages.detach()[:, None]
    d = torch.where(mask > 0, reference.detach() - new, torch.zeros(new.shape))
    loss = -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) + kl * (d.exp() - d - 1)
    return (loss * mask).sum() / mask.sum()
