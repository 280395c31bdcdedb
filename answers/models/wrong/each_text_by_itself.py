"""Perplexities text by text, averaged; random tokens over the masks."""

import torch


def perplexity(logits, ids, lengths):
    found = []
    for row, said, length in zip(logits, ids, lengths.tolist(), strict=True):
        if length > 1:
            log_p = torch.log_softmax(row[: length - 1], dim=-1)
            found.append(torch.exp(-log_p.gather(-1, said[1:length].unsqueeze(-1)).mean()))
    return torch.stack(found).mean()


def mask_tokens(ids, mask_id, vocab, special, generator, p=0.15):
    a = torch.rand(ids.shape, generator=generator)
    b = torch.rand(ids.shape, generator=generator)
    c = torch.randint(vocab, ids.shape, generator=generator)
    chosen = a < p
    for s in special:
        chosen &= ids != s
    inputs = ids.clone()
    inputs[chosen & (b < 0.8)] = mask_id
    other = chosen & (b < 0.9)
    inputs[other] = c[other]
    return inputs, torch.where(chosen, ids, torch.full_like(ids, -100))
