"""Chapter 14's reference against torch, against plain loops, and against what theory says of it."""

from __future__ import annotations

import itertools
import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.meaning import (
    analogy,
    attention_rollout,
    linear_probe,
    negative_samples,
    negative_sampling_gradient,
    negative_sampling_loss,
    skip_gram_pairs,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}
LEADING = [(), (1,), (3,), (3, 5)]


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def whole(high: int, *shape: int, seed: int) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# skip_gram_pairs


def pairs_by_loop(ids: list[int], window: int) -> list[list[int]]:
    places = range(len(ids))
    return [[ids[i], ids[j]] for i in places for j in places if i != j and abs(i - j) <= window]


@pytest.mark.parametrize("seq", [0, 1, 2, 3, 11])
@pytest.mark.parametrize("window", [0, 1, 2, 4, 10, 11, 10**12])
def test_pairs_against_a_loop(seq, window):
    ids = whole(5, seq, seed=0)  # few words: many occur again
    found = skip_gram_pairs(ids, window)
    expected = pairs_by_loop(ids.tolist(), window)
    assert found.dtype == torch.int64
    assert found.shape == (len(expected), 2)
    assert found.tolist() == expected


def test_pairs_of_a_text_by_hand():
    found = skip_gram_pairs(torch.tensor([7, 8, 9, 7]), 2)
    expected = [[7, 8], [7, 9], [8, 7], [8, 9], [8, 7], [9, 7], [9, 8], [9, 7], [7, 8], [7, 9]]
    assert found.tolist() == expected


def test_a_word_is_paired_with_its_other_occurrences_as_often_as_they_are_near():
    assert skip_gram_pairs(torch.tensor([4, 4, 4]), 2).tolist() == [[4, 4]] * 6


def test_a_long_text_takes_memory_for_its_windows_alone():
    ids = torch.arange(100_000)  # 10**10 pairs of positions would not fit
    found = skip_gram_pairs(ids, 1)
    expected = torch.stack([ids[:-1], ids[1:]], dim=1)
    assert torch.equal(found[::2], expected)
    assert torch.equal(found[1::2], expected.flip(1))


@pytest.mark.parametrize(
    ("error", "words", "arguments"),
    [
        (
            TypeError,
            "ids is float32, expected int64 (token ids, positions, lengths). Use ids.long().",
            (torch.ones(3), 1),
        ),
        (TypeError, "ids is a list, expected a tensor of shape (seq,).", ([1, 2], 1)),
        (ValueError, "ids has shape (2, 3), expected 1 dimension: (seq,).", (whole(4, 2, 3, seed=1), 1)),
        (ValueError, "window is -1, expected an integer that is not negative.", (whole(4, 3, seed=1), -1)),
    ],
)
def test_pairs_of_what_is_no_text(error, words, arguments):
    refuses(error, f"skip_gram_pairs: {words}", skip_gram_pairs, *arguments)


# negative_samples


@pytest.mark.parametrize("shape", [(2,), (7,), (5, 3), (1, 2), (4, 1, 6), [3, 2], torch.Size([3, 2])])
@pytest.mark.parametrize("power", [None, 0.3, 1.0, 2, 8.0])
def test_samples_are_those_of_the_one_torch_call(shape, power):
    counts = torch.tensor([5, 0, 1000, 31, 1, 0, 280])
    raised = [count ** (0.75 if power is None else power) for count in counts.tolist()]
    p = torch.tensor([r / math.fsum(raised) for r in raised], dtype=torch.float32)
    generator, other = seeded(2), seeded(2)
    expected = torch.multinomial(p, math.prod(shape), replacement=True, generator=other).reshape(tuple(shape))
    found = negative_samples(counts, shape, generator, *([] if power is None else [power]))
    assert found.dtype == torch.int64
    assert torch.equal(found, expected)
    assert torch.equal(generator.get_state(), other.get_state())


def test_drawing_row_by_row_gives_the_same():
    counts = torch.tensor([5, 0, 90, 31, 1])
    generator = seeded(3)
    rows = [negative_samples(counts, (2,), generator) for _ in range(6)]
    assert torch.equal(torch.stack(rows), negative_samples(counts, (6, 2), seeded(3)))


