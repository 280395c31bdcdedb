"""Chapter 03: layers written in one piece, with none of the reference's helper methods, are diagnosed all the same."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from proctor import Examiner
from qkv.exercises import get_code


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(get_code("MultiHeadAttention"), salt="a class")


def student(*mistakes: str) -> type[nn.Module]:
    """A student's layer: one long forward in plain torch, with these mistakes in it."""

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model: int, n_heads: int) -> None:
            super().__init__()
            self.h = n_heads
            self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
            if "query for all" in mistakes:
                key = value = query
            batch, n, d_model = query.shape
            m, d_head = key.shape[1], d_model // self.h
            q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
            if "no projection" in mistakes:
                q, k, v = query, key, value
            if "reshaped split" in mistakes:
                q, k, v = (x.reshape(batch, self.h, -1, d_head) for x in (q, k, v))
            else:
                q, k, v = (x.view(batch, -1, self.h, d_head).transpose(1, 2) for x in (q, k, v))
            scores = torch.einsum("bhid,bhjd->bhij", q, k)
            if "no scale" not in mistakes:
                scores = scores / math.sqrt(d_model if "wide scale" in mistakes else d_head)
            if mask is not None and "no mask" not in mistakes:
                hidden = mask if "reversed mask" in mistakes else ~mask
                if "mask rows meet heads" in mistakes:
                    hidden = hidden.unsqueeze(1)
                elif "mask meets heads" not in mistakes:
                    hidden = hidden.expand(batch, n, m).unsqueeze(1)
                scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
            heads = torch.softmax(scores, dim=-1) @ v
            merged = heads if "reshaped merge" in mistakes else heads.transpose(1, 2)
            merged = merged.view(batch, n, d_model) if "view" in mistakes else merged.reshape(batch, n, d_model)
            output = merged if "no output projection" in mistakes else self.out_proj(merged)
            return query + output if "residual" in mistakes else output

    return MultiHeadAttention


NAMES = {
    "query for all": "QueryForAll",
    "no projection": "InputsNotProjected",
    "reshaped split": "SplitInOneGo",
    "no scale": "NotScaled",
    "wide scale": "ScaledByTheModelWidth",
    "no mask": "MaskIgnored",
    "reversed mask": "MaskReversed",
    "mask meets heads": "MaskOfTheSequenceMeetsTheHeads",
    "mask rows meet heads": "MaskRowsMeetTheHeads",
    "view": "ViewedAfterTheTurn",
    "reshaped merge": "MergedWithoutTurning",
    "no output projection": "NoOutputProjection",
    "residual": "ResidualAdded",
}
PAIRS = [
    ("reshaped split", "reshaped merge"),
    ("wide scale", "reversed mask"),
    ("wide scale", "no output projection"),
    ("no scale", "no mask"),
    ("reversed mask", "no output projection"),
    ("mask meets heads", "wide scale"),
    ("query for all", "no output projection"),
    ("no projection", "reshaped split"),
    ("residual", "no mask"),
]


def test_without_mistakes_it_passes(examiner: Examiner) -> None:
    assert examiner.examine(student()).state == "passed"


@pytest.mark.parametrize("mistake", NAMES)
def test_a_mistake_is_named(examiner: Examiner, mistake: str) -> None:
    assert examiner.examine(student(mistake)).misconceptions == (NAMES[mistake],)


@pytest.mark.parametrize("mistakes", PAIRS, ids=" and ".join)
def test_two_mistakes_at_once_are_both_named(examiner: Examiner, mistakes: tuple[str, str]) -> None:
    result = examiner.examine(student(*mistakes))
    assert set(result.misconceptions) == {NAMES[mistake] for mistake in mistakes}
    assert len(result.explanations) == 2


def test_three_mistakes_at_once_are_not_guessed(examiner: Examiner) -> None:
    result = examiner.examine(student("wide scale", "no mask", "no output projection"))
    assert (result.state, result.misconceptions) == ("not_yet", ())


def test_a_mask_of_one_dimension_is_not_asked_for(examiner: Examiner) -> None:
    """`mask.unsqueeze(-3)` is a fair answer, although it cannot take a mask (key,)."""

    class Plain(get_code("MultiHeadAttention").reference):  # type: ignore[name-defined]
        def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
            return None if mask is None else mask.unsqueeze(-3)

    assert examiner.examine(Plain).state == "passed"


def test_a_view_that_fails_on_turned_inputs_does_not_hide_the_mistake() -> None:
    def split_heads(x: Tensor, n_heads: int) -> Tensor:
        batch, seq, d_model = x.shape
        return x.view(batch * n_heads, -1, d_model // n_heads).view(batch, n_heads, seq, -1)

    def merge_heads(x: Tensor) -> Tensor:
        batch, head, seq, d_head = x.shape
        return x.view(batch, seq, head * d_head)

    assert Examiner(get_code("split_heads")).examine(split_heads).misconceptions == ("reshaped_in_one_go",)
    assert Examiner(get_code("merge_heads")).examine(merge_heads).misconceptions == ("joined_without_turning",)


def test_a_fill_that_float16_does_not_have(examiner: Examiner) -> None:
    class Filled(student()):  # type: ignore[misc]
        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
            if mask is not None:
                query.new_zeros(()).masked_fill(mask.any(), -1e9)
            return super().forward(query, key, value, mask)

    result = examiner.examine(Filled)
    assert (result.misconceptions, result.probes - result.probes_passed) == (("TooLargeForFloat16",), 1)
