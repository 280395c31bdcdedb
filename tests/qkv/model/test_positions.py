"""Chapter 04's reference against independent oracles: loops in plain Python floats, complex numbers, autograd."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from qkv.model.positions import (
    alibi_bias,
    piece_kinds,
    relative_bucket,
    relative_scores,
    rotate,
    shift_matrix,
    sinusoidal_positions,
    turn,
)

BITS = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.fixture
def double_by_default():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class TestSinusoidalPositions:
    def test_is_the_formula(self, double_by_default):
        length, d, base = 11, 6, 50.0
        expected = torch.zeros(length, d)
        for t in range(length):
            for i in range(d // 2):
                angle = t * base ** (-2 * i / d)
                expected[t, 2 * i], expected[t, 2 * i + 1] = math.sin(angle), math.cos(angle)
        torch.testing.assert_close(sinusoidal_positions(length, d, base), expected, rtol=0, atol=1e-14)

    def test_the_base_is_ten_thousand(self):
        torch.testing.assert_close(sinusoidal_positions(9, 4), sinusoidal_positions(9, 4, 10000.0), rtol=0, atol=0)

    def test_has_the_default_dtype(self, double_by_default):
        assert sinusoidal_positions(3, 2).dtype == torch.float64
        torch.set_default_dtype(torch.float32)
        assert sinusoidal_positions(3, 2).dtype == torch.float32

    def test_far_positions_keep_float32_digits(self):
        t, d = 99_999, 8
        code = sinusoidal_positions(t + 1, d)[t]
        expected = [f(t * 10000 ** (-2 * i / d)) for i in range(d // 2) for f in (math.sin, math.cos)]
        torch.testing.assert_close(code, torch.tensor(expected), rtol=0, atol=1e-6)

    def test_no_positions(self):
        assert sinusoidal_positions(0, 4).shape == (0, 4)

    @pytest.mark.parametrize("d_model", [7, 0, -2, 4.0, True])
    def test_refuses_a_width_that_is_not_even(self, d_model):
        message = rf"sinusoidal_positions: d_model is {d_model!r}, expected a positive even integer\."
        with pytest.raises(ValueError, match=message):
            sinusoidal_positions(5, d_model)

    def test_refuses_a_negative_length(self):
        with pytest.raises(ValueError, match=r"length is -1, expected an integer that is not negative\."):
            sinusoidal_positions(-1, 4)


class TestShiftMatrix:
    @pytest.mark.parametrize("k", [0, 1, 5, -3, 1000])
    @pytest.mark.parametrize(("d", "base"), [(2, 10000.0), (10, 10000.0), (6, 30.0)])
    def test_moves_every_code(self, k, d, base, double_by_default):
        codes = sinusoidal_positions(2100, d, base)
        start = codes[: 2100 - k] if k >= 0 else codes[-k:]
        moved = codes[k:] if k >= 0 else codes[:k]
        torch.testing.assert_close(start @ shift_matrix(k, d, base).T, moved, rtol=0, atol=1e-11)

    def test_is_a_rotation(self, double_by_default):
        matrix = shift_matrix(4, 6)
        torch.testing.assert_close(matrix @ matrix.T, torch.eye(6), rtol=0, atol=1e-15)
        torch.testing.assert_close(shift_matrix(-4, 6), matrix.T, rtol=0, atol=0)
        torch.testing.assert_close(shift_matrix(3, 6) @ shift_matrix(8, 6), shift_matrix(11, 6), rtol=0, atol=1e-14)

    def test_of_one_pair_by_hand(self):
        cos, sin = math.cos(3), math.sin(3)
        torch.testing.assert_close(shift_matrix(3, 2), torch.tensor([[cos, sin], [-sin, cos]]))

    def test_has_the_default_dtype(self):
        assert shift_matrix(1, 2).dtype == torch.float32

    def test_refuses_an_odd_width(self):
        with pytest.raises(ValueError, match=r"shift_matrix: d_model is 5, expected a positive even integer\."):
            shift_matrix(1, 5)


def rotated_by_complex_numbers(x: Tensor, positions: list[int], base: float) -> Tensor:
    flat = x.reshape(-1, *x.shape[-2:]).clone()
    for batch in flat:
        for row, t in zip(batch, positions, strict=True):
            for i in range(x.shape[-1] // 2):
                z = complex(row[2 * i], row[2 * i + 1]) * cmath.exp(1j * t * base ** (-2 * i / x.shape[-1]))
                row[2 * i], row[2 * i + 1] = z.real, z.imag
    return flat.reshape(x.shape)


class TestRotate:
    @pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
    def test_is_a_complex_product(self, leading):
        x, positions = draw(*leading, 5, 8), [7, 0, 123, 2, 2]
        expected = rotated_by_complex_numbers(x, positions, 70.0)
        torch.testing.assert_close(rotate(x, torch.tensor(positions), 70.0), expected, rtol=0, atol=1e-13)

    def test_the_base_is_ten_thousand(self):
        x, positions = draw(4, 6), torch.arange(4)
        torch.testing.assert_close(rotate(x, positions), rotate(x, positions, base=10000.0), rtol=0, atol=0)

    @pytest.mark.parametrize("dtype", list(BITS))
    def test_keeps_the_dtype_and_its_digits(self, dtype):
        x, positions = draw(3, 5, 8, dtype=dtype), torch.tensor([0, 311, 5, 402, 77])
        seen = rotate(x, positions)
        assert seen.dtype == dtype
        expected = rotated_by_complex_numbers(x.double(), positions.tolist(), 10000.0)
        # float32 angles of 400 radians are good to 3e-5
        atol = max(BITS[dtype] * 3, 1e-4 if dtype != torch.float64 else 0)
        torch.testing.assert_close(seen.double(), expected, rtol=0, atol=atol)

    def test_keeps_lengths_and_relative_scores(self):
        q, k = draw(1, 6, seed=1), draw(1, 6, seed=2)

        def score(i: int, j: int) -> Tensor:
            return (rotate(q, torch.tensor([i])) * rotate(k, torch.tensor([j]))).sum()

        torch.testing.assert_close(score(9, 4), score(100_009, 100_004), rtol=0, atol=1e-10)
        assert abs(score(9, 4) - score(4, 9)) > 1e-3
        torch.testing.assert_close(rotate(q, torch.tensor([12])).norm(), q.norm())

    def test_gradients(self):
        x = draw(2, 3, 4).requires_grad_()
        assert torch.autograd.gradcheck(lambda x: rotate(x, torch.tensor([5, 0, 9])), x)

    def test_keeps_its_inputs_and_device(self):
        x, positions = draw(3, 4), torch.tensor([2, 1, 0])
        before = x.clone(), positions.clone()
        rotate(x, positions)
        assert torch.equal(x, before[0])
        assert torch.equal(positions, before[1])
        assert rotate(x.to("meta"), positions.to("meta")).device.type == "meta"

    def test_refuses_an_odd_width(self):
        message = r"rotate: x has 7 components, expected an even number: they turn in pairs \(2i, 2i\+1\)\."
        with pytest.raises(ValueError, match=message):
            rotate(draw(3, 7), torch.arange(3))

    def test_refuses_positions_of_another_length(self):
        with pytest.raises(ValueError, match=r"rotate: positions has shape \(4,\), so seq = 4; expected seq = 3, as x"):
            rotate(draw(3, 6), torch.arange(4))

    def test_refuses_positions_that_are_not_int64(self):
        with pytest.raises(TypeError, match=r"rotate: positions is float32, expected int64"):
            rotate(draw(3, 6), torch.arange(3.0))


class TestTurn:
    """The helper that chapter 17 is given: `rotate` with the speeds handed over."""

    @pytest.mark.parametrize(("shape", "base"), [((3, 6), 10000.0), ((2, 4, 3, 8), 70.0), ((3, 2), 5e5)])
    def test_is_rotate_at_the_speeds_of_a_base(self, shape, base):
        x, positions, d = draw(*shape), torch.tensor([4, 0, 1000]), shape[-1]
        speeds = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        torch.testing.assert_close(turn(x, positions, speeds), rotate(x, positions, base), rtol=0, atol=1e-12)

    def test_turns_each_pair_by_its_own_speed(self):
        x, positions, speeds = draw(2, 3, 6), [7, 2, 0], [0.3, -1.2, 0.0]
        expected = torch.empty_like(x)
        for b in range(2):
            for t, position in enumerate(positions):
                for i, speed in enumerate(speeds):
                    pair = complex(*x[b, t, 2 * i : 2 * i + 2].tolist()) * cmath.exp(1j * position * speed)
                    expected[b, t, 2 * i : 2 * i + 2] = torch.tensor([pair.real, pair.imag], dtype=torch.float64)
        found = turn(x, torch.tensor(positions), torch.tensor(speeds, dtype=torch.float64))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)

    @pytest.mark.parametrize("dtype", BITS)
    def test_angles_are_float64_whatever_the_vectors_are(self, dtype):
        x, positions = draw(2, 4, dtype=dtype), torch.tensor([1_000_003, 257])
        speeds = torch.tensor([1.0, 0.1], dtype=torch.float64)
        found = turn(x, positions, speeds)
        assert found.dtype == dtype
        expected = turn(x.double(), positions, speeds)
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=BITS[dtype])

    def test_gradients_are_right_and_nothing_changes_in_place(self):
        x, speeds = draw(3, 4).requires_grad_(), torch.tensor([1.0, 0.2])
        before = x.detach().clone()
        assert torch.autograd.gradcheck(lambda x: turn(x, torch.tensor([5, 0, 9]), speeds), x)
        assert torch.equal(x.detach(), before)

    def test_refuses_odd_widths_and_speeds_that_do_not_fit(self):
        with pytest.raises(ValueError, match=r"turn: x has 7 components, expected an even number"):
            turn(draw(3, 7), torch.arange(3), torch.ones(3))
        message = r"turn: frequencies is \(4,\), expected \(3,\): one speed for each pair of x's 6 components\."
        with pytest.raises(ValueError, match=message):
            turn(draw(3, 6), torch.arange(3), torch.ones(4))
        with pytest.raises(ValueError, match=r"turn: positions has shape \(4,\), so seq = 4; expected seq = 3, as x"):
            turn(draw(3, 6), torch.arange(4), torch.ones(3))


class TestRelativeScores:
    @pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
    @pytest.mark.parametrize("m", [0, 1, 2, 9])
    def test_is_the_formula(self, leading, m):
        q, k, table = draw(*leading, 4, 5, seed=1), draw(*leading, 7, 5, seed=2), draw(2 * m + 1, 5, seed=3)
        expected = torch.zeros(*leading, 4, 7, dtype=torch.float64)
        for i in range(4):
            for j in range(7):
                row = table[max(-m, min(m, i - j)) + m]
                expected[..., i, j] = (q[..., i, :] * (k[..., j, :] + row)).sum(-1)
        torch.testing.assert_close(relative_scores(q, k, table), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("dtype", list(BITS))
    def test_keeps_the_dtype(self, dtype):
        q, k, table = (draw(*shape, seed=i, dtype=dtype) for i, shape in enumerate([(4, 5), (6, 5), (3, 5)]))
        seen = relative_scores(q, k, table)
        assert seen.dtype == dtype
        expected = relative_scores(q.double(), k.double(), table.double())
        torch.testing.assert_close(seen.double(), expected, rtol=0, atol=8 * BITS[dtype])

    def test_gradients(self):
        inputs = [draw(2, 3, 4, seed=1), draw(2, 5, 4, seed=2), draw(3, 4, seed=3)]
        assert torch.autograd.gradcheck(relative_scores, [x.requires_grad_() for x in inputs])

    def test_keeps_its_inputs_and_device(self):
        inputs = [draw(3, 4, seed=1), draw(5, 4, seed=2), draw(7, 4, seed=3)]
        before = [x.clone() for x in inputs]
        relative_scores(*inputs)
        assert all(map(torch.equal, inputs, before))
        assert relative_scores(*(x.to("meta") for x in inputs)).device.type == "meta"

    def test_refuses_a_table_without_a_middle(self):
        message = (
            r"relative_scores: table has 6 rows, expected an odd number 2m\+1: one for each distance from -m to m\."
        )
        with pytest.raises(ValueError, match=message):
            relative_scores(draw(3, 4), draw(5, 4), draw(6, 4))

    def test_refuses_a_table_of_another_width(self):
        with pytest.raises(ValueError, match=r"table has shape \(7, 5\), so d = 5; expected d = 4, as q has it"):
            relative_scores(draw(3, 4), draw(5, 4), draw(7, 5))


def bucket_in_exact_arithmetic(distance: int, n_buckets: int, max_distance: int) -> int:
    """Compare powers of fractions instead of logarithms."""
    side, exact = n_buckets // 2, n_buckets // 4
    size = abs(distance)
    bucket = size
    if size >= exact:
        growth, steps = Fraction(max_distance, exact), side - exact
        passed = [b for b in range(1, steps) if growth**b <= Fraction(size, exact) ** steps]
        bucket = exact + len(passed)
    return bucket + (side if distance > 0 else 0)


class TestRelativeBucket:
    @pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (8, 20), (4, 2), (20, 100), (64, 256)])
    def test_is_exact(self, n_buckets, max_distance):
        distance = torch.arange(-2 * max_distance, 2 * max_distance + 1)
        expected = [bucket_in_exact_arithmetic(d, n_buckets, max_distance) for d in distance.tolist()]
        seen = relative_bucket(distance, n_buckets, max_distance)
        assert seen.tolist() == expected
        assert sorted(set(expected)) == [b for b in range(n_buckets) if b != n_buckets // 2]

    def test_the_defaults(self):
        distance = torch.arange(-300, 301)
        assert torch.equal(relative_bucket(distance), relative_bucket(distance, 32, 128))

    def test_any_shape(self):
        distance = torch.arange(24).reshape(2, 3, 4) - 12
        assert torch.equal(relative_bucket(distance).flatten(), relative_bucket(distance.flatten()))
        assert relative_bucket(torch.tensor(-3)).tolist() == 3

    def test_is_int64_on_the_device_and_keeps_its_input(self):
        distance = torch.tensor([-9, 4])
        assert relative_bucket(distance).dtype == torch.int64
        assert distance.tolist() == [-9, 4]
        assert relative_bucket(distance.to("meta")).device.type == "meta"

    def test_refuses_buckets_that_cannot_be_shared_out(self):
        message = r"relative_bucket: n_buckets is 30, expected a multiple of 4: two sides, half of each side exact\."
        with pytest.raises(ValueError, match=message):
            relative_bucket(torch.tensor([1]), 30)

    def test_refuses_a_maximum_inside_the_exact_part(self):
        message = (
            r"relative_bucket: max_distance is 8, expected more than n_buckets/4 = 8: nearer distances are exact\."
        )
        with pytest.raises(ValueError, match=message):
            relative_bucket(torch.tensor([1]), 32, 8)

    def test_refuses_distances_that_are_not_int64(self):
        with pytest.raises(TypeError, match=r"relative_bucket: distance is float32, expected int64"):
            relative_bucket(torch.tensor([1.0]))


class TestAlibiBias:
    @pytest.mark.parametrize("n_heads", [1, 3, 8])
    def test_is_the_formula(self, n_heads):
        length = 5
        expected = torch.full((n_heads, length, length), -math.inf)
        for h in range(1, n_heads + 1):
            for i in range(length):
                for j in range(i + 1):
                    expected[h - 1, i, j] = -(2 ** (-8 * h / n_heads)) * (i - j)
        torch.testing.assert_close(alibi_bias(n_heads, length), expected)

    def test_of_eight_heads_by_hand(self):
        slopes = -alibi_bias(8, 2)[:, 1, 0]
        assert slopes.tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]

    def test_has_the_default_dtype(self, double_by_default):
        assert alibi_bias(2, 3).dtype == torch.float64

    def test_refuses_no_heads(self):
        with pytest.raises(ValueError, match=r"alibi_bias: n_heads is 0, expected a positive integer\."):
            alibi_bias(0, 3)


class TestPieceKinds:
    @pytest.mark.parametrize(
        ("pieces", "kinds"),
        [
            ("a dog", [0, 0]),
            ("trans ##form ##er s", [1, 2, 2, 0]),
            ("un ##happy", [1, 2]),
            ("##ing now", [2, 0]),
            ("##ing ##s a ##b", [2, 2, 1, 2]),
            ("# #x a## b##c ##", [0, 0, 0, 1, 2]),
        ],
    )
    def test_kinds(self, pieces, kinds):
        seen = piece_kinds(pieces.split())
        assert seen.tolist() == kinds
        assert seen.dtype == torch.int64

    def test_of_nothing(self):
        seen = piece_kinds([])
        assert seen.shape == (0,)
        assert seen.dtype == torch.int64

    def test_keeps_its_input(self):
        pieces = ["a", "##b"]
        piece_kinds(pieces)
        assert pieces == ["a", "##b"]

    def test_refuses_a_string(self):
        message = r"piece_kinds: pieces is a single string, expected a list of strings\. Use \[pieces\]\."
        with pytest.raises(ValueError, match=message):
            piece_kinds("trans")
