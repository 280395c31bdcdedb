"""A training loop that may be stopped at any moment, and goes on as if nothing had happened.

What the next step depends on: the weights, what the optimiser remembers, the states of the random generators, and how
many steps there have been. All of it is in the checkpoint, so a resumed run repeats the uninterrupted one bit for bit.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from tqdm import tqdm


def train(
    model: nn.Module,
    optimiser: Optimizer,
    loss: Callable[[nn.Module, torch.Generator], Tensor],
    steps: int,
    generator: torch.Generator,
    *,
    rate: Callable[[int], float] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 100,
    bar: bool | None = None,
) -> list[float]:
    """Train for so many steps, counting those of an earlier run that left a checkpoint.

    Args:
        model: its parameters are changed in place.
        optimiser: any of torch's, over the model's parameters.
        loss: draws a batch from the generator and gives its mean loss, a scalar.
        steps: number of updates in all.
        generator: the source of chance for the batches.
        rate: the learning rate of each step, counted from 1; None keeps the optimiser's own.
        checkpoint: a file. If it exists, training goes on from there; it is written anew as training goes.
        every: steps between two checkpoints. There is always one after the last step.
        bar: whether to show a progress bar; None shows it on a terminal only.

    Returns:
        the loss of every step, those before the checkpoint included.
    """
    losses: list[float] = []
    if checkpoint is not None and Path(checkpoint).exists():
        losses = restore(checkpoint, model, optimiser, generator)
    if len(losses) > steps:
        raise ValueError(
            f"train: {os.fspath(checkpoint or '')} holds {len(losses)} steps, more than the {steps} asked for. "
            "Ask for more steps, or name another file."
        )
    silent = None if bar is None else not bar
    with tqdm(total=steps, initial=len(losses), unit="step", disable=silent) as progress:
        for step in range(len(losses) + 1, steps + 1):
            if rate is not None:
                for group in optimiser.param_groups:
                    group["lr"] = rate(step)
            value = loss(model, generator)
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
            losses.append(value.item())
            if checkpoint is not None and (step % every == 0 or step == steps):
                save(checkpoint, model, optimiser, generator, losses)
            progress.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)
            progress.update()
    return losses


def save(
    path: str | os.PathLike[str],
    model: nn.Module,
    optimiser: Optimizer,
    generator: torch.Generator,
    losses: list[float],
) -> None:
    """Write a checkpoint. Whatever interrupts it, the file is the old one or the new one, never a part of one."""
    state = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "batches": generator.get_state(),
        "dropout": torch.get_rng_state(),
        "dropout on GPUs": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "losses": torch.tensor(losses, dtype=torch.float64),  # as many as there were steps
    }
    part = Path(f"{os.fspath(path)}.part")
    with part.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())  # on the disk before it takes the name
    os.replace(part, path)


def restore(
    path: str | os.PathLike[str], model: nn.Module, optimiser: Optimizer, generator: torch.Generator
) -> list[float]:
    """Put everything back as it was when the checkpoint was written, and return the losses until then."""
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
    except (pickle.UnpicklingError, RuntimeError, ValueError, KeyError, EOFError) as error:
        raise ValueError(
            f"train: {os.fspath(path)} is no checkpoint of this model and optimiser. Delete it, or name another file."
        ) from error
    generator.set_state(state["batches"])
    torch.set_rng_state(state["dropout"])
    for device, chance in enumerate(state["dropout on GPUs"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(chance, device)
    return state["losses"].tolist()  # type: ignore[no-any-return] # of a file
