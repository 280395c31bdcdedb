"""Chapter 16's reference against plain loops in float64, at the edges, and on bad input."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.elsewhere import (
    kmer_ids,
    motif_scores,
    patch_series,
    retrieval_recall,
    running_zscore,
    scaled_error,
    time_split,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}
LEADING = [(), (2,), (3, 1), (2, 5)]
OTHER_STRAND = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def bases(*shape: int, seed: int, kinds: int = 5) -> Tensor:
    return torch.randint(kinds, shape, generator=torch.Generator().manual_seed(seed))


def dna(text: str) -> Tensor:
    return torch.tensor(["ACGTN".index(base) for base in text], dtype=torch.int64)


def letters(ids: Tensor) -> str:
    return "".join("ACGTN"[i] for i in ids.tolist())


def reverse_complement(text: str) -> str:
    return "".join(OTHER_STRAND[base] for base in reversed(text))


def rows(x: Tensor) -> list[Tensor]:
    """All sequences of a tensor (..., seq), one after the other."""
    return list(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]))


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# kmer_ids


def word_by_hand(text: str, canonical: bool) -> int:
    if "N" in text:
        return 4 ** len(text)
    strands = [text, reverse_complement(text)] if canonical else [text]
    return min(int("".join(str("ACGT".index(base)) for base in strand), base=4) for strand in strands)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("k", [1, 2, 3, 6, 11])
@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("unknown", [[], [2]])
def test_kmers_are_numbers_in_base_4(leading, k, canonical, unknown):
    ids = bases(*leading, 11, seed=k, kinds=4)
    ids[..., unknown] = 4
    before = ids.clone()
    found = kmer_ids(ids, k, canonical)
    assert found.dtype == torch.int64
    assert found.shape == (*leading, 11 - k + 1)
    assert torch.equal(ids, before)
    for row, words in zip(rows(ids), rows(found), strict=True):
        text = letters(row)
        assert words.tolist() == [word_by_hand(text[t : t + k], canonical) for t in range(11 - k + 1)]


def test_the_first_base_counts_most():
    assert kmer_ids(dna("CAT"), 3).tolist() == [1 * 16 + 0 * 4 + 3]


def test_a_canonical_word_is_the_same_on_both_strands():
    text = "GATTACANCCGT"
    here, there = kmer_ids(dna(text), 4, True), kmer_ids(dna(reverse_complement(text)), 4, True)
    assert torch.equal(here, there.flip(0))
    plain = kmer_ids(dna(text), 4)
    assert not torch.equal(here, plain)
    assert (here <= plain).all()


def test_an_n_spoils_every_word_that_holds_it_and_no_other():
    assert (kmer_ids(dna("AANAAA"), 2) == 16).tolist() == [False, True, True, False, False]


@pytest.mark.parametrize("seq", [0, 1, 3])
def test_a_text_shorter_than_a_word_has_none(seq):
    for canonical in (False, True):
        found = kmer_ids(bases(2, seq, seed=0), 4, canonical)
        assert found.shape == (2, 0)
        assert found.dtype == torch.int64


def test_the_longest_words_fit():
    assert kmer_ids(dna("T" * 31), 31).tolist() == [4**31 - 1]
    assert kmer_ids(dna("T" * 31), 31, True).tolist() == [0]
    assert kmer_ids(dna("T" * 30 + "N"), 31, True).tolist() == [4**31]


def test_kmers_of_bad_input():
    good = dna("ACGT")
    refuses(ValueError, "kmer_ids: k is 0, expected a positive integer.", kmer_ids, good, 0)
    refuses(ValueError, "kmer_ids: k is 32, expected at most 31: 4**k has to fit into an int64.", kmer_ids, good, 32)
    for wrong in (5, -1):
        words = f"kmer_ids: ids contains {wrong}, expected 0 to 4, for A C G T N."
        refuses(ValueError, words, kmer_ids, torch.tensor([[0, wrong, 7]]), 2)
    words = "kmer_ids: ids is float32, expected int64 (token ids, positions, lengths). Use ids.long()."
    refuses(TypeError, words, kmer_ids, good.float(), 2)
    words = "kmer_ids: ids has shape (), expected at least 1 dimension: (..., seq)."
    refuses(ValueError, words, kmer_ids, torch.tensor(1), 2)


# motif_scores


def score_by_hand(text: str, pwm: Tensor) -> float:
    worth = pwm.double().tolist()
    return math.fsum(worth[i]["ACGT".index(base)] for i, base in enumerate(text) if base != "N")


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("m", [1, 3, 5, 9])
@pytest.mark.parametrize("dtype", FLOATS)
def test_motifs_are_scored_on_both_strands(leading, m, dtype):
    ids, pwm = bases(*leading, 9, seed=m), drawn(m, 4, seed=m, dtype=dtype)
    forward, backward = motif_scores(ids, pwm)
    n = 9 - m + 1
    assert forward.shape == backward.shape == (*leading, n)
    assert forward.dtype == backward.dtype == dtype
    texts = [letters(row) for row in rows(ids)]
    windows = [[text[t : t + m] for t in range(n)] for text in texts]
    for found, read in ((forward, str), (backward, reverse_complement)):
        expected = torch.tensor([[score_by_hand(read(w), pwm) for w in row] for row in windows], dtype=torch.float64)
        torch.testing.assert_close(
            found.double(), expected.reshape(found.shape), rtol=FLOATS[dtype], atol=2 * FLOATS[dtype]
        )


def test_the_other_strand_has_the_two_scores_swapped_and_in_reverse():
    text, pwm = "GATTACANCCGTA", drawn(4, 4, seed=3)
    here, there = motif_scores(dna(text), pwm), motif_scores(dna(reverse_complement(text)), pwm)
    torch.testing.assert_close(here[0], there[1].flip(0))
    torch.testing.assert_close(here[1], there[0].flip(0))


def test_only_n_is_worth_0():
    forward, backward = motif_scores(dna("NNNNN"), drawn(3, 4, seed=4))
    assert forward.tolist() == backward.tolist() == [0, 0, 0]


def test_an_impossible_base_does_not_spoil_other_places():
    pwm = torch.zeros(2, 4)
    pwm[0, 1] = -math.inf  # no C in the first place
    forward, backward = motif_scores(dna("ACNG"), pwm)
    assert forward.tolist() == [0, -math.inf, 0]
    assert backward.tolist() == [0, 0, -math.inf]  # the complement of the last G comes first


@pytest.mark.parametrize("seq", [0, 1, 4])
def test_a_text_shorter_than_the_motif_has_no_scores(seq):
    pwm = drawn(5, 4, seed=5).requires_grad_()
    forward, backward = motif_scores(bases(2, seq, seed=0), pwm)
    assert forward.shape == backward.shape == (2, 0)
    assert forward.dtype == backward.dtype == torch.float64


def test_the_gradient_of_a_motif_counts_its_bases():
    pwm = drawn(2, 4, seed=6).requires_grad_()
    forward, backward = motif_scores(dna("AACNT"), pwm)
    counts, other_counts = (torch.autograd.grad(scores.sum(), pwm)[0] for scores in (forward, backward))
    assert counts.tolist() == [[2, 1, 0, 0], [1, 1, 0, 1]]  # of A A C N, and of A C N T
    assert other_counts.tolist() == [[1, 0, 1, 1], [0, 0, 1, 2]]  # of T G N A, and of T T G N


def test_motifs_of_bad_input():
    words = "motif_scores: pwm has 5 columns, expected 4: one for each of A C G T."
    refuses(ValueError, words, motif_scores, dna("ACGT"), torch.ones(2, 5))
    words = "motif_scores: ids contains 6, expected 0 to 4, for A C G T N."
    refuses(ValueError, words, motif_scores, torch.tensor([1, 6]), torch.ones(2, 4))
    words = "motif_scores: pwm is int64, expected a floating dtype. Use pwm.float()."
    refuses(TypeError, words, motif_scores, dna("ACGT"), torch.ones(2, 4).long())
    words = "motif_scores: pwm has shape (0, 4), so m is 0. Expected (m, base) with at least one entry in each."
    refuses(ValueError, words, motif_scores, dna("ACGT"), torch.ones(0, 4))


# patch_series


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("time", "patch"), [(11, 4), (12, 4), (7, 1), (1, 1), (6, 6), (3, 8), (0, 3)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_patches_end_with_the_newest_value(leading, time, patch, dtype):
    x = drawn(*leading, time, seed=time, dtype=dtype)
    found = patch_series(x, patch)
    assert found.dtype == dtype
    assert found.shape == (*leading, time // patch, patch)
    assert not found.numel() or torch.equal(found[..., -1, -1], x[..., -1])
    for series, patches in zip(rows(x), found.reshape(math.prod(leading), *found.shape[-2:]), strict=True):
        values, expected = series.tolist(), []
        while len(values) >= patch:
            expected.insert(0, values[-patch:])
            del values[-patch:]
        assert patches.tolist() == expected


def test_the_oldest_values_are_dropped():
    x = torch.arange(8.0).requires_grad_()
    found = patch_series(x, 3)
    assert found.tolist() == [[2, 3, 4], [5, 6, 7]]
    found.sum().backward()
    assert x.grad.tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


def test_patches_of_bad_input():
    refuses(ValueError, "patch_series: patch is 0, expected a positive integer.", patch_series, torch.ones(3), 0)
    words = "patch_series: x is int64, expected a floating dtype. Use x.float()."
    refuses(TypeError, words, patch_series, torch.arange(3), 2)


# time_split


def split_by_hand(length: int, context: int, horizon: int, cut: int) -> tuple[list[int], list[int]]:
    train, test = [], []
    for start in range(length):
        predicted = range(start + context, start + context + horizon)
        if max(predicted) >= length:
            continue
        if all(t < cut for t in predicted):
            train.append(start)
        if all(t >= cut for t in predicted):
            test.append(start)
    return train, test


@pytest.mark.parametrize("length", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("context", [0, 1, 3, 10])
@pytest.mark.parametrize("horizon", [1, 2, 4, 10])
def test_windows_are_split_by_what_they_predict(length, context, horizon):
    for cut in range(length + 1):
        found = time_split(length, context, horizon, cut)
        assert all(starts.dtype == torch.int64 and starts.dim() == 1 for starts in found)
        assert tuple(starts.tolist() for starts in found) == split_by_hand(length, context, horizon, cut)


def test_what_is_read_may_lie_before_the_cut_and_what_straddles_it_is_in_neither():
    train, test = time_split(length=12, context=3, horizon=2, cut=7)
    assert train.tolist() == [0, 1, 2]  # 2 predicts 5 and 6
    assert test.tolist() == [4, 5, 6, 7]  # 4 reads 4, 5, 6, and 3 would predict 6 and 7


def test_splits_of_bad_input():
    refuses(ValueError, "time_split: cut is 6, expected at most length = 5.", time_split, 5, 1, 1, 6)
    words = "time_split: cut is -1, expected an integer that is not negative."
    refuses(ValueError, words, time_split, 5, 1, 1, -1)
    refuses(ValueError, "time_split: horizon is 0, expected a positive integer.", time_split, 5, 1, 0, 2)
    words = "time_split: context is -2, expected an integer that is not negative."
    refuses(ValueError, words, time_split, 5, -2, 1, 2)


# running_zscore


def zscore_by_loop(x: Tensor, eps: float) -> Tensor:
    x = x.double()
    columns = []
    for t in range(x.shape[-1]):
        seen = x[..., : t + 1]
        mean, variance = seen.mean(dim=-1), seen.var(dim=-1, correction=0)
        columns.append((x[..., t] - mean) / (variance + eps).sqrt())
    return torch.stack(columns, dim=-1)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("time", [1, 2, 13])
@pytest.mark.parametrize("eps", [1e-5, 0.3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_each_value_is_normalised_by_what_is_known_by_then(leading, time, eps, dtype):
    x = drawn(*leading, time, seed=time, dtype=dtype)
    found = running_zscore(x, eps)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), zscore_by_loop(x, eps), rtol=FLOATS[dtype], atol=FLOATS[dtype])


def test_nothing_later_is_seen():
    x = drawn(3, 17, seed=7)
    changed = x.clone()
    changed[:, 9:] += 50
    torch.testing.assert_close(running_zscore(x)[:, :9], running_zscore(changed)[:, :9], rtol=0, atol=0)


@pytest.mark.parametrize("start", ["typical", "outlier"])
@pytest.mark.parametrize("mean", [100.0, -1000.0])
def test_it_is_as_accurate_as_layer_norm(start, mean):
    x = (mean + drawn(4, 300, seed=8)).float()
    if start == "outlier":
        x[:, 0] = 0
    errors = (running_zscore(x).double() - zscore_by_loop(x, 1e-5)).abs()
    by_layer_norm = torch.stack([F.layer_norm(x[:, : t + 1], (t + 1,))[:, -1] for t in range(300)], dim=-1)
    allowed = (by_layer_norm.double() - zscore_by_loop(x, 1e-5)).abs()
    assert errors.max() <= max(2 * float(allowed.max()), 1e-5)


def test_a_spike_after_a_jump():
    x = 1000 + drawn(6, 20_000, seed=11).float()
    x[:, 0], x[:, -1] = 0, 2000  # squares around x_0 are 10,000 times the variance: few digits are left of a difference
    exact = x.double()
    expected = (exact[:, -1] - exact.mean(dim=1)) / (exact.var(dim=1, correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(running_zscore(x)[:, -1].double(), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_long_series_of_few_digits(dtype):
    x = (100 + 2 * drawn(2, 700, seed=9)).to(dtype)  # 700·100 is more than float16 holds
    expected = zscore_by_loop(x, 1e-5)
    torch.testing.assert_close(running_zscore(x).double(), expected, rtol=torch.finfo(dtype).eps, atol=1e-4)


def test_a_series_that_stands_still_is_0():
    assert running_zscore(torch.full((2, 300), 100.1)).tolist() == [[0.0] * 300] * 2


def test_its_gradient():
    x = drawn(2, 6, seed=10).requires_grad_()
    assert torch.autograd.gradcheck(running_zscore, (x, 0.1))
    still = torch.full((5,), 3.0, requires_grad=True)
    running_zscore(still).sum().backward()
    assert still.grad.isfinite().all()


def test_zscores_of_bad_input():
    words = "running_zscore: eps is 0.0, expected a number above 0."
    refuses(ValueError, words, running_zscore, torch.ones(3), 0.0)
    words = "running_zscore: x has shape (2, 0), so time is 0. Expected (..., time) with at least one entry in each."
    refuses(ValueError, words, running_zscore, torch.ones(2, 0))


# scaled_error


def error_by_loop(forecast: Tensor, actual: Tensor, history: Tensor, season: int) -> float:
    f, a, h = (x.double().tolist() for x in (forecast, actual, history))
    misses = [abs(x - y) for x, y in zip(f, a, strict=True)]
    steps = [abs(h[t] - h[t - season]) for t in range(season, len(h))]
    return math.fsum(misses) / len(misses) / (math.fsum(steps) / len(steps))


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("horizon", "time", "season"), [(4, 11, 1), (1, 2, 1), (7, 13, 6), (6, 4, 3)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_errors_are_scaled_by_the_naive_forecast(leading, horizon, time, season, dtype):
    sizes = (horizon, horizon, time)
    series = [drawn(*leading, size, seed=20 + i, dtype=dtype) for i, size in enumerate(sizes)]
    found = scaled_error(*series, season)
    assert found.dtype == dtype
    assert found.shape == leading
    expected = [error_by_loop(*three, season) for three in zip(*map(rows, series), strict=True)]
    expected = torch.tensor(expected, dtype=torch.float64).reshape(leading)
    torch.testing.assert_close(found.double(), expected, rtol=4 * FLOATS[dtype], atol=FLOATS[dtype])


def test_the_naive_forecast_of_a_staircase_is_off_by_1():
    history = torch.arange(6.0)
    assert float(scaled_error(torch.tensor([5.0]), torch.tensor([6.0]), history)) == 1
    assert float(scaled_error(torch.tensor([5.0]), torch.tensor([6.0]), history, season=2)) == 0.5


def test_the_gradient_of_the_scaled_error():
    series = [drawn(2, size, seed=30 + i).requires_grad_() for i, size in enumerate((3, 3, 7))]
    assert torch.autograd.gradcheck(lambda *three: scaled_error(*three, 2), series)


def test_scaled_errors_of_bad_input():
    two, three = torch.ones(2), torch.ones(3)
    words = "scaled_error: history has 3 values, expected more than season = 3: each meets the one a season before."
    refuses(ValueError, words, scaled_error, two, two, three, 3)
    refuses(ValueError, "scaled_error: season is 0, expected a positive integer.", scaled_error, two, two, three, 0)
    words = (
        "scaled_error: actual has shape (3,), so horizon = 3; expected horizon = 2, as forecast has it. "
        "actual is (..., horizon)."
    )
    refuses(ValueError, words, scaled_error, two, three, three)


# retrieval_recall


def recall_by_loop(scores: list[list[float]], k: int) -> float:
    found = 0
    for i, row in enumerate(scores):
        ahead = sum(1 for j, score in enumerate(row) if j != i and score >= row[i])
        found += ahead < k
    return found / len(scores)


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("k", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_recall_both_ways(n, k, ties, dtype):
    scores = drawn(n, n, seed=n, dtype=dtype)
    scores = scores.round() if ties else scores
    found = retrieval_recall(scores, k)
    table = scores.tolist()
    expected = recall_by_loop(table, k), recall_by_loop([list(column) for column in zip(*table, strict=True)], k)
    for share, by_loop in zip(found, expected, strict=True):
        assert share.dtype == dtype
        assert share.shape == ()
        assert float(share) == pytest.approx(by_loop, abs=FLOATS[dtype])


def test_rows_are_images_and_columns_are_texts():
    scores = torch.tensor([[3.0, 9, 9], [0, 4, 0], [0, 0, 5]])  # image 0 likes every other text better
    image_to_text, text_to_image = retrieval_recall(scores, 1)
    assert float(image_to_text) == pytest.approx(2 / 3)
    assert float(text_to_image) == pytest.approx(1 / 3)


def test_a_constant_model_finds_nothing_until_all_count():
    scores = torch.zeros(5, 5)
    assert [float(share) for share in retrieval_recall(scores, 4)] == [0, 0]
    assert [float(share) for share in retrieval_recall(scores, 5)] == [1, 1]


def test_recall_of_bad_input():
    refuses(ValueError, "retrieval_recall: k is 0, expected a positive integer.", retrieval_recall, torch.ones(2, 2), 0)
    words = "retrieval_recall: scores has shape (2, 3), so n = 3; expected n = 2, as scores has it. scores is (n, n)."
    refuses(ValueError, words, retrieval_recall, torch.ones(2, 3), 1)


# all of them


def test_inputs_are_left_alone():
    ids, pwm, x = bases(2, 9, seed=40), drawn(3, 4, seed=41), drawn(2, 9, seed=42)
    copies = [t.clone() for t in (ids, pwm, x)]
    kmer_ids(ids, 3, True), motif_scores(ids, pwm), patch_series(x, 4), running_zscore(x)
    scaled_error(x, x + 1, x, 2), retrieval_recall(x[:, :2], 1)
    assert all(torch.equal(t, copy) for t, copy in zip((ids, pwm, x), copies, strict=True))
