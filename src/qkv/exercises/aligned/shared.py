"""What several exercises of this chapter share: texts with answers in them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor.inside.inputs import booleans, distinct, integers, normal, permutation, whole
from proctor.inside.situations import Seen

FINITE = "every entry of the gradient is finite"


def marked(batch: int, seq: int, seed: str) -> Tensor:
    """A mask with one answer in each text, a request before it and often something after it; answers of 2 … batch + 1
    words, each another number; seq is at least batch + 3."""
    position = torch.arange(seq)
    rows = []
    for b, length in enumerate(distinct(2, batch + 2, batch, seed=f"{seed}: lengths")):
        start = whole(2, seq - length + 1, seed=f"{seed}: start {b}")
        rows.append((position >= start) & (position < start + length))
    return torch.stack(rows)


def texts(batch: int, seq: int, vocab: int, seed: str) -> tuple[Tensor, Tensor]:
    """Logits and ids. The id at t is never the one at t - 1, so that no shift goes unnoticed."""
    logits = normal(batch, seq, vocab, seed=f"{seed}: logits", std=1.5)
    steps = integers(1, vocab, batch, seq, seed=f"{seed}: ids") if vocab > 1 else torch.zeros(batch, seq).long()
    return logits, steps.cumsum(1) % vocab


def with_answers(batch: int, seq: int, vocab: int, seed: str) -> tuple[Tensor, Tensor, Tensor]:
    return *texts(batch, seq, vocab, seed), marked(batch, seq, seed)


def some_answers() -> tuple[Tensor, Tensor, Tensor]:
    batch, extra, vocab = distinct(3, 7, 3, seed="sizes")
    return with_answers(batch, batch + extra, vocab, "some")


def some_conversations() -> tuple[Tensor, Tensor, Tensor]:
    """Texts with two answers or more in each; the first word is marked as well."""
    batch, extra, vocab = distinct(4, 8, 3, seed="sizes of conversations")
    logits, ids = texts(batch, batch + extra, vocab, "conversation")
    answer = booleans(batch, batch + extra, seed="turns")
    answer[:, 0] = True
    answer[:, -1] = answer[:, 1] = True
    return logits, ids, answer


def predicting(answer: Tensor) -> Tensor:
    """Where the logits stand that predict a word of an answer."""
    return torch.cat([answer[:, 1:], torch.zeros_like(answer[:, :1])], dim=1)


def wild_outside(logits: Tensor, answer: Tensor, seed: str) -> Tensor:
    """Logits of which those that predict no word of an answer hold ±10,000."""
    wild = 1e4 * normal(*logits.shape, seed=f"{seed}: wild").sign()
    return torch.where(predicting(answer)[..., None], logits, wild)


def thousands_inside(batch: int, seq: int, vocab: int, seed: str) -> Tensor:
    """Logits of which one in each row is 10,000 and the others lie between -10,000 and 0, far apart from each other."""
    others = torch.linspace(-1e4, 0.0, vocab - 1)
    rows = [
        torch.cat([torch.tensor([1e4]), others])[permutation(vocab, seed=f"{seed}: row {i}")]
        for i in range(batch * seq)
    ]
    return torch.stack(rows).view(batch, seq, vocab)


def gradient_in_the_logits(function: Any, logits: Tensor, ids: Tensor, answer: Tensor) -> Seen:
    logits.requires_grad_()
    result = function(logits, ids, answer)
    if not isinstance(result, Tensor) or not result.requires_grad:
        return {FINITE: True, "gradient": torch.zeros_like(logits)}
    (gradient,) = torch.autograd.grad(result.sum(), logits)
    return {FINITE: bool(gradient.isfinite().all()), "gradient": gradient.nan_to_num(0.0, 0.0, 0.0)}
