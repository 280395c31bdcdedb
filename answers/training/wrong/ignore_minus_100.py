"""Only -100 is ever ignored; averages over the pieces' first dimension."""

import torch.nn.functional as F


def label_smoothing_loss(logits, targets, epsilon, ignore_index=None):
    keep = targets != -100
    log_p = F.log_softmax(logits, -1)[keep]
    targets = targets[keep]
    return -((1 - epsilon) * log_p.gather(-1, targets[:, None]).squeeze(-1) + epsilon * log_p.mean(-1)).mean()


def accumulate_gradients(model, loss_sum, batches):
    model.zero_grad()
    found = [loss_sum(model, batch) for batch in batches]
    tokens = max(count for _, count in found)
    total = sum(loss for loss, _ in found) / (tokens * len(found))
    total.backward()
    return float(total)
