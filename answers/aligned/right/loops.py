"""Word by word, in loops, with small tensors and Python numbers."""

import torch


def answer_loss(logits, ids, answer):
    losses = []
    for b in range(ids.shape[0]):
        for t in range(1, ids.shape[1]):
            if answer[b, t]:
                before = logits[b, t - 1]
                top = before.max()
                losses.append((before - top).exp().sum().log() + top - before[ids[b, t]])
    return sum(losses) / len(losses)


def sequence_log_probability(logits, ids, answer):
    sums = []
    for scores, words, mask in zip(logits, ids, answer, strict=True):
        total = (scores * 0).sum()
        for t, word in enumerate(words.tolist()):
            if t and mask[t].item():
                total = total + torch.log_softmax(scores[t - 1], 0)[word]
        sums.append(total)
    return torch.stack(sums)


def bradley_terry_loss(rewards, pairs):
    total = 0 * rewards.sum()
    for winner, loser in pairs.tolist():
        d = rewards[winner] - rewards[loser]
        if d > 0:
            total = total + torch.log1p(torch.exp(-d))
        else:
            total = total - d + torch.log1p(torch.exp(d))
    return total / len(pairs)


def dpo_loss(chosen, rejected, reference_chosen, reference_rejected, beta=0.1):
    losses = []
    for i in range(chosen.shape[0]):
        ahead = chosen[i] - reference_chosen[i].item()
        behind = rejected[i] - reference_rejected[i].item()
        losses.append(torch.nn.functional.softplus(beta * (behind - ahead)))
    return torch.stack(losses).mean()


def group_advantages(rewards, eps=1e-4):
    if rewards.dtype in (torch.bool, torch.int64):
        rewards = rewards.float()
    flat = rewards.detach().reshape(-1, rewards.shape[-1])
    found = torch.empty_like(flat)
    for i, group in enumerate(flat):
        mean = group.sum() / len(group)
        spread = 0.0
        for reward in group:
            spread = spread + (reward - mean) ** 2
        found[i] = (group - mean) / ((spread / len(group)) ** 0.5 + eps)
    return found.reshape(rewards.shape)


def clipped_loss(new, old, reference, advantages, answer, clip=0.2, kl=0.0):
    total, words = 0.0, 0
    for b in range(new.shape[0]):
        gain = advantages[b].item()
        for t in range(1, new.shape[1]):
            if not answer[b, t]:
                continue
            ratio = torch.exp(new[b, t] - old[b, t].item())
            if gain >= 0:
                part = gain * ratio if ratio <= 1 + clip else (1 + clip) * gain + 0 * ratio
            else:
                part = gain * ratio if ratio >= 1 - clip else (1 - clip) * gain + 0 * ratio
            d = reference[b, t].item() - new[b, t]
            total = total - part + kl * (torch.exp(d) - d - 1)
            words += 1
    return total / words


def pass_at_k(n, right, k):
    """Drawn one by one."""
    none = 1.0
    for i in range(k):
        if n - right - i <= 0:
            return 1.0
        none *= (n - right - i) / (n - i)
    return 1.0 - none


def majority_vote(answers, weights=None):
    best, most = None, -1.0
    for i in range(len(answers)):
        if answers[i] is None or answers[i] in answers[:i]:
            continue
        total = 0.0
        for j in range(len(answers)):
            if answers[j] is not None and answers[j] == answers[i]:
                total += 1.0 if weights is None else weights[j]
        if total > most:
            best, most = answers[i], total
    return best
