"""The same program is recognised, and only code that keeps to itself is."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.extraction import extract
from proctor.grade import marker
from proctor.recall import signature_of
from proctor.submissions import File


def signature(text: str) -> bytes | None:
    return signature_of(extract(File("a.py", text.encode())).definitions, {"torch", "math", "nn", "F"})


SOFTMAX = "def f(x, dim):\n    e = (x - x.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)"


@pytest.mark.parametrize(
    "other",
    [
        SOFTMAX.replace(" e ", " powers ").replace(" e.", " powers."),
        SOFTMAX.replace("    return", "    # divide\n\n    return"),
        SOFTMAX.replace(":\n", ':\n    """Weights."""\n', 1),
        "\n\n" + SOFTMAX,
    ],
)
def test_names_comments_and_layout_do_not_matter(other: str) -> None:
    assert signature(SOFTMAX) is not None
    assert signature(other) == signature(SOFTMAX)


@pytest.mark.parametrize(
    "other",
    [
        SOFTMAX.replace("True", "False"),
        SOFTMAX.replace("amax", "amin"),
        SOFTMAX.replace("(x, dim)", "(x, axis)").replace("(dim,", "(axis,"),
        SOFTMAX.replace("dim)", "dim=-1)", 1),
        SOFTMAX.replace("e / e", "1.0 * e / e"),
        SOFTMAX.replace("def f", "def g"),
        SOFTMAX.replace("    return", "    x = 1\n    return"),
    ],
)
def test_everything_else_does(other: str) -> None:
    assert signature(other) is not None
    assert signature(other) != signature(SOFTMAX)


def test_one_and_one_point_zero_are_not_the_same() -> None:
    assert signature("def f(x): return x * 1") != signature("def f(x): return x * 1.0")
    assert signature("def f(x): return x * 1") != signature("def f(x): return x * True")


def test_modules_constants_and_helpers() -> None:
    text = (
        "import math\nfrom torch import nn\nSCALE = 2 * 3.5\n"
        "def helper(x):\n    rows = []\n    rows.append(x)\n    rows[0] = x\n    return rows[0] * SCALE\n"
        "class C(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.up = nn.Linear(d, d)\n    def forward(self, x): return helper(self.up(x))\n"
    )
    assert signature(text) is not None
    assert signature(text.replace("3.5", "3.25")) != signature(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): return unknown(x)",
        "def f(x): print(x)",
        "def f(x): return torch.rand(3)",
        "def f(x): torch.manual_seed(0)",
        "def f(x): return x.add_(1)",
        "def f(x): torch.exp = 3",
        "def f(x): return eval('x')",
        "def f(x): return getattr(x, 'exp')()",
        "def f(x): return x.__class__",
        "def f(self, x): return self.manual_seed(0)",
        "class C:\n    def forward(self): self.manual_seed(0)\ndef f(x): C.forward(torch)",
        "class C:\n    def __getattr__(self, name): return 1",
        "class C:\n    seen = []\n    def forward(self, x): self.seen.append(x)",
        "SEEN = []\ndef f(x): SEEN.append(x)",
        "SEEN = {}\ndef f(x): SEEN[0] = x",
        "W = torch.zeros(3)\ndef f(x):\n    w = W\n    w[0] = 1\n    return w",
        "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)",
        "def f(x, seen=dict()):\n    return seen",
        "N = 0\ndef f(x):\n    global N\n    N += 1",
        "import random\ndef f(x): return x",
        "from torch import rand\ndef f(x): return x",
        "from torch import *\ndef f(x): return x",
        "def f(x):\n    yield x",
        "@torch.no_grad()\ndef f(x): return x",
        "if True:\n    def f(x): return x",
        "async def f(x): return x",
    ],
)
def test_code_that_reaches_further_is_always_run(text: str) -> None:
    assert signature(text) is None


def test_a_class_is_marked_the_same_with_and_without_recall(mark: Any, school: Any, plan: Any) -> None:
    recall = marker(plan).recall
    wrong = {"double": "def double(x):\n    return 3 * x"}
    for changes in ({}, wrong, wrong, {}, wrong | {"share": None}):
        with_recall = mark(school.code(**changes))
        recall._results.clear()
        without = mark(school.code(**changes))
        assert with_recall == without


def test_what_was_seen_is_not_run_again(mark: Any, school: Any, plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mark(school.code())
    box = marker(plan).box
    monkeypatch.setattr(type(box), "sit", lambda *args, **options: pytest.fail("it was run again"))
    renamed = school.code(double="def double(x):\n    # mine\n    return x + x")
    assert {result.state for result in mark(renamed).values()} == {"passed"}


def test_one_students_trick_does_not_reach_another(mark: Any, school: Any) -> None:
    poison = "def share(x):\n    torch.Tensor.__add__ = lambda a, b: a * 0\n    return x"
    order = {"share": poison} | {name: text for name, text in school.RIGHT.items() if name != "share"}
    mark("\n".join(order.values()))
    assert mark(school.code())["double"].state == "passed"
    assert mark("def double(x):\n    return x + x\n")["double"].state == "passed"
