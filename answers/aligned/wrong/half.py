"""Works in half precision, to be quick."""

import torch
import torch.nn.functional as F


def bradley_terry_loss(rewards, pairs):
    r = rewards.half()
    return -F.logsigmoid(r[pairs[:, 0]] - r[pairs[:, 1]]).mean().to(rewards.dtype)


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    ours = (chosen - rejected).half()
    theirs = (reference_chosen - reference_rejected).half().detach()
    return -F.logsigmoid(beta * (ours - theirs)).mean().to(chosen.dtype)


def answer_loss(logits, ids, answer):
    keep = answer[:, 1:]
    return F.cross_entropy(logits[:, :-1][keep].half(), ids[:, 1:][keep]).to(logits.dtype)


def sequence_log_probability(logits, ids, answer):
    log_p = F.log_softmax(logits[:, :-1].bfloat16(), -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return log_p.masked_fill(~answer[:, 1:], 0.0).sum(-1).to(logits.dtype)


def group_advantages(rewards, eps=1e-4):
    x = rewards.detach().half()
    found = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps)
    return found.to(rewards.dtype if rewards.is_floating_point() else torch.get_default_dtype())


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    kept = answer[:, 1:]
    now, before, start = new[:, 1:][kept], old[:, 1:][kept].detach(), reference[:, 1:][kept].detach()
    gain = advantages.detach()[:, None].expand_as(new)[:, 1:][kept]
    ratio = (now - before).half().exp()
    d = (start - now).half()
    loss = -torch.minimum(ratio * gain.half(), ratio.clamp(1 - clip, 1 + clip) * gain.half()) + kl * (d.exp() - d - 1)
    return loss.mean().to(new.dtype)


def pass_at_k(n, right, k):
    """In float32."""
    wrong = torch.arange(n - right - k + 1, n - right + 1, dtype=torch.float32).clamp(min=0)
    every = torch.arange(n - k + 1, n + 1, dtype=torch.float32)
    return float(1 - (wrong / every).prod())


def majority_vote(answers, weights=None):
    """Counts in int8."""
    kinds = list(dict.fromkeys(a for a in answers if a is not None))
    totals = torch.zeros(len(kinds), dtype=torch.int8)
    for i, answer in enumerate(answers):
        if answer is not None:
            totals[kinds.index(answer)] += 1 if weights is None else int(weights[i])
    return kinds[int(totals.argmax())] if kinds else None
