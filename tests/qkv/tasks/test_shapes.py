"""Shapes: each picture shows what its caption says, and nothing else."""

from __future__ import annotations

import pytest
import torch

from qkv.tasks.shapes import COLOURS, SHAPES, WORDS, captions, pictures, words_of


def test_captions_are_all_there_is_to_say() -> None:
    said = captions()
    assert said.shape == (64, 4)
    assert len({tuple(row) for row in said.tolist()}) == 64
    assert words_of(said[0]) == "red ring top left"
    assert words_of(said[-1]) == "yellow stripes bottom right"
    assert sorted(said.unique().tolist()) == list(range(len(WORDS)))


def test_a_picture_shows_its_caption() -> None:
    which = torch.randperm(64, generator=torch.Generator().manual_seed(0))
    images = pictures(which, torch.Generator().manual_seed(1), noise=0.0)
    assert images.shape == (64, 3, 8, 8)
    for image, caption in zip(images, captions()[which], strict=True):
        colour, shape, row, column = words_of(caption).split()
        top, left = 4 * (row == "bottom"), 4 * (column == "right")
        form = torch.tensor([[float(dot == "#") for dot in line] for line in SHAPES[shape]])
        painted = torch.tensor(COLOURS[colour])[:, None, None] * form
        assert torch.equal(image[:, top : top + 4, left : left + 4], painted)
        assert image.sum() == painted.sum()


def test_noise_has_its_deviation() -> None:
    which = torch.arange(64)
    clean = pictures(which, torch.Generator().manual_seed(2), noise=0.0)
    noisy = pictures(which, torch.Generator().manual_seed(2), noise=0.5)
    assert (noisy - clean).std().item() == pytest.approx(0.5, abs=0.02)
