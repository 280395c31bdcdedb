"""The capstone's reference against loops in float64 with complex numbers, at the edges, and on bad input."""

from __future__ import annotations

import cmath
import itertools
import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.capstone import RotaryAttention, TinyGPT, next_token_loss, write_story
from qkv.model.heads import MultiHeadAttention

FLOATS = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}
BATCH, SEQ, HEADS, D_HEAD, D_FF, LAYERS, VOCAB = 2, 7, 3, 4, 17, 5, 11
D_MODEL = HEADS * D_HEAD


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def tokens(*shape: int, seed: int, vocab: int = VOCAB) -> Tensor:
    return torch.randint(vocab, shape, generator=torch.Generator().manual_seed(seed))


def attention(d_model: int = D_MODEL, n_heads: int = HEADS, dtype: torch.dtype = torch.float64) -> RotaryAttention:
    torch.manual_seed(0)
    return RotaryAttention(d_model, n_heads).to(dtype)


def gpt(n_layers: int = LAYERS) -> TinyGPT:
    """A model in which every parameter matters: at first gains are 1 and biases of norms 0."""
    torch.manual_seed(1)
    model = TinyGPT(VOCAB, D_MODEL, HEADS, n_layers, D_FF).double()
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter += 0.1 * drawn(*parameter.shape, seed=i)
    return model


def refuses(error: type[Exception], words: str, function: object, *args: object, **kwargs: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args, **kwargs)  # type: ignore[operator]


# RotaryAttention


def turned(vector: list[float], position: int) -> list[complex]:
    """Pairs as complex numbers, each times e^(i·angle)."""
    d = len(vector)
    pairs = [complex(vector[j], vector[j + 1]) for j in range(0, d, 2)]
    return [z * cmath.exp(1j * position * 10000.0 ** (-2 * i / d)) for i, z in enumerate(pairs)]


def attend_in_loops(ours: RotaryAttention, x: Tensor, allowed: Tensor) -> Tensor:
    """x (batch, seq, d_model), allowed (batch, seq, seq); one query of one head at a time."""
    batch, seq, d_model = x.shape
    d_head = d_model // ours.n_heads
    q, k, v = (F.linear(x, p.weight, p.bias).detach() for p in (ours.q_proj, ours.k_proj, ours.v_proj))
    mixed = torch.zeros_like(x)
    for b, h, i in itertools.product(range(batch), range(ours.n_heads), range(seq)):
        block = slice(h * d_head, (h + 1) * d_head)
        asked = turned(q[b, i, block].tolist(), i)
        powers = []
        for j in range(seq):
            key = turned(k[b, j, block].tolist(), j)
            score = sum((a * c.conjugate()).real for a, c in zip(asked, key, strict=True)) / math.sqrt(d_head)
            powers.append(math.exp(score) if allowed[b, i, j] else 0.0)
        for j in range(seq):
            mixed[b, i, block] += powers[j] / math.fsum(powers) * v[b, j, block]
    return F.linear(mixed, ours.out_proj.weight, ours.out_proj.bias)


MASKS = {
    "none": None,
    "causal (seq, seq)": torch.ones(SEQ, SEQ).tril().bool(),
    "padding (batch, 1, seq)": torch.arange(SEQ) < torch.tensor([4, SEQ])[:, None, None],
    "keys (seq,)": torch.arange(SEQ) != 2,
    "drawn (batch, seq, seq)": (drawn(BATCH, SEQ, SEQ, seed=3) > 0) | torch.eye(SEQ).bool(),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("dtype", FLOATS)
def test_heads_attend_with_turned_queries_and_keys(mask, dtype):
    ours, x = attention(dtype=dtype), drawn(BATCH, SEQ, D_MODEL, seed=2, dtype=dtype)
    allowed = torch.ones(BATCH, SEQ, SEQ).bool() if mask is None else mask.expand(BATCH, SEQ, SEQ)
    found = ours(x, mask)
    assert found.dtype == dtype
    expected = attend_in_loops(attention().to(dtype).double(), x.double(), allowed)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=FLOATS[dtype])


@pytest.mark.parametrize(
    ("batch", "seq", "n_heads", "d_head"), [(1, 1, 1, 2), (1, 5, 1, 6), (3, 1, 5, 2), (1, 4, 2, 6)]
)
def test_sizes_of_1(batch, seq, n_heads, d_head):
    ours, x = attention(n_heads * d_head, n_heads), drawn(batch, seq, n_heads * d_head, seed=4)
    expected = attend_in_loops(ours, x, torch.ones(batch, seq, seq).bool())
    torch.testing.assert_close(ours(x), expected)


