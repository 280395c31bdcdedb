"""Probes that many exercises share: what they notice, and what they let pass."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from proctor.examining.compare import ComparableObservation
from proctor.inside.inputs import seeded
from proctor.inside.observe import observe
from proctor.inside.properties import gradients, keeps_inputs, other_device, repeats, same_in, under_no_grad


def numbers():
    return (torch.linspace(-1, 2, 12).reshape(3, 4),)


def double(x):
    return 2 * x


def agrees(probe, answer, reference=double) -> bool:
    return ComparableObservation(observe(probe, reference)).same(ComparableObservation(observe(probe, answer)))


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


def right_once():
    results = []

    def answer(x):
        results.append(2 * x if not results else 7 * x)
        return results[-1]

    return answer


def one_buffer():
    buffer = torch.zeros(3, 4)

    def answer(x):
        buffer.add_(1)  # a count of calls is in it
        return buffer.copy_(2 * x + buffer.mul_(0))

    return answer


def one_buffer_that_grows():
    buffer = torch.zeros(3, 4)
    return lambda x: buffer.add_(2 * x)


def rounds_otherwise():
    calls = iter([0.0, 1e-7, 2e-7])
    return lambda x: 2 * x + next(calls)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: double, ""),
        (lambda: lambda x: 2 * x * torch.rand(()) / torch.rand(()), ""),  # chance is the same in both calls
        (rounds_otherwise, ""),
        (right_once, "Called a second time with the same arguments, your code gives something else."),
        (one_buffer_that_grows, "A second call changes what the first one returned"),
    ],
)
def test_a_second_call_is_like_the_first(make, words):
    probe = keeps_inputs(numbers)
    expected, seen = observe(probe, double), observe(probe, make())
    assert ComparableObservation(expected).same(ComparableObservation(seen)) is (not words)
    assert not words or probe.explain(seen, expected).startswith(words)


def one_result_a_shape():
    kept = {}
    return lambda x: kept.setdefault(x.shape, 2 * x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (one_buffer, "A second call changes what the first one returned"),
        (one_result_a_shape, "Called with other numbers in the same shapes, your code gives what it gave before."),
    ],
)
def test_a_call_with_other_arguments_comes_in_between(make, words):
    probe = keeps_inputs(numbers)
    expected, seen = observe(probe, double), observe(probe, make())
    assert not ComparableObservation(expected).same(ComparableObservation(seen))
    assert probe.explain(seen, expected).startswith(words)


def test_arguments_that_are_valid_one_way_round_alone_cost_nothing():
    def only_upwards(x):
        if x.flatten()[0] > x.flatten()[-1]:
            raise ValueError("not sorted")
        return 2 * x

    probe = keeps_inputs(lambda: (torch.arange(4.0),))
    assert agrees(probe, only_upwards)
    assert observe(probe, only_upwards).raised is None


def table(n, base=2.0):
    return [base**i for i in range(n)], torch.arange(float(n))


def one_table():
    kept = [], torch.zeros(3)

    def answer(n, base=2.0):
        kept[0][:] = [base**i for i in range(n)]
        return kept[0], torch.arange(n, out=kept[1])

    return answer


def right_twice():
    calls = []

    def answer(n, base=2.0):
        calls.append(n)
        return table(n, base if len(calls) < 3 else 7.0)

    return answer


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: table, ""),
        (lambda: cache(table), ""),  # the same object again, and nobody writes into it
        (one_table, "A second call changes what the first one returned"),
        (right_twice, "Called a second time with the same arguments, your code gives something else."),
    ],
)
def test_functions_without_tensors_are_repeated_as_well(make, words):
    probe = repeats(lambda f: [f(3), f(3, 3.0)])
    expected, seen = observe(probe, table), observe(probe, make())
    assert ComparableObservation(expected).same(ComparableObservation(seen)) is (not words)
    assert not words or probe.explain(seen, expected).startswith(words)


def test_a_module_that_forgets_itself_after_one_call_is_noticed():
    class Once(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(2.0))

        def forward(self, x):
            result = self.scale * x
            with torch.no_grad():
                self.scale.mul_(0.5)
            return result

    class Calm(Once):
        def forward(self, x):
            return self.scale * x

    probe = keeps_inputs(numbers, lambda cls: cls())
    assert agrees(probe, Calm, Calm)
    assert not agrees(probe, Once, Calm)


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
    assert ComparableObservation(observe(lambda cls: probe(cls()), Keys)).same(
        ComparableObservation(observe(lambda cls: probe(cls()), KeysOtherwise))
    )


def test_what_fails_on_every_device_is_not_said_to_fail_on_another():
    """torch's kernels for meta do not all raise where those of the CPU do, so that may decide nothing."""
    probe = other_device(numbers)
    assert observe(probe, lambda x: x.softmax(dim=7)).values == observe(probe, double).values


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda x: 2 * x.float(), "with float64 inputs the result should be float64 too, and it is float32."),
        (lambda x: (2 * x + 1e-3).to(x.dtype), "the dtype of your result is right, but its numbers are not"),
        (lambda x: x + torch.ones(99), "Your code raised RuntimeError at test_properties.py, line "),
    ],
)
def test_a_dtype_is_blamed_only_if_it_differs(answer, said):
    probe = same_in(torch.float64, numbers)
    assert said in probe.explain(observe(probe, answer), observe(probe, double))


def test_several_dtypes_are_told_alike_in_whichever_order_the_results_come():
    """The sandbox hands results back in an order of its own."""
    probe = same_in(torch.float64, numbers)
    seen = observe(probe, lambda x: (x.float(), x))
    turned = replace(seen, values=dict(reversed(seen.values.items())))
    expected = observe(probe, lambda x: (x, x))
    assert "and it is float32 and float64." in probe.explain(seen, expected)
    assert probe.explain(turned, expected) == probe.explain(seen, expected)


def test_numpy_is_named_where_it_is_the_reason():
    probe = other_device(numbers)
    seen = observe(probe, lambda x: torch.from_numpy(2 * x.numpy()))
    assert "hands a tensor to numpy" in probe.explain(seen, observe(probe, double))


def test_a_result_without_a_graph_has_the_gradient_zero():
    probe = gradients(numbers)
    assert agrees(probe, lambda x: torch.zeros_like(x), lambda x: 0 * x)
    assert not agrees(probe, lambda x: 2 * x.detach())


def test_no_grad_may_change_nothing():
    probe = under_no_grad(numbers)
    assert agrees(probe, double)
    assert not agrees(probe, lambda x: 2 * x if torch.is_grad_enabled() else x)


def test_lists_and_tuples_of_tensors_are_kept_too():
    make = lambda: ([torch.ones(2), torch.ones(3)], (torch.ones(4),))  # noqa: E731
    calm = lambda a, b: a[0].sum() + b[0].sum()  # noqa: E731
    for rude in (lambda a, b: a.pop().sum(), lambda a, b: a[1].add_(1).sum(), lambda a, b: b[0].mul_(2).sum()):
        assert agrees(keeps_inputs(make), calm, calm)
        assert not agrees(keeps_inputs(make), rude, calm)
