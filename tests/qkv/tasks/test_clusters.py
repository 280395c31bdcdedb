"""Clouds of points: the generator decides, and the true probabilities are true."""

from __future__ import annotations

import torch

from qkv.tasks.clusters import centres, clusters, clusters_by_bayes


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_generator_decides():
    first, again, other = (clusters(5, 1.0, generator(seed)) for seed in (1, 1, 2))
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0])
    assert first[0].shape == (5, 8)
    assert first[1].dtype == torch.int64


def test_points_scatter_around_their_centre():
    points, classes = clusters(20_000, 2.0, generator())
    away = points - centres(2.0)[classes]
    torch.testing.assert_close(away.mean(0), torch.zeros(8), rtol=0, atol=0.03)
    torch.testing.assert_close(away.std(0), torch.ones(8), rtol=0, atol=0.03)


def test_further_apart_is_easier():
    right = []
    for apart in (0.7, 1.0, 2.0):
        points, classes = clusters(4000, apart, generator())
        right.append((clusters_by_bayes(points, apart).argmax(-1) == classes).float().mean())
    assert right[0] < right[1] < right[2]


def test_the_true_probabilities_are_calibrated():
    points, classes = clusters(40_000, 0.7, generator(3))
    truth = clusters_by_bayes(points, 0.7)
    torch.testing.assert_close(truth.sum(-1), torch.ones(40_000))
    sure, said = truth.max(-1)
    for low in (0.3, 0.5, 0.7, 0.9):
        some = (sure > low) & (sure <= low + 0.1)
        assert abs((said == classes)[some].float().mean() - sure[some].mean()) < 0.03
