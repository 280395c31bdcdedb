"""Chapter 12's reference against brute force on strings, torch's convolution, float64 loops, and hand-made examples."""

from __future__ import annotations

import copy
import math
import random
import re
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.models import (
    LoRALinear,
    PatchEmbedding,
    corrupt_spans,
    encode_bpe,
    mask_tokens,
    perplexity,
    sampling_probabilities,
    train_bpe,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 2e-6}


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def ids(high: int, *shape: int, seed: int) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# train_bpe, encode_bpe


def merged(pieces: list[bytes], left: bytes, right: bytes) -> list[bytes]:
    """Pieces with every (left, right) joined: a scan with an index, which the reference does not have."""
    found, at = [], 0
    while at < len(pieces):
        if pieces[at : at + 2] == [left, right]:
            found.append(left + right)
            at += 2
        else:
            found.append(pieces[at])
            at += 1
    return found


def spelled(merges: list[tuple[int, int]]) -> list[bytes]:
    """What each id stands for."""
    pieces = [bytes([b]) for b in range(256)]
    for a, b in merges:
        pieces.append(pieces[a] + pieces[b])
    return pieces


def trained_slowly(words: list[str], n_merges: int) -> list[tuple[int, int]]:
    """Byte-pair training that keeps a dictionary of counts up to date, word type by word type."""
    kinds: dict[str, int] = {}
    for word in words:
        kinds[word] = kinds.get(word, 0) + 1
    split = {word: list(word.encode("utf-8")) for word in kinds}
    merges: list[tuple[int, int]] = []
    for i in range(n_merges):
        counts: dict[tuple[int, int], int] = {}
        for word, parts in split.items():
            for at in range(len(parts) - 1):
                pair = parts[at], parts[at + 1]
                counts[pair] = counts.get(pair, 0) + kinds[word]
        if not counts:
            break
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        best = ranked[0][0]
        merges.append(best)
        for parts in split.values():
            at = 0
            while at + 1 < len(parts):
                if (parts[at], parts[at + 1]) == best:
                    parts[at : at + 2] = [256 + i]
                at += 1
    return merges


def some_words(seed: int) -> list[str]:
    dice = random.Random(seed)
    return ["".join(dice.choices("abcé力", k=dice.randrange(7))) for _ in range(60)]


def test_merges_by_hand():
    a, b, n = ord("a"), ord("b"), ord("n")
    assert train_bpe(["banana", "ban"], 3) == [(a, n), (b, 256), (256, a)]
    assert train_bpe(["aaa", "bb"], 1) == [(a, a)]  # twice against once
    assert train_bpe(["ba", "ab"], 2) == [(a, b), (b, a)]  # a tie, then what is left
    assert train_bpe(["é"], 9) == [(0xC3, 0xA9)]  # two bytes, then no pair is left


@pytest.mark.parametrize("seed", range(5))
def test_training_against_another_implementation(seed):
    words = some_words(seed)
    for n_merges in (0, 1, 7, 40):
        assert train_bpe(words, n_merges) == trained_slowly(words, n_merges)


def test_training_stops_when_every_word_is_one_piece():
    words = some_words(9)
    merges = train_bpe(words, 10_000)
    assert len(merges) < 10_000
    pieces = spelled(merges)
    assert {word.encode() for word in words if word} <= set(pieces)


def test_training_with_nothing_to_learn():
    assert train_bpe([], 5) == []
    assert train_bpe(["", "a", ""], 5) == []
    assert train_bpe(["ab"], 0) == []


@pytest.mark.parametrize("seed", range(5))
def test_encoding_is_the_merges_in_their_order(seed):
    merges = train_bpe(some_words(seed), 12)
    text = "".join(some_words(seed + 100)) + " ab é"
    pieces, known = [bytes([b]) for b in text.encode()], spelled(merges)
    for a, b in merges:
        pieces = merged(pieces, known[a], known[b])
    found = encode_bpe(text, merges)
    assert [known[i] for i in found] == pieces
    assert b"".join(known[i] for i in found).decode() == text


@pytest.mark.parametrize("seed", range(5))
def test_encoding_is_always_the_lowest_rank_that_is_there(seed):
    merges = train_bpe(some_words(seed), 12)
    rank = {pair: i for i, pair in enumerate(merges)}
    text = "".join(some_words(seed + 200))
    left = list(text.encode())
    while any(pair in rank for pair in pairwise(left)):
        at = min(range(len(left) - 1), key=lambda i: rank.get((left[i], left[i + 1]), math.inf))
        left[at : at + 2] = [256 + rank[left[at], left[at + 1]]]
    assert encode_bpe(text, merges) == left