def test_only_distances_count():
    """Under a window, what is further on in the text is treated as what is at its beginning."""
    ours, x = attention(), drawn(1, 9, D_MODEL, seed=5)
    position = torch.arange(9)
    back = position[:, None] - position
    near = (back >= 0) & (back < 3)
    later = torch.cat([drawn(1, 4, D_MODEL, seed=6), x], dim=1)
    wide = torch.arange(13)[:, None] - torch.arange(13)
    moved = ours(later, (wide >= 0) & (wide < 3))[:, 4:]
    torch.testing.assert_close(ours(x, near)[:, 2:], moved[:, 2:])


def test_it_is_multi_head_attention_for_one_position_and_no_other_length():
    ours, plain = attention(), MultiHeadAttention(D_MODEL, HEADS).double()
    plain.load_state_dict(ours.state_dict())  # the same names
    x = drawn(BATCH, SEQ, D_MODEL, seed=7)
    torch.testing.assert_close(ours(x[:, :1]), plain(x[:, :1], x[:, :1], x[:, :1]))
    assert not torch.allclose(ours(x), plain(x, x, x), atol=1e-3)


def test_attention_of_bad_input():
    words = "RotaryAttention: d_model / n_heads is 3, expected an even number: components turn in pairs."
    refuses(ValueError, words, RotaryAttention, 12, 4)
    words = "RotaryAttention: n_heads is 5, which does not divide d_model = 12. Use one of 1, 2, 3, 4, 6, 12."
    refuses(ValueError, words, RotaryAttention, 12, 5)
    words = (
        "RotaryAttention: x has shape (2, 7, 10), so d_model = 10; expected d_model = 12, which it was built with. "
        "x is (batch, seq, d_model)."
    )
    refuses(ValueError, words, attention(), drawn(2, 7, 10, seed=0))


# TinyGPT


def logits_in_loops(model: TinyGPT, ids: Tensor) -> Tensor:
    seq = ids.shape[1]
    past = torch.tensor([[j <= i for j in range(seq)] for i in range(seq)]).expand(len(ids), seq, seq)
    x = torch.stack([torch.stack([model.tokens.weight[i] for i in row]) for row in ids.tolist()])
    width = x.shape[-1:]
    for layer in model.layers:
        norm1, norm2, network = layer["norm1"], layer["norm2"], layer["feed_forward"]
        x = x + attend_in_loops(layer["attention"], F.layer_norm(x, width, norm1.weight, norm1.bias), past)
        inside = F.linear(F.layer_norm(x, width, norm2.weight, norm2.bias), network.up.weight, network.up.bias)
        x = x + F.linear(F.gelu(inside), network.down.weight, network.down.bias)
    return F.layer_norm(x, width, model.norm.weight, model.norm.bias) @ model.out.weight.T


@pytest.mark.parametrize("n_layers", [1, 2, LAYERS])
@pytest.mark.parametrize(("batch", "seq"), [(1, 1), (1, 6), (3, 1), (BATCH, SEQ)])
def test_logits(n_layers, batch, seq):
    model, ids = gpt(n_layers), tokens(batch, seq, seed=8)
    found = model(ids)
    assert found.shape == (batch, seq, VOCAB)
    torch.testing.assert_close(found, logits_in_loops(model, ids))


def test_no_position_sees_a_later_one():
    model, ids = gpt(), tokens(BATCH, SEQ, seed=9)
    changed = ids.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % VOCAB
    torch.testing.assert_close(model(ids)[:, :4], model(changed)[:, :4], rtol=0, atol=1e-12)
    assert not torch.allclose(model(ids)[:, 4:], model(changed)[:, 4:])


def test_the_order_of_what_came_before_counts():
    model = gpt()
    here, there = model(torch.tensor([[3, 5, 8], [5, 3, 8]]))[:, -1]
    assert not torch.allclose(here, there, atol=1e-3)


