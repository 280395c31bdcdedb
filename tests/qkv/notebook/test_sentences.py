"""Every sentence on a card is true of the code that it is about, and none is about our own machinery.

All answers that we keep are held to the second in tests/test_answers.py.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from proctor import Result
from qkv import check, exercises
from qkv.notebook.checking import check_named


def cell(source: str) -> dict[str, Any]:
    """What a kernel holds after a cell with this text."""
    file = "<ipython-input-1>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"torch": torch, "nn": nn, "Tensor": Tensor, "__name__": "__main__"}
    exec(compile(source, file, "exec"), names)
    return names


def checked(source: str, name: str) -> Result:
    return check(cell(source)[name])


def softmax(body: str) -> Result:
    return checked(f"def softmax(scores, dim):\n    {body}\n", "softmax")


ODD: dict[str, Callable[[Any], Any]] = {
    "None": lambda found: None,
    "a tuple": lambda found: (found, found),
    "a list": lambda found: [found],
    "an array": lambda found: np.zeros(3),
    "a text": lambda found: "later",
    "a number": lambda found: 3.5,
    "a sparse tensor": lambda found: torch.eye(3).to_sparse(),
    "no tensor at all": lambda found: {},
}


def odd(reference: Any, change: Callable[[Any], Any]) -> Any:
    """The right answer, but for what it returns."""
    if inspect.isclass(reference):

        def call(self: Any, *args: Any, **options: Any) -> Any:
            return change(nn.Module.__call__(self, *args, **options))

        return type(reference.__name__, (reference,), {"__call__": call})
    return lambda *args, **options: change(reference(*args, **options))


@pytest.mark.parametrize("name", exercises.of_code())
def test_odd_returns_are_told_in_the_students_words(name: str, internals: Callable[[str], list[str]]) -> None:
    reference = exercises.get_code(name).reference
    for what, change in ODD.items():
        result = check_named(name, odd(reference, change))
        assert result.state != "passed", what
        assert not internals(result.message), result.message
        assert "raised" not in result.message or what == "no tensor at all", result.message


@pytest.mark.parametrize(
    ("body", "sentence", "evidence"),
    [
        ("pass", "softmax returned None, expected a tensor of shape (2, 3, 5).", "Is a `return` missing?"),
        ("return scores, scores", "softmax returned a tuple of 2 tensors, expected a tensor", "a tuple of 2 tensors."),
        ("return scores.tolist()", "softmax returned a list of 2 lists, expected a tensor", "a list of 2 lists."),
        ("return scores.numpy()", "softmax returned an ndarray, expected a tensor", "an ndarray."),
    ],
)
def test_what_is_no_tensor(body: str, sentence: str, evidence: str) -> None:
    result = softmax(body)
    assert (result.state, result.probes_passed) == ("not_yet", 0)  # and nothing agrees
    assert result.explanations[0].sentence.startswith(sentence)
    assert result.evidence[0].endswith(evidence)


def test_a_list_of_tensors_where_numbers_are_asked_for() -> None:
    source = """def greedy_decode(step, bos, eos, max_length):
    said = [torch.tensor(bos)]
    while len(said) <= max_length and (len(said) == 1 or said[-1] != eos):
        said.append(step([int(token) for token in said]).argmax())
    return said[1:]
"""
    result = checked(source, "greedy_decode")
    assert "tensors, expected a list of" in result.explanations[0].sentence
    assert "ints" in result.explanations[0].sentence
    assert "expected a tensor" not in result.message


def test_half_an_answer_is_begun() -> None:
    result = softmax("powers = scores.exp()\n    raise NotImplementedError")
    assert result.state == "not_yet"
    assert result.explanations[0].sentence.startswith("You have begun")
    assert result.evidence == ("line 3: `raise NotImplementedError`",)
    assert softmax("raise NotImplementedError").state == "not_started"


def test_half_a_class_is_begun() -> None:
    source = """class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)
    def forward(self, x):
        return self.weights(x)
    def weights(self, x):
        raise NotImplementedError
"""
    result = checked(source, "SelfAttention")
    assert result.state == "not_yet", result.message
    assert result.line == 10


def test_what_is_changed_in_place_comes_before_its_gradients() -> None:
    result = softmax("scores -= scores.amax(dim, keepdim=True)\n    p = scores.exp()\n    return p / p.sum(dim, True)")
    assert result.explanations[0].sentence.startswith("Your code changes a tensor that it was given.")


def test_other_names_for_arguments() -> None:
    result = checked(
        "def softmax(x, axis):\n    p = (x - x.amax(axis, True)).exp()\n    return p / p.sum(axis, True)", "softmax"
    )
    assert result.explanations[0].sentence == (
        "softmax is called with the argument `dim`, which yours does not have. "
        "Keep the names and the order of the arguments in the stub."
    )


HEADS = """class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.{name} = nn.Linear(d_model, d_model, bias={bias})
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        {more}
    def forward(self, query, key, value, mask=None):
        return self.{name}(query)
"""


@pytest.mark.parametrize(
    ("name", "bias", "more", "said"),
    [
        ("wq", True, "", ["has `wq.weight`, which is not asked for.", "`q_proj.weight` is missing."]),
        ("q_proj", True, "self.spare = nn.Linear(2, 3)", ["has `spare.weight`, which is not asked for."]),
        (
            "q_proj",
            True,
            "self.k_proj = nn.Linear(d_model, 6)",
            ["`k_proj.weight` has shape (6, 12), expected (12, 12)."],
        ),
        ("q_proj", False, "", ["`q_proj.bias` is missing."]),
    ],
)
def test_parameters_by_name(name: str, bias: bool, more: str, said: list[str]) -> None:
    result = checked(HEADS.format(name=name, bias=bias, more=more), "MultiHeadAttention")
    assert result.state == "not_yet"
    for sentence in said:
        assert sentence in result.message
    if not more:
        assert "spare" not in result.message


def test_one_value_where_three_are_asked_for() -> None:
    source = "def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):\n    return p\n"
    result = checked(source, "adam_step")
    assert "3 values are asked for, and each of yours has the shape of a row of one of them" in result.message
    assert result.help == "explained"  # other probes do not have three rows, and show what was returned
    assert "adam_step returned a tensor of shape" in result.message
