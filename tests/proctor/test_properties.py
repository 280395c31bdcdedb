"""Probes that many exercises share: what they notice, and what they let pass."""

import pytest
import torch
from torch import nn

from proctor.compare import same
from proctor.inputs import seeded
from proctor.observe import observe
from proctor.properties import gradients, keeps_inputs, other_device, same_in


def numbers():
    return (torch.linspace(-1, 2, 12).reshape(3, 4),)


def double(x):
    return 2 * x


def agrees(probe, answer, reference=double) -> bool:
    return same(observe(probe, answer), observe(probe, reference))


def into_a_cpu_tensor(x):
    result = torch.zeros(3, 4)
    result[...] = 2 * x
    return result


def row_by_row(x):
    result = torch.zeros(3, 4, device=x.device)
    for i in range(3):
        result[i] = 2 * x[i]
    return result


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        (double, True),
        (row_by_row, True),
        (lambda x: 2 * x if x.sum() > 0 else x + x, True),
        (lambda x: x * float((x / x).max()) * 2, True),
        (lambda x: torch.tensor([[2 * n for n in row] for row in x.tolist()], device=x.device), True),
        (lambda x: 2 * x + torch.zeros(3, 4), False),
        (lambda x: torch.zeros(3, 4), False),
        (into_a_cpu_tensor, False),
    ],
)
def test_tensors_made_on_the_wrong_device(answer, passes):
    assert agrees(other_device(numbers), answer) is passes


@pytest.mark.parametrize(("answer", "passes"), [(double, True), (lambda x: x.mul_(2), False)])
def test_inputs_that_are_written_into(answer, passes):
    assert agrees(keeps_inputs(numbers), answer) is passes


@pytest.mark.parametrize(("answer", "passes"), [(double, True), (lambda x: 2 * x.float(), False)])
def test_a_dtype_that_is_not_kept(answer, passes):
    assert agrees(same_in(torch.float64, numbers), answer) is passes


@pytest.mark.parametrize(
    ("answer", "passes"), [(double, True), (lambda x: x + x.detach(), False), (lambda x: x * 0 + 2 * x.data, False)]
)
def test_a_graph_that_is_cut(answer, passes):
    assert agrees(gradients(numbers), answer) is passes


class Keys(nn.Module):
    """The bias of keys shifts all scores of a query alike: its gradient is 0, and what is computed is rounding."""

    def __init__(self):
        super().__init__()
        self.k_proj = nn.Linear(4, 4)

    def forward(self, x):
        return (x @ self.k_proj(x).transpose(-2, -1)).softmax(-1) @ x


class KeysOtherwise(Keys):
    def forward(self, x):
        return torch.einsum("qk,kd->qd", torch.einsum("qd,kd->qk", x, self.k_proj(x)).softmax(-1), x)


def test_a_gradient_that_is_only_rounding_counts_as_zero():
    probe = gradients(numbers, seeded)
    seen = observe(lambda cls: probe(cls()), Keys).values
    assert (seen["gradient of k_proj.bias"] == 0).all()
    assert (seen["gradient of k_proj.weight"] != 0).any()
    assert same(observe(lambda cls: probe(cls()), KeysOtherwise), observe(lambda cls: probe(cls()), Keys))
