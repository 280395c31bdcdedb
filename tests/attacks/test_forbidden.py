"""Built-ins that an exercise forbids, by every spelling: none earns a point."""

from __future__ import annotations

import pytest

SOFTMAX = {
    "function": "torch.softmax(scores, dim)",
    "functional": "F.softmax(scores, dim=dim)",
    "method": "scores.softmax(dim)",
    "module": "nn.Softmax(dim)(scores)",
    "by name": "getattr(torch, 'soft' + 'max')(scores, dim)",
    "logarithm": "scores.log_softmax(dim).exp()",
    "softmin": "F.softmin(-scores, dim)",
    "special": "torch.special.softmax(scores, dim)",
    "operator": "torch.ops.aten.softmax.int(scores, dim)",
    "kernel": "torch.ops.aten._softmax.default(scores, dim, False)",
    "private": "torch._softmax(scores, dim, False)",
    "safe": "torch._safe_softmax(scores, dim)",
    "in C": "torch._C._VariableFunctions.softmax(scores, dim)",
    "script": "torch.jit.script(scripted)(scores, dim)",
    "trace": "torch.jit.trace(lambda s: s.softmax(dim), scores)(scores)",
    "vmap": "torch.func.vmap(lambda row: row.softmax(dim if dim < 0 else dim - 1))(scores)",
    "no modes": "unwatched(lambda: scores.softmax(dim))",
    "no dispatch": "undispatched(lambda: scores.softmax(dim))",
    "no function": "unfunctioned(lambda: scores.softmax(dim))",
    "inference": "inferred(lambda: scores.softmax(dim))",
    "own gradient": "Own.apply(scores, dim)",
    "oneDNN": "torch.softmax(scores.to_mkldnn(), dim).to_dense()",
    "sparse": "torch.sparse.softmax(scores.to_sparse(), dim % scores.dim()).to_dense()",
    "evaluated": "eval('torch.' + 'softmax')(scores, dim)",
    "fallback": "tried(lambda: scores.softmax(dim), scores, dim)",
    "other thread": "threaded(lambda: scores.softmax(dim))",
}
PREPARATION = """
import threading
import torch
import torch.nn.functional as F
from torch import nn, Tensor
from torch.utils._python_dispatch import _disable_current_modes

def scripted(scores: Tensor, dim: int) -> Tensor:
    return torch.softmax(scores, dim)

def unwatched(compute):
    with _disable_current_modes():
        return compute()

def undispatched(compute):
    with torch._C._DisableTorchDispatch():
        return compute()

def unfunctioned(compute):
    with torch._C.DisableTorchFunction():
        return compute()

def inferred(compute):
    with torch.inference_mode():
        return compute()

def threaded(compute):
    found = []
    thread = threading.Thread(target=lambda: found.append(compute()))
    thread.start()
    thread.join()
    return found[0]

def tried(compute, scores, dim):
    try:
        return compute()
    except Exception:
        powers = torch.exp(scores - scores.amax(dim, keepdim=True))
        return powers / powers.sum(dim, keepdim=True)

class Own(torch.autograd.Function):
    @staticmethod
    def forward(context, scores, dim):
        return scores.softmax(dim)

    @staticmethod
    def backward(context, grad):
        return grad, None
"""
ATTENTION = {
    "fused": "F.scaled_dot_product_attention(q, k, v, scale=1.0)",
    "by name": "getattr(F, 'scaled_dot_' + 'product_attention')(q, k, v, scale=1.0)",
    "in C": "torch._C._nn.scaled_dot_product_attention(q, k, v, scale=1.0)",
    "operator": "torch.ops.aten.scaled_dot_product_attention(q, k, v, scale=1.0)",
    "flash": "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q[None], k[None], v[None], scale=1.0)[0][0]",
    "plain": "torch.ops.aten._scaled_dot_product_attention_math(q, k, v, scale=1.0)[0]",
    "kept reference": "kept(q, k, v, scale=1.0)",
    "multi-head": "heads(q, k, v)",
}
KEPT = """
kept = F.scaled_dot_product_attention
forward = F.multi_head_attention_forward

def heads(q, k, v):
    attention = nn.MultiheadAttention(q.shape[-1], 1, bias=False, batch_first=True, vdim=v.shape[-1])
    return attention(q, k, v)[0]
"""


@pytest.mark.parametrize("spelling", SOFTMAX)
def test_softmax_by_any_spelling(spelling, exam):
    source = f"{PREPARATION}\ndef softmax(scores, dim):\n    return {SOFTMAX[spelling]}\n"
    run = exam.run(source, only="softmax")
    result = exam.results(run)["softmax"]
    assert run.stopped is None
    assert result.score == 0
    if spelling != "other thread":  # no thread can be started at all
        assert result.message.splitlines()[1] == (
            "You call torch's own softmax, which this exercise asks you to do without."
        )


@pytest.mark.parametrize("spelling", ATTENTION)
def test_fused_attention_by_any_spelling(spelling, exam):
    source = f"{PREPARATION}\n{KEPT}\ndef soft_lookup(q, k, v):\n    return {ATTENTION[spelling]}\n"
    run = exam.run(source, only="soft_lookup")
    result = exam.results(run)["soft_lookup"]
    assert run.stopped is None
    assert result.score == 0
    assert "which this exercise asks you to do without." in result.message


def test_what_one_exercise_forbids_is_there_for_the_next(exam, right):
    source = (
        f"{right}\nimport torch\ndef soft_lookup(q, k, v):\n    return torch.softmax(similarity_scores(q, k), -1) @ v\n"
    )
    results = exam.results(exam.run(source))
    assert {name: result.state for name, result in results.items()} == {
        "softmax": "passed",
        "similarity_scores": "passed",
        "soft_lookup": "passed",
    }
