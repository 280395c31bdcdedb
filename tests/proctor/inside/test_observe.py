"""What is kept of a probe's run: plain tensors, or how it ended and where."""

import pytest
import torch

from proctor.inside.observe import LARGEST, observe, plain

pytestmark = pytest.mark.quick


def run(source: str, label: str = "<cell 3 of work.ipynb>"):
    namespace = {"torch": torch}
    exec(compile(source, label, "exec"), namespace)
    return observe(lambda answer: {"result": answer()}, namespace["answer"])


def test_values_are_detached_copies():
    kept = torch.ones(3, requires_grad=True)
    seen = observe(lambda answer: {"x": answer()}, lambda: kept * 2).values["x"]
    assert not seen.requires_grad
    torch.testing.assert_close(seen, torch.full((3,), 2.0))


def test_a_subclass_becomes_a_plain_tensor():
    class Liar(torch.Tensor):
        def __eq__(self, other):
            return True

    seen = plain(torch.zeros(2).as_subclass(Liar))
    assert type(seen) is torch.Tensor
    assert not (seen == torch.ones(2)).any()


def test_scalars_and_lists():
    assert plain(3).dtype == torch.int64
    assert plain(0.5).dtype == torch.float64
    assert plain(True).dtype == torch.bool
    assert plain([1, 2]).tolist() == [1, 2]
    assert plain(torch.zeros(4, 3).t()).is_contiguous()
    assert plain(torch.empty(5, 2, device="meta")).tolist() == [5, 2]  # only a shape there


def test_where_it_raised():
    raised = run("def answer():\n    x = torch.ones(2)\n    return x @ torch.ones(3)\n").raised
    assert raised.kind == "RuntimeError"
    assert raised.where.startswith("cell 3 of work.ipynb, line 3")


def test_leaving_is_caught():
    assert run("def answer():\n    raise SystemExit(3)\n").raised.kind == "SystemExit"


def test_an_exception_that_cannot_be_printed():
    source = "class E(Exception):\n    def __str__(self):\n        raise ValueError\ndef answer():\n    raise E\n"
    raised = run(source).raised
    assert (raised.kind, raised.message) == ("E", "")


def test_what_cannot_be_compared_is_told():
    assert "result is None. Is a `return` missing?" in run("def answer():\n    pass\n").raised.message
    assert "result is a str." in run("def answer():\n    return 'x'\n").raised.message
    huge = f"def answer():\n    return torch.empty(1, dtype=torch.uint8).expand({LARGEST + 1})\n"
    assert "more than any answer here needs" in run(huge).raised.message
    assert "not a dense tensor" in run("def answer():\n    return torch.eye(3).to_sparse()\n").raised.message
