"""One-hot vectors and einsum, everything multiplied by what counts."""

from fractions import Fraction

import torch
import torch.nn.functional as F


def answer_loss(logits, ids, answer):
    log_p = F.log_softmax(logits, dim=-1)
    counts = answer.to(logits.dtype).clone()
    counts[:, 0] = 0
    said = F.one_hot(ids.roll(-1, 1), logits.shape[-1]).to(logits.dtype)
    return -torch.einsum("btv,btv,bt->", log_p, said, counts.roll(-1, 1)) / counts.sum()


def sequence_log_probability(logits, ids, answer):
    log_p = logits - logits.logsumexp(-1, keepdim=True)
    said = F.one_hot(ids[:, 1:], logits.shape[-1]).type_as(logits)
    return torch.einsum("btv,btv,bt->b", log_p[:, :-1], said, answer[:, 1:].type_as(logits))


def bradley_terry_loss(rewards, pairs):
    """A matrix with +1 for the winner and -1 for the loser of each pair."""
    n = rewards.shape[0]
    who = F.one_hot(pairs, n).to(rewards.dtype)
    differences = torch.einsum("mn,n->m", who[:, 0] - who[:, 1], rewards)
    return F.softplus(-differences).mean()


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    ours = torch.stack([chosen, rejected], -1)
    theirs = torch.stack([reference_chosen.data, reference_rejected.data], -1)
    return -torch.log_softmax(beta * (ours - theirs), -1)[:, 0].mean()


def group_advantages(rewards, eps=1e-4):
    """A matrix that takes the mean away."""
    rewards = rewards.detach() if rewards.is_floating_point() else rewards + torch.zeros(())
    n = rewards.shape[-1]
    centre = torch.eye(n, dtype=rewards.dtype, device=rewards.device) - 1 / n
    better = torch.einsum("...i,ij->...j", rewards, centre)
    better = torch.where(rewards.amax(-1, keepdim=True) == rewards.amin(-1, keepdim=True), 0, better)
    length = torch.einsum("...i,...i->...", better, better).div(n).sqrt()
    return better / (length[..., None] + eps)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    counts = answer.clone()
    counts[:, 0] = False
    now, before, start = (t.masked_fill(~counts, -1.0) for t in (new, old.detach(), reference.detach()))
    ratio = torch.exp(now - before)
    low, high = torch.full_like(ratio, 1 - clip), torch.full_like(ratio, 1 + clip)
    gain = advantages.detach()[:, None]
    inside = torch.where(gain > 0, torch.minimum(ratio, high), torch.maximum(ratio, low))
    penalty = torch.exp(start - now) - (start - now) - 1
    counts = counts.to(new.dtype)
    return (torch.einsum("bt,bt->", penalty, counts) * kl - torch.einsum("bt,bt,b->", inside, counts, gain[:, 0])) / (
        counts.sum()
    )


def pass_at_k(n, right, k):
    """In exact fractions, over the answers that are right: none of them may be among those drawn."""
    none = Fraction(1)
    for i in range(right):
        none *= Fraction(max(n - k - i, 0), n - i)
        if not none:
            break
    return float(1 - none)


def majority_vote(answers, weights=None):
    """A matrix of who agrees with whom."""
    voters = [i for i, answer in enumerate(answers) if answer is not None]
    if not voters:
        return None
    alike = torch.tensor([[answers[i] == answers[j] for j in voters] for i in voters], dtype=torch.float64)
    weight = torch.tensor([1.0 if weights is None else float(weights[i]) for i in voters], dtype=torch.float64)
    totals = torch.einsum("ij,j->i", alike, weight).tolist()
    return answers[voters[totals.index(max(totals))]]