def test_what_words_learn_words_are_encoded_by():
    words = some_words(3)
    merges = train_bpe(words, 1000)
    assert all(len(encode_bpe(word, merges)) == 1 for word in words if word)


def test_encoding_by_hand():
    a, b = ord("a"), ord("b")
    assert encode_bpe("aaa", [(a, a)]) == [256, a]
    assert encode_bpe("aaaa", [[a, a], [256, 256]]) == [257]
    assert encode_bpe("ab ab", [(a, b), (256, 32)]) == [257, 256]  # across the space
    assert encode_bpe("", [(a, b)]) == []
    assert encode_bpe("力", []) == [0xE5, 0x8A, 0x9B]


def test_what_byte_pairs_refuse():
    words = "train_bpe: words is a single string, expected a list of strings. Use words.split(), or [words]."
    refuses(ValueError, words, train_bpe, "banana", 3)
    refuses(ValueError, "train_bpe: words contains b'a', expected strings only.", train_bpe, ["a", b"a"], 3)
    refuses(ValueError, "train_bpe: n_merges is -1, expected an integer that is not negative.", train_bpe, ["a"], -1)
    words = (
        "merges[1] is (97, 257), expected a pair of ids from 0 to 256: the bytes, and what the merges before it make."
    )
    refuses(ValueError, f"encode_bpe: {words}", encode_bpe, "ab", [(97, 98), (97, 257)])
    words = "merges[0] is (97,), expected a pair of ids from 0 to 255: the bytes, and what the merges before it make."
    refuses(ValueError, f"encode_bpe: {words}", encode_bpe, "ab", [(97,)])
    refuses(ValueError, "encode_bpe: text is a bytes, expected a string.", encode_bpe, b"ab", [])


# mask_tokens


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("p", [0.0, 0.15, 0.6, 1.0])
def test_masking_token_by_token(shape, p):
    tokens, special = ids(11, *shape, seed=1), [0, 4]
    inputs, targets = mask_tokens(tokens, 12, 13, special, torch.Generator().manual_seed(5), p)
    replay = torch.Generator().manual_seed(5)
    a, b = torch.rand(shape, generator=replay), torch.rand(shape, generator=replay)
    c = torch.randint(13, shape, generator=replay)
    wanted_inputs, wanted_targets = [], []
    for token, chance, kind, other in zip(*(t.flatten().tolist() for t in (tokens, a, b, c)), strict=True):
        chosen = chance < p and token not in special
        wanted_targets.append(token if chosen else -100)
        wanted_inputs.append(token if not chosen or kind >= 0.9 else 12 if kind < 0.8 else other)
    assert inputs.dtype == targets.dtype == torch.int64
    assert inputs.shape == targets.shape == shape
    assert inputs.flatten().tolist() == wanted_inputs
    assert targets.flatten().tolist() == wanted_targets


def test_all_three_draws_are_always_made():
    generator, replay = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    mask_tokens(ids(5, 4, 6, seed=0), 9, 10, (0, 1, 2, 3, 4), generator, 0.0)
    torch.rand(4, 6, generator=replay), torch.rand(4, 6, generator=replay)
    torch.randint(10, (4, 6), generator=replay)
    assert torch.equal(torch.rand(5, generator=generator), torch.rand(5, generator=replay))


def test_shares_of_a_large_text():
    tokens = torch.full((200_000,), 3)
    inputs, targets = mask_tokens(tokens, 50, 40, [], torch.Generator().manual_seed(0))
    chosen = targets != -100
    assert math.isclose(chosen.float().mean(), 0.15, abs_tol=0.004)
    assert math.isclose((inputs[chosen] == 50).float().mean(), 0.8, abs_tol=0.01)
    assert math.isclose((inputs[chosen] == 3).float().mean(), 0.1 + 0.1 / 40, abs_tol=0.01)
    assert torch.equal(inputs[~chosen], tokens[~chosen])


def test_what_masking_refuses():
    generator = torch.Generator()
    words = "mask_tokens: ids is float32, expected int64 (token ids, positions, lengths). Use ids.long()."
    refuses(TypeError, words, mask_tokens, torch.zeros(3), 1, 5, [], generator)
    words = "mask_tokens: p is 15, expected a probability from 0 to 1."
    refuses(ValueError, words, mask_tokens, ids(5, 3, seed=0), 1, 5, [], generator, 15)
    words = "mask_tokens: vocab is 0, expected a positive integer."
    refuses(ValueError, words, mask_tokens, ids(5, 3, seed=0), 1, 0, [], generator)


