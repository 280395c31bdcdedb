"""Chapter 08's reference against one-hot products, torch's own Transformer with the same weights, and brute force."""

from __future__ import annotations

import itertools
import math
import re

import pytest
import torch
from torch import Tensor, nn

from qkv.model.transformer import Step, Transformer, beam_search, embed, greedy_decode, shift_right
from qkv.model.twin import TorchTransformer

FLOATS = {torch.float64: 1e-12, torch.float32: 2e-6}
BATCH, SOURCE, TARGET = 3, 5, 4
SOURCE_VOCAB, TARGET_VOCAB, D_MODEL, N_HEADS, D_FF, N_LAYERS = 11, 7, 12, 2, 17, 2


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def ids(high: int, *shape: int, seed: int) -> Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# embed


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_lookup_is_a_product_with_one_hot_rows(leading, dtype):
    tokens, table, positions = ids(6, *leading, 4, seed=0), drawn(6, 9, seed=1), drawn(8, 9, seed=2)
    one_hot = (tokens[..., None] == torch.arange(6)).double()
    expected = one_hot @ table * 9**0.5 + positions[:4]
    found = embed(tokens, table.to(dtype), positions.to(dtype))
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=FLOATS[dtype], atol=FLOATS[dtype])


def test_embedding_by_hand():
    table = torch.tensor([[1.0, 0, 0, 2], [0, 3, 0, 0]])
    found = embed(torch.tensor([1, 0]), table, torch.eye(4))
    assert found.tolist() == [[1.0, 6, 0, 0], [2, 1, 0, 4]]


def test_only_rows_that_occur_get_a_gradient():
    table, positions = drawn(6, 4, seed=3).requires_grad_(), drawn(5, 4, seed=4)
    tokens = torch.tensor([[1, 4, 1], [5, 1, 4]])
    (gradient,) = torch.autograd.grad(embed(tokens, table, positions).sum(), table)
    times = torch.tensor([0.0, 3, 0, 0, 2, 1], dtype=torch.float64)  # how often each occurs
    torch.testing.assert_close(gradient, 2 * times[:, None].expand(6, 4))
    assert torch.autograd.gradcheck(lambda t, p: embed(tokens, t, p), (table, positions.requires_grad_()))


def test_what_embed_refuses():
    table, positions = drawn(6, 4, seed=0), drawn(5, 4, seed=0)
    words = "embed: ids is float64, expected int64 (token ids, positions, lengths). Use ids.long()."
    refuses(TypeError, words, embed, drawn(2, 3, seed=0), table, positions)
    words = (
        "embed: positions has shape (5, 3), so d_model = 3; expected d_model = 4, as table has it. "
        "positions is (length, d_model)."
    )
    refuses(ValueError, words, embed, ids(6, 2, 3, seed=0), table, drawn(5, 3, seed=0))


# shift_right


def test_shifting_by_hand():
    assert shift_right(torch.tensor([[5, 6, 7], [8, 9, 4]]), 1).tolist() == [[1, 5, 6], [1, 8, 9]]
    assert shift_right(torch.tensor([[5], [8]]), 3).tolist() == [[3], [3]]


@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (6, 3)])
def test_every_position_reads_the_token_before_its_target(shape):
    targets = ids(50, *shape, seed=5)
    inputs = shift_right(targets, 99)
    assert inputs.dtype == torch.int64
    for row, read in zip(targets.tolist(), inputs.tolist(), strict=True):
        assert read == [99, *row][: len(row)]


def test_what_shift_right_refuses():
    words = "shift_right: targets has shape (3,), expected 2 dimensions: (batch, seq)."
    refuses(ValueError, words, shift_right, torch.tensor([1, 2, 3]), 1)


# Transformer


