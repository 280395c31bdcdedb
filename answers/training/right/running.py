"""A running mean: each new piece corrects what was there."""

import torch


def accumulate_gradients(model, loss_sum, batches):
    grads = dict.fromkeys(model.parameters())
    mean, tokens = 0.0, 0
    for batch in batches:
        model.zero_grad()
        loss, count = loss_sum(model, batch)
        (loss / count).backward()
        tokens += count
        share = count / tokens
        mean += share * (loss.item() / count - mean)
        for p, old in grads.items():
            if p.grad is not None:
                new = p.grad.clone()
                grads[p] = share * new if old is None else old + share * (new - old)
    for p, grad in grads.items():
        p.grad = grad
    return mean


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None, *, reduction="mean"):
    flat, aims = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    if ignore_index is not None:
        kept = (aims != ignore_index).nonzero().squeeze(1)
        flat, aims = flat.index_select(0, kept), aims.index_select(0, kept)
    log_z = flat.logsumexp(-1)
    hard = log_z - flat.gather(1, aims.unsqueeze(1)).squeeze(1)
    soft = log_z - flat.mean(-1)
    losses = torch.lerp(hard, soft, epsilon)
    return losses.mean() if reduction == "mean" else losses.sum()


class noam_rate:
    """A class is a callable, too."""

    def __new__(cls, step, d_model, warmup):
        peak = (d_model * warmup) ** -0.5
        return peak * (step / warmup if step <= warmup else (warmup / step) ** 0.5)