# corrupt_spans


def test_spans_by_hand():
    text = [10, 11, 12, 13, 14, 15, 16]
    assert corrupt_spans(text, [(1, 2), (4, 1)], 99) == ([10, 99, 13, 98, 15, 16], [99, 11, 12, 98, 14, 97])
    assert corrupt_spans(text, [(0, 3), (3, 4)], 50) == ([50, 49], [50, 10, 11, 12, 49, 13, 14, 15, 16, 48])
    assert corrupt_spans(text, [], 50) == (text, [50])
    assert corrupt_spans([], [], 7) == ([], [7])


@pytest.mark.parametrize("seed", range(20))
def test_targets_put_back_where_their_sentinels_stand_give_the_text(seed):
    dice = random.Random(seed)
    text = [dice.randrange(100) for _ in range(dice.randrange(1, 30))]
    spans, at = [], 0
    while at < len(text):
        at += dice.randrange(4)
        length = dice.randrange(1, 4)
        if at + length <= len(text):
            spans.append((at, length))
        at += length
    before = list(text)
    inputs, targets = corrupt_spans(text, spans, 999)
    sentinels = [999 - i for i in range(len(spans) + 1)]
    assert [t for t in targets if t > 100] == sentinels
    assert [t for t in inputs if t > 100] == sentinels[:-1]
    cut = [targets.index(s) for s in sentinels]
    hidden = {s: targets[a + 1 : b] for s, a, b in zip(sentinels, cut, cut[1:], strict=False)}
    assert [t for token in inputs for t in hidden.get(token, [token])] == text == before
    assert [len(h) for h in hidden.values()] == [length for _, length in spans]


def test_what_spans_refuse():
    words = "corrupt_spans: spans[1] starts at 2, expected 3 or later: spans are in order and do not overlap."
    refuses(ValueError, words, corrupt_spans, [1, 2, 3, 4], [(1, 2), (2, 1)], 9)
    words = "corrupt_spans: the last span ends before position 5, but there are 4 ids."
    refuses(ValueError, words, corrupt_spans, [1, 2, 3, 4], [(2, 3)], 9)
    words = "corrupt_spans: spans[0] is (1, 0), expected a length of 1 or more."
    refuses(ValueError, words, corrupt_spans, [1, 2, 3, 4], [(1, 0)], 9)


# perplexity


@pytest.mark.parametrize("dtype", FLOATS)
def test_perplexity_token_by_token(dtype):
    logits, said, lengths = drawn(4, 6, 5, seed=0), ids(5, 4, 6, seed=1), torch.tensor([6, 1, 3, 0])
    surprises = []
    for b, length in enumerate(lengths.tolist()):
        for t in range(1, length):
            powers = [math.exp(x) for x in logits[b, t - 1].tolist()]
            surprises.append(-math.log(powers[int(said[b, t])] / sum(powers)))
    assert len(surprises) == 7
    found = perplexity(logits.to(dtype), said, lengths)
    assert found.dtype == dtype
    assert found.shape == ()
    assert math.isclose(found.item(), math.exp(sum(surprises) / 7), rel_tol=FLOATS[dtype])


def test_perplexity_of_a_model_that_knows_nothing_is_the_vocabulary():
    assert math.isclose(perplexity(torch.zeros(2, 5, 7), ids(7, 2, 5, seed=0), torch.tensor([5, 3])), 7, rel_tol=1e-6)


def test_perplexity_is_calm_about_huge_logits_and_about_padding():
    logits, said, lengths = drawn(3, 4, 5, seed=2), ids(5, 3, 4, seed=3), torch.tensor([4, 2, 1])
    huge = logits + torch.tensor([1e4, -1e4, 0.0])[:, None, None]
    huge[1, 1:] = torch.tensor([1e4, -1e4, 1e4, -1e4, 0])
    huge[2] = 1e4
    said[1, 2:] = -7  # what stands in the padding is not read
    huge.requires_grad_()
    found = perplexity(huge, said, lengths)
    torch.testing.assert_close(found, perplexity(logits, said, lengths))
    (gradient,) = torch.autograd.grad(found, huge)
    assert gradient.isfinite().all()
    assert gradient[1, 1:].abs().max() == gradient[2].abs().max() == gradient[:, -1].abs().max() == 0
    assert torch.autograd.gradcheck(lambda x: perplexity(x, said, lengths), logits.requires_grad_())


