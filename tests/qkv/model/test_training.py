"""Chapter 09's reference against torch's optimiser, losses and clipping, and loops in Python's own floats."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.training import (
    accumulate_gradients,
    adam_step,
    clip_gradients,
    label_smoothing_loss,
    noam_rate,
    scaled_backward,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64, std: float = 1.0) -> Tensor:
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (std * noise).to(dtype)


def classes(high: int, *shape: int, seed: int) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def refuses(error: type[Exception], words: str, function: Any, *args: Any) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)


# noam_rate


def test_the_numbers_of_the_page():
    assert [noam_rate(step, 16, 4) for step in (1, 4, 16)] == [0.03125, 0.125, 0.0625]


def test_the_paper_s_peak():
    rates = [noam_rate(step, 512, 4000) for step in range(1, 10_001)]
    assert rates.index(max(rates)) + 1 == 4000
    assert max(rates) == pytest.approx(512**-0.5 * 4000**-0.5, rel=1e-12)
    assert max(rates) == pytest.approx(6.9877e-4, rel=1e-4)


@pytest.mark.parametrize(("d_model", "warmup"), [(7, 1), (32, 100), (512, 4000)])
def test_it_rises_as_a_line_and_falls_as_a_root(d_model, warmup):
    peak = noam_rate(warmup, d_model, warmup)
    for step in range(1, 3 * warmup, max(1, warmup // 10)):
        part = step / warmup if step < warmup else math.sqrt(warmup / step)
        assert noam_rate(step, d_model, warmup) == pytest.approx(peak * part, rel=1e-12)


def test_as_torch_s_schedule_which_counts_from_0():
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda done: noam_rate(done + 1, 64, 5))
    for step in range(1, 12):
        assert optimiser.param_groups[0]["lr"] == noam_rate(step, 64, 5)
        optimiser.step()
        schedule.step()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 512, 4000), "noam_rate: step is 0, expected a positive integer."),
        ((1, 0, 4000), "noam_rate: d_model is 0, expected a positive integer."),
        ((1, 512, -3), "noam_rate: warmup is -3, expected a positive integer."),
        ((1.5, 512, 4000), "noam_rate: step is 1.5, expected a positive integer."),
    ],
)
def test_steps_are_counted_from_1(arguments, words):
    refuses(ValueError, words, noam_rate, *arguments)


# label_smoothing_loss


def by_loop(logits: Tensor, targets: Tensor, epsilon: float, ignore_index: int | None = None) -> float:
    """Cross-entropy with the smoothed target, one class after the other."""
    losses = []
    for row, target in zip(logits.double().reshape(-1, logits.shape[-1]), targets.flatten().tolist(), strict=True):
        if target == ignore_index:
            continue
        top = max(row.tolist())
        log_total = top + math.log(math.fsum(math.exp(z - top) for z in row.tolist()))
        share = epsilon / len(row)
        wanted = [share + (1 - epsilon) * (k == target) for k in range(len(row))]
        losses.append(-math.fsum(w * (z - log_total) for w, z in zip(wanted, row.tolist(), strict=True)))
    return math.fsum(losses) / len(losses)


@pytest.mark.parametrize("leading", [(), (6,), (2, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_smoothing_against_torch_and_a_loop(leading, epsilon, dtype):
    logits, targets = drawn(*leading, 5, seed=0, dtype=dtype, std=2), classes(5, *leading, seed=1)
    found = label_smoothing_loss(logits, targets, epsilon)
    assert found.dtype == dtype
    assert found.shape == ()
    assert found.item() == pytest.approx(by_loop(logits, targets, epsilon), rel=FLOATS[dtype])
    theirs = F.cross_entropy(logits.double().reshape(-1, 5), targets.reshape(-1), label_smoothing=epsilon)
    torch.testing.assert_close(found.double(), theirs, rtol=FLOATS[dtype], atol=0)


@pytest.mark.parametrize("ignored", [0, 3, -100, -1, 99])
def test_ignored_targets_do_not_count(ignored):
    logits, targets = drawn(2, 4, 5, seed=2), classes(5, 2, 4, seed=3)
    targets[0, 1:], targets[1, 2] = ignored, ignored
    found = label_smoothing_loss(logits, targets, 0.2, ignored)
    torch.testing.assert_close(
        found,
        F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.2, ignore_index=ignored),
    )
    assert found.item() == pytest.approx(by_loop(logits, targets, 0.2, ignored), rel=1e-12)


def test_the_gradient_of_smoothing_is_torch_s():
    targets = classes(5, 6, seed=5)
    targets[2] = -100
    found = []
    for ours in (True, False):
        logits = drawn(6, 5, seed=4).requires_grad_()
        if ours:
            loss = label_smoothing_loss(logits, targets, 0.1, -100)
        else:
            loss = F.cross_entropy(logits, targets, label_smoothing=0.1)
        found.append(torch.autograd.grad(loss, logits)[0])
    torch.testing.assert_close(found[0], found[1])
    assert (found[0][2] == 0).all()


def test_the_best_gap_is_finite():
    """The least loss is at log-probabilities of the target itself: a gap of ln 91 for K = 10 and ε = 0.1."""
    logits = torch.zeros(10).double()
    logits[3] = math.log(91)
    logits.requires_grad_()
    (gradient,) = torch.autograd.grad(label_smoothing_loss(logits, torch.tensor(3), 0.1), logits)
    torch.testing.assert_close(gradient, torch.zeros(10).double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_logits_stay_finite(dtype):
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, 1e4, 5e3]], dtype=dtype)
    targets = torch.tensor([1, 1])
    assert label_smoothing_loss(logits, targets, 0.1).item() == pytest.approx(by_loop(logits, targets, 0.1), rel=1e-6)


def test_what_smoothing_refuses():
    words = (
        "label_smoothing_loss: targets is int32, expected int64 (token ids, positions, lengths). Use targets.long()."
    )
    refuses(TypeError, words, label_smoothing_loss, torch.ones(2, 3), torch.ones(2).int(), 0.1)
    words = (
        "label_smoothing_loss: targets has shape (4,), so leading dimensions = (4,); "
        "expected leading dimensions = (2,), as logits has it. targets is (...,)."
    )
    refuses(ValueError, words, label_smoothing_loss, torch.ones(2, 3), torch.ones(4).long(), 0.1)


# accumulate_gradients


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.LayerNorm(7), nn.Linear(7, 2)).double()


def loss_sum(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
    x, y = batch
    return (model(x) - y).square().sum(), len(x)


def pieces(sizes: list[int]) -> list[tuple[Tensor, Tensor]]:
    return [(drawn(n, 3, seed=10 + i), drawn(n, 2, seed=20 + i)) for i, n in enumerate(sizes)]


@pytest.mark.parametrize("sizes", [[13], [4, 4, 4], [1, 9, 3], [3, 40, 7, 14]])
@pytest.mark.parametrize("earlier", [False, True])
def test_pieces_are_one_big_batch(sizes, earlier):
    whole, model = network(), network()
    if earlier:
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 7.0)
    found = accumulate_gradients(model, loss_sum, iter(pieces(sizes)))
    x, y = (torch.cat(part) for part in zip(*pieces(sizes), strict=True))
    mean = (whole(x) - y).square().sum(dim=1).mean()
    mean.backward()
    assert isinstance(found, float)
    assert found == pytest.approx(mean.item(), rel=1e-12)
    for mine, theirs in zip(model.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_one_batch_at_a_time():
    """A piece is asked for only when the one before it is done with: that is what saves memory."""
    model, seen = network(), []

    def noted(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
        seen.append("loss")
        return loss_sum(model, batch)

    def batches() -> Any:
        for piece in pieces([2, 3]):
            seen.append("read")
            yield piece

    accumulate_gradients(model, noted, batches())
    assert seen == ["read", "loss", "read", "loss"]


def test_a_part_that_is_not_used_keeps_no_gradient():
    model = nn.ModuleDict({"busy": nn.Linear(3, 2), "idle": nn.Linear(3, 2)}).double()
    accumulate_gradients(model, lambda m, b: loss_sum(m["busy"], b), pieces([2, 5]))
    assert model["idle"].weight.grad is None
    assert model["busy"].weight.grad is not None


# adam_step


@pytest.mark.parametrize(("beta1", "beta2", "eps"), [(0.9, 0.98, 1e-9), (0.9, 0.999, 1e-8), (0.5, 0.75, 0.3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_thirty_steps_against_torch_s_adam(beta1, beta2, eps, dtype):
    start = drawn(3, 4, seed=30, dtype=dtype)
    theirs = nn.Parameter(start.clone())
    optimiser = torch.optim.Adam([theirs], lr=0.05, betas=(beta1, beta2), eps=eps)
    p, m, v = start, torch.zeros_like(start), torch.zeros_like(start)
    for step in range(1, 31):
        grad = drawn(3, 4, seed=100 + step, dtype=dtype, std=10.0 ** (step % 5 - 2))
        theirs.grad = grad.clone()
        optimiser.step()
        p, m, v = adam_step(p, grad, m, v, step, 0.05, beta1, beta2, eps)
    kept = optimiser.state[theirs]
    close = {"rtol": 1e-10, "atol": 1e-12} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(p, theirs.detach(), **close)
    torch.testing.assert_close(m, kept["exp_avg"], **close)
    torch.testing.assert_close(v, kept["exp_avg_sq"], **close)


def test_two_steps_in_python_s_own_floats():
    p = m = v = 0.0
    tensors = (torch.zeros(1).double(),) * 3
    for step, grad in enumerate([4.0, 0.0, -1.0], start=1):
        m, v = 0.9 * m + 0.1 * grad, 0.98 * v + 0.02 * grad**2
        p -= 0.1 * (m / (1 - 0.9**step)) / (math.sqrt(v / (1 - 0.98**step)) + 1e-9)
        tensors = adam_step(tensors[0], torch.tensor([grad]).double(), *tensors[1:], step, 0.1)
    assert [t.item() for t in tensors] == pytest.approx([p, m, v], rel=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_first_step_is_the_rate_whatever_the_gradient(size):
    zero = torch.zeros(2).double()
    p, _, _ = adam_step(zero, size * torch.tensor([1.0, -3.0]).double(), zero, zero, 1, 0.01)
    torch.testing.assert_close(p, torch.tensor([-0.01, 0.01]).double(), rtol=2e-3, atol=0)


def test_adam_leaves_its_arguments_alone():
    given = [drawn(3, 4, seed=s).square() for s in range(4)]
    before = [t.clone() for t in given]
    adam_step(*given, 3, 0.1)
    assert all(map(torch.equal, given, before))


def test_what_adam_refuses():
    ones = torch.ones(3)
    words = "adam_step: step is 0, expected a positive integer."
    refuses(ValueError, words, adam_step, ones, ones, ones, ones, 0, 0.1)
    words = (
        "adam_step: grad has shape (2,), so leading dimensions = (2,); "
        "expected leading dimensions = (3,), as p has it. grad is (...,)."
    )
    refuses(ValueError, words, adam_step, ones, torch.ones(2), ones, ones, 1, 0.1)
    # a chapter that handed over one rate for each run would ask more of an answer than its check does
    words = "adam_step: rate is a Tensor, expected a number above 0."
    refuses(ValueError, words, adam_step, ones, ones, ones, ones, 1, torch.ones(3))


# clip_gradients


def three(std: float = 1.0) -> list[Tensor]:
    return [drawn(*shape, seed=40 + i, std=std) for i, shape in enumerate([(3, 4), (5,), (2, 2, 2), ()])]


@pytest.mark.parametrize("max_norm", [1e-3, 1.0, 3.0, 1e3])
def test_clipping_against_torch(max_norm):
    found, norm = clip_gradients(three(), max_norm)
    parameters = [nn.Parameter(torch.zeros_like(grad)) for grad in three()]
    for parameter, grad in zip(parameters, three(), strict=True):
        parameter.grad = grad
    theirs = nn.utils.clip_grad_norm_(parameters, max_norm)  # it adds 1e-6 to the norm
    torch.testing.assert_close(norm, theirs)
    for mine, parameter in zip(found, parameters, strict=True):
        torch.testing.assert_close(mine, parameter.grad, rtol=1e-6, atol=0)


def test_the_norm_is_of_all_entries_in_python_s_own_floats():
    entries = [x for grad in three() for x in grad.flatten().tolist()]
    assert clip_gradients(three(), 1.0)[1].item() == pytest.approx(math.sqrt(math.fsum(x * x for x in entries)))


@pytest.mark.parametrize("std", [1e-5, 1.0, 1e5])
def test_too_long_becomes_exactly_as_long_as_allowed_without_turning(std):
    before = torch.cat([g.flatten() for g in three(std)])
    found, norm = clip_gradients(three(std), 1e-5)
    after = torch.cat([g.flatten() for g in found])
    assert after.norm().item() == pytest.approx(1e-5, rel=1e-12)
    torch.testing.assert_close(after, before * (1e-5 / norm), rtol=1e-12, atol=0)


def test_short_and_zero_gradients_come_back_unchanged():
    for grads in (three(), [torch.zeros(3), torch.zeros(2, 2)]):
        found, norm = clip_gradients(grads, float(torch.cat([g.flatten() for g in grads]).norm()) + 0.1)
        assert all(map(torch.equal, found, grads))
        assert norm.isfinite()


def test_clipping_returns_new_gradients():
    grads, before = three(), three()
    for max_norm in (0.5, 100.0):
        found, _ = clip_gradients(grads, max_norm)
        for grad in found:
            grad += 1
        assert all(map(torch.equal, grads, before))


# scaled_backward


def through_half(weight: Tensor, factor: float, times: int = 2) -> Tensor:
    for _ in range(times):
        weight = weight * torch.tensor(factor, dtype=weight.dtype)
    return weight.sum().float()


def test_what_float16_loses_the_scale_keeps():
    weight = torch.ones(5, dtype=torch.float16, requires_grad=True)
    (lost,) = torch.autograd.grad(through_half(weight, 1e-4), weight)
    assert (lost == 0).all()
    (kept,), scale, good = scaled_backward(through_half(weight, 1e-4), [weight], 2.0**15)
    assert kept.dtype == torch.float32
    torch.testing.assert_close(kept, torch.full((5,), 1e-8), rtol=2e-3, atol=0)
    assert (scale, good) == (2.0**15, 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_in_full_precision_the_scale_changes_nothing(dtype):
    a, b = (drawn(*shape, seed=50, dtype=dtype).requires_grad_() for shape in [(2, 3), (3, 4)])
    expected = torch.autograd.grad((a @ b).square().sum(), [a, b])
    found, _, _ = scaled_backward((a @ b).square().sum(), [a, b], 1024.0)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs.float())


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_one_bad_number_skips_the_step(bad):
    a, b = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    loss = a.sum() + (b * torch.tensor([1.0, bad])).sum()
    assert scaled_backward(loss, [a, b], 8.0, good_steps=7) == (None, 4.0, 0)


def test_the_scale_grows_after_an_interval_of_good_steps_as_torch_s_does():
    """The same history of overflows, fed to torch's own scaler's rule."""
    history = [True] * 7 + [False] + [True] * 5 + [False, False] + [True] * 4
    scale, good = 64.0, 0
    theirs, tracker = torch.tensor(64.0), torch.tensor(0, dtype=torch.int32)
    for fine in history:
        a = torch.ones(2, requires_grad=True)
        grads, scale, good = scaled_backward(a.sum() * (1.0 if fine else math.inf), [a], scale, good, interval=3)
        assert (grads is not None) == fine
        torch._amp_update_scale_(theirs, tracker, torch.tensor(0.0 if fine else 1.0), 2.0, 0.5, 3)
        assert (scale, good) == (theirs.item(), tracker.item())


def test_the_usual_interval_is_2000():
    a = torch.ones(2, requires_grad=True)
    assert scaled_backward(a.sum(), [a], 8.0, good_steps=1998)[1:] == (8.0, 1999)
    assert scaled_backward(a.sum(), [a], 8.0, good_steps=1999)[1:] == (16.0, 0)
