"""Train the weights that are kept beside this file: right ones, and those mistakes that take a training.

    python answers/capstone/train_weights.py

Less than a minute on one core. They are small, so that a clone stays small; mistakes that need no training are made
from the right ones when they are needed (`qkv.exercises.capstone.tiny_gpt`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor.examining.tensor_file import write
from qkv.exercises.capstone.tiny_gpt import Unmasked, published, weights_of
from qkv.model.capstone import TinyGPT
from qkv.tasks.ledgers import WORDS

HERE = Path(__file__).parent
BATCH, WARM_UP, DECAY = 32, 50, 0.4


def shifted(model: TinyGPT, ids: Tensor) -> Tensor:
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def not_shifted(model: TinyGPT, ids: Tensor) -> Tensor:
    return F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


def train(
    d_model: int,
    n_layers: int,
    steps: int,
    *,
    stop: int | None = None,
    kind: type[TinyGPT] = TinyGPT,
    loss: Callable[[TinyGPT, Tensor], Tensor] = shifted,
    data: Tensor | None = None,
) -> TinyGPT:
    """A model after so many steps; `stop` ends them early, as an impatient student does."""
    torch.manual_seed(7)
    data = published() if data is None else data
    model = kind(len(WORDS), d_model, 2, n_layers, 2 * d_model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, betas=(0.9, 0.98))

    def share(step: int) -> float:
        return min((step + 1) / WARM_UP, 1.0, (steps - step) / (DECAY * steps))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    for _ in range(stop or steps):
        found = loss(model, data[torch.randint(len(data), (BATCH,))])
        optimizer.zero_grad()
        found.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


def keep(name: str, model: TinyGPT) -> None:
    (HERE / f"{name}.safetensors").write_bytes(write(weights_of(model)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    keep("right/tiny_gpt", train(32, 2, 900))
    keep("wrong/tiny_gpt-no_memory-stopped_early", train(32, 2, 900, stop=100))
    keep("wrong/tiny_gpt-no_memory-one_layer", train(16, 1, 400))
    keep("wrong/tiny_gpt-trained_without_the_mask", train(16, 1, 400, kind=Unmasked))
    keep("wrong/tiny_gpt-targets_not_shifted", train(8, 1, 500, loss=not_shifted))
    keep("wrong/tiny_gpt-learned_by_heart", train(32, 1, 900, data=published()[:100]))
