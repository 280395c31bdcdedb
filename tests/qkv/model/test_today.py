"""Chapter 17's reference against loops in float64, against enumeration, at the edges, and on bad input."""

from __future__ import annotations

import cmath
import itertools
import math
import re
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from qkv.model.norm import RMSNorm
from qkv.model.today import (
    GroupedAttention,
    Llama,
    SwiGLU,
    accept_drafts,
    latent_attention,
    quantize_groups,
    route_tokens,
    stretched_frequencies,
)

FLOATS = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def filled(module: torch.nn.Module) -> torch.nn.Module:
    """Every parameter matters: at first the gains are 1."""
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(drawn(*parameter.shape, seed=i) * (0.3 if parameter.dim() == 1 else 0.5))
            parameter += parameter.dim() == 1
    return module.double()


def refuses(error: type[Exception], words: str, function: object, *args: object, **kwargs: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args, **kwargs)  # type: ignore[operator]


# SwiGLU


@pytest.mark.parametrize("leading", [(), (1,), (3, 2)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_gate_against_torch(leading, dtype):
    ours, x = filled(SwiGLU(5, 7)), drawn(*leading, 5, seed=9)
    expected = F.silu(x @ ours.gate.weight.T) * (x @ ours.up.weight.T) @ ours.down.weight.T
    found = ours.to(dtype)(x.to(dtype))
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=20 * FLOATS[dtype])


def test_gates_far_open_and_far_shut():
    ours = SwiGLU(2, 1)
    with torch.no_grad():
        for layer in (ours.gate, ours.up):
            layer.weight.copy_(torch.eye(2)[:1])
        ours.down.weight.fill_(1.0)
    x = torch.tensor([[1e4, 0.0], [-1e4, 0.0]], requires_grad=True)
    found = ours(x)
    (slope,) = torch.autograd.grad(found[:, 0].sum(), x)
    assert found[0, 0] == 1e8
    assert found[1].abs().max() == 0
    assert slope[0, 0] == 2e4
    assert slope[1].abs().max() == 0


def test_a_gate_has_no_biases_and_refuses_another_width():
    ours = SwiGLU(5, 7)
    assert {name: tuple(p.shape) for name, p in ours.named_parameters()} == {
        "gate.weight": (7, 5), "up.weight": (7, 5), "down.weight": (5, 7),
    }  # fmt: skip
    words = (
        "SwiGLU: x has shape (2, 4), so d_model = 4; expected d_model = 5, which it was built with. "
        "x is (..., d_model)."
    )
    refuses(ValueError, words, ours, drawn(2, 4, seed=0, dtype=torch.float32))


# stretched_frequencies


def stretched_in_fractions(d, factor, length, base, slow, fast):
    found = []
    for i in range(d // 2):
        speed = math.exp(-2 * i / d * math.log(base))
        turns = Fraction(length) * Fraction(speed) / Fraction(2 * math.pi)
        if turns >= fast:
            found.append(speed)
        elif turns <= slow:
            found.append(speed / factor)
        else:
            keep = float((turns - Fraction(slow)) / Fraction(fast - slow))
            found.append(speed * keep + speed / factor * (1 - keep))
    return torch.tensor(found, dtype=torch.float64)


@pytest.mark.parametrize(
    "case",
    [(16, 4.0, 46, 1e4, 1.0, 4.0), (12, 2.5, 100.5, 50.0, 2.0, 9.0), (2, 8, 3, 1e4, 1.0, 4.0),
     (20, 1.0, 64, 1e4, 1.0, 4.0), (64, 8.0, 8192, 5e5, 1.0, 4.0), (18, 3.0, 200, 1e4, 3.0, 3.0)],
)  # fmt: skip
def test_clocks_slowed_down_by_parts(case):
    found = stretched_frequencies(*case)
    assert found.dtype == torch.get_default_dtype()
    assert found.shape == (case[0] // 2,)
    torch.testing.assert_close(found.double(), stretched_in_fractions(*case), rtol=1e-6, atol=0)


def test_the_ends_of_stretching():
    plain = 10000.0 ** (-torch.arange(0, 24, 2, dtype=torch.float64) / 24)
    torch.testing.assert_close(stretched_frequencies(24, 1, 7).double(), plain, rtol=1e-6, atol=0)
    squeezed = stretched_frequencies(24, 5.0, 1000, slow=math.inf, fast=math.inf)
    torch.testing.assert_close(squeezed.double(), plain / 5, rtol=1e-6, atol=0)
    stepped = stretched_frequencies(24, 5.0, 2 * math.pi, slow=1.0, fast=1.0)  # the first comes round exactly once
    torch.testing.assert_close(stepped.double()[:2], torch.tensor([1.0, plain[1] / 5], dtype=torch.float64))


def test_it_is_what_transformers_makes_of_llama3():
    rope = pytest.importorskip("transformers.modeling_rope_utils")
    from transformers import LlamaConfig

    scaling = {
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 512,
    }  # fmt: skip
    config = LlamaConfig(hidden_size=64, num_attention_heads=2, rope_parameters=scaling)
    theirs, _ = rope.ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    torch.testing.assert_close(stretched_frequencies(32, 8.0, 512, 5e5), theirs.float(), rtol=1e-5, atol=0)


def test_stretching_of_bad_input():
    words = "stretched_frequencies: factor is 0.5, expected 1 or more: a text gets longer, not shorter."
    refuses(ValueError, words, stretched_frequencies, 4, 0.5, 10)
    words = (
        "stretched_frequencies: length is 0, expected a number above 0: how many positions the model was trained at."
    )
    refuses(ValueError, words, stretched_frequencies, 4, 2.0, 0)
    refuses(
        ValueError, "stretched_frequencies: d is 5, expected a positive even integer.", stretched_frequencies, 5, 2, 9
    )
    refuses(
        ValueError, "stretched_frequencies: fast is 1, expected at least slow = 2.",
        stretched_frequencies, 4, 2, 9, slow=2, fast=1,
    )  # fmt: skip
    refuses(
        ValueError, "stretched_frequencies: base is 0, expected a number above 0.",
        stretched_frequencies, 4, 2, 9, base=0,
    )  # fmt: skip


# GroupedAttention

SPEEDS = torch.tensor([0.9, 0.31, 0.07], dtype=torch.float64)
D_HEAD = 6


def attention(qk_norm: bool, n_heads: int = 4, n_groups: int = 2) -> GroupedAttention:
    return filled(GroupedAttention(10, n_heads, n_groups, D_HEAD, qk_norm, eps=0.02))


def normed(row: list[float], norm: torch.nn.Module) -> list[float]:
    if isinstance(norm, torch.nn.Identity):
        return row
    size = math.sqrt(math.fsum(c * c for c in row) / len(row) + norm.eps)
    return [c / size * g for c, g in zip(row, norm.gamma.tolist(), strict=True)]


def turned(row: list[float], position: int) -> list[complex]:
    pairs = [complex(row[2 * i], row[2 * i + 1]) for i in range(len(row) // 2)]
    return [z * cmath.exp(1j * position * speed) for z, speed in zip(pairs, SPEEDS.tolist(), strict=True)]


def attend_in_loops(ours: GroupedAttention, x: Tensor) -> Tensor:
    """The whole text at once, one query of one head at a time."""
    batch, seq, _ = x.shape
    heads, groups = (p.out_features // D_HEAD for p in (ours.q_proj, ours.k_proj))
    q, k, v = ((x @ p.weight.T).detach() for p in (ours.q_proj, ours.k_proj, ours.v_proj))
    mixed = torch.zeros_like(q)
    for b, h, i in itertools.product(range(batch), range(heads), range(seq)):
        mine = slice(h * D_HEAD, (h + 1) * D_HEAD)
        g = h // (heads // groups)
        shared = slice(g * D_HEAD, (g + 1) * D_HEAD)
        asked = turned(normed(q[b, i, mine].tolist(), ours.q_norm), i)
        powers = []
        for j in range(i + 1):
            key = turned(normed(k[b, j, shared].tolist(), ours.k_norm), j)
            score = sum((a * c.conjugate()).real for a, c in zip(asked, key, strict=True))
            powers.append(math.exp(score / math.sqrt(D_HEAD)))
        for j, power in enumerate(powers):
            mixed[b, i, mine] += power / math.fsum(powers) * v[b, j, shared]
    return mixed @ ours.out_proj.weight.T


@pytest.mark.parametrize("qk_norm", [False, True])
@pytest.mark.parametrize(("n_heads", "n_groups"), [(4, 2), (3, 3), (4, 1), (1, 1)])
def test_grouped_heads_against_loops(qk_norm, n_heads, n_groups):
    ours, x = attention(qk_norm, n_heads, n_groups), drawn(2, 7, 10, seed=3)
    expected = attend_in_loops(ours, x)
    found, (keys, values) = ours(x, SPEEDS)
    torch.testing.assert_close(found, expected)
    assert keys.shape == values.shape == (2, n_groups, 7, D_HEAD)
    pieces, cache = [], None
    for piece in x.split([3, 1, 2, 1], dim=1):
        output, cache = ours(piece, SPEEDS, cache)
        pieces.append(output)
    torch.testing.assert_close(torch.cat(pieces, 1), expected)
    torch.testing.assert_close(cache[0], keys)
    torch.testing.assert_close(cache[1], values)


def test_what_a_cache_holds():
    ours, x = attention(True), drawn(1, 3, 10, seed=4)
    _, (keys, values) = ours(x, SPEEDS)
    rows = (x @ ours.k_proj.weight.T)[0].unflatten(-1, (2, D_HEAD))
    for g, j in itertools.product(range(2), range(3)):
        pairs = turned(normed(rows[j, g].tolist(), ours.k_norm), j)
        expected = torch.tensor([part for z in pairs for part in (z.real, z.imag)], dtype=torch.float64)
        torch.testing.assert_close(keys[0, g, j], expected)
    torch.testing.assert_close(values[0].transpose(0, 1).flatten(1), (x @ ours.v_proj.weight.T)[0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_grouped_heads_keep_the_dtype(dtype):
    ours, x = attention(True), drawn(2, 5, 10, seed=5)
    expected = attend_in_loops(ours, x)
    output, (keys, values) = ours.to(dtype)(x.to(dtype), SPEEDS)
    assert output.dtype == keys.dtype == values.dtype == dtype
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=40 * FLOATS[dtype])


def test_grouped_attention_of_bad_input():
    words = "GroupedAttention: d_head is 5, expected an even number: components turn in pairs (2i, 2i+1)."
    refuses(ValueError, words, GroupedAttention, 10, 4, 2, 5)
    words = "GroupedAttention: n_groups is 3, which does not divide n_heads = 4. Use one of 1, 2, 4."
    refuses(ValueError, words, GroupedAttention, 10, 4, 3, 6)
    words = (
        "GroupedAttention: frequencies has shape (5,), expected (3,): one for each pair of the d_head = 6 components "
        "of a head."
    )
    refuses(ValueError, words, attention(False), drawn(2, 7, 10, seed=0), drawn(5, seed=0))
    cache = (drawn(2, 4, 3, 6, seed=0), drawn(2, 4, 3, 6, seed=1))
    words = (
        "GroupedAttention: cache[0] has shape (2, 4, 3, 6), so n_groups = 4; expected n_groups = 2, which it was built "
        "with. cache[0] is (batch, n_groups, past, d_head)."
    )
    refuses(ValueError, words, attention(False), drawn(2, 7, 10, seed=0), SPEEDS, cache)


# Llama


def llama(**others: object) -> Llama:
    return filled(Llama(11, 16, 4, 2, 3, 17, **others))


def logits_in_loops(model: Llama, ids: Tensor) -> Tensor:
    """One text, token by token from the parts' formulas; the attention of one layer is proved above."""

    def rms(x: Tensor, norm: RMSNorm) -> Tensor:
        rows = [[c / math.sqrt(math.fsum(a * a for a in row) / len(row) + norm.eps) for c in row] for row in x.tolist()]
        return torch.tensor(rows, dtype=torch.float64) * norm.gamma

    x = torch.stack([model.tokens.weight[i] for i in ids.tolist()])
    for layer in model.layers:
        seen, _ = layer["attention"](rms(x, layer["norm1"])[None], model.frequencies)
        x = x + seen[0]
        work, inside = layer["feed_forward"], rms(x, layer["norm2"])
        opened = inside @ work.gate.weight.T
        x = x + (opened / (1 + torch.exp(-opened)) * (inside @ work.up.weight.T)) @ work.down.weight.T
    last = model.tokens.weight if model.out is None else model.out.weight
    return rms(x, model.norm) @ last.T


@pytest.mark.parametrize("options", [{}, {"tied": True}, {"qk_norm": True, "d_head": 8}, {"base": 50.0, "eps": 0.1}])
def test_a_llama_reads_at_once_in_pieces_and_word_by_word(options):
    model = llama(**options)
    ids = torch.randint(11, (2, 9), generator=torch.Generator().manual_seed(0))
    expected = torch.stack([logits_in_loops(model, row) for row in ids])
    at_once, caches = model(ids)
    torch.testing.assert_close(at_once, expected)
    assert isinstance(caches, list)
    assert len(caches) == 3
    for cuts in ([4, 3, 2], [1] * 9):
        pieces, before = [], None
        for piece in ids.split(cuts, dim=1):
            logits, before = model(piece, before)
            pieces.append(logits)
        torch.testing.assert_close(torch.cat(pieces, 1), expected)
        for one, other in zip(before, caches, strict=True):
            torch.testing.assert_close(one[0], other[0])
            torch.testing.assert_close(one[1], other[1])


def test_the_parts_of_a_llama():
    model = llama(d_head=8, qk_norm=True, base=100.0)
    expected = torch.tensor([100.0 ** (-i / 4) for i in range(4)], dtype=torch.float64)
    torch.testing.assert_close(model.frequencies, expected)
    assert model.frequencies.dtype == torch.float64
    assert "frequencies" in dict(model.named_buffers())
    assert "frequencies" not in model.state_dict()
    assert model.layers[0]["attention"].q_proj.weight.shape == (32, 16)
    assert model.layers[0]["attention"].k_norm.gamma.shape == (8,)
    assert not [name for name in model.state_dict() if name.endswith("bias")]
    assert llama(tied=True).out is None


def test_a_llama_uses_the_buffer_as_it_stands():
    model, other = llama(d_head=4), llama(d_head=4, base=30.0)
    ids = torch.arange(9)[None]
    assert not torch.allclose(model(ids)[0], other(ids)[0], atol=1e-3)
    model.frequencies = other.frequencies
    torch.testing.assert_close(model(ids)[0], other(ids)[0])


def test_a_llama_does_not_change_what_it_is_given():
    model, ids = llama(d_head=4), torch.arange(6)[None]
    _, caches = model(ids[:, :4])
    noted = [(k.clone(), v.clone()) for k, v in caches]
    pairs = list(caches)
    model(ids[:, 4:], caches)
    assert all(one is other for one, other in zip(caches, pairs, strict=True))
    for (k, v), (old_k, old_v) in zip(caches, noted, strict=True):
        torch.testing.assert_close(k, old_k, rtol=0, atol=0)
        torch.testing.assert_close(v, old_v, rtol=0, atol=0)


def test_a_llama_of_bad_input():
    words = "Llama: d_model is 12, which 5 heads do not divide. Say how wide a head is: d_head=…."
    refuses(ValueError, words, Llama, 11, 12, 5, 1, 2, 7)
    words = "Llama: d_head is 3, expected an even number: components turn in pairs (2i, 2i+1)."
    refuses(ValueError, words, Llama, 11, 12, 4, 2, 2, 7)
    model = llama(d_head=4)
    refuses(ValueError, "Llama: ids contains 11, expected 0 to 10.", model, torch.tensor([[3, 11]]))
    words = "Llama: caches holds 1 pairs, expected 3: one a layer."
    refuses(ValueError, words, model, torch.tensor([[3]]), [None])
    words = "Llama: caches is a int, expected a list of 3 pairs, one a layer, or None."
    refuses(ValueError, words, model, torch.tensor([[3]]), 3)


# route_tokens


def routed_in_loops(logits: Tensor, k: int):
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    n, weights, experts, share, mean = len(rows[0]), [], [], [0.0] * len(rows[0]), [0.0] * len(rows[0])
    for row in rows:
        powers = [math.exp(x - max(row)) for x in row]
        order = sorted(range(n), key=lambda e: (-row[e], e))[:k]
        total = math.fsum(powers[e] for e in order)
        weights.append([powers[e] / total for e in order])
        experts.append(order)
        for e in order:
            share[e] += 1 / (len(rows) * k)
        for e in range(n):
            mean[e] += powers[e] / math.fsum(powers) / len(rows)
    shape = (*logits.shape[:-1], k)
    balance = n * math.fsum(f * p for f, p in zip(share, mean, strict=True))
    return torch.tensor(weights, dtype=torch.float64).view(shape), torch.tensor(experts).view(shape), balance


@pytest.mark.parametrize("leading", [(), (1,), (5,), (3, 4)])
@pytest.mark.parametrize(("n", "k"), [(6, 2), (6, 1), (6, 6), (1, 1)])
def test_routing_against_loops(leading, n, k):
    logits = 2 * drawn(*leading, n, seed=1)
    weights, experts, balance = route_tokens(logits, k)
    expected = routed_in_loops(logits, k)
    torch.testing.assert_close(weights, expected[0])
    assert experts.dtype == torch.int64
    assert experts.equal(expected[1])
    assert balance.shape == ()
    assert math.isclose(float(balance), expected[2], rel_tol=1e-9)
    torch.testing.assert_close(weights, logits.gather(-1, experts).softmax(-1))


def test_ties_go_to_the_smaller_expert_and_uniform_is_balanced():
    logits = torch.tensor([1.0, 3.0, 3.0, 1.0, 3.0, 1.0]).repeat(40, 20)[:, :100]
    assert route_tokens(logits, 60)[1].equal(routed_in_loops(logits, 60)[1])
    assert math.isclose(float(route_tokens(torch.zeros(7, 8), 3)[2]), 1.0, rel_tol=1e-6)
    one = torch.zeros(9, 8).index_fill(1, torch.tensor([5]), 1e4)
    assert math.isclose(float(route_tokens(one, 2)[2]), 4.0, rel_tol=1e-6)
    assert all(t.isfinite().all() for t in route_tokens(1e4 * drawn(5, 6, seed=2, dtype=torch.float32), 3))


def test_the_balance_has_a_gradient_in_the_mean_alone():
    logits = drawn(4, 5, seed=3).requires_grad_()
    _, experts, balance = route_tokens(logits, 2)
    (found,) = torch.autograd.grad(balance, logits)
    f = F.one_hot(experts, 5).double().mean((0, 1))
    p = logits.detach().softmax(-1)
    expected = 5 * p * (f - (p * f).sum(-1, keepdim=True)) / 4
    torch.testing.assert_close(found, expected)


def test_routing_of_bad_input():
    words = "route_tokens: k is 4, expected at most n = 3: a token can't go to more experts than there are."
    refuses(ValueError, words, route_tokens, torch.zeros(2, 3), 4)
    refuses(ValueError, "route_tokens: k is 0, expected a positive integer.", route_tokens, torch.zeros(2, 3), 0)
    words = "route_tokens: logits has shape (0, 3), expected at least one token."
    refuses(ValueError, words, route_tokens, torch.zeros(0, 3), 1)


# latent_attention


def latents(batch: int, head: int, new: int, key: int, d_k: int, d_v: int, rank: int, d_r: int) -> list[Tensor]:
    shapes = (
        (batch, head, new, d_k), (batch, key, rank), (head, d_k, rank), (head, d_v, rank), (batch, head, new, d_r),
        (batch, key, d_r),
    )  # fmt: skip
    return [drawn(*shape, seed=i) for i, shape in enumerate(shapes)]


def written_out(q, latent, w_k, w_v, q_turned, k_turned):
    """Every key and value made, one head at a time."""
    batch, head, new, d_k = q.shape
    found = []
    for b, h in itertools.product(range(batch), range(head)):
        keys = torch.cat([latent[b] @ w_k[h].T, k_turned[b]], -1)
        queries = torch.cat([q[b, h], q_turned[b, h]], -1)
        scores = queries @ keys.T / math.sqrt(d_k + q_turned.shape[-1])
        past = latent.shape[1] - new
        for i in range(new):
            seen = past + i + 1
            found.append(scores[i, :seen].softmax(-1) @ (latent[b, :seen] @ w_v[h].T))
    return torch.stack(found).view(batch, head, new, -1)


@pytest.mark.parametrize(
    "sizes", [(2, 3, 4, 9, 5, 6, 7, 8), (1, 1, 1, 1, 1, 1, 1, 1), (2, 3, 5, 5, 4, 7, 6, 0), (3, 2, 1, 11, 6, 4, 20, 2)]
)
def test_absorbed_is_written_out(sizes):
    given = latents(*sizes)
    torch.testing.assert_close(latent_attention(*given), written_out(*given))


class Largest(TorchDispatchMode):
    """The most entries that a tensor made inside has."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else [made]:
            if isinstance(one, Tensor):
                self.entries = max(self.entries, one.numel())
        return made


def test_no_key_and_no_value_is_made():
    given = latents(1, 8, 1, 256, 256, 256, 12, 4)
    with Largest() as largest:
        latent_attention(*given)
    assert largest.entries < 256 * 256
    with Largest() as largest:
        written_out(*given)
    assert largest.entries >= 256 * 256


def test_latent_attention_of_bad_input():
    words = "latent_attention: q has 3 positions and latent 2; the new ones should be the last of all."
    refuses(ValueError, words, latent_attention, *latents(1, 1, 3, 2, 4, 4, 4, 4))
    given = latents(1, 2, 3, 5, 4, 6, 7, 2)
    words = (
        "latent_attention: w_k has shape (2, 7, 4), so d_k = 7; expected d_k = 4, as q has it. "
        "w_k is (head, d_k, rank)."
    )
    refuses(ValueError, words, latent_attention, given[0], given[1], given[2].mT, *given[3:])


# accept_drafts


def test_drafts_change_nothing():
    """20,000 times one word drafted by q: what comes first is distributed as p, what comes second as p of the next."""
    p = torch.tensor([[0.5, 0.1, 0.0, 0.4], [0.25, 0.25, 0.3, 0.2]])
    q = torch.tensor([[0.2, 0.3, 0.4, 0.1]])
    generator, first, second = torch.Generator().manual_seed(0), torch.zeros(4), torch.zeros(4)
    for _ in range(20_000):
        drafted = torch.multinomial(q[0], 1, generator=generator)
        ids = accept_drafts(p, q, drafted, generator)
        first[ids[0]] += 1
        if len(ids) == 2:
            second[ids[1]] += 1
    assert (first / first.sum() - p[0]).abs().sum() / 2 < 0.012
    assert (second / second.sum() - p[1]).abs().sum() / 2 < 0.015
    assert abs(second.sum() / 20_000 - torch.minimum(p[:1], q).sum()) < 0.015


@pytest.mark.parametrize("n", [0, 1, 5])
def test_the_draws_are_those_of_the_docstring(n):
    for seed in range(30):
        p, q = drawn(n + 1, 6, seed=seed).softmax(-1), drawn(n, 6, seed=seed + 100).softmax(-1)
        drafted = torch.randint(6, (n,), generator=torch.Generator().manual_seed(seed))
        ours, theirs = (torch.Generator().manual_seed(seed) for _ in range(2))
        u, expected, row = torch.rand(n, generator=theirs), [], p[n]
        for t in range(n):
            if u[t] * q[t, drafted[t]] < p[t, drafted[t]]:
                expected.append(int(drafted[t]))
            else:
                row = torch.relu(p[t] - q[t])
                break
        expected.append(int(torch.multinomial(row, 1, generator=theirs)))
        assert accept_drafts(p, q, drafted, ours) == expected
        assert ours.get_state().equal(theirs.get_state())


def test_edges_of_a_draft():
    p = torch.eye(3)
    ids = accept_drafts(p, torch.full((2, 3), 1 / 3), torch.tensor([0, 2]), torch.Generator().manual_seed(0))
    assert ids == [0, 1]  # 0 is certain, 2 impossible, what is left is 1
    assert accept_drafts(p[:1], torch.zeros(0, 3), torch.zeros(0).long(), torch.Generator()) == [0]
    assert all(type(i) is int for i in ids)


def test_a_draft_of_bad_input():
    generator = torch.Generator()
    words = "accept_drafts: p has 2 rows for 2 drafted words, expected 3: one for each, and one for what follows."
    refuses(ValueError, words, accept_drafts, torch.eye(2), torch.eye(2), torch.tensor([0, 1]), generator)
    words = "accept_drafts: q[0, 1] is 0.0, so the draft can't have chosen 1. Which q was it drawn from?"
    refuses(ValueError, words, accept_drafts, torch.eye(2), torch.eye(2)[:1], torch.tensor([1]), generator)
    words = "accept_drafts: drafted[0] is 2, expected 0 to 1."
    refuses(ValueError, words, accept_drafts, torch.eye(2), torch.eye(2)[:1], torch.tensor([2]), generator)


# quantize_groups


def quantized_in_fractions(weight: Tensor, bits: int, group: int):
    """Python's own `round` of a fraction rounds a half to the even integer."""
    top, codes, scales = 2 ** (bits - 1) - 1, [], []
    for row in weight.tolist():
        parts = [row[i : i + group] for i in range(0, len(row), group)]
        largest = [max(abs(Fraction(w)) for w in part) for part in parts]
        scales.append([float(m / top) for m in largest])
        codes.append(
            [round(Fraction(w) * top / m) if m else 0 for part, m in zip(parts, largest, strict=True) for w in part]
        )
    return torch.tensor(codes, dtype=torch.int8), torch.tensor(scales, dtype=torch.float64)


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize(("shape", "group"), [((3, 12), 4), ((5, 7), 3), ((2, 5), 9), ((1, 1), 1), ((4, 6), 1)])
def test_codes_and_scales_in_fractions(bits, shape, group):
    weight = drawn(*shape, seed=bits)
    codes, scales = quantize_groups(weight, bits, group)
    expected = quantized_in_fractions(weight, bits, group)
    assert codes.dtype == torch.int8
    assert codes.equal(expected[0])
    torch.testing.assert_close(scales, expected[1])


@pytest.mark.parametrize("bits", range(2, 9))
def test_halves_go_to_the_even_and_zeros_stay(bits):
    top = 2 ** (bits - 1) - 1
    halves = torch.arange(-top + 0.5, top) / 8
    weight = torch.stack([torch.cat([halves, torch.tensor([-top / 8])]), torch.zeros(len(halves) + 1)])
    codes, scales = quantize_groups(weight, bits, weight.shape[1])
    assert codes.equal(quantized_in_fractions(weight, bits, weight.shape[1])[0])
    assert scales.tolist() == [[0.125], [0.0]]
    assert not codes[1].any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_scales_have_the_dtype_of_the_weights(dtype):
    weight = drawn(40, 32, seed=5, dtype=dtype)
    codes, scales = quantize_groups(weight, 8, 16)
    assert scales.dtype == dtype
    assert codes.equal(quantized_in_fractions(weight, 8, 16)[0])  # bfloat16 has 8 digits: it divides too coarsely


def test_quantising_of_bad_input():
    for bits in (1, 9, 4.0):
        words = f"quantize_groups: bits is {bits!r}, expected an integer from 2 to 8: codes are kept in int8."
        refuses(ValueError, words, quantize_groups, torch.eye(2), bits, 1)
    refuses(
        ValueError, "quantize_groups: group is 0, expected a positive integer.", quantize_groups, torch.eye(2), 4, 0
    )