def test_names_and_shapes_of_the_weights():
    """Files that students hand in hold these."""
    d, f = D_MODEL, D_FF
    expected = {"tokens.weight": (VOCAB, d), "norm.weight": (d,), "norm.bias": (d,), "out.weight": (VOCAB, d)}
    for i in range(2):
        for norm in ("norm1", "norm2"):
            expected |= {f"layers.{i}.{norm}.weight": (d,), f"layers.{i}.{norm}.bias": (d,)}
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            expected |= {f"layers.{i}.attention.{name}.weight": (d, d), f"layers.{i}.attention.{name}.bias": (d,)}
        network = f"layers.{i}.feed_forward"
        expected |= {f"{network}.up.weight": (f, d), f"{network}.up.bias": (f,)}
        expected |= {f"{network}.down.weight": (d, f), f"{network}.down.bias": (d,)}
    found = TinyGPT(VOCAB, D_MODEL, HEADS, 2, D_FF).state_dict()
    assert {name: tuple(t.shape) for name, t in found.items()} == expected
    assert found["tokens.weight"].data_ptr() != found["out.weight"].data_ptr()  # not tied


def test_embeddings_begin_with_deviation_1():
    torch.manual_seed(2)
    assert float(TinyGPT(400, 64, 4, 1, 8).tokens.weight.detach().std()) == pytest.approx(1, abs=0.02)


def test_every_weight_learns():
    model, ids = gpt(2), tokens(BATCH, SEQ, seed=10)
    model(ids).square().sum().backward()
    for name, parameter in model.named_parameters():
        # A key's bias moves all scores of a query alike only without rotation: here it counts as well.
        assert parameter.grad.abs().max() > 1e-9, name


def test_gpt_of_bad_input():
    for wrong in (VOCAB, -1):
        refuses(ValueError, f"TinyGPT: ids contains {wrong}, expected 0 to 10.", gpt(1), torch.tensor([[0, wrong]]))
    words = "TinyGPT: ids is float32, expected int64 (token ids, positions, lengths). Use ids.long()."
    refuses(TypeError, words, gpt(1), torch.ones(1, 2))
    refuses(ValueError, "TinyGPT: n_layers is 0, expected a positive integer.", TinyGPT, 9, 8, 2, 0, 5)
    words = "RotaryAttention: d_model / n_heads is 3, expected an even number: components turn in pairs."
    refuses(ValueError, words, TinyGPT, 9, 12, 4, 1, 5)


# next_token_loss


class Recorded:
    """A model whose logits are a table's rows; it remembers what it was asked."""

    def __init__(self, table: Tensor) -> None:
        self.table, self.asked = table, []

    def __call__(self, ids: Tensor) -> Tensor:
        self.asked.append(ids.clone())
        places = torch.arange(ids.shape[1], dtype=self.table.dtype)[:, None]
        return self.table[ids] * (1 + places / 7)  # the place counts as well


@pytest.mark.parametrize("lengths", [[6, 2, 4], [0, 1, 2], [1, 6, 6], [6, 6, 6]])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_loss_is_a_mean_over_real_targets(lengths, dtype):
    model, ids = Recorded(drawn(VOCAB, VOCAB, seed=11, dtype=dtype)), tokens(3, 6, seed=12)
    found = next_token_loss(model, ids, torch.tensor(lengths))
    assert found.shape == ()
    assert found.dtype == dtype
    assert len(model.asked) == 1
    assert torch.equal(model.asked[0], ids[:, :-1])
    logits = model(ids[:, :-1]).double().tolist()
    losses = []
    for b, length in enumerate(lengths):
        for t in range(1, length):
            row = logits[b][t - 1]
            losses.append(math.log(math.fsum(map(math.exp, row))) - row[ids[b, t]])
    assert float(found) == pytest.approx(math.fsum(losses) / len(losses), abs=10 * FLOATS[dtype])


def test_what_is_said_of_padding_does_not_matter_nor_learn():
    logits = drawn(2, 4, VOCAB, seed=13)
    logits[0, 2:] = math.nan
    logits.requires_grad_()
    loss = next_token_loss(lambda ids: logits, tokens(2, 5, seed=14), torch.tensor([3, 5]))
    assert loss.isfinite()
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient[0, 2:] == 0).all()
    assert (gradient[0, :2] != 0).all()


def test_the_loss_of_a_single_target():
    model = Recorded(drawn(3, 3, seed=15))
    found = next_token_loss(model, torch.tensor([[2, 1]]), torch.tensor([2]))
    torch.testing.assert_close(found, -model.table[2].log_softmax(dim=-1)[1])


