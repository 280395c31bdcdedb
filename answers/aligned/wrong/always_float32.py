"""Right, but the result is float32 whatever came in."""

import torch
import torch.nn.functional as F


def sequence_log_probability(logits, ids, answer):
    log_p = F.log_softmax(logits[:, :-1].float(), -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return log_p.masked_fill(~answer[:, 1:], 0.0).sum(-1)


def bradley_terry_loss(rewards, pairs):
    return F.softplus(rewards[pairs[:, 1]] - rewards[pairs[:, 0]]).mean().reshape(1).float()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    return F.softplus(-beta * (chosen - rejected - (reference_chosen - reference_rejected).detach())).float()


def group_advantages(rewards, eps=1e-4):
    x = rewards.detach().float()
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).float().exp()
    gain = gain.float()
    d = (start - now).float()
    loss = -torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain) + kl * (d.exp() - d - 1)
    return loss.mean(0, keepdim=True)


def pass_at_k(n, right, k):
    """With a tensor's gamma function."""

    def log_of_comb(a, b):
        return (
            torch.lgamma(torch.tensor([a + 1.0]))
            - torch.lgamma(torch.tensor([b + 1.0]))
            - torch.lgamma(torch.tensor([a - b + 1.0]))
        )

    return 1.0 if n - right < k else float(1 - (log_of_comb(n - right, k) - log_of_comb(n, k)).exp())
