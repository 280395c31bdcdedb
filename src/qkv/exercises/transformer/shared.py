"""What several exercises of this chapter share."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from proctor.inside.inputs import distinct, normal, whole

Step = Callable[[list[int]], Tensor]


def speaker(name: str, vocab: int, eos: int, patience: int = 10**6) -> Step:
    """A model of a kind: log-probabilities that depend on the whole prefix; after `patience` tokens it ends."""

    rows = [normal(vocab, seed=f"{name} {i}", std=2.0) for i in range(11)]  # drawn now, so that any prefix has one

    def step(prefix: list[int]) -> Tensor:
        logits = rows[sum((i + 1) * token for i, token in enumerate(prefix)) % 11].clone()
        logits[eos] = 50.0 if len(prefix) > patience else -30.0
        return logits.log_softmax(-1)

    return step


def drawn_task(name: str, low: int = 5, high: int = 10) -> tuple[int, int, int]:
    """The size of a vocabulary, and two different ids of it, for bos and eos."""
    vocab = whole(low, high, seed=f"vocab {name}")
    bos, eos = distinct(0, vocab, 2, seed=f"ids {name}")
    return vocab, bos, eos
