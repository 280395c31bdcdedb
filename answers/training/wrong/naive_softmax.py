"""exp and log as the formula has them, without a maximum."""


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    p = logits.exp() / logits.exp().sum(-1, keepdim=True)
    keep = targets == targets if ignore_index is None else targets != ignore_index
    log_p, targets = (p[keep] + 1e-12).log(), targets[keep]
    return -((1 - epsilon) * log_p.gather(-1, targets[:, None])[:, 0] + epsilon * log_p.mean(-1)).mean()