def test_words_are_drawn_as_often_as_the_power_of_their_counts_says():
    counts, n = torch.tensor([16, 0, 1, 81, 256]), 100_000
    frequencies = negative_samples(counts, (n,), seeded(4)).bincount(minlength=5) / n
    expected = torch.tensor([8.0, 0.0, 1.0, 27.0, 64.0]) / 100  # each count is a fourth power
    assert frequencies[1] == 0
    torch.testing.assert_close(frequencies, expected, rtol=0, atol=5 * 0.5 / math.sqrt(n))


def test_a_vocabulary_of_one_word():
    assert negative_samples(torch.tensor([3]), (2, 3), seeded(5)).tolist() == [[0] * 3] * 2


def test_huge_counts_and_powers():
    counts = torch.tensor([10**12, 2 * 10**12, 0, 3])
    found = negative_samples(counts, (1000,), seeded(6), 20.0)
    assert set(found.tolist()) == {1}  # 2**20 to 1, and the sum of the powers is no float32


def test_probabilities_are_float32_whatever_the_default(monkeypatch):
    multinomial, dtypes = torch.multinomial, []

    def watched(p, *args, **kwargs):
        dtypes.append(p.dtype)
        return multinomial(p, *args, **kwargs)

    monkeypatch.setattr(torch, "multinomial", watched)
    torch.set_default_dtype(torch.float64)
    try:
        negative_samples(torch.arange(1, 60), (50, 4), seeded(7))
    finally:
        torch.set_default_dtype(torch.float32)
    assert dtypes == [torch.float32]


@pytest.mark.parametrize(
    ("error", "words", "counts", "shape", "power"),
    [
        (
            TypeError,
            "counts is float32, expected int64 (token ids, positions, lengths). Use counts.long().",
            torch.ones(3),
            (2,),
            1.0,
        ),
        (ValueError, "counts has -2, expected numbers of 0 or more.", torch.tensor([1, -2, 3]), (2,), 1.0),
        (
            ValueError,
            "every count is 0, expected at least one above 0: nothing could be drawn.",
            torch.tensor([0, 0]),
            (2,),
            1.0,
        ),
        (ValueError, "power is 0, expected a number above 0.", torch.tensor([1, 2]), (2,), 0),
        (ValueError, "shape is (5, 1), expected a last size of 2 or more.", torch.tensor([1, 2]), (5, 1), 1.0),
        *(
            (
                ValueError,
                f"shape is {shape!r}, expected a tuple of positive integers, such as (batch, n).",
                torch.tensor([1, 2]),
                shape,
                1.0,
            )
            for shape in [6, (), (0, 3), (2.0, 3), (True, 3)]
        ),
    ],
)
def test_what_cannot_be_drawn_from(error, words, counts, shape, power):
    refuses(error, f"negative_samples: {words}", negative_samples, counts, shape, seeded(8), power)


# negative_sampling_loss


