"""Digits: where they stand, and that nothing else is on the picture."""

from __future__ import annotations

import pytest
import torch

from qkv.tasks.digits import glyphs, pictures


def test_a_seven_and_a_one_look_like_it() -> None:
    seven = "11111 00001 00010 00100 01000 01000 01000"
    one = "00100 01100 00100 00100 00100 00100 01110"
    for digit, points in ((7, seven), (1, one)):
        assert glyphs()[digit].tolist() == [[float(point) for point in row] for row in points.split()]
    assert len({tuple(glyph.flatten().tolist()) for glyph in glyphs()}) == 10


def test_each_picture_holds_its_digit_once_somewhere() -> None:
    images, digits = pictures(200, torch.Generator().manual_seed(0), side=11, noise=0.0)
    assert images.shape == (200, 1, 11, 11)
    assert digits.dtype == torch.int64
    places = set()
    for image, digit in zip(images[:, 0], digits, strict=True):
        glyph = glyphs()[digit]
        found = [
            (top, left)
            for top in range(5)
            for left in range(7)
            if torch.equal(image[top : top + 7, left : left + 5], glyph) and image.sum() == glyph.sum()
        ]
        assert found
        places.add(found[0])
    assert len(places) > 25


def test_a_place_may_be_given_and_noise_has_its_deviation() -> None:
    images, digits = pictures(300, torch.Generator().manual_seed(1), place=(2, 3))
    rest = images[:, 0].clone()
    rest[:, 2:9, 3:8] -= glyphs()[digits]
    assert rest.std().item() == pytest.approx(0.3, abs=0.01)