def test_losses_of_bad_input():
    model, ids = Recorded(torch.zeros(5, 5)), tokens(2, 4, seed=16, vocab=5)
    words = "next_token_loss: every length is 0 or 1, so no token has one before it that could predict it."
    refuses(ValueError, words, next_token_loss, model, ids, torch.tensor([1, 0]))
    words = "next_token_loss: lengths has 5, expected at most seq = 4."
    refuses(ValueError, words, next_token_loss, model, ids, torch.tensor([2, 5]))
    words = (
        "next_token_loss: lengths has shape (3,), so batch = 3; expected batch = 2, as ids has it. lengths is (batch,)."
    )
    refuses(ValueError, words, next_token_loss, model, ids, torch.tensor([2, 2, 2]))


# write_story


@pytest.mark.parametrize("context", [1, 3, 50])
@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_a_story_is_drawn_token_by_token(context, temperature):
    model, prompt = gpt(2), [4, 9, 9, 1]
    generator, replay = (torch.Generator().manual_seed(17) for _ in range(2))
    found = write_story(model, prompt, -1, 8, context, generator, temperature)
    text = list(prompt)
    for _ in range(8):
        logits = model(torch.tensor([text[-context:]]))[0, -1]
        text.append(int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=replay)))
    assert found == text[4:]
    assert all(type(token) is int for token in found)
    assert prompt == [4, 9, 9, 1]
    assert torch.equal(generator.get_state(), replay.get_state())


def test_the_temperature_is_1_unless_said():
    model = gpt(1)
    stories = [write_story(model, [3], -1, 20, 5, torch.Generator().manual_seed(18), *t) for t in ([], [1.0], [3.0])]
    assert stories[0] == stories[1] != stories[2]


def test_the_model_sees_the_last_ids_as_one_row_and_no_gradient_is_kept():
    graded = []

    def model(ids: Tensor) -> Tensor:
        graded.append((ids.tolist(), ids.dtype, torch.is_grad_enabled()))
        return F.one_hot((ids + 1) % 6, 6).double()

    assert write_story(model, [0, 1], 5, 9, 3, torch.Generator(), 0) == [2, 3, 4, 5]
    seen = [[[0, 1]], [[0, 1, 2]], [[1, 2, 3]], [[2, 3, 4]]]
    assert graded == [(ids, torch.int64, False) for ids in seen]
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(("end", "max_new", "story"), [(3, 9, [2, 3]), (2, 9, [2]), (-1, 3, [2, 3, 4]), (3, 2, [2, 3])])
def test_it_stops_after_the_end_or_when_enough_is_written(end, max_new, story):
    def model(ids: Tensor) -> Tensor:
        return F.one_hot((ids + 1) % 6, 6).double()

    assert write_story(model, [1], end, max_new, 4, torch.Generator(), 0) == story
    assert write_story(model, [end % 6, 1], end, max_new, 4, torch.Generator(), 0) == story  # an end that is given


def test_nothing_to_write_asks_nobody():
    assert write_story(lambda ids: pytest.fail("asked"), [1], 0, 0, 4, torch.Generator()) == []


def test_without_temperature_the_smallest_of_the_best_is_said_and_nothing_is_drawn():
    generator = torch.Generator().manual_seed(19)
    before = generator.get_state()
    logits = torch.tensor([[[1.0, 7.0, 3.0, 7.0, 7.0]]])
    assert write_story(lambda ids: logits, [0], 4, 3, 2, generator, 0.0) == [1, 1, 1]
    assert torch.equal(generator.get_state(), before)


def test_stories_of_bad_input():
    generator = torch.Generator()
    story = [gpt(1), [1], 0, 3, 4, generator]
    words = "write_story: prompt is empty, expected at least one id."
    refuses(ValueError, words, write_story, gpt(1), [], 0, 3, 4, generator)
    words = "write_story: prompt is a tensor, expected a list of ids. Use prompt.tolist()."
    refuses(ValueError, words, write_story, gpt(1), torch.tensor([1]), 0, 3, 4, generator)
    refuses(ValueError, "write_story: temperature is -0.5, expected 0 or more.", write_story, *story, -0.5)
    words = "write_story: context is 0, expected a positive integer."
    refuses(ValueError, words, write_story, gpt(1), [1], 0, 3, 0, generator)
    words = "write_story: max_new is -1, expected an integer that is not negative."
    refuses(ValueError, words, write_story, gpt(1), [1], 0, -1, 4, generator)