def words_and_noise(*leading: int, n: int = 6, d: int = 4, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    return (
        drawn(*leading, d, seed=9, dtype=dtype),
        drawn(*leading, d, seed=10, dtype=dtype),
        drawn(*leading, n, d, seed=11, dtype=dtype),
    )


def loss_by_loop(centre: Tensor, context: Tensor, negatives: Tensor) -> float:
    def dot(one: Tensor, other: Tensor) -> float:
        return math.fsum(x * y for x, y in zip(one.tolist(), other.tolist(), strict=True))

    losses = []
    for place in itertools.product(*(range(size) for size in centre.shape[:-1])):
        signed = [dot(centre[place], context[place]), *(-dot(centre[place], word) for word in negatives[place])]
        losses.append(math.fsum(math.log1p(math.exp(-s)) for s in signed))
    return math.fsum(losses) / len(losses)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("n", "d"), [(0, 4), (1, 4), (6, 4), (6, 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_loss_against_a_loop(leading, n, d, dtype):
    arguments = words_and_noise(*leading, n=n, d=d, dtype=dtype)
    expected = loss_by_loop(*(a.double() for a in arguments))
    found = negative_sampling_loss(*arguments)
    assert found.dtype == dtype
    assert found.shape == ()
    assert found.item() == pytest.approx(expected, rel=FLOATS[dtype], abs=4 * FLOATS[dtype])


def test_the_loss_is_a_sum_of_yes_and_no_questions():
    centre, context, negatives = words_and_noise(3, 5)
    words = torch.cat([context.unsqueeze(-2), negatives], dim=-2)
    logits = torch.einsum("...d,...nd->...n", centre, words)
    answers = torch.zeros_like(logits)
    answers[..., 0] = 1.0
    expected = F.binary_cross_entropy_with_logits(logits, answers, reduction="none").sum(-1).mean()
    torch.testing.assert_close(negative_sampling_loss(centre, context, negatives), expected)


HUGE = [pytest.param(*signs, id=f"{signs[0]}-{signs[1]}") for signs in itertools.product([1, -1], [1, -1])]


@pytest.mark.parametrize(("near", "far"), HUGE)
@pytest.mark.parametrize("dtype", FLOATS)
def test_huge_dot_products(near, far, dtype):
    centre = torch.full((3, 4), 50.0, dtype=dtype, requires_grad=True)
    context = torch.full((3, 4), 50.0 * near, dtype=dtype, requires_grad=True)  # 4·50·50 = 1e4
    negatives = torch.full((3, 2, 4), 50.0 * far, dtype=dtype, requires_grad=True)
    loss = negative_sampling_loss(centre, context, negatives)
    wrong = (near < 0), (far > 0)
    assert loss.item() == pytest.approx(1e4 * (wrong[0] + 2 * wrong[1]), rel=FLOATS[dtype])
    by_hand = negative_sampling_gradient(centre, context, negatives)
    by_autograd = torch.autograd.grad(loss, (centre, context, negatives))
    expected = (
        (-context * wrong[0] + negatives.sum(-2) * wrong[1]) / 3,
        -centre * wrong[0] / 3,
        (centre * wrong[1] / 3).unsqueeze(-2).expand(3, 2, 4),
    )
    for found in (by_hand, by_autograd):
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.double(), other.double(), rtol=2 * FLOATS[dtype], atol=1e-12)


@pytest.mark.parametrize("function", [negative_sampling_loss, negative_sampling_gradient])
@pytest.mark.parametrize(
    ("error", "words", "shapes"),
    [
        (
            ValueError,
            "context has shape (3, 5), so d = 5; expected d = 4, as centre has it. context is (..., d).",
            [(3, 4), (3, 5), (3, 6, 4)],
        ),
        (
            ValueError,
            "negatives has shape (2, 6, 4), so leading dimensions = (2,); expected leading dimensions = (3,), "
            "as centre has it. negatives is (..., n, d).",
            [(3, 4), (3, 4), (2, 6, 4)],
        ),
        (
            ValueError,
            "centre has shape (3, 0), so d is 0. Expected (..., d) with at least one entry in each.",
            [(3, 0), (3, 0), (3, 6, 0)],
        ),
    ],
)
def test_words_that_do_not_belong_together(function, error, words, shapes):
    refuses(error, f"{function.__name__}: {words}", function, *(torch.ones(shape) for shape in shapes))


# negative_sampling_gradient


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("n", "d"), [(0, 4), (1, 4), (6, 4), (6, 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_gradient_by_hand_is_that_of_autograd(leading, n, d, dtype):
    arguments = words_and_noise(*leading, n=n, d=d, dtype=dtype)
    centre, context, negatives = exactly = [a.double().requires_grad_() for a in arguments]
    near = torch.einsum("...d,...d->...", centre, context)
    far = torch.einsum("...d,...nd->...n", centre, negatives)
    loss = (torch.log1p(torch.exp(-near)) + torch.log1p(torch.exp(far)).sum(-1)).mean()
    found = negative_sampling_gradient(*arguments)
    assert isinstance(found, tuple)
    for gradient, argument, expected in zip(found, arguments, torch.autograd.grad(loss, exactly), strict=True):
        assert gradient.dtype == dtype
        assert gradient.shape == argument.shape
        torch.testing.assert_close(gradient.double(), expected, rtol=0, atol=3 * FLOATS[dtype])


def test_a_nearly_right_answer_still_has_an_accurate_gradient():
    centre = torch.tensor([[30.0]], dtype=torch.float64)  # σ(30) - 1 would keep three digits
    _, d_context, d_negatives = negative_sampling_gradient(centre, centre / 30, -centre.unsqueeze(0) / 30)
    expected = 30 / (1 + math.exp(30))
    assert d_context.item() == pytest.approx(-expected, rel=1e-12, abs=0)
    assert d_negatives.item() == pytest.approx(expected, rel=1e-12, abs=0)


def test_the_gradient_needs_no_autograd():
    arguments = words_and_noise(3)
    with torch.inference_mode():
        inside = negative_sampling_gradient(*arguments)
    for one, other in zip(inside, negative_sampling_gradient(*arguments), strict=True):
        assert torch.equal(one, other)
        assert not other.requires_grad


# analogy


def analogy_by_loop(vectors: Tensor, a: int, b: int, c: int, n: int) -> list[int]:
    rows = [[float(x) for x in row] for row in vectors]
    lengths = [math.sqrt(math.fsum(x * x for x in row)) or 1.0 for row in rows]
    unit = [[x / length for x in row] for row, length in zip(rows, lengths, strict=True)]
    goal = [y - x + z for x, y, z in zip(unit[a], unit[b], unit[c], strict=True)]
    scores = [math.fsum(x * y for x, y in zip(row, goal, strict=True)) for row in unit]
    return sorted(set(range(len(rows))) - {a, b, c}, key=lambda word: (-scores[word], word))[:n]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("seed", range(5))
def test_answers_against_a_loop(dtype, seed):
    lengths = torch.logspace(-1, 1, 23, dtype=torch.float64)[:, None]
    vectors = (drawn(23, 4, seed=seed) * lengths).to(dtype)
    vectors[seed + 7] = 0.0
    for n in (1, 3, 19, 20, 21, 100):
        found = analogy(vectors, 2, 17, 5, n)
        assert type(found) is list
        assert all(type(word) is int for word in found)
        assert found == analogy_by_loop(vectors, 2, 17, 5, n)


def test_one_answer_unless_said_and_none_if_none_is_wanted():
    vectors = drawn(9, 4, seed=12)
    assert analogy(vectors, 0, 1, 2) == analogy(vectors, 0, 1, 2, 5)[:1]
    assert analogy(vectors, 0, 1, 2, 0) == []


def test_a_step_that_two_pairs_share():
    royal, male, female = torch.eye(3, dtype=torch.float64)
    vectors = torch.stack([male, female, royal + male, royal + female, royal, -female])
    assert analogy(vectors, 0, 1, 2) == [3]


def test_the_words_of_the_question_are_no_answers():
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0]])
    assert analogy(vectors, 0, 1, 2, 4) == [3]
    assert analogy(vectors, 2, 2, 2, 4) == [1, 0, 3]  # the same word thrice is one word
    assert analogy(vectors[:3], 0, 1, 2) == []  # no word is left
    assert analogy(vectors[:1], 0, 0, 0) == []


def test_length_does_not_matter():
    vectors = drawn(12, 5, seed=13)
    scaled = vectors * torch.logspace(-150, 150, 12, dtype=torch.float64)[:, None]
    assert analogy(scaled, 1, 2, 3, 12) == analogy(vectors, 1, 2, 3, 12)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_of_zeros_stays_and_scores_zero(dtype):
    vectors = torch.tensor([[1, 0], [1, 0], [0, 2], [0, 0], [1, 1], [0, -3], [0, 0], [4, 0]], dtype=dtype)
    assert analogy(vectors, 0, 1, 2, 5) == [4, 3, 6, 7, 5]
    assert analogy(vectors, 3, 6, 2, 5) == [4, 0, 1, 7, 5]  # from zeros to zeros is no step


@pytest.mark.parametrize("columns_first", [False, True])
@pytest.mark.parametrize(("vocab", "d"), [(7, 3), (31, 9), (50, 65)])
def test_of_equal_vectors_the_smaller_id_comes_first(columns_first, vocab, d):
    for seed in range(20):
        some = drawn(5, d, seed=seed)
        vectors = torch.cat([some[:3], some[3:][whole(2, vocab, seed=seed)]])
        if columns_first:
            vectors = vectors.T.contiguous().T
        assert analogy(vectors, 0, 1, 2, vocab) == analogy_by_loop(vectors, 0, 1, 2, vocab)


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("a is 6, expected an id from 0 to 5: vectors has a row for each.", (6, 1, 2)),
        ("b is -1, expected an id from 0 to 5: vectors has a row for each.", (0, -1, 2)),
        ("c is 'king', expected an id from 0 to 5: vectors has a row for each.", (0, 1, "king")),
        ("n is -1, expected an integer that is not negative.", (0, 1, 2, -1)),
    ],
)
def test_questions_about_no_word(words, arguments):
    refuses(ValueError, f"analogy: {words}", analogy, torch.ones(6, 4), *arguments)


