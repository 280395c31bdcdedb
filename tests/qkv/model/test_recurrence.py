"""Chapter 10's reference against torch's own cells, autograd's Jacobians, and convolutions that are asked."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from qkv.model.recurrence import (
    delayed_copy,
    gradient_by_distance,
    lstm_step,
    path_length,
    receptive_field,
    rnn_step,
)

DTYPES = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 3e-2, torch.float16: 4e-3}
D_IN, D, BATCH, TIME = 3, 5, 2, 7


def draw(*shape: int, seed: int | str = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    g = torch.Generator().manual_seed(seed if isinstance(seed, int) else sum(map(ord, seed)))
    return (0.6 * torch.randn(shape, generator=g, dtype=torch.float64)).to(dtype)


def rnn_arguments(leading: tuple[int, ...] = (BATCH,), dtype: torch.dtype = torch.float64) -> list[Tensor]:
    shapes = {"x": (*leading, D_IN), "h": (*leading, D), "w_x": (D_IN, D), "w_h": (D, D), "b": (D,)}
    return [draw(*shape, seed=name, dtype=dtype) for name, shape in shapes.items()]


def lstm_arguments(leading: tuple[int, ...] = (BATCH,), dtype: torch.dtype = torch.float64) -> list[Tensor]:
    state = (*leading, D)
    shapes = {"x": (*leading, D_IN), "h": state, "c": state, "w_x": (D_IN, 4 * D), "w_h": (D, 4 * D), "b": (4 * D,)}
    return [draw(*shape, seed=name, dtype=dtype) for name, shape in shapes.items()]


def with_weights(cell: nn.Module, w_x: Tensor, w_h: Tensor, b: Tensor) -> nn.Module:
    """torch's layer with our weights: it keeps them turned, and has a second bias."""
    cell = cell.double()
    with torch.no_grad():
        cell.weight_ih_l0.copy_(w_x.T)
        cell.weight_hh_l0.copy_(w_h.T)
        cell.bias_ih_l0.copy_(b)
        cell.bias_hh_l0.zero_()
    return cell