def test_what_perplexity_refuses():
    logits, said = drawn(2, 3, 5, seed=0), ids(5, 2, 3, seed=0)
    words = "perplexity: every length is 0 or 1, so no token has one before it that could predict it."
    refuses(ValueError, words, perplexity, logits, said, torch.tensor([1, 0]))
    words = "perplexity: lengths has 4, expected at most seq = 3."
    refuses(ValueError, words, perplexity, logits, said, torch.tensor([4, 2]))
    words = "perplexity: ids has shape (2, 2), so seq = 2; expected seq = 3, as logits has it. ids is (batch, seq)."
    refuses(ValueError, words, perplexity, logits, said[:, 1:], torch.tensor([2, 2]))


# sampling_probabilities


def sampled_slowly(logits: list[float], temperature: float, top_k: int | None, top_p: float | None) -> list[float]:
    """One row, in Python floats, by sorting (value, id) pairs."""
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    if temperature == 0:
        return [float(i == order[0]) for i in range(len(logits))]
    kept = order[: top_k or len(order)]
    powers = {i: math.exp((logits[i] - logits[order[0]]) / temperature) for i in kept}
    shares = {i: power / sum(powers.values()) for i, power in powers.items()}
    if top_p is not None:
        total, chosen = 0.0, []
        for i in kept:
            if chosen and total >= top_p:
                break
            chosen.append(i)
            total += shares[i]
        shares = {i: shares[i] / total for i in chosen}
    return [shares.get(i, 0.0) for i in range(len(logits))]


@pytest.mark.parametrize("temperature", [0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("top_k", [None, 1, 3, 50])
@pytest.mark.parametrize("top_p", [None, 0.0, 0.3, 0.8, 1.0])
def test_probabilities_row_by_row(temperature, top_k, top_p):
    logits = drawn(2, 3, 6, seed=4)
    logits[0, 1, 4] = -math.inf
    found = sampling_probabilities(logits, temperature, top_k, top_p)
    rows = [sampled_slowly(row, temperature, top_k, top_p) for row in logits.flatten(0, 1).tolist()]
    torch.testing.assert_close(found, torch.tensor(rows, dtype=torch.float64).view(2, 3, 6))


def test_ties_go_to_the_smaller_id():
    logits = torch.tensor([1.0, 2.0, 2.0, 1.0, 2.0])
    assert sampling_probabilities(logits, 0).tolist() == [0, 1, 0, 0, 0]
    assert sampling_probabilities(logits, top_k=2).tolist() == [0, 0.5, 0.5, 0, 0]
    even = torch.zeros(4)
    assert sampling_probabilities(even, top_p=0.5).tolist() == [0.5, 0.5, 0, 0]  # 0.5 before the third is not < 0.5
    assert sampling_probabilities(even, top_p=0.51).tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert sampling_probabilities(even, top_k=2, top_p=0.4).tolist() == [1, 0, 0, 0]  # measured after top-k


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [0, 0.7])
def test_probabilities_keep_the_dtype(dtype, temperature):
    found = sampling_probabilities(drawn(3, 7, seed=0, dtype=dtype), temperature, 4, 0.9)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double().sum(-1), torch.ones(3, dtype=torch.float64), atol=1e-2, rtol=0)


def test_what_sampling_refuses():
    logits = torch.zeros(4)
    words = "sampling_probabilities: temperature is -1, expected 0 or more."
    refuses(ValueError, words, sampling_probabilities, logits, -1)
    words = "sampling_probabilities: top_k is 0, expected a positive integer."
    refuses(ValueError, words, sampling_probabilities, logits, 1.0, 0)
    words = "sampling_probabilities: top_p is -0.5, expected 0 or more."
    refuses(ValueError, words, sampling_probabilities, logits, 1.0, None, -0.5)


# PatchEmbedding


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (4, 1)])
def test_patches_are_a_convolution_with_a_stride(size, grid):
    channels, d_model, (rows, columns) = 5, 7, grid
    patch = PatchEmbedding(channels, size, d_model, rows * columns).double()
    images = drawn(2, channels, rows * size, columns * size, seed=1)
    kernel = patch.proj.weight.view(d_model, channels, size, size)
    seen = F.conv2d(images, kernel, patch.proj.bias, stride=size).flatten(2).mT
    first = patch.class_token.expand(2, 1, d_model)
    torch.testing.assert_close(patch(images), torch.cat([first, seen], 1) + patch.positions)