def shaken(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Norms start as the identity, where an exchanged one would not show: move every parameter."""
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.add_(0.2 * drawn(*parameter.shape, seed=100 + i, dtype=parameter.dtype))
    return model.to(dtype)


def machine(dtype: torch.dtype = torch.float64) -> Transformer:
    torch.manual_seed(0)
    return shaken(Transformer(SOURCE_VOCAB, TARGET_VOCAB, D_MODEL, N_HEADS, D_FF, N_LAYERS, max_length=9), dtype)


def sentences() -> tuple[Tensor, Tensor]:
    return ids(SOURCE_VOCAB, BATCH, SOURCE, seed=20), ids(TARGET_VOCAB, BATCH, TARGET, seed=21)


REAL = torch.arange(SOURCE) < torch.tensor([5, 2, 3])[:, None, None]  # (batch, 1, source)


def off(found: Tensor, expected: Tensor) -> float:
    return ((found - expected).norm() / expected.norm()).item()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mask", [None, REAL], ids=["no mask", "padding"])
def test_the_machine_is_torch_s(mask, dtype):
    ours = machine(dtype)
    found = ours(*sentences(), mask)
    assert (found.dtype, found.shape) == (dtype, (BATCH, TARGET, TARGET_VOCAB))
    assert off(found, TorchTransformer(ours)(*sentences(), mask)) < FLOATS[dtype]


def test_gradients_are_torch_s_too():
    ours = machine()
    theirs = TorchTransformer(ours)
    assert sum(p.numel() for p in theirs.parameters()) == sum(p.numel() for p in ours.parameters())
    weights = drawn(BATCH, TARGET, TARGET_VOCAB, seed=22)
    for model in (ours, theirs):
        (model(*sentences(), REAL) * weights).sum().backward()
    for name in ("source_table", "target_table"):
        torch.testing.assert_close(getattr(ours, name).grad, getattr(theirs, name).grad)


def test_gradients_agree_with_finite_differences():
    model, (source, inputs) = machine(), sentences()

    def of_tables(source_table: Tensor, target_table: Tensor) -> Tensor:
        tables = {"source_table": source_table, "target_table": target_table}
        return torch.func.functional_call(model, tables, (source[:1], inputs[:1]))

    tables = model.source_table.detach().requires_grad_(), model.target_table.detach().requires_grad_()
    assert torch.autograd.gradcheck(of_tables, tables)


def test_every_parameter_gets_a_gradient_though_not_every_row():
    model = machine()
    model(*sentences()).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    moved = model.source_table.grad.abs().sum(dim=1) > 0
    assert moved.nonzero().flatten().tolist() == sentences()[0].unique().tolist()
    assert (model.target_table.grad.abs().sum(dim=1) > 0).all()  # the output ties every row in


def test_encode_once_and_decode_prefix_by_prefix():
    model, (source, inputs) = machine(), sentences()
    at_once = model(source, inputs, REAL)
    memory = model.encode(source, REAL)
    for n in range(1, TARGET + 1):
        torch.testing.assert_close(model.decode(inputs[:, :n], memory, REAL)[:, -1], at_once[:, n - 1])


def test_padding_leaves_no_trace():
    model, (source, inputs) = machine(), sentences()
    alone = model(source[1:2, :2], inputs[1:2])
    torch.testing.assert_close(model(source, inputs, REAL)[1:2], alone)
    changed = torch.where(REAL[:, 0], source, (source + 1) % SOURCE_VOCAB)
    assert torch.equal(model(changed, inputs, REAL), model(source, inputs, REAL))


def test_the_parts_and_how_they_start():
    torch.manual_seed(0)
    model = Transformer(1000, 800, 64, 4, 96, 3)
    assert [name for name, _ in model.named_children()] == ["encoder", "encoder_norm", "decoder", "decoder_norm"]
    assert (len(model.encoder), len(model.decoder)) == (3, 3)
    assert model.source_table.std().item() == pytest.approx(1 / 8, rel=0.02)
    assert model.target_table.std().item() == pytest.approx(1 / 8, rel=0.02)
    assert model.positions.shape == (64, 64)
    assert "positions" not in model.state_dict()


@pytest.mark.parametrize(
    ("d_model", "n_heads", "d_ff", "shared"), [(512, 8, 2048, 63_082_496), (1024, 16, 4096, 214_245_376)]
)
def test_the_paper_s_sizes_on_no_device_at_all(d_model, n_heads, d_ff, shared):
    with torch.device("meta"):
        model = Transformer(37_000, 37_000, d_model, n_heads, d_ff, 6)
    found = sum(p.numel() for p in model.parameters())
    final_norms = 4 * d_model  # the paper is post-norm and needs none
    assert found - 37_000 * d_model - final_norms == shared


def test_nothing_is_made_on_another_device():
    model, (source, inputs) = machine().to("meta"), sentences()
    assert model(source.to("meta"), inputs.to("meta"), REAL.to("meta")).device.type == "meta"


def test_what_the_machine_refuses():
    words = "Transformer: n_heads is 5, which does not divide d_model = 12. Use one of 1, 2, 3, 4, 6, 12."
    refuses(ValueError, words, Transformer, 9, 7, 12, 5, 17, 2)
    words = "Transformer: d_model is 7, expected a positive even integer."
    refuses(ValueError, words, Transformer, 9, 7, 7, 1, 17, 2)
    model, (source, inputs) = machine(), sentences()
    words = "encode: mask has shape (4, 4), which does not broadcast to (batch, source, source) = (3, 5, 5)."
    refuses(ValueError, words, model.encode, source, torch.ones(TARGET, TARGET).bool())
    words = (
        "decode: memory has shape (2, 5, 12), so batch = 2; expected batch = 3, as inputs has it. "
        "memory is (batch, source, d_model)."
    )
    refuses(ValueError, words, model.decode, inputs, drawn(2, SOURCE, D_MODEL, seed=0))


# Decoding, against brute force


def speaker(seed: int, vocab: int) -> Step:
    """Log-probabilities that depend on the whole prefix."""

    def step(prefix: list[int]) -> Tensor:
        mixed = hash((seed, *prefix)) % 2**31
        return drawn(vocab, seed=mixed).log_softmax(-1)

    return step


def every_answer(vocab: int, eos: int, max_length: int) -> list[list[int]]:
    """All that can be said: up to the first eos, or max_length tokens without one."""
    words = [token for token in range(vocab) if token != eos]
    found = [[*said, eos] for n in range(max_length) for said in itertools.product(words, repeat=n)]
    return found + [list(said) for said in itertools.product(words, repeat=max_length)]


def log_probability(step: Step, bos: int, answer: list[int]) -> float:
    return sum(step([bos, *answer[:i]])[token].item() for i, token in enumerate(answer))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.5])
def test_a_beam_that_is_wide_enough_finds_the_best_of_all(seed, penalty):
    step, vocab, eos, max_length = speaker(seed, 4), 4, 2, 4
    best = max(every_answer(vocab, eos, max_length), key=lambda a: log_probability(step, 1, a) / len(a) ** penalty)
    found, score = beam_search(step, 1, eos, max_length, 10**4, penalty)
    assert found == best
    assert score == pytest.approx(log_probability(step, 1, best) / len(best) ** penalty, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed):
    step = speaker(seed, 6)
    said = greedy_decode(step, 0, 3, 7)
    found, score = beam_search(step, 0, 3, 7, 1)
    assert found == said
    assert score == pytest.approx(log_probability(step, 0, said), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_greedy_says_the_likeliest_token_each_time(seed):
    step = speaker(seed, 6)
    said = greedy_decode(step, 0, 3, 7)
    for i, token in enumerate(said):
        assert step([0, *said[:i]])[token] == step([0, *said[:i]]).max()
    assert said[-1] == 3 or len(said) == 7
    assert 3 not in said[:-1]


def fixed(*rows: list[float]) -> Step:
    """The i-th answer has these log-probabilities, whatever was said."""
    return lambda prefix: torch.tensor(rows[min(len(prefix), len(rows)) - 1])


def test_ties_go_to_the_smallest_id():
    assert greedy_decode(fixed([-1.0, -1.0, -9.0], [-9.0, -1.0, -1.0]), 5, 2, 2) == [0, 1]


def test_an_answer_may_end_at_once_or_never():
    assert greedy_decode(fixed([-1.0, -9.0]), 5, 0, 9) == [0]
    assert greedy_decode(fixed([-1.0, -9.0]), 5, 1, 3) == [0, 0, 0]
    assert beam_search(fixed([-1.0, -9.0]), 5, 1, 3, 1) == ([0, 0, 0], -3.0)


def test_the_place_of_a_complete_hypothesis_is_not_refilled():
    # two places: eos takes one at once, so [1], which leads to the best score of all, never has a place
    step = fixed([-1.0, -2.0, -1.5], [-0.1, -0.1, -9.0])
    refilled = -2.0 - 0.1  # what [1, 0] would have had
    found, score = beam_search(step, 5, 2, 2, 2, length_penalty=3.0)
    assert (found, round(score, 6)) == ([0, 0], round(-1.1 / 8, 6))
    assert refilled / 8 < score


def test_the_length_penalty_decides_between_short_and_long():
    step = fixed([math.log(0.5), math.log(0.5)], [math.log(0.1), math.log(0.9)])
    assert beam_search(step, 5, 0, 3, 4)[0] == [0]
    assert beam_search(step, 5, 0, 3, 4, length_penalty=1.0)[0] == [1, 1, 1]


def test_prefixes_are_handed_over_whole():
    asked = []

    def step(prefix: list[int]) -> Tensor:
        asked.append(list(prefix))
        return torch.tensor([-1.0, -2.0, -3.0])

    greedy_decode(step, 7, 2, 3)
    assert asked == [[7], [7, 0], [7, 0, 0]]
    asked.clear()
    beam_search(step, 7, 2, 2, 2)
    assert asked == [[7], [7, 0], [7, 1]]
