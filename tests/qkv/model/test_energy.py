"""Chapter 13's reference against torch, against plain loops, and against what theory says of it."""

from __future__ import annotations

import itertools
import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.energy import (
    clip_loss,
    free_energy,
    hopfield_energy,
    hopfield_retrieve,
    info_nce,
    info_nce_gradient,
    kernel_regression,
    variational_objective,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}
LEADING = [(), (2,), (2, 5)]


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# free_energy


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_free_energy_is_a_log_sum_exp(leading, beta, dtype):
    energies = drawn(*leading, 7, seed=0, dtype=dtype)
    found = free_energy(energies, beta)
    assert found.dtype == dtype
    expected = -torch.logsumexp(-beta * energies.double(), dim=-1) / beta
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=2 * FLOATS[dtype] / min(beta, 1))


def test_the_gradient_of_the_free_energy_is_the_boltzmann_weight():
    energies = drawn(3, 6, seed=1).requires_grad_()
    (gradient,) = torch.autograd.grad(free_energy(energies, 2.5).sum(), energies)
    torch.testing.assert_close(gradient, torch.softmax(-2.5 * energies, dim=-1))


@pytest.mark.parametrize("offset", [1e4, -1e4])
def test_free_energy_of_huge_energies(offset):
    energies = (offset + drawn(4, 5, seed=2, dtype=torch.float32)).requires_grad_()
    found = free_energy(energies, 3.0)
    exactly = energies.detach().double().requires_grad_()
    expected = -torch.logsumexp(-3.0 * exactly, dim=-1) / 3.0
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=0)
    gradients = [torch.autograd.grad(f.sum(), e)[0].double() for f, e in ((found, energies), (expected, exactly))]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-5)


def test_a_state_that_cannot_be_has_no_say_and_no_gradient():
    energies = torch.tensor([2.0, math.inf, 3.0, math.inf], dtype=torch.float64, requires_grad=True)
    found = free_energy(energies, 0.5)
    torch.testing.assert_close(found, free_energy(torch.tensor([2.0, 3.0], dtype=torch.float64), 0.5))
    (gradient,) = torch.autograd.grad(found, energies)
    assert gradient.isfinite().all()
    assert (gradient[[1, 3]] == 0).all()


def test_beta_must_be_above_0():
    refuses(ValueError, "free_energy: beta is 0.0, expected a number above 0.", free_energy, torch.ones(3), 0.0)


# variational_objective


def objective_by_loop(p: Tensor, scores: Tensor, beta: float) -> Tensor:
    if p.dim() > 1:
        return torch.stack([objective_by_loop(a, b, beta) for a, b in zip(p, scores, strict=True)])
    terms = [w * (s - math.log(w) / beta) for w, s in zip(p.tolist(), scores.tolist(), strict=True) if w > 0]
    return torch.tensor(math.fsum(terms), dtype=torch.float64)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("beta", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_objective_against_a_loop(leading, beta, dtype):
    p = drawn(*leading, 7, seed=3).softmax(-1).to(dtype)
    p[..., 2] = 0.0
    scores = drawn(*leading, 7, seed=4, dtype=dtype)
    scores[..., 2] = -math.inf
    found = variational_objective(p, scores, beta)
    assert found.dtype == dtype
    expected = objective_by_loop(p, scores, beta)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=5 * FLOATS[dtype])


def test_nothing_is_above_the_softmax_which_reaches_minus_the_free_energy():
    scores, beta = drawn(9, seed=5), 0.7
    best = -free_energy(-scores, beta)
    torch.testing.assert_close(variational_objective((beta * scores).softmax(-1), scores, beta), best)
    others = drawn(1000, 9, seed=6).softmax(-1)
    assert (variational_objective(others, scores.expand(1000, 9), beta) < best).all()


def test_weight_on_a_score_of_minus_infinity():
    p = torch.tensor([0.5, 0.5])
    assert variational_objective(p, torch.tensor([1.0, -math.inf])) == -math.inf


def test_the_gradient_in_the_scores_is_p_everywhere():
    p = torch.tensor([[0.2, 0.0, 0.5, 0.0], [0.3, 0.7, 0.0, 1.5]], dtype=torch.float64)  # used as given
    scores = torch.tensor([[1.0, -math.inf, 2.0, 3.0], [1.0, -1.0, -math.inf, 0.5]], dtype=torch.float64)
    p.requires_grad_()
    scores.requires_grad_()
    in_p, in_scores = torch.autograd.grad(variational_objective(p, scores, 2.0).sum(), (p, scores))
    assert torch.equal(in_scores, p)
    there = p > 0
    torch.testing.assert_close(in_p[there], (scores - (p.log() + 1) / 2.0)[there])


