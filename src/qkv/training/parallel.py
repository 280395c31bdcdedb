"""Data-parallel training: every process has the whole model and a part of the batch; the gradients are added up.

    torchrun --standalone --nproc_per_node 2 -m qkv.training.parallel

compares the gradient and twenty steps of training with those of one process. Sentences differ in length, so processes
hold different numbers of tokens: the average of their averages is not the average.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector

from qkv.model.blocks import EncoderLayer
from qkv.model.masks import causal_mask
from qkv.model.training import accumulate_gradients

VOCAB, STEPS, RATE = 11, 20, 0.3


class Reader(nn.Module):
    """A small causal Transformer: ids (batch, seq) -> scores of the next token (batch, seq, vocab)."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, 12)
        self.layer = EncoderLayer(12, 3, 24)
        self.out = nn.Linear(12, VOCAB)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.layer(self.tokens(ids), causal_mask(ids.shape[1])))  # type: ignore[no-any-return]


def sentences(generator: torch.Generator, count: int = 12) -> list[Tensor]:
    """Random sentences of 2 to 20 tokens, each (1, seq), sorted by length, as loaders do that save padding."""
    lengths = sorted(torch.randint(2, 21, (count,), generator=generator).tolist())
    return [torch.randint(VOCAB, (1, length), generator=generator) for length in lengths]


def share(batch: Sequence[Tensor], rank: int, world: int) -> list[Tensor]:
    """A process's part of the batch: as many sentences as any other's, but not as many tokens."""
    return list(batch[rank * len(batch) // world : (rank + 1) * len(batch) // world])


def tokens(part: Sequence[Tensor]) -> int:
    """How many next tokens there are to predict."""
    return sum(sentence.numel() - 1 for sentence in part)


def loss_sum(model: nn.Module, sentence: Tensor) -> tuple[Tensor, int]:
    """The summed loss of predicting each next token, and how many were predicted."""
    scores, targets = model(sentence[:, :-1]), sentence[:, 1:]
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="sum"), targets.numel()


def over_all(number: int) -> int:
    """The sum of every process's number."""
    total = torch.tensor(number)
    dist.all_reduce(total)
    return int(total)


def share_gradients(model: nn.Module, mine: int) -> None:
    """Turn each process's gradient of its *mean* loss over `mine` tokens into that of the mean over all tokens.

    Each mean becomes a sum again, the sums are added up, and divided once, by the number of all tokens.
    """
    total = over_all(mine)
    for parameter in model.parameters():
        if parameter.grad is None:  # every process must take part in every exchange
            parameter.grad = torch.zeros_like(parameter)
        parameter.grad *= mine
        dist.all_reduce(parameter.grad)
        parameter.grad /= total


def average_gradients(model: nn.Module) -> None:
    """Average the processes' gradients, as if each had as many tokens as any other."""
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


def weighted(model: nn.Module, part: Sequence[Tensor]) -> None:
    """The same with torch's wrapper, which averages: weight each loss so that the average is the mean over all."""
    wrapped = DistributedDataParallel(model)
    factor = dist.get_world_size() / over_all(tokens(part))
    model.zero_grad()
    losses = [loss_sum(wrapped, sentence)[0] for sentence in part]
    (factor * torch.stack(losses).sum()).backward()  # the wrapper exchanges gradients here


def gradient(model: nn.Module) -> Tensor:
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None])


def descend(model: nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.sub_(RATE * parameter.grad)


def fresh() -> Reader:
    """The same weights in every process."""
    torch.manual_seed(0)
    return Reader().double()


def compare() -> list[str]:
    """Compare this process's gradients with those of one process that sees everything."""
    rank, world = dist.get_rank(), dist.get_world_size()
    batch = sentences(torch.Generator().manual_seed(1))
    part = share(batch, rank, world)
    counts = [tokens(share(batch, other, world)) for other in range(world)]
    alone = fresh()
    accumulate_gradients(alone, loss_sum, batch)
    expected = gradient(alone)
    lines = [f"{world} processes with {' and '.join(map(str, counts))} tokens. The gradient, against one process:"]

    def differs() -> str:
        relative = float((gradient(model) - expected).norm() / expected.norm())
        return "equal to 12 digits" if relative < 1e-12 else f"off by {relative:.1%}"

    model = fresh()
    accumulate_gradients(model, loss_sum, part)
    average_gradients(model)
    lines.append(f"  average of the averages:      {differs()}")
    accumulate_gradients(model, loss_sum, part)
    share_gradients(model, tokens(part))
    lines.append(f"  sums, divided by all tokens:  {differs()}")
    weighted(model, part)
    lines.append(f"  torch's wrapper, weighted:    {differs()}")

    alone, model = fresh(), fresh()
    for step in range(STEPS):
        batch = sentences(torch.Generator().manual_seed(step))
        part = share(batch, rank, world)
        loss = accumulate_gradients(alone, loss_sum, batch)
        accumulate_gradients(model, loss_sum, part)
        share_gradients(model, tokens(part))
        descend(alone)
        descend(model)
    vectors = [parameters_to_vector(reader.parameters()).detach() for reader in (alone, model)]
    apart = float((vectors[0] - vectors[1]).abs().max())
    same = "the same weights to 12 digits" if apart < 1e-12 else f"weights off by up to {apart:.1e}"
    lines.append(f"After {STEPS} steps, loss {loss:.4f}: {same}.")
    return lines


def main() -> None:
    if "RANK" not in os.environ:
        raise SystemExit("Start it with: torchrun --standalone --nproc_per_node 2 -m qkv.training.parallel")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    try:
        lines = compare()
        if dist.get_rank() == 0:
            print("\n".join(lines))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
