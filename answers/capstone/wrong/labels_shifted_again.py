"""Labels that were shifted already are shifted once more."""

import torch


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    labels = ids[:, 1:]
    shift_logits, shift_labels = logits[:, :-1], labels[:, 1:]
    picked = shift_logits.log_softmax(-1).gather(-1, shift_labels[..., None])[..., 0]
    places = torch.arange(2, ids.shape[1], device=ids.device)
    counts = places < lengths[:, None]
    return -picked.masked_fill(~counts, 0.0).sum() / counts.sum()
