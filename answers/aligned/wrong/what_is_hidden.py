"""Takes True for what is to be hidden."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    targets = ids.masked_fill(answer, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100)


def sequence_log_probability(logits, ids, answer):
    log_p = torch.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    log_p[answer[:, 1:]] = 0
    return log_p.sum(-1)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """True is what is hidden."""
    kept = ~answer[:, 1:]
    ratio = (new - old.detach())[:, 1:][kept].exp()
    gain = advantages.detach().repeat_interleave(kept.sum(1))
    d = (reference.detach() - new)[:, 1:][kept]
    return (kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)).mean()


def pass_at_k(n, right, k):
    """Counts the wrong ones as right."""
    none = 1.0
    for i in range(k):
        none *= max(right - i, 0) / (n - i)
    return 1 - none
