"""What `expects` refuses, word for word, and what it lets through."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
import torch
from torch import Tensor, nn

from qkv.model.expect import expects


@expects(q="... query d_k", k="... key d_k", mask="bool -> ... query key")
def scores(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """What it does."""
    found = q @ k.transpose(-2, -1)
    return found if mask is None else found.masked_fill(~mask, 0.0)


@expects(ids="int: batch seq*", length="size")
def cut(ids: Tensor, length: int = 2) -> Tensor:
    return ids[:, :length]


@expects(x="batch seq", answer="bool: batch seq")
def kept(x: Tensor, answer: Tensor) -> Tensor:
    return x[answer]


@expects(gamma="d")
def gain(gamma: Tensor) -> Tensor:
    return gamma


@expects(d_model="even", n_heads="divides d_model")
def head_width(d_model: int, n_heads: int) -> int:
    return d_model // n_heads


@expects(x="batch seq d_model", n_heads="divides d_model")
def split(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1))


@expects(temperature="above 0")
def cooled(temperature: float | Tensor) -> float:
    return 1 / float(temperature)


@expects(q="query", k="key", causal="needs query = key")
def paired(q: Tensor, k: Tensor, causal: bool = False) -> bool:
    return causal


@expects(q="head d", cache=("group/head past* d", "group past*"))
def grouped(q: Tensor, cache: tuple[Tensor, Tensor] | None = None) -> int:
    return 0 if cache is None else cache[0].shape[1]


class Projection(nn.Module):
    @expects(d_model="positive", d_out="positive")
    def __init__(self, d_model: int, d_out: int = 3) -> None:
        super().__init__()
        self.linear = nn.Linear(d_model, d_out)

    @expects(x="... seq d_model")
    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


def refuses(error: type[Exception], words: str, function: object, *args: object, **kwargs: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args, **kwargs)  # type: ignore[operator]


@pytest.mark.parametrize("leading", [(), (2,), (2, 5), (0,)])
def test_right_shapes_pass_with_any_leading_dimensions(leading):
    q, k = torch.randn(*leading, 3, 7), torch.randn(*leading, 4, 7)
    assert scores(q, k).shape == (*leading, 3, 4)
    assert scores(q, k=k).shape == (*leading, 3, 4)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (1, 4), (3, 1), (1, 3, 4), (2, 1, 4), (2, 3, 4)])
def test_a_mask_may_be_anything_that_broadcasts(shape):
    assert scores(torch.randn(2, 3, 7), torch.randn(2, 4, 7), torch.ones(shape).bool()).shape == (2, 3, 4)


def test_none_is_not_looked_at():
    assert scores(torch.randn(3, 7), torch.randn(4, 7), None).shape == (3, 4)


def test_the_function_keeps_its_name_and_docstring():
    assert (scores.__name__, scores.__doc__) == ("scores", "What it does.")


@pytest.mark.parametrize(
    ("q", "k", "words"),
    [
        ((3, 7), (4, 6), "k has shape (4, 6), so d_k = 6; expected d_k = 7, as q has it. k is (..., key, d_k)."),
        (
            (2, 3, 7),
            (5, 4, 7),
            "k has shape (5, 4, 7), so leading dimensions = (5,); expected leading dimensions = (2,), as q has it. "
            "k is (..., key, d_k).",
        ),
        (
            (2, 3, 7),
            (4, 7),
            "k has shape (4, 7), so leading dimensions = (); expected leading dimensions = (2,), as q has it. "
            "k is (..., key, d_k).",
        ),
        ((7,), (4, 7), "q has shape (7,), expected at least 2 dimensions: (..., query, d_k)."),
        ((), (4, 7), "q has shape (), expected at least 2 dimensions: (..., query, d_k)."),
        (
            (3, 7),
            (0, 7),
            "k has shape (0, 7), so key is 0. Expected (..., key, d_k) with at least one entry in each.",
        ),
    ],
)
def test_shapes_that_contradict_each_other(q, k, words):
    refuses(ValueError, f"scores: {words}", scores, torch.randn(q), torch.randn(k))


def test_other_dtypes_and_things_that_are_no_tensors():
    q, k = torch.randn(3, 7), torch.randn(4, 7)
    refuses(TypeError, "scores: q is int64, expected a floating dtype. Use q.float().", scores, q.long(), k)
    refuses(TypeError, "scores: k is bool, expected a floating dtype. Use k.float().", scores, q, k > 0)
    refuses(TypeError, "scores: q is a list, expected a tensor of shape (..., query, d_k).", scores, [[1.0], [2.0]], k)
    words = "cut: ids is float32, expected int64 (token ids, positions, lengths). Use ids.long()."
    refuses(TypeError, words, cut, torch.ones(2, 3))
    refuses(TypeError, "cut: ids is a list, expected a tensor of shape (batch, seq).", cut, [[1, 2]])
    refuses(TypeError, "gain: gamma is a float, expected a tensor of shape (d,).", gain, 1.0)


def test_a_bool_tensor_of_one_shape_does_not_broadcast():
    x = torch.randn(2, 3)
    assert kept(x, x > 0).shape == (int((x > 0).sum()),)
    refuses(TypeError, "kept: answer is float32, expected bool. Use answer != 0.", kept, x, x)
    words = "kept: answer has shape (3,), expected 2 dimensions: (batch, seq)."
    refuses(ValueError, words, kept, x, x[0] > 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_every_floating_dtype_passes(dtype):
    assert gain(torch.ones(3, dtype=dtype)).dtype == dtype


def test_masks_that_are_not_masks():
    q, k = torch.randn(3, 7), torch.randn(4, 7)
    words = (
        'scores: mask is float32, expected bool, where True means "may attend". '
        'Use mask != 0, or mask == 0 if your zeros mean "allowed".'
    )
    refuses(TypeError, words, scores, q, k, torch.ones(3, 4))
    for shape in [(4, 3), (5, 3, 4), (2, 4)]:
        words = f"scores: mask has shape {shape}, which does not broadcast to (..., query, key) = (3, 4)."
        refuses(ValueError, words, scores, q, k, torch.ones(shape).bool())


def test_a_fixed_number_of_dimensions():
    refuses(ValueError, "cut: ids has shape (3,), expected 2 dimensions: (batch, seq).", cut, torch.tensor([1, 2, 3]))
    refuses(ValueError, "gain: gamma has shape (2, 3), expected 1 dimension: (d,).", gain, torch.ones(2, 3))
    assert cut(torch.zeros(2, 0, dtype=torch.int64)).shape == (2, 0)  # seq* may be empty
    words = "cut: ids has shape (0, 2), so batch is 0. Expected (batch, seq) with at least one entry in each."
    refuses(ValueError, words, cut, torch.zeros(0, 2, dtype=torch.int64))


def test_integers():
    ids = torch.zeros(2, 3, dtype=torch.int64)
    assert cut(ids, 0).shape == (2, 0)
    refuses(ValueError, "cut: length is -1, expected an integer that is not negative.", cut, ids, -1)
    refuses(ValueError, "cut: length is 1.0, expected an integer that is not negative.", cut, ids, 1.0)
    refuses(ValueError, "cut: length is True, expected an integer that is not negative.", cut, ids, True)
    refuses(ValueError, "head_width: d_model is 7, expected a positive even integer.", head_width, 7, 1)
    refuses(ValueError, "head_width: d_model is 0, expected a positive even integer.", head_width, 0, 1)
    refuses(ValueError, "head_width: n_heads is 0, expected a positive integer.", head_width, 8, 0)
    refuses(ValueError, "Projection: d_model is 0, expected a positive integer.", Projection, 0)


def test_divisors_come_with_the_choices_that_there_are():
    assert head_width(12, 3) == 4
    words = "n_heads is 5, which does not divide d_model = 12. Use one of 1, 2, 3, 4, 6, 12."
    refuses(ValueError, f"head_width: {words}", head_width, 12, 5)
    refuses(ValueError, f"split: {words}", split, torch.randn(2, 3, 12), 5)  # the size of a tensor, too


def test_a_module_remembers_the_sizes_that_it_was_built_with():
    module = Projection(6)
    assert module(torch.randn(2, 5, 6)).shape == (2, 5, 3)
    words = (
        "Projection: x has shape (2, 5, 4), so d_model = 4; expected d_model = 6, which it was built with. "
        "x is (..., seq, d_model)."
    )
    for same in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        refuses(ValueError, words, same, torch.randn(2, 5, 4))
    assert set(module.state_dict()) == {"linear.weight", "linear.bias"}


def test_a_subclass_without_checks_of_its_own_is_checked_as_its_base():
    class Shifted(Projection):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + 1

    words = "Projection: x has shape (4,), expected at least 2 dimensions: (..., seq, d_model)."
    refuses(ValueError, words, Shifted(6), torch.randn(4))


def test_a_missing_argument_is_told_in_pythons_own_words():
    refuses(TypeError, "scores() missing 1 required positional argument: 'k'", scores, torch.randn(3, 7))


def test_a_spec_for_an_argument_that_does_not_exist_is_the_authors_mistake():
    with pytest.raises(TypeError, match=r"^double has no argument y, z$"):

        @expects(x="n", y="n", z="n")
        def double(x: Tensor) -> Tensor:
            return 2 * x


def test_a_number_above_0_may_be_whole_or_not_or_a_tensor_of_one():
    assert [cooled(2), cooled(0.5), cooled(torch.tensor(4.0))] == [0.5, 2.0, 0.25]
    for value, came in [(0, "0"), (-1.5, "-1.5"), (float("nan"), "nan"), (True, "True"), ("1", "'1'")]:
        refuses(ValueError, f"cooled: temperature is {came}, expected a number above 0.", cooled, value)
    refuses(ValueError, "cooled: temperature is 0.0, expected a number above 0.", cooled, torch.tensor(0.0))
    refuses(ValueError, "cooled: temperature is a Tensor, expected a number above 0.", cooled, torch.ones(2))


def test_sizes_that_have_to_be_equal_only_if_an_argument_says_so():
    assert paired(torch.ones(3), torch.ones(3), True)
    assert not paired(torch.ones(3), torch.ones(4))
    words = "paired: causal is True, which needs query = key; here query is 3 and key is 4."
    refuses(ValueError, words, paired, torch.ones(3), torch.ones(4), True)


def test_a_tuple_of_tensors_is_checked_one_by_one():
    q = torch.randn(6, 4)
    assert grouped(q) == 0
    assert grouped(q, (torch.randn(2, 5, 4), torch.randn(2, 5))) == 5
    assert grouped(q, [torch.randn(3, 0, 4), torch.randn(3, 0)]) == 0
    refuses(TypeError, "grouped: cache is a Tensor, expected a tuple of 2 tensors.", grouped, q, torch.randn(2, 5, 4))
    refuses(ValueError, "grouped: cache holds 1, expected a tuple of 2 tensors.", grouped, q, (torch.randn(2, 5, 4),))
    words = (
        "grouped: cache[1] has shape (2, 7), so past = 7; expected past = 5, as cache[0] has it. "
        "cache[1] is (group, past)."
    )
    refuses(ValueError, words, grouped, q, (torch.randn(2, 5, 4), torch.randn(2, 7)))
    words = "grouped: cache[1] is a float, expected a tensor of shape (group, past)."
    refuses(TypeError, words, grouped, q, (torch.randn(2, 5, 4), 1.0))


def test_a_size_that_has_to_divide_another():
    words = (
        "grouped: cache[0] has shape (4, 5, 3), so group is 4, which does not divide head = 6. Use one of 1, 2, 3, 6."
    )
    refuses(ValueError, words, grouped, torch.randn(6, 3), (torch.randn(4, 5, 3), torch.randn(4, 5)))


def test_a_call_that_looks_like_one_that_was_in_order_is_not_checked_again(monkeypatch):
    q, k = torch.randn(3, 11), torch.randn(4, 11)
    scores(q, k)
    monkeypatch.delattr("qkv.model.expect.Call.check")
    scores(q + 1, k=k + 1)
    with pytest.raises(AttributeError, match="check"):
        scores(q, k.double())


def test_a_call_that_was_in_order_lets_no_other_one_through():
    q, k, mask = torch.randn(3, 7), torch.randn(4, 7), torch.ones(3, 4).bool()
    scores(q, k, mask)
    refuses(TypeError, "scores: q is int64, expected a floating dtype. Use q.float().", scores, q.long(), k, mask)
    words = "scores: mask has shape (4, 3), which does not broadcast to (..., query, key) = (3, 4)."
    refuses(ValueError, words, scores, q, k, mask.T)
    cut(torch.zeros(2, 3, dtype=torch.int64), 1)
    words = "cut: length is True, expected an integer that is not negative."
    refuses(ValueError, words, cut, torch.zeros(2, 3, dtype=torch.int64), True)
    cooled(torch.tensor(1.0))
    refuses(ValueError, "cooled: temperature is -1.0, expected a number above 0.", cooled, torch.tensor(-1.0))
    paired(torch.ones(3), torch.ones(4), False)
    words = "paired: causal is True, which needs query = key; here query is 3 and key is 4."
    refuses(ValueError, words, paired, torch.ones(3), torch.ones(4), True)
    pair = torch.randn(2, 5, 4), torch.randn(2, 5)
    grouped(torch.randn(6, 4), pair)
    words = "grouped: cache holds 3, expected a tuple of 2 tensors."
    refuses(ValueError, words, grouped, torch.randn(6, 4), (*pair, pair[1]))
    Projection(6)(torch.randn(5, 6))
    words = (
        "Projection: x has shape (5, 6), so d_model = 6; expected d_model = 8, which it was built with. "
        "x is (..., seq, d_model)."
    )
    refuses(ValueError, words, Projection(8), torch.randn(5, 6))


def test_arguments_are_those_of_python():
    @expects(x="n", width="positive")
    def f(x: Tensor, *more: int, width: int = 3) -> int:
        return width + len(more)

    assert [f(torch.ones(2)), f(torch.ones(2), width=1), f(torch.ones(2), 7, 7), f(x=torch.ones(2))] == [3, 1, 5, 3]
    refuses(ValueError, "f: width is 0, expected a positive integer.", f, torch.ones(2), 7, width=0)
    for args, kwargs, words in [
        ((torch.ones(3, 7),), {"q": 1, "k": 2}, "scores() got multiple values for argument 'q'"),
        ((1, 2, 3, 4), {}, "scores() takes from 2 to 3 positional arguments but 4 were given"),
        ((1, 2), {"masc": 3}, "scores() got an unexpected keyword argument 'masc'"),
    ]:
        refuses(TypeError, words, scores, *args, **kwargs)