def test_vectors_are_one_for_each_word():
    words = "analogy: vectors has shape (2, 6, 4), expected 2 dimensions: (vocab, d)."
    refuses(ValueError, words, analogy, torch.ones(2, 6, 4), 0, 1, 2)


# linear_probe


def probe_by_least_squares(train_x: Tensor, train_y: Tensor, test_x: Tensor, n_classes: int, ridge: float) -> Tensor:
    """The penalty as further examples, the intercept as a further column that these leave alone."""
    d = train_x.shape[1]
    examples = torch.cat([train_x.double(), torch.ones(len(train_x), 1)], dim=1)
    penalties = math.sqrt(ridge) * torch.eye(d, d + 1, dtype=torch.float64)
    wanted = torch.zeros(len(train_x) + d, n_classes, dtype=torch.float64)
    for i, label in enumerate(train_y.tolist()):
        wanted[i, label] = 1.0
    w = torch.linalg.lstsq(torch.cat([examples, penalties]), wanted, driver="gelsd").solution
    return test_x.double() @ w[:d] + w[d]


@pytest.mark.parametrize(("train", "d", "test", "n_classes"), [(17, 4, 6, 3), (5, 9, 7, 3), (1, 4, 3, 2), (8, 1, 1, 5)])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 1, 40.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_probe_is_a_least_squares_problem(train, d, test, n_classes, ridge, dtype):
    train_x, test_x = drawn(train, d, seed=14, dtype=dtype) + 2, drawn(test, d, seed=15, dtype=dtype) - 1
    train_y = whole(n_classes, train, seed=16)
    found = linear_probe(train_x, train_y, test_x, n_classes, ridge)
    assert found.dtype == dtype
    assert found.shape == (test, n_classes)
    expected = probe_by_least_squares(train_x, train_y, test_x, n_classes, ridge)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=max(FLOATS[dtype], 1e-10))


