"""The case of a verdict: what went in, what came out, and what should have."""

from __future__ import annotations

from typing import Any

import torch

from qkv import check


def test_a_case_can_be_played_with() -> None:
    def softmax(scores: Any, dim: int) -> Any:
        powers = (scores - scores.amax(dim, keepdim=True)).exp()
        return 1.01 * powers / powers.sum(dim, keepdim=True)

    result = check(softmax)
    assert result.state == "not_yet"
    assert "Every entry of weights is off by the same factor, 1.01." in result.message
    case = result.case
    assert set(case.inputs) == {"scores", "dim"}
    assert torch.equal(softmax(**case.inputs), case.yours["weights"])
    assert torch.allclose(case.inputs["scores"].softmax(case.inputs["dim"]), case.expected["weights"])
    assert "inputs: scores (2, 3, 5), dim -1" in repr(case)
    html = result._repr_html_()
    assert html.count("<svg") == 3
    assert "your weights" in html


def test_what_passes_or_gives_no_tensor_has_no_case() -> None:
    def softmax(scores: Any, dim: int) -> Any:
        return None

    assert check(softmax).case is None