class TestRnnStep:
    def test_unrolled_it_is_torchs_rnn(self):
        x, (_, h, w_x, w_h, b) = draw(BATCH, TIME, D_IN, seed="seen"), rnn_arguments()
        expected, last = with_weights(nn.RNN(D_IN, D, batch_first=True), w_x, w_h, b)(x, h[None])
        states = []
        for t in range(TIME):
            h = rnn_step(x[:, t], h, w_x, w_h, b)
            states.append(h)
        torch.testing.assert_close(torch.stack(states, dim=1), expected, rtol=0, atol=1e-14)
        torch.testing.assert_close(h, last[0], rtol=0, atol=1e-14)

    @pytest.mark.parametrize("leading", [(), (4,), (4, 6)])
    def test_any_leading_dimensions(self, leading):
        x, h, w_x, w_h, b = rnn_arguments(leading)
        expected = torch.zeros_like(h)
        for j in range(D):
            fed = sum(x[..., i] * w_x[i, j] for i in range(D_IN))
            recalled = sum(h[..., i] * w_h[i, j] for i in range(D))
            expected[..., j] = torch.tanh(fed + recalled + b[j])
        torch.testing.assert_close(rnn_step(x, h, w_x, w_h, b), expected, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("dtype", list(DTYPES))
    def test_keeps_the_dtype(self, dtype):
        arguments = rnn_arguments(dtype=dtype)
        seen = rnn_step(*arguments)
        assert seen.dtype == dtype
        expected = rnn_step(*(a.double() for a in arguments))
        torch.testing.assert_close(seen.double(), expected, rtol=0, atol=DTYPES[dtype])

    def test_gradients(self):
        assert torch.autograd.gradcheck(rnn_step, [a.requires_grad_() for a in rnn_arguments()])

    def test_keeps_its_inputs_and_device(self):
        arguments = rnn_arguments()
        before = [a.clone() for a in arguments]
        rnn_step(*arguments)
        assert all(map(torch.equal, arguments, before))
        assert rnn_step(*(a.to("meta") for a in arguments)).device.type == "meta"

    def test_refuses_weights_that_do_not_fit(self):
        x, h, w_x, w_h, b = rnn_arguments()
        with pytest.raises(ValueError, match=r"rnn_step: w_x has shape \(5, 3\), so d_in = 5; expected d_in = 3, as x"):
            rnn_step(x, h, w_x.T, w_h, b)
        with pytest.raises(
            ValueError, match=r"rnn_step: w_h has shape \(5, 4\), so d = 4; expected d = 5, as h has it"
        ):
            rnn_step(x, h, w_x, w_h[:, :4], b)
        with pytest.raises(ValueError, match=r"rnn_step: h has shape \(1, 5\), so .* \(1,\); expected .* \(2,\), as x"):
            rnn_step(x, h[:1], w_x, w_h, b)

    def test_refuses_token_ids(self):
        x, h, w_x, w_h, b = rnn_arguments()
        with pytest.raises(TypeError, match=r"rnn_step: x is int64, expected a floating dtype\. Use x\.float\(\)\."):
            rnn_step(x.long(), h, w_x, w_h, b)


class TestLstmStep:
    def test_unrolled_it_is_torchs_lstm(self):
        x, (_, h, c, w_x, w_h, b) = draw(BATCH, TIME, D_IN, seed="seen"), lstm_arguments()
        lstm = with_weights(nn.LSTM(D_IN, D, batch_first=True), w_x, w_h, b)
        expected, (last_h, last_c) = lstm(x, (h[None], c[None]))
        shown = []
        for t in range(TIME):
            h, c = lstm_step(x[:, t], h, c, w_x, w_h, b)
            shown.append(h)
        torch.testing.assert_close(torch.stack(shown, dim=1), expected, rtol=0, atol=1e-14)
        torch.testing.assert_close((h, c), (last_h[0], last_c[0]), rtol=0, atol=1e-14)

    @pytest.mark.parametrize("leading", [(), (4,), (4, 6)])
    def test_any_leading_dimensions(self, leading):
        x, h, c, w_x, w_h, b = lstm_arguments(leading)
        total = torch.einsum("...i,ij->...j", x, w_x) + torch.einsum("...i,ij->...j", h, w_h) + b
        gates = total.unflatten(-1, (4, D))

        def sigmoid(z: Tensor) -> Tensor:
            return 1 / (1 + (-z).exp())

        i, f, g, o = (gates[..., n, :] for n in range(4))
        cell = c * sigmoid(f) + g.tanh() * sigmoid(i)
        expected = cell.tanh() * sigmoid(o), cell
        torch.testing.assert_close(lstm_step(x, h, c, w_x, w_h, b), expected, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("dtype", list(DTYPES))
    def test_keeps_the_dtype(self, dtype):
        arguments = lstm_arguments(dtype=dtype)
        expected = lstm_step(*(a.double() for a in arguments))
        for seen, wanted in zip(lstm_step(*arguments), expected, strict=True):
            assert seen.dtype == dtype
            torch.testing.assert_close(seen.double(), wanted, rtol=0, atol=DTYPES[dtype])

    def test_gradients(self):
        assert torch.autograd.gradcheck(lstm_step, [a.requires_grad_() for a in lstm_arguments()])

    def test_keeps_its_inputs_and_device(self):
        arguments = lstm_arguments()
        before = [a.clone() for a in arguments]
        lstm_step(*arguments)
        assert all(map(torch.equal, arguments, before))
        assert all(seen.device.type == "meta" for seen in lstm_step(*(a.to("meta") for a in arguments)))

    def test_refuses_another_number_of_gates(self):
        x, h, c, w_x, w_h, b = lstm_arguments()
        message = r"lstm_step: b has 15 entries, expected 4·d = 20: three gates and a candidate\."
        with pytest.raises(ValueError, match=message):
            lstm_step(x, h, c, w_x[:, :15], w_h[:, :15], b[:15])

    def test_refuses_a_cell_of_another_width(self):
        x, h, c, w_x, w_h, b = lstm_arguments()
        with pytest.raises(ValueError, match=r"lstm_step: c has shape \(2, 4\), so d = 4; expected d = 5, as h has it"):
            lstm_step(x, h, c[:, :4], w_x, w_h, b)


class TestDelayedCopy:
    @pytest.mark.parametrize("delay", [0, 1, 4, 9, 10, 23])
    def test_is_what_was_read_before(self, delay):
        batch, length, vocab = 4, 10, 6
        inputs, targets = delayed_copy(batch, length, delay, vocab, torch.Generator().manual_seed(3))
        g = torch.Generator().manual_seed(3)
        assert torch.equal(inputs, torch.randint(1, vocab, (batch, length), generator=g))
        for row, wanted in zip(inputs.tolist(), targets.tolist(), strict=True):
            assert wanted == [row[t - delay] if t >= delay else 0 for t in range(length)]
        assert inputs.dtype == targets.dtype == torch.int64

    def test_every_token_but_zero(self):
        inputs, _ = delayed_copy(50, 20, 2, 5, torch.Generator().manual_seed(0))
        assert set(inputs.flatten().tolist()) == {1, 2, 3, 4}

    def test_the_generator_goes_on(self):
        g = torch.Generator().manual_seed(1)
        (first, _), (second, _) = (delayed_copy(3, 8, 2, 9, g) for _ in range(2))
        assert not torch.equal(first, second)

    def test_refusals(self):
        g = torch.Generator()
        with pytest.raises(ValueError, match=r"delayed_copy: batch is 0, expected a positive integer\."):
            delayed_copy(0, 5, 1, 4, g)
        with pytest.raises(ValueError, match=r"delayed_copy: length is 0, expected a positive integer\."):
            delayed_copy(2, 0, 1, 4, g)
        with pytest.raises(ValueError, match=r"delayed_copy: delay is -1, expected an integer that is not negative\."):
            delayed_copy(2, 5, -1, 4, g)
        message = r"delayed_copy: vocab is 1, expected 2 or more: 0 is no token, so tokens run from 1 on\."
        with pytest.raises(ValueError, match=message):
            delayed_copy(2, 5, 1, 1, g)


def a_run(w_h: Tensor, steps: int, start: Tensor | None = None, first: int = 0) -> list[Tensor]:
    """States of h = tanh(drive + h @ w_h), from the state before number `first`."""
    h = torch.zeros_like(w_h[0]) if start is None else start
    states = []
    for t in range(first, steps):
        h = torch.tanh(draw(len(w_h), seed=t) + h @ w_h)
        states.append(h)
    return states


class TestGradientByDistance:
    @pytest.mark.parametrize(("steps", "d", "gain"), [(6, 4, 1.0), (1, 3, 1.0), (5, 5, 3.0), (9, 2, 0.3)])
    def test_is_the_norm_of_autograds_jacobian(self, steps, d, gain):
        w_h = gain * draw(d, d, seed="w_h")
        states = a_run(w_h, steps)
        expected = []
        for t, state in enumerate(states):
            jacobian = torch.autograd.functional.jacobian(
                lambda h, t=t: [h, *a_run(w_h, steps, h, t + 1)][-1], state
            )  # (last, this)
            expected.append(jacobian.square().sum().sqrt())
        seen = gradient_by_distance(w_h, torch.stack(states))
        torch.testing.assert_close(seen, torch.stack(expected), rtol=1e-12, atol=0)
        assert seen[-1].item() == pytest.approx(math.sqrt(d), abs=1e-14)

    def test_one_neuron_by_hand(self):
        states = torch.tensor([[0.5], [0.8], [0.6]])
        norms = gradient_by_distance(torch.tensor([[2.0]]), states)
        torch.testing.assert_close(norms, torch.tensor([(1 - 0.64) * 2 * (1 - 0.36) * 2, (1 - 0.36) * 2, 1.0]))

    @pytest.mark.parametrize("dtype", list(DTYPES))
    def test_keeps_the_dtype(self, dtype):
        w_h = draw(4, 4, dtype=dtype)
        states = torch.stack(a_run(w_h.double(), 3)).to(dtype)
        seen = gradient_by_distance(w_h, states)
        assert seen.dtype == dtype
        expected = gradient_by_distance(w_h.double(), states.double())
        torch.testing.assert_close(seen.double(), expected, rtol=0, atol=4 * DTYPES[dtype])

    def test_gradients(self):
        w_h = draw(3, 3)
        inputs = w_h.requires_grad_(), torch.stack(a_run(w_h.detach(), 4)).requires_grad_()
        assert torch.autograd.gradcheck(gradient_by_distance, inputs)

    def test_keeps_its_inputs_and_device(self):
        w_h = draw(3, 3)
        states = torch.stack(a_run(w_h, 4))
        before = w_h.clone(), states.clone()
        gradient_by_distance(w_h, states)
        assert torch.equal(w_h, before[0])
        assert torch.equal(states, before[1])
        assert gradient_by_distance(w_h.to("meta"), states.to("meta")).device.type == "meta"

    def test_refuses_states_of_another_width(self):
        message = r"gradient_by_distance: states has shape \(6, 4\), so d = 4; expected d = 3, as w_h has it"
        with pytest.raises(ValueError, match=message):
            gradient_by_distance(draw(3, 3), draw(6, 4))


class TestReceptiveField:
    @pytest.mark.parametrize(
        ("kernels", "dilations"),
        [([], []), ([3], [1]), ([3, 5, 2], [1, 1, 1]), ([2, 2, 2, 2], [1, 2, 4, 8]), ([1, 4, 3], [7, 3, 5])],
    )
    def test_is_what_convolutions_see(self, kernels, dilations):
        layers = [nn.Conv1d(1, 1, k, dilation=r).double() for k, r in zip(kernels, dilations, strict=True)]
        for layer in layers:
            nn.init.constant_(layer.weight, 1.0)  # nothing cancels
        x = torch.ones(1, 1, 60, dtype=torch.float64, requires_grad=True)
        nn.Sequential(*layers)(x)[0, 0, -1].backward()
        seen = x.grad.flatten().nonzero().flatten()
        assert receptive_field(kernels, dilations) == int(seen.max() - seen.min()) + 1

    def test_refusals(self):
        message = r"receptive_field: there are 2 kernel_sizes and 3 dilations, expected one of each for every layer\."
        with pytest.raises(ValueError, match=message):
            receptive_field([3, 3], [1, 2, 4])
        for kernels, dilations in (([3, 0], [1, 1]), ([3, 3], [1, 0])):
            with pytest.raises(ValueError, match=r"receptive_field: kernel_sizes and dilations must be 1 or more\."):
                receptive_field(kernels, dilations)


class TestPathLength:
    @pytest.mark.parametrize("n", [2, 5, 64])
    def test_rnn_and_attention(self, n):
        assert path_length("rnn", n) == n - 1
        assert path_length("attention", n) == 1

    @pytest.mark.parametrize("kernel", [2, 3, 4, 7])
    @pytest.mark.parametrize("n", [1, 2, 8, 9, 10, 31])
    def test_a_cnn_has_just_enough_layers(self, n, kernel):
        layers = path_length("cnn", n, kernel)
        assert receptive_field([kernel] * layers, [1] * layers) >= n
        assert layers == 0 or receptive_field([kernel] * (layers - 1), [1] * (layers - 1)) < n

    def test_refusals(self):
        message = r"path_length: architecture is 'gru', expected 'rnn', 'attention' or 'cnn'\."
        with pytest.raises(ValueError, match=message):
            path_length("gru", 5)
        for kernel in (None, 1):
            message = (
                rf"path_length: kernel is {kernel}, expected 2 or more: a narrower convolution never moves a signal\."
            )
            with pytest.raises(ValueError, match=message):
                path_length("cnn", 5, kernel)
        with pytest.raises(ValueError, match=r"path_length: n is 0, expected a positive integer\."):
            path_length("rnn", 0)