def test_patches_by_hand():
    patch = PatchEmbedding(2, 2, 8, 2)
    with torch.no_grad():
        patch.proj.weight.copy_(torch.eye(8)), patch.proj.bias.zero_()
        patch.class_token.fill_(-1), patch.positions.copy_(torch.tensor([[100.0], [200], [300]]).expand(3, 8))
    image = torch.arange(16.0).view(1, 2, 2, 4)  # (batch, channel, height, width)
    assert patch(image).tolist() == [
        [[99.0] * 8, [200, 201, 204, 205, 208, 209, 212, 213], [302, 303, 306, 307, 310, 311, 314, 315]]
    ]


def test_parameters_of_patches():
    patch = PatchEmbedding(3, 4, 10, 6)
    sizes = {name: tuple(p.shape) for name, p in patch.named_parameters()}
    assert sizes == {"class_token": (10,), "positions": (7, 10), "proj.weight": (10, 48), "proj.bias": (10,)}


def test_what_patches_refuse():
    patch = PatchEmbedding(3, 4, 10, 6)
    words = "PatchEmbedding: images are 8 × 10, expected multiples of the patch size 4."
    refuses(ValueError, words, patch, torch.zeros(1, 3, 8, 10))
    words = "PatchEmbedding: images have 4 patches, expected 6: there is a position for each."
    refuses(ValueError, words, patch, torch.zeros(1, 3, 8, 8))
    words = (
        "PatchEmbedding: images has shape (1, 2, 8, 12), so channels = 2; expected channels = 3, which it was built "
        "with. images is (batch, channels, height, width)."
    )
    refuses(ValueError, words, patch, torch.zeros(1, 2, 8, 12))


# LoRALinear


def tuned(bias: bool = True, dtype: torch.dtype = torch.float64) -> LoRALinear:
    layer = LoRALinear(nn.Linear(5, 7, bias=bias, dtype=dtype), 3, 4.5)
    with torch.no_grad():
        layer.b.copy_(drawn(7, 3, seed=8))
    return layer


def test_it_starts_as_the_layer_and_freezes_it():
    linear = nn.Linear(5, 7)
    layer = LoRALinear(linear, 2, 8.0)
    x = drawn(4, 5, seed=0, dtype=torch.float32)
    assert torch.equal(layer(x), linear(x))
    assert layer.linear is linear
    assert {n: (tuple(p.shape), p.requires_grad) for n, p in layer.named_parameters()} == {
        "a": ((2, 5), True),
        "b": ((7, 2), True),
        "linear.weight": ((7, 5), False),
        "linear.bias": ((7,), False),
    }
    assert layer.a.abs().min() > 0


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("leading", [(), (4,), (2, 3)])
def test_the_correction_is_a_matrix_of_low_rank(bias, dtype, leading):
    layer, x = tuned(bias, dtype), drawn(*leading, 5, seed=1, dtype=dtype)
    whole = layer.linear.weight.double() + 4.5 / 3 * torch.einsum("or,ri->oi", layer.b.double(), layer.a.double())
    expected = F.linear(x.double(), whole, layer.linear.bias.double() if bias else None)
    torch.testing.assert_close(layer(x).double(), expected, rtol=FLOATS[dtype], atol=FLOATS[dtype])


@pytest.mark.parametrize("bias", [True, False])
def test_merging_gives_a_plain_layer_and_leaves_this_one_alone(bias):
    layer, x = tuned(bias), drawn(4, 5, seed=2)
    before = copy.deepcopy(layer.state_dict())
    merged_layer = layer.merged()
    assert type(merged_layer) is nn.Linear
    assert (merged_layer.bias is None) == (not bias)
    torch.testing.assert_close(merged_layer(x), layer(x))
    with torch.no_grad():
        for parameter in merged_layer.parameters():
            parameter.zero_()
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())


def test_the_gradient_reaches_the_correction_alone():
    layer, x = tuned(), drawn(4, 5, seed=3)
    assert torch.autograd.gradcheck(
        lambda x, a, b: torch.func.functional_call(layer, {"a": a, "b": b}, (x,)),
        (x.requires_grad_(), layer.a, layer.b),
    )
    layer(x).sum().backward()
    assert layer.linear.weight.grad is None
    assert layer.linear.bias.grad is None


def test_what_the_correction_refuses():
    words = "LoRALinear: rank is 0, expected a positive integer."
    refuses(ValueError, words, LoRALinear, nn.Linear(2, 3), 0, 1.0)
    refuses(ValueError, "LoRALinear: linear is a Conv2d, expected an nn.Linear.", LoRALinear, nn.Conv2d(1, 1, 1), 2, 1)
    refuses(ValueError, "LoRALinear: x has 4 components, expected 5, as its layer.", tuned(), torch.zeros(2, 4))