def test_weights_and_scores_must_belong_together():
    words = "variational_objective: scores has shape (3, 5), so n = 5; expected n = 4, as p has it. scores is (..., n)."
    refuses(ValueError, words, variational_objective, torch.ones(3, 4), torch.ones(3, 5))


# kernel_regression


def points_and_values(*leading: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Five queries, seven points, in three dimensions; values of width 2."""
    return (
        drawn(*leading, 5, 3, seed=7, dtype=dtype),
        drawn(*leading, 7, 3, seed=8, dtype=dtype),
        drawn(*leading, 7, 2, seed=9, dtype=dtype),
    )


def regression_by_loop(x: Tensor, points: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    if x.dim() > 2:
        parts = zip(x, points, values, strict=True)
        return torch.stack([regression_by_loop(*part, bandwidth) for part in parts])
    rows = []
    for query in x.tolist():
        weights = [math.exp(-(math.dist(query, point) ** 2) / (2 * bandwidth**2)) for point in points.tolist()]
        total = math.fsum(weights)
        columns = values.T.tolist()
        rows.append([math.fsum(w * y for w, y in zip(weights, column, strict=True)) / total for column in columns])
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_kernel_regression_against_a_loop(leading, bandwidth, dtype):
    arguments = points_and_values(*leading, dtype=dtype)
    found = kernel_regression(*arguments, bandwidth)
    assert found.dtype == dtype
    expected = regression_by_loop(*(a.double() for a in arguments), bandwidth)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=4 * FLOATS[dtype])


def test_kernel_regression_where_the_data_are_far_from_0():
    x, points, values = points_and_values(dtype=torch.float32)
    x, points = 100 + x, 100 + points
    expected = regression_by_loop(x, points, values, 0.5)
    torch.testing.assert_close(kernel_regression(x, points, values, 0.5).double(), expected, rtol=0, atol=1e-5)


def test_far_from_every_point_the_nearest_one_decides():
    _, points, values = points_and_values(dtype=torch.float32)
    far = torch.tensor([[1e4, 0.0, 0.0]])
    nearest = (points - far).square().sum(-1).argmin()
    torch.testing.assert_close(kernel_regression(far, points, values, 0.1), values[None, nearest])


def test_it_is_attention_where_all_keys_have_one_length():
    q, k, v = drawn(5, 8, seed=10), F.normalize(drawn(7, 8, seed=11), dim=-1), drawn(7, 2, seed=12)
    torch.testing.assert_close(kernel_regression(q, k, v, 8**0.25), F.scaled_dot_product_attention(q, k, v))


def test_a_bandwidth_may_be_learned():
    bandwidth = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda h: kernel_regression(*points_and_values(), h), (bandwidth,))


# hopfield_energy


def energy_by_loop(state: list[float], patterns: list[list[float]], beta: float) -> float:
    def dot(a: list[float], b: list[float]) -> float:
        return math.fsum(x * y for x, y in zip(a, b, strict=True))

    sum_of_powers = math.fsum(math.exp(beta * dot(pattern, state)) for pattern in patterns)
    longest = max(dot(pattern, pattern) for pattern in patterns)
    return -math.log(sum_of_powers) / beta + dot(state, state) / 2 + math.log(len(patterns)) / beta + longest / 2


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("beta", [0.5, 2.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_hopfield_energy_against_a_loop(leading, beta, dtype):
    state, patterns = drawn(*leading, 4, seed=13, dtype=dtype), drawn(6, 4, seed=14, dtype=dtype)
    found = hopfield_energy(state, patterns, beta)
    assert found.dtype == dtype
    rows = [energy_by_loop(row, patterns.tolist(), beta) for row in state.reshape(-1, 4).tolist()]
    expected = torch.tensor(rows, dtype=torch.float64).reshape(leading)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=6 * FLOATS[dtype])


def test_the_energy_is_never_negative_and_0_at_a_single_pattern():
    pattern = drawn(1, 5, seed=15)
    torch.testing.assert_close(hopfield_energy(pattern[0], pattern, 3.0), torch.zeros((), dtype=torch.float64))
    assert (hopfield_energy(3 * drawn(500, 5, seed=16), drawn(7, 5, seed=17), 0.8) >= 0).all()


def test_the_energy_at_a_large_beta():
    state, patterns = drawn(3, 8, seed=18, dtype=torch.float32), drawn(20, 8, seed=19, dtype=torch.float32)
    highest = (state.double() @ patterns.double().T).amax(-1)
    longest = patterns.double().square().sum(-1).amax()
    in_the_limit = -highest + state.double().square().sum(-1) / 2 + longest / 2
    found = hopfield_energy(10 * state, 10 * patterns, 200.0).double() / 100
    torch.testing.assert_close(found, in_the_limit, rtol=0, atol=1e-3)


def test_patterns_have_the_width_of_the_state():
    words = "hopfield_energy: patterns has shape (6, 5), so d = 5; expected d = 4, as state has it. patterns is (n, d)."
    refuses(ValueError, words, hopfield_energy, torch.ones(3, 4), torch.ones(6, 5), 1.0)


# hopfield_retrieve


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_each_step_is_torch_s_attention_with_beta_as_its_scale(leading, steps, dtype):
    state, patterns = drawn(*leading, 4, seed=20, dtype=dtype), drawn(6, 4, seed=21, dtype=dtype)
    expected = state.double().reshape(-1, 4)
    for _ in range(steps):
        expected = F.scaled_dot_product_attention(expected, patterns.double(), patterns.double(), scale=0.7)
    found = hopfield_retrieve(state, patterns, 0.7, steps)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected.reshape(state.shape), rtol=0, atol=2 * FLOATS[dtype])


def test_one_step_unless_said():
    state, patterns = drawn(4, seed=22), drawn(6, 4, seed=23)
    assert torch.equal(hopfield_retrieve(state, patterns, 0.7), hopfield_retrieve(state, patterns, 0.7, 1))


def test_the_energy_never_rises_and_a_step_undoes_its_gradient():
    patterns, beta = drawn(20, 8, seed=24), 0.9
    state = drawn(50, 8, seed=25).requires_grad_()
    (gradient,) = torch.autograd.grad(hopfield_energy(state, patterns, beta).sum(), state)
    torch.testing.assert_close(state - gradient, hopfield_retrieve(state, patterns, beta))
    energies = [hopfield_energy(hopfield_retrieve(state, patterns, beta, s), patterns, beta) for s in range(6)]
    for before, after in itertools.pairwise(energies):
        assert (after <= before + 1e-12).all()


def test_a_flipped_pattern_is_found_again():
    patterns = drawn(100, 64, seed=26).sign()
    damaged = torch.where(torch.arange(64) < 6, -patterns, patterns)
    torch.testing.assert_close(hopfield_retrieve(damaged, patterns, 1.0, 2), patterns, rtol=0, atol=1e-4)


def test_a_negative_number_of_steps_is_refused():
    words = "hopfield_retrieve: steps is -1, expected an integer that is not negative."
    refuses(ValueError, words, hopfield_retrieve, torch.ones(4), torch.ones(6, 4), 1.0, -1)


# info_nce


def contrast(*leading: int, n: int = 6, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    return (
        drawn(*leading, 4, seed=27, dtype=dtype),
        drawn(*leading, 4, seed=28, dtype=dtype),
        drawn(*leading, n, 4, seed=29, dtype=dtype),
    )


@pytest.mark.parametrize("leading", [(), (3,), (3, 5)])
@pytest.mark.parametrize("n", [0, 1, 6])
@pytest.mark.parametrize("dtype", FLOATS)
def test_info_nce_is_a_cross_entropy_over_cosines(leading, n, dtype):
    arguments = contrast(*leading, n=n, dtype=dtype)
    query, positive, negatives = (a.double() for a in arguments)
    keys = torch.cat([positive.unsqueeze(-2), negatives], dim=-2).reshape(-1, n + 1, 4)
    query = query.reshape(-1, 4)
    lengths = query.norm(dim=-1)[:, None] * keys.norm(dim=-1)
    logits = torch.einsum("bd,bnd->bn", query, keys) / lengths / 0.3
    expected = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.int64))
    found = info_nce(*arguments, 0.3)
    assert found.dtype == dtype
    assert found.shape == ()
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=4 * FLOATS[dtype])


def test_info_nce_of_a_very_low_temperature():
    query, positive, negatives = contrast(3, dtype=torch.float32)
    for temperature in (0.001, 1e-5):
        loss = info_nce(query.requires_grad_(), positive, negatives, temperature)
        assert loss.isfinite()
        assert torch.autograd.grad(loss, query)[0].isfinite().all()


def test_info_nce_without_negatives_is_0():
    assert info_nce(*contrast(3, n=0), 0.3) == 0


def test_a_temperature_must_be_above_0():
    words = "info_nce: temperature is -0.1, expected a number above 0."
    refuses(ValueError, words, info_nce, *contrast(3), -0.1)


# info_nce_gradient


@pytest.mark.parametrize("leading", [(), (3,), (3, 5)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_gradient_by_hand_is_that_of_autograd(leading, dtype):
    scores = drawn(*leading, 7, seed=30, dtype=dtype)
    positive = torch.randint(7, leading, generator=torch.Generator().manual_seed(31))
    exactly = scores.double().requires_grad_()
    loss = F.cross_entropy((exactly / 0.4).reshape(-1, 7), positive.reshape(-1))
    (expected,) = torch.autograd.grad(loss, exactly)
    found = info_nce_gradient(scores, positive, 0.4)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=3 * FLOATS[dtype])


def test_each_row_of_the_gradient_sums_to_0():
    found = info_nce_gradient(drawn(3, 5, 7, seed=32), torch.full((3, 5), 2), 0.05)
    torch.testing.assert_close(found.sum(-1), torch.zeros(3, 5, dtype=torch.float64))


def test_positives_are_ids():
    words = (
        "info_nce_gradient: positive is float32, expected int64 (token ids, positions, lengths). Use positive.long()."
    )
    refuses(TypeError, words, info_nce_gradient, torch.ones(3, 4), torch.ones(3), 0.1)


# clip_loss


@pytest.mark.parametrize("batch", [1, 2, 6])
@pytest.mark.parametrize("dtype", FLOATS)
def test_clip_loss_is_two_cross_entropies(batch, dtype):
    images, texts = drawn(batch, 4, seed=33, dtype=dtype), drawn(batch, 4, seed=34, dtype=dtype)
    cosines = F.cosine_similarity(images.double()[:, None], texts.double()[None], dim=-1)
    own, logits = torch.arange(batch), math.exp(1.5) * cosines
    expected = (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
    for log_scale in (1.5, torch.tensor(1.5), torch.tensor(1.5, dtype=dtype)):
        found = clip_loss(images, texts, log_scale)
        assert found.dtype == dtype
        assert found.shape == ()
        digits = max(4 * FLOATS[dtype], 1e-6 if isinstance(log_scale, Tensor) else 0)  # no more than the scale has
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=digits)


def test_one_pair_alone_cannot_be_confused():
    assert clip_loss(drawn(1, 4, seed=35), drawn(1, 4, seed=36), 2.0) == 0


def test_the_scale_of_clip_can_be_learned():
    scale = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda s: clip_loss(drawn(5, 4, seed=37), drawn(5, 4, seed=38), s), (scale,))


def test_every_image_has_a_text():
    words = (
        "clip_loss: texts has shape (6, 4), so batch = 6; expected batch = 5, as images has it. texts is (batch, d)."
    )
    refuses(ValueError, words, clip_loss, torch.ones(5, 4), torch.ones(6, 4), 0.0)


# What all of them promise

CALLS = {
    "free_energy": (lambda e: free_energy(e, 1.3), lambda: (drawn(2, 5, seed=40),)),
    "variational_objective": (
        lambda p, s: variational_objective(p, s, 1.3),
        lambda: (drawn(2, 5, seed=41).softmax(-1), drawn(2, 5, seed=42)),
    ),
    "kernel_regression": (lambda x, p, v: kernel_regression(x, p, v, 0.8), lambda: points_and_values(2)),
    "hopfield_energy": (
        lambda s, p: hopfield_energy(s, p, 1.3),
        lambda: (drawn(2, 4, seed=43), drawn(5, 4, seed=44)),
    ),
    "hopfield_retrieve": (
        lambda s, p: hopfield_retrieve(s, p, 0.6, 3),
        lambda: (drawn(2, 4, seed=45), drawn(5, 4, seed=46)),
    ),
    "info_nce": (lambda q, p, n: info_nce(q, p, n, 0.5), lambda: contrast(3)),
    "clip_loss": (lambda i, t: clip_loss(i, t, 0.4), lambda: (drawn(5, 4, seed=47), drawn(5, 4, seed=48))),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_agree_with_finite_differences(name):
    function, make = CALLS[name]
    torch.autograd.gradcheck(function, tuple(a.requires_grad_() for a in make()))


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_left_as_they_were(name):
    function, make = CALLS[name]
    arguments = make()
    function(*arguments)
    for after, before in zip(arguments, make(), strict=True):
        assert torch.equal(after, before)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_made_on_another_device(name):
    function, make = CALLS[name]
    assert function(*(a.to("meta") for a in make())).device.type == "meta"


def test_sizes_of_one():
    one = torch.ones(1, 1, dtype=torch.float64)
    torch.testing.assert_close(free_energy(2 * one, 3.0), 2 * one[0])
    torch.testing.assert_close(variational_objective(one, 2 * one, 3.0), 2 * one[0])
    torch.testing.assert_close(kernel_regression(one, 5 * one, 3 * one, 0.1), 3 * one)
    torch.testing.assert_close(hopfield_energy(3 * one[0], one, 2.0), 2 * one[0, 0])
    torch.testing.assert_close(hopfield_retrieve(3 * one[0], 2 * one, 2.0), 2 * one[0])
    torch.testing.assert_close(info_nce(one, -one, one[None], 2.0), math.log(1 + math.e) * one[0, 0])
    torch.testing.assert_close(info_nce_gradient(one, torch.zeros(1, dtype=torch.int64), 2.0), 0 * one)
