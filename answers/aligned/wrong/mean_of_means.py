"""Averages each text by itself."""

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    losses = []
    for scores, words, mask in zip(logits, ids, answer, strict=True):
        keep = mask[1:]
        if keep.any():
            losses.append(F.cross_entropy(scores[:-1][keep], words[1:][keep]))
    return torch.stack(losses).mean()


def sequence_log_probability(logits, ids, answer):
    found = []
    for scores, words, mask in zip(logits, ids, answer, strict=True):
        keep = mask[1:]
        log_p = scores[:-1].log_softmax(-1)[torch.arange(len(keep), device=keep.device), words[1:]]
        found.append(log_p[keep].mean() if keep.any() else 0 * scores.sum())
    return torch.stack(found)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Each answer by itself, then their mean; texts without an answer are left out."""
    found = []
    for b in range(len(new)):
        kept = answer[b, 1:]
        if kept.any():
            now, before, start = (x[b, 1:][kept] for x in (new, old.detach(), reference.detach()))
            ratio, gain = (now - before).exp(), advantages[b].detach()
            d = start - now
            loss = kl * (d.exp() - d - 1) - torch.minimum(ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain)
            found.append(loss.mean())
    return torch.stack(found).mean()


def group_advantages(rewards, eps=1e-4):
    """One mean and one deviation for the batch."""
    x = rewards.detach() if rewards.is_floating_point() else rewards.float()
    return (x - x.mean()) / (x.std(correction=0) + eps)