def test_the_probe_minimises_what_it_says():
    train_x, train_y = drawn(11, 4, seed=17), whole(3, 11, seed=18)
    scores = linear_probe(train_x, train_y, torch.cat([torch.zeros(1, 4), torch.eye(4)]).double(), 3, 0.7)
    b, w = scores[0].clone().requires_grad_(), (scores[1:] - scores[0]).requires_grad_()
    wanted = torch.eye(3, dtype=torch.float64)[train_y]
    objective = (train_x @ w + b - wanted).square().sum() + 0.7 * w.square().sum()
    for gradient in torch.autograd.grad(objective, (w, b)):  # the objective is convex: 0 only at its minimum
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-12)


def test_the_ridge_is_1_unless_said():
    arguments = drawn(11, 4, seed=17), whole(3, 11, seed=18), drawn(5, 4, seed=19), 3
    assert torch.equal(linear_probe(*arguments), linear_probe(*arguments, 1.0))


def test_a_class_that_does_not_occur_is_never_read():
    scores = linear_probe(drawn(11, 4, seed=17), 2 * whole(2, 11, seed=18), drawn(5, 4, seed=19), 6)
    assert (scores[:, [1, 3, 4, 5]] == 0).all()
    torch.testing.assert_close(scores.sum(-1), torch.ones(5, dtype=torch.float64))


