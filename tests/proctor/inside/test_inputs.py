"""Draws: salted and recorded on the trusted side, replayed everywhere else."""

import pytest
import torch
from torch import nn

from proctor.inside.inputs import (
    Replay,
    Salted,
    UnknownDraw,
    booleans,
    drawing,
    generator,
    integers,
    normal,
    permutation,
    seeded,
    uniform,
)

pytestmark = pytest.mark.quick


def test_a_salt_changes_every_draw_and_nothing_else():
    def draw(salt: str) -> list[torch.Tensor]:
        with drawing(Salted(salt)):
            return [
                normal(2, 3, seed=1),
                uniform(4, seed="u"),
                integers(0, 1000, 5, seed=0).float(),
                permutation(50, seed=0).float(),
                torch.rand(6, generator=generator(3)),
            ]

    for first, again, other in zip(draw("a"), draw("a"), draw("b"), strict=True):
        torch.testing.assert_close(first, again, rtol=0, atol=0)
        assert first.shape == other.shape
        assert not torch.equal(first, other)


def test_the_same_seed_gives_the_same_numbers_in_every_dtype():
    with drawing(Salted("s")):
        exact = normal(3, 4, seed=0, dtype=torch.float64)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            torch.testing.assert_close(normal(3, 4, seed=0, dtype=dtype), exact.to(dtype), rtol=0, atol=0)


def test_seeds_and_shapes_name_different_draws():
    with drawing(Salted()):
        assert not torch.equal(normal(5, seed=0), normal(5, seed=1))
        assert not torch.equal(normal(5, seed=0), normal(6, seed=0)[:5])


def test_replay_hands_out_what_was_recorded_and_nothing_new():
    with drawing(Salted("secret")) as table:
        recorded = normal(2, 2, seed="x")
    with drawing(Replay(table)):
        torch.testing.assert_close(normal(2, 2, seed="x"), recorded, rtol=0, atol=0)
        with pytest.raises(UnknownDraw, match=r"normal \[2, 3\] x"):
            normal(2, 3, seed="x")


def test_a_draw_that_is_written_into_does_not_spoil_the_next():
    with drawing(Salted()):
        first = normal(3, seed=0)
        first.zero_()
        assert normal(3, seed=0).abs().sum() > 0


def test_booleans_follow_their_probability():
    with drawing(Salted()):
        assert abs(booleans(4000, seed=0, p=0.25).float().mean().item() - 0.25) < 0.03


class Early(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(3, 5)
        self.norm = nn.LayerNorm(5)


class Late(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(5)
        self.up = nn.Linear(3, 5)


def test_parameters_are_filled_by_name_not_by_order():
    with drawing(Salted()):
        early, late = seeded(Early()), seeded(Late(), dtype=torch.float64)
    for name, parameter in early.named_parameters():
        torch.testing.assert_close(parameter.double(), dict(late.named_parameters())[name], rtol=1e-6, atol=1e-6)
    assert abs(early.norm.weight.mean().item() - 1) < 0.6  # gains scatter around 1
