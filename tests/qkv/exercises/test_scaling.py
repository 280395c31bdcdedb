"""Chapter 02: a mistake is called by its name however it is written, and two at once by both names."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from proctor import Examiner, Result
from qkv.exercises import get_code

Hide = Callable[[Tensor, Tensor], Tensor]

# Ways to hide scores where `hidden` is True. They agree wherever a row keeps a key, whichever way the mask is read.
WAYS: dict[str, Hide] = {
    "minus infinity": lambda s, hidden: s.masked_fill(hidden, -math.inf),
    "-1e9": lambda s, hidden: s.masked_fill(hidden, -1e9),
    "smallest float": lambda s, hidden: s.masked_fill(hidden, torch.finfo(s.dtype).min),
    "added": lambda s, hidden: s + hidden.to(s.dtype) * -1e9,
    "where": lambda s, hidden: torch.where(hidden, torch.full_like(s, -math.inf), s),
}
ways = pytest.mark.parametrize("hide", WAYS.values(), ids=WAYS)
salts = pytest.mark.parametrize("salt", ["", "a", "b"])


def attend(
    hide: Hide, *, divisor: Any = math.sqrt, hidden: Any = torch.logical_not, dim: int = -1
) -> Callable[..., Any]:
    def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
        scores = q @ k.transpose(-2, -1) / divisor(q.shape[-1])
        if mask is not None:
            scores = hide(scores, hidden(mask))
        weights = scores.softmax(dim)
        return weights @ v, weights

    return scaled_dot_product_attention


@cache
def examiner(salt: str) -> Examiner:
    return Examiner(get_code("scaled_dot_product_attention"), salt)


def examine(answer: Callable[..., Any], salt: str) -> Result:
    return examiner(salt).examine(answer)


def one(d: int) -> float:
    return 1.0


@ways
@salts
def test_every_way_to_hide_is_right_unless_float16_has_no_such_number(hide: Hide, salt: str) -> None:
    result = examine(attend(hide), salt)
    if hide is WAYS["-1e9"]:
        assert (result.misconceptions, result.probes - result.probes_passed) == (("too_large_for_float16",), 1)
    else:
        assert result.state == "passed"


@salts
def test_ten_thousand_is_not_infinity(salt: str) -> None:
    for number in (-1000.0, -10000.0):
        result = examine(attend(lambda s, hidden, number=number: s.masked_fill(hidden, number)), salt)
        assert result.misconceptions == ("a_large_number_for_infinity",)
        assert "a number that is not below every score" in result.message
    answer = attend(lambda s, hidden: s + hidden * -10000.0)
    assert examine(answer, salt).misconceptions == ("a_large_number_added",)


def by_rank(equation: str) -> Callable[..., Any]:
    def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
        scores = torch.einsum(equation, q, k) / math.sqrt(q.shape[-1])
        weights = (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1)
        return weights @ v, weights

    return scaled_dot_product_attention


@salts
def test_code_for_one_number_of_dimensions_is_named_however_it_fails(salt: str) -> None:
    assert examine(by_rank("bid,bjd->bij"), salt).misconceptions == ("for_one_batch_dimension",)
    assert examine(by_rank("id,jd->ij"), salt).misconceptions == ("for_no_batch_dimension",)
    assert examine(by_rank("...id,...jd->...ij"), salt).state == "passed"


@salts
def test_a_mask_that_is_reshaped_or_indexed_must_have_the_very_shape(salt: str) -> None:
    def reshaped(s: Tensor, hidden: Tensor) -> Tensor:
        return s.masked_fill(hidden.reshape(s.shape), -math.inf)

    assert examine(attend(reshaped), salt).misconceptions == ("mask_of_the_very_shape",)


@ways
@salts
def test_unscaled(hide: Hide, salt: str) -> None:
    assert examine(attend(hide, divisor=one), salt).misconceptions == ("unscaled",)


@ways
@salts
def test_mask_reversed(hide: Hide, salt: str) -> None:
    assert examine(attend(hide, hidden=torch.clone), salt).misconceptions == ("mask_reversed",)


@ways
@salts
def test_softmax_over_queries(hide: Hide, salt: str) -> None:
    assert examine(attend(hide, dim=-2), salt).misconceptions == ("softmax_over_queries",)


@ways
@salts
def test_two_at_once(hide: Hide, salt: str) -> None:
    result = examine(attend(hide, divisor=one, hidden=torch.clone), salt)
    assert result.misconceptions == ("unscaled", "mask_reversed")
    assert len(result.explanations) == 2
    assert "not divided by the square root of d_k" in result.message
    assert "you hide what is allowed" in result.message
    result = examine(attend(hide, divisor=lambda d: d, dim=-2), salt)
    assert result.misconceptions == ("divided_by_d_k", "softmax_over_queries")


@pytest.mark.parametrize("fill", [0.0, -1e-9])
def test_a_fill_near_zero(fill: float) -> None:
    result = examine(attend(lambda s, hidden: s.masked_fill(hidden, fill)), "")
    assert result.misconceptions == ("hidden_scores_set_to_zero",)


@salts
def test_no_row_or_column_of_a_mask_is_all_one_value(salt: str) -> None:
    """A row without a key is undefined, and so would be a reversed mask of a row that sees everything."""
    seen: list[Tensor] = []

    def watching(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
        if mask is not None:
            seen.append(mask)
        return get_code("scaled_dot_product_attention").reference(q, k, v, mask)

    examine(watching, salt)
    masks = [m for m in seen if m.dim() >= 2 and m.shape[-2] > 1 and not m.is_meta and not m.all()]
    assert len(masks) >= 3
    for mask in masks:
        for dim in (-1, -2):
            assert mask.any(dim).all()
            assert not mask.all(dim).any()


def test_a_variance_with_two_mistakes() -> None:
    result = Examiner(get_code("score_variance")).examine(lambda d, sigma, mean=0.0: d**2 * sigma**4)
    assert result.misconceptions == ("mean_forgotten", "width_squared")


def test_the_jacobian_of_a_single_row_names_the_batch() -> None:
    result = Examiner(get_code("softmax_jacobian")).examine(lambda p: torch.diag(p) - p.view(-1, 1) @ p.view(1, -1))
    assert result.misconceptions == ("one_row_at_a_time",)


@salts
@pytest.mark.parametrize("epsilon", [1e-12, 1e-10, 1e-9, 1e-8])
def test_an_epsilon_is_nothing_in_float16(epsilon: float, salt: str) -> None:
    for answer in (
        lambda weights: -(weights * (weights + epsilon).log()).sum(-1),
        lambda weights: -(weights * weights.clamp_min(epsilon).log()).sum(-1),
    ):
        assert Examiner(get_code("attention_entropy"), salt).examine(answer).misconceptions == (
            "nothing_left_in_float16",
        )


@salts
@pytest.mark.parametrize("epsilon", [1e-7, 1e-6])
def test_an_epsilon_that_float16_has_is_seen_where_entropies_are_small(epsilon: float, salt: str) -> None:
    answer = lambda weights: -(weights * (weights + epsilon).log()).sum(-1)  # noqa: E731
    result = Examiner(get_code("attention_entropy"), salt).examine(answer)
    assert result.state == "not_yet"
    assert "Where rows are almost sure of one key your entropy is off" in result.message


@salts
def test_an_epsilon_of_the_dtype_never_passes_by_luck(salt: str) -> None:
    answer = lambda weights: -(weights * (weights + torch.finfo(weights.dtype).eps).log()).sum(-1)  # noqa: E731
    assert Examiner(get_code("attention_entropy"), salt).examine(answer).state == "not_yet"


def test_a_jacobian_in_float32_is_not_said_to_mind_no_grad() -> None:
    result = Examiner(get_code("softmax_jacobian")).examine(lambda p: get_code("softmax_jacobian").reference(p.float()))
    assert "Your code does not keep the dtype" in result.message
