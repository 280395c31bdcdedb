"""The running tasks: each answer is what a person with a pencil would note down."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from qkv.tasks.running import majority, parity, switch


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("task", [switch, majority, parity])
def test_the_generator_decides(task: Callable[..., tuple[torch.Tensor, torch.Tensor]]) -> None:
    first, again, other = (task(5, 7, generator(seed)) for seed in (1, 1, 2))
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0])
    assert first[0].shape == first[1].shape == (5, 7)
    assert first[0].dtype == first[1].dtype == torch.int64
    assert set(first[1].flatten().tolist()) == {0, 1}


def test_the_light_is_what_the_last_event_made_it() -> None:
    tokens, lights = switch(40, 30, generator())
    for row, asked in zip(tokens.tolist(), lights.tolist(), strict=True):
        light = 0
        for token, answer in zip(row, asked, strict=True):
            light = token if token < 2 else light
            assert answer == light


def test_events_are_rare_and_noise_is_everything_else() -> None:
    tokens, _ = switch(500, 30, generator(), vocab=6, rare=0.2)
    assert set(tokens.flatten().tolist()) == set(range(6))
    assert (tokens < 2).float().mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(
    ("task", "answer"),
    [(majority, lambda bits: int(sum(bits) > len(bits) - sum(bits))), (parity, lambda bits: sum(bits) % 2)],
)
def test_bits_are_counted_from_the_first(
    task: Callable[..., tuple[torch.Tensor, torch.Tensor]], answer: Callable[[list[int]], int]
) -> None:
    bits, targets = task(20, 9, generator())
    for row, asked in zip(bits.tolist(), targets.tolist(), strict=True):
        assert asked == [answer(row[: t + 1]) for t in range(9)]