def test_the_intercept_is_free_so_that_moving_all_vectors_changes_nothing():
    train_x, train_y, test_x = drawn(11, 4, seed=17), whole(3, 11, seed=18), drawn(5, 4, seed=19)
    expected = linear_probe(train_x, train_y, test_x, 3)
    torch.testing.assert_close(linear_probe(train_x + 100, train_y, test_x + 100, 3), expected)
    shares = train_y.bincount(minlength=3).double() / 11
    torch.testing.assert_close(linear_probe(train_x, train_y, test_x, 3, 1e12), shares.expand(5, 3))


def test_a_small_ridge_in_float32():
    train_x, train_y = drawn(6, 20, seed=20, dtype=torch.float32) * 10, torch.tensor([0, 1, 2, 0, 1, 2])
    found = linear_probe(train_x, train_y, train_x, 3, 1e-6)  # 20 weights for 6 examples: only the ridge decides
    torch.testing.assert_close(found, torch.eye(3)[train_y], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("error", "words", "change"),
    [
        (ValueError, "train_y has 3, expected classes from 0 to 2, as n_classes says.", {1: torch.tensor([0, 1, 3])}),
        (ValueError, "train_y has -1, expected classes from 0 to 2, as n_classes says.", {1: torch.tensor([0, -1, 2])}),
        (
            ValueError,
            "train_y has shape (2,), so train = 2; expected train = 3, as train_x has it. train_y is (train,).",
            {1: torch.tensor([0, 1])},
        ),
        (
            TypeError,
            "train_y is float32, expected int64 (token ids, positions, lengths). Use train_y.long().",
            {1: torch.ones(3)},
        ),
        (
            ValueError,
            "test_x has shape (5, 6), so d = 6; expected d = 4, as train_x has it. test_x is (test, d).",
            {2: torch.ones(5, 6)},
        ),
        (ValueError, "n_classes is 0, expected a positive integer.", {3: 0}),
        (ValueError, "ridge is 0.0, expected a number above 0.", {4: 0.0}),
    ],
)
def test_what_cannot_be_probed(error, words, change):
    good = {0: torch.ones(3, 4), 1: torch.tensor([0, 1, 2]), 2: torch.ones(5, 4), 3: 3, 4: 1.0}
    refuses(error, f"linear_probe: {words}", linear_probe, *(good | change).values())


# attention_rollout


def rollout_by_loop(weights: Tensor) -> Tensor:
    """By its meaning: how much of i comes from j over all the ways from layer to layer."""
    n_layers, n_heads, seq, _ = weights.shape
    shares = torch.eye(seq, dtype=torch.float64)
    for layer in range(n_layers):
        after = torch.zeros(seq, seq, dtype=torch.float64)
        for i, via, j in itertools.product(range(seq), repeat=3):
            seen = math.fsum(float(weights[layer, h, i, via]) for h in range(n_heads)) / n_heads
            after[i, j] += (seen + (i == via)) / 2 * shares[via, j]
        shares = after
    return shares


@pytest.mark.parametrize(("n_layers", "n_heads", "seq"), [(1, 2, 5), (3, 1, 4), (4, 3, 5), (2, 3, 1)])
@pytest.mark.parametrize("leading", [(), (1,), (2,), (2, 6)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_rollout_against_a_loop(n_layers, n_heads, seq, leading, dtype):
    weights = (3 * drawn(n_layers, *leading, n_heads, seq, seq, seed=21)).softmax(-1).to(dtype)
    found = attention_rollout(weights)
    assert found.dtype == dtype
    assert found.shape == (*leading, seq, seq)
    for place in itertools.product(*(range(size) for size in leading)):
        expected = rollout_by_loop(weights.double()[(slice(None), *place)])
        torch.testing.assert_close(found[place].double(), expected, rtol=0, atol=FLOATS[dtype])


def test_the_rollout_of_a_causal_model_is_causal_and_its_rows_sum_to_1():
    scores = drawn(3, 2, 4, 6, 6, seed=22)
    weights = scores.masked_fill(~torch.ones(6, 6).tril().bool(), -math.inf).softmax(-1)
    found = attention_rollout(weights)
    assert torch.equal(found, found.tril())
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 6, dtype=torch.float64))


