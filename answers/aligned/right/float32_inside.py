"""Computes in float32 and casts back; sorts out the words first; index arithmetic on flat tensors."""

from decimal import Decimal, getcontext

import torch


def answer_loss(logits, ids, answer):
    batch, seq, vocab = logits.shape
    words = [b * seq + t for b in range(batch) for t in range(1, seq) if bool(answer[b, t])]
    words = torch.tensor(words, device=logits.device)
    rows = logits.reshape(-1, vocab)[words - 1].float()
    chosen = torch.take_along_dim(rows, ids.reshape(-1)[words, None], 1).squeeze(1)
    return (rows.logsumexp(1) - chosen).mean().to(logits.dtype)


def sequence_log_probability(logits, ids, answer):
    batch = len(answer)
    b, t = torch.nonzero(answer, as_tuple=True)
    b, t = b[t > 0], t[t > 0]
    rows = logits.float()[b, t - 1].log_softmax(-1)
    found = rows[torch.arange(len(b), device=b.device), ids[b, t]]
    return logits.new_zeros(batch, dtype=torch.float32).index_add(0, b, found).to(logits.dtype)


def bradley_terry_loss(rewards, pairs):
    """As a softmax between two."""
    two = rewards.float()[pairs]
    return (two.logsumexp(1) - two[:, 0]).mean().to(rewards.dtype)


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    rewards = beta * torch.cat(
        [chosen.float() - reference_chosen.detach(), rejected.float() - reference_rejected.detach()]
    )
    n = len(chosen)
    pairs = torch.arange(2 * n, device=chosen.device).reshape(2, n).t()
    return bradley_terry_loss(rewards, pairs).type_as(chosen)


def group_advantages(rewards, eps=1e-4):
    x = rewards.detach().float()
    y = torch.nan_to_num((x - x.mean(-1, True)) / (x.std(-1, False, keepdim=True) + eps))
    return y.to(rewards.dtype) if rewards.is_floating_point() else y


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    """Sorted out by hand: a list of words, stacked."""
    places = [(b, t) for b, row in enumerate(answer.tolist()) for t, is_word in enumerate(row) if is_word and t > 0]
    pick = lambda x: torch.stack([x[b, t] for b, t in places]).float()  # noqa: E731
    now, before, start = pick(new), pick(old).detach(), pick(reference).detach()
    gain = torch.stack([advantages[b] for b, _ in places]).float().detach()
    ratio = (now - before).exp()
    both = torch.stack([ratio * gain, ratio.clamp(1 - clip, 1 + clip) * gain])
    loss = -both.min(dim=0).values
    if kl > 0:
        loss = loss + kl * ((start - now).exp() - (start - now) - 1)
    return (loss.sum() / len(places)).to(new.dtype)


def pass_at_k(n, right, k):
    getcontext().prec = 30
    none = Decimal(1)
    for i in range(min(k, n - right + 1)):
        none = none * (n - right - i) / (n - i)
    return float(1 - none)


def majority_vote(answers, weights=None):
    """By sorting: largest total first, then the place of the first vote."""
    weights = [1] * len(answers) if weights is None else weights
    first, total = {}, {}
    for place, (answer, weight) in enumerate(zip(answers, weights, strict=True)):
        if answer is None:
            continue
        first.setdefault(answer, place)
        total[answer] = total.get(answer, 0) + weight
    ranked = sorted((-total[answer], first[answer]) for answer in total)
    return answers[ranked[0][1]] if ranked else None