def test_the_last_layer_stands_on_the_left():
    first, last = torch.zeros(2, 3, 3)
    first[[0, 1, 2], [0, 0, 2]] = 1.0  # word 1 reads word 0
    last[[0, 1, 2], [0, 1, 1]] = 1.0  # then word 2 reads word 1, and gets what that has read
    found = attention_rollout(torch.stack([first, last]).unsqueeze(1))
    assert found.tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]


@pytest.mark.parametrize(
    ("words", "shape"),
    [
        (
            "weights has shape (3, 5, 5), expected at least 4 dimensions: (layer, ..., head, seq, seq). "
            "Use torch.stack on your layers.",
            (3, 5, 5),
        ),
        ("weights has shape (5, 5), expected at least 3 dimensions: (..., head, seq, seq).", (5, 5)),
        (
            "weights has shape (0, 3, 5, 5), so layer is 0. "
            "Expected (layer, ..., head, seq, seq) with at least one layer.",
            (0, 3, 5, 5),
        ),
        (
            "weights has shape (2, 3, 5, 4), so seq = 4; expected seq = 5, as weights has it. "
            "weights is (..., head, seq, seq).",
            (2, 3, 5, 4),
        ),
    ],
)
def test_what_cannot_be_rolled_out(words, shape):
    refuses(ValueError, f"attention_rollout: {words}", attention_rollout, torch.ones(shape))


# What all of them promise

CALLS = {
    "skip_gram_pairs": (skip_gram_pairs, lambda: (whole(5, 11, seed=23), 3)),
    "negative_samples": (lambda c: negative_samples(c, (5, 3), seeded(24)), lambda: (whole(50, 7, seed=25),)),
    "negative_sampling_loss": (negative_sampling_loss, lambda: words_and_noise(3)),
    "negative_sampling_gradient": (negative_sampling_gradient, lambda: words_and_noise(3)),
    "analogy": (lambda v: analogy(v, 1, 2, 3, 4), lambda: (drawn(9, 4, seed=26),)),
    "linear_probe": (
        lambda x, y, z: linear_probe(x, y, z, 3),
        lambda: (drawn(7, 4, seed=27), whole(3, 7, seed=28), drawn(5, 4, seed=29)),
    ),
    "attention_rollout": (attention_rollout, lambda: (drawn(3, 2, 4, 5, 5, seed=30).softmax(-1),)),
}


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_left_as_they_were(name):
    function, make = CALLS[name]
    arguments = make()
    function(*arguments)
    for after, before in zip(arguments, make(), strict=True):
        assert torch.equal(torch.as_tensor(after), torch.as_tensor(before))


@pytest.mark.parametrize("name", CALLS)
def test_the_same_without_gradients_and_a_second_time(name):
    function, make = CALLS[name]
    first = function(*make())
    with torch.no_grad():
        second = function(*make())
    torch.testing.assert_close(first, second, rtol=0, atol=0)


@pytest.mark.parametrize("n", [0, 6])
def test_the_gradient_of_the_loss_agrees_with_finite_differences(n):
    torch.autograd.gradcheck(negative_sampling_loss, tuple(a.requires_grad_() for a in words_and_noise(3, n=n)))


def test_the_gradient_of_the_probe_agrees_with_finite_differences():
    function, make = CALLS["linear_probe"]
    torch.autograd.gradcheck(function, tuple(a.requires_grad_(a.is_floating_point()) for a in make()))


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_made_on_another_device(name):
    function, make = CALLS[name]
    arguments = make()
    expected = function(*arguments)
    with torch.device("meta"):  # where a tensor goes that is made without a word about its device
        found = function(*arguments)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
